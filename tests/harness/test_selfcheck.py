"""SelfCheckGPT, run in Inspect against a model on loopback that knows the right answers, or only wrong ones."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cases import CASES
from common import Run, fenced, write_rows
from judges import figures

from halu_tasks.core.options import Options
from halu_tasks.core.prompting import prompt_for
from halu_tasks.scorers.ngrams import Statistic, as_probability, ngram_scores
from halu_tasks.tasks import build, get_task
from halu_tasks.text.sentences import sentences

pytestmark = pytest.mark.slow

TASK = "refact_judgment_independent"
FEW = 12
ANSWER, SUMMARY = (
    prompt_for(f"selfcheck_{kind}", "selfcheck")["user"].partition("{")[0] for kind in ("answer", "summary")
)


def flat(text: str) -> str:
    return " ".join(text.split())


def subject_of(sample: Any) -> dict[str, str]:
    """The parts of a logged sample that a method looks at."""
    return dict(get_task(sample.metadata["task"]).prompts.parts_of(sample.metadata["fields"]))


class Knower:
    """Answers a question, or summarises a source, with the text of the task's items that has `label`, and supports
    the sentences that the context holds."""

    def __init__(self, task: str = TASK, label: str | None = None) -> None:
        prompts, choices = get_task(task).prompts, get_task(task).scoring.choices
        assert choices
        self.known = {}
        for item in build(task, Options(data="sample")).items:
            parts = prompts.parts_of(item.fields)
            if item.target == (label or choices[1]):
                self.known[parts.get("query") or parts["source"]] = parts["text"]
        self.asked: Counter[str] = Counter()
        self.checked: list[tuple[str, str]] = []
        self.sampled: list[dict[str, Any]] = []

    def __call__(self, request: dict[str, Any]) -> str:
        asked = str(request["messages"][-1]["content"])
        if "\n\nSentence:\n=====" in asked:
            return self.check(*fenced(asked))
        self.sampled.append(request)
        self.asked[asked] += 1
        assert asked.startswith((ANSWER, SUMMARY))
        asked = asked.removeprefix(ANSWER).removeprefix(SUMMARY)
        return self.passage(*(fenced(asked) or [asked]))

    def passage(self, of: str) -> str:
        return self.known.get(of, "I do not know.")

    def check(self, context: str, sentence: str) -> str:
        self.checked.append((context, sentence))
        return "Yes" if flat(sentence) in context else "No"


class Scripted(Knower):
    """One passage for all questions and one reply to all checks."""

    def __init__(self, passage: Callable[[str], str] | str, check: str = "Yes") -> None:
        super().__init__()
        self.passages, self.checks = passage, check

    def passage(self, of: str) -> str:
        return self.passages if isinstance(self.passages, str) else self.passages(of)

    def check(self, context: str, sentence: str) -> str:
        super().check(context, sentence)
        return self.checks


def told(log: Any) -> list[dict[str, Any]]:
    assert log.status == "success", log.error
    return [sample.output.metadata for sample in log.samples]


def general(tmp_path: Path, *texts: str) -> dict[str, Any]:
    """Options for HaluEval's general task on own texts."""
    rows = [
        {"user_query": f"Question {number}?", "chatgpt_response": text, "ID": str(number), "hallucination": "no"}
        for number, text in enumerate(texts)
    ]
    file = write_rows(tmp_path / "general_data.json", (row | {"hallucination_spans": []} for row in rows))
    return {"data": str(file)}


def test_a_model_that_knows_the_answers_and_one_that_has_them_wrong(run_method: Run) -> None:
    log = run_method(TASK, "selfcheck_prompt", Knower(), samples=2, threshold=0.0, limit=FEW)
    found = figures(log)
    assert found["acc"] == found["roc_auc"] == 1.0 and found["unparsed"] == found["checks_unread"] == 0
    assert found["samples"] == 2 and found["samples_empty"] == 0
    for sample, own in zip(log.samples, told(log), strict=True):
        text = subject_of(sample)["text"]
        assert [sentence for sentence, _ in own["halu_steps"]["sentences"]] == sentences(text)
        scores = [score for _, score in own["halu_steps"]["sentences"]]
        assert own["halu_probability"] == pytest.approx(sum(scores) / len(scores))
        # both passages are the right text, so that a sentence is in both or in none
        assert set(scores) <= ({0.0} if sample.target == "True" else {0.0, 1.0})
        assert own["halu_counts"]["sentences"] == len(scores)


