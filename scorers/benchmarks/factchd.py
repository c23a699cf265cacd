"""FactCHD: label and explanation of a reply, FactCls and ExpMatch (section 5.1).

`strict` reads the label wherever a reply states it. `paper` reads and counts as the authors' evaluator
(`evaluate/` in their repository) does:

- a prefix `Output:`, then one `Response:`, then `FACTS:` is removed, the last being a label of its own;
- the label is what the reply begins with once lower-cased and freed of punctuation and articles, so that
  "Factually, …" is FACTUAL;
- the explanation begins behind a label that is written in one case throughout, else with the first letter;
- a reply without a label keeps the score of its explanation, and is no true or false positive or negative.
"""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import islice
from typing import Literal

from halu_tasks.items import Item
from halu_tasks.scorers.answer import Answer, strip_reasoning
from halu_tasks.scorers.benchmarks.expmatch import Parts, expmatch, expmatch_published, parts_scores, split
from halu_tasks.scorers.classification import Unparsed, label_metric, score_label
from halu_tasks.scorers.metrics import Metric, mean, share_unparsed
from halu_tasks.scorers.reading.labels.rewording import corrected, left_open
from halu_tasks.scorers.reading.labels.truth import truth
from halu_tasks.scorers.reading.labels.verdict_text import ends, sentences_of
from halu_tasks.scorers.registry import TaskScorer
from halu_tasks.scorers.score import Score
from halu_tasks.scorers.statistics.calibration import probability_metrics

FACTUAL, NON_FACTUAL = "FACTUAL", "NON-FACTUAL"
LABELS = (FACTUAL, NON_FACTUAL)
PATTERNS = {
    "Conventional": "vanilla",
    "Reasoning": "multi_hop",
    "Comparing": "comparison",
    "Operation": "set_operation",
}
"""The released categories and the paper's names for them."""

_BEHIND_LABEL = " .,;:'\"\n"

# --- the strict reading -----------------------------------------------------------------------------

