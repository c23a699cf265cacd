"""C-FAITH (Zhang et al. 2025): Chinese questions in three formats, and the type of hallucination each provokes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from halu_tasks.data import Row, require_text, with_ids
from halu_tasks.items import Case
from halu_tasks.options import Options
from halu_tasks.scorers import cfaith
from halu_tasks.scorers.metrics import share_empty
from halu_tasks.scorers.verdict import choice, true_false_zh
from halu_tasks.sources import CFAITH
from halu_tasks.tasks import Decoding, Group, Reader, Scoring, Task, modes

OPEN = Decoding(max_tokens=1024, temperature=1.0, top_p=0.7)
LABEL = Decoding(max_tokens=16, temperature=1.0, top_p=0.7)
LETTERS = "ABCD"


def check_generative(row: Row) -> None:
    require_text(row, "question", "correct_answer", "halu_answer", "ent")
    _check_type(row["halu_type"])


def check_choice(row: Row) -> None:
    require_text(row, "question", "correct_option")
    answers, labels, letter = row["answers"], row["labels"], row["correct_option"]
    if len(answers) != len(LETTERS) or len(labels) != len(LETTERS):
        raise ValueError(f"expected four answers and four labels, found {len(answers)} and {len(labels)}")
    if not all(isinstance(text, str) for text in (*answers, *labels)):
        raise ValueError("answers and labels must be texts")
    if letter not in tuple(LETTERS) or labels[LETTERS.index(letter)] != "correct" or labels.count("correct") != 1:
        raise ValueError(f"correct_option is {letter!r}, but the label 'correct' stands elsewhere")
    for label in labels:
        if label != "correct":
            _check_type(label)


def _check_type(label: str) -> None:
    if label not in cfaith.TYPES:
        raise ValueError(f"hallucination type is {label!r}, expected one of {', '.join(cfaith.TYPES)}")


GENERATIVE = Reader(
    CFAITH,
    lambda options: "generative_qa.jsonl",
    dict.fromkeys(("question", "correct_answer", "reason", "halu_type", "ent", "halu_answer"), str),
    check_generative,
)
CHOICE = Reader(
    CFAITH,
    lambda options: "single_choice_qa.jsonl",
    {"question": str, "answers": list, "labels": list, "correct_option": str},
    check_choice,
)


# --- rows to cases --------------------------------------------------------------------------------


def open_cases(rows: Iterable[Row], options: Options) -> Iterator[Case]:
    for id, row in with_ids(rows, "question", "correct_answer", "halu_answer"):
        yield Case(
            id,
            row["ent"],
            {"question": row["question"]},
            row["correct_answer"],
            {key: row[key] for key in ("question", "correct_answer", "halu_answer")},
            {"type": cfaith.TYPES[row["halu_type"]]},
        )


def true_false_cases(rows: Iterable[Row], options: Options) -> Iterator[Case]:
    for id, row in with_ids(rows, "question", "correct_answer", "halu_answer"):
        for which, field, target in (("correct", "correct_answer", "True"), ("hallucinated", "halu_answer", "False")):
            yield Case(
                f"{id}/{which}",
                row["ent"],
                {"question": row["question"], "answer": row[field]},
                target,
                tags={"type": cfaith.TYPES[row["halu_type"]]},
            )


def choice_cases(rows: Iterable[Row], options: Options) -> Iterator[Case]:
    for id, row in with_ids(rows, "question"):
        # the type a question is meant to provoke: the commonest among its wrong options (section 4.1)
        wrong = Counter(label for label in row["labels"] if label != "correct")
        yield Case(
            id,
            id,
            {"question": row["question"].rstrip()},
            row["correct_option"],
            tags={"type": cfaith.TYPES[wrong.most_common(1)[0][0]]},
        )


# --- tasks ----------------------------------------------------------------------------------------


_OPEN = {
    "strict": Scoring(cfaith.score_open, (*cfaith.OPEN_METRICS, share_empty())),
    "paper": Scoring(cfaith.score_open, cfaith.OPEN_METRICS),
}

TASKS = (
    Task(
        "cfaith_gen",
        1,
        "Answer a Chinese question; a judge looks for conflict with the correct answer",
        16713,
        GENERATIVE,
        open_cases,
        _OPEN,
        "hallucination_rate",
        OPEN,
        oracle=lambda item: item.target,
        baseline=lambda item: str(item.gold["question"]),
        judged=cfaith.JUDGING,
    ),
    Task(
        "cfaith_choice",
        1,
        "Pick the correct one of four Chinese answers (a letter)",
        10563,
        CHOICE,
        choice_cases,
        modes(cfaith.score_choice, cfaith.score_choice_published, cfaith.CHOICE_METRICS),
        "hallucination_rate",
        LABEL,
        oracle=lambda item: item.target,
        baseline=lambda item: "A",
        read=choice,
    ),
    Task(
        "cfaith_tf",
        1,
        "Is this Chinese answer correct? (正确/错误, two items a row)",
        33426,
        GENERATIVE,
        true_false_cases,
        modes(cfaith.score_true_false, cfaith.score_true_false_published, cfaith.TRUE_FALSE_METRICS),
        "hallucination_rate",
        LABEL,
        oracle=lambda item: "正确" if item.target == "True" else "错误",
        baseline=lambda item: "正确",
        read=true_false_zh,
    ),
)
GROUPS = (
    Group(
        "cfaith",
        1,
        "All of C-FAITH; hallucination_rate is the mean of the three formats",
        ("cfaith_gen", "cfaith_choice", "cfaith_tf"),
        ("hallucination_rate",),
    ),
)
