"""Write what FaithBench's eight released detectors say of its summaries as predictions, with two baselines.

    python docs/faithbench_detectors.py faithbench predictions

A detector's figure is the probability that a summary is consistent, or 1 or 0; two of one detector's are missing.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

HHEM, OTHERS = ("hhemv1", "hhem-2.1", "hhem-2.1-english"), ("trueteacher", "true_nli")
DETECTORS = (*HHEM, *OTHERS, "gpt-3.5-turbo", "gpt-4-turbo", "gpt_4o")
data, out = Path(sys.argv[1]), Path(sys.argv[2])
samples = {
    f"{path.stem.removeprefix('batch_')}/{sample['sample_id']}": sample["metadata"]
    for path in sorted(data.glob("batch_*.json"))
    for sample in json.loads(path.read_text(encoding="utf-8"))["samples"]
}
said = {name: {id: facts[name] for id, facts in samples.items()} for name in DETECTORS}
said |= {name: dict.fromkeys(samples, value) for name, value in {"always-Yes": 0, "always-No": 1}.items()}
out.mkdir(parents=True, exist_ok=True)
for name, figures in said.items():
    rows = (
        {"id": id, "output": ""} if figure is None else {"id": id, "probability": 1 - figure}
        for id, figure in figures.items()
    )
    (out / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
