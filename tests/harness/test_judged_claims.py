"""A judge that lists the claims of a reply, looks each up and labels it: in both harnesses and all commands."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from common import Capture, Patch, Run, fenced, read_rows, write_rows
from judges import asked_text, figures, is_question, questions, verdict
from loopback import completion

from halu_tasks.cli import main
from halu_tasks.lm_eval_adapter.lm_eval_models import ReplayLM

LISTING = "List every claim that it makes"
REPLIES = {
    "Keiko Tanimachi": "Keiko Tanimachi studies quakes. Keiko Tanimachi plays chess.",
    "Odette Marchildon": "Odette Marchildon counts terns. Terns are birds.",
    "Mei-Lan Ko": "I do not know.",
    "Paloma Irigoyti": "",
}
PAGES = {
    "tanimachi.txt": "Keiko Tanimachi studies quakes below the bay.",
    "birds/marchildon.md": "Odette Marchildon counts terns in spring.",
}


@pytest.fixture
def wiki(tmp_path: Path, monkeypatch: Patch) -> str:
    """A folder of passages, beside four replies to items of FActScore's sample."""
    monkeypatch.chdir(tmp_path)
    for name, text in PAGES.items():
        path = tmp_path / "wiki" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    write_rows(tmp_path / "replies.jsonl", [{"id": id, "output": text} for id, text in REPLIES.items()])
    return "wiki"


def reader(request: dict[str, Any]) -> Any:
    """A judge that lists sentences as claims, and supports what the passages say word for word."""
    if not is_question(request):
        return "ready"
    asked = asked_text(request)
    if LISTING in asked:
        (text,) = fenced(asked)
        sentences = [f"- {sentence}" for sentence in text.rstrip(".").split(". ") if "not know" not in sentence]
        return "\n".join(["The claims are:", *sentences])
    *_, passages, claim = fenced(asked)
    label = "irrelevant" if claim.startswith("Terns") else "supported" if claim in passages else "not_supported"
    return verdict(label)


def asking(server: Any, wiki: str, *arguments: str) -> list[str]:
    judge = ["--judge", "openai/gpt-4o", "--judge-base-url", server.url, "--judge-knowledge", wiki]
    return ["score", "factscore", "replies.jsonl", "--data", "sample", "--partial", *judge, *arguments]


def scored(capsys: Capture, *arguments: str) -> dict[str, Any]:
    capsys.readouterr()
    assert main([*arguments, "--json"]) == 0, capsys.readouterr().err
    return dict(json.loads(capsys.readouterr().out))


def refused(capsys: Capture, *arguments: str) -> str:
    capsys.readouterr()
    assert main([*arguments]) not in (0, 3)
    err = capsys.readouterr().err
    assert err.count("\n") == 1, err
    return err


def test_each_claim_is_checked_against_the_passages_that_are_found_for_it(
    wiki: str, serve: Run, capsys: Capture
) -> None:
    server = serve(reader)
    found = scored(capsys, *asking(server, wiki, "--details", "details.jsonl"))
    metrics = found["metrics"]
    # of Tanimachi's two claims one is supported, of Marchildon's the only one that is about her
    assert metrics["acc_attempted"] == pytest.approx((1 / 2 + 1) / 2)
    assert (metrics["attempted"], metrics["abstained"], metrics["empty"]) == pytest.approx((0.5, 0.25, 0.25))
    assert metrics["net"] == pytest.approx((0 + 1) / 4) and metrics["share_irrelevant"] == pytest.approx(1 / 4)
    assert (metrics["claims"], metrics["bad_claims"]) == pytest.approx((4 / 4, 1 / 4))
    asked = [asked_text(request) for request in server.asked if is_question(request)]
    # neither the reply that declines nor the empty one is sent
    assert sum(LISTING in text for text in asked) == 2 and len(asked) == 6
    (of_quakes,) = [text for text in asked if LISTING not in text and fenced(text)[-1].endswith("studies quakes")]
    person, passages, _ = fenced(of_quakes)
    assert person == "Keiko Tanimachi" and passages.startswith(f"[1] {PAGES['tanimachi.txt']}")
    assert PAGES["birds/marchildon.md"] not in passages
    (row,) = [row for row in read_rows(Path("details.jsonl")) if row["id"] == "Keiko Tanimachi"]
    assert [(one["about"], one["label"]) for one in row["verdicts"]] == [
        ("Keiko Tanimachi studies quakes", "supported"),
        ("Keiko Tanimachi plays chess", "not_supported"),
    ]
    # lists and verdicts are cached, and the published definition is another reading of the same verdicts
    paper = scored(capsys, *asking(server, wiki, "--scoring", "paper"))["metrics"]
    assert questions(server) == 7  # in paper, what declines is sent too
    assert paper["acc_attempted"] == pytest.approx((1 / 2 + 1 / 2) / 2)


