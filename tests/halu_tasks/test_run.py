"""Models as `halu-tasks run` takes them, the commands that they stand for, and their folders."""

import json
import os
import re
import signal
import subprocess
import sys
import sysconfig
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from cases import CASES
from common import Patch
from inspect_ai._cli.util import parse_cli_args

from halu_tasks.core.errors import DataError, UsageError
from halu_tasks.core.options import Options
from halu_tasks.data.locate import SAMPLE
from halu_tasks.runs.child_process import shell_line
from halu_tasks.runs.model_specs import Harness, HarnessModel, named_model, read_models
from halu_tasks.runs.run_tasks import ModelRun, Runs, checksum_of, in_folders
from halu_tasks.solvers.methods import get_method
from halu_tasks.tasks import registry, tasks_selected
from halu_tasks.tasks.task_registry import packaged_file, tasks_at

URL = "http://localhost:8000/v1"
FAVE, TF = {"fave": None}, {"cfaith_tf": None}


def command(name: str, harness: Harness | None = None, url: str | None = None, **arguments: Any) -> str:
    model = named_model(name, harness, url, arguments)
    options = {"data": "sample"}
    run = ModelRun(Path("out"), model, FAVE, options=options, limit=5, further=("--seed", "1"), to_terminal=True)
    (words,) = run.commands(run.tasks)
    return shell_line(words)


@pytest.mark.parametrize(("arguments", "expected"), CASES["the_command_is_the_documented_one"])
def test_the_command_is_the_documented_one(arguments: tuple[Any, ...], expected: str) -> None:
    assert command(*arguments) == expected


def test_a_method_is_a_solver_and_examples_are_counted_in_lm_eval() -> None:
    how = {"how": "samples", "samples": 3}
    run = ModelRun(Path("out"), named_model("halu/oracle"), FAVE | TF, {}, "factored_verification", how)
    (words,) = run.commands(run.tasks)
    assert "--solver halu_tasks/factored_verification -S how=samples -S samples=3 " in shell_line(words)
    model = named_model("halu/oracle", "lm_eval")
    (words,) = ModelRun(Path("out"), model, FAVE, options={"fewshot": 2}).commands(FAVE)
    assert "--num_fewshot 2" in shell_line(words) and "--metadata" not in words


def test_task_files_are_run_beside_packaged_tasks(tmp_path: Path) -> None:
    """Inspect takes one file in a command, lm-eval those of one folder."""
    folder = tmp_path / "mine"
    folder.mkdir()
    for name in ("one", "two"):
        (folder / f"{name}.yaml").write_text(
            f"include: {packaged_file('refact_correction').path}\ntask: {name}\ndescription: Correct it.\n"
        )
    (folder / "_base.yaml").write_text("x: 1")
    tasks = {task.name: file for task, file in tasks_at(["cfaith_tf", str(folder)]).values()}
    assert tasks == {**TF, "one": folder / "one.yaml", "two": folder / "two.yaml"}
    run = ModelRun(Path("out"), named_model("halu/oracle"), tasks)
    commands = [shell_line(words) for words in run.commands(tasks)]
    assert [line.partition(" --log-dir")[0] for line in commands] == [
        "inspect eval-set halu_tasks/cfaith_tf --model halu/oracle",
        f"inspect eval-set halu_tasks/task --model halu/oracle -T config={folder}/one.yaml",
        f"inspect eval-set halu_tasks/task --model halu/oracle -T config={folder}/two.yaml",
    ]
    run = replace(run, model=named_model("halu/oracle", "lm_eval"))
    first, second = (shell_line(words) for words in run.commands(tasks))
    assert "--tasks cfaith_tf " in first and f"--tasks one,two --include_path {folder} " in second
    with pytest.raises(UsageError, match="contains no task files"):
        tasks_at([str(tmp_path)])


@pytest.mark.parametrize("name", ["refact", "halu_tasks", "halu_tasks_judged"])
def test_a_packaged_name_is_no_folder_of_that_name(name: str, tmp_path: Path, monkeypatch: Patch) -> None:
    (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path)
    assert [*tasks_at([name])] == [task.name for task in tasks_selected([name])]


