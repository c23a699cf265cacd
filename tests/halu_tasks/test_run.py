"""Models as `halu-tasks run` and `doctor` take them, in the words of either harness."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from halu_tasks.core.errors import ModelError, UsageError
from halu_tasks.sweeps.commands import shown
from halu_tasks.sweeps.models_file import Harness
from halu_tasks.sweeps.named_model import ModelName, for_harness
from halu_tasks.sweeps.single_run import SingleRun, new_folder

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
        (("anthropic/claude", "lm_eval"), "model anthropic/claude: lm-eval has no counterpart; use --harness inspect"),
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