# French, Spanish, Portuguese, Italian and German have their own words; "no" before the English one is a denial
# only in capitals ("no factual errors").
_ABROAD = r"(?:factuel(?:le)?|f[aá]ctic[oa]|fattuale|fatual|faktisch(?!\s\w))"
_NON = rf"(?:non|not|un|nicht|não|(?-i:NO)|no(?=\s{_ABROAD}))[\s\-_‐‑‒–—−]{{0,2}}"
_LABEL = rf"(?P<non>{_NON})?(?P<word>factual|facts|{_ABROAD}|(?-i:FACT)(?=\W*(?:\Z|\n)))(?![a-z0-9]|[\-‐‑]\w)"
_MARKS = r"[\s*_`#<>\"'“”‘’«»\[\](){}|~:.=\-–—]"
_PREFIX = re.compile(
    rf"{_MARKS}{{0,20}}(?:(?:output|response|answer|label|verdict|judge?ment|classification|result|assessment|"
    rf"conclusion|decision|ruling|rating|determination|category|class|(?:my"
    rf"|final)\s\w+)(?=\W)(?:\s+is\b)?{_MARKS}{{1,20}})?(?:facts\s*:{_MARKS}{{0,20}})?",
    re.IGNORECASE,
)
_AT_START = re.compile(rf"(?:the\s|this\s|it\s(?:is|'s)\s)?{_LABEL}", re.IGNORECASE)
# "FACTUAL or NON-FACTUAL", "neither factual nor non-factual": both, so none
_EITHER = re.compile(
    rf"(?:{_NON})?factual[\s\"'*`”’)\]]{{0,4}}(?:,?\s?\b(?:or|nor|and|vs\.?|versus)\b|[/|])[\s\"'*`“‘(\[]{{0,4}}"
    rf"(?:a\s)?(?:{_NON})?factual(?![a-z])",
    re.IGNORECASE,
)
_ANYWHERE = re.compile(rf"(?:factual|{_ABROAD})(?![a-z0-9])", re.IGNORECASE)
_NON_BEFORE = re.compile(rf"(?<![a-z0-9]){_NON}\Z", re.IGNORECASE)
_DECLARED = re.compile(
    r"\b(?:(?:final|overall|my)\s+(?:verdict|answer|label|judge?ment|decision|conclusion|assessment|classification)"
    r"|verdict)\b(?:\s+(?:is|would be|remains|should be)\b)?"
    rf"{_MARKS}{{0,20}}(?:that\s)?(?:(?:the|this)\s(?:answer|response|statement|claim)\sis\s)?{_MARKS}{{0,6}}$",
    re.IGNORECASE,
)
_STATED = re.compile(
    r"(?:\b(?:is|are|was|be|being|as|it|est|es|ist|go(?:ing)? with|pick|choose|say|opt for|lean(?:ing)?"
    r"|towards?|remains|answer|response|label(?:led|ed)?|verdict|judge?ment|deemed|considered"
    r"|classification|conclude[sd]?|rated?|output|therefore|thus|hence|so)|[:=→])"
    r"(?:\s+(?:is|as|to be|be|a|an|the|not|indeed|thus|therefore|completely|entirely|fully|clearly|actually|largely"
    rf"|mostly|also|in fact|considered|deemed|classified|labell?ed)\b){{0,4}}{_MARKS}{{0,6}}$",
    re.IGNORECASE,
)
_NEGATED = re.compile(
    # what is factual in part is not factual
    r"(?:\b(?:not|cannot|never|far from|anything but|hardly|no longer|partially|partly|only|half|(?:nothing|none"
    r"|no part)[^.;]{0,30}?|no (?:es|é)|n['’]est pas|ist nicht"
    r"|(?:wrong|incorrect|inaccurate|unfair|misleading|mistake|error|stretch|harsh|generous) to"
    r"|no (?:reason|grounds?|basis|justification|need) (?:to|for|in))|n['’]t)"
    r"(?:\s+(?:is|be|been|a|an|the|as|to|indeed|completely|entirely|fully|wholly|strictly|actually|considered|deemed"
    rf"|classified|labell?ed|call(?:ed)?|this|it|judged|really"
    r"|classify(?:ing)?|label(?:l?ing)?|rat(?:e|ing)|deem(?:ing)?|describ(?:e|ing)|regard|accept|treat|mark(?:ing)?"
    r"|consider(?:ing)?|calling|say|it|see|that|response|answer|statement"
    rf"|claim)\b){{0,5}}{_MARKS}{{0,6}}$",
    re.IGNORECASE,
)
_ANSWERED_NO = re.compile(
    rf"{_MARKS}{{0,4}}(?:[?:=]{_MARKS}{{0,4}}(?:no|false)\b|\?{_MARKS}{{0,4}}[❌✗✘✖])", re.IGNORECASE
)
# A list that marks each label: "FACTUAL ❌ / NON-FACTUAL ✅", "[x] FACTUAL / [ ] NON-FACTUAL"
_TICK = r"(?P<{}>[✅✔☑✓]|\[[xX✓✔]\])|[❌✗✘✖☐☒]|\[\s?\]"
_MARKED = re.compile(
    rf"(?:(?:{_TICK.format('before')})[\s*_`\ufe0f]{{0,4}})(?P<n>{_NON})?factual\b"
    rf"|(?P<m>{_NON})?factual[\s*_`:|]{{0,6}}(?:{_TICK.format('behind')})",
    re.IGNORECASE,
)
# "FACTUAL or NON-FACTUAL? I'd say the latter."
_BY_PLACE = re.compile(
    rf"(?P<non>{_NON})?factual\W{{1,6}}(?:or\W{{1,6}})?(?:{_NON})?factual\W{{0,4}}\?[^\n]{{0,60}}?"
    r"\bthe (?:(?P<first>former|first)|latter|second)\b",
    re.IGNORECASE,
)
_NOT_CHOSEN = re.compile(
    rf"\b(?:rather than|instead of|as opposed to)(?:\s(?:as|a|the))?{_MARKS}{{0,6}}$", re.IGNORECASE
)
_QUALIFIES = re.compile(
    r"[*_`\"'”’]{0,4}\s(?!and\b|but\b|because\b|as\b|since\b|in\b|based\b|given\b|due\b|for\b|according\b|or\b|so\b"
    r"|answer\b|response\b|statement\b|claim\b|here\b|then\b|overall\b)[a-z]",
)

