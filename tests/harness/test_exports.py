"""Exports: valid by the published schemas, right about every reply, and equal to the results when read back."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from common import Cli, Run, fenced, write_rows
from huggingface_hub import parse_eval_result_entries
from inspect_ai.log import read_eval_log
from judges import asked_text, is_question, verdict
from programs import shown_stderr
from shared_runs import asked, asked_lm_eval

from halu_tasks.core.items import Item
from halu_tasks.core.options import Options
from halu_tasks.data.locate import SAMPLE
from halu_tasks.scorers.gold import SpanGold
from halu_tasks.scorers.kinds import JudgedText, Label
from halu_tasks.tasks import Evaluation, build, registry

TASKS = registry()[0]
MODEL = "acme/tiny"


def read_notes(notes: str) -> dict[str, str]:
    """The values in an entry's notes by name, as text."""
    return {name: value for name, _, value in (part.partition("=") for part in notes.split("; "))}


ORACLE = ("--model-id", f"halu-oracle={MODEL}")


@pytest.fixture(scope="module")
def check_published() -> Callable[[Path], None]:
    """Check every file of an export by the published validator; without it, a warning says that nothing is checked."""
    if importlib.util.find_spec("every_eval_ever") is None:
        warnings.warn("every-eval-ever is not installed (--no-deps): exports are not validated", stacklevel=1)
        return lambda out: None

    def check(out: Path) -> None:
        files = [str(path.relative_to(out)) for path in out.glob("data/*/*/*/*.json*")]
        command = [sys.executable, "-m", "every_eval_ever", "validate", "--format", "json", *files]
        done = subprocess.run(command, cwd=out, capture_output=True, text=True, timeout=120)
        assert files and done.returncode == 0, done.stdout + done.stderr
        assert all(report["valid"] and not report["warnings"] for report in json.loads(done.stdout))

    return check


def read_eee(out: Path) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """Each record of an export with its rows."""
    for path in sorted(out.glob("data/*/*/*/*.json")):
        record = json.loads(path.read_text(encoding="utf-8"))
        details = record.get("detailed_evaluation_results")
        lines = (out / details["file_path"]).read_text(encoding="utf-8").splitlines() if details else []
        assert details is None or details["total_rows"] == len(lines)
        yield record, [json.loads(line) for line in lines]


# --- which replies are right ------------------------------------------------------------------------


def judge_of(evaluation: Evaluation) -> Callable[[dict[str, Any]], str]:
    """A judge that finds the wrong replies below wrong, and all others right."""
    judged = evaluation.task.judge_spec
    assert judged
    labels = {sense: label for label, sense in judged.labels.items()}

    def judge(request: dict[str, Any]) -> str:
        if not is_question(request):
            return "ready"
        text = fenced(asked_text(request))[-1]
        is_wrong = "nothing like it" in text or "Mars" in text
        if evaluation.task.name == "fave":
            return json.dumps({"critique": "…", "supported": "no" if is_wrong else "yes"})
        return verdict(labels["bad" if is_wrong else "good"])

    return judge


def right_reply(evaluation: Evaluation, item: Item) -> str:
    if evaluation.task.name == "fave":
        return "\n".join(f"{paper['name']} reports a result." for paper in item.gold.papers[:3])
    return evaluation.task.prompts.oracle(item)


def wrong_reply(evaluation: Evaluation, item: Item) -> str:
    """A reply with an answer that is wrong: another label, text or sentence, or a sentence that nothing supports."""
    if isinstance(evaluation.task.scoring.answer, Label):
        return evaluation.task.prompts.oracle(next(other for other in evaluation.items if other.target != item.target))
    if evaluation.task.name == "fave":
        return f"{item.gold.papers[0]['name']} cured every patient on Mars."
    return "nothing like it" if isinstance(evaluation.task.scoring.answer, JudgedText) else "another string altogether"


def half_right_reply(evaluation: Evaluation, item: Item) -> str:
    """A reply of which only a part is right, or that has more than what is right, if there are such replies."""
    right = right_reply(evaluation, item)
    if evaluation.task.name == "fave":
        return f"{right}\n{wrong_reply(evaluation, item)}"
    if isinstance(evaluation.task.scoring.answer, Label | JudgedText):
        return wrong_reply(evaluation, item)
    first, *others = right.split("\n")
    if others:
        return first
    if isinstance(item.gold, SpanGold) and not right.count(item.gold.text):
        # the whole text, line by line: all that is right, and all the rest
        return item.gold.text
    return "another string altogether"


