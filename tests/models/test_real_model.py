"""A real transformers model of random weights, built on the spot: through lm-eval's `hf`, Inspect's `hf/`,
and served to both by `transformers serve` on loopback. Needs the extra `models`."""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from programs import run as program

from halu_tasks.cli import main
from halu_tasks.data.locate import SAMPLE
from halu_tasks.results.read import read_results

pytestmark = pytest.mark.models
pytest.importorskip("torch", reason="needs the extra `models`")
pytest.importorskip("transformers", reason="needs the extra `models`")

TEMPLATE = (
    "{% for message in messages %}<|{{ message['role'] }}|>{{ message['content'] }}<|endoftext|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a two-layer Llama and a byte-level tokenizer trained on the sample."""
    import torch
    from tokenizers import ByteLevelBPETokenizer
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    folder = tmp_path_factory.mktemp("tiny-llama")
    own = ByteLevelBPETokenizer()
    special = ["<pad>", "<s>", "</s>", "<|system|>", "<|user|>", "<|assistant|>", "<|endoftext|>"]
    own.train([str(path) for path in SAMPLE.rglob("*.jsonl")], vocab_size=1_000, special_tokens=special)
    own.save(str(folder / "tokenizer.json"))
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_file=str(folder / "tokenizer.json"), bos_token="<s>", eos_token="<|endoftext|>", pad_token="<pad>",
        model_max_length=4_096, chat_template=TEMPLATE,
    )  # fmt: skip
    tokenizer.save_pretrained(folder)
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=2,
        max_position_embeddings=4_096, bos_token_id=1, eos_token_id=6, pad_token_id=0,
    )  # fmt: skip
    LlamaForCausalLM(config).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def served(model: Path) -> Iterator[str]:
    """The base URL of `transformers serve` for that model."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = ["serve", str(model), "--host", "127.0.0.1", "--port", str(port), "--device", "cpu"]
    script = "from transformers.cli.transformers import main; import sys; sys.argv[0] = 'transformers'; main()"
    with subprocess.Popen([sys.executable, "-c", script, *command], stdout=subprocess.DEVNULL) as process:
        try:
            deadline = time.monotonic() + 120
            while True:
                try:
                    urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=2)
                    break
                except OSError:
                    assert process.poll() is None and time.monotonic() < deadline, "the server does not start"
                    time.sleep(0.5)
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            process.terminate()


def run(*words: str, **environment: str) -> str:
    done = program(*words, OPENAI_API_KEY="none", **environment)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


def lm_eval_samples(output: Path, task: str) -> list[dict[str, object]]:
    (path,) = output.rglob(f"samples_{task}_*.jsonl")
    return [json.loads(line) for line in path.read_text().splitlines()]


def figures(sample: Any) -> dict[str, float]:
    return dict(sample.scores["halu_score"].metadata["halu_tasks"]["facts"])


LM_EVAL = ("--metadata", '{"halu_data": "sample"}', "--limit", "2", "--gen_kwargs", "max_gen_toks=16", "--log_samples")
INSPECT = ("-T", "data=sample", "--limit", "2", "--max-tokens", "16")


def test_lm_eval_runs_the_literal_tasks_on_a_transformers_model(model: Path, tmp_path: Path) -> None:
    printed = run(
        "lm_eval", "--model", "hf", "--model_args", f"pretrained={model}", "--device", "cpu",
        "--tasks", "refact_judgment,cfaith_gen", "--apply_chat_template", "--output_path", str(tmp_path), *LM_EVAL,
    )  # fmt: skip
    assert "refact_judgment_comparative" in printed and "1.0-sample" in printed
    for task in ("refact_judgment_independent", "cfaith_gen"):
        samples = lm_eval_samples(tmp_path, task)
        assert len(samples) == 2
        # a model of random weights says nothing that can be read, and every reply is counted all the same
        assert all(sample["resps"][0][0] for sample in samples)  # type: ignore[index]


def test_what_both_harnesses_log_of_a_transformers_model_becomes_a_report_and_a_comparison(
    model: Path, tmp_path: Path
) -> None:
    task = "refact_judgment_independent"
    run(
        "lm_eval", "--model", "hf", "--model_args", f"pretrained={model}", "--device", "cpu", "--tasks", task,
        "--apply_chat_template", "--output_path", str(tmp_path / "results"), *LM_EVAL,
    )  # fmt: skip
    run(
        "inspect_ai", "eval", f"halu_tasks/{task}", "--model", "hf/tiny", "-M", f"model_path={model}", "-M",
        "device=cpu", "-M", "do_sample=false", "--log-dir", str(tmp_path / "logs"), *INSPECT,
    )  # fmt: skip
    results = [str(tmp_path / "results"), str(tmp_path / "logs")]
    runs, skipped = read_results(results)
    assert not skipped and [len(own.answers) for own in runs] == [2, 2]
    assert main(["report", *results, "-o", str(tmp_path / "report")]) == 0
    assert main(["report", "--pairs", *results]) == 0


def test_weights_without_a_system_role_are_asked_alike_in_both_harnesses(model: Path, tmp_path: Path) -> None:
    from transformers import AutoTokenizer

    folder, task = tmp_path / "no-system", "refact_judgment_independent"
    shutil.copytree(model, folder)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    refusal = "{% if messages[0]['role'] == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}"
    tokenizer.chat_template = refusal + TEMPLATE
    tokenizer.save_pretrained(folder)
    printed = run(
        "lm_eval", "--model", "hf", "--model_args", f"pretrained={folder}", "--device", "cpu", "--tasks", task,
        "--apply_chat_template", "--output_path", str(tmp_path / "results"), *LM_EVAL,
    )  # fmt: skip
    assert "1.0-sample-system_in_user" in printed
    (sample, _) = lm_eval_samples(tmp_path / "results", task)
    doc: Any = sample["doc"]
    sent = sample["arguments"]["gen_args_0"]["arg_0"]  # type: ignore[index]
    assert sent == f"<|user|>{doc['system']}\n\n{doc['prompt']}<|endoftext|><|assistant|>"
    run(
        "inspect_ai", "eval-set", f"halu_tasks/{task}", "--model", "hf/tiny", "-M", f"model_path={folder}", "-M",
        "device=cpu", "-M", "do_sample=false", "--log-dir", str(tmp_path / "logs"), *INSPECT,
    )  # fmt: skip
    runs, skipped = read_results([str(tmp_path / "results"), str(tmp_path / "logs")])
    assert not skipped and [own.version for own in runs] == ["1-sample-system_in_user"] * 2
    assert runs[1].answers[0].item.prompt == f"{doc['system']}\n\n{doc['prompt']}"


def test_lm_eval_weighs_the_choices_of_a_transformers_model(model: Path, tmp_path: Path) -> None:
    task = "halluverse25_binary_tr"
    printed = run(
        "lm_eval", "--model", "hf", "--model_args", f"pretrained={model}", "--device", "cpu", "--tasks", task,
        "--apply_chat_template", "--output_path", str(tmp_path), "--log_samples", "--limit", "6",
        "--metadata", '{"halu_data": "sample", "halu_probability": true}',
    )  # fmt: skip
    assert "1.0-sample-probability" in printed and "roc_auc" in printed
    samples = lm_eval_samples(tmp_path, task)
    assert len(samples) == 6
    for sample in samples:
        (yes, _), (no, _) = (response[0] for response in sample["resps"])  # type: ignore[attr-defined]
        right = ("Yes" if float(yes) > float(no) else "No") == sample["doc"]["target"]  # type: ignore[index]
        assert sample["acc"] == float(right)


def test_both_harnesses_read_the_same_replies_from_one_server(model: Path, served: str, tmp_path: Path) -> None:
    """Greedy replies to the same messages are the same replies, and so are the scores."""
    from inspect_ai.log import read_eval_log

    task = "refact_correction"
    server = f"base_url={served}/chat/completions,num_concurrent=1,eos_string=<|endoftext|>"
    run(
        "lm_eval", "--model", "local-chat-completions", "--model_args", f"model={model},{server}", "--tasks", task,
        "--apply_chat_template", "--output_path", str(tmp_path), *LM_EVAL,
    )  # fmt: skip
    run(
        "inspect_ai", "eval", f"halu_tasks/{task}", "--model", f"openai-api/local/{model}", "--max-connections", "1",
        "--log-dir", str(tmp_path), *INSPECT, LOCAL_API_KEY="none", LOCAL_BASE_URL=served,
    )  # fmt: skip
    in_lm_eval = {
        sample["doc"]["id"]: (sample["resps"][0][0], sample["em"])  # type: ignore[index]
        for sample in lm_eval_samples(tmp_path, task)
    }
    (path,) = tmp_path.glob("*.eval")
    log = read_eval_log(str(path))
    assert log.status == "success"
    in_inspect = {sample.id: (sample.output.completion, figures(sample)["em"]) for sample in log.samples or []}
    assert in_lm_eval == in_inspect and len(in_inspect) == 2


def test_a_detector_trained_on_the_exported_chats_is_evaluated_by_lm_eval(model: Path, tmp_path: Path) -> None:
    """The script of the docs, on a few chats, until the model repeats the form of the answers."""
    pytest.importorskip("peft", reason="needs the extra `models`")
    chats, detector = tmp_path / "chats.jsonl", tmp_path / "detector"
    assert main(["export", "chats", "factchd", "--data", "sample", "-o", str(chats)]) == 0
    script = Path(__file__).resolve().parents[2] / "docs" / "train_detector.py"
    # the projections of a model of random weights say little, so that its head is trained too
    printed = subprocess.run(
        [
            sys.executable, str(script), str(model), str(chats), "-o", str(detector), "--epochs", "5", "--batch-size",
            "2", "--micro-batch-size", "2", "--learning-rate", "0.02", "--validation", "2", "--max-length", "4096",
            "--modules", "q_proj", "v_proj", "lm_head",
        ],
        capture_output=True, text=True, timeout=600, env=os.environ | {"CUDA_VISIBLE_DEVICES": ""},
    )  # fmt: skip
    assert printed.returncode == 0, printed.stderr[-3000:]
    assert "0 of 8 chats are longer than 4096 tokens" in printed.stdout
    losses = [float(loss) for loss in re.findall(r"'eval_loss': '?([\d.]+)", printed.stdout)]
    kept = re.search(r"loss on 2 held-out chats: ([\d.]+)", printed.stdout)
    assert kept and float(kept[1]) == pytest.approx(min(losses), rel=1e-3)
    # better than a guess among all tokens, which is what random weights amount to
    assert float(kept[1]) < math.log(json.loads((model / "config.json").read_text())["vocab_size"])
    replies = {}
    for name, adapter in (("base", ""), ("detector", f",peft={detector}")):
        run(
            "lm_eval", "--model", "hf", "--model_args", f"pretrained={model}{adapter}", "--device", "cpu", "--tasks",
            "factchd", "--apply_chat_template", "--output_path", str(tmp_path / name),
            "--metadata", '{"halu_data": "sample"}', "--limit", "2",
            "--gen_kwargs", "max_gen_toks=16,do_sample=False,temperature=0", "--log_samples",
        )  # fmt: skip
        replies[name] = [sample["resps"] for sample in lm_eval_samples(tmp_path / name, "factchd")]
    assert replies["base"] != replies["detector"]


def test_one_command_runs_weights_with_their_chat_template_and_ends_in_a_report(model: Path, tmp_path: Path) -> None:
    arguments = ["--tasks", "refact_correction", "--data", "sample", "--limit", "4", "-o", tmp_path / "runs"]
    printed = run("halu_tasks", "run", f"hf/{model}", *map(str, arguments))
    (shown,) = [line for line in printed.splitlines() if line.startswith("$ lm_eval run --model hf ")]
    assert "--apply_chat_template" in shown and "--log_samples" in shown
    report = json.loads((tmp_path / "runs" / "report" / "report.json").read_text())
    assert len(report["results"]) == 1 and report["entries"][0]["model"].endswith(model.name) and not report["skipped"]
