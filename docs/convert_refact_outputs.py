"""Convert the replies that ReFACT's authors released to predictions for `halu-tasks score`.

The replies: https://github.com/ddz5431/ReFACT, branch evaluation-notebook, commit
f4619a048e629a2f1ed62e0606fc69e16c716177, CC BY 4.0. Each file is one JSON object that maps column to row
number to value. Example, with that commit checked out in `released`:

    python convert_refact_outputs.py released gemma-3-27b-it --out predictions

writes `predictions/gemma-3-27b-it/<task>.jsonl` for every task whose file exists.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Row = dict[str, Any]

FILES = {
    "refact_judgment_independent": "knowledge/results_valid_invalid",
    "refact_judgment_comparative": "knowledge/results_answer_comparison",
    "refact_localization_negation": "position/negated_sentence",
    "refact_localization_entity": "position/entity_finder",
    "refact_correction": "correction/results_blank_filling",
}
SETTING = "zeroshot__no_self_consistency"


def table(path: Path) -> list[Row]:
    """Return the rows of a released file, ordered by row number."""
    columns: dict[str, dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    numbers = sorted(columns["id"], key=int)
    return [{name: values.get(number) for name, values in columns.items()} for number in numbers]


def sample_ids(metadata: Path) -> list[tuple[str, str]]:
    """Return (id, id with `_neg` or `_swap`) for every row, in the order of the two knowledge files."""
    with metadata.open(encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    return [(row["id"], f"{row['id']}_{row['tag_type']}") for row in rows]


def text(value: object) -> str:
    """Return `value` if it is a string, else an empty string."""
    return value if isinstance(value, str) else ""


def predictions(task: str, rows: list[Row], ids: list[tuple[str, str]]) -> Iterator[Row]:
    """Yield one prediction per reply.

    Two rows of the data may share an `id`. In the knowledge files, the order of the rows distinguishes them; in the
    others, the task's error type does.

    Raises:
        ValueError: If the rows of a knowledge file are not in the order of the metadata.
    """
    if task.startswith("refact_judgment") and [row["id"] for row in rows] != [id for id, _ in ids]:
        raise ValueError("the rows are not in the order of final_metadata.jsonl")
    for number, row in enumerate(rows):
        if task == "refact_judgment_independent":
            sample = ids[number][1]
            yield {"id": f"{sample}/original", "output": text(row["output_original"])}
            yield {"id": f"{sample}/confabulated", "output": text(row["output_transformed"])}
        elif task == "refact_judgment_comparative":
            # `ground_truth` lists what was shown as A and B; the original answer is the gold one
            target = "AB"[row["ground_truth"].index("Original")]
            yield {"id": ids[number][1], "output": text(row["output"]), "target": target}
        elif task == "refact_localization_negation":
            yield {"id": f"{row['id']}_neg", "output": text(row["predicted_sentence"])}
        elif task == "refact_localization_entity":
            yield {"id": f"{row['id']}_swap", "output": text(row["predicte_wrong_entities"])}
        else:
            yield {"id": f"{row['id']}_swap", "output": text(row["response"])}


def main() -> int:
    """Convert the replies of the models named on the command line."""
    parser = argparse.ArgumentParser(description="Convert released ReFACT replies to predictions for halu-tasks score.")
    parser.add_argument("released", type=Path, help="folder with final_metadata.jsonl and llm_outputs/")
    parser.add_argument("models", nargs="+", help="names as in the file names, such as gemma-3-27b-it")
    parser.add_argument("--out", type=Path, default=Path("predictions"), help="folder to write to")
    parser.add_argument("--setting", default=SETTING, help=f"the end of the file names; default: {SETTING}")
    arguments = parser.parse_args()
    ids = sample_ids(arguments.released / "final_metadata.jsonl")
    for model in arguments.models:
        for task, start in FILES.items():
            path = arguments.released / "llm_outputs" / f"{start}__{model}__{arguments.setting}.json"
            if not path.is_file():
                print(f"{path.name} not found: {task} skipped", file=sys.stderr)
                continue
            rows = list(predictions(task, table(path), ids))
            target = arguments.out / model / f"{task}.jsonl"
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("w", encoding="utf-8") as file:
                file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
            print(f"{target}: {len(rows)} predictions")
    return 0


if __name__ == "__main__":
    sys.exit(main())
