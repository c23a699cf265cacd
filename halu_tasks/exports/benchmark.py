"""A built dataset as a benchmark of the Hugging Face hub: its files, and `eval.yaml` with the tasks on it.

The Hub runs a benchmark with Inspect's own solvers and scorers, and knows none of another package. So each task is
written as rows with the whole prompt and the right reply, and scored by whether the first label in a reply is the right
one. Only tasks whose replies are labels can be scored so.
"""

from __future__ import annotations

import filecmp
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from halu_tasks.builders.card.card import tasks_on
from halu_tasks.builders.card.describe import CARD
from halu_tasks.builders.run.dataset import rows_of
from halu_tasks.builders.run.folder import DATASET, Folder
from halu_tasks.core.errors import DataError
from halu_tasks.core.items import Item
from halu_tasks.core.json_lines import json_line
from halu_tasks.core.options import Options
from halu_tasks.exports.exported import write_new
from halu_tasks.scorers.kinds import Label
from halu_tasks.tasks import Built, Task, build, task_named

EVAL = "eval.yaml"
FRAMEWORK = "inspect-ai"
"""The one framework of the Hub's list that runs tasks like these."""
_FRONT = re.compile(r"---\n(.*?)^---\n", re.DOTALL | re.MULTILINE)


class Benchmark(NamedTuple):
    """A benchmark that was written.

    Attributes:
        file: Its `eval.yaml`.
        tasks: The names of its tasks.
        left_out: Why each of the other tasks on the dataset is not among them.
    """

    file: Path
    tasks: Sequence[str]
    left_out: Sequence[str]


class _Labels(NamedTuple):
    """A task as the Hub can run it.

    Attributes:
        built: The task with its items.
        targets: The right reply to each item, one of a few labels.
    """

    built: Built
    targets: Sequence[str]

    @property
    def pattern(self) -> str:
        """What finds the first label in a reply."""
        labels = sorted(set(self.targets), key=lambda label: (-len(label), label))
        return rf"(?<!\w)({'|'.join(map(re.escape, labels))})(?!\w)"


def write_benchmark(path: Path, place: Path) -> Benchmark:
    """Write the dataset of a build with its `eval.yaml`, as a folder to upload.

    Args:
        path: The folder of the build.
        place: The folder to write, created if necessary.

    Raises:
        DataError: There is no dataset, no task can be written, or another file is in the way.
    """
    folder = Folder(path)
    dataset = folder.path / DATASET
    if not (dataset / CARD).is_file():
        raise DataError(f"{path}: has no dataset with a card; make it with: halu-tasks build collect {path}")
    benchmark = folder.pipeline.benchmark
    files = rows_of(dataset, items=sum(1 for _ in folder.items()))
    labelled, left_out = [], []
    for name in tasks_on(benchmark, files):
        task = task_named(name)
        known = None if task.prompts.shots else _labels(build(task, Options(data=str(dataset))))
        if known:
            labelled.append(known)
        else:
            left_out.append(f"{name}: {_why_not(task)}")
    if not labelled:
        raise DataError(f"{path}: no task on this dataset can be run on the Hub ({'; '.join(left_out) or 'none'})")
    card = (dataset / CARD).read_text(encoding="utf-8")
    texts = {place / _rows_file(known): _rows(known) for known in labelled}
    texts[place / CARD] = _with_configs(card, labelled)
    texts[place / EVAL] = _eval_yaml(_front_matter(card), labelled)
    _copy_new([file for file in sorted(dataset.iterdir()) if file.name != CARD], place)
    write_new(texts)
    return Benchmark(place / EVAL, [known.built.task.name for known in labelled], left_out)


def _why_not(task: Task) -> str:
    if task.prompts.shots:
        return "its worked examples have no place in eval.yaml"
    return "its replies are not one of a few labels"