# Labels that say nothing of the answer as it stands: of an answer that is supposed ("it would be FACTUAL if it said
# 1941", "a FACTUAL answer"), of a part of it ("the first claim is FACTUAL"), or in someone else's view.
_CONDITION = re.compile(r"\b(?:if|whether|had|were|unless|provided|then)\b", re.IGNORECASE)
_SUPPOSED = re.compile(
    r"\b(?:would|could|might)\b[^.;\n]*\Z|\bto be\b[^.;\n]{0,20}\Z|\b(?:if|whether|unless)\b[^.;:\n]*\Z", re.IGNORECASE
)
_PURPOSE = re.compile(
    rf"(?:\A|[.;:,\n]\s*|\bin order |\bfor (?:\w+ ){{1,4}})to be (?:considered |called )?{_MARKS}{{0,6}}\Z",
    re.IGNORECASE,
)
# "naming Curie would have made it FACTUAL"; but "the date is wrong, which would make it NON-FACTUAL" is a verdict
_WOULD_MAKE = re.compile(
    r"(?P<which>\b(?:which|this|that)\s)?(?:\b(?:would|could|might)\s(?:not\s)?|'d\s)(?:have\s)?(?:\w+ly\s)?"
    r"(?:ma[kd]e|render|turn|change|become|count)\w*\b[^.;\n]*\Z",
    re.IGNORECASE,
)
_IN_A_VIEW = re.compile(
    r"\b(?:some|one|others|people|someone)\s(?:might|may|could)\b[^.;\n]*\Z|\bcalling\b[^.;\n]*\Z", re.I
)
_ATTRIBUTE = re.compile(
    rf"(?<!\bis )(?<!\bas )(?<!\bwas )(?<!\bnot )(?<!n't )(?<!\bhardly )\b(?:a|an|the"
    rf"|any)\s(?:\w+,?\s){{0,2}}{_MARKS}{{0,4}}\Z",
    re.IGNORECASE,
)
_ATTRIBUTED = re.compile(
    rf"{_MARKS}{{0,4}}(?:answer|response|claim|version|statement|one|part|information|content)\b", re.IGNORECASE
)
_CLAUSE = re.compile(
    r"[.;:,\n(]|\b(?:but|because|and|(?:al|even )?though|while|whereas|so|since|however|thus|therefore)\b",
    re.IGNORECASE,
)
_PART = re.compile(
    r"\b(?:parts?|half|rest|else|sentences?|portion|first|second|third|last|latter|former|others?|remaining|some)\b"
    r"(?![^.;]*(?<!\bof )(?<!\bof the )\b(?:answer|response|it|this)\s(?:is|was)\b)",
    re.IGNORECASE,
)
_SUPPORTED = re.compile(
    r"\b(?:is|are|was)\s(?P<not>not\s|n't\s)?(?:\w+ly\s)?(?:(?P<good>supported|confirmed|backed|verified)"
    r"|contradicted|refuted)\b",
    re.IGNORECASE,
)


def read(reply: str) -> tuple[Answer[str], str]:
    """The label of a reply and its explanation, which is the reply without reasoning blocks and label.

    A label behind "final verdict" or "verdict" counts first, the last of them; then the label that the reply
    begins with, also behind "Output:", "Response:", "FACTS:" and marks; then the last label that is stated
    anywhere, in capitals or by a word such as "is". "Not factual" is NON-FACTUAL, and "FACTUAL or NON-FACTUAL"
    no label; nor is what is said of a part of the answer or of what it might have said. A reply without a label
    counts by its verdict in other words ("The answer is incorrect"), and abstains if it declines to give one.
    """
    text = strip_reasoning(reply)
    if text is None:
        return Answer(None, "unclosed reasoning"), ""
    text = ends(text.strip("\ufeff \t\r\n"))
    if not text:
        return Answer(None, "empty"), ""
    opening, explanation = _at_start(text)
    sentences = sentences_of(text)
    if left_open(sentences):
        return Answer(None, "left open"), explanation
    label = _chosen(text) or _corrected(sentences)
    if label is None:
        stated, declared = _anywhere(text)
        label = declared or opening or stated
    answer = Answer(label) if label else _in_other_words(text)
    return answer, explanation


def _chosen(text: str) -> str | None:
    """The label that a list marks as the one of both, or that is chosen by its place in the question."""
    marked = list(islice(_MARKED.finditer(text), 3))
    said = {bool(found["n"] or found["m"]): bool(found["before"] or found["behind"]) for found in marked}
    if len(marked) == len(said) == 2 and said[True] != said[False]:
        return NON_FACTUAL if said[True] else FACTUAL
    if (place := _BY_PLACE.search(text)) is not None:
        return NON_FACTUAL if bool(place["non"]) == bool(place["first"]) else FACTUAL
    return None


def _corrected(sentences: list[str]) -> str | None:
    """The label that the reply corrects itself to."""
    later = "\n".join(corrected(sentences))
    stated, declared = _anywhere(later)
    return declared or _at_start(later)[0] or stated


