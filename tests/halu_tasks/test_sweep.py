"""The models file of a sweep, and the commands that it stands for."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from halu_tasks.core.errors import UsageError
from halu_tasks.sweeps.commands import harness_command, shown
from halu_tasks.sweeps.keys import harness_environment
from halu_tasks.sweeps.models_file import read_models
from halu_tasks.sweeps.sweep import Sweep
from halu_tasks.sweeps.sweep_model import SweepModel
from halu_tasks.tasks import registry, tasks_selected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- a", "expected a mapping of names to models under the key 'models'"),
        ("models: {}", "expected a mapping of names to models under the key 'models'"),
        ("models: {a: {model: x}}\nother: 1", "expected a mapping of names to models under the key 'models'"),
        ("models: {a/b: {model: x}}", "'a/b': expected a name of letters"),
        ("models: {a: openai/gpt-4o}", "a: expected a mapping with harness, model, base_url, arguments, options"),
        ("models: {a: {modle: x}}", "a: unknown key 'modle' (did you mean 'model'?)"),
        ("models: {a: {model: x, harness: helm}}", "a: harness: expected inspect or lm_eval, got 'helm'"),
        ("models: {a: {model: 4}}", "a: model: expected the model as inspect names it, got 4"),
        ("models: {a: {model: x, arguments: [1]}}", "a: arguments: expected a mapping, got [1]"),
        ("models: {a: {model: x, arguments: {api_key: s}}}", "a: arguments: api_key: contains a credential"),
        ("models: {a: {model: x, options: {log-dir: y}}}", "a: options: log_dir is set by the sweep"),
        ("models: {a: [", "is not YAML"),
        ("models: {a: {model: gpt-4o}}", "a: model 'gpt-4o': expected PROVIDER/MODEL as in Inspect"),
        (
            "models: {a: {model: x/y, base_url: 8000}}",
            "a: base_url: expected the address of the model's server, got 8000",
        ),
        ("models: {a: {model: x/y, base_url: 'http://u:p@h/v1'}}", "a: base_url: contains a credential"),
        (
            "models: {a: {model: x/y, arguments: {base_url: 'http://h/v1'}}}",
            "a: arguments: base_url: name the server as base_url, a key of the model like arguments",
        ),
        (
            "models: {a: {model: x/y, options: {model-base-url: 'http://h/v1'}}}",
            "a: options: model_base_url: name the server as base_url, a key of the model like options",
        ),
        (
            "models: {a: {model: local-completions, harness: lm_eval, base_url: 'http://h/v1'}}",
            "a: base_url: name the model PROVIDER/MODEL, such as openai-api/local/NAME",
        ),
        ("models: {a: {model: anthropic/x, harness: lm_eval}}", "a: model anthropic/x: lm-eval has no counterpart"),
    ],
)
def test_a_models_file_with_a_fault_is_an_error_of_one_line(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "models.yaml"
    path.write_text(text)
    with pytest.raises(UsageError) as raised:
        read_models(path)
    assert str(raised.value).startswith(f"{path}: ") and message in str(raised.value)
    assert len(str(raised.value).splitlines()) == 1


def test_the_commands_are_those_that_a_user_would_type(tmp_path: Path) -> None:
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
    folder = Path("out")
    assert shown(harness_command(gpt, ["fave", "cfaith_tf"], options, 5, folder)) == (
        "inspect eval-set halu_tasks/fave halu_tasks/cfaith_tf --model openai/gpt-4o -M responses_api=false "
        "-T data=sample -T prompts=packaged,a.yaml --log-dir out/logs --log-dir-allow-dirty --retry-attempts 1 "
        "--display plain --max-retries 7 --max-connections 50 --fail-on-error --limit 5"
    )
    assert shown(harness_command(hf, ["fave"], {"data": "sample"}, None, folder)) == (
        """lm_eval run --model hf --model_args '{"pretrained": "a/b"}' --tasks fave """
        """--metadata '{"halu_data": "sample"}' """
        "--output_path out/results --log_samples --use_cache out/replies --apply_chat_template --seed 1"
    )


def test_a_server_is_named_once_for_either_harness(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The same model as `halu-tasks run MODEL --base-url URL` takes it, with a key that the server does not need."""
    path = tmp_path / "models.yaml"
    server = "model: openai-api/local/qwen, base_url: http://localhost:8000/v1"
    path.write_text(
        f"models:\n  a: {{{server}, options: {{max-connections: 9}}}}\n  b: {{{server}, harness: lm_eval}}\n"
    )
    monkeypatch.delenv("LOCAL_API_KEY", raising=False)
    inspect, lm_eval = read_models(path)
    folder = Path("out")
    command = shown(harness_command(inspect, ["fave"], {}, None, folder), harness_environment(inspect))
    assert command.startswith("LOCAL_API_KEY=none inspect eval-set halu_tasks/fave --model openai-api/local/qwen ")
    assert command.endswith("--model-base-url http://localhost:8000/v1 --max-connections 9")
    command = shown(harness_command(lm_eval, ["fave"], {}, None, folder), harness_environment(lm_eval))
    assert command.startswith(
        """lm_eval run --model local-chat-completions --model_args '{"model": "qwen", """
        """"base_url": "http://localhost:8000/v1/chat/completions"}' --tasks fave """
    )
    assert command.endswith(" --apply_chat_template")
    monkeypatch.setenv("LOCAL_API_KEY", "key")
    assert harness_environment(inspect) == {}