def _labels(built: Built) -> _Labels | None:
    """Return the task with its labels; None if its replies are something else."""
    if not isinstance(built.task.answer, Label):
        return None
    items: Sequence[Item] = built.items
    replies = [built.task.oracle(item) for item in items]
    if len(set(replies)) <= len(built.task.answer.labels):
        return _Labels(built, replies)
    # a label that something else follows, such as an explanation
    labels = _Labels(built, [item.target for item in items])
    found = [re.search(labels.pattern, reply) for reply in replies]
    right = all(match and match[1] == item.target for match, item in zip(found, items, strict=True))
    return labels if right else None


def _rows_file(known: _Labels) -> str:
    return f"tasks/{known.built.task.name}.jsonl"


def _rows(known: _Labels) -> str:
    return "".join(
        json_line({"id": item.id, "system": item.system, "prompt": item.prompt, "target": target}) + "\n"
        for item, target in zip(known.built.items, known.targets, strict=True)
    )


def _eval_yaml(front: dict[str, Any], labelled: Sequence[_Labels]) -> str:
    about = (
        "Items generated by models and checked by others, see the card. Scored here by the first label in a reply; "
        f"halu-tasks reads replies more carefully and gives intervals. Tasks: {_names(labelled)}."
    )
    content = {
        "name": front.get("pretty_name", "halu-tasks"),
        "description": about,
        "evaluation_framework": FRAMEWORK,
        "tasks": [_task(known) for known in labelled],
    }
    return yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=120)


def _names(labelled: Sequence[_Labels]) -> str:
    return ", ".join(known.built.task.name for known in labelled)


def _task(known: _Labels) -> dict[str, Any]:
    task = known.built.task
    systems = {item.system for item in known.built.items}
    if len(systems) > 1:
        raise DataError(f"{task.name}: its items have different system texts")
    decoding = task.decoding
    settings: dict[str, Any] = {"max_tokens": decoding.max_tokens, "temperature": decoding.temperature}
    settings |= {} if decoding.top_p is None else {"top_p": decoding.top_p}
    # the solver fills in what stands between braces
    system = [{"name": "system_message", "args": {"template": _escaped(text)}} for text in systems if text]
    return {
        "id": task.name,
        "config": task.name,
        "split": "test",
        "field_spec": {"input": "prompt", "target": "target"},
        "solvers": [*system, {"name": "generate", "args": settings}],
        "scorers": [{"name": "pattern", "args": {"pattern": known.pattern}}],
    }


def _escaped(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


def _front_matter(card: str) -> dict[str, Any]:
    match = _FRONT.match(card)
    return dict(yaml.safe_load(match[1])) if match else {}


def _with_configs(card: str, labelled: Sequence[_Labels]) -> str:
    """Add the rows of the tasks to the configurations that a card names."""
    front = _front_matter(card)
    front["configs"] = [
        *front.get("configs", []),
        *(
            {"config_name": known.built.task.name, "data_files": [{"split": "test", "path": _rows_file(known)}]}
            for known in labelled
        ),
    ]
    text = yaml.safe_dump(front, sort_keys=False, allow_unicode=True, width=120)
    return f"---\n{text}---\n" + _FRONT.sub("", card, count=1)


def _copy_new(files: Sequence[Path], place: Path) -> None:
    """Copy files into a folder, unless one of them is there with another content.

    Raises:
        DataError: One of them is, in which case none is copied; or a file cannot be written.
    """
    files = [file for file in files if file.is_file()]
    for file in files:
        copy = place / file.name
        if copy.exists() and not (copy.is_file() and filecmp.cmp(file, copy, shallow=False)):
            raise DataError(f"{copy}: exists and differs; choose another folder with -o, or remove the file")
    try:
        place.mkdir(parents=True, exist_ok=True)
        for file in files:
            shutil.copyfile(file, place / file.name)
    except OSError as error:
        raise DataError(f"{error.filename or place}: {error.strerror or error}") from None
