"""halu-tasks: hallucination benchmarks for lm-evaluation-harness and Inspect, scored by one core."""

import os.path as _path

__version__ = "0.1.0"

# In a checkout, scorers/, solvers/ and task_configs/ are next to this folder; in a wheel, inside it.
# Without pathlib, which takes as long to import as Python takes to start.
if not _path.isdir(_path.join(__path__[0], "scorers")):  # noqa: PTH112, PTH118
    __path__.append(_path.dirname(__path__[0]))  # noqa: PTH120
