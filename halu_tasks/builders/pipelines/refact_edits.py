"""ReFACT's edits of an answer: what may be replaced, tags, rows, and whether the meaning changed.

Spans are (start, end) offsets in code points; the end is exclusive.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any

from anyio import to_thread

from halu_tasks.benchmarks.refact import check_correctable, correction_cases, localization_cases, originals_of
from halu_tasks.benchmarks.refact_tags import tagged_spans
from halu_tasks.builders.documents import Document
from halu_tasks.builders.pipeline import Row
from halu_tasks.builders.replies import NO, UNCERTAIN, YES
from halu_tasks.core.errors import DataError, UsageError, install_hint, missing_modules, require_extra
from halu_tasks.core.hashing import stable_hash
from halu_tasks.core.options import Options
from halu_tasks.data.rows import text_lines
from halu_tasks.scorers.answer import Answer
from halu_tasks.scorers.benchmarks.string_scorers import score_passages, score_replacements
from halu_tasks.text.folding import SPACELESS
from halu_tasks.text.sentences import spans as sentence_spans
from halu_tasks.text.spans import Span, Text

NEG, SWAP = "neg", "swap"
Edit = tuple[int, int, str]
"""Replaces the text between two offsets by another one."""

# --- edits ----------------------------------------------------------------------------------------

_TAG = re.compile(r"<\s*/?\s*(?:neg|swap|mask)\b[^<>]*>", re.IGNORECASE)
_LINE_END = re.compile(r"\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_JOINERS = "\u200c\u200d"
_IN_NUMBER = re.compile(r"\d[.,]\d")
# scripts in which a word may begin and end between any two characters
_UNSPACED = re.compile(f"[{SPACELESS}]")


def text_fault(text: str) -> str:
    """Return a short reason why no text of a row can contain `text`; empty if one can.

    It contains anything that looks like a tag of ReFACT, closed or not, or like its correction mask; lone surrogates;
    or control characters other than tabs and line ends.
    """
    if _TAG.search(text):
        return "contains tags"
    plain = _LINE_END.sub("", text).replace("\t", "")
    return "invalid characters" if any(unicodedata.category(char) in ("Cc", "Cs") for char in plain) else ""


def alike(text: str) -> str:
    """Normalize a text so that texts become equal that differ only in case, white space and compatibility forms."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def replacement_fault(text: str, original: str) -> str:
    """Return a short reason why `text` cannot replace `original`; empty if it can."""
    if reason := text_fault(text):
        return reason
    if _LINE_END.search(text):
        return "several lines"
    if len(text) > 2 * len(original) + 60:
        return "much longer than the original"
    return "unchanged" if alike(text) == alike(original) else ""


