"""Task files: each fault is one line that names the file, the line and the key."""

import inspect
import json
import re
import zipfile
from pathlib import Path
from typing import Any

import pytest
import yaml
from common import Cli, Patch, write_rows
from programs import run as program

from halu_tasks.core.errors import UsageError
from halu_tasks.core.items import Reply
from halu_tasks.core.options import Options
from halu_tasks.scorers.columns import column_names
from halu_tasks.scorers.judge_correction import FACTS as REFERENCE_FACTS
from halu_tasks.scorers.registry import READINGS, SCORERS, make_scorer, scorer_factory
from halu_tasks.tasks import Task, TaskRef, build, registry
from halu_tasks.tasks.checks import faults_of_items
from halu_tasks.tasks.definition import task_keys
from halu_tasks.tasks.provenance import _restored
from halu_tasks.tasks.scoring_spec import MetricKeys
from halu_tasks.tasks.task_registry import listed, task_of, task_of_file
from halu_tasks.tasks.yaml_files import NAMED, TaskFile, read_task_file, task_configs

TASKS, GROUPS = registry()
ROOT = Path(__file__).resolve().parents[2]

INDEPENDENT = "refact/refact_judgment_independent.yaml"
ENTITY = "refact/refact_localization_entity.yaml"
CHOICE = "cfaith/cfaith_choice.yaml"
BINARY = "halluverse25/halluverse25_binary_en.yaml"

FAULTS = yaml.safe_load(Path(__file__).with_name("task_file_faults.yaml").read_text(encoding="utf-8"))


def derived(folder: Path, base: str, text: str, name: str = "mine") -> Path:
    """A file that derives a task from a packaged one."""
    path = folder / f"{name}.yaml"
    named = "" if text.startswith("task: ") else f"task: {name}\n"
    path.write_text(f"# a task of my own\ninclude: {task_configs() / base}\n{named}{text}")
    return path


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_one_line_with_file_line_and_key(fault: str, here: Cli, tmp_path: Path) -> None:
    base, text, key, said = FAULTS[fault].values()
    path = derived(tmp_path, base, text)
    told = here("check", path)
    assert told.returncode == 2 and told.stderr == ""
    (line,) = told.stdout.splitlines()
    number = next(n for n, each in enumerate(path.read_text().splitlines(), 1) if each.startswith(f"{key}:"))
    assert line.startswith(f"{path}:{number}: {key}: ") and said in line


LABELS = TASKS["refact_judgment_independent"].file.path
OTHER = yaml.safe_load(Path(__file__).with_name("file_faults.yaml").read_text(encoding="utf-8"))
GROUP = OTHER["group"]


@pytest.mark.parametrize("text", OTHER["files"])
def test_a_file_that_cannot_be_read_or_defines_no_task(text: str, here: Cli, tmp_path: Path) -> None:
    path, said = tmp_path / "mine.yaml", OTHER["files"][text].format(labels=LABELS)
    path.write_text(text.format(labels=LABELS))
    shown = here("check", path)
    (line,) = shown.stdout.splitlines()
    assert shown.returncode == 2 and line.startswith(said if said.startswith(str(LABELS)) else f"{path}{said}")


