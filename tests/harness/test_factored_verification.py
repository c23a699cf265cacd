"""Factored Verification, run in Inspect against a model on loopback that knows which claims are false."""

import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from common import Caplog, Run, fenced, write_rows
from judges import figures

from halu_tasks.core.options import Options
from halu_tasks.tasks import build

TASK = "halueval_summarization"
SOURCE = build(TASK, Options(data="sample")).shuffled_items
FEW = 16
"""Items of most runs: a call costs some 20 ms of processor time, and the first of them are as good as all."""
TRUE = {line.strip(" .") for item in SOURCE if item.target == "No" for line in item.fields["summary"].splitlines()}


def claims_of(text: str) -> list[str]:
    return [claim.strip(" .") for claim in re.split(r"(?<=\w\w)\s*\.\s+|\n", text + "\n") if claim.strip(" .")]


def claim_of(asked: str) -> str:
    """The claim that is to be checked, which is fenced."""
    return fenced(asked)[-1].strip(" .")


class Verifier:
    """Lists the sentences of a summary, and supports those of right summaries with the probability `sure`, the
    others with one minus it."""

    def __init__(self, sure: float = 0.9, logprobs: bool = True, listing: Callable[[str], str] | None = None) -> None:
        self.sure, self.logprobs, self.listing = sure, logprobs, listing
        self.listed: list[str] = []
        self.checked: list[str] = []

    def __call__(self, request: dict[str, Any]) -> Any:
        asked = str(request["messages"][-1]["content"])
        if "The claims are:" in asked:
            text = asked.rpartition("Text:\n")[2].partition("\n")[2].rpartition("\n")[0]
            self.listed.append(text)
            return (
                self.listing(text)
                if self.listing
                else "The claims are:\n" + "\n".join(f"- {claim}." for claim in claims_of(text))
            )
        if "single word" in asked:
            return self.weighed("Yes", 0.99, request)
        claim = claim_of(asked)
        self.checked.append(claim)
        word = "Yes" if claim in TRUE else "No"
        if asked.endswith("Supported:"):
            return self.weighed(word, self.sure if claim in TRUE else 1 - self.sure, request)
        return f'Reasoning: the document says "{claim[:10]}".\nSupported: {word}'

    def weighed(self, word: str, yes: float, request: dict[str, Any]) -> Any:
        if not (self.logprobs and request.get("logprobs")):
            return word
        others = [{"token": t, "logprob": math.log(p)} for t, p in ((" Yes", yes), (" No", 1 - yes))]
        own = next(other for other in others if other["token"].strip() == word)
        return word, [{**own, "bytes": None, "top_logprobs": [{**o, "bytes": None} for o in others]}]


@pytest.mark.slow
def test_probabilities_of_claims_multiply(run_method: Run) -> None:
    verifier = Verifier(sure=0.9)
    log = run_method(TASK, "factored_verification", verifier, threshold=0.5)
    for sample in log.samples:
        steps = sample.output.metadata["halu_steps"]
        assert steps["how"] == "logprobs"
        product = math.prod(0.9 if claim.strip(" .") in TRUE else 0.1 for claim, _ in steps["claims"])
        assert sample.output.metadata["halu_probability"] == pytest.approx(1 - product)
    found = figures(log)
    # two claims of 0.9 are 0.81, more than one half; a false one brings the product under it
    assert found["acc"] == 1.0 and found["roc_auc"] == 1.0 and found["unparsed"] == 0.0
    listed = sum(len(claims_of(item.fields["summary"])) for item in SOURCE)
    assert found["claims"] == pytest.approx(listed / len(SOURCE))
    # a claim that both summaries of a document make may be asked once
    assert found["calls"] + found["cached_calls"] == 1 + len(SOURCE) + listed and found["cached_calls"] <= 5
    assert found["input_tokens"] == found["output_tokens"] == found["calls"]


def test_reasoned_checks_may_follow_worked_examples(run_method: Run) -> None:
    verifier = Verifier()
    asked: list[str] = []

    def noting(request: dict[str, Any]) -> Any:
        asked.append(str(request["messages"][-1]["content"]))
        return verifier(request)

    log = run_method(TASK, "factored_verification", noting, how="reasoned_few_shot", limit=4)
    assert {sample.output.metadata["halu_steps"]["how"] for sample in log.samples} == {"reasoned_few_shot"}
    checks = [prompt for prompt in asked if "The claims are:" not in prompt]
    assert checks and all(prompt.endswith("Reasoning:") and "Supported: No\n" in prompt for prompt in checks)
    assert figures(log)["acc"] == 1.0


