"""The tutorials: notebooks of `docs/tutorials`, run when the site is built, so that what they show is true."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbconvert import MarkdownExporter
from page import ROOT

TUTORIALS = ROOT / "docs" / "tutorials"
OFFLINE = {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "HALU_TASKS_DATA": "sample", "NO_COLOR": "1"}


def write_tutorials(pages: Path) -> None:
    """Run each notebook in a folder of its own, and write it with its output, and its report for the gallery.

    Raises:
        nbclient.exceptions.CellExecutionError: A cell failed.
    """
    os.environ |= OFFLINE | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    for path in sorted(TUTORIALS.glob("*.ipynb")):
        print(f"Running {path.relative_to(ROOT)} …", flush=True)
        folder = pages.parent / "tutorials" / path.stem
        folder.mkdir(parents=True)
        notebook = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
        place = {"metadata": {"path": str(folder)}}
        # below this level, every kernel warns that it listens on a port of this machine
        level = ["--IPKernelApp.log_level=ERROR"]
        NotebookClient(notebook, timeout=600, resources=place, extra_arguments=level).execute()
        _require_success(path, notebook)
        text, _ = MarkdownExporter().from_notebook_node(notebook)  # type: ignore[no-untyped-call]
        target = pages / "tutorials" / f"{path.stem}.md"
        target.parent.mkdir(exist_ok=True)
        target.write_text(text, encoding="utf-8")
        # as Markdown, the report would be one more page of the site
        shutil.copytree(folder / "report", pages / "gallery" / path.stem, ignore=shutil.ignore_patterns("*.md"))


def _require_success(path: Path, notebook: nbformat.NotebookNode) -> None:
    """Raise SystemExit if a command of a notebook reported an error, which does not stop the notebook."""
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            if "halu-tasks: error:" in output.get("text", "") or "Traceback" in output.get("text", ""):
                raise SystemExit(f"{path.relative_to(ROOT)}: {cell.source}\n{output.text}")
