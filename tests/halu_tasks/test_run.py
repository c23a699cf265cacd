"""Models as `halu-tasks run` and `doctor` take them, in the words of either harness."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from halu_tasks.core.errors import DataError, ModelError, RunInterrupted, UsageError
from halu_tasks.sweeps.commands import shown
from halu_tasks.sweeps.harness_process import block_interrupts
from halu_tasks.sweeps.keys import placeholder_key
from halu_tasks.sweeps.named_model import ModelName, for_harness
from halu_tasks.sweeps.single_run import SingleRun, new_folder
from halu_tasks.sweeps.sweep_model import Harness, SweepModel

URL = "http://localhost:8000/v1"


def command(name: str, harness: Harness | None = None, url: str | None = None, **arguments: Any) -> str:
    parsed = ModelName.parse(name, url, arguments)
    model = for_harness(parsed, harness or parsed.default_harness)
    return shown(SingleRun(Path("out"), model, ("fave",), {"data": "sample"}, 5, ("--seed", "1")).command)


def in_lm_eval(model: str) -> str:
    return (
        f'lm_eval run --model {model} --tasks fave --metadata \'{{"halu_data": "sample"}}\' '
        "--output_path out/results --log_samples"
    )


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (
            ("openai/gpt-4o-mini",),
            "inspect eval halu_tasks/fave --model openai/gpt-4o-mini -T data=sample --log-dir out/logs "
            "--max-retries 7 --limit 5 --seed 1",
        ),
        (
            ("openai-api/local/NAME", None, URL),
            "inspect eval halu_tasks/fave --model openai-api/local/NAME -T data=sample --log-dir out/logs "
            f"--max-retries 7 --model-base-url {URL} --limit 5 --seed 1",
        ),
        (("halu/oracle", "lm_eval"), in_lm_eval("halu-oracle") + " --limit 5 --seed 1"),
        (
            ("openai-api/local/my/NAME", "lm_eval", URL + "/"),
            in_lm_eval(
                f'local-chat-completions --model_args \'{{"model": "my/NAME", "base_url": "{URL}/chat/completions"}}\''
            )
            + " --apply_chat_template --limit 5 --seed 1",
        ),
        (
            ("openai/gpt-4o", "lm_eval"),
            in_lm_eval('openai-chat-completions --model_args \'{"model": "gpt-4o"}\'')
            + " --apply_chat_template --limit 5 --seed 1",
        ),
    ],
)
def test_the_command_is_the_documented_one(arguments: tuple[Any, ...], expected: str) -> None:
    assert command(*arguments) == expected


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
    assert "--apply_chat_template" not in shown(
        SingleRun(tmp_path, for_harness(ModelName.parse(f"hf/{chat}"), "lm_eval", False), (), {}).command
    )
    # the transformers provider of Inspect samples unless it is told not to
    assert "-M do_sample=false" in command(f"hf/{chat}", "inspect")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("gpt-4o",), "expected PROVIDER/MODEL as in Inspect, such as openai/gpt-4o-mini"),
        (("anthropic/claude", "lm_eval"), "model anthropic/claude: lm-eval has no counterpart; use the harness"),
        (("openai/x", None, "http://a:b@host/v1"), "--base-url: contains a credential"),
    ],
)
def test_a_model_that_cannot_be_named_is_one_error(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(UsageError) as raised:
        command(*arguments)
    assert message in str(raised.value) and "\n" not in str(raised.value)


def test_a_model_that_is_not_on_the_hub_is_one_error(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="model no/such: its files cannot be read from the Hub"):
        command("hf/no/such")
    with pytest.raises(ModelError, match=r"the folder has no config\.json"):
        command(f"hf/{tmp_path}")


def test_each_run_has_a_folder_of_its_own(tmp_path: Path) -> None:
    names = [new_folder(tmp_path / "out", "openai_x").name for _ in range(3)]
    assert names == ["openai_x", "openai_x-2", "openai_x-3"]
    (tmp_path / "mine" / "report").mkdir(parents=True)
    with pytest.raises(UsageError, match="exists and is not a report"):
        new_folder(tmp_path / "mine", "x")


def test_a_folder_that_cannot_be_created_is_one_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match=r"file/out: Not a directory; choose another folder with -o"):
        new_folder(tmp_path / "file" / "out", "x")


def single(folder: Path, model: SweepModel, *tasks: str, **environment: str) -> SingleRun:
    folder.mkdir(parents=True)
    return SingleRun(folder, model, tasks, {}, environment=environment)


def test_a_server_without_a_key_is_sent_one_that_the_command_shows(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("LOCAL_API_KEY", raising=False)
    name = ModelName.parse("openai-api/local/NAME", URL)
    model = for_harness(name, "inspect")
    assert placeholder_key(name, model) == {"LOCAL_API_KEY": "none"}
    line = single(tmp_path / "a", model, "fave", **placeholder_key(name, model)).line
    assert line.startswith("LOCAL_API_KEY=none inspect eval halu_tasks/fave ")
    # neither without an address, nor if there is a key, nor for lm-eval, which needs none
    assert not placeholder_key(ModelName.parse("openai-api/local/NAME"), model)
    assert not placeholder_key(name, for_harness(name, "lm_eval"))
    monkeypatch.setenv("LOCAL_API_KEY", "s")
    assert not placeholder_key(name, model)


@pytest.mark.parametrize("ready", [True, False])
def test_ctrl_c_prints_no_traceback(ready: bool, tmp_path: Path) -> None:
    """Also if it arrives before Python has read the first line of the harness."""
    (tmp_path / "harness_module.py").write_text("import time\nprint('ready', flush=True)\ntime.sleep(60)\n")
    block_interrupts(True)
    process = subprocess.Popen(
        [sys.executable, "-m", "halu_tasks.sweeps.harness_process", "harness_module"],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        # what runs in the background of a shell ignores Ctrl-C
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip
    block_interrupts(False)
    assert process.stdout
    if ready:
        process.stdout.readline()
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 130 and errors == ""


def test_an_interrupted_run_says_what_it_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class Interrupted:
        def __init__(self, *_: Any, **__: Any) -> None:
            pass

        def wait(self, timeout: float | None = None) -> int:
            if timeout is None:
                raise KeyboardInterrupt
            return 130

    monkeypatch.setattr("halu_tasks.sweeps.single_run.subprocess.Popen", Interrupted)
    in_lm_eval = single(tmp_path / "lm_eval", SweepModel("m", "lm_eval", "hf"), "fave")
    with pytest.raises(RunInterrupted, match="nothing was kept: run the same command again"):
        in_lm_eval.run()
    # nothing is left of it
    assert not in_lm_eval.folder.exists()
    nothing = single(tmp_path / "nothing", SweepModel("m", "inspect", "m"), "fave")
    with pytest.raises(RunInterrupted, match="interrupted; no reply was kept: run the same command again"):
        nothing.run()
    some = single(tmp_path / "a b", SweepModel("m", "inspect", "m"), "fave", "cfaith_choice", "refact", KEY="none")
    for task, status in (("cfaith_choice", "success"), ("fave", "cancelled")):
        write_log(some.folder / "logs" / f"{task}.eval", task, status)
    with pytest.raises(RunInterrupted) as raised:
        some.run()
    logs = some.folder / "logs"
    assert str(raised.value) == (
        "interrupted; complete: cfaith_choice; not complete: fave (replies kept: 1), to be continued with: "
        f"KEY=none inspect eval-retry '{logs}/fave.eval' --log-dir '{logs}'; "
        "not begun: run the same command with --tasks refact; "
        f"afterwards, write the report with: halu-tasks report {tmp_path} -o {tmp_path}/report"
    )


def write_log(path: Path, task: str, status: Any) -> None:
    from inspect_ai.log import EvalConfig, EvalDataset, EvalLog, EvalSample, EvalSpec, write_eval_log

    spec = EvalSpec(
        created="2026-01-01T00:00:00+00:00", task=f"halu_tasks/{task}", model="m", dataset=EvalDataset(),
        config=EvalConfig(),
    )  # fmt: skip
    path.parent.mkdir(parents=True, exist_ok=True)
    sample = EvalSample(id="1", epoch=1, input="a", target="b")
    write_eval_log(EvalLog(eval=spec, status=status, samples=[sample]), str(path))
