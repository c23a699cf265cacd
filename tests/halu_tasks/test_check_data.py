"""`check --data`: every fault of rows, gold, full-score replies and metrics is a line that names the item."""

import json
import shutil
from pathlib import Path

from common import Cli, write_rows

EXAMPLES = Path(__file__).resolve().parents[2] / "docs" / "own_task"
FUNCTIONS = """
import numpy as np
from halu_tasks.core.items import Item
from halu_tasks.scorers.gold import SpanGold
from halu_tasks.scorers.metrics import metric

@metric
def of_true(answer, target):
    return np.where(target == "True", (answer == "True") & (np.arange(len(answer)) >= 0), np.nan)

@metric
def of_none(correct):
    return correct * np.nan

def cases(rows, options):
    for number, span in enumerate([(0, 2), (0, 3), (5, 5), (6, 7)]):
        text = "It is n1. n"
        gold = SpanGold(text=text, spans=[span], strings=[text[slice(*span)]])
        yield Item(f"i{number}", "c", text[slice(*span)], gold=gold, fields={"text": text})
"""


def test_every_fault_of_named_data_is_a_line(here: Cli, tmp_path: Path) -> None:
    rows = [{"id": f"i{n}", "text": "t", "claim": "c", "topic": "nature", "supported": n > 1} for n in range(4)]
    rows += [{**rows[3], "text": "another"}, {**rows[3], "supported": "maybe"}, {"text": "t", "claim": "c"}]
    write_rows(tmp_path / "rows.jsonl", rows)
    (tmp_path / "own_functions.py").write_text(FUNCTIONS)
    text = (EXAMPLES / "plain.yaml").read_text().partition("metric_list")[0]
    metrics = "[{metric: !function own_functions.of_true}, {metric: !function own_functions.of_none}, {metric: f1}]"
    path = tmp_path / "mine.yaml"
    path.write_text(f"{text}metric_list: {metrics}\n")
    shutil.copy(EXAMPLES / "plain.jsonl", tmp_path)
    told = here("check", path, "--data", tmp_path / "rows.jsonl")
    said = [line.removeprefix(f"{path}:") for line in told.stdout.splitlines()]
    assert told.returncode == 2 and not told.stderr
    assert said == [
        f"5: rows: {tmp_path}/rows.jsonl:6: field 'supported' is 'maybe', which gold: labels lacks; it has 'true', "
        "'false'",
        f"5: rows: {tmp_path}/rows.jsonl:7: field 'supported' is missing (has 'text', 'claim')",
        "15: metric_list: of_true has no value for the full-score reply to item 'i0' of the data",
        "15: metric_list: of_true has no value for the full-score reply to item 'i1' of the data",
        f"5: rows: {tmp_path}/rows.jsonl: two rows make the item 'i3'; ids must be unique, such as with rows: "
        "{id: '{{file}}/{{id}}'}",
        "15: metric_list: of_none has no value for the full-score replies to the data",
        "15: metric_list: lacks acc, which all other tasks with labels have; list it, too",
    ]
    # of the rows beside the file, the first fault
    assert len(here("check", path).stdout.splitlines()) == 1


def test_gold_that_no_reply_can_quote_is_named(here: Cli, tmp_path: Path) -> None:
    (tmp_path / "own_functions.py").write_text(FUNCTIONS)
    (tmp_path / "rows.jsonl").write_text("{}\n")
    path = tmp_path / "mine.yaml"
    keys = "class: !function halu_tasks.lm_eval_adapter.task.HaluTask\ntask: mine\nfile: rows.jsonl\nfields: [text]\n"
    answer = "doc_to_text: '{{text}}'\ncases: !function own_functions.cases\nanswer: {kind: spans}\n"
    path.write_text(keys + answer)
    lines = here("check", path, "--data", tmp_path / "rows.jsonl").stdout.splitlines()
    assert [line.partition("item ")[2] for line in lines] == [
        "'i1' of the data: gold 'It ' is empty or has white space at its ends, so no reply can quote it",
        "'i2' of the data: (5, 5) is not a [start, end] within the text of 11 characters",
    ]


def test_a_matrix_that_is_quoted_is_no_list_of_offsets(here: Cli, tmp_path: Path) -> None:
    text = "It is so. AB = [[1, 3],  [2, 4]] follows."
    (tmp_path / "rows.jsonl").write_text(json.dumps({"text": text, "wrong": [[10, 32]]}) + "\n")
    path = tmp_path / "mine.yaml"
    keys = "class: !function halu_tasks.lm_eval_adapter.task.HaluTask\ntask: mine\nfile: rows.jsonl\nfields: [text]\n"
    path.write_text(f"{keys}doc_to_text: '{{{{text}}}}'\nanswer: {{kind: spans}}\ngold: {{spans: wrong}}\n")
    assert here("check", path).stdout == "no faults in 1 files\n"


def test_a_judged_task_may_report_its_rate_alone(here: Cli, tmp_path: Path) -> None:
    shutil.copy(EXAMPLES / "judged.jsonl", tmp_path)
    path = tmp_path / "judged.yaml"
    path.write_text((EXAMPLES / "judged.yaml").read_text("utf-8") + "metric_list:\n  - metric: bad_rate\n", "utf-8")
    done = here("check", path)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