def _in_other_words(text: str) -> Answer[str]:
    """The label of a text that gives its verdict without the words of the labels."""
    sentences = sentences_of(text)
    if not sentences:
        return Answer(None, "no label")
    answer = truth(sentences)
    if answer.abstained:
        return answer
    if _EITHER.search(text):
        return Answer(None, "no label")
    said = answer.value or _supported(sentences[0]) or _supported(sentences[-1])
    return Answer(FACTUAL if said == "True" else NON_FACTUAL, inferred=True) if said else Answer(None, "no label")


def _supported(sentence: str) -> str | None:
    """The verdict of a sentence that tells of support ("The claim is supported by the data.")."""
    supported = _SUPPORTED.search(sentence)
    return supported and ("True" if bool(supported["good"]) != bool(supported["not"]) else "False")


def _at_start(text: str) -> tuple[str | None, str]:
    """The label that a text begins with, and what follows it; None and the whole text where it does not."""
    prefix = _PREFIX.match(text)
    start = prefix.end() if prefix else 0
    found = _AT_START.match(text, start)
    if not found or _EITHER.match(text, found.start("non") if found["non"] else found.start("word")):
        return None, text
    behind = text[found.end() : found.end() + 60]
    shouted = found["word"].isupper()
    if _ANSWERED_NO.match(behind):
        return None, text
    if found["word"].lower() == "facts" and not (shouted and "facts" in text[:start].lower()):
        return None, text
    if not shouted and behind[:1].isspace() and _QUALIFIES.match(behind):
        return None, text
    rest = text[found.end() :].lstrip(_BEHIND_LABEL + "*_`)]}>-–—#\t\r")
    return NON_FACTUAL if found["non"] else FACTUAL, rest


def _anywhere(text: str) -> tuple[str | None, str | None]:
    """The last label stated in a text, and the last that stands behind a final verdict."""
    stated: str | None = None
    declared: str | None = None
    words = list(_ANYWHERE.finditer(text))
    skipped = [match.span() for match in _EITHER.finditer(text)] if len(words) > 1 else []
    at = 0
    for found in words:
        while at < len(skipped) and skipped[at][1] <= found.start():
            at += 1
        if at < len(skipped) and skipped[at][0] <= found.start():
            continue
        before = text[max(found.start() - 120, 0) : found.start()]
        behind = text[found.end() : found.end() + 60]
        non = _NON_BEFORE.search(before)
        if not non and before[-1:].isalnum():
            continue
        before = before[: non.start()] if non else before
        negative = non is not None
        shouted = found[0].isupper()
        negated = bool(_NEGATED.search(before)) != bool(_ANSWERED_NO.match(behind))
        if (not shouted and _QUALIFIES.match(behind)) or _NOT_CHOSEN.search(before):
            continue
        if not (shouted or negative or negated or _STATED.search(before) or _alone(before, behind)):
            continue
        made = _WOULD_MAKE.search(before)
        if _is_aside(before, behind) or (made and (stated or not made["which"])):
            continue
        stated = FACTUAL if negative == negated else NON_FACTUAL
        if _DECLARED.search(before):
            declared = stated
    return stated, declared


def _is_aside(before: str, behind: str) -> bool:
    """Does the label between these say nothing of the answer as it stands?"""
    if _PURPOSE.search(before) or _IN_A_VIEW.search(before):
        return True
    if _ATTRIBUTE.search(before) and _ATTRIBUTED.match(behind):
        return True
    sentence = before[max(before.rfind(mark) for mark in ".;\n") + 1 :]
    supposed = _SUPPOSED.search(sentence)
    rest = re.split(r"[.;\n]", behind, maxsplit=1)[0]
    if supposed and (_CONDITION.search(sentence) or _CONDITION.search(rest)):
        return True
    clause = sentence[max((found.end() for found in _CLAUSE.finditer(sentence)), default=0) :]
    return _PART.search(clause) is not None


def _alone(before: str, behind: str) -> bool:
    """Is the word between these a line of its own?"""
    line_before, line_behind = before.rpartition("\n")[2], behind.partition("\n")[0]
    return not re.search(r"\w", line_before + line_behind)


def explanation_of(reason: str) -> str:
    """A gold explanation without the label that it begins with."""
    return _at_start(reason.strip())[1].strip()


def label_of(reason: str) -> str | None:
    """The label that a gold explanation begins with."""
    return _at_start(reason.strip())[0]


def score(item: Item, reply: str) -> Score:
    """Score of a reply in `strict`: an unparsed one is worth nothing, its explanation included."""
    answer, explanation = read(reply)
    found = parts_scores(split(explanation), split(explanation_of(str(item.gold["reason"]))))
    if answer.value is None:
        found = {part: None if value is None else 0.0 for part, value in found.items()}
    return _with_facts(item, answer, {"expmatch": expmatch(found), **{f"expmatch_{k}": v for k, v in found.items()}})