KINDS: dict[str, tuple[Callable[[Evaluation, Item], str], Callable[[Evaluation, Item], bool]]] = {
    "right": (right_reply, lambda evaluation, item: True),
    "wrong": (wrong_reply, lambda evaluation, item: False),
    "half": (half_right_reply, lambda evaluation, item: False),
}


def score(here: Cli, file: Path, task: str, rows: Sequence[dict[str, Any]], *arguments: str) -> dict[str, Any]:
    """Score replies of a model named after a file; write what is printed to the file, and return it."""
    predictions = write_rows(file.with_suffix(".jsonl"), rows)
    about = ("--data", "sample", "--model", f"acme/{file.stem}", "--json")
    done = here("score", task, predictions, *about, *arguments)
    assert done.returncode == 0, done.stderr
    file.write_text(done.stdout, encoding="utf-8")
    return dict(json.loads(done.stdout))


BY_DEFAULT = ("cfaith_choice", "refact_localization_entity")
"""A task whose headline falls as replies get better, and one whose replies can be right in part."""


# a reply to factscore is neither right nor wrong as a whole
@pytest.mark.parametrize(
    "task",
    [
        task if task in BY_DEFAULT else pytest.param(task, marks=pytest.mark.slow)
        for task in TASKS
        if task != "factscore"
    ],
)
def test_rows_say_of_every_reply_whether_it_is_right(
    task: str, here: Cli, serve: Run, tmp_path: Path, check_published: Callable[[Path], None]
) -> None:
    evaluation = build(task, Options(data="sample"))
    results = tmp_path / "results"
    results.mkdir()
    scored = {}
    for kind, (reply, _) in KINDS.items():
        arguments: list[str] = []
        if evaluation.task.judge_spec:
            details = results / f"{kind}.details.jsonl"
            arguments = [
                "--judge",
                "openai/gpt-4o",
                "--judge-base-url",
                serve(judge_of(evaluation)).url,
                "--details",
                str(details),
            ]
        rows = [{"id": item.id, "output": reply(evaluation, item)} for item in evaluation.items]
        scored[kind] = score(here, results / f"{kind}.json", task, rows, *arguments)
    done = here("export", "eee", *(results / f"{kind}.json" for kind in KINDS), "-o", tmp_path / "out")
    # replies that are wrong on purpose may be warned of
    told = ("no readable answer", "the same answer", "occurs nowhere")
    assert done.returncode == 0 and all(any(map(line.__contains__, told)) for line in done.stderr.splitlines())
    check_published(tmp_path / "out")
    seen = set()
    for record, rows in read_eee(tmp_path / "out"):
        kind = record["model_info"]["id"].removeprefix("acme/")
        seen.add(kind)
        told = {row["sample_id"]: row["evaluation"]["is_correct"] for row in rows}
        assert told == {item.id: KINDS[kind][1](evaluation, item) for item in evaluation.items}, kind
        correct = sum(told.values()) / len(told)
        metrics = scored[kind]["metrics"]
        if isinstance(evaluation.task.scoring.answer, Label) or evaluation.task.judge_spec:
            assert metrics["acc"] == pytest.approx(correct)
        if "hallucination_rate" in metrics:
            assert metrics["hallucination_rate"] == pytest.approx(1 - correct)
        # the headline, unless it has no values for single items, as an F1
        headline = evaluation.task.headline_metric("strict")
        assert {row["evaluation_result_id"] for row in rows} == {headline.name if headline.item else "acc"}
    assert seen == KINDS.keys()