def prepared(folder: Path, model: SweepModel, **task_options: Any) -> tuple[str, SweepModel]:
    """Why the model is not run in its folder, and the model that its settings name afterwards."""
    sweep = Sweep(folder, (model,), ("fave", "cfaith_tf"), task_options)
    sweep.prepare()
    recorded = json.loads((folder / "m" / "settings.json").read_text())
    recorded = {key: recorded[key] for key in ("name", "harness", "model", "arguments", "options")}
    return sweep.progress(model).message if not sweep.pending() else "", SweepModel(**recorded)


def with_reply(folder: Path) -> None:
    """Leave a reply in the cache of lm-eval."""
    with closing(sqlite3.connect(folder / "m" / "replies_rank0.db")) as connection:
        connection.execute("CREATE TABLE unnamed (key, value)")
        connection.execute("INSERT INTO unnamed VALUES ('key', 'value')")
        connection.commit()


def test_a_wrong_model_is_corrected_while_it_has_no_reply(tmp_path: Path) -> None:
    """What the wrong one has left is removed, so that the harness does not continue it."""
    wrong = SweepModel("m", "lm_eval", "local-chat-completions", {"model": "x", "base_url": "http://h:1/v1"})
    right = SweepModel("m", "lm_eval", "local-completions", {"model": "y", "base_url": "http://h:2/v1"})
    assert prepared(tmp_path, wrong) == ("", wrong)
    (tmp_path / "m" / "results").mkdir()
    assert prepared(tmp_path, right) == ("", right)
    assert not (tmp_path / "m" / "results").exists()
    assert prepared(tmp_path, right, scoring="paper") == ("", right)


def test_a_folder_with_replies_continues_only_with_settings_that_give_the_same(tmp_path: Path) -> None:
    model = SweepModel("m", "lm_eval", "local-chat-completions", {"model": "x", "base_url": "http://h:1/v1"})
    prepared(tmp_path, model)
    with_reply(tmp_path)
    moved = replace(model, arguments={"model": "x", "base_url": "http://h:2/v1", "num_concurrent": 9})
    assert prepared(tmp_path, moved) == ("", moved)
    other = replace(model, arguments={"model": "y", "base_url": "http://h:2/v1"})
    why, recorded = prepared(tmp_path, other)
    assert why == (
        f'{tmp_path}/m has replies with arguments {{"model": "x"}}, now it is {{"model": "y"}}; restore it, give the '
        f"model another name, or remove them: rm -r {tmp_path}/m"
    )
    assert recorded == moved and (tmp_path / "m" / "replies_rank0.db").exists()
    assert "has replies with task_options {}, now it is" in prepared(tmp_path, moved, scoring="paper")[0]


