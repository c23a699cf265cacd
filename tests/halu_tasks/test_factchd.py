"""FactCHD: rows in both forms, worked examples from a training part, what a result says of its data, export."""

import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from common import Caplog, Capture, read_rows, write_rows
from made_runs import figures_of

from halu_tasks.cli import main
from halu_tasks.core.errors import DataError, UsageError
from halu_tasks.core.options import Options
from halu_tasks.data.locate import SAMPLE
from halu_tasks.scorers.benchmarks.explanations import PATTERNS
from halu_tasks.tasks import build, registry

TASKS = [name for name in registry()[0] if name.startswith("factchd")]
TEST = SAMPLE / "factchd" / "fact_test_noe.jsonl"
TRAIN = SAMPLE / "fewshot" / "factchd" / "fact_train_noe.jsonl"
ROW = {
    "id": "a", "label": "FACTUAL", "query": "Q?", "response": "R.", "evidence": [["s", "r", "o"], "text"],
    "reason": "FACTUAL.\nOne. Two. Three.", "category": "Comparing", "domain": "d", "type": "kg",
}  # fmt: skip
MARKED = {"id": "b", "instruction": "I", "input": "#Question#: Q?\n#Answer#: R.", "output": "NON-FACTUAL.One. Two."}


def write(path: Path, *given: dict[str, Any]) -> str:
    return str(write_rows(path, given))


def test_figures_are_split_by_domain_and_the_weight_of_the_body_is_an_option(tmp_path: Path) -> None:
    given = [("1", "COVID-19", "FACTUAL"), ("2", "COVID-19", "NON-FACTUAL"), ("3", "public health", "FACTUAL")]
    data = write(tmp_path / "rows.jsonl", *({**ROW, "id": id, "domain": of, "label": is_} for id, of, is_ in given))
    evaluation = build("factchd", Options(data=data, alpha=0.75))
    assert [item.tags["domain"] for item in evaluation.items] == ["covid_19", "covid_19", "public_health"]
    found = figures_of(evaluation, ["FACTUAL. One. Other. Three."] * 3)
    assert (found["acc_covid_19"], found["acc_public_health"]) == (0.5, 1.0)
    # the bodies "Two." and "Other." share no token
    assert found["expmatch"] == pytest.approx(0.25) and "expmatch_climate" not in found
    assert evaluation.version_tags == ("local", "alpha0.75")
    for alpha in (0.0, 1.1):
        with pytest.raises(UsageError, match="option alpha: expected more than 0 and 1 or less"):
            Options(alpha=alpha)


def test_both_forms_of_a_row_ask_the_same(tmp_path: Path) -> None:
    data = write(tmp_path / "rows.jsonl", ROW, MARKED)
    released, marked = build("factchd", Options(data=data)).items
    assert released.prompt == marked.prompt == "#Question#: Q?\n#Answer#: R.\nOutput:"
    assert (released.target, marked.target) == ("FACTUAL", "NON-FACTUAL")
    assert (released.tags["pattern"], marked.tags["pattern"]) == ("comparison", "unstated")
    unasked = build("factchd_no_query", Options(data=data)).items[0]
    assert unasked.prompt == "#Answer#: R.\nOutput:" and "#Question#" not in unasked.system
    with pytest.raises(DataError, match="'b' has no field 'evidence'"):
        _ = build("factchd_evidence", Options(data=data)).items
    shown = build(
        "factchd_evidence", Options(data=write(tmp_path / "r.jsonl", ROW, {**ROW, "id": "c", "evidence": []}))
    )
    assert shown.items[0].prompt.startswith("#Evidence#:\ns | r | o\ntext\n#Question#: Q?")
    assert shown.items[1].prompt.startswith("#Evidence#:\nnone\n")


# --- files and worked examples ----------------------------------------------------------------------


@pytest.mark.parametrize("name", ["test.jsonl", "fact_test_noe.jsonl", "factchd/test.jsonl"])
def test_the_whole_test_file_is_found_before_the_extract(name: str, tmp_path: Path) -> None:
    write(tmp_path / name, ROW)
    write(tmp_path / name.replace("test", "train"), MARKED)
    (tmp_path / "factchd").mkdir(exist_ok=True)
    shutil.copy(TEST, tmp_path / "factchd" / "test_case_sample.jsonl")
    evaluation = build("factchd", Options(data=str(tmp_path)))
    assert evaluation.located.content == tmp_path / name and evaluation.version_tags == ("local",)


