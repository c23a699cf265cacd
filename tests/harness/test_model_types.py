"""Every type of model that docs/running.md names: what it logs is read by `report` and `compare`.

| model | server | test |
|---|---|---|
| lm-eval `local-chat-completions` | plain, vLLM's | here |
| lm-eval `openai-chat-completions` | plain | here |
| lm-eval `local-completions` | plain, vLLM's | here |
| lm-eval's vision and audio models | none: by the flag that sets them apart for lm-eval | here |
| lm-eval `hf` | none: a model of random weights | tests/models/test_real_model.py |
| Inspect `openai-api/…` | plain, vLLM's | here |
| Inspect `hf/…` | none: a model of random weights | tests/models/test_real_model.py |
| Inspect `vllm/…` | vLLM's: Inspect starts it and asks as `openai-api/…` does | as that |
"""

import copy
import json
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from common import Patch, Run
from inspect_ai.model import get_model
from loopback import completion
from shared_runs import asked_lm_eval

from halu_tasks.core.items import Reply
from halu_tasks.core.options import Options
from halu_tasks.lm_eval_adapter.lm_eval_models import OracleLM
from halu_tasks.results.read import read_results
from halu_tasks.tasks import build

TASK = "cfaith_choice"
BUILT = build(TASK, Options(data="sample"))
TARGETS = {item.prompt: item.target for item in BUILT.items}


def plain(text: str | None) -> dict[str, Any]:
    return completion({"content": text}, text=text)


def vllm(text: str | None) -> dict[str, Any]:
    """A body with what vLLM's server adds, and the reasoning that its parser cut from the reply."""
    body = plain(text)
    (choice,) = body["choices"]
    choice["message"] |= {
        "refusal": None, "annotations": None, "audio": None, "function_call": None, "tool_calls": [],
        "reasoning": "Is it B?", "reasoning_content": "Is it B?",
    }  # fmt: skip
    choice |= {"logprobs": None, "stop_reason": None, "token_ids": None, "prompt_logprobs": None}
    body["usage"] |= {"prompt_tokens_details": None}
    return body | {
        "service_tier": None, "system_fingerprint": None, "prompt_logprobs": None, "prompt_token_ids": None,
        "kv_transfer_params": None,
    }  # fmt: skip


def answering(body: Callable[[str | None], dict[str, Any]]) -> Callable[[dict[str, Any]], Any]:
    """A server's answers: right, wrong, quoting, and unreadable ones in turn, by the item."""

    def answer(request: dict[str, Any]) -> dict[str, Any]:
        prompt = request["messages"][-1]["content"] if "messages" in request else request["prompt"]
        prompt = prompt[0] if isinstance(prompt, list) else prompt
        number = list(TARGETS).index(prompt)
        target = TARGETS[prompt]
        # quotation marks of both kinds make a repr differ from JSON
        return body([target, "A", f'It\'s "{target}"', 'He said "it\'s unclear"'][number % 4])

    return answer


LM_EVAL = {
    "local-chat-completions": ("/chat/completions", {"apply_chat_template": True}, ""),
    "openai-chat-completions": ("/chat/completions", {"apply_chat_template": True}, ""),
    "local-completions": ("/completions", {}, ",tokenizer_backend=None,tokenized_requests=False"),
}


@pytest.fixture(autouse=True)
def _local(monkeypatch: Patch) -> None:
    monkeypatch.setenv("LOCAL_API_KEY", "none")


def expected(body: Callable[[str | None], dict[str, Any]]) -> dict[str, tuple[str, str]]:
    """Of each item, its reply and what became of it."""
    answer = answering(body)
    found = {}
    for item in BUILT.items:
        reply = answer({"prompt": item.prompt})["choices"][0]["text"]
        found[item.id] = reply, BUILT.task.score("strict", item, Reply(reply)).outcome
    return found


@pytest.mark.parametrize(
    ("model", "body"),
    [
        *[(model, plain) for model in LM_EVAL],
        ("local-chat-completions", vllm),
        ("local-completions", vllm),
    ],
)
@pytest.mark.slow
def test_what_lm_evals_api_models_log_is_read(model: str, body: Any, serve: Run, tmp_path: Path) -> None:
    path, arguments, more = LM_EVAL[model]
    args = f"model=m,base_url={serve(answering(body)).url}{path},num_concurrent=4{more}"
    file = asked_lm_eval(tmp_path, [TASK], model, model_args=args, **arguments)
    (run,), skipped = read_results([str(file)])
    assert not skipped
    assert {own.item.id: (own.reply, own.score.outcome) for own in run.answers} == expected(body)


@pytest.mark.parametrize("body", [plain, vllm])
@pytest.mark.slow
def test_what_inspects_openai_api_models_log_is_read(body: Any, serve: Run, run_inspect: Run) -> None:
    # memoized, a second model of this name would ask the server of the first
    model = get_model("openai-api/local/m", base_url=serve(answering(body)).url, memoize=False)
    (run,), skipped = read_results([run_inspect(TASK, model).location])
    assert not skipped
    assert {own.item.id: (own.reply, own.score.outcome) for own in run.answers} == expected(body)


class Multimodal(OracleLM):
    """What sets lm-eval's vision and audio models apart from others where it logs samples."""

    MULTIMODAL = True


def test_what_lm_evals_vision_and_audio_models_log_is_read(tmp_path: Path) -> None:
    pytest.importorskip("PIL", reason="without Pillow lm-eval copies no samples")
    (run,), skipped = read_results([str(asked_lm_eval(tmp_path, [TASK], Multimodal()))])
    assert not skipped
    assert {own.item.id: own.score.answer for own in run.answers} == {item.id: item.target for item in BUILT.items}


@pytest.fixture(scope="module")
def two_samples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results of lm-eval with two logged samples."""
    folder = tmp_path_factory.mktemp("two_samples")
    asked_lm_eval(folder, [TASK], "halu-baseline", limit=2)
    return folder


@pytest.mark.parametrize(
    "record",
    [
        "{'id': __import__('os').getcwd()}", "{'id': 'x'", "{'id': " + "(" * 10_000, "{'id': " + "-" * 100_000 + "1}",
        "{'id': " + "[" * 100_000, "{'id', 'x'}", "[]", "7", "",
    ],
)  # fmt: skip
def test_a_record_that_is_neither_is_named_and_nothing_of_it_runs(
    record: str, two_samples: Path, tmp_path: Path
) -> None:
    shutil.copytree(two_samples, tmp_path, dirs_exist_ok=True)
    (file,) = tmp_path.rglob("results_*.json")
    (samples,) = tmp_path.rglob("samples_*.jsonl")
    first, second = map(json.loads, samples.read_text().splitlines())
    second["filtered_resps"] = [record]
    samples.write_text(f"{json.dumps(first)}\n{json.dumps(second)}\n")
    runs, (skipped,) = read_results([str(file)])
    assert not runs and f"{samples.name}:2 is not a sample that this package scored" in skipped.why


def test_what_lm_eval_gathers_from_several_processes_keeps_its_scores() -> None:
    from halu_tasks.lm_eval_adapter.values import item_values

    item = BUILT.items[0]
    score = BUILT.task.score("strict", item, Reply("A"))
    (values,) = item_values(BUILT.metrics, [score])
    first = next(iter(values.values()))  # which is aggregated first
    for copied in (copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))):
        assert copied(first).score == score
