"""The prompts of methods, with the texts that users replace."""

from __future__ import annotations

from halu_tasks.core.prompting import Prompt, given_prompts, prompt_for
from halu_tasks.tasks import prompt_names


def method_prompt(name: str, file_of_package: str, file: str | None = None) -> Prompt:
    """Return the prompt of a method.

    Args:
        name: The name of the prompt.
        file_of_package: The name, without suffix, of the file in `solvers/prompts` that has the packaged prompt.
        file: A user's prompt file, whose texts replace those of the package.

    Raises:
        UsageError: The user's file cannot be read, or names a prompt or a key that does not exist.
    """
    packaged = prompt_for(name, file_of_package)
    return packaged if file is None else {**packaged, **given_prompts(file, prompt_names()).get(name, {})}
