"""Rows to items to ceilings and floors, on the sample and on all of ReFACT; the published figures."""

from __future__ import annotations

import csv
import json
import shutil
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest
import yaml
from made_runs import figures_of

from halu_tasks.core.items import Item, Reply
from halu_tasks.core.options import Options
from halu_tasks.data.locate import in_folder
from halu_tasks.replies.score_file import score_file
from halu_tasks.scorers.judge import Verdict
from halu_tasks.scorers.kinds import JudgedText
from halu_tasks.tasks import Evaluation, build, registry

TASKS, GROUPS = registry()
REFACT = [name for name in TASKS if name.startswith("refact")]
COUNTS = {
    "multi_error": dict(zip(REFACT, (2002, 1001, 527, 474, 474), strict=True)),
    "single_error": dict(zip(REFACT, (2502, 1251, 527, 724, 724), strict=True)),
}


def of_baseline(evaluation: Evaluation) -> dict[str, float]:
    return figures_of(evaluation, map(evaluation.baseline, evaluation.items))


def fine(evaluation: Evaluation, item: Item, reply: str) -> list[str] | None:
    """What a judge says who has no objection; None where none is asked."""
    judged = evaluation.task.judge_spec
    if not judged:
        return None
    good = next((label for label, sense in judged.labels.items() if sense == "good"), "fine")
    return [good for _ in judged.questions(item, reply, 8_000)]


@pytest.mark.slow
@pytest.mark.parametrize("subset", COUNTS)
@pytest.mark.parametrize("task", REFACT)
def test_all_of_refact_has_its_items_and_the_oracle_its_ceiling(task: str, subset: str, shared_data: Path) -> None:
    evaluation = build(task, Options(data=str(shared_data), subset=subset))
    assert evaluation.located.kind == "pinned" and len(evaluation.items) == COUNTS[subset][task]
    assert len({item.id for item in evaluation.items}) == len(evaluation.items)
    if subset == "multi_error":
        assert len(evaluation.items) == evaluation.task.data.size
    found = figures_of(evaluation, map(evaluation.oracle, evaluation.items))
    ceiling = {m.name: float(bool(m.higher_is_better)) for m in evaluation.metrics if m.name in found}
    # neither many nor few attempts are better
    assert found == ceiling | ({"attempted": 1.0} if "attempted" in found else {})


def test_the_baseline_is_what_one_computes_by_hand(shared_data: Path) -> None:
    data = str(shared_data)
    independent = of_baseline(build("refact_judgment_independent", Options(data=data)))
    # False, always: half of the items, all of the confabulated and none of the factual
    half = dict.fromkeys(("acc", "acc_neg", "acc_swap", "precision_confabulated", "acc_attempted"), 0.5)
    half["attempted"] = 1.0
    found = {name: value for name, value in independent.items() if value}
    assert found == half | {"recall_confabulated": 1.0, "f1_confabulated": pytest.approx(2 / 3)}
    evaluation = build("refact_judgment_comparative", Options(data=data))
    share = Counter(item.target for item in evaluation.items)["A"] / 1001
    comparative = of_baseline(evaluation)
    assert comparative["acc"] == share and comparative["position_bias"] == pytest.approx(1 - share)
    assert 0.45 < share < 0.55
    assert (527 * comparative["acc_neg"] + 474 * comparative["acc_swap"]) / 1001 == pytest.approx(share)
    choice = of_baseline(build("cfaith_choice", Options(data="sample")))
    assert choice["hallucination_rate"] == 0.75


