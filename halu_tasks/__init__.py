"""halu-tasks: hallucination benchmarks for lm-evaluation-harness and Inspect, scored by one core."""

from pathlib import Path as _Path

__version__ = "0.1.0"

# In a checkout, scorers/, solvers/ and task_configs/ are next to this folder; in a wheel, inside it.
if not (_Path(__file__).parent / "scorers").is_dir():
    __path__.append(str(_Path(__file__).parent.parent))