@pytest.mark.slow
def test_a_reply_without_a_verdict_has_no_row_and_is_counted(
    here: Cli, serve: Run, tmp_path: Path, check_published: Callable[[Path], None]
) -> None:
    evaluation = build("cfaith_gen", Options(data="sample"))
    rows = [{"id": item.id, "output": evaluation.task.prompts.oracle(item)} for item in evaluation.items]
    rows[0]["output"] = "unreadable"

    def silent_once(request: dict[str, Any]) -> str:
        return "Hm." if "unreadable" in str(request) else judge_of(evaluation)(request)

    file, server = tmp_path / "scored.json", serve(silent_once)
    options = ["--judge", "openai/gpt-4o", "--judge-base-url", server.url, "--details", str(tmp_path / "d.jsonl")]
    scored = score(here, file, "cfaith_gen", rows, *options)
    assert scored["metrics"]["judge_failed"] == pytest.approx(1 / 36) and scored["metrics"]["acc"] == 1
    done = here("export", "eee", file, "-o", tmp_path)
    assert done.returncode == 0 and "1 of 36 replies have no row" in done.stderr
    check_published(tmp_path)
    ((record, told),) = read_eee(tmp_path)
    assert len(told) == 35 and all(row["evaluation"]["is_correct"] for row in told)
    assert record["detailed_evaluation_results"]["additional_details"]["replies_without_a_verdict"] == "1"
    figures = {own["evaluation_result_id"]: own for own in record["evaluation_results"]}
    assert figures["acc"]["score_details"]["uncertainty"]["num_samples"] == 35
    judged = {name for name, own in figures.items() if "llm_scoring" in own["metric_config"]}
    assert {"hallucination_rate", "acc", "judge_failed"} <= judged and "closer_to_correct" not in judged
    scoring = figures["hallucination_rate"]["metric_config"]["llm_scoring"]
    assert [own["model_info"]["name"] for own in scoring["judges"]] == ["openai/gpt-4o"]
    assert "{output}" in scoring["input_prompt"] and len(scoring["additional_details"]["prompt_hash"]) == 8
    # without a judge nothing is known of the replies, and the other figures are still there
    unjudged = tmp_path / "unjudged.json"
    score(here, unjudged, "cfaith_gen", rows)
    done = here("export", "eee", unjudged, "-o", tmp_path / "unjudged")
    assert done.returncode == 0 and "36 of 36 replies have no row" in done.stderr
    ((record, told),) = read_eee(tmp_path / "unjudged")
    assert not told and "closer_to_correct" in {own["evaluation_result_id"] for own in record["evaluation_results"]}
    done = here("export", "hub", unjudged, "-o", tmp_path / "hub", "--dataset", "cfaith=a/b")
    assert done.returncode == 2 and "does not belong in a leaderboard" in done.stderr


# --- equal when read back -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The baseline's run of a task in both harnesses, by the harness, on a user's own data."""
    folder = tmp_path_factory.mktemp("results")
    metadata = {"halu_data": str(SAMPLE / "cfaith")}
    asked_lm_eval(folder / "lm_eval", ["cfaith_tf"], "halu-baseline", metadata, gen_kwargs="temperature=0.5")
    options = {"data": str(SAMPLE / "refact"), "scoring": "paper"}
    asked(folder / "inspect", "refact_judgment_independent", epochs=2, temperature=0.5, **options)
    return {"lm_eval": folder / "lm_eval", "inspect_ai": folder / "inspect"}


def read_back(record: dict[str, Any]) -> dict[str, tuple[Any, ...]]:
    """Value, standard error, interval and direction of each metric of a record."""
    figures = {}
    for own in record["evaluation_results"]:
        uncertainty = own["score_details"]["uncertainty"]
        interval = uncertainty.get("confidence_interval", {})
        config = own["metric_config"]
        figures[config["metric_name"]] = (
            own["score_details"]["score"],
            uncertainty.get("standard_error", {}).get("value"),
            [interval["lower"], interval["upper"]] if interval else None,
            config["additional_details"]["direction"],
            config["lower_is_better"],
        )
    return figures