def test_the_harnesses_say_what_score_says(
    wiki: str, serve: Run, capsys: Capture, run_inspect: Any, run_lm_eval: Run
) -> None:
    server = serve(reader)
    replies = [*read_rows(Path("replies.jsonl"))]
    known = {row["id"] for row in replies}
    items = json.loads("[" + ",".join(_printed(capsys, "items", "factscore", "--data", "sample", "--json")) + "]")
    write_rows(
        Path("replies.jsonl"), [*replies, *({"id": i["id"], "output": ""} for i in items if i["id"] not in known)]
    )
    metrics = scored(capsys, *asking(server, wiki))["metrics"]
    judge = {"judge": "openai/gpt-4o", "judge_base_url": server.url, "judge_knowledge": wiki}
    options = {f"halu_{name}": value for name, value in judge.items()}
    in_lm_eval = run_lm_eval(["factscore"], ReplayLM("replies.jsonl"), options)["results"]["factscore"]
    log = run_inspect("factscore", "halu/replay", judge, model_args={"predictions": "replies.jsonl"})
    in_inspect = figures(log)
    assert metrics["attempted"] == pytest.approx(2 / len(items))
    for name, value in metrics.items():
        assert in_lm_eval[f"{name},none"] == in_inspect[name] == value, name
    # the version names what claims are checked against
    assert "knowledge_" in log.eval.task_version
    Path("wiki", "tanimachi.txt").write_text("Keiko Tanimachi plays chess.")
    other = run_inspect("factscore", "halu/replay", judge, model_args={"predictions": "replies.jsonl"})
    assert other.eval.task_version != log.eval.task_version


def _printed(capsys: Capture, *arguments: str) -> list[str]:
    capsys.readouterr()
    assert main([*arguments]) == 0
    return capsys.readouterr().out.splitlines()


def test_a_list_that_is_cut_off_or_missing_is_a_failure_and_no_silence(wiki: str, serve: Run, capsys: Capture) -> None:
    def cut(request: dict[str, Any]) -> Any:
        text = reader(request)
        if is_question(request) and LISTING in asked_text(request) and "terns" in asked_text(request):
            return completion({"content": text}, finish_reason="length")
        return text

    server = serve(cut)
    command = asking(server, wiki, "--judge-max-failures", "1", "--details", "details.jsonl")
    metrics = scored(capsys, *command)["metrics"]
    assert metrics["judge_failed"] == pytest.approx(1 / 3) and metrics["acc_attempted"] == pytest.approx(1 / 2)
    # of the three replies that are known, one attempts
    assert metrics["attempted"] == pytest.approx(1 / 3) and metrics["claims"] == pytest.approx(2 / 3)
    details = {row["id"]: row for row in read_rows(Path("details.jsonl"))}
    (failed,) = details["Odette Marchildon"]["verdicts"]
    assert failed["label"] == "failed" and "cut off; raise judge_max_tokens" in failed["reason"]


def test_a_judge_that_looks_claims_up_needs_passages_and_others_do_not_use_them(
    wiki: str, serve: Run, capsys: Capture, run_inspect: Any, caplog: pytest.LogCaptureFixture
) -> None:
    server = serve(reader)
    judge = ["--judge", "openai/gpt-4o", "--judge-base-url", server.url]
    own = ["score", "factscore", "replies.jsonl", "--data", "sample", "--partial", *judge]
    assert "task factscore: its judge looks claims up; name a file or folder" in refused(capsys, *own)
    assert "knowledge 'nothing'" in refused(capsys, *own, "--judge-knowledge", "nothing")
    write_rows(Path("others.jsonl"), [{"id": "1", "output": ""}])
    other = ["score", "halluqa", "others.jsonl", "--data", "sample", "--partial", *judge, "--judge-knowledge", wiki]
    assert main(other) == 0
    assert "halluqa: option judge_knowledge has no effect, since no judge of it looks claims up" in caplog.text
    assert not server.asked
    with pytest.raises(Exception, match="its judge looks claims up"):
        run_inspect("factscore", "halu/oracle", {"judge": "openai/gpt-4o", "judge_base_url": server.url})


