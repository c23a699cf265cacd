"""The construction of HalluVerse25 (Abdaljalil, Kurban and Serpedin 2025, section 3 and appendix B).

Factual sentences are copied from biographies, and one error of a randomly drawn type is put into each.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Annotated

from rapidfuzz.distance import LCSseq

from halu_tasks.builders.documents import Document, SourceText, ends_sentence, one_line, sentence_count
from halu_tasks.builders.pipeline import Ask, Draft, Fault, Pipeline, Row, Temperature, TextPair, some_of
from halu_tasks.builders.replies import UNREADABLE, objections, read_object, read_texts, read_verdict
from halu_tasks.core.concurrency import gather
from halu_tasks.core.settings import Count, Help
from halu_tasks.scorers.judge import fence
from halu_tasks.scorers.reading.questions import ENTITY, NONE, RELATION, SENTENCE, error_type
from halu_tasks.text.folding import SPACELESS

TYPES = (ENTITY, RELATION, SENTENCE)
SHORTEST, LONGEST = 4, 150
"""Minimum and maximum number of words of a sentence."""

EXTRACTION, COPY, EDIT, FORM, EXTENT = "extraction", "copy", "edit", "form", "extent"
VERDICT, WRONG, FLUENT, TYPE = "verdict", "wrong", "fluent", "type"
_DENIED = {WRONG: "not wrong", FLUENT: "not fluent"}
_ASKED = (WRONG, FLUENT, TYPE)


@dataclass(frozen=True)
class HalluVerse25Pipeline(Pipeline):
    """Copy sentences from biographies, and edit each to contain an entity, relation or sentence error.

    There is a draft for every sentence that was requested or returned. Its error type is drawn from the document's id
    and the sentence, so it depends on nothing else.
    """

    name = "halluverse25_pipeline"
    version = 2
    about = "biographical sentences with an entity, relation or sentence error (HalluVerse25)"
    benchmark = "halluverse25"
    paper = "halluverse25"
    checks = (EXTRACTION, COPY, EDIT, FORM, EXTENT, VERDICT, *_ASKED)
    prompts_used = ("extract", *TYPES, "verify")
    generating = ("extract", *TYPES)
    labels = (*TYPES, "0")

    generator_temperature: Temperature = 1.0
    min_sentences: Annotated[Count, Help("minimum number of sentences of a document")] = 20
    facts: Annotated[Count, Help("number of sentences to copy from a document")] = 5
    types: Annotated[tuple[str, ...], some_of(TYPES), Help(f"types of error to draw from: {', '.join(TYPES)}")] = TYPES

    def refuse(self, document: Document) -> Fault | None:
        """Return why a document cannot be used; also refuses those with fewer than `min_sentences` sentences."""
        if failure := super().refuse(document):
            return failure
        count = sentence_count(document.text, self.language)
        if count < self.min_sentences:
            return Fault("document", "too few sentences", f"{count}, fewer than min_sentences={self.min_sentences}")
        return None

    async def drafts(self, document: Document, ask: Ask) -> list[Draft]:
        """Return a draft for each copied sentence, then one for each missing, superfluous or unusable sentence."""
        reply = await self.generate(ask, "extract", document=fence(document.text), number=str(self.facts))
        extraction, source, seen = read_texts(reply), SourceText(document.text), set[tuple[str, ...]]()
        copies = extraction.value or []
        facts = [self._fact(source, copy, seen) for copy in copies[: self.facts]]
        facts += [Fault(EXTRACTION, extraction.reason or "fewer than requested")] * (self.facts - len(copies))
        facts += [Fault(EXTRACTION, "more than requested", one_line(copy)) for copy in copies[self.facts :]]
        edits = await gather(*(self._edit(document, source, fact, ask) for fact in facts if isinstance(fact, str)))
        faults = [(str(place), fault) for place, fault in enumerate(facts) if isinstance(fault, Fault)]
        return [*edits, *(self.rejected(fault, document, "", "", place) for place, fault in faults)]

    def _fact(self, source: SourceText, copy: str, seen: set[tuple[str, ...]]) -> str | Fault:
        """Return a copied sentence as the document writes it, or why it cannot be used."""
        sentence = source.sentence(copy)
        key = tuple(words(sentence.value or "", self.language))
        if sentence.value is None:
            reason = sentence.reason
        elif sentence_count(sentence.value, self.language) > 1:
            reason = "several sentences"
        elif not SHORTEST <= len(key) <= LONGEST:
            reason = "too short" if len(key) < SHORTEST else "too long"
        elif key in seen:
            reason = "repeated"
        else:
            seen.add(key)
            return sentence.value
        return Fault(COPY, reason, one_line(copy))

    async def _edit(self, document: Document, source: SourceText, sentence: str, ask: Ask) -> Draft:
        """Return the draft of an edited sentence, checked by rules and by the verifier."""
        kind = self.types[self.draw(document.id, sentence) % len(self.types)]
        reply = read_object(await self.generate(ask, kind, sentence=fence(sentence)), "edited")
        raw = (reply.value or {}).get("edited", "")
        edited = match_style(sentence, raw)
        if not words(edited, self.language):
            return self.rejected(Fault(EDIT, reply.reason or "no words", sentence), document, kind, sentence)
        pair = f"original: {sentence}\nedited: {edited}"
        extent = extent_faults(sentence, edited, kind, self.language)
        if not extent and source.holds(edited):
            extent = ["occurs in the document"]
        verification = await self.verify(ask, "verify", original=fence(sentence), edited=fence(edited))
        objected = _read_verification(verification, kind, pair)
        faults = (
            *(Fault(FORM, reason, pair) for reason in form_faults(sentence, raw, self.language)),
            *(Fault(EXTENT, reason, pair) for reason in extent),
            *objected,
        )
        unread = any(fault.check == VERDICT for fault in objected)
        checks = self.checks_until(VERDICT) if unread else self.checks
        row = {"orig_sentence": sentence, "edited_sentence": edited, "final_label": kind}
        return Draft.of(document, kind, sentence, checks=checks, faults=faults, row={} if faults else row)

    def blamed(self, fault: Fault, draft: Draft) -> tuple[str, ...]:
        """Return `extract`, or the prompt of the draft's type; none if the verifier could not be read."""
        if fault.check in (EXTRACTION, COPY):
            return ("extract",)
        return () if fault.check == VERDICT or fault.reason.startswith(UNREADABLE) else (draft.kind,)

    def lines(self, item: Draft) -> Iterator[tuple[str, Row]]:
        """Return the item's row of the language's file."""
        yield f"{self.language}_final_data.csv", dict(item.row)

    def pairs(self, item: Draft) -> Iterator[TextPair]:
        """Return the original and the edited sentence."""
        yield TextPair(item.row["orig_sentence"], item.row["edited_sentence"])

    def parts(self, item: Draft) -> dict[str, dict[str, str]]:
        """Return what the paper's annotators saw: the two sentences, without the type that was asked for."""
        return {"": {"original": item.row["orig_sentence"], "edited": item.row["edited_sentence"]}}

    def key(self, item: Draft) -> str:
        """Return the original sentence."""
        return str(item.row["orig_sentence"])

    def annotated(self, item: Draft, labels: Mapping[str, str | None]) -> Draft | None:
        """Return the item with the annotators' label as its type; None if the label is 0 (no error).

        The benchmark's files contain rows labelled 0 as well, but its tasks skip them by default.
        """
        label = labels[""]
        if label is None or label == self.labels[-1]:
            return None
        return replace(item, kind=label, row={**item.row, "final_label": label})