def test_a_task_that_lm_eval_would_not_take_for_one(here: Cli, tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    keys = LABELS.read_text() + (LABELS.parent / "_refact").read_text().replace("include: ../_task", "")
    path.write_text(
        keys.replace("include: _refact\n", "").replace("task: refact_judgment_independent", "task: mine", 1)
    )
    (line,) = here("check", path).stdout.splitlines()
    assert line.startswith(f"{path}: class: is missing")


@pytest.mark.parametrize(("given", "instead", "said"), OTHER["group_faults"])
def test_a_fault_of_a_group(given: str, instead: str, said: str, here: Cli, tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(GROUP.replace(given, instead))
    shown = here("check", path)
    (line,) = shown.stdout.splitlines()
    assert shown.returncode == 2 and line.startswith(f"{path}{said}")


def test_files_without_a_fault(here: Cli, tmp_path: Path) -> None:
    task = derived(tmp_path, ENTITY, "doc_to_text: 'Which of {{answer}}?'\n", name="which")
    group = tmp_path / "group.yaml"
    group.write_text(GROUP.replace("refact_correction", "which"))
    # a member may be defined in another of the files
    assert here("check", group).returncode == 2
    for files in ([], [task], [task, group]):
        told = here("check", *files)
        assert told.returncode == 0 and told.stdout.startswith("no faults in ") and not told.stderr


ODD = [
    *(-3, 1.5, float("nan"), True, "", "x", "{{", [], ["x"], [3], [{}], [None], {}, {"x": 1}, {3: 4}),
    *({"kind": []}, [{"metric": "acc", "of": []}], [{"when": {"seed": []}}], {"strict": {"name": []}, "paper": 3}),
    *({"fields": 3}, {"columns": 3}, {"format": []}, {"check": 3}, {"version": []}, {"text": 3}),
]


@pytest.mark.parametrize("base", [INDEPENDENT, pytest.param(BINARY, marks=pytest.mark.slow)])
@pytest.mark.parametrize("key", [*task_keys(), "tag", "output_type"])
def test_no_value_ends_in_anything_but_a_line(key: str, base: str) -> None:
    file = read_task_file(task_configs() / base)
    for odd in ODD:
        changed = TaskFile(file.path, {**file.values, "task": "mine", key: odd}, file.places)
        try:
            [*faults_of_items(task_of(changed), changed)]
        except UsageError as error:
            assert str(error).startswith(str(file.path.parent)) and "\n" not in str(error)


# --- the packaged files ---------------------------------------------------------------------------


def test_a_log_keeps_of_a_derived_task_what_its_file_changes(tmp_path: Path) -> None:
    task = task_of_file(derived(tmp_path, INDEPENDENT, "generation_kwargs: {max_gen_toks: 5}\n"))
    reference = TaskRef.of(task)
    assert reference.as_json().keys() == {"task", "reference_task", "overrides"}
    assert reference.overrides.keys() - {"task"} == {"generation_kwargs"}
    restored = TaskRef.from_json(json.loads(json.dumps(reference.as_json()))).resolve()
    assert restored.file.values["generation_kwargs"] == task.file.values["generation_kwargs"]
    packaged = TASKS["refact_judgment_independent"]
    assert TaskRef.of(packaged).as_json() == {"task": packaged.name}
    assert TaskRef(packaged.name).resolve() is packaged


def resolve_named(function: str) -> str:
    """Restore a task whose result names a function; return what stands in its way, if anything does."""
    named = {"task": "own", "reference_task": "refact_correction"}
    _restored.cache_clear()
    try:
        TaskRef.from_json({**named, "overrides": {"doc_to_target": f"!function {function}"}}).resolve()
    except UsageError as error:
        return str(error)
    return ""


@pytest.fixture
def strangers(tmp_path: Path, monkeypatch: Patch) -> Path:
    """Be in a folder with a stranger's modules, of which none may be imported, and one's own module in `own`."""
    NAMED.discard("halu_tasks_evil.evil.text")  # a test before this one may have trusted it
    evil = f"import pathlib; pathlib.Path({str(tmp_path / 'ran')!r}).touch()\ntext = str\n"
    for folder in ("halu_tasks.benchmarks", "halu_tasks_evil", "own.old", "elsewhere", "own", "."):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / "evil.py").write_text(evil)
    (tmp_path / "own" / "evil.py").rename(tmp_path / "own" / "mine.py")
    (tmp_path / "own" / "mine.py").write_text("def text(item):\n    return item.target\n")
    (tmp_path / "own" / "imports.py").write_text("from subprocess import getoutput as text\n")
    (tmp_path / "own" / "folder").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "own" / "linked.py").symlink_to(tmp_path / "elsewhere" / "evil.py")
    (tmp_path / "link").symlink_to(tmp_path / "own")
    with zipfile.ZipFile(tmp_path / "own" / "packed.zip", "w") as archive:
        archive.writestr("evil.py", evil)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend("")
    return tmp_path


