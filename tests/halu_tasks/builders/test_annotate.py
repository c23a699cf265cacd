"""Items to annotators and back: nothing is lost, agreement is as worked out by hand, rules are as stated."""

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from cases import CASES
from common import Cli, Patch, read_rows, write_rows

from halu_tasks.builders.annotation import (
    COLUMNS,
    GUIDELINES,
    Key,
    agreed_label,
    agreement_of,
    apply_labels,
    fingerprint,
    item_rows,
    read_labels,
    shown_texts,
)
from halu_tasks.builders.collect import Collection
from halu_tasks.builders.folder import read_items, to_json
from halu_tasks.builders.pipeline import Draft, Pipeline, pipeline_named, pipelines
from halu_tasks.core.errors import DataError
from halu_tasks.tasks.label_tables import read_label_rows, write_label_rows

Toys = Callable[..., Draft]
Built = Callable[..., Path]
VALID = ("valid", "invalid")


def answered(tasks: Sequence[Mapping[str, Any]], labels: Mapping[str, str]) -> list[dict[str, Any]]:
    """What doccano exports of one annotator: ids of its own, and the metadata again."""
    return [
        {"id": 1000 + place, "text": row["text"], "item": row["item"], "label": [labels[row["item"]]], "Comments": []}
        for place, row in enumerate(tasks)
        if row["item"] in labels
    ]


# --- out ------------------------------------------------------------------------------------------


def test_a_pipeline_without_guidelines_is_not_exported(here: Cli, built: Built, toys: Toys, tmp_path: Path) -> None:
    result = here("label", "items", built([toys(0)]), "-o", tmp_path / "tasks.jsonl")
    assert result.returncode == 2 and "there are no guidelines for annotators of toy" in result.stderr
    assert "builders/guidelines/toy.md" in result.stderr
    assert not (tmp_path / "tasks.jsonl").exists()


def test_export_and_import_keep_what_annotators_keep(
    here: Cli, built: Built, toys: Toys, tmp_path: Path, monkeypatch: Patch
) -> None:
    monkeypatch.setattr("halu_tasks.builders.annotation.GUIDELINES", tmp_path)
    (tmp_path / "toy.md").write_text("Choose.")
    items = [toys(place, kind="one" if place < 20 else "other") for place in range(40)]
    folder, out = built(items), tmp_path / "out" / "tasks.jsonl"
    (folder / "collected.json").write_text(json.dumps(to_json(Collection())))
    assert here("label", "items", folder, "-o", out).returncode == 0
    rows = read_rows(out)
    assert {row["item"] for row in rows} == {item.id for item in items}
    assert all(tuple(row) == COLUMNS and not row["label"] for row in rows)
    assert [row["item"] for row in rows] != [item.id for item in items]
    assert (tmp_path / "out" / "tasks.guidelines.md").read_text() == "Choose."
    write_rows(out, [rows[0] | {"label": "valid"}, *rows[1:]])
    again = here("label", "items", folder, "-o", out)
    assert again.returncode == 2 and "1 of its rows have labels, which would be lost; name another file" in again.stderr
    by_id = {item.id: item for item in items}
    assert all(text in row["text"] for row in rows for text in by_id[row["item"]].row.values())

    # all three keep the first ten, two the next ten, one the next, and nobody the last
    keeps = {"ana": 30, "bo": 20, "cy": 10}
    files = [
        write_rows(
            tmp_path / f"{name}.jsonl",
            answered(rows, {item.id: VALID[place >= number] for place, item in enumerate(items)}),
        )
        for name, number in keeps.items()
    ]
    kept = tmp_path / "kept"
    kept.mkdir()  # an empty folder may be there
    result = here("label", "import", folder, *files, "--rule", "two", "-o", kept)
    assert result.returncode == 0, result.stderr
    assert [item.id for item in read_items(kept / "dataset")] == [item.id for item in items[:20]]
    assert len(read_rows(kept / "dataset" / "generative_qa.jsonl")) == 20
    assert (kept / "build.json").read_text() == (folder / "build.json").read_text()
    report = json.loads((kept / "dataset" / "annotation.json").read_text())
    assert report["dropped"] == {"voted invalid": {"other": 20}} and report["kept"] == 20
    assert (
        "rule: two" in result.stdout and "kept: 20" in result.stdout and "voted invalid: {other: 20}" in result.stdout
    )
    card = (kept / "dataset" / "README.md").read_text(encoding="utf-8")
    assert "3 annotators labelled 40 of 40 items; 20 were kept" in card and "| voted invalid | other | 20 |" in card
    # the folder can be reported like that of a build
    assert json.loads(here("build", "quality", kept, "--json").stdout)["items"] == 20
    # nothing is overwritten, and without a folder nothing is written
    again = here("label", "import", folder, *files, "-o", kept)
    assert again.returncode == 2 and "nothing is overwritten" in again.stderr
    told = json.loads(here("label", "import", folder, *files, "--rule", "two", "--json").stdout)
    assert told == report


