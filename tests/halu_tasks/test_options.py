"""Options: the same checks whoever gives them, and what lm-eval makes of `--metadata`."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

import click
import pytest
from docs_commands import parsed

from halu_tasks.core.errors import UsageError
from halu_tasks.core.options import Options, value_type, wrong_kind

ROOT = Path(__file__).parent.parent.parent


def test_the_default_is_the_published_task_scored_strictly() -> None:
    options = Options()
    assert (options.data, options.scoring, options.subset, options.fewshot) == (None, "strict", "multi_error", 0)
    assert not options.cot and not options.both_orders and options.judge is None


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
    assert message.startswith(f"unknown metadata key {key}{hint};")
    assert all(f"halu_{field.name}" in message for field in fields(Options) if field.name != "fewshot")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("data", 7),
        ("data", True),
        ("prompts", 7),
        ("fewshot", "3"),
        ("fewshot", True),
        ("fewshot", 1.0),
        ("cot", "true"),
        ("cot", 1),
        ("both_orders", "false"),
        ("both_orders", None),
        ("seed", "0"),
        ("seed", None),
        ("judge", 4),
        ("judge_base_url", 1.5),
        ("judge_max_failures", "0.1"),
        ("judge_max_failures", True),
    ],
)
def test_a_value_of_the_wrong_kind_names_the_option_and_the_value(name: str, value: Any) -> None:
    with pytest.raises(UsageError) as raised:
        Options(**{name: value})
    assert f"option {name}: expected " in str(raised.value)


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("scoring", "Strict", "strict or paper"),
        ("scoring", "", "strict or paper"),
        ("scoring", None, "strict or paper"),
        ("subset", "multi", "multi_error or single_error"),
        ("subset", ["multi_error"], "multi_error or single_error"),
    ],
)
def test_a_choice_that_is_none_lists_the_choices(name: str, value: Any, allowed: str) -> None:
    with pytest.raises(UsageError, match=rf"option {name}: expected {allowed}, got "):
        Options(**{name: value})


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("fewshot", -1, "expected an integer, 0 or more, got -1"),
        ("judge_max_failures", -0.1, "expected a number from 0 to 1, got "),
        ("judge_max_failures", 1.01, "expected a number from 0 to 1, got "),
        ("judge_max_failures", float("nan"), "expected a number from 0 to 1, got "),
    ],
)
def test_a_number_out_of_range_is_an_error(name: str, value: float, reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        Options(**{name: value})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("annotation", "valid", "invalid"),
    [
        (str, ["", "a"], [1, None]),
        (int, [0, -3], ["0", 1.0, True, None]),
        (float, [0, 0.5], ["0.5", False]),
        (bool, [True, False], [1, "true"]),
        (str | None, ["a", None], [1]),
        (int | None, [1, None], [True, "1"]),
        (tuple[str, ...], [("a",), ["a", "b"], ()], ["a", [1], None]),
    ],
)
def test_types_are_checked_the_same_by_type_and_by_postponed_annotation(
    annotation: Any, valid: list[Any], invalid: list[Any]
) -> None:
    kind = value_type(annotation)
    assert kind
    postponed = annotation.__name__ if type(annotation) is type else str(annotation)
    for form in (annotation, postponed):
        assert all(wrong_kind(value, form) is None for value in valid)
        assert all(wrong_kind(value, form) == kind.description for value in invalid)


def test_a_type_that_cannot_be_checked_accepts_every_value() -> None:
    assert value_type("Model | None") is value_type(int | str) is None and wrong_kind(object(), "Model") is None


def test_commands_offer_the_options_as_declared() -> None:
    arguments = parsed(["score", "fave", "a.jsonl"]).params
    offered = {name for name in Options.specs() if name in arguments}
    # the others only have an effect on how a model is asked
    assert set(Options.specs()) - offered == {"fewshot", "cot", "structured", "probability"}
    assert {name: arguments[name] for name in offered} == {name: Options.specs()[name].default for name in offered}
    for words, expected in ((["--seed", "x"], "expected an integer, got 'x'"), (["--part", "q"], "'q' is not one of")):
        with pytest.raises(click.BadParameter, match=expected) as raised:
            parsed(["score", "fave", "a.jsonl", *words])
        assert words[0] in raised.value.format_message()


@pytest.mark.parametrize("share", [0, 1, 0.5])
def test_a_share_may_be_any_from_none_to_all(share: float) -> None:
    assert Options(judge_max_failures=share).judge_max_failures == share


LM_EVAL = """
import sys
from lm_eval._cli.harness import HarnessCLI
from lm_eval.tasks import TaskManager
from halu_tasks import task_configs
from halu_tasks.core.options import Options

def metadata(*words):
    sys.argv = ["lm_eval", "run", "--tasks", "x", "--metadata", *words]
    return HarnessCLI().parse_args().metadata

one = metadata("halu_both_orders=true,halu_data=sample", "halu_seed=3")
assert Options.from_metadata(one) == Options(both_orders=True, data="sample", seed=3), one
two = metadata('{"halu_cot": true, "halu_judge_max_failures": 0.5}')
assert Options.from_metadata(two) == Options(cot=True, judge_max_failures=0.5), two
three = metadata("halu_both_orders=false,halu_scoring=paper,halu_judge=openai/gpt-4o,halu_judge_max_failures=0.2")
wanted = Options(scoring="paper", judge="openai/gpt-4o", judge_max_failures=0.2)
assert Options.from_metadata(three) == wanted, three

folder = next(iter(task_configs.__path__))
manager = TaskManager(include_path=folder, include_defaults=False, metadata=one)
task = manager.load("refact_judgment_comparative")["tasks"]["refact_judgment_comparative"]
docs = list(task.test_docs())
print(len(docs), len({doc["id"] for doc in docs}), sorted(doc["target"] for doc in docs).count("A"))
"""


@pytest.mark.slow
def test_what_lm_eval_parses_from_its_command_line_are_options() -> None:
    run = subprocess.run([sys.executable, "-c", LM_EVAL], capture_output=True, text=True, cwd=sys.prefix, timeout=120)
    assert run.returncode == 0, run.stderr
    # 32 rows of the sample, each in both orders
    assert run.stdout.split() == ["64", "64", "32"]