@pytest.mark.parametrize("trusted", ["", ":", "own", "{here}/own/", "{here}/own:halu_tasks_evi", "~", "~unknown/x"])
def test_a_result_imports_no_module_that_is_not_trusted(trusted: str, strangers: Path, monkeypatch: Patch) -> None:
    monkeypatch.setenv("HALU_TASKS_TRUST", trusted.format(here=strangers))
    names = """
        halu_tasks.benchmarks/evil.text ./halu_tasks.benchmarks/evil.text {here}/halu_tasks.benchmarks/evil.text
        halu_tasks.scorers/../evil.text halu_tasks.benchmarks_evil.evil.text halu_tasks_evil.evil.text evil.text evil
        .evil.text ..evil.text halu_tasks.benchmarks..evil.text HALU_TASKS.benchmarks.refact.first_words / /evil.text
        ~/evil.text {here}/evil.text {here}/own.old/evil.text {here}/own/../evil.text {here}/own/..{dots}.evil.text
        {here}/own/folder/evil.text {here}/own/folder.evil.text {here}/own/linked.text {here}/OWN/mine.text
        {here}/own/packed.zip/evil.text {here}/own/os.system os.system own/mine.text {here}/own/a\0/mine.text
        halu_tasks.scorers.registry.find_part {here}/own/imports.text
    """
    for name in ("", *names.split()):
        name = name.format(here=strangers, dots=str(strangers).strip("/").replace("/", "."))
        assert resolve_named(name).startswith("the result names the function"), name
        assert resolve_named(name), name  # nor when it is named again
    assert not (strangers / "ran").exists()


@pytest.mark.parametrize(
    "trusted",
    ["own", "./own", "{here}/own", "{here}/own/", ".", "link", "{here}/link/", "x:own:", "~/own", "own/../own"],
)
def test_a_folder_can_be_trusted_by_any_path_to_it(trusted: str, strangers: Path, monkeypatch: Patch) -> None:
    monkeypatch.setenv("HOME", str(strangers))
    monkeypatch.setenv("HALU_TASKS_TRUST", trusted.format(here=strangers))
    assert not resolve_named(f"{strangers}/own/mine.text")
    assert not resolve_named(f"{strangers}/link/mine.text")


def test_a_refused_function_names_what_would_have_to_be_trusted(strangers: Path, monkeypatch: Patch) -> None:
    assert resolve_named("halu_tasks_evil.evil.text").endswith("set HALU_TASKS_TRUST=halu_tasks_evil")
    monkeypatch.setenv("HALU_TASKS_TRUST", "halu_tasks_evil")
    assert not resolve_named("halu_tasks_evil.evil.text")
    advice = resolve_named(f"{strangers}/own/linked.text").partition("HALU_TASKS_TRUST=")[2]
    assert advice == f"halu_tasks_evil:{strangers}/elsewhere"
    monkeypatch.setenv("HALU_TASKS_TRUST", advice)
    assert not resolve_named(f"{strangers}/own/linked.text")


def test_one_tag_runs_every_task_that_needs_no_judge() -> None:
    from lm_eval.tasks import TaskManager

    manager = TaskManager(include_path=str(task_configs()), include_defaults=False)
    judged = {name for name, task in TASKS.items() if task.judge_spec}
    assert {"cfaith_gen", "fave", "halluqa", *GROUPS["truthfulqa_multi_judged"].members} <= judged
    assert set(manager.task_index["halu_tasks"].tags) == set(TASKS) - judged
    # FActScore's needs passages, too, which no other task would use
    assert set(manager.task_index["halu_tasks_judged"].tags) == judged - {"factscore"}


# --- what the commands print ----------------------------------------------------------------------


def test_a_listing_has_every_task_and_group(here: Cli) -> None:
    lines = here("list").stdout.splitlines()
    for name, task in TASKS.items():
        (line,) = [line for line in lines if line.split()[:1] == [name]]
        size = f"{task.data.size:,}" if task.data.size else "unknown"
        assert line.split()[1:3] == [size, task.headline] and line.endswith(task.about)
        assert task.data.source.title in line
    for name, group in GROUPS.items():
        assert any(line.split()[:1] == [name] and ", ".join(group.members) in line for line in lines)


def test_a_task_that_lists_no_metrics_is_listed_with_its_headline() -> None:
    file = read_task_file(task_configs() / INDEPENDENT)
    values = {key: value for key, value in file.values.items() if key != "metric_list"}
    row = listed(Task(TaskFile(file.path, values, {})))
    assert row and row["headline"] == "acc"


