"""ReFACT's source filter, end to end; what becomes of its drafts is tested in process."""

import json
from typing import Any

import pytest
from common import Run


def document(number: int, **more: Any) -> dict[str, Any]:
    name = f"Mill{number}"
    text = (
        f"Nice to be asked! {name} was built of granite by Ada Rook. Its wheel turns to the left and lifts 30 buckets. "
        f"The granite came by boat. Go and see it."
    )
    return {"id": name, "question": f"Who built {name}, and how does it work?", "text": text, **more}


def model(request: dict[str, Any]) -> str:
    asked = str(request["messages"][-1]["content"])
    if "Which sentences of the answer state facts" in asked:
        return '["The granite came by boat."]'
    if "Turn the sentence into its opposite" in asked:
        return '{"sentence": "The granite never came by boat."}'
    return json.dumps([{"verdict": "yes", "reason": "clear"}] * 3)


@pytest.mark.slow
def test_what_the_source_filter_leaves_out_is_counted_everywhere(run_build: Run) -> None:
    more = " It was repaired by her sons, and by theirs, and it still turns on most days." * 6
    rated = [document(n, score=n) for n in range(20, 24)]
    documents = [{**row, "text": row["text"] + more} for row in rated]
    documents += [{**documents[0], "id": "rival", "score": 3}, document(30, score=9), document(31)]
    documents += [{**document(32, score=2), "text": documents[0]["text"]}]
    needs = "no score, which min_score and best_answer need"
    expected = {"not the best answer": 1, "shorter than min_chars=500": 1, needs: 1, "low score": 1}
    own = ("-T", "nli_model=judge", "-T", "kinds=neg")
    told, folder = run_build("refact_pipeline", documents, model, *own)
    assert told["refused"] == expected and told["drafts"] == told["items"]["neg"] == 4
    plan = json.loads((folder / "build.json").read_text(encoding="utf-8"))
    assert plan["refused"] == expected and sum(plan["parts"]) == 8
    card = (folder / "dataset" / "README.md").read_text(encoding="utf-8")
    assert all(f"| refused: {reason} | 1 |" in card for reason in expected) and '"min_score": 4' in card
    again, _ = run_build("refact_pipeline", documents, model, *own, told=False)
    line = next(line for line in again.splitlines() if "are refused" in line)
    assert line.startswith("4 of 8 documents are refused: ") and f"1 {needs}" in line
    other, _ = run_build("refact_pipeline", documents, model, *own, "-T", "min_score=2", fails=True)
    assert "contains a build with other min_score (4, not 2)" in other
