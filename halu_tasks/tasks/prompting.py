"""How a task is asked under some options: its prompts, JSON answers, worked examples, and chats to tune a model on.

Prompts that the authors published are recognized by a hash, because their texts are not part of the package.
"""

from __future__ import annotations

import hashlib
import json
import logging
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from halu_tasks.core.errors import UsageError
from halu_tasks.core.files import read_yaml
from halu_tasks.core.items import Example, Item
from halu_tasks.core.options import Options
from halu_tasks.core.prompting import (
    Prompt,
    cue_of,
    given_prompts,
    messages,
    placeholders,
    render,
    without_cue,
)
from halu_tasks.data.locate import LocatedData, locate, named_data
from halu_tasks.tasks.definition import Task
from halu_tasks.tasks.prompts import Decoding
from halu_tasks.tasks.task_registry import prompt_names, registry

logger = logging.getLogger(__name__)

PACKAGED = "packaged"
"""The name of the built-in wording among several."""


# --- prompts --------------------------------------------------------------------------------------


def prompts_of(task: Task, options: Options) -> dict[str, Prompt]:
    """Return the prompts of a task under `options`, by the name of their wording; files replace parts of them.

    Raises:
        UsageError: A file cannot be read, or names a prompt or a key that does not exist, or two wordings have the same
            name.
    """
    prompts: dict[str, Prompt] = {}
    for file in options.prompts or (PACKAGED,):
        name = file if file == PACKAGED else Path(file).stem
        if name in prompts:
            raise UsageError(f"prompts {','.join(options.prompts)}: {name} occurs twice; rename one of the files")
        prompt = packaged_prompt(task, options) if file == PACKAGED else _prompt_of_file(task, options, file)
        prompts[name] = prompt
    return prompts


def packaged_prompt(task: Task, options: Options) -> Prompt:
    """Return the prompt of a task's own file under `options`."""
    return _in_form(task.prompts.wording(options).prompt, task, options)


def _prompt_of_file(task: Task, options: Options, file: str) -> Prompt:
    wording = task.prompts.wording(options)
    prompts = given_prompts(file, {*prompt_names(), *(task.name + other.suffix for other in task.prompts.wordings)})
    prompt = wording.prompt
    for name in dict.fromkeys((task.base_task, task.name)):
        prompt = {**prompt, **prompts.get(name + wording.suffix, {})}
    return _in_form(prompt, task, options)


# --- published wordings ---------------------------------------------------------------------------

PUBLISHED = Path(__file__).parents[1] / "published"
"""The folder with what papers report. Its files list under `prompts` where a text is printed (`source`), the `tasks`
that it asks, and the `sha256` of its wording."""
_JINJA_NAME = re.compile(r"\{\{\s*(\w+)\s*\}\}")
_QUOTES = {"‘‘": '"', "’’": '"', "``": '"', "''": '"', "“": '"', "”": '"', "‘": "'", "’": "'", "`": "'"}


def wording_hash(prompt: Prompt) -> str:
    """Return the SHA-256 of a prompt's text without what typesetting changes.

    The system text precedes the user text. White space is collapsed, quotation marks are straight, and a placeholder
    is written `{name}`.
    """
    text = "\n".join(part for part in (prompt.get("system", ""), prompt["user"]) if part)
    text = unicodedata.normalize("NFKC", _JINJA_NAME.sub(r"{\1}", text))
    for printed, plain in _QUOTES.items():
        text = text.replace(printed, plain)
    return hashlib.sha256(" ".join(text.split()).encode()).hexdigest()


def published_source(task: str, prompt: Prompt) -> str | None:
    """Return where the authors print the wording that a prompt of a packaged task has; None if they do not."""
    published = published_prompts().get(task)
    return published.get(wording_hash(prompt)) if published else None


@cache
def published_prompts() -> dict[str, dict[str, str]]:
    """Return where the published prompts of each task are printed, by the hash of their wording."""
    published: dict[str, dict[str, str]] = {}
    for path in sorted(PUBLISHED.glob("*.yaml")):
        for entry in read_yaml(path).get("prompts", ()):
            for task in entry["tasks"]:
                published.setdefault(task, {})[entry["sha256"]] = entry["source"]
    return published


# --- what options add to a prompt -----------------------------------------------------------------

_JSON_TOKENS = 48  # for braces, quotes and a code block
_CONFIDENCE_TOKENS = 16

_INSTRUCTION = (
    "Whatever format is asked for above, write your reply as one JSON object and nothing else, with {keys}, which is "
    "{answer}."
)
_CONFIDENCE_KEY = 'The last key is "confidence": how sure you are that this answer is right, as a number from 0 to 1.'
_CONFIDENCE = (
    "Whatever format is asked for above, end your reply with a line of its own that says how sure you are that your "
    'answer is right, in percent: "Confidence: N%".'
)
_THRESHOLD = (
    "Answer only if you are more than {percent:g}% sure that your answer is right; otherwise say that you do not know. "
    "A right answer earns 1 point, a wrong one loses {points:.3g}, and not knowing neither earns nor loses any."
)


def decoding_in_form(decoding: Decoding, *, structured: bool, confidence: bool) -> Decoding:
    """Raise a token limit to leave room for JSON around an answer and for a confidence."""
    more = _JSON_TOKENS * structured + _CONFIDENCE_TOKENS * confidence
    return decoding.model_copy(update={"max_tokens": decoding.max_tokens + more}) if more else decoding