def test_a_sample_is_drawn_by_the_seed_alone(toy: Pipeline, toys: Toys) -> None:
    items = [toys(place) for place in range(50)]
    one, other = item_rows(toy, items, 10), item_rows(toy, items[::-1], 10)
    assert one == other and len(one) == 10 and one == item_rows(toy, items, None)[:10]
    assert item_rows(toy, items, 10, seed=1) != one
    assert len(item_rows(toy, items, 99)) == 50


def test_guidelines_are_packaged_and_name_every_label() -> None:
    for name, pipeline in pipelines().items():
        text = (GUIDELINES / f"{name}.md").read_text(encoding="utf-8")
        assert all(f"**{label}**" in text for label in pipeline.labels), name


def test_guidelines_explain_the_codes_that_rows_show() -> None:
    text = (GUIDELINES / "haluagent.md").read_text(encoding="utf-8")
    assert all(f"`[{kind}]`" in text for kind in pipeline_named("haluagent", {}).settings["types"])


# --- in -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("rows", "label", "error"), CASES["a_row_gives_a_label_none_or_an_error"])
def test_a_row_gives_a_label_none_or_an_error(
    tmp_path: Path, rows: list[dict[str, Any]], label: str | None, error: str
) -> None:
    shown = {Key(id): fingerprint(f"text of {id}") for id in ("a", "b")}
    files = [
        write_rows(tmp_path / "ana.jsonl", rows),
        write_rows(tmp_path / "bo.jsonl", [{"item": "b", "label": "valid"}]),
    ]
    if error:
        with pytest.raises(DataError) as raised:
            read_labels(files, shown, VALID)
        assert str(raised.value).startswith(f"{files[0]}{error}")
        return
    files[0].write_text(files[0].read_text() + json.dumps({"item": "b", "label": "invalid"}) + "\n")
    assert read_labels(files, shown, VALID)["ana"] == {Key("b"): "invalid", **({Key("a"): label} if label else {})}


def test_the_label_0_is_a_label(tmp_path: Path) -> None:
    shown = {Key(f"item{n}"): fingerprint("") for n in range(3)}
    rows = [{"item": f"item{n}", "label": label} for n, label in enumerate((["0"], [0], 0))]
    files = [write_rows(tmp_path / f"{name}.jsonl", rows) for name in ("ana", "bo")]
    assert read_labels(files, shown, ("entity", "0"))["bo"] == dict.fromkeys(shown, "0")


def test_one_table_may_have_the_labels_of_all_annotators(
    here: Cli, built: Built, toys: Toys, tmp_path: Path, toy: Pipeline, monkeypatch: Patch
) -> None:
    monkeypatch.setattr("halu_tasks.builders.annotation.GUIDELINES", tmp_path)
    (tmp_path / "toy.md").write_text("Choose.")
    folder = built([toys(0), toys(1, question='=1+1, or\n"two"?'), toys(2)])
    assert here("label", "items", folder, "-o", tmp_path / "rows.csv").returncode == 0
    rows = [row for _, row in read_label_rows(tmp_path / "rows.csv", ("item", "label"))]
    assert len(rows) == 3 and any("=1+1" in row["text"] for row in rows)
    given = [
        {**row, "by": by, "label": "valid" if by != "cy" else "invalid"} for row in rows for by in ("ana", "bo", "cy")
    ]
    write_label_rows(tmp_path / "labels.csv", given, COLUMNS)
    result = here("label", "import", folder, tmp_path / "labels.csv", "--json")
    assert result.returncode == 0, result.stderr
    report = json.loads(result.stdout)
    assert report["annotators"] == {"ana": 3, "bo": 3, "cy": 3} and report["kept"] == 3
    assert report["agreement"][""]["agreement"]["value"] == 0.3333