def shown(seed: int = 0, data: str = "sample", fewshot: int = 4) -> list[str]:
    return [
        example.prompt for example in build("factchd_4shot", Options(data=data, fewshot=fewshot, seed=seed)).examples
    ]


def patterns(prompts: list[str], path: Path) -> list[str]:
    known = {f"#Question#: {row['query']}\n#Answer#: {row['response']}\nOutput:": row for row in read_rows(path)}
    return [known[prompt]["category"] for prompt in prompts]


def test_four_examples_are_one_a_pattern_and_the_seed_decides_which() -> None:
    for seed in range(8):
        evaluation = build("factchd_4shot", Options(data="sample", fewshot=4, seed=seed))
        assert sorted(patterns(shown(seed), TRAIN)) == sorted(PATTERNS)
        labels = Counter(example.reply.split(".")[0] for example in evaluation.examples)
        assert labels == {"FACTUAL": 2, "NON-FACTUAL": 2}
        assert ("seed" + str(seed) in evaluation.version_tags) == (seed != 0)
    assert len({tuple(shown(seed)) for seed in range(8)}) > 1 and shown(3) == shown(3)
    # the second four are the other label of each pattern
    assert len(set(shown(fewshot=8))) == 8


def test_examples_come_from_the_training_part_in_the_users_folder(tmp_path: Path, shared_data: Path) -> None:
    real = shared_data / "factchd" / "train_case_sample.jsonl"
    assert sorted(patterns(shown(data=str(shared_data)), real)) == sorted(PATTERNS)


def test_without_a_training_part_the_examples_are_the_packages_own_and_the_run_says_so(
    tmp_path: Path, caplog: Caplog
) -> None:
    write(tmp_path / "test.jsonl", ROW)
    assert sorted(patterns(shown(data=str(tmp_path)), TRAIN)) == sorted(PATTERNS)
    assert "worked examples are made of the package's own rows" in caplog.text
    evaluation = build("factchd_4shot", Options(data=str(tmp_path), fewshot=4))
    assert evaluation.version_tags == ("local", "own_examples")
    assert build("factchd", Options(data=str(tmp_path))).version_tags == ("local",)


def test_a_training_part_that_lacks_a_pattern_gives_no_examples(tmp_path: Path) -> None:
    write(tmp_path / "test.jsonl", ROW)
    write(tmp_path / "train.jsonl", *({**row, "category": "Comparing"} for row in read_rows(TRAIN)))
    with pytest.raises(DataError, match="a row of every pattern; the rows for them have none of multi_hop"):
        shown(data=str(tmp_path))


def test_no_row_under_test_is_an_example_even_where_the_training_part_holds_it(tmp_path: Path) -> None:
    shutil.copy(TEST, tmp_path / "test.jsonl")
    both = [{**row, "id": f"again-{row['id']}"} for row in read_rows(TEST)] + read_rows(TRAIN)
    write(tmp_path / "train.jsonl", *both)
    for seed in range(5):
        assert sorted(patterns(shown(seed, str(tmp_path)), TRAIN)) == sorted(PATTERNS)


# --- export -----------------------------------------------------------------------------------------


def test_export_writes_the_training_part_as_chats(tmp_path: Path, capsys: Capture) -> None:
    out = tmp_path / "chats.jsonl"
    assert main(["export", "chats", "factchd", "--data", "sample", "-o", str(out)]) == 0
    chats = read_rows(out)
    assert len(chats) == 8
    for chat, row in zip(chats, read_rows(TRAIN), strict=True):
        assert [turn["role"] for turn in chat["messages"]] == ["system", "user", "assistant"]
        assert row["query"] in chat["messages"][1]["content"]
        assert chat["messages"][2]["content"].startswith(row["label"] + ".\n")
    assert main(["export", "chats", "factchd", "--data", "sample"]) == 0
    assert capsys.readouterr().out == out.read_text()
