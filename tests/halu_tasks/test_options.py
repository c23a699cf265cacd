"""Options: the same checks whoever gives them."""

from dataclasses import fields
from typing import Any

import click
import pytest
from cases import CASES
from docs_commands import parsed

from halu_tasks.cli import command_line
from halu_tasks.core.errors import UsageError
from halu_tasks.core.options import Options


def test_metadata_keys_of_other_packages_are_left_alone() -> None:
    given = {"version": 1.0, "tokenizer": "gpt2", "halu_data": "sample", "halu_scoring": "paper", "halu_cot": True}
    assert Options.from_metadata(given) == Options(data="sample", scoring="paper", cot=True)


@pytest.mark.parametrize(
    ("key", "meant"), [("halu_scorer", "halu_scoring"), ("halu_", ""), ("halu_Data", "halu_data"), ("halu_fewshot", "")]
)
def test_an_unknown_key_is_an_error_that_lists_the_known(key: str, meant: str) -> None:
    with pytest.raises(UsageError) as raised:
        Options.from_metadata({key: "x"})
    message = str(raised.value)
    hint = f" (did you mean {meant!r}?)" if meant else ""
    assert message.startswith(f"unknown metadata key {key!r}{hint};")
    assert all(f"halu_{field.name}" in message for field in fields(Options) if field.name != "fewshot")


@pytest.mark.parametrize(("name", "wrong", "expected"), CASES["a_wrong_value_names_the_option_and_what_is_expected"])
def test_a_wrong_value_names_the_option_and_what_is_expected(name: str, wrong: list[Any], expected: str) -> None:
    for value in wrong:
        with pytest.raises(UsageError, match=rf"option {name}: expected {expected}, got "):
            Options(**{name: value})


def test_commands_offer_the_options_as_declared() -> None:
    arguments = parsed(command_line(), ["score", "fave", "a.jsonl"]).params
    offered = {name for name in Options.settings() if name in arguments}
    # the others only have an effect on how a model is asked
    assert set(Options.settings()) - offered == {"fewshot", "cot", "structured", "probability", "system_in_user"}
    assert {name: arguments[name] for name in offered} == {name: Options.settings()[name].default for name in offered}
    for words, expected in ((["--seed", "x"], "expected an integer, got 'x'"), (["--part", "q"], "'q' is not one of")):
        with pytest.raises(click.BadParameter, match=expected) as raised:
            parsed(command_line(), ["score", "fave", "a.jsonl", *words])
        assert words[0] in raised.value.format_message()
