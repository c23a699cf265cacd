"""The user's own data: Parquet files, folders in the Hub's layout, splits, and columns under other names."""

import csv
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cases import CASES
from common import Cli, write_rows

from halu_tasks.core.errors import DataError, UsageError
from halu_tasks.core.options import Options
from halu_tasks.data.locate import SAMPLE
from halu_tasks.data.rows import json_lines
from halu_tasks.tasks import Evaluation, build

SWAPS = build("refact_correction", Options(data="sample"))
ROWS = [row for _, row in json_lines(SAMPLE / "refact" / "refact_multi_error.jsonl")]


def parquet(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    columns = dict.fromkeys(name for row in rows for name in row)
    pq.write_table(pa.Table.from_pylist([{name: row.get(name) for name in columns} for row in rows]), path)
    return path


def renamed(rows: list[dict[str, Any]], **names: str) -> list[dict[str, Any]]:
    return [{names.get(name, name): value for name, value in row.items()} for row in rows]


def same_items(evaluation: Evaluation, other: Evaluation) -> bool:
    return [(item.id, item.prompt, item.target) for item in evaluation.items] == [
        (item.id, item.prompt, item.target) for item in other.items
    ]


# --- Parquet and folders --------------------------------------------------------------------------


@pytest.mark.parametrize(("task", "file", "lines"), CASES["every_format_can_be_parquet"])
def test_every_format_can_be_parquet(task: str, file: str, lines: bool, tmp_path: Path) -> None:
    path = SAMPLE / file
    if path.suffix == ".csv":
        with path.open(encoding="utf-8", newline="") as cells:
            rows: list[dict[str, Any]] = list(csv.DictReader(cells))
    else:
        rows = [row for _, row in json_lines(path)] if lines else json.loads(path.read_text(encoding="utf-8"))
    for row in rows:
        # Parquet cannot mix lists and strings
        row.pop("evidence", None)
    data = str(parquet(tmp_path / "rows.parquet", rows))
    assert same_items(build(task, Options(data=data)), build(task, Options(data="sample")))


def test_a_folder_is_loaded_by_its_layout_and_its_split(tmp_path: Path) -> None:
    parquet(tmp_path / "data" / "train-00000-of-00001.parquet", ROWS[:2])
    parquet(tmp_path / "data" / "test-00000-of-00002.parquet", ROWS[:9])
    parquet(tmp_path / "data" / "test-00001-of-00002.parquet", ROWS[9:])
    evaluation = build("refact_correction", Options(data=str(tmp_path), data_split="test"))
    assert same_items(evaluation, SWAPS)
    assert evaluation.version == f"{SWAPS.task.version}-local-split_test"
    assert evaluation.provenance.as_json()["data_split"] == "test" and evaluation.provenance.data_file.endswith(
        " (test)"
    )
    with pytest.raises(UsageError, match=r"has the splits train, test; choose one with the option data_split$"):
        build("refact_correction", Options(data=str(tmp_path)))
    with pytest.raises(UsageError, match=r"no split 'tests' \(did you mean 'test'\?\); splits: train, test$"):
        build("refact_correction", Options(data=str(tmp_path), data_split="tests"))


def test_a_folder_may_have_the_name_of_a_format(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    parquet(tmp_path / "parquet" / "test.parquet", ROWS)
    evaluation = build("refact_correction", Options(data="parquet"))
    assert same_items(evaluation, SWAPS) and evaluation.provenance.data_file == "parquet (test)"


def test_a_change_of_any_file_of_a_split_changes_the_recorded_checksum(tmp_path: Path) -> None:
    parquet(tmp_path / "test-0.parquet", ROWS[:9])
    sums = set()
    for rows in (ROWS[9:], ROWS[10:]):
        parquet(tmp_path / "test-1.parquet", rows)
        sums.add(build("refact_correction", Options(data=str(tmp_path))).located.sha256)
    assert len(sums) == 2


def test_a_folder_of_several_configurations_names_them(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text(
        "---\nconfigs:\n- config_name: one\n  data_files: a.jsonl\n- config_name: two\n  data_files: b.jsonl\n---\n"
    )
    for name, rows in (("a.jsonl", ROWS[:1]), ("b.jsonl", ROWS)):
        write_rows(tmp_path / name, rows)
    options = {"data": str(tmp_path), "data_split": "train"}
    with pytest.raises(DataError, match=r"cannot be loaded \(Config name is missing.*'one', 'two'"):
        build("refact_correction", Options(**options))
    assert same_items(build("refact_correction", Options(**options, data_config="two")), SWAPS)


def test_numbers_of_labels_are_read_as_their_names(tmp_path: Path) -> None:
    from datasets import ClassLabel, Dataset, Features, Value  # reads settings that the fixtures set

    rows = [dict(row) for row in ROWS]
    features = Features({name: Value("string") for name in rows[0]} | {"error_type": ClassLabel(names=["neg", "swap"])})
    Dataset.from_list(rows, features=features).to_parquet(tmp_path / "rows.parquet")
    assert same_items(build("refact_correction", Options(data=str(tmp_path / "rows.parquet"))), SWAPS)
    Dataset.from_list([rows[0] | {"error_type": -1}], features=features).to_parquet(tmp_path / "none.parquet")
    with pytest.raises(DataError, match=r"none.parquet:1: field 'error_type' is int, expected str"):
        _ = build("refact_correction", Options(data=str(tmp_path / "none.parquet"))).items


def test_a_damaged_file_is_an_error_of_one_line(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    path.write_bytes(b"PAR1 but not really")
    with pytest.raises(DataError, match=rf"^{path}: cannot be loaded \(.*\)$"):
        _ = build("refact_correction", Options(data=str(path))).items


def test_a_dataset_that_is_a_script_is_an_error_of_one_line(tmp_path: Path) -> None:
    parquet(tmp_path / "rows" / "test.parquet", ROWS[:2])
    (tmp_path / "rows" / "rows.py").touch()
    with pytest.raises(DataError, match=r"rows: cannot be loaded \(Dataset scripts are no longer supported"):
        build("refact_correction", Options(data=str(tmp_path / "rows")))


def test_a_row_that_is_not_valid_is_named_by_its_number(tmp_path: Path) -> None:
    path = parquet(tmp_path / "rows.parquet", [*ROWS[:2], {**ROWS[2], "question": None}])
    with pytest.raises(DataError, match=rf"^{path}:3: field 'question' is missing \(has 'sample_id', "):
        _ = build("refact_correction", Options(data=str(path))).items


# --- columns --------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_columns_may_have_other_names(suffix: str, tmp_path: Path) -> None:
    rows = [{**row, "question": "not this one"} for row in renamed(ROWS, question="q", sample_id="key")]
    path = tmp_path / f"rows.{suffix}"
    if suffix == "parquet":
        parquet(path, rows)
    else:
        write_rows(path, rows)
    evaluation = build("refact_correction", Options(data=str(path), columns=("question:q", "sample_id:key")))
    assert same_items(evaluation, SWAPS)
    other = build("refact_correction", Options(data=str(path), columns=("question:question", "sample_id:key")))
    assert evaluation.version != other.version and evaluation.located.sha256 != other.located.sha256
    assert evaluation.provenance.as_json()["columns"] == ["question:q", "sample_id:key"]
    with pytest.raises(DataError, match=r":1: column 'frage' \(question:frage\) is missing \(has 'key', 'q', "):
        _ = build("refact_correction", Options(data=str(path), columns=("question:frage",))).items


def test_columns_of_a_table_may_have_other_names(tmp_path: Path) -> None:
    text = (SAMPLE / "halluverse25" / "en_final_data.csv").read_text(encoding="utf-8")
    path = tmp_path / "rows.csv"
    path.write_text(text.replace("edited_sentence", "Mine", 1))
    evaluation = build("halluverse25_en", Options(data=str(path), columns=("edited_sentence:mine",)))
    assert same_items(evaluation, build("halluverse25_en", Options(data="sample")))
    with pytest.raises(DataError, match=r":1: column 'yours' is missing \(has "):
        _ = build("halluverse25_en", Options(data=str(path), columns=("edited_sentence:yours",))).items


def test_harnesses_pass_columns_as_a_string_or_a_list() -> None:
    assert Options(columns="a:b,c:d").columns == Options(columns=["a:b", "c:d"]).columns == ("a:b", "c:d")  # type: ignore[arg-type]
    assert Options.from_metadata({"halu_columns": "a:b"}).column_names == {"a": "b"}
    for wrong in ("a", "a:", ":b", ["a:b", "c"]):
        with pytest.raises(UsageError, match="option columns: expected FIELD:COLUMN, got "):
            Options(columns=wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("data", "option", "reason"),
    [
        ("sample", {"columns": ("a:b",)}, "option columns: only for a dataset of the Hub"),
        ("sample", {"data_split": "test"}, "option data_split: only for a dataset of the Hub"),
        (str(SAMPLE), {"data_split": "test"}, "option data_split: only for a dataset of the Hub"),
    ],
)
def test_an_option_that_does_not_apply_to_the_data_is_an_error(data: str, option: dict[str, Any], reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        build("refact_correction", Options(data=data, **option))


# --- statistics -----------------------------------------------------------------------------------


def described(here: Cli, name: str, data: str | Path) -> list[dict[str, Any]]:
    return list(json.loads(here("data", "describe", name, "--data", data, "--json").stdout))


def test_statistics_count_items_spans_labels_and_tags(here: Cli, tmp_path: Path) -> None:
    rows = [row for row in ROWS if row["error_type"] == "swap"][:3]
    rows += [row for row in ROWS if row["error_type"] == "neg"][:2]
    path = parquet(tmp_path / "rows.parquet", rows)
    tasks = {each["task"]: each for each in described(here, "refact", path)}
    judgment, entity = tasks["refact_judgment_independent"], tasks["refact_localization_entity"]
    assert (judgment["data"], judgment["kind"], judgment["labels"]) == (
        "rows.parquet",
        "local",
        {"True": 5, "False": 5},
    )
    assert judgment["tags"]["type"] == {"swap": 6, "neg": 4} and judgment["items"] == 10
    spans = sum(row["error_spans"].count("<swap>") for row in rows)
    assert (entity["items"], entity["spans"], tasks["refact_correction"]["spans"]) == (3, spans, spans)


def test_statistics_include_the_training_part_of_the_users_folder(here: Cli, shared_data: Path) -> None:
    *tests, train = described(here, "factchd", shared_data)
    assert train["training"] and not any("training" in each for each in tests)
    assert sum(train["tags"]["pattern"].values()) == train["items"] == 50


def test_published_statistics_of_refact(here: Cli, shared_data: Path) -> None:
    tasks = {each["task"]: each for each in described(here, "refact", shared_data)}
    assert all(task["items"] == task["published"] for task in tasks.values())
    assert tasks["refact_judgment_comparative"]["tags"]["type"] == {"neg": 527, "swap": 474}  # section 3.3


def test_what_cannot_be_described_is_named_beside_what_can(here: Cli) -> None:
    missing = here("data", "describe", "refact", "fave", "--data", SAMPLE / "fave")
    assert (
        missing.returncode == 3
        and missing.stderr.startswith("halu-tasks: ReFACT: ")
        and "source: fave\n" in missing.stdout
    )