def test_a_model_of_transformers_gets_its_chat_template_if_it_has_one(tmp_path: Path) -> None:
    base, chat, newer = (tmp_path / name for name in ("base", "chat", "newer"))
    for folder in (base, chat, newer):
        folder.mkdir()
        (folder / "config.json").write_text("{}")
        (folder / "tokenizer_config.json").write_text(json.dumps({"chat_template": "{{x}}"} if folder == chat else {}))
    (newer / "chat_template.jinja").write_text("{{x}}")
    assert "--apply_chat_template" not in command(f"hf/{base}")
    for folder in (chat, newer):
        line = command(f"hf/{folder}")
        assert line.startswith("lm_eval run --model hf ") and "--apply_chat_template" in line
        assert str(folder) in line
    assert "apply_chat_template" not in named_model(f"hf/{chat}", "lm_eval", chat_template=False).options
    # the transformers provider of Inspect samples unless it is told not to
    assert "-M do_sample=false" in command(f"hf/{chat}", "inspect")


# --- the models file ------------------------------------------------------------------------------


FAULTS = yaml.safe_load(Path(__file__).with_name("models_file_faults.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("text", FAULTS)
def test_a_models_file_with_a_fault_is_an_error_of_one_line(text: str, tmp_path: Path) -> None:
    path = tmp_path / "models.yaml"
    path.write_text(text)
    with pytest.raises(UsageError) as raised:
        read_models(path)
    assert str(raised.value).startswith(f"{path}:") and FAULTS[text] in str(raised.value)
    assert len(str(raised.value).splitlines()) == 1


def test_models_of_a_file_have_arguments_and_options(tmp_path: Path) -> None:
    path = tmp_path / "models.yaml"
    path.write_text(
        "models:\n"
        "  gpt:\n    model: openai/gpt-4o\n    arguments: {responses_api: false}\n"
        "    options: {max-connections: 50, fail_on_error: true}\n"
        "  hf:\n    harness: lm_eval\n    model: hf\n    arguments: {pretrained: a/b}\n"
        "    options: {apply_chat_template: true, seed: 1}\n"
    )
    gpt, hf = read_models(path)
    options = {"data": "sample", "prompts": ["packaged", "a.yaml"]}
    path.write_text("models: {a: {model: halu/oracle, arguments: {revision: 2024-05-13}}}")
    (words,) = ModelRun(Path("out"), read_models(path)[0], TF).commands(TF)
    (argument,) = [word for word in words if word.startswith("revision=")]
    assert parse_cli_args([argument]) == {"revision": "2024-05-13"}  # as Inspect reads it
    (words,) = ModelRun(Path("out"), gpt, FAVE | TF, options=options, limit=5).commands(FAVE | TF)
    assert shell_line(words) == (
        "inspect eval-set halu_tasks/fave halu_tasks/cfaith_tf --model openai/gpt-4o -M responses_api=false "
        "-T data=sample -T prompts=packaged,a.yaml --log-dir out/logs --log-dir-allow-dirty --retry-attempts 1 "
        "--display plain --max-retries 7 --max-connections 50 --fail-on-error --limit 5"
    )
    (words,) = ModelRun(Path("out"), hf, FAVE, options={"data": "sample"}).commands(FAVE)
    assert shell_line(words) == (
        """lm_eval run --model hf --model_args '{"pretrained": "a/b"}' --tasks fave """
        """--metadata '{"halu_data": "sample"}' """
        "--output_path out/results --log_samples --use_cache out/replies --apply_chat_template --seed 1"
    )


def test_a_server_is_named_once_for_either_harness(monkeypatch: Patch, tmp_path: Path) -> None:
    """The same model as `halu-tasks run MODEL --base-url URL` takes it, with a key that the server does not need."""
    path = tmp_path / "models.yaml"
    server = f"model: openai-api/local/qwen, base_url: {URL}"
    path.write_text(
        f"models:\n  a: {{{server}, options: {{max-connections: 9}}}}\n  b: {{{server}, harness: lm_eval}}\n"
    )
    monkeypatch.delenv("LOCAL_API_KEY", raising=False)
    inspect, lm_eval = read_models(path)
    assert inspect == replace(
        named_model("openai-api/local/qwen", None, URL),
        name="a",
        options={"model_base_url": URL, "max_connections": 9},
    )
    assert lm_eval == replace(named_model("openai-api/local/qwen", "lm_eval", URL), name="b")
    assert inspect.key_variables == {"LOCAL_API_KEY": "none"} and lm_eval.key_variables == {"OPENAI_API_KEY": "none"}
    # neither without an address nor, in Inspect, if there is a key
    assert not named_model("openai-api/local/qwen").key_variables
    monkeypatch.setenv("LOCAL_API_KEY", "s")
    monkeypatch.setenv("OPENAI_API_KEY", "o")
    # lm-eval asks any server with the key of OpenAI; a judge in the same process finds the user's own
    assert not inspect.key_variables and not named_model("openai/gpt-4o", "lm_eval", URL).key_variables
    assert lm_eval.key_variables == {"OPENAI_API_KEY": "s", "HALU_TASKS_OPENAI_API_KEY": "o"}


def test_the_methods_that_are_known_are_those_of_the_documentation() -> None:
    with pytest.raises(UsageError) as raised:
        get_method("_format", {})
    known = str(raised.value).partition("known: plain, ")[2].split(", ")
    page = (Path(__file__).parents[2] / "docs" / "methods.md").read_text(encoding="utf-8")
    cells = [line.split("|")[1] for line in page.splitlines() if line.startswith("| [`")]
    assert sorted(re.findall(r"`(\w+)`", " ".join(cells))) == known


# --- folders and what is done ---------------------------------------------------------------------


def test_a_model_that_is_run_in_another_way_has_another_folder(tmp_path: Path) -> None:
    """What does not change replies can change, such as the address of the server."""
    model = HarnessModel("m", "lm_eval", "local-chat-completions", {"model": "x", "base_url": "http://h:1/v1"})
    run = ModelRun(tmp_path / "m", model, FAVE)
    moved = replace(model, arguments={"model": "x", "base_url": "http://h:2/v1", "num_concurrent": 9})
    other = replace(model, arguments={"model": "y", "base_url": "http://h:1/v1"})
    names = []
    for one in (
        run,
        replace(run, model=moved, tasks=TF),
        replace(run, model=other),
        replace(run, limit=3),
        replace(run, options={"scoring": "paper"}),
        replace(run, method="a"),
        replace(run, further=("--seed", "1")),
        replace(run, model=other),
        run,
    ):
        (placed,) = in_folders([one], print)
        placed.prepare()
        names.append(placed.name)
    assert names == ["m", "m", "m-2", "m-3", "m-4", "m-5", "m-6", "m-2", "m"]
    # two of the same command do not share a folder
    both = [replace(run, method="b", method_arguments={"n": n}) for n in (1, 2)]
    assert [placed.name for placed in in_folders(both, print)] == ["m-7", "m-8"]
    assert json.loads((tmp_path / "m" / "settings.json").read_text())["arguments"]["model"] == "x"


def test_tasks_whose_data_have_changed_are_run_in_another_folder(tmp_path: Path) -> None:
    def placed(**data: str) -> tuple[dict[str, list[str]], list[str]]:
        lines: list[str] = []
        tasks = dict.fromkeys(data)
        runs = list(in_folders([replace(run, tasks=tasks, data=data)], lines.append))
        for one in runs:
            one.prepare()
        return {one.name: list(one.tasks) for one in runs}, lines

    run = ModelRun(tmp_path / "m", HarnessModel("m", "lm_eval", "hf"), {})
    assert placed(a="1", b="1") == ({"m": ["a", "b"]}, [])
    told = f"b: its data or prompts have changed since {tmp_path}/m; the new results are in {tmp_path}/m-2"
    # also if it is said again, and beside a task that is new
    for _ in range(2):
        assert placed(a="1", b="2", c="1") == ({"m": ["a", "c"], "m-2": ["b"]}, [told])
    assert placed(a="1", b="1") == ({"m": ["a", "b"]}, [])


def test_a_checksum_is_of_the_data_and_of_files_with_prompts(tmp_path: Path) -> None:
    def checksum(name: str = "refact_correction", **options: Any) -> str:
        ((task, file),) = tasks_at([name]).values()
        return checksum_of(task, file, Options(**options))

    data, prompts, own = tmp_path / "refact_multi_error.jsonl", tmp_path / "p.yaml", tmp_path / "own.yaml"
    lines = (SAMPLE / "refact" / data.name).read_text()
    own.write_text(f"include: {packaged_file('refact_correction').path}\ntask: own\ndescription: Correct it.\n")
    kinds = [{"data": str(data)}, {"data": "sample", "prompts": (str(prompts),)}, {"name": str(own), "data": "sample"}]
    files = [data, prompts, own]
    prompts.write_text("refact_correction: {user: a}")
    data.write_text(lines)
    for file, options in zip(files, kinds, strict=True):
        before = checksum(**options)
        assert checksum(**options) == before
        file.write_text(file.read_text() + "\n")
        assert checksum(**options) != before


def test_a_folder_that_cannot_be_created_is_one_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match=r"file/m: Not a directory; choose another folder with -o"):
        ModelRun(tmp_path / "file" / "m", HarnessModel("m", "lm_eval", "hf"), FAVE).prepare()


HARNESS = """
import json, sys
from pathlib import Path
tasks, folder = (sys.argv[sys.argv.index(word) + 1] for word in ("--tasks", "--output_path"))
if "fave" in tasks.split(","):
    sys.exit("no judge")
path = Path(folder) / f"results_{tasks}.json"
path.parent.mkdir(parents=True, exist_ok=True)
path.write_text(json.dumps({"results": dict.fromkeys(tasks.split(","))}))
print("finished")
"""


def test_tasks_that_another_one_has_stopped_are_run_by_themselves(tmp_path: Path, monkeypatch: Patch) -> None:
    module = tmp_path / "scripted_harness.py"
    module.write_text(HARNESS)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr("halu_tasks.runs.child_process._MODULES", {"lm_eval": "scripted_harness"})
    tasks = FAVE | TF | {"cfaith_choice": None}
    run = ModelRun(tmp_path / "m", HarnessModel("m", "lm_eval", "hf"), tasks, environment={"A": "1"})
    runs = Runs(tmp_path, (run,))
    lines: list[str] = []
    run.prepare()
    runs.work(0, 1, lines.append)
    assert run.missing() == ["fave"] and run.why_missing() == "fave: no judge"
    commands = (tmp_path / "m" / "command.txt").read_text().splitlines()
    asked = [command.partition("--tasks ")[2].partition(" ")[0] for command in commands]
    assert asked == ["fave,cfaith_tf,cfaith_choice", "fave", "cfaith_tf", "cfaith_choice"]
    assert lines == [*commands, "m: 2 of 3 tasks done"] and all(line.startswith("A=1 lm_eval ") for line in commands)
    assert runs.kept().startswith(f"{tmp_path} keeps what is finished (m: 2 of 3 tasks), and the same command ")
    runs.work(0, 1, lines.append)
    assert len((tmp_path / "m" / "command.txt").read_text().splitlines()) == 1


def harness_of(folder: Path, source: str, ending: int = signal.SIGINT) -> subprocess.Popen[str]:
    """A process that runs a harness of this source, and writes tracebacks into output.txt."""
    (folder / "harness_module.py").write_text(source)
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "halu_tasks.runs.child_process", "0", "output.txt", "harness_module"],
        cwd=folder, env={**os.environ, "PYTHONPATH": str(folder)}, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True,
        # what runs in the background of a shell ignores Ctrl-C, and the tests may ignore another signal
        preexec_fn=lambda: signal.signal(ending, signal.SIG_DFL),
    )  # fmt: skip


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, None])
def test_a_harness_that_is_interrupted_or_left_alone_prints_no_traceback(tmp_path: Path, ending: int | None) -> None:
    source = "import time\nprint('ready', flush=True)\ntime.sleep(60)\n"
    process = harness_of(tmp_path, source, ending or signal.SIGINT)
    assert process.stdin and process.stdout and process.stderr
    process.stdout.readline()
    if ending:
        process.send_signal(ending)
    else:
        process.stdin.close()
    assert process.stderr.read() == "" and process.wait(30) == 130