@pytest.mark.slow
def test_without_log_probabilities_a_claim_gets_a_reasoned_yes_or_no(run_method: Run, caplog: Caplog) -> None:
    log = run_method(TASK, "factored_verification", Verifier(logprobs=False), limit=FEW)
    assert {sample.output.metadata["halu_steps"]["how"] for sample in log.samples} == {"reasoned"}
    assert {sample.output.metadata["halu_probability"] for sample in log.samples} == {0.0, 1.0}
    assert figures(log)["acc"] == 1.0
    assert "returns no log-probabilities" in caplog.text
    verifier = Verifier()
    log = run_method(TASK, "factored_verification", verifier, how="samples", samples=3, limit=FEW)
    assert figures(log)["acc"] == 1.0
    found = figures(log)
    listed = sum(len(claims_of(item.fields["summary"])) for item in SOURCE[:FEW])
    assert found["calls"] + found["cached_calls"] == FEW + 3 * listed


@pytest.mark.slow
def test_a_provider_that_refuses_log_probabilities_is_asked_without(run_method: Run) -> None:
    plain = Verifier(logprobs=False)
    log = run_method(TASK, "factored_verification", lambda r: 400 if r.get("logprobs") else plain(r), limit=FEW)
    assert figures(log)["acc"] == 1.0


@pytest.mark.slow
def test_each_model_of_an_eval_is_asked_what_it_returns(serve: Run, openai: Run, tmp_path: Path) -> None:
    from inspect_ai import eval as inspect_eval
    from inspect_ai.util import registry_create

    logs = inspect_eval(
        f"halu_tasks/{TASK}",
        model=[openai(serve(Verifier(logprobs=gives)), name=name) for name, gives in (("a", True), ("b", False))],
        task_args={"data": "sample"},
        solver=registry_create("solver", "halu_tasks/factored_verification"),
        limit=2,
        log_dir=str(tmp_path / "logs"),
        display="log",
    )
    how = {log.eval.model: log.samples[0].output.metadata["halu_steps"]["how"] for log in logs if log.samples}
    assert how == {"openai/a": "logprobs", "openai/b": "reasoned"}


LISTINGS = {
    "": "empty",
    # a remark in place of a list is checked as the claim that it looks like, and fails
    "The summary makes no claims that could be checked, so: none": None,
    "None": "no claims",
    "- Did the ferry sink?\n- Was it late?": "questions only",
    "<think>The claims are": "unclosed reasoning",
}
"""Lists of claims, one for each of the first items, and the reason for which a reply has no probability."""


def test_a_text_without_claims_has_no_probability(run_method: Run) -> None:
    items = SOURCE[: len(LISTINGS)]
    by_text = dict(zip((item.fields["summary"].strip() for item in items), LISTINGS, strict=True))
    log = run_method(
        TASK, "factored_verification", Verifier(listing=lambda text: by_text[text.strip()]), limit=len(LISTINGS)
    )
    samples = {sample.id: sample for sample in log.samples}
    for item, reason in zip(items, LISTINGS.values(), strict=True):
        sample = samples[item.id]
        steps = sample.output.metadata["halu_steps"]
        if reason is None:
            assert len(steps["claims"]) == 1 and "halu_probability" in sample.output.metadata
            continue
        assert (sample.scores["halu_score"].value, sample.scores["halu_score"].explanation) == ("I", reason)
        assert not steps["claims"] and "halu_probability" not in sample.output.metadata
    found = figures(log)
    assert found["unparsed"] == pytest.approx(4 / 5)
    assert found["claims"] == pytest.approx(1 / 5) and found["claims_questions"] == pytest.approx(2 / 5)


@pytest.mark.slow
def test_a_verifier_that_says_neither_leaves_the_claim_unknown(run_method: Run) -> None:
    base = Verifier(logprobs=False)

    def shy(request: dict[str, Any]) -> Any:
        asked = str(request["messages"][-1]["content"])
        return "That is hard to say." if "Reasoning:" in asked else base(request)

    log = run_method(TASK, "factored_verification", shy, limit=4)
    found = figures(log)
    assert found["unparsed"] == 1.0 and found["claims_unread"] == found["claims"] > 0

    def shy_once(request: dict[str, Any]) -> Any:
        asked = str(request["messages"][-1]["content"])
        first = claims_of(SOURCE[0].fields["summary"])[0]
        return shy(request) if "Claim:" in asked and claim_of(asked) == first else base(request)

    log = run_method(TASK, "factored_verification", shy_once, limit=1)
    # the others are certain, and this one counts as one half
    assert log.samples[0].output.metadata["halu_probability"] == 0.5
    assert figures(log)["claims_unread"] == 1


