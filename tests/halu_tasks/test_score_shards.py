"""`halu-tasks score` on many files: the same figures however replies are divided, and nothing dropped."""

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from cases import CASES
from common import Capture, Patch, read_rows, write_rows
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from halu_tasks.cli import main
from halu_tasks.core.errors import DataError, HaluTasksError, UsageError
from halu_tasks.core.items import Reply
from halu_tasks.core.options import Options
from halu_tasks.data.locate import SAMPLE as FILES
from halu_tasks.executors.jobs import run_here
from halu_tasks.replies import parts
from halu_tasks.replies import score_file as scoring
from halu_tasks.replies.reply_scorer import ReplyScorer
from halu_tasks.replies.score_file import ScoredFile, score_file
from halu_tasks.results.scored import read_run
from halu_tasks.scorers.metrics import as_json, estimates
from halu_tasks.tasks import build
from halu_tasks.tasks.human_baseline import OtherAnnotators

INDEPENDENT, NEGATION = "refact_judgment_independent", "refact_localization_negation"
PEOPLE = "faithbench"
SAMPLE = Options(data="sample")
ROWS = dict[str, Any]


def replies(task: str, epochs: int = 1, seed: int = 0) -> list[ROWS]:
    """A reply to each item, right, wrong or unreadable, with a probability if the task uses them."""
    evaluation, draw = build(task, SAMPLE), random.Random(seed)
    rows = []
    for epoch in range(1, epochs + 1):
        for item in evaluation.items:
            output = draw.choice([evaluation.task.prompts.oracle(item), evaluation.task.prompts.baseline(item), "?"])
            weighed = evaluation.task.scoring.choices and draw.random() < 0.9
            rows.append(
                {"id": item.id, "output": output}
                | ({"epoch": epoch} if epochs > 1 else {})
                | ({"probability": draw.choice([0.1, 1 / 3, 0.7])} if weighed else {})
            )
    return rows


def write_shards(folder: Path, rows: list[ROWS], shards: int) -> Path:
    for number in range(shards):
        write_rows(folder / f"{number:03}.jsonl", rows[number::shards])
    return folder


def scored(task: str, file: Path, options: Options = SAMPLE, **values: Any) -> ScoredFile:
    return score_file(task, options, [str(file)], **values)


def bits(result: ScoredFile) -> str:
    people = result.people.as_json() if result.people else None
    figures = [as_json(result.estimates), result.references, people]
    return json.dumps([result.number, result.missing, *figures, *result.warnings])


SLOW = [
    pytest.param(task, marks=pytest.mark.slow)
    for task in ("refact_judgment_comparative", "halueval_summarization", "halluverse25_en", "factchd", "cfaith_choice")
]


@pytest.mark.parametrize("task", [INDEPENDENT, NEGATION, PEOPLE, *SLOW])
@settings(max_examples=3)
@given(shards=st.sampled_from([7, 2, 64]), order=st.randoms(use_true_random=False), epochs=st.integers(1, 3))
def test_shards_in_any_order_give_the_same_bits(task: str, shards: int, order: random.Random, epochs: int) -> None:
    rows = replies(task, epochs)
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        folder = Path(name)
        one = scored(task, write_shards(folder / "one", rows, 1), details=f"{folder}/one.jsonl")
        order.shuffle(rows)
        patch.setattr(scoring, "_TABLE", 30)
        shards = min(shards, len(rows))
        many = scored(task, write_shards(folder / "many", rows, shards), details=f"{folder}/many.jsonl")
        assert bits(one) == bits(many).replace(f"the {shards} files", f"{folder}/one/000.jsonl")
        assert (folder / "one.jsonl").read_text() == (folder / "many.jsonl").read_text()
        assert one.epochs == epochs and one.number == len(rows)


@pytest.mark.parametrize("task", [INDEPENDENT, NEGATION, PEOPLE, *SLOW])
def test_figures_are_those_of_the_scores_in_memory(task: str, tmp_path: Path) -> None:
    evaluation, rows = build(task, SAMPLE), replies(task)
    replied = {row["id"]: Reply(row["output"], None, row.get("probability")) for row in rows}
    scores = [ReplyScorer.of(evaluation).score(item, replied[item.id]) for item in evaluation.items]
    random.Random(1).shuffle(scores)
    found = scored(task, write_shards(tmp_path / "r", rows, 3))
    assert found.estimates == estimates(evaluation.task.metrics_of("strict", scores), scores)
    beside = OtherAnnotators(evaluation.task, "strict").compare((item, replied[item.id]) for item in evaluation.items)
    assert found.people == beside and (beside is None) == (task != PEOPLE)


