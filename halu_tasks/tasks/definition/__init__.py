"""From the keys of a task file to a `Task`; every key is checked where it is read.

`keys` has the keys and typed access to them, `data`, `prompts`, `decoding`, `answers` and `scoring` read one part each,
and `assemble` makes the task of these parts.
"""

from halu_tasks.tasks.definition.assemble import PROMPT_FORMATS, task_from
from halu_tasks.tasks.definition.keys import KEYS
from halu_tasks.tasks.definition.scoring import METRIC_KEYS, MODES

__all__ = ["KEYS", "METRIC_KEYS", "MODES", "PROMPT_FORMATS", "task_from"]
