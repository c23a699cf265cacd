"""Texts of a user's own become samples; running them is tested in tests/harness/test_texts.py."""

from pathlib import Path

from common import write_rows
from inspect_ai.solver import generate
from inspect_ai.util import registry_info

from halu_tasks.inspect_adapter.named_scorers import text_score, texts_task


def test_a_row_becomes_a_sample_with_what_a_method_looks_at(tmp_path: Path) -> None:
    file = tmp_path / "my.jsonl"
    rows = [
        {"text": " A ship sank. ", "source": ["One.", " Two. "], "query": "What sank?", "label": " yes "},
        {"id": "b", "text": "A ship sank.", "source": "One.", "further": 3},
        {"text": "A ship sank.", "source": "Three."},
    ]
    write_rows(file, rows)
    task = texts_task(str(file), generate())
    first, second, third = task.dataset
    subject = {"text": "A ship sank.", "source": "One.\n\nTwo.", "query": "What sank?"}
    assert first.metadata == {"subject": subject} and first.target == "Yes"
    asked = [first.input.index(part) for part in (subject["query"], subject["source"], subject["text"])]
    assert asked == sorted(asked) and "Hallucinated: Yes" in first.input
    assert second.id == "b" and second.target == "" and len({first.id, second.id, third.id}) == 3
    assert registry_info(text_score()).name == "halu_tasks/text_score"
