"""What lm-eval needs to know of a task: its configuration, documents and worked examples, and where its file is."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from halu_tasks.core.errors import UsageError
from halu_tasks.core.items import Item
from halu_tasks.tasks import Built
from halu_tasks.tasks.asking import worked_examples
from halu_tasks.tasks.yaml_files import read_task_file


def lm_eval_config(built: Built) -> dict[str, Any]:
    """Return the configuration of a task whose items are already rendered."""
    return {
        **(_choice_config(built) if built.asks_for_probability else _generation_config(built)),
        "test_split": "test",
        "description": "system",
        "doc_to_text": "prompt",
        "doc_to_target": "target",
        "fewshot_config": {"sampler": "first_n", "samples": WorkedExamples(built)},
    }


def _choice_config(built: Built) -> dict[str, Any]:
    return {"output_type": "multiple_choice", "doc_to_choice": list(built.task.choices or ())}


def _generation_config(built: Built) -> dict[str, Any]:
    decoding = built.decoding
    generation: dict[str, Any] = {
        "until": [],
        "max_gen_toks": decoding.max_tokens,
        "do_sample": decoding.temperature > 0,
        "temperature": decoding.temperature,
    }
    if decoding.top_p is not None:
        generation["top_p"] = decoding.top_p
    return {"output_type": "generate_until", "generation_kwargs": generation}


class WorkedExamples:
    """The worked examples of a task, which lm-eval calls for.

    They are only made if they are needed, since the training part of a benchmark may have to be downloaded.

    Args:
        built: The task.
    """

    def __init__(self, built: Built) -> None:
        self._built = built

    def __call__(self) -> list[dict[str, str]]:
        """Return the examples as lm-eval's documents."""
        return self._documents

    @cached_property
    def _documents(self) -> list[dict[str, str]]:
        examples = worked_examples(self._built.task, self._built.options, self._built.prompt)
        return [{"prompt": example.prompt, "target": example.reply, "system": ""} for example in examples]

    def __repr__(self) -> str:
        return f"halu_tasks:worked_examples:{self._built.task.name}"


def document(item: Item) -> dict[str, Any]:
    """Return an item as lm-eval's document, which sample logs show."""
    return {
        **item.tags,
        **item.gold,
        "id": item.id,
        "system": item.system,
        "prompt": item.prompt,
        "target": item.target,
        "cluster": item.cluster,
        "tags": list(item.tags),
    }


def task_path(config: Mapping[str, Any]) -> Path:
    """Return the file that defines a task, for error messages.

    lm-eval passes on the path of a task that it found by its name. For a task that was named by its file
    (`--tasks my_task.yaml`) the import hook remembers the path.
    """
    task, source = str(config.get("task")), (config.get("metadata") or {}).get("config_source", "inline")
    paths: Mapping[str, str] = getattr(sys.modules.get("_halu_tasks_autoload"), "files", {})
    return Path(paths.get(task, f"task {task}") if source == "inline" else source)


def key_places(path: Path) -> Mapping[str, str]:
    """Return where each key of a task file is set; nothing for a task that a program made without a file."""
    try:
        return read_task_file(path).places
    except UsageError:
        return {}
