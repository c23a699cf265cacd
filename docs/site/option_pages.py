"""The options of tasks and of builders, from their declarations."""

from __future__ import annotations

import re
from collections.abc import Iterator

from page import Page, Section, listed, mentions, printed, sections, table

from halu_tasks.core.options import Options
from halu_tasks.core.settings import Setting

FOLDER = "reference/options/"


def option_section() -> Section:
    """Make the page of the tasks' options, which is the first one, and the page of the builders'."""
    builders = Page(f"{FOLDER}builders.md", "Options of builders", "Every option of every builder.", _builders())
    rows = [_row(setting) for setting in Options.settings().values()]
    text = sections(
        "These are the options of tasks. [Options](../../options.md) explains modes and versions.",
        table(["meaning", "lm-eval: `--metadata`", "Inspect: `-T`", "`halu-tasks`", "default", "choices"], rows),
        listed([builders], FOLDER),
    )
    about = "Every option of the tasks, as it is given to lm-eval, to Inspect and to `halu-tasks`."
    return Section("Options", Page(f"{FOLDER}index.md", "All options", about, text), {"": [builders]})


def _row(setting: Setting) -> list[str]:
    in_lm_eval = "--num_fewshot N" if setting.name == "fewshot" else f"halu_{setting.name}=…"
    choices = ", ".join(f"`{choice}`" for choice in setting.choices)
    default = "" if setting.default is None else f"`{setting.default}`"
    return [setting.about, f"`{in_lm_eval}`", f"`{setting.name}=…`", f"`{setting.flag}`", default, choices]


def _builders() -> str:
    return sections(
        "Pass an option to `halu-tasks build` or `inspect eval` as `-T NAME=VALUE`; `halu-tasks build options` prints "
        "this list.",
        *_sections(printed("build", "options")),
        mentions("halu-tasks build options", 2),
    )


def _sections(text: str) -> Iterator[str]:
    """Yield a section for each builder: a line with its name, and a line for each option below it."""
    for name, about, options in re.findall(r"(?m)^(\w+): (.*)\n((?:  -T .*\n?)+)", text):
        rows = re.findall(r"(?m)^  -T (\w+)=(.*?): (.*)$", options)
        yield f"## {name}\n\n{about[:1].upper()}{about[1:]}."
        yield table(["option", "default", "meaning"], ([f"`{key}`", default, text] for key, default, text in rows))
