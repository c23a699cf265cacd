"""Scanners for Inspect Scout: they look for hallucinations in the logs of any task (`scout scan halu_tasks/NAME`).

A thin adapter: what is asked and how it is read is that of the methods and benchmarks.
"""

# the extra is checked before what needs it is imported
# ruff: noqa: E402
from halu_tasks.core.extras import require_extra

require_extra("scout", "scanning logs")

from halu_tasks.scanners.citations import citations
from halu_tasks.scanners.factored_verification import factored_verification
from halu_tasks.scanners.spans import spans

__all__ = ["citations", "factored_verification", "spans"]
