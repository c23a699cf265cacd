"""How much of the package the way of a row takes, in numbers that do not depend on the machine."""

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import FrameType

import pytest

from halu_tasks.core.items import Item

# the standard library has a module of this name
_spec = spec_from_file_location("trace_of_package", Path(__file__).resolve().parents[1] / "trace.py")
assert _spec and _spec.loader
trace = module_from_spec(_spec)
_spec.loader.exec_module(trace)

MOST_CALLS = 100


@pytest.mark.parametrize("task", ["ragtruth", "wice", "refact_localization_entity", "cfaith_tf"])
def test_an_item_is_made_once_and_in_few_calls(task: str) -> None:
    make = trace.items(task)
    make()  # what is cached is there
    checked = list[str]()

    def note(frame: FrameType, event: str, argument: object) -> None:
        # an item is checked where it is made
        if event == "call" and frame.f_code.co_name == "check" and isinstance(frame.f_locals.get("item"), Item):
            checked.append(frame.f_locals["item"].id)

    sys.setprofile(note)
    try:
        items = make()
    finally:
        sys.setprofile(None)
    assert checked == [item.id for item in items]
    way = trace.traced(make)
    assert way.calls / len(way.result) <= MOST_CALLS


@pytest.mark.parametrize(
    ("task", "reply", "calls", "depth"),
    [
        ("refact_judgment_independent", "Final Verdict: True", 25, 8),
        ("cfaith_choice", "A", 25, 8),
        ("refact_localization_entity", "1. alpha\n2. beta", 120, 12),
    ],
)
def test_a_plain_reply_is_read_in_few_calls(task: str, reply: str, calls: int, depth: int) -> None:
    way = trace.traced(trace.one(task, reply))
    assert way.result.answer and 2 <= way.depth <= depth and way.depth <= way.calls <= calls and way.modules >= 2
    assert trace.traced(lambda: None)[1:] == (0, 0, 0)
