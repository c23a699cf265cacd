"""Predictions files: what is read from them, and how a bad row is reported."""

import json
import tempfile
from pathlib import Path

import pytest
from cases import CASES
from common import write_rows
from hypothesis import given
from hypothesis import strategies as st

from halu_tasks.core.errors import DataError
from halu_tasks.core.items import Reply
from halu_tasks.replies.predictions import prediction_rows, read_predictions


def written(folder: Path, *lines: str) -> Path:
    path = folder / "predictions.jsonl"
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return path


def test_outputs_and_targets_by_id_with_their_lines(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        '{"id": "a", "output": "A"}',
        "",
        '{"id": "b", "output": "", "target": "B", "model": "x"}',
        '{"id": "c", "output": "z", "target": null, "probability": 0.25}',
    )
    assert read_predictions(path) == {
        "a": ("a", 1, Reply("A"), 1),
        "b": ("b", 1, Reply("", target="B"), 3),
        "c": ("c", 1, Reply("z", probability=0.25), 4),
    }


def test_an_output_is_kept_to_the_last_character(tmp_path: Path) -> None:
    output = " \t\u2028line\r\n\x00\u202e\ud800 end \n"
    path = written(tmp_path, json.dumps({"id": "a", "output": output}))
    assert read_predictions(path)["a"].reply.text == output


def test_an_id_may_be_a_number_as_in_rows(tmp_path: Path) -> None:
    path = tmp_path / "replies.jsonl"
    path.write_text('{"id": 7, "output": "A"}\n')
    assert list(read_predictions(path)) == ["7"]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        *CASES["a_bad_row_is_named_by_file_and_line"],
        ('{"id": "b", "output": "A", "n": ' + "1" * 5000 + "}", "not JSON"),
    ],
)
def test_a_bad_row_is_named_by_file_and_line(tmp_path: Path, line: str, reason: str) -> None:
    path = written(tmp_path, '{"id": "a", "output": "A"}', line, '{"id": "z", "output": "A"}')
    with pytest.raises(DataError) as raised:
        read_predictions(path)
    assert str(raised.value).startswith(f"{path}:2: ")
    assert reason in str(raised.value)


@pytest.mark.parametrize("name", ["none.jsonl", ".", "x" * 300])
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(DataError, match=r"No such file|Is a directory|too long"):
        read_predictions(tmp_path / name)


LINES = st.lists(
    st.one_of(
        st.binary(max_size=40),
        st.text(max_size=40).map(lambda text: text.encode("utf-8", "surrogatepass")),
        st.dictionaries(
            st.sampled_from(["id", "output", "target", "x"]),
            st.one_of(st.none(), st.integers(), st.text(max_size=5), st.lists(st.integers(), max_size=2)),
        ).map(lambda row: json.dumps(row).encode()),
    ),
    max_size=6,
)


@given(LINES)
def test_any_bytes_give_predictions_or_one_data_error(lines: list[bytes]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "p.jsonl"
        path.write_bytes(b"\n".join(lines))
        try:
            found = read_predictions(path)
        except DataError as error:
            assert str(error).startswith(f"{path}:") and len(str(error).splitlines()) == 1
            return
        filled = [line for line in path.read_bytes().split(b"\n") if line.decode("utf-8-sig").strip()]
        assert len(found) == len(filled)
        for prediction in found.values():
            assert isinstance(prediction.reply.text, str)
            assert prediction.reply.target is None or isinstance(prediction.reply.target, str)
            assert 0 <= (prediction.reply.probability or 0) <= 1


def test_equal_replies_to_an_item_are_kept_if_they_only_have_a_claim(tmp_path: Path) -> None:
    rows = [{"id": "1", "output": "A.", "claim": "A", "epoch": epoch} for epoch in (1, 2)]
    path = write_rows(tmp_path / "r.jsonl", rows)
    assert [row.epoch for row in prediction_rows(path)] == [1, 2]


@pytest.mark.parametrize("suffix", [".jsonl", ".csv"])
def test_a_table_of_drawn_verdicts_has_one_prediction_for_each_reply(suffix: str, tmp_path: Path) -> None:
    names = ("id", "reply", "claim", "shown", "label", "by")
    replies = [("1", "A. B.", "A."), ("1", "A. B.", "B."), ("2", "C.", ""), ("2", "D.", "")]
    rows = [(*reply, "?", "", "") for reply in replies]
    path = tmp_path / f"drawn{suffix}"
    if suffix == ".csv":
        path.write_text(",".join(names) + "\n" + "".join(",".join(row) + "\n" for row in rows))
    else:
        write_rows(path, (dict(zip(names, row, strict=True)) for row in rows))
    # a run with epochs has several replies to an item
    assert [(row.id, row.epoch, row.reply.text) for row in prediction_rows(path, output_field="reply")] == [
        ("1", 1, "A. B."), ("2", 1, "C."), ("2", 2, "D."),
    ]  # fmt: skip