class Prose:
    """A text, prepared for looking up many sentences and phrases.

    Args:
        text: The text.
        language: Its language (ISO 639-1).
    """

    def __init__(self, text: str, language: str = "en") -> None:
        self.text = text
        self.sentences: Sequence[Span] = sentence_spans(text, language)
        self._begins = frozenset(start for start, _ in self.sentences)
        self._alike = Counter(alike(text[start:end]) for start, end in self.sentences)
        self._placed = Text(text)

    def sentence(self, string: str) -> Span | str:
        """Find the sentence that `string` is or is part of, ignoring case, runs of white space and quote style.

        Returns:
            The span of the sentence, or a short reason: the string does not occur, occurs more than once, or spans
            several sentences.
        """
        places = self._placed.place(string, fuzzy=False)
        if not places:
            return "not in the answer"
        if len(places) > 1:
            return "more than once in the answer"
        ((start, end),) = places
        over = self.over(start, end)
        if len(over) != 1:
            return "several sentences" if over else "not in the answer"
        return over[0] if self._alike[alike(self.text[slice(*over[0])])] == 1 else "more than once in the answer"

    def over(self, start: int, end: int) -> list[Span]:
        """Return the sentences that overlap a span."""
        return [span for span in self.sentences if span[0] < end and start < span[1]]

    def has_sentence(self, string: str) -> bool:
        """Whether the text contains this sentence, ignoring what `alike` ignores."""
        return self._alike[alike(string)] > 0

    def begins(self, at: int) -> bool:
        """Whether a sentence begins at offset `at`."""
        return at in self._begins

    def mentions(self, phrase: str) -> list[Span]:
        """Return all occurrences of `phrase` as whole words, in order; runs of white space are equal.

        A word that is capitalized at the beginning of a sentence is the same word in lower case.
        """
        spans = _whole_words(self.text, phrase)
        first = phrase[:1]
        other = first.lower() if first.isupper() else first.upper()
        if other == first or len(other) != 1:
            return spans
        toggled = _whole_words(self.text, other + phrase[1:])
        if not first.isupper():
            toggled = [span for span in toggled if self.begins(span[0])]
        elif not spans or not all(self.begins(start) for start, _ in spans):
            # a capital letter in the middle of a sentence belongs to a name
            toggled = []
        return sorted([*spans, *toggled])

    def changed_parts(self, edits: Sequence[Edit]) -> list[tuple[str, str]]:
        """Return the sentences that edits change, before and after; an edit over several sentences joins them."""
        parts: list[Span] = []
        for start, end, _ in edits:
            for over in self.over(start, end):
                start, end = min(start, over[0]), max(end, over[1])
            if parts and start < parts[-1][1]:
                start, end = parts[-1][0], max(parts.pop()[1], end)
            parts.append((start, end))
        pairs = []
        for start, end in parts:
            inside = [(at - start, to - start, new) for at, to, new in edits if start <= at < end]
            pairs.append((self.text[start:end], apply_edits(self.text[start:end], inside, "x")[0]))
        return list(dict.fromkeys(pairs))


def mentions_phrase(text: str, phrase: str) -> bool:
    """Whether `phrase` occurs in `text` as whole words, in any case."""
    return bool(_whole_words(text, phrase, re.IGNORECASE))


def _whole_words(text: str, phrase: str, flags: re.RegexFlag = re.RegexFlag.NOFLAG) -> list[Span]:
    """Return the occurrences of a phrase as whole words, over at most one line end."""
    words = phrase.split()
    if not words:
        return []
    pattern = re.compile(r"\s+".join(map(re.escape, words)), flags)
    matches = (match for match in pattern.finditer(text) if len(_LINE_END.findall(match[0])) < 2)
    return [match.span() for match in matches if not (_cuts(text, match.start()) or _cuts(text, match.end()))]


def _cuts(text: str, at: int) -> bool:
    """Whether a cut at offset `at` would split a word, a number, or a character of several code points."""
    before, after = text[max(at - 1, 0) : at], text[at : at + 1]
    if not before or not after:
        return False
    if before in _JOINERS or after in _JOINERS or _is_mark(after) or "\U0001f3fb" <= after <= "\U0001f3ff":
        return True
    if _UNSPACED.match(before) or _UNSPACED.match(after):
        return False
    words = [char.isalnum() or char == "_" or _is_mark(char) for char in (before, after)]
    return all(words) or bool(_IN_NUMBER.search(text, max(at - 2, 0), at + 2))


def _is_mark(char: str) -> bool:
    return unicodedata.category(char)[0] == "M"


def longest(text: str, spans: Iterable[Span]) -> list[Span]:
    """Return the spans that do not overlap a longer one, in order, joining those separated only by white space."""
    separate: list[Span] = []
    for start, end in sorted(set(spans), key=lambda span: (span[0] - span[1], span[0])):
        if all(end <= other[0] or other[1] <= start for other in separate):
            separate.append((start, end))
    joined: list[Span] = []
    for start, end in sorted(separate):
        if joined and not text[joined[-1][1] : start].strip():
            joined[-1] = joined[-1][0], end
        else:
            joined.append((start, end))
    return joined


def apply_edits(text: str, edits: Iterable[Edit], tag: str) -> tuple[str, str]:
    """Apply edits, which must be in order.

    Args:
        text: The original text.
        edits: The edits.
        tag: Name of the tag.

    Returns:
        The edited text, and the same text with `<tag>…</tag>` around each edit.
    """
    plain, tagged, done = "", "", 0
    for start, end, new in edits:
        plain += text[done:start] + new
        tagged += f"{text[done:start]}<{tag}>{new}</{tag}>"
        done = end
    return plain + text[done:], tagged + text[done:]