def test_files_that_cannot_be_read_are_errors_of_one_line(tmp_path: Path) -> None:
    (tmp_path / "cy.jsonl").write_text("{}\nno json\n")
    with pytest.raises(DataError, match=r"cy\.jsonl:1: expected an item's id"):
        read_labels([tmp_path / "cy.jsonl"], {}, VALID)
    (tmp_path / "cy.csv").write_text("item,text\na,b\n")
    with pytest.raises(DataError, match=r"cy\.csv:1: column 'label' is missing"):
        read_labels([tmp_path / "cy.csv"], {}, VALID)


# --- rules and agreement --------------------------------------------------------------------------


def test_labels_of_one_annotator_are_no_agreement(
    here: Cli, built: Built, toys: Toys, tmp_path: Path, toy: Pipeline
) -> None:
    folder = built([toys(0), toys(1)])
    rows = item_rows(toy, read_items(folder / "dataset"), None)
    both = {"item0": "valid", "item1": "valid"}
    files = {
        "ana": answered(rows, both),
        # an item that an annotator has not come to yet is no fault
        "dee": answered(rows, {"item0": "valid"}),
        "cy": [*answered(rows, both), {"item": "other", "label": ["valid"]}],
        "eve": [],
        "admin": [{"item": "item0", "label": []}],
    }
    paths = {name: write_rows(tmp_path / f"{name}.jsonl", own) for name, own in files.items()}
    for names, status, told in (
        ("ana dee", 0, ""),
        ("ana cy", 2, "cy.jsonl:3: item 'other' is not in the dataset"),
        ("ana eve", 2, "expected labels of two annotators or more, in a file each or named in 'by', got those of ana;"),
        ("eve admin", 2, "got those of none"),
    ):
        result = here("label", "import", folder, *(paths[name] for name in names.split()))
        assert result.returncode == status and told in result.stderr, result.stderr
        assert len(result.stderr.splitlines()) == bool(status)


@pytest.mark.parametrize(("labels", "majority", "two"), CASES["a_rule_settles_on_a_label_or_says_why_not"])
def test_a_rule_settles_on_a_label_or_says_why_not(labels: str, majority: str, two: str) -> None:
    for rule, expected in (("majority", majority), ("two", two)):
        label, reason = agreed_label(labels, rule)
        assert (label or reason) == expected and (label is None) == bool(reason)
    assert agreed_label("aa", least=3) == (None, "too few labels")


def annotators(labels: Mapping[str, str]) -> dict[str, dict[Key, str]]:
    """Annotators' labels, a character an item, a space where there is none."""
    return {
        name: {Key(f"item{place}"): label for place, label in enumerate(own) if label != " "}
        for name, own in labels.items()
    }


def agreement(labels: Mapping[str, str]) -> dict[str, Any]:
    """The agreement of annotators as `annotation.json` has it; each item is its own document."""
    clusters = {Key(f"item{place}"): f"d{place}" for place in range(max(map(len, labels.values())))}
    content: dict[str, Any] = to_json(agreement_of([*annotators(labels).values()], clusters))
    return content


def test_agreement_is_as_worked_out_by_hand() -> None:
    # of 10 items: both v on 5, both i on 2, v/i on 2, i/v on 1; 13 of 20 labels are v, 7 are i
    found = agreement({"ana": "vvvvviivvi", "bo": "vvvvviiiiv"})
    assert (found["items"], found["agreement"]["value"]) == (10, 0.7)
    assert found["alpha"]["value"] == round(1 - 0.3 / (2 * 13 * 7 / (20 * 19)), 4)
    # ana: 7 v, bo: 6 v; by chance 0.7 * 0.6 + 0.3 * 0.4
    assert found["kappa"]["value"] == round((0.7 - 0.54) / (1 - 0.54), 4)
    # groups that share the work agree as if they were one; three pairs of three items that have them: 3, 1, 1 and 3
    one = agreement({"a": "vvii", "b": "viii", "c": "vivi"})
    groups = agreement({"a": "vv", "b": "vi", "c": "vi", "d": "  ii", "e": "  ii", "f": "  vi"})
    assert one["kappa"]["value"] == round((2 / 3 - 74 / 144) / (1 - 74 / 144), 4)
    assert one == groups and one["agreement"]["value"] == round((1 + 1 / 3 + 1 / 3 + 1) / 4, 4)
    # an item with one label is no part of it
    assert agreement({"a": "vvvv", "b": "vvv "})["items"] == 3
    assert agreement({"a": "v ", "b": " v"}) == {"items": 0, "agreement": None, "alpha": None, "kappa": None}


