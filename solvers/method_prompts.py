"""The prompts of methods, with the texts that users give in their place."""

from __future__ import annotations

from halu_tasks.prompting import Prompt, given_prompts, prompt_for
from halu_tasks.tasks import prompt_names


def method_prompt(name: str, file_of_package: str, file: str | None = None) -> Prompt:
    """The prompt of a method: the packaged one, with the texts that the user's `file` gives in its place.

    Raises:
        UsageError: the user's file cannot be read, or names a prompt or a key that does not exist.
    """
    packaged = prompt_for(name, file_of_package)
    return packaged if file is None else {**packaged, **given_prompts(file, prompt_names()).get(name, {})}
