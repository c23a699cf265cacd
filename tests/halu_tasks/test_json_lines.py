"""JSON Lines that the package writes: a row is one line for every reader."""

import json
from pathlib import Path
from typing import Any

import pytest
from common import Capture

from halu_tasks.cli import main
from halu_tasks.core.files import json_line

ODD = "first\x85second\u2028third\u2029fourth\v\f\x1c\r\nlast é 漢 😀"


@pytest.mark.parametrize("escaped", [True, False])
def test_items_and_replies_with_line_separators_are_read_and_written(
    escaped: bool, tmp_path: Path, capsys: Capture
) -> None:
    def write(name: str, rows: list[dict[str, Any]]) -> str:
        lines = [json_line(row) if escaped else json.dumps(row, ensure_ascii=False) for row in rows]
        (tmp_path / name).write_text("".join(line + "\n" for line in lines), encoding="utf-8", newline="\n")
        return str(tmp_path / name)

    row = {
        "id": "a", "label": "FACTUAL", "query": f"Is it? {ODD}", "response": "R.", "evidence": ["text"],
        "reason": "FACTUAL.\nOne. Two.", "category": "Comparing", "domain": "d", "type": "kg",
    }  # fmt: skip
    (tmp_path / "data").mkdir()
    data = str(Path(write("data/fact_test_noe.jsonl", [row])).parent)
    assert main(["items", "factchd", "--data", data, "--json"]) == 0
    (item,) = map(json.loads, capsys.readouterr().out.splitlines())
    assert "second\u2028third\u2029fourth" in item["prompt"]
    replies = write("replies.jsonl", [{"id": item["id"], "output": f"FACTUAL. {ODD}"}])
    assert main(["score", "factchd", replies, "--data", data, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["n"] == 1