@pytest.mark.parametrize("task", TASKS)
def test_show_says_what_is_asked_and_what_is_computed(task: str, here: Cli) -> None:
    shown, told = json.loads(here("show", task, "--json").stdout), here("show", task).stdout
    first = json.loads(here("items", task, "--data", "sample", "--limit", "1", "--json").stdout)
    assert shown["first_item"]["prompt"] == first["prompt"] and yaml.safe_load(told) == shown
    assert shown["metrics"][0]["name"] == TASKS[task].headline
    assert {m["name"] for m in shown["metrics"]} == {m.name for s in TASKS[task].scorers.values() for m in s.metrics}
    for metric in shown["metrics"]:
        assert all(len(meaning) > 10 for meaning in metric["about"].values()), metric
    source, options = TASKS[task].data.source, TASKS[task].prompts.task_options
    assert all(text in str(shown) for text in (source.paper, source.licence, TASKS[task].about, *options))
    assert shown["answer"]


def test_commands_take_the_path_of_a_task_file(here: Cli, tmp_path: Path) -> None:
    path = derived(tmp_path, INDEPENDENT, "doc_to_text: 'Mine: {{answer}}'\nbaseline: 'True'\n")
    shown = yaml.safe_load(here("show", path).stdout)
    assert shown["reference_task"] == "refact_judgment_independent" and "baseline" in shown["changed"]
    items = [json.loads(line) for line in here("items", path, "--data", "sample", "--json").stdout.splitlines()]
    assert all(item["prompt"].startswith("Mine: ") for item in items)
    replies = write_rows(tmp_path / "replies.jsonl", ({"id": i["id"], "output": i["target"]} for i in items))
    scored = json.loads(here("score", path, replies, "--data", "sample", "--json").stdout)
    assert scored["task"] == "mine" and scored["metrics"]["acc"] == 1.0
    assert re.fullmatch(r"1-sample-prompts_[0-9a-f]{8}-own_baseline", scored["version"])
    wrong = derived(tmp_path, INDEPENDENT, "baseline: 3\n", name="wrong")
    told = here("score", wrong, replies)
    assert told.returncode == 2 and told.stderr.startswith(f"halu-tasks: {wrong}:4: baseline: expected a string")


# --- docs/task-files.md ---------------------------------------------------------------------------

PAGE = (ROOT / "docs" / "task-files.md").read_text(encoding="utf-8")


def test_the_page_has_every_key_with_whether_it_is_required() -> None:
    table = dict(re.findall(r"^\| `(\w+)` \| (.*?) \|", PAGE.partition("## Keys")[2].partition("## ")[0], re.MULTILINE))
    assert set(table) == set(task_keys())
    file = read_task_file(task_configs() / INDEPENDENT)
    for key, kind in table.items():
        # a new task has all defaults
        values = {k: v for k, v in {**file.values, "task": "mine", "reference_task": "mine"}.items() if k != key}
        if key in ("tags", "scorer"):
            # needed only by metrics that are split, or that other scorers lack
            values["metric_list"] = [{"metric": "acc"}]
        if key == "cases":
            # instead of the function
            values["gold"] = {"target": "label"}
        without = TaskFile(file.path, values, {})
        required = "required" in kind
        try:
            task_of(without)
        except UsageError as error:
            assert required, error
            assert key in str(error)
        else:
            assert not required, key


FORMATS = ("independent", "comparative", "localization", "correction")


def test_the_page_has_every_reading_scorer_argument_and_key_of_a_metric() -> None:
    for name in (*READINGS, *SCORERS, *FORMATS, *MetricKeys.model_fields):
        assert f"`{name}`" in PAGE, name
    for name in SCORERS:
        arguments = ", ".join(f"`{argument}`" for argument in inspect.signature(scorer_factory(name)).parameters)
        assert f"| `{name}` | {arguments or 'none'} |" in PAGE


ARGUMENTS: dict[str, dict[str, Any]] = {
    "verdict": {"reading": "true_false", "labels": ["True", "False"]},
    "hallucination_rate": {"reading": "true_false", "of_truth": True},
    "iou": {"categories": {"worst": "NAME"}, "degrees": True},
    "judged": {"labels": {"label": "good", "other": "bad"}},
    "judged_claims": {"labels": {"label": "good", "other": "bad"}},
}