def test_labels_of_people_are_drawn_by_claim_and_correct_the_number_of_bad_ones(
    wiki: str, serve: Run, capsys: Capture
) -> None:
    server = serve(reader)
    Path("results.json").write_text(json.dumps(scored(capsys, *asking(server, wiki, "--details", "details.jsonl"))))
    assert main(["label", "verdicts", "results.json", "--sample", "40", "-o", "drawn.jsonl"]) in (0, 3)
    drawn = read_rows(Path("drawn.jsonl"))
    assert {row["claim"] for row in drawn} == {
        "Keiko Tanimachi studies quakes",
        "Keiko Tanimachi plays chess",
        "Odette Marchildon counts terns",
        "Terns are birds",
    }
    assert all("claim: " in row["shown"] for row in drawn)
    write_rows(Path("labels.jsonl"), [{**row, "label": "no", "by": "ann"} for row in drawn])
    corrected = scored(capsys, *asking(server, wiki, "--reference", "labels.jsonl"))["metrics"]
    assert corrected["judge_specificity"] == pytest.approx(3 / 4) and corrected["bad_claims_ppi"] == 0


OWN = """
class: !function halu_tasks.lm_eval_adapter.task.HaluTask
task: sources
file: rows.jsonl
fields: [question, source]
doc_to_text: "Question: {{question}}"
answer: {kind: judged_text}
judge:
  labels: {supported: good, not_supported: bad}
  prompt: "Source: {{source}} Claim: {{claim}}"
"""


def test_claims_of_a_task_of_ones_own_may_be_checked_against_a_field(
    tmp_path: Path, serve: Run, capsys: Capture, monkeypatch: Patch
) -> None:
    monkeypatch.chdir(tmp_path)
    server = serve(reader)
    Path("own.yaml").write_text(OWN)
    write_rows(Path("rows.jsonl"), [{"id": "1", "question": "?", "source": "Ice floats. Lead sinks."}])
    write_rows(Path("replies.jsonl"), [{"id": "1", "output": "Ice floats. Wood sinks. Lead sinks."}])
    judge = ["--judge", "openai/gpt-4o", "--judge-base-url", server.url]
    metrics = scored(capsys, "score", "own.yaml", "replies.jsonl", *judge)["metrics"]
    assert metrics["acc_attempted"] == metrics["share_supported"] == pytest.approx(2 / 3)
    Path("own.yaml").write_text(OWN.replace("Claim: {{claim}}", "Claim: ?"))
    assert "judge: prompt: {{reply}} is missing" in refused(capsys, "score", "own.yaml", "replies.jsonl")
    Path("own.yaml").write_text(OWN.replace("[question, source]", "{question: question, claim: source}"))
    assert "cannot be named 'claim'" in refused(capsys, "score", "own.yaml", "replies.jsonl")
    Path("own.yaml").write_text(OWN + "scorer: judged\n")
    assert "has no metric of what this judge says; use judged_claims" in refused(
        capsys, "score", "own.yaml", "replies.jsonl"
    )


def test_a_plan_counts_lists_and_claims(wiki: str, capsys: Capture, serve: Run) -> None:
    server = serve(reader)
    judge = ["--judge", "openai/gpt-4o", "--judge-base-url", server.url, "--judge-knowledge", wiki]
    command = ["run", "openai/gpt-4o-mini", "--tasks", "factscore", "--data", "sample", "--limit", "2", *judge]
    capsys.readouterr()
    assert main([*command, "--model-base-url", server.url, "-o", "runs", "--dry-run", "--no-check", "--json"]) == 0
    rows = {row["part"]: row for row in json.loads(capsys.readouterr().out)["plan"]}
    # a list for each of the two replies, and more questions than that about their claims
    assert rows["judge"]["calls"] > 4 and rows["judge"]["counted"] == "about"
    assert not server.asked
