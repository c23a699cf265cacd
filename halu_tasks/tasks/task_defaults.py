"""The keys that a new task may leave out: one whose file includes no packaged task."""

from __future__ import annotations

from dataclasses import replace

from halu_tasks.tasks.yaml_files import TaskFile

OWN = "own"
"""The source of a task that names none: the folder of its file."""
DECODING = {"max_gen_toks": 1024, "temperature": 0.0}


def with_defaults(file: TaskFile) -> TaskFile:
    """Return the file of a new task with the defaults of the keys that it leaves out (docs/task-files.md)."""
    entries = {key: value for key, value in file.values.items() if value is not None}
    name, metadata, decoding = entries.get("task"), entries.get("metadata", {}), entries.get("generation_kwargs", {})
    values = {"source": OWN, **entries}
    values |= {key: name for key in ("reference_task", "about") if key not in entries and name is not None}
    if isinstance(metadata, dict):
        values["metadata"] = {"version": 1, **metadata}
    gold, options = entries.get("gold"), entries.get("task_options", [])
    if isinstance(gold, dict) and gold.get("annotators") and isinstance(options, list):
        values["task_options"] = [*options, "pool"]
    if isinstance(decoding, dict):
        values["generation_kwargs"] = {**DECODING, **decoding}
    return replace(file, values=values)