@pytest.mark.parametrize("task", TASKS)
def test_the_order_of_rows_changes_no_id_and_no_target(task: str, tmp_path: Path) -> None:
    evaluation = build(task, Options(data="sample"))
    name = evaluation.located.content.name
    shutil.copytree(evaluation.located.content.parent, tmp_path, dirs_exist_ok=True)
    if name.endswith(".csv"):
        with evaluation.located.content.open(encoding="utf-8", newline="") as file:
            head, *cells = csv.reader(file)
        with (tmp_path / name).open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([head, *reversed(cells)])
    elif evaluation.located.content.read_text(encoding="utf-8").lstrip()[0] == "[" or evaluation.task.data.row.records:
        whole = json.loads(evaluation.located.content.read_text(encoding="utf-8"))
        turned = {key: rows[::-1] for key, rows in whole.items()} if isinstance(whole, dict) else whole[::-1]
        (tmp_path / name).write_text(json.dumps(turned), encoding="utf-8")
    else:
        lines = evaluation.located.content.read_text(encoding="utf-8").splitlines()
        (tmp_path / name).write_text("\n".join(lines[::-1]) + "\n", encoding="utf-8")
    again = build(task, Options(data=str(tmp_path)))
    assert again.located.kind == "local"
    assert {i.id: (i.target, i.prompt) for i in evaluation.items} == {i.id: (i.target, i.prompt) for i in again.items}


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("cot", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_worked_examples_are_no_rows_under_test(task: str, cot: bool, shared_data: Path) -> None:
    if cot and "cot" not in TASKS[task].prompts.wording(Options()).prompt:
        pytest.skip("no chain of thought there")
    if not TASKS[task].data.fewshot_path(Options()).is_file():
        pytest.skip("no worked examples there")
    evaluation = build(task, Options(data="sample", fewshot=2, cot=cot))
    shown = {example.prompt for example in evaluation.examples}
    assert len(shown) == 2 and not shown & {item.prompt for item in evaluation.items}
    # not every real file is there
    if in_folder(evaluation.task.data.source, evaluation.located.content.name, shared_data):
        real = build(task, Options(data=str(shared_data), cot=cot))
        assert not shown & {item.prompt for item in real.items}
    # the examples are right, and read as such
    examples = {item.prompt: item for item in _example_items(evaluation)}
    for example in evaluation.examples:
        item = examples[example.prompt]
        facts = evaluation.scorer.score(item, example.reply, fine(evaluation, item, example.reply)).facts
        assert facts.get("acc", 1.0) == 1.0 and facts.get("correct", 1.0) == 1.0


@pytest.mark.parametrize("task", sorted(set(TASKS) - {"cfaith_choice"}))
def test_a_reply_that_goes_on_to_the_next_question_is_read_up_to_there(task: str) -> None:
    # not of cfaith_choice, whose prompt is the row's own text and nothing else
    evaluation = build(task, Options(data="sample"))
    items = evaluation.items
    for item, following in pairwise(items):
        right = Reply(evaluation.task.prompts.oracle(item))
        more = Reply(f"{right.text}\n\n{following.prompt} {evaluation.task.prompts.oracle(following)}")
        labels = fine(evaluation, item, right.text)
        verdicts = None if labels is None else [Verdict(label) for label in labels]
        alone = evaluation.task.score("strict", item, right, verdicts)
        assert evaluation.task.score("strict", item, more, verdicts).facts == alone.facts


def test_a_reply_to_a_judged_task_that_only_declines_is_counted() -> None:
    evaluation = build("cfaith_gen", Options(data="sample"))
    item, verdicts = evaluation.items[0], [Verdict("consistent")]
    declined = evaluation.task.score("strict", item, Reply("I'm sorry, but I cannot answer this."), verdicts)
    assert declined.outcome == "abstained" and declined.facts["hallucinated"] == 0.0
    for reply in ("I don't know the year. It was built in Rome.", item.target):
        assert evaluation.task.score("strict", item, Reply(reply), verdicts).outcome == "answered"
    assert "abstained" in {metric.name for metric in evaluation.scorer.metrics}


def test_a_question_that_comes_before_any_answer_hides_none() -> None:
    evaluation = build("refact_judgment_independent", Options(data="sample"))
    item = evaluation.items[0]
    reply = Reply(f"Let me see.\n{item.prompt} {item.target}")
    assert evaluation.task.score("strict", item, reply).answer == item.target


def _example_items(evaluation: Evaluation) -> list:  # type: ignore[type-arg]
    from halu_tasks.core.prompting import render

    task, options = evaluation.task, evaluation.options
    cases = task.items(task.data.fewshot_path(options), options)
    return [render(case, evaluation.prompt, cot=evaluation.options.cot) for case in cases]


PUBLISHED = yaml.safe_load(Path(__file__).with_name("refact_table_2.yaml").read_text(encoding="utf-8"))


@pytest.mark.slow
@pytest.mark.parametrize("task", REFACT)
@pytest.mark.parametrize("model", PUBLISHED)
def test_the_released_replies_give_the_published_figures(model: str, task: str, shared_data: Path) -> None:
    """Each item that has a released reply once, or joined as in Table 2; the figures are those of these replies."""
    path = shared_data / "refact_outputs" / model / f"{task}.jsonl"
    options = Options(data=str(shared_data), scoring="paper")
    found = score_file(task, options, [str(path)], partial=True).estimates
    assert {name: round(found[name].value, 3) for name in PUBLISHED[model][task]} == PUBLISHED[model][task]


@pytest.mark.parametrize("mode", ["strict", "paper"])
@pytest.mark.parametrize("task", TASKS)
def test_every_task_has_acc_which_is_1_for_the_right_reply(task: str, mode: str) -> None:
    """For tools that read nothing else."""
    evaluation = build(task, Options(data="sample"))
    acc = next((metric for metric in evaluation.task.scorers[mode].metrics if metric.name == "acc"), None)
    if acc is None and isinstance(evaluation.task.scoring.answer, JudgedText):
        pytest.skip("a judged task may have its rate alone")
    assert acc
    assert acc.higher_is_better and acc.range == (0.0, 1.0) and acc.item
    item = evaluation.items[0]
    reply = evaluation.task.prompts.oracle(item)
    verdicts = [Verdict(label) for label in fine(evaluation, item, reply) or []]
    score = evaluation.task.score(mode, item, Reply(reply), verdicts)
    assert acc.item(score) == 1 and score.outcome == "answered"