@pytest.mark.parametrize("statistic", ["average", "maximum"])
def test_ngrams_of_a_model_that_knows_the_answers(statistic: Statistic, run_method: Run) -> None:
    knower = Knower()
    log = run_method(TASK, "selfcheck_ngram", knower, samples=5, statistic=statistic)
    for sample, own in zip(log.samples, told(log), strict=True):
        subject = subject_of(sample)
        scores = ngram_scores(sentences(subject["text"]), [flat(knower.known[subject["query"]])] * 5, 1, statistic)
        assert scores
        expected, _ = scores
        assert own["halu_steps"]["surprise"] == pytest.approx(expected)
        assert own["halu_probability"] == pytest.approx(as_probability(expected))
        assert len(own["halu_steps"]["sentences"]) == len(sentences(subject["text"]))
    assert not knower.checked
    # one word of a long text is another one, which few n-grams show
    assert figures(log)["roc_auc"] > (0.75 if statistic == "maximum" else 0.6)


@pytest.mark.parametrize(
    "task",
    ["halueval_summarization", "halueval_general", "factchd", "halluverse25_binary_ar"],
)
def test_tasks_with_a_question_or_a_source(task: str, run_method: Run) -> None:
    knower = Knower(task)
    found = figures(run_method(task, "selfcheck_prompt", knower, samples=1, threshold=0.0, limit=8))
    assert found["unparsed"] == 0
    begin = SUMMARY if task.startswith(("halueval_summ", "halluverse")) else ANSWER
    assert all(asked.startswith(begin) for asked in knower.asked)
    if begin == SUMMARY:
        assert found["acc"] == found["roc_auc"] == 1.0


def test_half_of_the_passages_support_a_sentence(run_method: Run, tmp_path: Path) -> None:
    drawn = iter(["Bees dance. Ants do not."] * 3 + ["Bees sleep. Ants do not."] * 3)
    base = Scripted(lambda of: next(drawn))
    base.check = lambda context, sentence: Knower.check(base, context, sentence)  # type: ignore[method-assign]
    options = general(tmp_path, "Bees dance. Ants do not. Wasps sing.")
    (own,) = told(run_method("halueval_general", "selfcheck_prompt", base, samples=6, task_args=options))
    assert own["halu_steps"]["sentences"] == [["Bees dance.", 0.5], ["Ants do not.", 0.0], ["Wasps sing.", 1.0]]
    assert own["halu_probability"] == 0.5
    assert own["halu_counts"] == {"sentences": 3, "samples": 6, "samples_empty": 0, "checks_unread": 0}


def test_the_threshold_is_exceeded_or_not(run_method: Run, tmp_path: Path) -> None:
    options = general(tmp_path, "Bees dance.")
    server = Scripted("Bees dance.")
    arguments = {"samples": 1, "task_args": options, "cache": False}
    for check, threshold, answer in (("No", 0.99, "Yes"), ("No", 1.0, "No"), ("Yes", 0.0, "No")):
        server.checks = check
        log = run_method("halueval_general", "selfcheck_prompt", server, threshold=threshold, **arguments)
        assert log.samples[0].output.completion == answer


@pytest.mark.parametrize("method", ["selfcheck_prompt", "selfcheck_ngram"])
@pytest.mark.parametrize("passage", [" \n", "<think>A bee dances.</think>\n"])
def test_without_samples_there_is_no_probability(passage: str, method: str, run_method: Run) -> None:
    server = Scripted(passage)
    log = run_method(TASK, method, server, samples=2, limit=4)
    found = figures(log)
    assert found["unparsed"] == 1.0 and found["samples_empty"] == found["samples"] == 2 and not server.checked
    assert found.get("roc_auc") is None
    assert {sample.scores["halu_score"].explanation for sample in log.samples} == {"all samples are empty"}
    assert all("halu_probability" not in own for own in told(log))


