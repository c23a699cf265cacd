"""Texts of a user's own, checked in Inspect claim by claim, or with what is looked up for them."""

import re
from pathlib import Path
from typing import Any

import pytest
from cases import CASES
from common import Run, fenced, write_rows
from judges import figures


def rule(request: dict[str, Any]) -> str:
    """Lists sentences as claims, and supports those that the document holds word by word."""
    asked = str(request["messages"][-1]["content"])
    if "The claims are:" in asked:
        text = fenced(asked)[-1]
        return "The claims are:\n" + "\n".join(f"- {claim}." for claim in text.split(". "))
    if "single word" in asked:
        return "Yes"
    source, claim = fenced(asked)[-2:]
    return f"Reasoning: see there.\nSupported: {'Yes' if claim.strip(' .') in source else 'No'}"


@pytest.fixture
def check(serve: Run, openai: Run, run_inspect: Run, tmp_path: Path) -> Run:
    """`check(*rows, server=None, **arguments)` checks texts, by default with a server that answers by the rule."""

    def run(*rows: Any, server: Any = None, **arguments: Any) -> Any:
        task_args = {"input": str(write_rows(tmp_path / "my.jsonl", rows)), "data": None}
        return run_inspect("factored_verification", openai(server or serve(rule)), task_args, **arguments)

    return run


def test_texts_without_labels_are_checked_and_nothing_is_said_of_accuracy(check: Run) -> None:
    log = check(
        {"id": "one", "text": "A ship sank. It was big", "source": "A ship sank. It was big. It was old."},
        {"id": "two", "text": "A ship sank. It was green", "source": ["A ship sank.", "It was big."]},
    )
    found = figures(log)
    assert found["hallucinated"] == found["mean_probability"] == 0.5 and found["labelled"] == 0
    assert "acc" not in found and "roc_auc" not in found and found["claims"] == 2 and found["calls"] > 0
    scores = {str(sample.id): sample.scores["text_score"] for sample in log.samples}
    assert {id: score.answer for id, score in scores.items()} == {"one": "No", "two": "Yes"}
    assert {score.value for score in scores.values()} == {"N"}
    claims = {str(sample.id): sample.output.metadata["halu_steps"]["claims"] for sample in log.samples}
    assert claims["two"] == [["A ship sank.", 1.0], ["It was green.", 0.0]]


def test_labels_give_accuracy_over_the_texts_that_have_one(check: Run) -> None:
    source = "A ship sank."
    log = check(
        {"text": "A ship sank", "source": source, "label": "no"},
        {"text": " A ship swam ", "source": source, "label": " yes "},
        {"text": "A ship flew", "source": source, "label": "No"},
        {"text": "A ship ran", "source": source},
    )
    found = figures(log)
    scores = [score for sample in log.samples for score in sample.scores.values()]
    expected = [("C", 1), ("C", 1), ("I", 0), ("N", None)]
    assert sorted((score.value, score.metadata.get("acc")) for score in scores) == expected
    assert found["labelled"] == 3 and found["acc"] == pytest.approx(2 / 3) and found["hallucinated"] == 0.75
    assert found["recall"] == 1 and found["precision"] == 0.5 and found["roc_auc"] == 0.75


@pytest.mark.parametrize(("row", "reason"), CASES["a_bad_row_is_told_by_its_line"])
def test_a_bad_row_is_told_by_its_line(row: dict[str, Any], reason: str, check: Run) -> None:
    with pytest.raises(Exception, match=rf"my\.jsonl:2: .*{re.escape(reason)}"):
        check({"text": "t", "source": "s"}, row)


def test_a_double_id_and_a_missing_file_are_told(check: Run, tmp_path: Path) -> None:
    from halu_tasks.core.errors import DataError
    from halu_tasks.inspect_adapter.named_scorers import texts_task

    row = {"id": "a", "text": "t", "source": "s"}
    with pytest.raises(Exception, match="duplicate id 'a'"):
        check(row, row)
    with pytest.raises(DataError, match="No such file or directory"):
        texts_task(str(tmp_path / "none.jsonl"), None)  # type: ignore[arg-type]


PASSAGE = "The ferry Halvard sank on Monday."
LOOKED_UP = [
    {"id": "memo", "text": "The Halvard sank on Monday.", "query": "When did the Halvard sink?"},
    {"id": "mail", "text": "The Halvard sank on Friday.", "query": "When did the Halvard sink?"},
    {"id": "note", "text": "The Halvard sank on Friday, I hear.", "label": "Yes"},
]


def triangle(request: dict[str, Any]) -> str:
    """Who is shown the passage is right; the guardian, who is not, believes every text."""
    asked = str(request["messages"][-1]["content"])
    assert "The Halvard sank on" in asked and "Hallucinated: Yes" in asked
    assert ("When did the Halvard sink?" in asked) == ("I hear" not in asked)
    return f"So it says.\nHallucinated: {'Yes' if PASSAGE in asked and 'sank on Friday' in asked else 'No'}"


@pytest.mark.parametrize(("method", "calls"), [("with_knowledge", 1), ("truth_triangulator", 3)])
def test_a_method_that_looks_things_up_needs_neither_source_nor_label(
    method: str, calls: int, check: Run, serve: Run, openai: Run, tmp_path: Path
) -> None:
    from inspect_ai.util import registry_create

    (tmp_path / "wiki.txt").write_text(PASSAGE)
    server = serve(triangle)
    solver = registry_create("solver", f"halu_tasks/{method}", knowledge=str(tmp_path / "wiki.txt"))
    log = check(*LOOKED_UP, server=server, solver=solver, model_roles={"guardian": openai(server)})
    answers = {str(sample.id): sample.scores["text_score"].answer for sample in log.samples}
    assert answers == {"memo": "No", "mail": "Yes", "note": "Yes"} and len(server.asked) == 3 * calls
    found = figures(log)
    assert found["hallucinated"] == pytest.approx(2 / 3) and found["labelled"] == found["acc"] == 1.0
    # of the one text with a label
    opinions = [found.get(f"acc_{role}") for role in ("seeker", "guardian")]
    assert opinions == ([1.0, 0.0] if method == "truth_triangulator" else [None, None])


def test_checking_claims_without_a_source_says_what_to_do(check: Run) -> None:
    log = check({"id": "memo", "text": "A ship sank."})
    wanted = "needs the source of each item, and sample 'memo' has none; name knowledge=PATH"
    assert log.status == "error" and wanted in log.error.message


def test_the_solver_serves_samples_of_others(serve: Run, openai: Run, tmp_path: Path) -> None:
    from inspect_ai import Task, eval
    from inspect_ai.dataset import Sample
    from inspect_ai.scorer import match
    from inspect_ai.util import registry_create

    subject = {"text": "A ship sank", "source": "A ship sank."}
    sample = Sample(input="?", target="fine", metadata={"subject": subject, "choices": ["broken", "fine"]})
    solver = registry_create("solver", "halu_tasks/factored_verification")
    (log,) = eval(
        Task(dataset=[sample], solver=solver, scorer=match()),
        model=openai(serve(rule)),
        log_dir=str(tmp_path),
        display="log",
    )
    assert log.samples[0].output.completion == "fine"
