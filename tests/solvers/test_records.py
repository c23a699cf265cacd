"""What a method reports is kept in the metadata of its output, under the same keys as in every earlier log."""

from halu_tasks.solvers.model_calls import MethodRecord

FULL = MethodRecord(
    method="panel",
    probability=0.0,
    reason="no vote can be read",
    counts={"votes": 3},
    draft="",
    steps={"labels": ["A"]},
    opinions={"seeker": None},
)


def test_the_keys_are_those_of_earlier_logs() -> None:
    assert FULL.to_metadata() == {
        "halu_method": "panel",
        "halu_probability": 0.0,
        "halu_reason": "no vote can be read",
        "halu_counts": {"votes": 3},
        "halu_draft": "",
        "halu_steps": {"labels": ["A"]},
        "halu_opinions": {"seeker": None},
    }
    assert MethodRecord.from_metadata({**FULL.to_metadata(), "other": 1}) == FULL