def reply_in_form(task: Task, options: Options, reply: str, confidence: float = 1.0) -> str:
    """Format a reply as options ask: unchanged, with a confidence, or as JSON.

    Where an explanation is asked for, the whole reply is it.
    """
    if not options.structured:
        return f"{reply}\nConfidence: {confidence:.0%}" if options.confidence and reply else reply
    explanation = {"explanation": reply} if _explains(task, options) else {}
    sure = {"confidence": confidence} if options.confidence else {}
    return json.dumps({**explanation, "answer": task.scoring.answer.json_value(reply), **sure}, ensure_ascii=False)


def _in_form(prompt: Prompt, task: Task, options: Options) -> Prompt:
    """Add the instructions of options: how sure to be before answering, how to state a confidence, JSON."""
    user = prompt["user"]
    added = []
    if options.threshold is not None and "threshold" in task.prompts.task_options:
        points = options.threshold / (1 - options.threshold)
        added.append(_THRESHOLD.format(percent=100 * options.threshold, points=points))
    added += [_CONFIDENCE] if options.confidence and not options.structured else []
    if added:
        # a cue such as "Answer:" stays the end
        cue = cue_of(user)
        user = type(user)("\n\n".join([without_cue(user), *added, *([cue] if cue else [])]))
    if options.structured:
        explains = _explains(task, options)
        keys = 'the keys "explanation", which gives your reasons, and "answer"' if explains else 'the key "answer"'
        instruction = _INSTRUCTION.format(keys=keys, answer=task.scoring.answer.json_meaning(options))
        user = type(user)(" ".join([f"{user}\n\n{instruction}", *([_CONFIDENCE_KEY] if options.confidence else [])]))
    return {**prompt, "user": user}


def response_schema(task: Task, options: Options) -> Mapping[str, Any]:
    """Return the JSON schema of replies."""
    properties: dict[str, Any] = {"explanation": {"type": "string"}} if _explains(task, options) else {}
    properties["answer"] = task.scoring.answer.json_schema(options)
    if options.confidence:
        properties["confidence"] = {"type": "number", "minimum": 0, "maximum": 1}
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _explains(task: Task, options: Options) -> bool:
    return options.cot or task.scoring.answer.explains


# --- worked examples ------------------------------------------------------------------------------

MOST_EXAMPLES = 64
"""No more worked examples are made than this, since a training part has thousands of rows."""

OWN_EXAMPLES = "%s: worked examples are made of the package's own rows, since the folder of the data has no %s"


def worked_examples(task: Task, options: Options, prompt: Prompt) -> list[Example]:
    """Make the worked examples of a task, in order, at most `MOST_EXAMPLES`.

    They are made of the benchmark's training part, without what is also under test. If there is none, they are made of
    the package's own rows; a warning says so if it is the user's data that lack the training part. With chain of
    thought each reply reasons first.

    Args:
        task: The task.
        options: The options of the run.
        prompt: The prompt that asks the task.
    """
    items = task.data.order(_example_items(task, options, prompt), options)
    return [_example(task, item, prompt, options) for item in items[:MOST_EXAMPLES]]


def _example_items(task: Task, options: Options, prompt: Prompt) -> Iterator[Item]:
    data = task.data
    training = data.training_data(options)
    if training is None:
        if data.lacks_training(options):
            logger.warning(OWN_EXAMPLES, task.name, data.training)
        path = data.fewshot_path(options)
        yield from task.items(path, options) if path.is_file() else ()
        return

    names = placeholders(prompt["user"])

    def shown(item: Item) -> tuple[str, ...]:
        return tuple(text for name, text in item.fields.items() if name in names)

    tested = {shown(item) for item in task.items(data.locate(options), options)}
    yield from (item for item in task.items(training, options) if shown(item) not in tested)


def _example(task: Task, item: Item, prompt: Prompt, options: Options) -> Example:
    item = render(item, prompt, cot=options.cot)
    reply = task.prompts.oracle(item)
    if options.cot:
        reply = f"{item.explanation}\n" + f"{cue_of(prompt['user'])} {reply}".lstrip()
    return Example(item.prompt, reply_in_form(task, options, reply))


# --- chats ----------------------------------------------------------------------------------------

Chat = dict[str, list[dict[str, str]]]
"""`messages`, each with `role` and `content`, as chat models are tuned on."""


def training_chats(
    task: Task, options: Options, question: Callable[[Item], str] = lambda item: item.prompt
) -> Iterator[Chat]:
    """Yield each row of the training part as a chat that ends with a full-score reply.

    Args:
        task: The task.
        options: Its options, of which `data` and `prompts` are used.
        question: Returns the user text of an item; by default its prompt.

    Raises:
        UsageError: The benchmark has no training part.
        DataError: The training part is missing or has an invalid row.
    """
    data = task.data
    if data.training is None:
        able = sorted(other.name for other in registry()[0].values() if other.data.training)
        raise UsageError(f"{task.name} has no training part; tasks with one: {', '.join(able)}")
    is_sample = named_data(options) == "sample"
    located: LocatedData | Path = (
        data.fewshot_path(options) if is_sample else locate(data.source, data.training, options)
    )
    # look for the prompt now, so that a missing one is an error before the first chat is read
    prompt = next(iter(prompts_of(task, options).values()))

    def chat(item: Item) -> Chat:
        turns = messages(replace(item, prompt=question(item)))
        return {"messages": [*turns, {"role": "assistant", "content": task.prompts.oracle(item)}]}

    return (chat(render(item, prompt)) for item in task.items(located, options))