def test_an_error_of_a_harness_is_one_line_and_its_traceback_is_in_the_output(tmp_path: Path) -> None:
    process = harness_of(tmp_path, "raise LookupError('no such\\nmodel')\n")
    assert process.stderr and process.stderr.read() == "LookupError: no such model\n" and process.wait(30) == 1
    assert "Traceback" in (tmp_path / "output.txt").read_text()


@pytest.mark.parametrize("harness", ["inspect", "lm_eval"])
def test_the_source_in_a_checkout_does_not_hide_the_installation(harness: str, tmp_path: Path) -> None:
    (tmp_path / "halu_tasks").mkdir()
    (tmp_path / "halu_tasks" / "__init__.py").write_text("raise ImportError('not installed')")
    command = ["run", "halu/oracle", "--tasks", "cfaith_choice", "--data", "sample", "--harness", harness, "--json"]
    ended = subprocess.run(
        [f"{sysconfig.get_path('scripts')}/halu-tasks", *command], cwd=tmp_path, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout)["models"]["halu_oracle"]["done"] == ["cfaith_choice"]


def test_tasks_are_selected_by_name_group_and_tag() -> None:
    tasks, groups = registry()
    group = next(iter(groups.values()))
    unjudged, judged = tasks_selected(["halu_tasks"]), tasks_selected(["halu_tasks_judged"])
    assert sorted(task.name for task in unjudged + judged) == sorted({*tasks} - {"factscore"}) and judged
    first = group.members[0]
    assert [task.name for task in tasks_selected([first, group.name, f" {first}"])] == list(group.members)
    with pytest.raises(UsageError, match="unknown task"):
        tasks_selected(["fav"])
