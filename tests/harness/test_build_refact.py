"""ReFACT's construction end to end: `halu-tasks build refact_pipeline` against a model on loopback."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Serve = Callable[..., Any]
Run = Callable[..., Any]
Cli = Callable[..., subprocess.CompletedProcess[str]]

_FENCED = re.compile(r"(=====[0-9a-f]{16})\n(.*?)\n\1", re.DOTALL)
CASES = {
    "Mill1": "injected",
    "Mill2": "facts_invented",
    "Mill3": "negation_unchanged",
    "Mill4": "equivalent",
    "Mill5": "not_false",
    "Mill6": "uncertain",
    "Mill7": "too_few",
    "Mill8": "choice_unread",
}


def document(number: int, **more: Any) -> dict[str, Any]:
    name = f"Mill{number}"
    text = (
        f"Nice to be asked! {name} was built of granite by Ada Rook. Its wheel turns to the left and lifts 30 buckets. "
        f"The granite came by boat. Go and see it."
    )
    return {"id": name, "question": f"Who built {name}, and how does it work?", "text": text, **more}


class Model:
    """Follows the prompts, and breaks them where the mill's name says so."""

    def __call__(self, request: dict[str, Any]) -> Any:
        asked = str(request["messages"][-1]["content"])
        fenced = [text for _, text in _FENCED.findall(asked)]
        found = re.search(r"Mill\d+", " ".join(fenced))
        name = found[0] if found else ""
        case = CASES.get(name, "good")
        facts = [f"{name} was built of granite by Ada Rook.", "Its wheel turns to the left and lifts 30 buckets."]
        if "Which sentences of the answer state facts" in asked:
            return "PWNED" if case == "injected" else json.dumps(["No."] if case == "facts_invented" else facts)
        if "Turn the sentence into its opposite" in asked:
            sentence = fenced[2] if case == "negation_unchanged" else fenced[2].replace(" was", " was never")
            return json.dumps({"sentence": sentence.replace("to the left", "to the right")})
        if "Choose key phrases" in asked:
            return '```json\n["granite"]\n```'
        if "Under which other expressions" in asked:
            return '["it", "The granite"]'
        if "Find a replacement for each marked phrase" in asked:
            phrases = json.loads(fenced[2])
            return json.dumps([phrase.replace("granite", "slate") for phrase in phrases][case == "too_few" :])
        if "decide whether both sentences say the same" in asked:
            verdict = "yes" if case == "equivalent" else "no"
            return json.dumps([{"verdict": verdict, "reason": "so it seems"}] * len(json.loads(fenced[0])))
        if "Which one would deceive most readers" in asked:
            return "Both." if case == "choice_unread" else '{"choice": 2}'
        assert "Three things are to be decided" in asked
        verdicts = [{"verdict": "yes", "reason": "clear"}] * 3
        if case in ("not_false", "uncertain"):
            verdicts[0] = {"verdict": {"not_false": "no"}.get(case, case), "reason": "hm"}
        return "<think>[]</think>" + json.dumps(verdicts)


@pytest.fixture
def build(run_build: Run) -> Run:
    def run(documents: list[dict[str, Any]], *arguments: str) -> tuple[dict[str, Any], Path]:
        own = ("-T", "nli_model=judge", "-T", "min_chars=0", "-T", "min_score=0")
        told, folder = run_build("refact_pipeline", documents, Model(), *own, *arguments)
        return told, folder / "dataset"

    return run


@pytest.mark.slow
def test_a_build_is_as_scripted_and_its_files_reach_the_ceiling(build: Run, run_inspect: Run, run_lm_eval: Run) -> None:
    good = 4
    documents = [document(n) for n in range(1, 9 + good)]
    documents += [{**document(50), "question": None}, document(51, text=document(51)["text"] + " <SWAP>")]
    told, folder = build(documents)
    assert told["refused"] == {"no question": 1, "contains tags": 1}
    assert told["documents"] == 10 + good and told["drafts"] == 2 * (8 + good)
    assert told["rejected"] == {
        "facts: unreadable reply": 2,
        "facts: not in the answer": 2,
        # one of two sentences; the other one is negated, and kept
        "format: unchanged": 1,
        "format: unreadable replacements": 1,
        "equivalent: same meaning": 1,
        "wrong: not false": 2,
        "wrong: uncertain": 2,
        "choice: unreadable choice": 1,
        # the pronoun among the coreferences is left out of a draft that is kept all the same
        "phrase: only stop words": 6 + good,
    }
    kept = {"neg": good + 3, "swap": good + 2}
    assert told["items"] == kept
    rows = [json.loads(line) for line in (folder / "refact_multi_error.jsonl").read_text().splitlines()]
    swapped = [row for row in rows if row["error_type"] == "swap"]
    assert all(row["error_spans"].count("<swap>") == 2 for row in swapped)
    assert "<swap>The slate</swap> came by boat." in swapped[0]["error_spans"]
    total = sum(kept.values())
    for subset, tasks in (
        ("multi_error", {"judgment_independent": 2 * total, "localization_entity": kept["swap"]}),
        ("single_error", {"localization_negation": kept["neg"], "correction": 2 * kept["swap"]}),
    ):
        for task, items in tasks.items():
            own = {"data": str(folder), "subset": subset}
            log = run_inspect(f"refact_{task}", "halu/oracle", own)
            assert log.results.scores[0].metrics["acc"].value == 1.0 and len(log.samples) == items
            found = run_lm_eval([f"refact_{task}"], "halu-oracle", {f"halu_{key}": own[key] for key in own})
            assert found["results"][f"refact_{task}"]["acc,none"] == 1.0


@pytest.mark.slow
def test_what_the_source_filter_leaves_out_is_counted_everywhere(run_build: Run, here: Cli) -> None:
    more = " It was repaired by her sons, and by theirs, and it still turns on most days." * 6
    rated = [document(n, score=n) for n in range(20, 24)]
    documents = [{**row, "text": row["text"] + more} for row in rated]
    documents += [{**documents[0], "id": "rival", "score": 3}, document(30, score=9), document(31)]
    documents += [{**document(32, score=2), "text": documents[0]["text"]}]
    expected = {"not the best answer": 1, "too short": 1, "no score": 1, "low score": 1}
    told, folder = run_build("refact_pipeline", documents, Model(), "-T", "nli_model=judge")
    assert told["refused"] == expected and told["drafts"] == 2 * 4
    plan = json.loads((folder / "build.json").read_text(encoding="utf-8"))
    assert plan["refused"] == expected and plan["documents"] == 8
    card = (folder / "dataset" / "README.md").read_text(encoding="utf-8")
    assert all(f"| refused: {reason} | 1 |" in card for reason in expected) and '"min_score": 4' in card
    again, _ = run_build("refact_pipeline", documents, Model(), "-T", "nli_model=judge", told=False)
    line = next(line for line in again.splitlines() if "are refused" in line)
    assert line.startswith("4 of 8 documents are refused: ") and "-T min_score=0 -T best_answer=false)" in line
    other, _ = run_build(
        "refact_pipeline", documents, Model(), "-T", "min_score=2", "-T", "nli_model=judge", fails=True
    )
    assert "contains a build with other min_score (4, not 2)" in other
