"""HaluEval (Li et al. 2023): does a summary, or an answer, hallucinate, and where?

Summaries: a row is a document, its right summary, and one that ChatGPT was told to make up. They are judged at
once, after reasoning, or claim by claim, the single-prompt form of Factored Verification (George and Stuhlmüller
2023). Answers: a row is a user's query, ChatGPT's response, a
label and the passages that annotators marked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from halu_tasks.data.rows import Row, require_text, text_id, with_ids
from halu_tasks.items import Case, Item
from halu_tasks.options import Options
from halu_tasks.scorers.benchmarks.halueval import CUE, KINDS
from halu_tasks.scorers.reading.labels.hallucination import NO, YES
from halu_tasks.text.spans import Span, Text

SUMMARIES = ("document", "right_summary", "hallucinated_summary")
LABELS = {"yes": YES, "no": NO}


def check_summaries(row: Row) -> None:
    require_text(row, *SUMMARIES)


def check_general(row: Row) -> None:
    # one of the released rows has an empty ID
    require_text(row, "user_query", "chatgpt_response", *(["ID"] if row["ID"].strip() else []))
    if row["hallucination"].strip().lower() not in LABELS:
        raise ValueError(f"hallucination is {row['hallucination']!r}, expected 'yes' or 'no'")
    for span in row["hallucination_spans"]:
        if not isinstance(span, str):
            raise ValueError(f"a span of hallucination_spans is {type(span).__name__}, expected str")


# --- rows to cases --------------------------------------------------------------------------------


def summary_cases(rows: Iterable[Row], options: Options) -> Iterator[Case]:
    """Both summaries of each row; a worked example's row also has reasons and checked claims for them."""
    for id, row in with_ids(rows, *SUMMARIES):
        for kind, target, suffix in zip(KINDS, (NO, YES), ("_correct", ""), strict=True):
            # the released right summaries end in a line end and the others do not, which would tell them apart
            summary = row[f"{kind}_summary"].strip()
            yield Case(
                f"{id}/{kind}",
                text_id(row["document"].strip()),
                {"document": row["document"].strip(), "summary": summary},
                target,
                {
                    "summary": summary,
                    "explanation": str(row.get(f"explanation{suffix}", "")),
                    "claims": str(row.get(f"claims{suffix}", "")),
                },
                {"kind": kind},
            )


def _with_own_ids(rows: Iterable[Row]) -> Iterator[tuple[str, Row]]:
    """Each row with its ID; of rows that share one, or have none, the id is also made from their text."""
    held = list(rows)
    uses = Counter(row["ID"].strip() for row in held)
    for made, row in with_ids(held, "user_query", "chatgpt_response"):
        own = row["ID"].strip()
        yield own if own and uses[own] == 1 else "-".join(filter(None, (own, made))), row


def general_cases(rows: Iterable[Row], options: Options) -> Iterator[Case]:
    for id, row in _with_own_ids(rows):
        yield Case(id, id, _shown(row), LABELS[row["hallucination"].strip().lower()])


def localization_cases(rows: Iterable[Row], options: Options) -> Iterator[Case]:
    """The rows labelled yes of which an annotated passage stands in the response."""
    for id, row in _with_own_ids(rows):
        shown = _shown(row)
        text = shown["response"]
        spans = gold_spans(text, row["hallucination_spans"])
        if LABELS[row["hallucination"].strip().lower()] == NO or not spans:
            continue
        strings = list(dict.fromkeys(text[start:end] for start, end in spans))
        gold = {"text": text, "spans": [list(span) for span in spans], "strings": strings}
        yield Case(id, id, shown, "\n".join(strings), gold)


def _shown(row: Row) -> dict[str, str]:
    return {"query": row["user_query"].strip(), "response": row["chatgpt_response"].strip()}


def gold_spans(text: str, annotated: Iterable[str]) -> list[Span]:
    """Where the annotated passages stand in a text, line by line, as replies are asked for.

    A passage stands where it occurs, or occurs but for case, white space and quote style; inside other words only
    where it is nowhere else. One that is nowhere is taken line by line, for annotators joined passages that lie
    apart; lines that are nowhere are their remarks.
    """
    placed = Text(text)
    found: set[Span] = set()
    for passage in annotated:
        pieces = [passage] if placed.place(passage, fuzzy=False) else passage.splitlines()
        for piece in pieces:
            places = placed.place(piece, fuzzy=False)
            for start, end in [place for place in places if _is_word(text, *place)] or places:
                found.update(_lines(text, start, end))
    return sorted(found)


def _is_word(text: str, start: int, end: int) -> bool:
    """Whether a span neither begins nor ends inside a word."""
    return not any(text[max(at - 1, 0) : at + 1].isalnum() and 0 < at < len(text) for at in (start, end))


def _lines(text: str, start: int, end: int) -> Iterator[Span]:
    """The lines of a span, without the white space around them."""
    for line in text[start:end].splitlines(keepends=True):
        if bare := line.strip():
            begin = start + line.index(bare)
            yield begin, begin + len(bare)
        start += len(line)


# --- replies that need no model -------------------------------------------------------------------


def reasoned(item: Item) -> str:
    return f"{item.gold['explanation']}\n{CUE}: {item.target}".strip()


def checked(item: Item) -> str:
    """The claims of a worked example, or the summary as one claim."""
    whole = " ".join(str(item.gold["summary"]).split())
    return str(item.gold["claims"]) or f"Claim: {whole}\nSupported: {NO if item.target == YES else YES}"


def whole_text(item: Item) -> str:
    """The whole answer."""
    return str(item.gold["text"])
