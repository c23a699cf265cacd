"""The papers of a list: the names under which they are cited, and the citations of them in a sentence.

A paper's name is the surname of its first author and its year, "Smith (2019)". A missing year is "n.d."; missing
authors are replaced by the first words of the title in quotation marks, or by "Anonymous" if it has no title. Papers
with the same name, except for accents, get letters in their order: "Smith (2019a)", "Smith (n.d.-a)".

Citations have a name and a year, or a number counted from 1:

- "Ling (2009)", "Ling and Benton [2009]", "Ling et al.'s (2009)", even if no paper matches;
- "(Ling, 2009; see also Benton and Roy 2010, 2011a, b)"; if no paper matches, only if there is no text before the names
  except "see" and similar words;
- "Ling 2009" and "Ling's 2009 trial" in running text; only if a paper matches, or with "et al." or "&";
- "Paper 3", "Papers 1, 2 and 4", "[3]", "[1-3]".

A paper matches if the first name is that of its first author and the year is the same. If no paper matches, those with
the name among their other authors match. Further names only choose between several matches. A year alone is not a
citation, and neither is a name alone.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from importlib.resources import files
from string import ascii_lowercase
from typing import NamedTuple

import yaml

from halu_tasks.scorers.gold import Paper
from halu_tasks.text.folding import fold

YEARS = range(1500, 2100)
"""Valid years; any other number means that the year is missing (0 in the released data)."""

# characters of a sentence that are read; no real sentence is longer
_LONGEST = 20_000
# the maximum distance, in characters, of names from the year
_REACH = 300
# the maximum number of words of a title in a name
_TITLE_WORDS = 5


class ListedPaper(NamedTuple):
    """A paper's name, and the parts by which its citations are recognised.

    Attributes:
        paper: The paper.
        key: The name.
        surnames: The surnames of the authors, or a title or "Anonymous" in their place; never empty.
        year: The year; None if it is missing.
        letter: The letter that distinguishes papers of the same name; empty if there is only one.
        titled: Whether the title replaces the authors.
    """

    paper: Paper
    key: str
    surnames: tuple[str, ...]
    year: int | None
    letter: str = ""
    titled: bool = False


class CitingSentence(NamedTuple):
    """A sentence with its citations.

    Attributes:
        sentence: The sentence.
        papers: The papers of the list that it cites, each once, in the order of their first citation.
        unknown: The citations, as written, that match no paper of the list.
        ambiguous: The citations, as written, that match several papers, all of which are among the `papers`.
    """

    sentence: str
    papers: list[Paper]
    unknown: list[str]
    ambiguous: list[str]


_WORDS = {
    kind: frozenset(words.split())
    for kind, words in yaml.safe_load((files("halu_tasks.scorers") / "citations.yaml").read_text("utf-8")).items()
}


# --- names of papers --------------------------------------------------------------------------------------

_TITLE_MARKS = re.compile(r"[\"“”„«»()\[\]<>*_`#]+")
_SPELLED_OUT = re.compile(r"([aou])e|(?<=a)a")
_DANGLING = re.compile(rf"(?:{'|'.join(_WORDS['dangling'])}|\W)\W*", re.IGNORECASE)


def listed_papers(papers: Iterable[Paper]) -> list[ListedPaper]:
    """Make the reference of each paper, in order, with distinct keys.

    Raises:
        ValueError: More than 26 papers have the same first author and year.
    """
    without_letters = [_without_letter(paper) for paper in papers]
    # the same form for surnames that may be confused, such as "Rösler", "Rosler" and "Roesler"
    names = [(_SPELLED_OUT.sub(r"\1", "".join(_words(each.surnames[0]))), each.year) for each in without_letters]
    counts = Counter(names)
    letters = {name: iter(ascii_lowercase) for name, count in counts.items() if count > 1}
    result: list[ListedPaper] = []
    for reference, name in zip(without_letters, names, strict=True):
        if counts[name] > len(ascii_lowercase):
            raise ValueError(f"{counts[name]} papers named {_key(reference, '')}: there are letters for only 26")
        letter = next(letters[name]) if name in letters else ""
        result.append(reference._replace(key=_key(reference, letter), letter=letter))
    return result


def _without_letter(paper: Paper) -> ListedPaper:
    surnames = tuple(surname(name) for name in paper["authors"] if any(map(str.isalnum, name)))
    title = "" if surnames else _short_title(" ".join(_TITLE_MARKS.sub(" ", paper["title"]).split()))
    year = paper["year"] if paper["year"] in YEARS else None
    return ListedPaper(paper, "", surnames or (title or "Anonymous",), year, titled=bool(title))


def _key(reference: ListedPaper, letter: str) -> str:
    name = f'"{reference.surnames[0]}"' if reference.titled else reference.surnames[0]
    year = str(reference.year or "n.d.")
    return f"{name} ({year}{'-' if letter and not reference.year else ''}{letter})"


def _short_title(title: str) -> str:
    head = re.split(r"[:.?!;–—]\s|[.:;]$", title, maxsplit=1)[0].strip()
    first_words = (head if " " in head else title).split()[:_TITLE_WORDS]
    while len(first_words) > 1 and _DANGLING.fullmatch(first_words[-1]):
        del first_words[-1]
    return " ".join(first_words).rstrip(" ,.:;–—-")


# --- surnames of authors ----------------------------------------------------------------------------------

_GROUP = re.compile(rf"\b(?:{'|'.join(_WORDS['groups'])})\b", re.IGNORECASE)
_PINYIN = re.compile(
    r"(?:(?:[zcs]h|[bpmfdtnlgkhjqxrzcsyw])?(?:[aeiou]{0,2}(?:[aeiu]n|[aeio]ng|er)|[aeiou]{1,3})[-‐‑']?){1,2}"
)
_IDEOGRAPHS = re.compile(r"[\u3040-\u30ff\u3400-\u9fff々\uac00-\ud7af]+")
# surname and given name without a space, as in "SmithJohn", but not "McDonald"
_NO_SPACE = re.compile(r"((?!Mc|Mac|De|Di|Du|La|Le|Van|Von|O[’'])[^\W\d_A-Z]?[A-Z][\w.-]*?[a-z]|[A-Z]{2,})[A-Z][a-z].*")
_INITIALS = re.compile(
    r"[^\W\d_](?:(?:\.[-‐‑]?|[-‐‑])[^\W\d_])*\.?|[A-Z]{2,3}|(?!Ng)[B-DF-HJ-NP-TV-XZ][b-df-hj-np-tv-xz]"
)


def surname(name: str) -> str:
    """Return the surname of an author; of several persons separated by commas, of the first.

    It is the last word with the particles before it ("van der Berg", "De Bruyne"), or everything before a comma.
    Titles, degrees, "Jr.", trailing initials ("de Vries GE") and footnote numbers are not part of it. In "Liu Guoxia"
    and "Hua Hou-jie" it comes first, because a common Chinese surname is followed by a word that is spelled like a
    Chinese given name. A group ("WHO Collaborating Group") is its own surname.
    """
    name = " ".join(re.sub(r"\([^()]{0,60}\)|(?<=[^\W\d_])\d{1,2}$", " ", name).split())
    if _GROUP.search(name) and not re.search(r"\b\w\.", name):
        return name.rstrip(" .")
    before, comma, after = (part.strip() for part in name.partition(","))
    if comma and before:
        words = [word for word in before.split() if word.lower() not in _WORDS["particles"]]
        given = [word for word in after.replace(",", " ").split() if not _is_in(_WORDS["suffixes"], word)]
        if given and (len(words) == 1 or len(given) == 1 or all(map(_INITIALS.fullmatch, given))):
            return before
        name = before
    # "Dr.C K Gomathy": a full stop after more than one letter separates words, too
    parts = re.sub(r"(?<=[^\W\d_]{2}\.)(?=\w)", " ", name).split()
    while len(parts) > 1 and _is_in(_WORDS["titles"], parts[0]):
        del parts[0]
    while len(parts) > 1 and _is_in(_WORDS["suffixes"], parts[-1]):
        del parts[-1]
    parts = [part.rstrip(".") if len(part) > 4 and "." not in part[:-1] else part for part in parts if part.strip(".")]
    return _surname_of(parts)


def _is_in(listed: frozenset[str], word: str) -> bool:
    return word.lower().replace(".", "").strip(",") in listed


def _surname_of(parts: list[str]) -> str:
    if len(parts) == 1 and (match := _NO_SPACE.fullmatch(parts[0])):
        return match[1]
    if len(parts) < 2 or all(map(_INITIALS.fullmatch, parts)):
        return " ".join(parts)
    last = len(parts)
    # "de Vries GE", "Archibong E P": initials after the surname
    while last > 1 and _INITIALS.fullmatch(parts[last - 1]) and any(len(part) > 2 for part in parts[: last - 1]):
        last -= 1
    if last == len(parts) == 2 and _has_surname_first(*parts):
        return parts[0]
    first = last - 1
    while (
        first > 0
        and parts[first - 1].lower() in _WORDS["particles"]
        and (first > 1 or parts[0].islower() or last < len(parts))
    ):
        first -= 1
    return " ".join(parts[first:last])


def _has_surname_first(first: str, second: str) -> bool:
    """Return whether two words are a Chinese name in its own order, or any name in ideographs."""
    if _IDEOGRAPHS.fullmatch(first + second):
        return True
    first, second = first.lower(), second.lower()
    if second in _WORDS["chinese_surnames"]:
        return first in _WORDS["most_common_chinese_surnames"] and second not in _WORDS["most_common_chinese_surnames"]
    return first in _WORDS["chinese_surnames"] and bool(_PINYIN.fullmatch(second))


# --- citations --------------------------------------------------------------------------------------------

_CLEAN = str.maketrans(
    {
        **dict.fromkeys(map(ord, "*`~\\_\u200b\u200c\u200d\u2060\ufeff\u00ad"), ""),
        **dict(zip(map(ord, "（）【】［］，；：＆"), "()[][],;:&", strict=True)),
        **dict.fromkeys(map(ord, "‐‑‒–—−"), "-"),
        **dict.fromkeys(map(ord, "’‘ʼ′"), "'"),
        **dict.fromkeys(map(ord, "“”"), '"'),
    }
)
_LETTERS = str.maketrans({"ł": "l", "ø": "o", "đ": "d", "ð": "d", "æ": "ae", "œ": "oe", "þ": "th", "ħ": "h"})
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "å": "aa", "ø": "oe"})

_NUMBERS = r"\d{1,3}(?:(?: ?[,;&-] ?| to |,? and )(?:paper )?\d{1,3}(?![\d%]|\.\d|\w)){0,30}"
_PAPER = re.compile(rf"\b(?:papers (?P<many>{_NUMBERS})|paper [#\[]?(?P<one>\d{{1,3}}))(?![\w%]|\.\d)", re.IGNORECASE)
_BRACKET = re.compile(rf"\[ ?(?P<many>(?!0){_NUMBERS}) ?\]")
# text before a bracket with an interval: "95% CI [1, 5]", "4 [3, 5]"
_INTERVAL = re.compile(r"(?:\b(?:CI|CrI|IQR|interval|range|scale|median|mean)\b.{0,12}|[\d%=,:] ?)\Z", re.IGNORECASE)

_YEAR = r"(?:(?:1[5-9]|20)\d\d|n\. ?d\.)"
_MORE = rf"(?: ?[,;/&] ?|,? and )(?:{_YEAR}(?:-?[a-z])?(?= ?(?:[)\],;:.&/']|and\b|\Z))|[a-z](?= ?[)\],;/&]))"
_DATES = re.compile(
    rf"(?<![\w./$£€-]){_YEAR}(?:-?[a-z])?(?:{_MORE})*(?![\w%]|\.\d| ?-+ ?\d| (?:to|until|through)\b)", re.IGNORECASE
)
_OPENED = re.compile(r" ?[(\[] ?\Z")
_CLOSED = re.compile(r"[^()\[\]]{0,60}[)\]]")
_MONTH = re.compile(rf"\b(?:{'|'.join(_WORDS['months'])}),? ?\Z")
_OTHERS = re.compile(
    r",?\s(?:et\.?\s?al\b\.?|(?:and|&)\s(?:(?:his|her|their)\s)?(?:colleagues|co-?workers|others|co-?authors)|&\sal\.?)"
    r"(?:,?'s?)?[\s,.]*\Z",
    re.IGNORECASE,
)
_POSSESSIVE = re.compile(r"'s?(?: [a-z-]{2,20}){0,4} ?\Z")
_TOKEN = re.compile(r"[^\W\d_]+(?:['.-]{1,2}[^\W\d_]+)*\.?|\S")
_SEPARATORS = frozenset({",", "and", "&"})
_ABBREVIATED = re.compile(r"(?:[^\W\d_]{1,3}[.-]{1,2})+|Jr|Sr")
_CAPITALS = re.compile(r"[A-Z]{1,3}")


def find_citations(sentence: str, references: Sequence[ListedPaper]) -> CitingSentence:
    """Find the citations of a sentence and the papers of a list that they match, in linear time.

    Args:
        sentence: The sentence.
        references: The papers of the list.
    """
    text = unicodedata.normalize("NFC", sentence[:_LONGEST]).translate(_CLEAN)
    text = " ".join(re.sub(r"</?[a-zA-Z]{1,10}>", "", text.replace("&amp;", "&").replace("&nbsp;", " ")).split())
    # where a space is missing: "[Ling2009]"
    text = re.sub(r"(?<=[^\W\d_]{3})(?=(?:19|20)\d\d[a-z]?\b)", " ", text)
    citations = sorted(
        [*_by_number(text, len(references)), *_by_year(text, references)], key=lambda citation: citation[0]
    )
    return CitingSentence(
        sentence,
        [references[index].paper for index in dict.fromkeys(index for _, papers, _ in citations for index in papers)],
        list(dict.fromkeys(written for _, papers, written in citations if not papers)),
        list(dict.fromkeys(written for _, papers, written in citations if len(papers) > 1)),
    )


# where a citation is in the text, the indexes of the papers that match, and the citation as written
_Citation = tuple[int, list[int], str]


def _by_number(text: str, count: int) -> Iterator[_Citation]:
    """Find citations such as "Paper 3" and "[3]" in a list of `count` papers."""
    for match in [*_PAPER.finditer(text), *_BRACKET.finditer(text)]:
        numbers = match["many"] or match["one"]
        in_bracket = match[0][0] == "["
        if (
            in_bracket
            and re.search(r"[,;]", numbers)
            and _INTERVAL.search(text, max(match.start() - 20, 0), match.start())
        ):
            continue
        each: list[int] = []
        for first, last in re.findall(r"(\d+)(?:(?: ?- ?| to )(\d+))?", numbers):
            begin, end = int(first), int(last or first)
            each += range(begin, end + 1) if begin <= end <= begin + 30 else [begin, end]
        for number in each:
            written = match[0] if len(each) == 1 else f"[{number}]" if in_bracket else f"Paper {number}"
            yield match.start(), [number - 1] if 1 <= number <= count else [], written


def _by_year(text: str, references: Sequence[ListedPaper]) -> Iterator[_Citation]:
    previous, inside = 0, False
    for dates in _DATES.finditer(text):
        between = text[previous : dates.start()]
        last_open, last_close = (max(map(between.rfind, signs)) for signs in ("([", ")]"))
        inside = last_open > last_close or (inside and last_close < 0)
        floor = max(previous, dates.start() - _REACH)
        opened = _OPENED.search(text, max(floor, dates.start() - 4), dates.start())
        end = opened.start() if opened else dates.start()
        if inside and not opened:
            floor = max(floor, *(text.rfind(sign, floor, end) + 1 for sign in "([;"))
        previous = dates.end()
        if not (opened or inside) and _MONTH.search(text, max(end - 12, 0), end):
            continue
        names = _names_before(text[floor:end])
        begin = floor + names.at
        # "(see Ling, 2009)": what is before the names in a bracket
        leads = inside and _WORDS["leads"].issuperset(text[floor:begin].lower().replace(",", " ").split())
        sure = names.credible and bool(opened or names.several or leads)
        closing = _CLOSED.match(text, dates.end()) if opened else None
        whole = text[begin : closing.end() if closing else dates.end()].strip(" ,;" if opened else " ,;()[]")
        each = _each_date(dates[0])
        for year, letter in each:
            papers = _matches(names, text[floor:end], year, letter, references)
            if papers or sure:
                by_name = f"{text[begin:end].strip(' ,:')} ({year or 'n.d.'}{letter})"
                yield dates.start(), papers, whole if len(each) == 1 else by_name


def _each_date(dates: str) -> list[tuple[int | None, str]]:
    """Split a list of years with their letters, of which "2009a, b and 2011" has three; the year of "n.d." is None."""
    each: list[tuple[int | None, str]] = []
    for part in re.finditer(rf"(?P<year>{_YEAR})-?(?P<letter>[a-z]?)|(?<![a-z])[a-z](?![a-z])", dates, re.IGNORECASE):
        if part["year"]:
            each.append((int(part["year"]) if part["year"].isdigit() else None, part["letter"].lower()))
        else:
            each.append((each[-1][0], part[0].lower()))
    return each


class _Names(NamedTuple):
    """The names before a year.

    Attributes:
        authors: What each author's surname can be, in order: the last words of the name, joined.
        starts: The number of authors with which the list can begin: in "In Europe, Ling (2009)", any before an "and".
        several: Whether there are several authors, or "et al.".
        credible: Whether these can be names even if no paper matches; "Table" and "May" cannot.
        at: Where they begin in the text.
    """

    authors: list[list[str]]
    starts: int
    several: bool
    credible: bool
    at: int


def _names_before(text: str) -> _Names:
    part = text.rstrip(" ,:\"'»")
    et_al = _OTHERS.search(part)
    part = part[: et_al.start()] if et_al else _POSSESSIVE.sub("", part)
    run: list[re.Match[str]] = []
    for token in [*_TOKEN.finditer(part)][:-60:-1]:
        after = run[0][0] if run else ""
        is_separator = token[0] in _SEPARATORS and after != "," and (after not in _SEPARATORS or token[0] == ",")
        if not (_is_name_word(token[0], after) or (run and is_separator)):
            break
        run.insert(0, token)
    elements: list[list[re.Match[str]]] = [[]]
    starts = 0
    for token in run:
        if token[0] not in _SEPARATORS:
            elements[-1].append(token)
            continue
        if elements[-1]:
            elements.append([])
        if token[0] != ",":
            starts = starts or len(elements) - 1
    for element in elements:
        while len(element) > 1 and _begins_sentence(element[0][0]):
            del element[0]
    while len(elements) > 1 and len(elements[0]) == 1 and _begins_sentence(elements[0][0][0]):
        del elements[0]
        starts = max(starts - 1, 0)
    if not elements[0]:
        return _Names([], 0, several=False, credible=False, at=0)
    several = bool(et_al or starts)
    last = elements[-1][-1][0]
    credible = not _begins_sentence(last) and last.lower().strip(".") not in _WORDS["not_names"] and len(last) > 1
    at = elements[0 if several else -1][0].start()
    return _Names([_endings(element) for element in elements], starts or len(elements), several, credible, at)


def _is_name_word(token: str, after: str) -> bool:
    """Return whether a token is a word of a name; a particle only is one if another word of the name comes after it."""
    if not token[0].isalpha():
        return False
    if token[0].islower():
        return token in _WORDS["particles"] and after[:1].isalpha() and after not in _SEPARATORS
    # a longer word with a full stop ends a sentence
    return not token.endswith(".") or bool(_ABBREVIATED.fullmatch(token))


def _begins_sentence(word: str) -> bool:
    return word.lower().strip(".") in _WORDS["openings"] or (word.endswith("ly") and len(word) > 8)


def _endings(element: list[re.Match[str]]) -> list[str]:
    """Return the last words of a name, joined, the longest first; "Ling JM" ends in Ling."""
    tokens = [token[0] for token in element]
    while (
        len(tokens) > 1
        and (_ABBREVIATED.fullmatch(tokens[-1]) or _CAPITALS.fullmatch(tokens[-1]))
        and not tokens[0].isupper()
    ):
        del tokens[-1]
    words = _words(" ".join(tokens))
    return ["".join(words[start:]) for start in range(len(words))]


def _words(text: str) -> list[str]:
    """Split a text into words without case, accents, apostrophes and hyphens: "O'Dowd-Łęcki" becomes odowd, lecki."""
    return re.sub(r"[\W_]+", " ", fold(re.sub(r"['’‘ʼ`´′.]", "", text)).translate(_LETTERS)).split()


@lru_cache(maxsize=4096)
def _forms(name: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return the forms of a surname, "rosler" and "roesler" of Rösler, and others: without particles, "who"."""
    without = [word for word in name.split() if word.lower() not in _WORDS["particles"]]
    acronym = "".join(word[0] for word in without if len(without) > 2 and word[0].isupper()).lower()
    exact = {"".join(_words(form)) for form in (name, name.lower().translate(_UMLAUTS))}
    return frozenset(exact), frozenset({"".join(_words(" ".join(without))), acronym})