def test_a_model_of_which_a_folder_has_other_results_does_not_count_as_done(tmp_path: Path) -> None:
    """Its earlier results are of another model; the models beside it are run."""
    first, second = SweepModel("m", "lm_eval", "halu-oracle"), SweepModel("n", "lm_eval", "halu-oracle")
    prepared(tmp_path, first)
    (tmp_path / "m" / "results").mkdir()
    (tmp_path / "m" / "results" / "results_1.json").write_text(json.dumps({"results": {"fave": {}}}))
    assert Sweep(tmp_path, (first,), ("fave",), {}).progress(first).done == ["fave"]
    other = replace(first, model="halu-baseline")
    sweep = Sweep(tmp_path, (other, second), ("fave",), {})
    sweep.prepare()
    assert sweep.progress(other).done == [] and sweep.progress(other).missing == ["fave"]
    assert sweep.pending() == [second]


def test_the_command_says_what_to_do_with_other_results(here: Any, tmp_path: Path) -> None:
    path, folder = tmp_path / "models.yaml", tmp_path / "out"
    path.write_text("models: {m: {model: halu-baseline, harness: lm_eval}}")
    Sweep(folder, (SweepModel("m", "lm_eval", "halu-oracle"),), ("fave",), {"data": "sample"}).prepare()
    (folder / "m" / "results").mkdir()
    (folder / "m" / "results" / "results_1.json").write_text(json.dumps({"results": {"fave": {}}}))
    done = here("sweep", path, "--tasks", "fave", "--data", "sample", "-o", folder, "--json")
    assert done.returncode == 3
    why = f'm: 1 of 1 tasks are missing; it was not run: {folder}/m has replies with model "halu-oracle", now it is'
    assert why in done.stderr and f"rm -r {folder}/m" in done.stderr


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


def test_tasks_that_another_one_has_stopped_are_run_by_themselves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("halu_tasks.sweeps.sweep.module_arguments", lambda command: ["-c", HARNESS, *command])
    model = SweepModel("m", "lm_eval", "hf")
    sweep = Sweep(tmp_path, (model,), ("fave", "cfaith_tf", "cfaith_choice"), {}, environment={"A": "1"})
    sweep.prepare()
    lines: list[str] = []
    sweep.work(0, 1, lines.append)
    progress = sweep.progress(model)
    assert progress.missing == ["fave"] and progress.message == "fave: no judge"
    commands = (tmp_path / "m" / "command.txt").read_text().splitlines()
    tasks = [command.partition("--tasks ")[2].partition(" ")[0] for command in commands]
    assert tasks == ["fave,cfaith_tf,cfaith_choice", "fave", "cfaith_tf", "cfaith_choice"]
    assert lines == [*commands, "m: 2 of 3 tasks done"] and all(line.startswith("A=1 lm_eval ") for line in commands)
    sweep.work(0, 1, lines.append)
    assert len((tmp_path / "m" / "command.txt").read_text().splitlines()) == 1


def test_tasks_are_selected_by_name_group_and_tag() -> None:
    tasks, groups = registry()
    group = next(iter(groups.values()))
    unjudged, judged = tasks_selected(["halu_tasks"]), tasks_selected(["halu_tasks_judged"])
    assert sorted(task.name for task in unjudged + judged) == sorted(tasks) and judged
    first = group.members[0]
    assert [task.name for task in tasks_selected([first, group.name, f" {first}"])] == list(group.members)
    with pytest.raises(UsageError, match="unknown task"):
        tasks_selected(["fav"])