@pytest.mark.parametrize("name", SCORERS)
def test_the_page_has_every_fact_that_a_metric_may_read(name: str) -> None:
    facts = {*make_scorer(name, ARGUMENTS.get(name, {})).facts} - {*REFERENCE_FACTS}
    facts = {fact for fact in facts if not fact.startswith(("reference_", "said_", "labelled_", "bad_of_", "as_"))}
    facts -= {f"{name}_{label}" for name in ("share", "claims") for label in ("label", "other")}
    (row,) = re.findall(rf"^\| `{name}` \|.*\|(.*)\|$", PAGE, re.MULTILINE)
    others = {"as_TYPE", "share_LABEL", "claims_LABEL", "of_truth", "degrees", "categories"}
    assert {*re.findall(r"`(\w+)`", row)} - others == facts


@pytest.mark.parametrize("name", TASKS)
def test_no_scorer_measures_what_it_does_not_declare(name: str) -> None:
    evaluation = build(name, Options(data="sample"))
    task, item = evaluation.task, evaluation.items[0]
    replies = ["", "True", "1. alpha\n2. beta", '[{"text": "is", "prob": 0.4}]']
    for mode, scorer in task.scorers.items():
        for reply in (*replies, evaluation.oracle(item), evaluation.baseline(item)):
            scored = task.score(mode, item, Reply(reply, probability=0.4), [] if task.judge_spec else None)
            assert scored.facts.keys() <= column_names(scorer.facts)