def test_a_threshold_is_tuned_on_all_training_items_at_once(tmp_path: Path, monkeypatch: Patch) -> None:
    rows = replies("halueval_summarization")
    folder, options = write_shards(tmp_path / "r", rows, 3), Options(data="sample", split="train5_rest")
    whole = scored("halueval_summarization", folder, options, partial=True)
    assert whole.estimates["acc_tuned"].stderr
    monkeypatch.setattr(scoring, "_TABLE", 10)
    assert bits(scored("halueval_summarization", folder, options, partial=True)) == bits(whole)


@pytest.mark.slow
def test_parquet_shards_in_subfolders_and_two_processes(tmp_path: Path) -> None:
    rows = replies(INDEPENDENT, epochs=2)
    whole = scored(INDEPENDENT, write_shards(tmp_path / "lines", rows, 1))
    folder = tmp_path / "parquet" / "deep"
    folder.mkdir(parents=True)
    (folder / "_SUCCESS").touch()
    for number in range(3):
        parquet.write_table(pyarrow.Table.from_pylist(rows[number::3]), folder / f"{number}.parquet")
    assert bits(scored(INDEPENDENT, folder.parent, executor=partial(run_here, tasks=2))) == bits(whole)


@pytest.mark.parametrize(
    ("suffix", "workers"),
    [("jsonl", 1), ("jsonl.gz", 1), ("parquet", 1), pytest.param("jsonl", 2, marks=pytest.mark.slow)],
)
def test_a_file_without_replies_is_named(suffix: str, workers: int, tmp_path: Path) -> None:
    folder = write_shards(tmp_path / "r", replies(INDEPENDENT), 2)
    empty = folder / f"000-lost.{suffix}"
    empty.touch()
    if suffix == "parquet":
        columns = pyarrow.schema([("id", pyarrow.string()), ("output", pyarrow.string())])
        parquet.write_table(columns.empty_table(), empty)
    with pytest.raises(DataError) as raised:
        scored(INDEPENDENT, folder, executor=partial(run_here, tasks=workers))
    assert str(raised.value) == f"{empty}: contains no predictions"


