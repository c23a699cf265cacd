"""Programs of this environment, each in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

IS_LM_EVAL_0_5 = find_spec("lm_eval.scorers") is not None

FEW = """
# one benchmark in place of the thousands of files in lm-eval's own folder, which it reads anew in each process
import sys
from pathlib import Path
from lm_eval.tasks import _index
all_of = _index.TaskIndex._iter_yaml_files
own = Path(sys.modules["lm_eval.tasks.manager"].__file__).parent
_index.TaskIndex._iter_yaml_files = staticmethod(lambda root: all_of(root / "arc" if Path(root) == own else root))
"""
LM_EVAL_OF_FEW = f"{FEW}\nfrom lm_eval.__main__ import cli_evaluate\ncli_evaluate()"


def shown_stderr(stderr: float | None) -> float | str:
    """A standard error in lm-eval's table, which shows none of 0."""
    return "N/A" if stderr is None or stderr < 1e-9 else stderr


def run(
    *words: str | Path, folder: Path | str = sys.prefix, code: str = "", **environment: str
) -> subprocess.CompletedProcess[str]:
    """`python -m WORDS`, or with code, `python -c CODE WORDS`, in a folder where nothing but what is installed can be
    imported from."""
    return subprocess.run(
        [sys.executable, *(("-c", code) if code else ("-m",)), *map(str, words)],
        capture_output=True, encoding="utf-8", cwd=folder, timeout=600,
        env=os.environ | {"INSPECT_DISPLAY": "plain"} | environment,
    )  # fmt: skip
