"""ReFACT's construction: the filter of its source, stop words, and whether two sentences mean the same."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from threading import Lock
from typing import Any

from anyio import CapacityLimiter, to_thread
from anyio.lowlevel import RunVar

from halu_tasks.builders.documents import Document
from halu_tasks.builders.pipeline import Fault
from halu_tasks.builders.replies import NO, UNCERTAIN, YES
from halu_tasks.core.errors import UsageError
from halu_tasks.core.extras import install_hint, missing_modules, require_extra
from halu_tasks.core.hashing import stable_hash
from halu_tasks.scorers.answer import Answer

# --- the source filter (section 3.1) --------------------------------------------------------------

BEST = "best_answer"
"""Field of a document: whether its answer is the best one of its question; computed unless a document states it."""
NO_SCORE, TOO_SHORT, TOO_LONG = "no score", "too short", "too long"


def mark_best_answers(read: Callable[[], Iterator[Document]]) -> Iterator[Document]:
    """Yield documents with the field `best_answer`.

    The best answer of a question is that with the highest `score`; of equal ones, that with the smallest id. A question
    is recognized by its text, ignoring white space. An answer without a score is the best one only if there is no
    other. Memory grows with the number of questions, not with the length of the texts.

    Args:
        read: Reads the documents, which happens twice.
    """
    answers: dict[str, int] = {}
    best: dict[str, tuple[float, str]] = {}
    for document in read():
        question = _question_of(document)
        answers[question] = answers.get(question, 0) + 1
        if (score := _score_of(document, "score")) is not None:
            rank = -score, document.id
            best[question] = min(best.get(question, rank), rank)
    for document in read():
        question = _question_of(document)
        is_best = answers[question] == 1 or (question in best and best[question][1] == document.id)
        stated = document.fields.get(BEST)
        marked = stated if isinstance(stated, bool) else is_best
        yield Document(document.id, document.text, {**document.fields, BEST: marked})


def filter_source(document: Document, *, best: bool, min_score: int, min_chars: int, max_chars: int) -> Fault | None:
    """Return why the source filter leaves out a question with its answer; None if it does not.

    Args:
        document: The question with its answer.
        best: Whether to leave out documents that are known not to be the best answer of their question.
        min_score: The minimum score of the question, or of the answer if the question has none; 0 for none.
        min_chars: The minimum number of characters of both together.
        max_chars: The maximum number of characters of both together.
    """
    score, question_score = _score_of(document, "score"), _score_of(document, "question_score")
    rating = score if question_score is None else question_score
    length = len(str(document.fields["question"])) + len(document.text)
    if best and document.fields.get(BEST) is False and score is None:
        return Fault("document", NO_SCORE, "one of several answers to its question, without a number in 'score'")
    if best and document.fields.get(BEST) is False:
        return Fault("document", "not the best answer", "another answer to the same question has a higher score")
    if min_score and rating is None:
        return Fault("document", NO_SCORE, "neither the field 'question_score' nor 'score' contains a number")
    if rating is not None and rating < min_score:
        return Fault("document", "low score", f"{rating:g}, less than min_score={min_score}")
    if length < min_chars:
        return Fault("document", TOO_SHORT, f"{length} characters with the question, fewer than min_chars={min_chars}")
    if length > max_chars:
        return Fault("document", TOO_LONG, f"{length} characters with the question, more than max_chars={max_chars}")
    return None


def _score_of(document: Document, field: str) -> float | None:
    """Return the number in a field of a document; None if there is none."""
    value = document.fields.get(field)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _question_of(document: Document) -> str:
    """Return a short key of a document's question; documents without a question have one each."""
    question = document.fields.get("question")
    text = " ".join(question.split()) if isinstance(question, str) else ""
    return stable_hash(text, surrogates="surrogatepass") if text else f"\0{document.id}"


# --- stop words: NLTK's lists, as shipped with bm25s, or those of a user's file -------------------

_LISTS = {
    "da": "DANISH",
    "de": "GERMAN",
    "en": "EN_PLUS",
    "es": "SPANISH",
    "fr": "FRENCH",
    "it": "ITALIAN",
    "nl": "DUTCH",
    "no": "NORWEGIAN",
    "pt": "PORTUGUESE",
    "ru": "RUSSIAN",
    "sv": "SWEDISH",
    "tr": "TURKISH",
    "zh": "CHINESE",
}