@pytest.fixture
def printed(tmp_path: Path) -> Path:
    """The task file that the page prints."""
    (text,) = re.findall(r"`my_refact.yaml`:\n\n```yaml\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    path = tmp_path / "my_refact.yaml"
    path.write_text(text.replace("TASKS", str(task_configs())))
    return path


def test_the_printed_example_and_the_printed_fault(printed: Path, here: Cli) -> None:
    assert here("check", printed).returncode == 0
    shown = here("items", printed, "--data", "sample", "--limit", "1").stdout
    assert "\nA student answered: " in shown and shown.rstrip().endswith("True or False:")
    printed.write_text(printed.read_text().replace("{{question}}", "{{questoin}}"))
    assert here("check", printed).stdout.removeprefix(f"{printed.parent}/") in PAGE


# --- in the harnesses -----------------------------------------------------------------------------

COLUMNS = """
from halu_tasks.scorers.metrics import metric

@metric
def half(anwser, target):
    return 1.0 * (anwser == target)

@metric
def by_tag(tag_tpye, correct):
    return correct

@metric
def failing(correct):
    return correct[0]

@metric
def fine(answer, target, outcome, correct, tag_type, part, row, score):
    return correct
"""
READ = {
    "half": "half (own_columns.py:4) reads 'anwser', which is not a column (did you mean 'answer'?); there are ",
    "by_tag": "by_tag (own_columns.py:8) reads 'tag_tpye', but items have no tag 'tpye' (did you mean 'type'?)",
    "failing": "failing: fails on columns of no items (IndexError: ",
}


def with_columns(folder: Path, metric: str) -> Path:
    """A task file with a metric of one's own."""
    (folder / "own_columns.py").write_text(COLUMNS)
    rows = [{"id": str(n), "text": f"text {n}", "label": "good", "type": "a"} for n in range(6)]
    write_rows(folder / "rows.jsonl", rows)
    path = folder / "mine.yaml"
    path.write_text(
        "task: mine\nclass: !function halu_tasks.lm_eval_adapter.task.HaluTask\nfile: rows.jsonl\nfields: [text]\n"
        "answer: {kind: label, labels: [good, bad]}\ngold: {target: label}\ntags: {type: [a]}\n"
        f"metric_list:\n  - metric: acc\n  - metric: !function own_columns.{metric}\n"
        "doc_to_text: |-\n  Is this good?\n  {{text}}\n  Answer:\n"
    )
    return path


@pytest.mark.parametrize("metric", READ)
def test_a_metric_of_a_column_that_there_is_not_is_an_error_when_the_task_is_loaded(
    metric: str, tmp_path: Path, here: Cli
) -> None:
    path = with_columns(tmp_path, metric)
    write_rows(tmp_path / "replies.jsonl", [{"id": str(n), "output": "good"} for n in range(6)])
    checked, scored = here("check", path), here("score", path, tmp_path / "replies.jsonl")
    assert checked.returncode == 2 and scored.returncode == 2
    assert f"{path}:8: metric_list: {READ[metric]}" in checked.stdout
    (line,) = scored.stderr.splitlines()
    assert f"{path}:8: metric_list: {READ[metric]}" in line


def test_a_metric_may_read_the_columns_that_the_page_lists(tmp_path: Path, here: Cli) -> None:
    path = with_columns(tmp_path, "fine")
    write_rows(tmp_path / "replies.jsonl", [{"id": str(n), "output": "good" if n else "bad"} for n in range(6)])
    assert here("check", path).returncode == 0
    figures = json.loads(here("score", path, tmp_path / "replies.jsonl", "--json").stdout)
    assert figures["metrics"]["fine"] == figures["metrics"]["acc"] == 5 / 6


@pytest.mark.slow
@pytest.mark.parametrize("metric", READ)
def test_a_metric_of_a_column_that_there_is_not_is_one_line_in_both_harnesses(metric: str, tmp_path: Path) -> None:
    path = with_columns(tmp_path, metric)
    of_inspect = ("inspect_ai", "eval", "halu_tasks/task", "-T", "config=mine.yaml", "--model", "halu/oracle")
    of_lm_eval = ("lm_eval", "run", "--tasks", str(path), "--model", "halu-oracle", "--output_path", "out")
    for arguments in (of_inspect, of_lm_eval):
        told = program(*arguments, folder=tmp_path)
        assert told.returncode != 0 and f"mine.yaml:8: metric_list: {READ[metric]}" in told.stderr, told.stderr[-800:]


IN_HARNESSES = {
    "metric_list: [metric: accc]\n": "metric_list: unknown metric 'accc'",
    "doc_to_text: 'Q {{questoin}}'\n": "doc_to_text: {{questoin}} is not a field",
    "filter_list: []\n": "filter_list: has no effect",
}


@pytest.mark.slow
@pytest.mark.parametrize("text", IN_HARNESSES)
def test_a_fault_is_one_line_in_inspect(text: str, tmp_path: Path) -> None:
    path = derived(tmp_path, INDEPENDENT, text)
    arguments = ("inspect_ai", "eval", "halu_tasks/task", "-T", "config=mine.yaml", "--model", "halu/oracle")
    told = program(*arguments, folder=tmp_path)
    assert told.returncode != 0 and "Traceback" not in told.stderr
    (line,) = [line for line in told.stderr.splitlines() if "halu-tasks:" in line]
    assert line.startswith(f"halu-tasks: {path.name}:4: {IN_HARNESSES[text]}")


@pytest.mark.slow
def test_a_fault_is_one_line_in_lm_eval(tmp_path: Path) -> None:
    texts = dict(zip(("one", "two", "three"), IN_HARNESSES, strict=True))
    paths = {name: derived(tmp_path, INDEPENDENT, text, name=name) for name, text in texts.items()}
    (tmp_path / "broken.yaml").write_text("task: [\n")
    (tmp_path / "lost.yaml").write_text("include: nowhere\ntask: lost\n")
    named = {"one": ("--include_path", tmp_path, "--tasks", "one"), "two": ("--tasks", "two.yaml")}
    for name, arguments in named.items():
        told = program("lm_eval", "--model", "halu-oracle", *arguments, folder=tmp_path)
        assert told.returncode != 0 and "Traceback" not in told.stderr
        assert told.stderr.splitlines()[-1].startswith(f"halu-tasks: {paths[name]}:4: {IN_HARNESSES[texts[name]]}")
        if name == "one":
            warned = [line for line in told.stderr.splitlines() if "its task is missing" in line]
            assert len(warned) == 2 and f"{tmp_path}/broken.yaml:2: not YAML" in warned[0]
            assert f"{tmp_path}/lost.yaml:1: include: no such file: {tmp_path}/nowhere" in warned[1]