def test_labels_that_change_an_item_change_it(toy_of_types: Pipeline, toys: Toys) -> None:
    items = [toys(place, kind="one") for place in range(4)]
    named = {"x": "one", "y": "other", "z": "0", "w": "one"}
    given = {
        name: {key: named[label] for key, label in own.items()}
        for name, own in annotators({"a": "xyzz", "b": "xyzw"}).items()
    }
    kept, report = apply_labels(toy_of_types, items, given, "majority", 2)
    assert [(item.id, item.kind) for item in kept] == [("item0", "one"), ("item1", "other")]
    assert report.relabelled == 1
    assert report.dropped == {"no majority": {"one": 1}, "voted 0": {"one": 1}}
    assert {label: own.n for label, own in report.labels[""].items()} == dict.fromkeys(
        ("0", "no majority", "one", "other"), 1
    )


def test_answers_hallucinations_and_their_types_have_labels_of_their_own(tmp_path: Path) -> None:
    pipeline = pipeline_named("haluagent", {"language": "en"})
    wrong = [{"text": f"wrong {n}", "type": kind} for n, kind in enumerate(("EntErr", "SpaErr", "EntErr"), 1)]
    row = {"question": "Who?", "answer": "Ada.", "support": "Ada did.", "title": "T", "hallucinated": wrong}
    items = [Draft(id=f"i{n}", kind="EntErr", document=f"d{n}", checks=(), row=row) for n in range(6)]
    rows = item_rows(pipeline, items, None)
    assert Counter(each["part"].split()[0] for each in rows) == {"answer": 6, "hallucination": 18, "label": 18}
    assert all(each["text"].startswith("Is this right: ") for each in rows)
    assert not any("EntErr" in each["text"] for each in rows if "label" not in each["part"])

    def invalid(item: str, part: str) -> bool:
        # i0: the answer; i1: a hallucination; i2: the types of two; i3: a hallucination or its type of each
        return (item, part) in {
            ("i0", "answer"), ("i1", "hallucination 2"), ("i2", "label 1"), ("i2", "label 3"),
            ("i3", "label 1"), ("i3", "hallucination 2"), ("i3", "label 3"),
        }  # fmt: skip

    given = [[{**each, "label": [VALID[invalid(each["item"], each["part"])]]} for each in rows] for _ in range(3)]
    given[0][0]["label"] = ["invalid" if given[0][0]["label"] == ["valid"] else "valid"]
    shown = {key: fingerprint(text) for item in items for key, text in shown_texts(pipeline, item).items()}
    assert {(each["item"], each["part"]) for each in rows} == shown.keys()
    people = read_labels(
        [write_rows(tmp_path / f"{name}.jsonl", own) for name, own in zip("abc", given, strict=True)], shown, VALID
    )
    kept, report = apply_labels(pipeline, items, people, "majority", 2)
    assert {item.id: [each["text"] for each in item.row["hallucinated"]] for item in kept} == {
        "i1": ["wrong 1", "wrong 3"], "i2": ["wrong 2"],
        "i4": ["wrong 1", "wrong 2", "wrong 3"], "i5": ["wrong 1", "wrong 2", "wrong 3"],
    }  # fmt: skip
    assert {item.id: item.kind for item in kept}["i2"] == "SpaErr"
    assert report.dropped == {"answer voted invalid": {"EntErr": 1}, "label voted invalid": {"EntErr": 1}}
    assert {kind: own["valid"].n for kind, own in report.labels.items()} == {
        "answer": 5, "hallucination": 16, "label": 14,
    }  # fmt: skip
    assert {kind: own.items for kind, own in report.agreement.items()} == {
        "answer": 6, "hallucination": 18, "label": 18,
    }  # fmt: skip
    assert report.agreement["label"].kappa and report.agreement["label"].kappa.value == 1.0
