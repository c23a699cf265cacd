"""The scanners in real scans of Inspect Scout, of a log that is not of this package."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("inspect_scout")

from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.model import Model
from inspect_ai.scorer import includes
from inspect_ai.solver import generate
from inspect_scout import as_scorer, scan, scan_results_df, transcripts_from
from mock_models import saying

from halu_tasks.scanners import citations, factored_verification, spans

Scanned = Callable[..., dict[str, Any]]
PAPERS = [
    {"title": "Sleep and memory", "authors": ["Ana Ruiz"], "year": 2011, "abstract": "Sleep improves recall."},
    {"title": "Caffeine", "authors": "Bo Lind", "year": "2015", "text": "Caffeine delays sleep by an hour."},
]
REPLIES = {
    "right": "Sleep improves recall (Ruiz, 2011). Caffeine delays sleep [2].",
    "unknown": "Sleep improves recall (Ruiz, 2011). Naps are useless (Moore et al., 2019).",
    "wrong": "Caffeine improves sleep (Lind 2015).",
    "none": "I have nothing to say.",
}


def samples() -> list[Sample]:
    return [
        Sample(id=id, input="What do they say?", target="sleep", metadata={"rag": {"papers": PAPERS}}) for id in REPLIES
    ]


def replaying() -> Model:
    replies = iter(REPLIES.values())
    return saying(lambda prompt: next(replies))


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Logs of a task that knows nothing of this package."""
    folder = tmp_path_factory.mktemp("logs")
    task = Task(name="rag", dataset=samples(), solver=generate(), scorer=includes())
    (log,) = eval(task, model=replaying(), log_dir=str(folder), display="log", max_connections=1, max_samples=1)
    assert log.status == "success"
    return folder


@pytest.fixture
def scanned(tmp_path: Path) -> Callable[..., dict[str, Any]]:
    """`scanned(logs, scanner, …)` scans in this process; returns the row of each sample by its id."""

    def run(logs: Path, scanner: Any, **arguments: Any) -> dict[str, Any]:
        status = scan(
            [scanner],
            transcripts_from(str(logs)),
            scans=str(tmp_path / "scans"),
            max_processes=1,
            display="none",
            **arguments,
        )
        (frame,) = scan_results_df(status.location).scanners.values()
        assert len(frame) == len(REPLIES)
        return {row["transcript_task_id"]: row for row in frame.to_dict("records")}

    return run


def values(rows: dict[str, Any]) -> dict[str, Any]:
    """The value of each sample; a column of Scout with missing values has them as JSON."""
    return {id: json.loads(value) if isinstance(value := row["value"], str) else value for id, row in rows.items()}


def found(row: Any) -> dict[str, Any]:
    return dict(json.loads(row["metadata"]))


def test_citations_without_a_model_finds_those_that_match_no_paper(logs: Path, scanned: Scanned) -> None:
    rows = scanned(logs, citations(papers="rag.papers", support=False))
    assert values(rows) == {
        "right": False, "unknown": True, "wrong": False, "none": False,
    }  # fmt: skip
    (unknown,) = found(rows["unknown"])["citations_unknown"]
    assert "Moore" in unknown["citation"] and unknown["sentence"].startswith("Naps")
    assert found(rows["right"])["sentences_cited"] == 2 and found(rows["none"])["sentences_cited"] == 0
    assert json.loads(rows["unknown"]["message_references"])


@pytest.mark.slow
def test_citations_asks_the_grader_about_each_cited_sentence(
    logs: Path, scanned: Scanned, serve: Any, openai: Any
) -> None:
    def judge(request: dict[str, Any]) -> str:
        asked = str(request["messages"][-1]["content"])
        assert "Caffeine delays sleep by an hour" in asked or "Sleep improves recall" in asked
        supported = "no" if "Caffeine improves sleep" in asked else "yes"
        return json.dumps({"critique": "it delays sleep", "supported": supported})

    server = serve(judge)
    rows = scanned(logs, citations(papers="rag.papers"), model_roles={"grader": openai(server)})
    assert values(rows) == {
        "right": False, "unknown": True, "wrong": True, "none": False,
    }  # fmt: skip
    assert found(rows["wrong"])["unsupported"] == [
        {"sentence": "Caffeine improves sleep (Lind 2015).", "reason": "it delays sleep"}
    ]
    assert not [request for request in server.asked if "Naps" in str(request)]  # there is nothing to check it against
    # without a verdict there is no value, unless a citation is unknown
    rows = scanned(logs, citations(papers="rag.papers"), model=openai(serve(lambda request: "hm")))
    assert [rows[id]["value_type"] for id in REPLIES] == ["null", "boolean", "null", "boolean"]
    assert found(rows["right"])["judge_failed"] == 2 and values(rows)["unknown"] is True


