"""Settings: what a declaration says, whoever reads it."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import pytest
from annotated_types import Ge, Lt
from programs import run as program

from halu_tasks.builders.pipeline import pipelines
from halu_tasks.core.errors import UsageError
from halu_tasks.core.options import Options
from halu_tasks.core.settings import Help, checked_settings, settings_of
from halu_tasks.scorers.registry import SCORERS, scorer_factory

if TYPE_CHECKING:
    from nowhere import Nothing


def scorer(
    folder: Path,
    names: set[str],
    *,
    limit: Annotated[int | None, Ge(1), Lt(9), "N", Help("how many")] = None,
    labels: str | Sequence[str] | Mapping[str, str] = "",
) -> None:
    """A function of a user's own."""


def test_arguments_of_a_users_function_become_what_it_asks_for(tmp_path: Path) -> None:
    given = {"folder": str(tmp_path), "names": ["a", "b"], "limit": 8, "labels": ["x"]}
    made = checked_settings(scorer, given, "argument", strict=False)
    assert made == {"folder": tmp_path, "names": {"a", "b"}, "limit": 8, "labels": ["x"]}


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"limit": 0}, "argument limit: expected 1 or more and less than 9, got 0"),
        ({"limit": 9}, "argument limit: expected 1 or more and less than 9, got 9"),
        ({"labels": 3}, "argument labels: expected a string or a list or a mapping, got 3"),
        ({"labels": ["a", True]}, "argument labels: entry 2: expected a string, got True (quote True, False, Yes and"),
        ({"labels": {"a": 1}}, "argument labels: a: expected a string, got 1"),
        ({"label": 3}, "unknown argument 'label' (did you mean 'labels'?); known: folder, names, limit, labels"),
    ],
)
def test_a_wrong_argument_says_what_is_expected(given: dict[str, Any], told: str) -> None:
    with pytest.raises(UsageError, match=f"^{re.escape(told)}"):
        checked_settings(scorer, given, "argument")


def test_a_function_whose_types_cannot_be_read_takes_any_value() -> None:
    def own(value: Nothing, **further: int) -> None: ...

    given = {"value": object(), "more": 3}
    assert checked_settings(own, given, strict=False) == given
    with pytest.raises(NameError, match="Nothing"):
        checked_settings(own, given)


@pytest.mark.parametrize("declared", [Options, *pipelines().values()])
def test_every_option_says_what_it_does_and_takes_its_default(declared: type) -> None:
    settings = settings_of(declared)
    assert all(setting.about for setting in settings.values())
    defaults = {name: setting.default for name, setting in settings.items()}
    assert checked_settings(declared, defaults) == defaults


@pytest.mark.parametrize("name", SCORERS)
def test_every_scorer_takes_its_defaults(name: str) -> None:
    settings = settings_of(scorer_factory(name))
    given = {each.name: each.default for each in settings.values() if each.default is not inspect.Parameter.empty}
    assert checked_settings(scorer_factory(name), given) == given


def test_a_declaration_is_its_own_help() -> None:
    limit = settings_of(scorer)["limit"]
    assert (limit.about, limit.limits, limit.words, limit.default) == (
        "how many",
        "1 or more and less than 9",
        ("N",),
        None,
    )


def test_values_are_checked_without_asserts_and_docstrings() -> None:
    code = """
from halu_tasks.core.errors import UsageError
from halu_tasks.core.options import Options
try:
    Options(fewshot=-1)
except UsageError as error:
    print(error)
"""
    assert program(code=code, PYTHONOPTIMIZE="2").stdout == "option fewshot: expected 0 or more, got -1\n"
