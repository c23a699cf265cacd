"""Table 2 of C-FAITH: what annotators find in drafts with and without verification, from a build to the figures."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from scripted_builders import HaluModel, document

Run = Callable[..., Any]
Cli = Callable[..., subprocess.CompletedProcess[str]]

CASES = {"Site1": "answer_no", "Site2": "one_not_wrong", "Site3": "label_no", "Site4": "question_garbage"}
WRONG = {"answer": ["Site1"], "response": ["Site2"], "label": ["Site3"]}
"""What the annotators find wrong: what the scripted verifier found wrong, and of one more document."""
MISSED = "Site6"


@pytest.fixture
def folder(run_build: Run) -> Path:
    documents = [document(number) for number in range(1, 11)]
    _, folder = run_build("haluagent", documents, HaluModel(CASES), "-T", "language=en", "-T", "types=EntErr")
    return Path(folder)


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def annotate(parts: Path, kind: str, name: str, wrong: Callable[[Mapping[str, Any]], bool]) -> Path:
    rows = [{**row, "label": ["invalid" if wrong(row) else "valid"]} for row in lines(parts / f"{kind}.jsonl")]
    path = parts / f"{kind}-{name}.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.mark.slow
def test_parts_are_sampled_labelled_and_compared(folder: Path, here: Cli, tmp_path: Path) -> None:
    parts = tmp_path / "parts"
    done = here("label", "parts", folder, "-o", parts, "--sample", "300")
    assert done.returncode == 3 and "there are fewer than 300 of some: answer, response, label" in done.stderr
    table = {line.split()[0].rpartition("/")[2]: line.split()[1:] for line in done.stdout.splitlines()[2:5]}
    # of ten drafts one could not be read; one answer, one response and one label did not pass
    assert table == {"answer.jsonl": ["9", "8"], "response.jsonl": ["27", "22"], "label.jsonl": ["27", "22"]}
    for kind, shown in (("answer", 3), ("response", 4), ("label", 5)):
        rows = lines(parts / f"{kind}.jsonl")
        assert all(set(row) == {"text", "label", "item"} and row["text"].count("\n[") == shown - 1 for row in rows)
        assert "verif" not in json.dumps(rows) and "## Labels" in (parts / f"{kind}.guidelines.md").read_text()

    def wrong(kind: str, number: int) -> Callable[[Mapping[str, Any]], bool]:
        """Annotators agree on all but one document, which two of three find wrong."""

        def judge(row: Mapping[str, Any]) -> bool:
            text = row["text"]
            first = kind == "answer" or "Norwood Fenn" in text or ("Oda Quill" in text and kind == "response")
            bad = any(f"{site} " in text or f"{site}." in text for site in WRONG[kind])
            if bad:
                return kind == "answer" or ("Oda Quill" if kind == "response" else "Norwood Fenn") in text
            return first and f"at {MISSED} " in text and number < 2

        return judge

    files = {
        kind: [annotate(parts, kind, name, wrong(kind, place)) for place, name in enumerate(("ana", "bo", "cy"))]
        for kind in WRONG
    }
    given = [str(part) for kind, paths in files.items() for path in paths for part in (f"--{kind}", path)]
    done = here("label", "import-parts", parts, *given, "--json")
    assert done.returncode == 0, done.stderr
    kinds = json.loads(done.stdout)["kinds"]
    answers = kinds["answer"]
    assert (answers["generated"]["right"]["n"], answers["generated"]["items"]) == (7, 9)
    assert (answers["verified"]["right"]["n"], answers["verified"]["items"]) == (7, 8)
    labels = kinds["label"]
    assert (labels["generated"]["right"]["n"], labels["verified"]["right"]["n"]) == (25, 21)
    agreement = answers["generated"]["agreement"]
    # 9 items, 2 of which ana and bo find wrong and cy only one: 25 of 27 pairs agree, 5 of 27 labels are `invalid`
    assert list(agreement) == [
        "all annotators", "answer-ana, answer-bo", "answer-ana, answer-cy", "answer-bo, answer-cy",
    ]  # fmt: skip
    assert agreement["answer-ana, answer-bo"]["alpha"]["value"] == 1
    assert agreement["all annotators"]["agreement"]["value"] == pytest.approx(25 / 27, abs=1e-4)
    pairs = 5 * 22 * 2 / (27 * 26)
    assert agreement["all annotators"]["alpha"]["value"] == pytest.approx(1 - (2 / 27) / pairs, abs=1e-4)
    shown = here("label", "import-parts", parts, "--answer", *files["answer"])
    assert shown.returncode == 0 and "Krippendorff's alpha" in shown.stdout and "verified" in shown.stdout


@pytest.mark.slow
def test_what_cannot_be_exported_or_read_is_one_line(folder: Path, here: Cli, tmp_path: Path) -> None:
    done = here("label", "parts", folder, "-o", folder)
    assert done.returncode == 2 and "exists; choose a new folder" in done.stderr
    parts = tmp_path / "parts"
    assert here("label", "parts", folder, "-o", parts, "--sample", "4").returncode == 0
    # the two samples of 4 share what is in both
    key = json.loads((parts / "sample.json").read_text(encoding="utf-8"))
    for kind, record in key["kinds"].items():
        arms = [arm for part in record.values() for arm in part["arms"]]
        assert arms.count("generated") == arms.count("verified") == 4 and len(record) < 8, kind
    done = here("label", "import-parts", parts)
    assert done.returncode == 2 and "name annotators' files" in done.stderr
    one = annotate(parts, "answer", "ana", lambda row: False)
    done = here("label", "import-parts", parts, "--answer", one)
    assert done.returncode == 2 and "expected labels of two annotators or more" in done.stderr
