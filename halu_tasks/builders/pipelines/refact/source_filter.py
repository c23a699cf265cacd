"""The filter of ReFACT's source (section 3.1): well rated questions with their best answer, neither short nor long."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from halu_tasks.builders.documents import Document
from halu_tasks.builders.pipeline import Failure
from halu_tasks.core.hashing import stable_hash

BEST = "best_answer"
"""Field of a document: whether its answer is the best one of its question; computed unless a document states it."""
NO_SCORE, LOW_SCORE, NOT_BEST, TOO_SHORT, TOO_LONG = (
    "no score",
    "low score",
    "not the best answer",
    "too short",
    "too long",
)


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
        if (score := score_of(document, "score")) is not None:
            rank = -score, document.id
            best[question] = min(best.get(question, rank), rank)
    for document in read():
        question = _question_of(document)
        is_best = answers[question] == 1 or (question in best and best[question][1] == document.id)
        stated = document.fields.get(BEST)
        marked = stated if isinstance(stated, bool) else is_best
        yield Document(document.id, document.text, {**document.fields, BEST: marked})


def score_of(document: Document, field: str) -> float | None:
    """Return the number in a field of a document; None if there is none."""
    value = document.fields.get(field)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def score_failure(document: Document, least: int) -> Failure | None:
    """Return a failure if the question's score, or the answer's if there is none, is lower than `least`.

    Args:
        document: A question with its answer.
        least: The minimum; 0 for none.
    """
    if not least:
        return None
    question_score = score_of(document, "question_score")
    score = score_of(document, "score") if question_score is None else question_score
    if score is None:
        return Failure("document", NO_SCORE, "neither the field 'question_score' nor 'score' contains a number")
    return Failure("document", LOW_SCORE, f"{score:g}, less than min_score={least}") if score < least else None


def best_failure(document: Document) -> Failure | None:
    """Return a failure if a document is known not to be the best answer of its question."""
    if document.fields.get(BEST) is not False:
        return None
    if score_of(document, "score") is None:
        return Failure("document", NO_SCORE, "one of several answers to its question, without a number in 'score'")
    return Failure("document", NOT_BEST, "another answer to the same question has a higher score")


def length_failure(document: Document, least: int, most: int) -> Failure | None:
    """Return a failure if question and answer together have fewer than `least` or more than `most` characters."""
    length = len(str(document.fields["question"])) + len(document.text)
    if length < least:
        return Failure("document", TOO_SHORT, f"{length} characters with the question, fewer than min_chars={least}")
    if length > most:
        return Failure("document", TOO_LONG, f"{length} characters with the question, more than max_chars={most}")
    return None


def _question_of(document: Document) -> str:
    """Return a short key of a document's question; documents without a question have one each."""
    question = document.fields.get("question")
    text = " ".join(question.split()) if isinstance(question, str) else ""
    return stable_hash(text, surrogates="surrogatepass") if text else f"\0{document.id}"
