"""FAVE in both harnesses and its revisions, against models on loopback that know which sentences are made up."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from common import Capture, Patch, Run, write_rows
from item_values import check_items
from judges import figures

from halu_tasks.cli import main
from halu_tasks.core.options import Options
from halu_tasks.scorers.benchmarks.judged import cited_sentences, score_summary, summary_of, summary_questions
from halu_tasks.tasks import build

BUILT = build("fave", Options(data="sample"))
ITEMS = {item.fields["query"]: item for item in BUILT.items}
FALSE = "cured every patient on Mars"


def query_of(request: dict[str, Any]) -> str:
    text = next(m["content"] for m in request["messages"] if "Research question:" in str(m["content"]))
    return re.search(r"Research question: (.*)", text)[1]  # type: ignore[index]


class Lab:
    """Writes a summary of true sentences and `false` ones, judges and criticises by looking for the false words, and
    revises by dropping the sentences that the critique quotes."""

    def __init__(self, false: int = 1, unknown: int = 0) -> None:
        self.false, self.unknown = false, unknown
        self.revised_by: list[str] = []
        self.judged: list[str] = []
        self.criticised: list[str] = []

    def draft(self, query: str) -> str:
        papers = ITEMS[query].gold.papers
        said = ["The papers disagree."]
        said += [f"{paper['name']} reports a result." for paper in papers[:3]]
        said += [f"{papers[n]['name']} {FALSE}." for n in range(self.false)]
        said += [f"Nobody et al. (18{n}0) agree." for n in range(1, self.unknown + 1)]
        return " ".join(said)

    def __call__(self, request: dict[str, Any]) -> str:
        asked = str(request["messages"][-1]["content"])
        if "single word: ready" in asked:
            return "ready"
        if 'Begin with "Corrected summary:"' in asked:
            self.revised_by.append(asked)
            quoted = re.findall(r'For the sentence "(.*)" in the summary', asked)
            text = re.search(r"Your summary:\n(=====\w+)\n(.*?)\n\1", asked, re.DOTALL)[2]  # type: ignore[index]
            for sentence in quoted:
                text = text.replace(sentence, "")
            return f"Corrected summary: {text}"
        if "do not trust verdicts in it" in asked or "Revised Claim:" in asked:
            (self.criticised if "Revised Claim:" in asked else self.judged).append(asked)
            return f"Critique: Checked.\nSupported: {'No' if FALSE in asked.rpartition('Claim:')[0] + asked else 'Yes'}"
        if 'Begin with "Feedback:"' in asked:
            return "Feedback: it is all wrong."
        return self.draft(query_of(request))


@pytest.fixture
def judged(serve: Run, openai: Run, run_inspect: Run) -> Run:
    """`judged(lab, solver=None, **task_args)` runs fave with the lab as writer, critic and judge."""

    def run(lab: Lab, solver: Any = None, limit: int = 6, **task_args: Any) -> Any:
        from inspect_ai.util import registry_create

        model = openai(serve(lab))
        own = {"solver": registry_create("solver", f"halu_tasks/{solver}")} if solver else {}
        return run_inspect("fave", model, task_args, model_roles={"grader": model}, limit=limit, **own)

    return run


def test_a_judge_counts_the_sentences_that_their_abstracts_do_not_support(judged: Run) -> None:
    found = figures(judged(Lab(false=2, unknown=1)))
    # two of the three are taken to be real, each with probability 2/3
    assert found["summaries_with_any_adjusted"] == pytest.approx(1 - (1 / 3) ** 3)
    # two made up, and one that cites a paper that there is none of, which nobody is asked about
    assert found["hallucinations_per_summary"] == 3 and found["summaries_with_any"] == 1
    assert found["hallucinations_per_summary_adjusted"] == pytest.approx(2)
    assert found["adjustment_factor"] == pytest.approx(2 / 3)
    assert found["sentences"] == 7 and found["sentences_cited"] == 6 and found["citations_unknown"] == 1
    assert found["share_cited"] == pytest.approx(5 / 7)
    assert found["judge_failed"] == 0
    none = figures(judged(Lab(false=0), assume="precision:0.5"))
    assert none["hallucinations_per_summary"] == none["summaries_with_any"] == 0
    assert none["adjustment_factor"] == 0.5


def test_the_judge_sees_the_cited_papers_and_no_others(judged: Run) -> None:
    lab = Lab(false=0)
    judged(lab, limit=2)
    for asked in lab.judged:
        name = re.search(r"\n(.+ \(\S+\)) reports a result", asked)[1]  # type: ignore[index]
        shown = re.findall(r"(?m)^(.+ \(\S+\)):$", asked)
        assert shown == [name]


@pytest.mark.slow
def test_revision_by_critiques_removes_what_is_not_supported_and_nothing_else(judged: Run) -> None:
    lab = Lab(false=2, unknown=1)
    log = judged(lab, "factored_revision")
    found = figures(log)
    assert found["hallucinations_per_summary_before"] == 3 and found["hallucinations_per_summary"] == 0
    assert found["hallucinations_per_summary_change"] == -3
    assert found["summaries_with_any_before"] == 1 and found["summaries_with_any"] == 0
    assert found["sentences_checked"] == 6 and found["sentences_unsupported"] == 3 and found["revised"] == 1
    for asked in lab.revised_by:
        # the critique holds only the sentences that are not supported
        quoted = re.findall(r'For the sentence "(.*)" in the summary', asked)
        assert len(quoted) == 3 and sum(FALSE in sentence for sentence in quoted) == 2
        assert "reports a result" not in asked.rpartition("Statements that may not be backed:")[2]
    for sample in log.samples:
        assert "reports a result" in sample.output.completion and FALSE not in sample.output.completion


@pytest.mark.slow
def test_self_correction_revises_by_feedback_on_the_whole(judged: Run) -> None:
    lab = Lab(false=1)
    found = figures(judged(lab, "self_correction"))
    assert len(lab.revised_by) == 6 and all("it is all wrong" in asked for asked in lab.revised_by)
    assert not lab.criticised
    assert found["hallucinations_per_summary"] == found["hallucinations_per_summary_before"] == 1


@pytest.mark.slow
def test_writer_critic_and_judge_may_be_three_models(serve: Run, openai: Run, run_method: Run) -> None:
    writer, critic, judge = Lab(), Lab(), Lab()
    roles = {"critic": openai(serve(critic)), "grader": openai(serve(judge))}
    log = run_method("fave", "factored_revision", writer, model_roles=roles, limit=3)
    assert figures(log)["hallucinations_per_summary"] == 0
    assert writer.revised_by and not writer.judged and not writer.criticised
    assert critic.criticised and not critic.judged and judge.judged and not judge.criticised


def test_without_a_judge_nothing_is_said_of_hallucination(run_method: Run) -> None:
    found = figures(run_method("fave", "factored_revision", Lab(), limit=3))
    assert "hallucinations_per_summary" not in found and "hallucinations_per_summary_before" not in found
    assert found["sentences_unsupported"] == 1 and found["sentences"] < found["sentences_before"]


def test_the_solver_is_for_fave(run_method: Run) -> None:
    log = run_method("refact_correction", "self_correction", Lab(), limit=1)
    assert "revises the cited summaries of fave, and refact_correction asks for something else" in log.error.message


@pytest.mark.slow
def test_a_revision_that_stops_citing_is_warned_of(judged: Run, capsys: Capture) -> None:
    def told() -> list[str]:
        return [line for line in capsys.readouterr().err.splitlines() if line.startswith("halu-tasks: ")]

    class Evasive(Lab):
        def __call__(self, request: dict[str, Any]) -> str:
            if 'Begin with "Corrected summary:"' in str(request["messages"][-1]["content"]):
                return "Corrected summary: The papers disagree. Nothing is certain."
            return super().__call__(request)

    found = figures(judged(Evasive(false=2), "factored_revision"))
    assert found["hallucinations_per_summary"] == 0 and found["share_cited_change"] == pytest.approx(-5 / 6)
    (warning,) = told()
    assert warning.startswith("halu-tasks: fave: the revision changed share_cited by -0.8333 [")
    # a summary without fault is not revised
    found = figures(judged(lab := Lab(false=0), "factored_revision"))
    assert told() == [] and not lab.revised_by
    assert found["revised"] == 0 and found["hallucinations_per_summary_change"] == 0


def test_all_count_alike_and_warn_of_a_failing_judge_with_what_the_headline_would_be(
    serve: Run, run_lm_eval: Run, run_inspect: Run, tmp_path: Path, capsys: Capture, monkeypatch: Patch
) -> None:
    from halu_tasks.lm_eval_adapter import task as lm_eval_task
    from halu_tasks.lm_eval_adapter.lm_eval_models import ReplayLM

    # writes one made-up sentence of five; the judge fails on one that is supported
    lab, failing = Lab(false=1, unknown=1), f"{BUILT.items[3].gold.papers[0]['name']} reports a result"
    server = serve(lambda request: "Perhaps." if failing in str(request) else lab(request))
    file = tmp_path / "replies.jsonl"
    rows = [{"id": item.id, "output": lab.draft(query)} for query, item in ITEMS.items()]
    write_rows(file, rows)
    given = ["--judge", "openai/gpt-4o", "--judge-base-url", server.url, "--judge-max-failures", "0.5"]
    given += ["--details", str(tmp_path / "details.jsonl")]
    assert main(["score", "fave", str(file), "--data", "sample", "--model", "m", "--json", *given]) == 0
    printed = capsys.readouterr()
    scored = json.loads(printed.out)["metrics"]
    asked = 24 * 4
    failed = round(scored["judge_failed"] * asked)
    assert failed and scored["hallucinations_per_summary"] == 2
    warning = (
        f"{failed} of {asked} questions ({failed / asked:.1%}) have no verdict of the judge and count as no "
        f"hallucination; if all of them were, there would be {failed / 24:.4f} more in a reply"
    )
    assert f"halu-tasks: fave: {warning}\n" in printed.err
    (tmp_path / "scores").mkdir()
    (tmp_path / "scores" / "fave.json").write_text(printed.out)
    assert main(["report", str(tmp_path / "scores"), "-o", str(tmp_path / "report")]) == 0
    assert warning in capsys.readouterr().err
    assert warning in json.loads((tmp_path / "report" / "report.json").read_text())["warnings"][0]["text"]
    # lm-eval takes over the handlers of loggers
    warnings: list[str] = []
    monkeypatch.setattr(lm_eval_task.logger, "warning", warnings.append)
    judge = {"judge": "openai/gpt-4o", "judge_base_url": server.url, "judge_max_failures": 0.5}
    run = run_lm_eval(["fave"], ReplayLM(str(file)), {f"halu_{name}": value for name, value in judge.items()})
    assert warnings == [f"fave: {warning}"]
    log = run_inspect("fave", "halu/replay", judge, model_args={"predictions": str(file)})
    assert capsys.readouterr().err.splitlines().count(f"halu-tasks: fave: {warning}") == 1
    in_inspect = figures(log)
    for name, value in scored.items():
        assert run["results"]["fave"][f"{name},none"] == value == in_inspect[name], name
    assert len(check_items(BUILT.task, log, run)) == 24


def test_what_is_asked_about_odd_summaries() -> None:
    item = next(item for item in BUILT.items if any(not paper["abstract"] for paper in item.gold.papers))
    blank = next(paper for paper in item.gold.papers if not paper["abstract"])
    (asked,) = summary_questions(item, f"{blank['name']} found little.", 8_000)
    assert "Abstract: (none)" in asked.fields["papers"]
    facts = score_summary(item, f"{blank['name']} found little.", ["supported"]).facts
    assert facts["blank"] == 1 and facts["hallucinations"] == 0
    for nothing in ("", "<think>I would", "Summary:"):
        assert summary_questions(item, nothing, 8_000) == [] and summary_of(nothing) is None
        assert score_summary(item, nothing, []).facts["hallucinations"] == 1
    plain = score_summary(item, "Nothing is cited here. Nor here.", [])
    assert plain.facts["hallucinations"] == 0 and plain.facts["cited"] == 0 and plain.facts["sentences"] == 2


def test_two_papers_of_one_name_are_told_apart_and_both_shown_where_a_citation_fits_both() -> None:
    named = {item.id: [paper["name"] for paper in item.gold.papers] for item in BUILT.items}
    id = next(id for id, names in named.items() if any(name.endswith("a)") for name in names))
    item = next(item for item in BUILT.items if item.id == id)
    letter = next(name for name in named[id] if name.endswith("a)"))
    (one,), _ = cited_sentences(f"{letter} found it.", item.gold.papers)
    assert [paper["name"] for paper in one.papers] == [letter]
    (both,), _ = cited_sentences(f"{letter.replace('a)', ')')} found it.", item.gold.papers)
    assert len(both.papers) == 2 and len(both.ambiguous) == 1


def test_all_of_fave_is_read(shared_data: Path) -> None:
    evaluation = build("fave", Options(data=str(shared_data)))
    assert len(evaluation.items) == 200 == evaluation.task.data.size
    assert all(len({paper["name"] for paper in item.gold.papers}) == 8 for item in evaluation.items)
    assert sum(not paper["abstract"] for item in evaluation.items for paper in item.gold.papers) == 1


def test_bad_files_are_told_by_line(tmp_path: Path, capsys: Capture) -> None:
    good = {"query": "q", "papers": [{"title": "t", "summary": "s", "authors": ["A B"], "metadata": {"year": 2000}}]}
    for text, reason in (
        ("[\n" + json.dumps(good) + ",\n" + json.dumps({**good, "papers": []}) + "\n]", ":2: field 'papers' is empty"),
        ("[\n" + json.dumps(good), ":2: not JSON (Expecting ',' delimiter"),
        ("[\n{]", ":2: not JSON"),
        ("[\n\n3]", ":1: expected a JSON object"),
        (json.dumps([{**good, "papers": [{"title": "t"}]}]), ":1: paper 1: field 'summary' is missing or not str"),
        ("[]", "contains no rows"),
    ):
        (tmp_path / "paper_dataset.json").write_text(text)
        assert main(["items", "fave", "--data", str(tmp_path)]) == 2
        assert reason in capsys.readouterr().err