@pytest.mark.slow
def test_a_field_that_is_missing_is_an_error_of_each_sample(logs: Path, scanned: Scanned) -> None:
    rows = scanned(logs, citations(papers="rag.documents", support=False))
    assert rows["right"]["scan_error"] == "sample 'right': metadata: field 'rag.documents' is missing (has 'papers')"
    assert all(row["scan_error"] for row in rows.values())


class Verifier:
    """Lists sentences as claims and supports those that are on Ruiz."""

    def __init__(self) -> None:
        self.sources: list[str] = []

    def __call__(self, request: dict[str, Any]) -> str:
        asked = str(request["messages"][-1]["content"])
        if "The claims are:" in asked:
            text = asked.rpartition("Text:\n")[2].partition("\n")[2].rpartition("\n")[0]
            return "The claims are:\n" + "\n".join(f"- {line}" for line in re.split(r"(?<=\.) ", text))
        document, claim = asked.rsplit("Claim:", 1)
        self.sources.append(document.rpartition("Document:")[2])
        return f"Reasoning: so it says.\nSupported: {'Yes' if 'Ruiz' in claim else 'No'}"


@pytest.mark.slow
def test_factored_verification_checks_each_claim_against_the_named_source(
    logs: Path, scanned: Scanned, serve: Any, openai: Any
) -> None:
    verifier = Verifier()
    scanner = factored_verification(source="rag.papers", how="reasoned")
    rows = scanned(logs, scanner, model=openai(serve(verifier)))
    assert all(values(rows).values())
    assert rows["unknown"]["explanation"] == "not supported: Naps are useless (Moore et al., 2019)."
    claims = found(rows["unknown"])["claims"]
    assert [probability for _, probability in claims] == [1.0, 0.0]
    assert all("Caffeine delays sleep by an hour." in source for source in verifier.sources)
    # without a name, what was said before the reply is the source
    verifier = Verifier()
    scanned(logs, factored_verification(how="reasoned"), model=openai(serve(verifier)))
    assert verifier.sources and all("What do they say?" in source for source in verifier.sources)


@pytest.mark.slow
def test_spans_locates_what_a_model_calls_hallucinated(logs: Path, scanned: Scanned, serve: Any, openai: Any) -> None:
    def grader(request: dict[str, Any]) -> str:
        asked = str(request["messages"][-1]["content"])
        assert "#Question#: What do they say?" in asked
        if "Moore" in asked:
            return '1. "naps are useless (Moore et al., 2019)"'
        return "Nobody said this at all." if "Lind 2015" in asked else "None"

    rows = scanned(logs, spans(), model=openai(serve(grader)))
    ((start, end),) = found(rows["unknown"])["spans"]
    assert REPLIES["unknown"][start:end] == "Naps are useless (Moore et al., 2019)"
    assert values(rows)["unknown"] is True and values(rows)["right"] is False
    # it is called hallucinated and is not in the reply
    assert rows["wrong"]["value_type"] == "null" and found(rows["wrong"])["unplaced"] == ["Nobody said this at all."]


def test_a_scanner_is_a_scorer_of_a_task_too(tmp_path: Path) -> None:
    scorer = as_scorer(citations(papers="rag.papers", support=False))
    task = Task(dataset=samples(), solver=generate(), scorer=scorer)
    (log,) = eval(task, model=replaying(), log_dir=str(tmp_path), display="log", max_connections=1, max_samples=1)
    assert log.status == "success" and log.results
    (score,) = log.results.scores
    assert score.name == "citations" and score.metrics["mean"].value == 0.25