def test_decomposer_and_verifier_are_model_roles(run_method: Run, serve: Run, openai: Run) -> None:
    own, other = Verifier(), Verifier()
    roles = {"verifier": openai(serve(other))}
    run_method(TASK, "factored_verification", own, model_roles=roles, limit=2)
    assert own.listed and not own.checked and other.checked and not other.listed


def test_own_wording(run_method: Run, tmp_path: Path) -> None:
    file = tmp_path / "own.yaml"
    file.write_text(json.dumps({"factored_verification_claims": {"user": "Own words. The claims are: Text:\n{text}"}}))
    asked: list[str] = []
    base = Verifier()

    def server(request: dict[str, Any]) -> Any:
        asked.append(str(request["messages"][-1]["content"]))
        return base(request)

    run_method(TASK, "factored_verification", server, prompts=str(file), limit=1)
    assert any(text.startswith("Own words.") for text in asked)


@pytest.mark.slow
def test_the_threshold_lies_between_the_class_means_and_the_rest_is_judged_at_it(run_method: Run) -> None:
    # claims of 0.6 make a right summary of two less probable than one half
    args = {"split": "train5_rest"}
    log = run_method(TASK, "factored_verification", Verifier(sure=0.6), task_args=args)
    found = figures(log)
    by_class: dict[str, list[float]] = {"Yes": [], "No": []}
    train = [sample for sample in log.samples if sample.metadata["tags"]["part"] == "train"]
    for sample in train:
        by_class[sample.target].append(sample.output.metadata["halu_probability"])
    means = {label: sum(values) / len(values) for label, values in by_class.items()}
    assert found["threshold"] == pytest.approx((means["Yes"] + means["No"]) / 2)
    assert means["No"] < found["threshold"] < means["Yes"]
    assert found["acc_tuned"] > found["acc"]
    assert 0 < len(train) < len(log.samples) == len(SOURCE)
    assert log.eval.task_version.endswith("sample-train5_rest")


@pytest.mark.slow
def test_table_1_is_a_task_of_its_own(serve: Run, openai: Run, run_inspect: Run) -> None:
    # 5% of the sample's rows are one
    log = run_inspect("halueval_factored", openai(serve(Verifier(sure=0.8))))
    found = figures(log)
    assert log.eval.task_version.endswith("train5_test20")
    assert len(log.samples) == 2 + 10 and found["acc_tuned"] == 1.0 and 0 < found["threshold"] < 1


@pytest.mark.slow
def test_knowledge_takes_the_place_of_a_source(run_method: Run, tmp_path: Path) -> None:
    rows = [{"id": str(n), "text": claim} for n, claim in enumerate(sorted(TRUE))]
    file = write_rows(tmp_path / "wiki.jsonl", rows)
    seen: list[str] = []
    base = Verifier(logprobs=False)

    def by_passages(request: dict[str, Any]) -> Any:
        asked = str(request["messages"][-1]["content"])
        if "Reasoning:" not in asked:
            return base(request)
        seen.append(asked)
        claim = claim_of(asked)
        return f"Supported: {'Yes' if claim in asked.rpartition('Claim:')[0] else 'No'}"

    # no source there, and none in ReFACT
    log = run_method(TASK, "factored_verification", by_passages, knowledge=str(file), top=3, limit=FEW)
    assert figures(log)["acc"] == 1.0 and seen
    log = run_method("refact_judgment_independent", "factored_verification", by_passages, knowledge=str(file), limit=4)
    assert figures(log)["claims"] > 0
    # evidence that the task does not show is looked at only by who asks for it
    log = run_method("factchd", "factored_verification", by_passages, limit=1)
    assert "needs the source of each item, and factchd has none" in log.error.message
    for task, own in (("factchd_evidence", {}), ("factchd", {"knowledge": "gold"})):
        log = run_method(task, "factored_verification", by_passages, limit=4, **own)
        assert log.status == "success"
        assert {sample.output.completion for sample in log.samples} <= {"FACTUAL", "NON-FACTUAL"}
