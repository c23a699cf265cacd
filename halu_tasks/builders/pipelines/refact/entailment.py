"""Deciding whether two sentences mean the same with a model for natural-language inference (NLI).

They do if each entails the other (ReFACT, section 3.2.2). Requires the extra `nli`.
"""

from __future__ import annotations

from functools import cache, partial
from pathlib import Path
from threading import Lock
from typing import Any

from anyio import CapacityLimiter, to_thread
from anyio.lowlevel import RunVar

from halu_tasks.builders.replies import NO, UNCERTAIN, YES, Verdict
from halu_tasks.core.errors import UsageError
from halu_tasks.core.extras import install_hint, missing_modules

AUTO, JUDGE = "auto", "judge"
PAPER_MODEL = "MoritzLaurer/mDeBERTa-v3-base-xnli-multilingual-nli-2mil7"
"""The classifier used by the paper, trained on fifteen languages of XNLI and twelve more."""
_ENTAILMENT = "entailment"
_MOST_TOKENS = 512
_LOCK = Lock()
_LIMITER: RunVar[CapacityLimiter] = RunVar("halu_tasks_nli")


def chosen_model(option: str) -> str | None:
    """Return the model selected by an option.

    Args:
        option: `auto` for the paper's model if the extra is installed, `judge` for none, or a folder or a name on the
            hub, which may end in `@revision`.

    Raises:
        UsageError: A model is named, but the extra is not installed.
    """
    missing = missing_modules("nli")
    if option == JUDGE:
        return None
    if option == AUTO:
        return None if missing else PAPER_MODEL
    if missing:
        raise UsageError(
            f"option nli_model: {option} requires {' and '.join(missing)}: {install_hint('nli')}, "
            f"or let the verifier decide with nli_model={JUDGE}"
        )
    return option


def load(model: str) -> None:
    """Load a model, once per process.

    Raises:
        UsageError: The model cannot be loaded, or is not an NLI model.
    """
    with _LOCK:
        loaded = _load_once(model)
        if isinstance(loaded, UsageError):
            raise loaded


async def same_meaning(model: str, one: str, other: str) -> Verdict:
    """Return `yes` if each text entails the other, `no` if not, and `uncertain` if they are too long for the model.

    The model is loaded at the first call, and runs in a thread on one pair at a time.

    Args:
        model: A folder or a name on the hub, which may end in `@revision`.
        one: The one text.
        other: The other text.

    Raises:
        UsageError: The model cannot be loaded, or is not an NLI model.
    """
    limiter = _LIMITER.get(None)
    if limiter is None:
        limiter = CapacityLimiter(1)
        _LIMITER.set(limiter)
    return await to_thread.run_sync(partial(_decide, model, one, other), limiter=limiter)


def _decide(model: str, one: str, other: str) -> Verdict:
    """Load the model if necessary, and classify both directions."""
    with _LOCK:
        import torch

        loaded = _load_once(model)
        if isinstance(loaded, UsageError):
            raise loaded
        tokenizer, classifier, entailment, longest = loaded
        tokens = tokenizer([one, other], [other, one], padding=True, return_tensors="pt")
        if tokens["input_ids"].shape[1] > longest:
            return Verdict(UNCERTAIN, f"longer than the {longest} tokens that {model} reads")
        with torch.inference_mode():
            labels = classifier(**tokens.to(classifier.device)).logits.argmax(dim=-1).tolist()
    return Verdict(YES if labels == [entailment, entailment] else NO, model)


@cache
def _load_once(model: str) -> tuple[Any, Any, int, int] | UsageError:
    """Load a model, or return the error, so that loading is tried only once.

    Returns:
        The tokenizer, the classifier, the index of its entailment label, and the maximum number of tokens of a pair.
    """
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    name, _, revision = (model, "", "") if Path(model).exists() else model.partition("@")
    where = {"revision": revision} if revision else {}
    try:
        tokenizer = AutoTokenizer.from_pretrained(name, **where)
        classifier = AutoModelForSequenceClassification.from_pretrained(name, **where)
    except (OSError, ValueError, ImportError, KeyError) as error:
        reason = " ".join(str(error).split())[:300]
        return UsageError(
            f"option nli_model: {model} cannot be loaded; name a folder with -T nli_model=PATH, or let the verifier "
            f"decide with -T nli_model={JUDGE} ({reason})"
        )
    labels = {int(number): str(label) for number, label in classifier.config.id2label.items()}
    entailment = [number for number, label in labels.items() if label.casefold() == _ENTAILMENT]
    if len(entailment) != 1:
        return UsageError(
            f"option nli_model: {model} has the labels {', '.join(labels.values())} instead of {_ENTAILMENT!r}; name a "
            "model for natural-language inference"
        )
    classifier.eval().to("cuda" if torch.cuda.is_available() else "cpu")
    longest = min(tokenizer.model_max_length, classifier.config.max_position_embeddings, _MOST_TOKENS)
    return tokenizer, classifier, entailment[0], longest