@cache
def stop_words(language: str, file: str | None) -> frozenset[str]:
    """Return the stop words of a language (ISO 639-1), in lower case.

    Args:
        language: The language; there are no words for languages without a list.
        file: Path of a file with one word per line, to use instead of NLTK's list.

    Raises:
        UsageError: The file cannot be read or is empty.
    """
    if file is not None:
        try:
            words = Path(file).expanduser().read_text(encoding="utf-8-sig").split("\n")
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or "not UTF-8"
            raise UsageError(f"stop words {file}: {reason}; expected a text file with one word per line") from None
        listed = frozenset(_plain(word) for word in words if word.strip())
        if not listed:
            raise UsageError(f"stop words {file}: contains no words; expected a text file with one word per line")
        return listed
    if language not in _LISTS:
        return frozenset()
    require_extra("build", "refact_pipeline")
    from bm25s import stopwords  # imported here because it takes memory that most commands do not need

    return frozenset(_plain(word) for word in getattr(stopwords, f"STOPWORDS_{_LISTS[language]}"))


def only_stop_words(phrase: str, words: frozenset[str]) -> bool:
    """Whether a phrase consists of stop words only; words in capitals (IT, WHO) are not stop words."""
    return all(not (len(word) > 1 and word.isupper()) and _plain(word) in words for word in _words(phrase))


def _words(phrase: str) -> list[str]:
    """Return the words without surrounding punctuation; a symbol (an emoji, "+") is a word too."""
    edges = {char for char in phrase if unicodedata.category(char)[0] == "P"}
    return [word for part in phrase.split() if (word := part.strip("".join(edges)))]


def _plain(word: str) -> str:
    """Normalize a word for comparison."""
    return word.strip().replace("’", "'").casefold()


# --- equal meaning: each of two sentences entails the other (section 3.2.2); requires the extra nli

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
        _loaded(model)


async def same_meaning(model: str, one: str, other: str) -> Answer[str]:
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


def _decide(model: str, one: str, other: str) -> Answer[str]:
    """Load the model if necessary, and classify both directions."""
    with _LOCK:
        import torch

        tokenizer, classifier, entailment, longest = _loaded(model)
        tokens = tokenizer([one, other], [other, one], padding=True, return_tensors="pt")
        if tokens["input_ids"].shape[1] > longest:
            return Answer(UNCERTAIN, f"longer than the {longest} tokens that {model} reads")
        with torch.inference_mode():
            labels = classifier(**tokens.to(classifier.device)).logits.argmax(dim=-1).tolist()
    return Answer(YES if labels == [entailment, entailment] else NO, model)


@cache
def _loaded(model: str) -> tuple[Any, Any, int, int]:
    """Load a model; return its tokenizer, the classifier, the index of its entailment label, and the most tokens."""
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    name, _, revision = (model, "", "") if Path(model).exists() else model.partition("@")
    where = {"revision": revision} if revision else {}
    try:
        tokenizer = AutoTokenizer.from_pretrained(name, **where)
        classifier = AutoModelForSequenceClassification.from_pretrained(name, **where)
    except (OSError, ValueError, ImportError, KeyError) as error:
        reason = " ".join(str(error).split())[:300]
        raise UsageError(
            f"option nli_model: {model} cannot be loaded; name a folder with -T nli_model=PATH, or let the verifier "
            f"decide with -T nli_model={JUDGE} ({reason})"
        ) from None
    labels = {int(number): str(label) for number, label in classifier.config.id2label.items()}
    entailment = [number for number, label in labels.items() if label.casefold() == _ENTAILMENT]
    if len(entailment) != 1:
        raise UsageError(
            f"option nli_model: {model} has the labels {', '.join(labels.values())} instead of {_ENTAILMENT!r}; name a "
            "model for natural-language inference"
        )
    classifier.eval().to("cuda" if torch.cuda.is_available() else "cpu")
    longest = min(tokenizer.model_max_length, classifier.config.max_position_embeddings, _MOST_TOKENS)
    return tokenizer, classifier, entailment[0], longest