def _read_verification(reply: str, kind: str, pair: str) -> list[Fault]:
    """Return the faults that a verifier found, which does not know the type that was asked for."""
    answers = read_object(reply, *_ASKED, own=True)
    if answers.value is None:
        return [Fault(VERDICT, answers.reason, pair)]
    # the reason is requested, but optional
    reason = one_line((read_object(reply, "reason", own=True).value or {}).get("reason", ""))
    faults: list[Fault] = []
    for check, denied in _DENIED.items():
        verdict = read_verdict(answers.value[check])
        faults += objections(check, verdict._replace(reason=verdict.reason or reason), denied, pair)
    label = error_type(answers.value[TYPE]).value
    if label != kind:
        seen_as = (
            UNREADABLE if label is None else "classified as no error" if label == NONE else f"classified as {label}"
        )
        faults.append(Fault(TYPE, seen_as, f"{pair}\nverifier: {reason}"))
    return faults


# --- rule-based checks of edits: their form, and how much they change -----------------------------
#
# An entity error replaces a person, place, date, number or thing; a relation error replaces what connects them; a
# sentence error changes the whole claim (section 2 and appendix B). Rules distinguish the first two from rewriting, and
# the third from the change of a word. A verifier decides the rest: whether it is an entity or a relation error, and
# whether the sentence is wrong at all.
#
# The limits and their source: the paper states none, and its data are only available on request. Measured were the 27
# pairs that it prints (table 1, three in each language; appendices B and C, 18 in English).
#
# | measure | entity, relation (18 pairs) | sentence (9) | limit |
# |---|---|---|---|
# | words kept, of the longer sentence | 0.56 to 0.94 | 0.25 to 0.70 | half, for entity and relation |
# | words changed | 1 to 4 | 3 to 9 | two, for sentence |
# | characters, edited to original | 0.86 to 1.24 | 0.98 to 1.22 | half to twice |
#
# All 27 pass, which for 18 pairs only shows that at least 0.82 of such pairs do (95%, Wilson). The limits are therefore
# the wide ones implied by the definitions: most of a sentence is at least half of it, and more than a word is two.