def tag_spans(text: str, spans: Iterable[Span], tag: str) -> str:
    """Return the text with `<tag>…</tag>` around each span."""
    return apply_edits(text, [(start, end, text[start:end]) for start, end in spans], tag)[1]


def join_lines(text: str, original: str = "\n") -> str:
    """Replace line ends inside `text` with spaces, if `original` contains any."""
    return " ".join(_LINE_END.split(text)) if _LINE_END.search(original) else text


def capitalize_like(text: str, original: str) -> str:
    """Capitalize `text` if `original` is capitalized and `text` begins with a lower-case word."""
    word = re.match(r"[^\W\d_]+", text)
    if original[:1].isupper() and word and word[0].islower() and len(text[0].upper()) == 1:
        return text[0].upper() + text[1:]
    return text


# --- rows, checked by reading them as ReFACT's tasks do -------------------------------------------

MULTI, SINGLE = "refact_multi_error.jsonl", "refact_single_error.jsonl"


def row_of(document: Document, kind: str, edits: Sequence[Edit]) -> Row:
    """Return the row for a document's answer after the edits."""
    changed, tagged = apply_edits(document.text, edits, kind)
    return {
        # rows of one answer share the id up to the first underscore, as in the published data
        "sample_id": f"{stable_hash(document.id)}_{kind}",
        "question": document.fields["question"],
        "correct_answer": document.text,
        "error_type": kind,
        "confabulated_answer": changed,
        "error_spans": tagged,
    }


def reading_fault(row: Row, originals: Sequence[str]) -> str:
    """Return a short reason why ReFACT's tasks would misread a row; empty if they read it correctly.

    They do if the original strings can be recovered, and the right answer is scored as right.

    Args:
        row: The row.
        originals: The strings that were replaced.
    """
    try:
        check_correctable(row)
        recovered = originals_of(row) if row["error_type"] == SWAP else originals
    except ValueError:
        return "rejected by the reader"
    if list(recovered) != list(originals):
        return "originals cannot be recovered"
    return "" if _right_answers_score(row) else "a right answer is scored as wrong"


def _right_answers_score(row: Row) -> bool:
    """Whether the tasks whose answers are parts of the text score a right answer to a row as right."""
    kind = row["error_type"]
    for item in localization_cases([row], Options(), error_type=kind):
        located = score_passages(item, item.target, "sentence" if kind == NEG else "entity").facts
        if not located["iou"] == located["acc"] == 1:
            return False
    corrections = correction_cases([row], Options()) if kind == SWAP else ()
    return all(score_replacements(item, item.target).facts["em"] == 1 for item in corrections)


def single_error_rows(row: Row) -> list[Row]:
    """Return the single-error rows of a row that the tasks read correctly.

    This is the row itself if it has one span; otherwise one row per span with the other spans untagged
    (`…_split1`, `…_split2`, …). Empty if the tasks would misread one of them.
    """
    text, spans = tagged_spans(row["error_spans"])
    if len(spans) == 1:
        return [row]
    rows = []
    for number, (span, original) in enumerate(zip(spans, originals_of(row), strict=True), 1):
        tagged = tag_spans(text, [span], row["error_type"])
        single = {**row, "sample_id": f"{row['sample_id']}_split{number}", "error_spans": tagged}
        if reading_fault(single, [original]):
            return []
        rows.append(single)
    return rows


# --- stop words: NLTK's English list, as shipped with bm25s, or that of a user's file --------------