def _with_facts(item: Item, answer: Answer[str], facts: dict[str, float | None]) -> Score:
    base = score_label(item.id, item.cluster, item.target, answer, item.tags)
    stated = {name: value for name, value in facts.items() if value is not None}
    return replace(base, measurements={**base.measurements, **stated})


# --- as published -----------------------------------------------------------------------------------

_PUNCTUATION = re.compile(r"[!\"#$%&()*+,\-./:;<=>?@\[\]\\^`{|}~_']")
# No reply to the paper's models was so long; it bounds the time that a model caught in a loop costs.
_LONGEST = 1_000_000
_ARTICLE = re.compile(r"\b(?:a|an|the)\b")


def published_label(text: str) -> str | None:
    """The label that a cleaned text begins with, by the authors' normalisation."""
    plain = " ".join(_ARTICLE.sub(" ", _PUNCTUATION.sub(" ", text.lower())).split())
    if plain.startswith("non factual"):
        return NON_FACTUAL
    return FACTUAL if plain.startswith("factual") else None


def published_clean(text: str) -> str:
    """A text without the prefixes that the authors' evaluator removes."""
    text = text.strip().removeprefix("Output:").removeprefix("Response:")
    if text.startswith("FACTS:"):
        label = NON_FACTUAL if "NON-FACTS" in text else FACTUAL
        text = f"{label}.{text.removeprefix('FACTS:')}"
    return text


def published_parts(text: str) -> Parts:
    """The parts of a cleaned text, its label cut off where it is written in one case throughout."""
    text = text.strip()
    for label in ("non-factual", NON_FACTUAL, "factual", FACTUAL):
        if text.startswith(label):
            text = text.removeprefix(label)
            break
    else:
        first = next((at for at, char in enumerate(text) if char.isalpha()), None)
        text = text if first is None else text[first:]
    return split(text.lstrip(_BEHIND_LABEL))


def score_published(item: Item, reply: str) -> Score:
    """Score of a reply as the authors' evaluator gives it, but for its stemmer and its rounding."""
    cleaned = published_clean(reply[:_LONGEST])
    label = published_label(cleaned)
    gold = published_parts(published_clean(str(item.gold["reason"])))
    found = {part: value or 0.0 for part, value in parts_scores(published_parts(cleaned), gold).items()}
    facts: dict[str, float | None] = {
        "expmatch": expmatch_published(found),
        **{f"expmatch_{k}": v for k, v in found.items()},
    }
    return _with_facts(item, Answer(label, "" if label else "does not begin with a label"), facts)


# --- metrics ----------------------------------------------------------------------------------------

_CLASS: dict[str, Literal["precision", "recall", "f1"]] = {
    "factcls": "f1",
    "precision": "precision",
    "recall": "recall",
}


def _metrics(unparsed: Unparsed) -> tuple[Metric, ...]:
    factcls, *others = (label_metric(figure, NON_FACTUAL, name, unparsed=unparsed) for name, figure in _CLASS.items())
    # an F1 has no figure of one item; what a harness shows beside it is whether its label is right
    factcls = replace(factcls, item=lambda s: s.measurements["correct"])
    about = "mean match of explanation and gold explanation: 0.7 body + 0.15 head + 0.15 tail"
    everywhere = (
        factcls,
        *others,
        mean("acc", "correct", "share of items answered with the target"),
        share_unparsed(),
        mean("expmatch", "expmatch", about),
    )
    parts = tuple(
        mean(f"expmatch_{part}", f"expmatch_{part}", f"mean match of the explanation's {part}")
        for part in Parts._fields
    )
    return (*everywhere, *parts, *probability_metrics(NON_FACTUAL))


METRICS = _metrics("miss")
PUBLISHED_METRICS = _metrics("ignored")


def factchd_scorer(published: bool = False) -> TaskScorer:
    """Score the label and the explanation of a reply (section 5.1).

    Args:
        published: whether replies are read and scored as by the authors' evaluator (`paper`).

    Returns:
        A scorer with the metrics `factcls` (the F1 of NON-FACTUAL), `precision`, `recall`, `acc`, `expmatch` and its
        parts, and those of probabilities.
    """
    if published:
        return TaskScorer(lambda item, reply, _: score_published(item, reply), PUBLISHED_METRICS)
    return TaskScorer(lambda item, reply, _: score(item, reply), METRICS)


def read_label(reply: str) -> Answer[str]:
    """The label that a reply states."""
    return read(reply)[0]