def test_empty_samples_are_left_out_and_reasoning_is_no_passage(run_method: Run, tmp_path: Path) -> None:
    drawn = iter(["", "<think>Bees sleep.</think>Bees\n dance.", "<think>Bees"])
    server = Scripted(lambda of: next(drawn))
    options = general(tmp_path, "Bees dance.")
    (own,) = told(run_method("halueval_general", "selfcheck_prompt", server, samples=3, task_args=options))
    assert own["halu_counts"]["samples_empty"] == 2 and own["halu_probability"] == 0.0
    assert server.checked == [("Bees dance.", "Bees dance.")]


def test_a_checker_that_says_neither(run_method: Run, tmp_path: Path) -> None:
    options = general(tmp_path, "Bees dance. Ants do not.")
    log = run_method("halueval_general", "selfcheck_prompt", Scripted("Bees.", "Hm."), samples=3, task_args=options)
    found = figures(log)
    assert found["unparsed"] == 1.0 and found["checks_unread"] == 6
    assert log.samples[0].scores["halu_score"].explanation == "no check was answered with yes or no"
    assert "halu_probability" not in told(log)[0]

    server = Scripted("Bees dance.")
    server.check = lambda context, sentence: "No." if "Ants" in sentence else "Hm."  # type: ignore[method-assign]
    (own,) = told(run_method("halueval_general", "selfcheck_prompt", server, samples=3, task_args=options))
    assert own["halu_probability"] == 0.75 and own["halu_counts"]["checks_unread"] == 3


def test_passages_are_drawn_one_by_one_and_a_second_run_asks_nothing(run_method: Run) -> None:
    knower = Knower()
    first_log = run_method(TASK, "selfcheck_prompt", knower, samples=3, limit=FEW)
    first = figures(first_log)
    # the texts on a question share its passages
    queries = {subject_of(sample)["query"] for sample in first_log.samples}
    assert len(queries) < FEW and len(knower.sampled) == 3 * len(queries)
    assert set(knower.asked.values()) == {3}
    assert {request["temperature"] for request in knower.sampled} == {1.0}
    listed = sum(len(sentences(subject_of(sample)["text"])) for sample in first_log.samples)
    assert first["calls"] + first["cached_calls"] == 3 * FEW + 3 * listed
    asked = len(knower.sampled) + len(knower.checked)
    assert first["calls"] == asked
    second_log = run_method(TASK, "selfcheck_prompt", knower, samples=3, limit=FEW, same_server=True)
    second = figures(second_log)
    assert second["calls"] == 0 and len(knower.sampled) + len(knower.checked) == asked
    assert [own["halu_probability"] for own in told(second_log)] == [own["halu_probability"] for own in told(first_log)]
    # the other variant has the same passages
    assert figures(run_method(TASK, "selfcheck_ngram", knower, samples=3, limit=FEW, same_server=True))["calls"] == 0
    third = figures(run_method(TASK, "selfcheck_prompt", knower, samples=3, limit=FEW, same_server=True, cache=False))
    assert third["calls"] == 3 * FEW + 3 * listed


def test_sampler_and_checker_are_model_roles(run_method: Run, serve: Run, openai: Run) -> None:
    for role in ("checker", "sampler"):
        own, other = Knower(), Knower()
        run_method(TASK, "selfcheck_prompt", own, samples=1, limit=2, model_roles={role: openai(serve(other))})
        sampler, checker = (own, other) if role == "checker" else (other, own)
        assert sampler.sampled and not sampler.checked and checker.checked and not checker.sampled


@pytest.mark.parametrize(("method", "task", "options", "message"), CASES["a_task_that_it_cannot_serve_is_told"])
def test_a_task_that_it_cannot_serve_is_told(
    method: str, task: str, options: dict[str, Any], message: str, run_method: Run
) -> None:
    log = run_method(task, method, Knower(), limit=1, task_args=options)
    assert log.status == "error" and all(part in log.error.message for part in (method, message, task))
