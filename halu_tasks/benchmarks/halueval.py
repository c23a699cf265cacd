"""HaluEval (Li et al. 2023): does a summary, or an answer, hallucinate, and where?

Summaries: a row is a document, its right summary, and a hallucinated one written by ChatGPT. They are judged directly,
after reasoning, or claim by claim (the single-prompt form of Factored Verification, George and Stuhlmüller 2023).
Answers: a row is a user's query, ChatGPT's response, a label, and the passages that annotators marked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from halu_tasks.core.hashing import short_hash
from halu_tasks.core.items import Item
from halu_tasks.core.options import Options
from halu_tasks.data.rows import Row, with_ids
from halu_tasks.scorers.benchmarks.labels import KINDS
from halu_tasks.scorers.benchmarks.released_readers import CUE
from halu_tasks.scorers.gold import ExampleGold, SpanGold
from halu_tasks.scorers.reading.questions import NO, YES
from halu_tasks.text.spans import Span, Text

SUMMARIES = ("document", "right_summary", "hallucinated_summary")
LABELS = {"yes": YES, "no": NO}


# --- rows to items --------------------------------------------------------------------------------


def summary_cases(rows: Iterable[Row], options: Options) -> Iterator[Item]:
    """Yield two items per row, one for each summary, with explanation and claims if the row is a worked example's."""
    for id, row in with_ids(rows, *SUMMARIES):
        for kind, target, suffix in zip(KINDS, (NO, YES), ("_correct", ""), strict=True):
            # the published right summaries end in a line end and the others do not, which would give them away
            summary = row[f"{kind}_summary"].strip()
            yield Item(
                f"{id}/{kind}",
                short_hash(row["document"].strip()),
                target,
                fields={"document": row["document"].strip(), "summary": summary},
                gold=ExampleGold(
                    explanation=str(row.get(f"explanation{suffix}", "")), claims=str(row.get(f"claims{suffix}", ""))
                ),
                tags={"kind": kind},
            )


def _with_own_ids(rows: Iterable[Row]) -> Iterator[tuple[str, Row]]:
    """Pair each row with its ID; if several rows share it, or it is empty, an id made from the text is appended."""
    all_rows = list(rows)
    uses = Counter(row["ID"].strip() for row in all_rows)
    for id_of_text, row in with_ids(all_rows, "user_query", "chatgpt_response"):
        published = row["ID"].strip()
        yield published if published and uses[published] == 1 else "-".join(filter(None, (published, id_of_text))), row


def general_cases(rows: Iterable[Row], options: Options) -> Iterator[Item]:
    """Yield one item per row: the query and the response."""
    for id, row in _with_own_ids(rows):
        yield Item(id, id, LABELS[row["hallucination"]], fields=_prompt_fields(row))


def localization_cases(rows: Iterable[Row], options: Options) -> Iterator[Item]:
    """Yield a item for each row labelled yes whose annotated passages can be located in the response."""
    for id, row in _with_own_ids(rows):
        fields = _prompt_fields(row)
        text = fields["response"]
        spans = gold_spans(text, row["hallucination_spans"])
        if LABELS[row["hallucination"]] == NO or not spans:
            continue
        strings = list(dict.fromkeys(text[start:end] for start, end in spans))
        gold = SpanGold(text=text, spans=spans, strings=strings)
        yield Item(id, id, "\n".join(strings), fields=fields, gold=gold)


def _prompt_fields(row: Row) -> dict[str, str]:
    return {"query": row["user_query"].strip(), "response": row["chatgpt_response"].strip()}


def gold_spans(text: str, annotated: Iterable[str]) -> list[Span]:
    """Locate annotated passages in a text; the spans are split at line ends, as replies are expected to be.

    A passage is located exactly or, failing that, ignoring case, white space and quote style; occurrences inside other
    words count only if there are no others. A passage that does not occur is located line by line, since annotators
    joined passages that are apart; lines that do not occur either are annotators' remarks.
    """
    placed = Text(text)
    spans: set[Span] = set()
    for passage in annotated:
        pieces = [passage] if placed.place(passage, fuzzy=False) else passage.splitlines()
        for piece in pieces:
            places = placed.place(piece, fuzzy=False)
            for start, end in [place for place in places if _is_word(text, *place)] or places:
                spans.update(_lines(text, start, end))
    return sorted(spans)


def _is_word(text: str, start: int, end: int) -> bool:
    """Whether a span neither begins nor ends inside a word."""
    return not any(text[max(at - 1, 0) : at + 1].isalnum() and 0 < at < len(text) for at in (start, end))


def _lines(text: str, start: int, end: int) -> Iterator[Span]:
    """Yield the spans of a span's lines, without surrounding white space."""
    for line in text[start:end].splitlines(keepends=True):
        if bare := line.strip():
            begin = start + line.index(bare)
            yield begin, begin + len(bare)
        start += len(line)


# --- replies that need no model -------------------------------------------------------------------


def reasoned(item: Item[ExampleGold]) -> str:
    """Return the explanation of a worked example, if there is one, then the verdict."""
    return f"{item.gold.explanation}\n{CUE}: {item.target}".strip()


def checked(item: Item[ExampleGold]) -> str:
    """Return the checked claims of a worked example; without them, the summary as a single claim."""
    summary = " ".join(item.fields["summary"].split())
    return item.gold.claims or f"Claim: {summary}\nSupported: {NO if item.target == YES else YES}"


def whole_text(item: Item[SpanGold]) -> str:
    """Return the whole answer."""
    return item.gold.text