def _matches(names: _Names, before: str, year: int | None, letter: str, references: Sequence[ListedPaper]) -> list[int]:
    """Return the indexes of the papers of a year that match names best.

    Args:
        names: The names.
        before: The text before the year, which may end with a name in lower case, or contain a title.
        year: The year; None if it is missing.
        letter: The letter behind it, if there is one.
        references: The papers.
    """
    papers = [index for index, reference in enumerate(references) if reference.year == year]
    if letter:
        # a paper without a letter is the only one of its name
        with_letter = [index for index in papers if references[index].letter == letter]
        papers = with_letter or [index for index in papers if not references[index].letter]
    for kind, authors in ((0, slice(1)), (0, slice(1, None)), (1, slice(None))):
        for start, endings in enumerate(names.authors[: names.starts]):
            for ending in endings:
                found = [
                    index
                    for index in papers
                    if any(ending in _forms(name)[kind] for name in references[index].surnames[authors])
                ]
                if found:
                    return _best(found, names.authors[start + 1 :], names.several, references)
    spaced = f" {' '.join(_words(before))} "
    by_name = {index: f" {' '.join(_words(references[index].surnames[0]))} " for index in papers}
    return [
        index
        for index, name in by_name.items()
        if (name in spaced if references[index].titled else not names.authors and spaced.endswith(name))
    ]


def _best(papers: list[int], coauthors: list[list[str]], several: bool, references: Sequence[ListedPaper]) -> list[int]:
    for endings in coauthors:
        cited_with = [
            index
            for index in papers
            if any(not _forms(name)[0].isdisjoint(endings) for name in references[index].surnames[1:])
        ]
        papers = cited_with or papers
    return [index for index in papers if len(references[index].surnames) > 1 or not several] or papers