KEPT = 0.5
"""Minimum share of the longer sentence's words that an entity or relation edit keeps."""
REWRITTEN = 2
"""Minimum number of words that a sentence edit changes."""
LENGTHS = (0.5, 2.0)
"""Minimum and maximum length of the edited sentence in characters, relative to the original."""

_APOSTROPHES = str.maketrans("’ʼ＇", "'''")
_ARABIC_MARKS = re.compile("[\u0640\u064b-\u065f\u0670\u06d6-\u06ed]")
_DOTTED_I = ("tr", "az")
_INSIDE = "\u0300-\u036f\u0483-\u0487\u0591-\u05c7\u0900-\u0963\u0971-\u0dff\u200c\u200d"
_WORD = re.compile(
    rf"[{SPACELESS}]|[+#%‰°$€£¥₺&@]"
    rf"|(?:(?![{SPACELESS}])[^\W_])(?:(?![{SPACELESS}])(?:[^\W_]|[{_INSIDE}]|(?<=\w)'(?=\w)|(?<=\d)[.,٫٬](?=\d)))*"
)
_MARKUP = frozenset("<>{}[]*_`|#=~^\\\ufffd")
_STOPS = ".。۔।"
_DOTTED = re.compile(r"\.\S*\.\Z")  # "U.S.", dots
_QUOTES = "\"'“”„‘’«»‹›「」"


def words(text: str, language: str) -> list[str]:
    """Return the words of a sentence, normalized.

    Case, tatweel and Arabic vowel signs are removed, and digits of any script become 0 to 9. A suffix after an
    apostrophe belongs to its word; in scripts without spaces each character is a word.
    """
    text = one_line(text).translate(_APOSTROPHES)
    if language in _DOTTED_I:
        text = text.replace("İ", "i").replace("I", "ı")
    text = _ARABIC_MARKS.sub("", unicodedata.normalize("NFKC", text).casefold())
    return _WORD.findall("".join(str(unicodedata.decimal(char, char)) for char in text))


def form_faults(original: str, edited: str, language: str) -> list[str]:
    """Return why an edited sentence is not a single sentence in the form of the original; empty if it is."""
    tests = {
        "several lines": len(edited.strip().splitlines()) > 1,
        "several sentences": sentence_count(edited, language) > max(sentence_count(original, language), 1),
        "markup": any(char not in original and _is_stray(char) for char in " ".join(edited.split())),
        "enclosed in quotes": _is_quoted(edited) and not _is_quoted(original),
        "length": not LENGTHS[0] <= len(one_line(edited)) / max(len(one_line(original)), 1) <= LENGTHS[1],
        "another script": script(edited) != script(original),
    }
    return [fault for fault, present in tests.items() if present]


def extent_faults(original: str, edited: str, kind: str, language: str) -> list[str]:
    """Return why an edit changes too little or too much for its type; empty if it does not."""
    before, after = words(original, language), words(edited, language)
    longer, common = max(len(before), len(after)), LCSseq.similarity(before, after)
    if common == longer:
        return ["unchanged"]
    if kind == SENTENCE:
        return ["only one word changed"] if longer - common < REWRITTEN else []
    return ["mostly rewritten"] if common / longer < KEPT else []


def match_style(original: str, edited: str) -> str:
    """Return the edited sentence on one line, with the original's style of apostrophes and its full stop or none.

    Otherwise these alone would distinguish the two.
    """
    text = one_line(edited)
    if "’" in original and "'" not in original:
        text = text.replace("'", "’")
    if ends_sentence(original) and not ends_sentence(text):
        return text + (original[-1] if original[-1] in _STOPS else "")
    if not ends_sentence(original) and text[-1:] in _STOPS and not _DOTTED.search(text):
        return text[:-1]
    return text


def script(text: str) -> str:
    """Return the script of most letters of a text, by the first word of their Unicode names; Han and kana are `CJK`."""
    names = Counter(unicodedata.name(char, "").partition(" ")[0] for char in text if char.isalpha())
    most_common = max(names, key=lambda name: (names[name], name), default="")
    return "CJK" if most_common in ("HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA") else most_common


def _is_stray(char: str) -> bool:
    return char in _MARKUP or unicodedata.category(char) in ("Cc", "Cs", "Co")


def _is_quoted(text: str) -> bool:
    text = text.strip()
    return len(text) > 1 and text[0] in _QUOTES and text.rstrip(".")[-1:] in _QUOTES