@cache
def stop_words(language: str, file: str | None) -> frozenset[str]:
    """Return the stop words of a language (ISO 639-1), in lower case.

    Args:
        language: The language; without a file, only English has a list.
        file: Path of a file with one word per line, to use instead of NLTK's list.

    Raises:
        DataError: The file cannot be read or is empty.
    """
    if file is None and language != "en":
        return frozenset()
    if file is None:
        require_extra("build", "refact_pipeline")
        from bm25s import stopwords  # imported here because it takes memory that most commands do not need

        return frozenset(map(_plain_word, stopwords.STOPWORDS_EN_PLUS))
    words = frozenset(filter(None, (_plain_word(line) for _, line in text_lines(Path(file).expanduser()))))
    if not words:
        raise DataError(f"{file}: contains no words; expected a text file with one word per line")
    return words


def only_stop_words(phrase: str, words: frozenset[str]) -> bool:
    """Whether a phrase consists of stop words only; words in capitals (IT, WHO) are not stop words."""
    return all(not (len(word) > 1 and word.isupper()) and _plain_word(word) in words for word in _words(phrase))


def _words(phrase: str) -> list[str]:
    """Return the words without surrounding punctuation; a symbol (an emoji, "+") is a word too."""
    edges = {char for char in phrase if unicodedata.category(char)[0] == "P"}
    return [word for part in phrase.split() if (word := part.strip("".join(edges)))]


def _plain_word(word: str) -> str:
    return word.strip().replace("’", "'").casefold()


# --- equal meaning: each of two sentences entails the other (section 3.2.2); requires the extra nli

AUTO, JUDGE = "auto", "judge"
PAPER_MODEL = "MoritzLaurer/mDeBERTa-v3-base-xnli-multilingual-nli-2mil7"
"""The classifier used by the paper, trained on fifteen languages of XNLI and twelve more."""
_ENTAILMENT = "entailment"
_MOST_TOKENS = 512
_LOCK = Lock()


def chosen_model(option: str) -> str | None:
    """Return the model selected by an option.

    Args:
        option: `auto` for the paper's model if the extra is installed, `judge` for none, or a folder or a name on the
            hub, which may end in `@revision`.

    Raises:
        UsageError: A model is named, but the extra is not installed.
    """
    missing = missing_modules("nli")
    if option == JUDGE or (option == AUTO and missing):
        return None
    if missing:
        raise UsageError(
            f"option nli_model: {option} requires {' and '.join(missing)}: {install_hint('nli')}, "
            f"or let the verifier decide with nli_model={JUDGE}"
        )
    return PAPER_MODEL if option == AUTO else option


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
    return await to_thread.run_sync(_decide, model, one, other)


def _decide(model: str, one: str, other: str) -> Answer[str]:
    with _LOCK:
        classify = load(model)
        tokenizer, config = classify.tokenizer, classify.model.config
        longest = min(tokenizer.model_max_length, config.max_position_embeddings, _MOST_TOKENS)
        pairs = [{"text": one, "text_pair": other}, {"text": other, "text_pair": one}]
        if any(len(tokenizer(**pair)["input_ids"]) > longest for pair in pairs):
            return Answer(UNCERTAIN, f"longer than the {longest} tokens that {model} reads")
        both = all(result["label"].casefold() == _ENTAILMENT for result in classify(pairs))
    return Answer(YES if both else NO, model)


@cache
def load(model: str) -> Any:
    """Load a model as a pipeline of transformers, once per process.

    Raises:
        UsageError: The model cannot be loaded, or is not an NLI model.
    """
    from transformers import pipeline

    name, _, revision = (model, "", "") if Path(model).exists() else model.partition("@")
    try:
        classify = pipeline("text-classification", model=name, revision=revision or "main")
    except (OSError, ValueError, ImportError, KeyError) as error:
        reason = " ".join(str(error).split())[:300]
        raise UsageError(
            f"option nli_model: {model} cannot be loaded; name a folder with -T nli_model=PATH, or let the verifier "
            f"decide with -T nli_model={JUDGE} ({reason})"
        ) from None
    labels = [*map(str, classify.model.config.id2label.values())]
    if [label.casefold() for label in labels].count(_ENTAILMENT) != 1:
        raise UsageError(
            f"option nli_model: {model} has the labels {', '.join(labels)} instead of {_ENTAILMENT!r}; name a "
            "model for natural-language inference"
        )
    return classify
