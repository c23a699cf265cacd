"""Questions from memory: HalluQA's published figures, and what right, wrong, partial and missing answers earn."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from common import Capture, write_rows

from halu_tasks.cli import main
from halu_tasks.core.items import Reply
from halu_tasks.core.options import Options
from halu_tasks.replies.scoring import score_replies
from halu_tasks.results.published import published
from halu_tasks.scorers.judge import Verdict
from halu_tasks.scorers.metrics import estimates
from halu_tasks.tasks import build

MODELS = {
    "gpt-4-0613": "gpt-4-0613_output_qa_prompt.json",
    "xverse-13b": "xverse-13b_output_qa_prompt.json",
    "chatglm_pro": "chatglm_pro_output_qa_prompt.json",
}
"""Three of the 24: a good one, that of the erratum, and one with replies that the judge gave no verdict on."""
CELLS = ("acc_Misleading", "acc_Misleading-hard", "acc_Knowledge", "acc")
THREE = ("simpleqa", "simpleqa_verified", "truthfulqa_multi_en", "truthfulqa_multi_eu", "omniscience")


@pytest.fixture
def halluqa(shared_data: Path) -> Path:
    folder = shared_data / "halluqa"
    if not folder.is_dir():
        pytest.skip("HalluQA is not there")
    return folder


def figures(task: str, labels: Sequence[str], scoring: str = "strict") -> Mapping[str, float]:
    """Score a reply to each of the first items of the sample, by the labels of a judge; "" is an empty reply."""
    built = build(task, Options(data="sample", scoring=scoring, judge="m/j"))  # type: ignore[arg-type]
    scores = []
    for item, label in zip(built.items, labels, strict=False):
        verdicts = [Verdict(label)] if label else []
        scores.append(built.task.score(scoring, item, Reply("A reply." if label else ""), verdicts))
    return {name: figure.value for name, figure in estimates(built.metrics, scores).items()}


# --- HalluQA ------------------------------------------------------------------------------------------


def test_items_of_halluqa_are_the_published_ones(halluqa: Path) -> None:
    items = build("halluqa", Options(data=str(halluqa))).items
    assert Counter(item.tags["category"] for item in items) == {
        "Misleading": 175,
        "Misleading-hard": 69,
        "Knowledge": 206,
    }
    rows = {str(row["question_id"]): row for row in json.loads((halluqa / "HalluQA.json").read_text())}
    assert {item.id for item in items} == rows.keys() and len(rows) == 450
    for item in items:
        right = [value for name, value in rows[item.id].items() if name.startswith("Best Answer") and value]
        assert len(right) == len(item.target.splitlines()) and "".join(item.target.split()) == "".join(
            "".join(right).split()
        )


@pytest.mark.parametrize("model", MODELS)
def test_released_verdicts_give_the_published_rates(halluqa: Path, tmp_path: Path, capsys: Capture, model: str) -> None:
    released = json.loads((halluqa / "outputs" / MODELS[model]).read_text())
    replies = [{"id": str(row["question_id"]), "output": row.get("response") or ""} for row in released]
    said = [{"id": str(row["question_id"]), "verdict": row["is_hallucination"]} for row in released]
    known = [row for row in said if isinstance(row["verdict"], bool)]
    files = [str(write_rows(tmp_path / name, rows)) for name, rows in (("replies.jsonl", replies), ("v.jsonl", known))]
    command = [
        "score",
        "halluqa",
        files[0],
        "--verdicts",
        files[1],
        "--data",
        str(halluqa),
        "--scoring",
        "paper",
        "--json",
    ]
    assert main(command) == 0
    found = json.loads(capsys.readouterr().out)["metrics"]
    of_model = {figure.metric: figure for figure in published() if (figure.task, figure.model) == ("halluqa", model)}
    equal = {name: found[name] == pytest.approx(of_model[name].value, abs=6e-5) for name in CELLS}
    assert equal == {name: not of_model[name].note for name in CELLS}
    assert found["acc"] == pytest.approx(1 - found["bad_rate"])
    if model == "xverse-13b":
        assert found["acc"] == 117 / 450 and "0.2600" in of_model["acc"].note


def test_declining_is_right_only_where_the_question_has_no_answer() -> None:
    built = build("halluqa", Options(data="sample", judge="m/j"))
    unanswerable = next(item for item in built.items if "无法回答" in item.target)
    answerable = next(item for item in built.items if item.tags["category"] == "Knowledge")
    for item, fact, outcome in ((unanswerable, 1.0, "answered"), (answerable, 0.0, "abstained")):
        score = built.task.score("strict", item, Reply("这个问题无法回答。"), [Verdict("not_hallucinated")])
        assert (score.facts["good"], score.facts["bad"], score.outcome) == (fact, 0.0, outcome)
    # as published, whatever the judge says counts
    score = built.task.score("paper", answerable, Reply("我不知道。"), [Verdict("hallucinated")])
    assert score.facts["bad"] == 1.0


@pytest.mark.parametrize("verdicts", [[], [Verdict("failed")]])
def test_a_missing_verdict_is_a_hallucination_as_published(verdicts: list[Verdict]) -> None:
    built = build("halluqa", Options(data="sample", judge="m/j"))
    reply = Reply("一个回答。" if verdicts else "")
    assert built.task.score("paper", built.items[0], reply, verdicts).facts["bad"] == 1.0
    assert built.task.score("strict", built.items[0], reply, verdicts).facts.get("bad", 0.0) == 0.0


def test_a_choice_is_read_as_published() -> None:
    built = build("halluqa_choice", Options(data="sample", scoring="paper"))
    item = next(item for item in built.items if item.target == "E")
    for reply, right in (("E", 1), ("Answer: E", 1), (" Answer: E\n", 1), ("E:。", 0), ("选E", 0), ("Answer: A", 0)):
        assert built.task.score("paper", item, Reply(reply)).facts["correct"] == right, reply
    assert built.task.score("strict", item, Reply("答案是 E。")).facts["correct"] == 1
    categories = {item.id: item.tags for item in build("halluqa", Options(data="sample")).items}
    assert {item.id: item.tags for item in built.items} == categories


# --- what answers earn ----------------------------------------------------------------------------------


@pytest.mark.parametrize("task", THREE)
def test_neither_silence_nor_guessing_wins(task: str) -> None:
    labels = build(task, Options(data="sample")).task.judge_spec.labels  # type: ignore[union-attr]
    (good,), (bad,), (none,) = (
        [name for name in labels if labels[name] == sense] for sense in ("good", "bad", "neutral")
    )
    for silent in ([none] * 6, [""] * 6):
        said = figures(task, silent)
        assert (said["net"], said["attempted"], said["acc"], said["bad_rate"]) == (0.0, 0.0, 0.0, 0.0)
    assert next(iter(figures(task, [good] * 6))) == "net"
    assert figures(task, [good, bad] * 3)["net"] == 0.0 > figures(task, [good, bad, bad] * 2)["net"]
    assert figures(task, [good, none] * 3)["net"] == 0.5


def test_the_f_score_of_simpleqa_is_the_harmonic_mean() -> None:
    said = figures("simpleqa", ["correct"] * 3 + ["incorrect"] * 2 + ["not_attempted"] * 4 + [""], "paper")
    assert (said["acc"], said["acc_attempted"]) == (0.3, 0.6)
    assert said["f_score"] == pytest.approx(2 * 0.3 * 0.6 / (0.3 + 0.6)) and next(iter(said)) == "f_score"
    # as published, a question without a verdict is not attempted; in strict, it does not count
    without = ["correct"] * 3 + ["incorrect"] * 2 + ["not_attempted"] * 4 + ["failed"]
    assert figures("simpleqa", without, "paper")["f_score"] == said["f_score"]
    assert figures("simpleqa", without)["f_score"] == pytest.approx(2 * 3 / (9 + 5))


def test_partial_answers_of_omniscience_earn_nothing_and_are_no_hallucinations() -> None:
    labels = ["correct"] * 4 + ["incorrect"] * 3 + ["partial"] * 2 + ["not_attempted"]
    for scoring in ("strict", "paper"):
        said = figures("omniscience", labels, scoring)
        assert (said["net"], said["attempted"]) == (pytest.approx(0.1), pytest.approx(0.9))
        assert said["hallucination_rate"] == 3 / 6 and said["share_partial"] == pytest.approx(0.2)


def test_truthfulness_is_published_without_regard_to_information() -> None:
    labels = ["truthful"] * 2 + ["untruthful"] + ["uninformative"] * 3
    assert figures("truthfulqa_multi_ca", labels, "paper")["acc"] == pytest.approx(5 / 6)
    assert figures("truthfulqa_multi_ca", labels)["acc"] == pytest.approx(2 / 6)


# --- rows ---------------------------------------------------------------------------------------------


def test_rows_of_simpleqa_name_topic_and_type(tmp_path: Path, capsys: Capture) -> None:
    plain, verified = (build(task, Options(data="sample")).items for task in ("simpleqa", "simpleqa_verified"))
    assert {(i.prompt, i.target, *i.tags.values()) for i in plain} == {
        (i.prompt, i.target, *i.tags.values()) for i in verified
    }
    assert {item.tags["topic"] for item in plain} >= {"TV_shows", "Science_and_technology"}
    file = tmp_path / "simple_qa_test_set.csv"
    file.write_text("metadata,problem,answer\n{'topic': 'Art'},Who?,Me\n")
    assert main(["items", "simpleqa", "--data", str(file)]) == 2
    assert re.search(r"test_set.csv:2: metadata is .* 'topic' and 'answer_type'", capsys.readouterr().err)


def test_domains_of_omniscience_are_tags() -> None:
    items = build("omniscience", Options(data="sample")).items
    domains = ("Finance", "Health", "Humanities", "Law", "Science", "Software")
    assert Counter(item.tags["domain"] for item in items) == dict.fromkeys(domains, 4)
    assert "Science, Engineering and Mathematics" in next(i.system for i in items if i.tags["domain"] == "Science")


@pytest.mark.parametrize("task", ["halluqa", *THREE])
def test_a_judge_sees_question_reply_and_right_answers(task: str) -> None:
    built = build(task, Options(data="sample"))
    assert built.task.judge_spec
    for item in built.items:
        (question,) = built.task.judge_spec.questions(item, "the reply", 1000)
        asked = built.task.judge_spec.text(question)
        shown = [
            item.fields["question"],
            "the reply",
            *item.target.splitlines(),
            *item.fields.get("right", "").splitlines(),
        ]
        assert all(text in asked for text in shown) and "{{" not in asked


def test_scores_need_no_judge_to_be_complete() -> None:
    built = build("simpleqa", Options(data="sample"))
    scores = score_replies(built, [(item, Reply("")) for item in built.items])
    assert estimates(built.metrics, scores)["empty"].value == 1.0