def test_missing_replies_are_counted_in_each_epoch(tmp_path: Path, capsys: Capture) -> None:
    rows = replies(INDEPENDENT, epochs=2)
    kept = [row for row in rows if row["epoch"] == 1 or row["id"].endswith("original")]
    folder = write_shards(tmp_path / "r", kept, 5)
    whole = scored(INDEPENDENT, folder, details=f"{tmp_path}/d.jsonl")
    assert (whole.number, whole.missing) == (len(rows), len(rows) - len(kept))
    assert (
        f"{whole.missing} of {len(rows)} predictions ({len(rows) // 2} items, 2 epochs) are missing in the 5 files"
        in whole.warnings[0]
    )
    assert main(["score", INDEPENDENT, str(folder), "--data", "sample"]) == 3
    head = capsys.readouterr().out.splitlines()[0]
    assert head.endswith(f"  {len(rows) // 2} items, 2 epochs, {whole.missing} predictions missing")
    lines = read_rows(tmp_path / "d.jsonl")
    assert sum(line["reason"] == "no prediction" for line in lines) == whole.missing
    part = scored(INDEPENDENT, folder, partial=True)
    assert (part.number, part.scored_items, part.missing) == (len(kept), len(rows) // 2, 0)


@pytest.mark.parametrize(
    ("shard", "row", "message"), CASES["a_fault_in_any_shard_is_named_and_mended_without_scoring_the_others_again"]
)
@pytest.mark.slow
def test_a_fault_in_any_shard_is_named_and_mended_without_scoring_the_others_again(
    shard: int, row: ROWS, message: str, tmp_path: Path, monkeypatch: Patch
) -> None:
    rows = replies(INDEPENDENT)
    first = rows[0]["id"]
    folder = write_shards(tmp_path / "r", rows, 4)
    whole = bits(scored(INDEPENDENT, folder))
    path = folder / f"{shard:03}.jsonl"
    text = path.read_text()
    path.write_text(text + json.dumps(row).replace("FIRST", first) + "\n")
    with pytest.raises(DataError) as raised:
        scored(INDEPENDENT, folder, folder=tmp_path / "work")
    end = text.count("\n") + 1
    assert message.format(end=end, other=folder / "000.jsonl").replace("FIRST", first) in str(raised.value)
    path.write_text(text)
    asked: list[str] = []
    read = parts.prediction_rows
    monkeypatch.setattr(parts, "prediction_rows", lambda f, *fields: asked.append(f.name) or read(f, *fields))
    assert bits(scored(INDEPENDENT, folder, folder=tmp_path / "work")) == whole
    assert path.name in asked and "000.jsonl" not in asked


def test_a_folder_of_another_run_is_refused(tmp_path: Path) -> None:
    folder, work = write_shards(tmp_path / "r", replies(INDEPENDENT), 2), tmp_path / "work"
    whole = bits(scored(INDEPENDENT, folder, folder=work))
    assert bits(scored(INDEPENDENT, folder, folder=work)) == whole
    with pytest.raises(UsageError, match="continues another run, whose options differ"):
        scored(INDEPENDENT, folder, Options(data="sample", scoring="paper"), folder=work)
    with pytest.raises(UsageError, match="continues another run, whose partial differ"):
        scored(INDEPENDENT, folder, folder=work, partial=True)


@pytest.mark.slow
def test_a_killed_run_continues_with_the_parts_that_are_left(tmp_path: Path) -> None:
    rows = replies(INDEPENDENT, epochs=60)
    folder, work = write_shards(tmp_path / "r", rows, 16), tmp_path / "work"
    command = [sys.executable, "-m", "halu_tasks", "score", INDEPENDENT, str(folder), "--data", "sample", "--json"]
    process = subprocess.Popen([*command, "--work-folder", str(work)], stdout=subprocess.PIPE)
    while len(list(work.glob("parts/0*"))) < 3 and process.poll() is None:
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    finished = {path.name: path.stat().st_mtime_ns for path in work.glob("parts/0*")}
    assert 3 <= len(finished) < 16
    assert bits(scored(INDEPENDENT, folder, folder=work)) == bits(scored(INDEPENDENT, folder))
    assert finished.items() <= {path.name: path.stat().st_mtime_ns for path in work.glob("parts/0*")}.items()


def test_a_report_reads_shards_and_epochs_again(tmp_path: Path, capsys: Capture) -> None:
    folder = write_shards(tmp_path / "r", replies(INDEPENDENT, epochs=2), 3)
    assert main(["score", INDEPENDENT, str(folder), "--data", "sample", "--model", "m", "--json"]) == 0
    path = tmp_path / "scored.json"
    path.write_text(capsys.readouterr().out)
    run = read_run(path, json.loads(path.read_text()), {})
    assert (run.epochs, len(run.answers)) == (2, 2 * len(build(INDEPENDENT, SAMPLE).items))
    (folder / "001.jsonl").write_text("")
    with pytest.raises(HaluTasksError, match=r"001\.jsonl has changed since it was scored"):
        read_run(path, json.loads(path.read_text()), {})


def test_a_folder_with_other_files_is_refused(tmp_path: Path) -> None:
    folder = write_shards(tmp_path / "r", replies(INDEPENDENT), 2)
    (folder / ".hidden").write_text("x")
    (folder / "README.md").write_text("x")
    with pytest.raises(DataError, match=r"contains README\.md, which is not \.jsonl"):
        scored(INDEPENDENT, folder)


def test_repeated_items_of_the_data_are_refused(tmp_path: Path) -> None:
    line = (FILES / "refact" / "refact_multi_error.jsonl").read_text().splitlines()[0]
    (tmp_path / "data.jsonl").write_text(f"{line}\n{line}\n")
    (tmp_path / "r.jsonl").write_text('{"id": "x", "output": "y"}\n')
    with pytest.raises(DataError, match=r"two rows make the item '.*'; ids must be unique"):
        scored(INDEPENDENT, tmp_path / "r.jsonl", Options(data=str(tmp_path / "data.jsonl")))