def harness_figures(library: str, folder: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """What a harness logged of how a run was made, and its figures."""
    if library == "lm_eval":
        (file,) = folder.rglob("results_*.json")
        content = json.loads(file.read_text(encoding="utf-8"))
        figures = {name.partition(",")[0]: value for name, value in content["results"]["cfaith_tf"].items()}
        return content["configs"]["cfaith_tf"]["metadata"]["halu_tasks"], figures
    (file,) = folder.glob("*.eval")
    log = read_eval_log(str(file), header_only=True)
    figures = {name: metric.value for name, metric in log.results.scores[0].metrics.items()}
    return log.eval.metadata["halu_tasks"][0], figures


@pytest.mark.parametrize("library", ["lm_eval", "inspect_ai"])
def test_a_harness_result_reads_back_equal(
    library: str, results: dict[str, Path], here: Cli, tmp_path: Path, check_published: Callable[[Path], None]
) -> None:
    done = here("export", "eee", results[library], "-o", tmp_path, "--model-id", f"halu-baseline={MODEL}")
    assert done.returncode == 0, done.stderr
    check_published(tmp_path)
    ((record, rows),) = read_eee(tmp_path)
    task = TASKS[record["evaluation_results"][0]["evaluation_name"]]
    provenance, told = harness_figures(library, results[library])
    metrics = {metric.name: metric for metric in task.scorers[provenance["scoring"]].metrics}
    figures = read_back(record)
    assert len(figures) > 3 and next(iter(figures)) == next(iter(metrics))
    for name, (value, stderr, interval, direction, lower) in figures.items():
        logged = told.get(f"{name}_stderr", "N/A")
        assert (value, shown_stderr(stderr)) == (told[name], logged if logged == "N/A" else shown_stderr(logged)), name
        if library == "inspect_ai":
            ends = [told[f"{name}_{end}"] for end in ("low", "high") if f"{name}_{end}" in told]
            assert (interval or []) == ends, name
        higher = metrics[name].higher_is_better
        assert (direction, lower) == ({True: "higher", False: "lower", None: "neither"}[higher], higher is False)
    details = record["eval_library"]["additional_details"]
    assert record["eval_library"]["name"] == library and details["harness"].endswith(record["eval_library"]["version"])
    assert (details["scoring"], details["task_version"]) == (provenance["scoring"], provenance["version"])
    first = record["evaluation_results"][0]
    asked = first["generation_config"]
    assert asked["generation_args"]["temperature"] == 0.5
    assert asked["generation_args"]["max_tokens"] == task.prompts.decoding.max_tokens
    assert asked["additional_details"]["prompt_hash"] == provenance["prompt_hash"]
    data = first["source_data"]["additional_details"]
    assert (data["data"], data["sha256"]) == (provenance["data"], provenance["data_sha256"])
    epochs = 2 if library == "inspect_ai" else 1
    assert {row["metadata"]["epoch"] for row in rows} == {str(epoch) for epoch in range(1, epochs + 1)}
    evaluation = build(task.name, Options(data="sample"))
    assert len(rows) == epochs * len(evaluation.items)
    assert all(row["output"]["raw"] for row in rows)
    prompts = {item.id: item.prompt for item in evaluation.items}
    assert all(row["input"]["raw"].endswith(prompts[row["sample_id"]]) for row in rows)


def test_entries_of_the_hub_read_back_equal(results: dict[str, Path], here: Cli, tmp_path: Path) -> None:
    named = ["--model-id", f"halu-baseline={MODEL}", "--source", "https://example.org/logs"]
    datasets = ["--dataset", "cfaith=acme/cfaith", "--dataset", "refact=acme/refact"]
    one = here("export", "hub", *results.values(), "-o", tmp_path, *named, *datasets[:2])
    assert (one.returncode, [*tmp_path.iterdir()]) == (2, []) and "--dataset refact=OWNER/NAME" in one.stderr
    done = here("export", "hub", *results.values(), "-o", tmp_path, *named, *datasets)
    assert done.returncode == 0, done.stderr
    assert here("export", "eee", *results.values(), "-o", tmp_path, *named[:2]).returncode == 0
    records = {record["evaluation_results"][0]["evaluation_name"]: record for record, _ in read_eee(tmp_path)}
    folder = tmp_path / "models" / MODEL / ".eval_results"
    assert {path.stem for path in folder.iterdir()} == records.keys() == {"cfaith_tf", "refact_judgment_independent"}
    for task, record in records.items():
        (entry,) = parse_eval_result_entries(yaml.safe_load((folder / f"{task}.yaml").read_text(encoding="utf-8")))
        assert (entry.dataset_id, entry.task_id) == (f"acme/{TASKS[task].benchmark}", task)
        assert entry.source_url == "https://example.org/logs" and entry.date
        notes, figures = read_notes(entry.notes or ""), read_back(record)
        value, stderr, interval, direction, _ = figures[notes["metric"]]
        # leaderboards have no direction: what they show is better when it is higher
        assert direction == notes["better"] == "higher"
        assert entry.value == value and float(notes["stderr"]) == stderr
        assert [float(end) for end in notes["interval95"].split("..")] == interval
        if "headline" in notes:
            value, _, interval, direction, _ = figures[notes["headline"]]
            assert float(notes["headline_value"]) == value and notes["headline_better"] == direction == "lower"
            assert [float(end) for end in notes["headline_interval95"].split("..")] == interval
        details = record["eval_library"]["additional_details"]
        first = record["evaluation_results"][0]
        assert (notes["version"], notes["scoring"]) == (details["task_version"], details["scoring"])
        assert notes["prompt"] == first["generation_config"]["additional_details"]["prompt_hash"]
        assert notes["data_sha256"] == first["source_data"]["additional_details"]["sha256"]
        assert notes["harness"] == details["harness"] and json.loads(notes["settings"]) == {"temperature": 0.5}
    assert "headline" in read_notes((folder / "cfaith_tf.yaml").read_text(encoding="utf-8"))


# --- what is left out -------------------------------------------------------------------------------------


JUDGMENT = "refact_judgment_independent"
OWN_DATA = ("--data", str(SAMPLE / "refact"))
HUB = ("--dataset", "refact=acme/refact")


def judgments(reply: str) -> list[dict[str, Any]]:
    return [{"id": item.id, "output": reply} for item in build(JUDGMENT, Options(data="sample")).items]


def entries_of(out: Path) -> list[tuple[float, dict[str, str]]]:
    """The value and the notes of each entry of an export to the Hub."""
    content = [yaml.safe_load(path.read_text(encoding="utf-8")) for path in out.rglob("*.yaml")]
    return [
        (float(entry.value), read_notes(entry.notes or ""))
        for entries in content
        for entry in parse_eval_result_entries(entries)
    ]


@pytest.mark.slow
def test_a_leaderboard_gets_no_sample_and_parts_only_on_request(here: Cli, tmp_path: Path) -> None:
    rows = judgments("Final Verdict: True")
    score(here, tmp_path / "sample.json", JUDGMENT, rows)
    score(here, tmp_path / "part.json", JUDGMENT, rows[:10], *OWN_DATA, "--partial")
    score(here, tmp_path / "whole.json", JUDGMENT, rows, *OWN_DATA)

    def hub(out: str, *arguments: str | Path) -> tuple[int, list[str]]:
        done = here("export", "hub", "-o", tmp_path / out, *HUB, *arguments)
        return done.returncode, sorted(done.stderr.splitlines())

    status, (same, part, sample) = hub("out", tmp_path)
    assert "64 of 64 replies (100.0%) give the same answer" in same
    assert status == 3 and f"part.json: {JUDGMENT}: has 10 of 64 replies" in part and "add --partial" in part
    assert f"sample.json: {JUDGMENT}: is a result on the packaged sample" in sample
    ((value, notes),) = entries_of(tmp_path / "out")
    assert (value, notes["n"], notes["data"]) == (0.5, "64", "local") and "unparsed" not in notes
    # nothing is left
    status, said = hub("none", tmp_path / "sample.json", "--partial")
    assert status == 2 and any("no result was exported" in line for line in said) and not (tmp_path / "none").exists()
    status, (same,) = hub("part", tmp_path / "part.json", "--partial")
    assert status == 0 and "10 of 10 replies (100.0%) give the same answer" in same
    assert [notes["n"] for _, notes in entries_of(tmp_path / "part")] == ["10 of 64"]
    # the schema of Every Eval Ever has places for both
    done = here("export", "eee", tmp_path / "part.json", tmp_path / "sample.json", "-o", tmp_path / "eee")
    assert done.returncode == 0
    figures = {record["model_info"]["id"]: record["evaluation_results"][0] for record, _ in read_eee(tmp_path / "eee")}
    for name, replies, data in (("acme/part", 10, "local"), ("acme/sample", 64, "sample")):
        assert figures[name]["score_details"]["uncertainty"]["num_samples"] == replies
        source = figures[name]["source_data"]["additional_details"]
        assert (source["data"], source["items"]) == (data, "64")


def test_unparsed_replies_are_exported_with_a_warning_and_their_share(here: Cli, tmp_path: Path) -> None:
    """Of runs that later ones replace, the last is exported, as in the report."""
    for number, reply in enumerate(("False", "nothing", "True")):
        rows = [*judgments("Hm.")[:32], *judgments(f"Final Verdict: {reply}")[32:]]
        score(here, tmp_path / f"{number}.json", JUDGMENT, rows, *OWN_DATA, "--model", MODEL)
    for format, *arguments in (("hub", *HUB), ("eee",)):
        done = here("export", format, tmp_path, "-o", tmp_path / "out", *arguments)
        assert done.returncode == 0
        replaced, unparsed, same = done.stderr.splitlines()
        assert "not exported: 2 runs replaced by later ones of the same model and conditions: " in replaced
        assert replaced.endswith("0.json and 1 more")
        assert f"{MODEL}, {JUDGMENT}: 32 of 64 replies (50.0%) contain no readable answer (unparsed)" in unparsed
        assert f'{MODEL}, {JUDGMENT}: 32 of 64 replies (50.0%) give the same answer, "True", and none gives' in same
    ((value, notes),) = entries_of(tmp_path / "out")
    assert float(notes["unparsed"]) == 0.5 and "empty" not in notes
    ((record, _),) = read_eee(tmp_path / "out")
    right = sum(item.target == "True" for item in build(JUDGMENT, Options(data="sample")).items[32:]) / 64
    assert value == read_back(record)["acc"][0] == right


# --- what cannot be exported ------------------------------------------------------------------------------


def test_nothing_is_replaced_and_what_cannot_be_exported_is_named(
    results: dict[str, Path], here: Cli, tmp_path: Path
) -> None:
    evaluation = build("cfaith_choice", Options(data="sample"))
    rows = [{"id": item.id, "output": "A"} for item in evaluation.items]
    nameless = tmp_path / "nameless.json"
    score(here, nameless, "cfaith_choice", rows)
    content = json.loads(nameless.read_text(encoding="utf-8"))
    content["run"]["model"] = None
    nameless.write_text(json.dumps(content), encoding="utf-8")
    out = tmp_path / "out"
    done = here("export", "eee", nameless, results["lm_eval"], "-o", out)
    assert done.returncode == 3
    assert "nameless.json: cfaith_choice: the results do not say which model replied; name it with --model-id" in (
        done.stderr
    )
    # the package's own models need no organization
    assert len(done.stdout.splitlines()) == 1 and "data/cfaith/halu-tasks/halu-baseline/" in done.stdout
    written = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    assert len(written) == 2
    assert here("export", "eee", results["lm_eval"], "-o", out).returncode == 0
    done = here("export", "eee", results["lm_eval"], "-o", out, "--organization", "Acme")
    assert done.returncode == 2 and "exists and differs" in done.stderr
    assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == written
    done = here("export", "hub", nameless, results["lm_eval"], "-o", out, *ORACLE)
    assert done.returncode == 2 and "no result is of a model 'halu-oracle'" in done.stderr
    done = here("export", "hub", results["lm_eval"], "-o", out)
    assert (
        done.returncode == 2 and "name of the dataset with the leaderboard: --dataset cfaith=OWNER/NAME" in done.stderr
    )
    assert here("export", "hub", results["lm_eval"], "-o", out, "--dataset", "cfaith").returncode == 2


@pytest.mark.slow
def test_what_a_models_name_lacks_is_said_once_for_each_model(here: Cli, tmp_path: Path) -> None:
    """As Inspect and lm-eval name the same model of the same server, and a folder on this machine."""
    names = {"a": "openai-api/local/tiny", "b": "tiny", "c": "/data/tiny"}
    for file, name in names.items():
        score(here, tmp_path / f"{file}.json", JUDGMENT, judgments(file), "--model", name)
    files = [tmp_path / f"{file}.json" for file in names]
    done = here("export", "eee", *files, "-o", tmp_path / "out")
    *_, unknown = done.stderr.splitlines()
    assert done.returncode == 3 and f"c.json: {JUDGMENT}: model '/data/tiny' is not an id" in done.stderr
    assert "model tiny: the results do not say which organization made it" in unknown and "--model-id 'tiny=" in unknown
    assert {path.parts[-4:-1] for path in (tmp_path / "out").rglob("*.json")} == {("refact", "unknown", "tiny")}
    named = ("--model-id", f"tiny={MODEL}", "--model-id", f"/data/tiny={MODEL}")
    assert here("export", "eee", *files, "-o", tmp_path / "named", *named).returncode == 0
    assert {path.parts[-3:-1] for path in (tmp_path / "named").rglob("*.json")} == {tuple(MODEL.split("/"))}


def test_a_reply_can_have_any_characters(here: Cli, tmp_path: Path, check_published: Callable[[Path], None]) -> None:
    evaluation = build("cfaith_choice", Options(data="sample"))
    odd = "A\u2028\x85\x00“;\ud800”"
    rows = [{"id": item.id, "output": odd} for item in evaluation.items]
    score(here, tmp_path / "odd.json", "cfaith_choice", rows)
    done = here("export", "eee", tmp_path / "odd.json", "-o", tmp_path)
    assert done.returncode == 0, done.stderr
    check_published(tmp_path)
    (path,) = tmp_path.glob("data/*/*/*/*.jsonl")
    lines = path.read_bytes().split(b"\n")[:-1]
    assert len(lines) == len(rows)
    assert json.loads(lines[0])["output"]["raw"] == [odd.replace("\ud800", "?")]
