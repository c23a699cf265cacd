"""Splitting prose written by models into sentences, in particular summaries of papers and biographies.

A line end ends a sentence, unless the next line begins in lower case or with a bracket (wrapped text). Marks of lists,
headings and quotes, and rules ("---"), are not part of any sentence; apart from white space nothing else is left out.
Within a line:

- 。！？؟۔ and the danda always end a sentence; a full stop, "!", "?" and dots do if white space and a possible
  beginning of a sentence follow, or a capital without white space ("done.Then");
- the full stop of an abbreviation, an initial or a list number ends no sentence, unless the next word shows that it
  does: "et al." and "etc." end a sentence before a capital, "U.S.", "Jr." and initials only before a word that commonly
  begins sentences;
- in languages that write ordinals with a full stop ("am 3. Oktober", "II. Mehmed"), a number of up to two digits or a
  Roman numeral ends a sentence only before such a word;
- quotes and brackets that close after a full stop belong to its sentence, and so does a citation that follows:
  "It works. (Ling, 2009)", "It works.[3]";
- no sentence ends inside brackets, unless they are very long.

Two other modules split sentences in their own ways: `scorers.reading.text` rewrites the text and splits it
after every full stop, since no verdict depends on "et al."; `expmatch` splits it at every full stop, as the metric's
authors do.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from halu_tasks.text.spans import Span

# no real summary is longer; the rest of a longer text (a model caught in a loop) is one sentence
_MOST = 200_000
_ALWAYS = "。！？｡؟۔।॥"
_HYPHENS = ("-", "‐", "‑")
_LINE_END = re.compile(r"\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_MARK = re.compile(
    r"(?:\s|(?:#{1,6}|[-*+·–—]|\(?\d{1,3}[.)]|\(?[a-zA-Z]\))(?=\s)|[>•◦▪‣●○])*",
)
_RULE = re.compile(r"[-*_=|:+\s]*")
_BRACKETS = re.compile(r"\([^()]{0,300}\)|\[[^\[\]]{0,300}\]|（[^（）]{0,300}）")
_CLOSERS = r"[\"'”’»›)\]）」』】*_`⁰¹²³⁴-⁹]{0,10}"
_STOP = re.compile(
    rf"(?P<always>[{_ALWAYS}])[{_ALWAYS}.!?…]*{_CLOSERS}|(?<![.!?…])(?P<stops>[.!?…]++){_CLOSERS}(?=\Z|[\s([（]|[^\W\d_])"
)
# a citation after the full stop; brackets that contain a full stop at their end are a sentence of their own
_CITATION = re.compile(
    r"\s?(?:\[\d{1,3}(?:\s?[,;–-]\s?\d{1,3}){0,20}\]"
    r"|[(\[（](?=[^()\[\]（）]{0,300}?(?:1[5-9]|20)\d\d)[^()\[\]（）]{0,300}(?<![.!?])[)\]）])[.。]?"
    # unless it begins the next sentence: "[3] shows that"
    r"(?!\s{0,3}[a-z])"
)
# single letters with full stops are one word, also with white space between them: "e.g", "z. B"
_WORD = re.compile(r"(?:(?<!\w)[^\W\d_A-Z]\.\s)?[^\W\d_](?:[.'’-]{0,2}[^\W\d_])*\Z")
_NUMBER = re.compile(r"(?<![\w.,:/-])(?:(?P<digits>\d{1,2})|[IVXLCDM]{1,6})\Z")
# the first part of "z. B." or "n. Chr."
_LOWER_LETTER = re.compile(r"(?<!\w)[^\W\d_]\Z")
_NEXT_PART = re.compile(r"(?:[^\W\d_]|Chr)\.")
# in a script without capitals, unless it is a unit or follows a combining mark
_CASELESS_INITIAL = re.compile(r"(?:\A|[^\d\s]\s|[(«\"])[^\W\d_a-zß-ÿ]\Z")
_LIST_NUMBER = re.compile(r"(?:\A\W*|[:;]\s{1,3}[(*_]{0,3})\d{1,2}\Z")
_ADDRESS = re.compile(r"(?:://|www\.|@)\S*\Z")
_BEGINS = re.compile(r"[\"'“‘«‹(\[（「『*_`$~¿¡]{0,5}(?P<word>[^\W_]*)")

_PARTICLES = re.compile(
    r"(?:(?:van|von|de|der|den|del|della|di|da|dos|du|la|le|ten|ter|zu|zur|bin|ibn|al|el)\s){1,3}[^\W\d_a-zß-ÿ]"
)


def _words(words: str) -> frozenset[str]:
    return frozenset(words.split())


_NEVER = _words(
    "dr mr mrs ms mx prof st fig figs eq eqs ref refs tab suppl vol vols ed eds vs cf viz ca approx esp incl"
    " resp e.g eg i.e ie gen sen rev hon capt lt col dept univ"
    # of other languages, if they are no words in English
    " bzw vgl evtl ggf inkl sog abb bd hl hrsg d.h tzv tzn např dott sig ing sra dra núm pág mme mlle"
    " hz sn av doç yrd alb örn bkz"
)
_BEFORE_NUMBER = _words(
    "no nos p pp sec sect ch chap art app para jan feb mar apr jun jul aug sep sept oct nov dec v nr č s"
)
_BEFORE_OPENING = _words("jr sr inc ltd co corp bros esq phd md chr jh usw etab")
# words that commonly begin sentences, of each language
_OPENING = {
    "en": _words(
        "a an the this these those it its they their there we our he she his her you one two three several many most"
        " some all both each other others another such in on at for from with by as if when while although though"
        " however moreover furthermore additionally also similarly conversely finally overall thus therefore hence"
        " further after before during since because despite given using based what which who how and but or yet so"
        " not no to of first second third next then later taken together results findings evidence"
    ),
    "de": _words(
        "der die das den dem des ein eine einen einem einer dieser diese dieses er sie es seine ihre wir man im in am"
        " an auf aus bei bis für mit nach seit über um unter von vor zu zum zur zwischen als wenn während weil obwohl"
        " da dann danach dort damit dabei dadurch daher auch aber doch und oder jedoch heute später zuvor außerdem"
        " nachdem sein ihr beide viele einige alle nicht kein keine"
    ),
    "es": _words(
        "el la los las un una este esta estos estas ese esa su sus él ella ellos es en de del a al por para con como"
        " cuando aunque sin durante desde después tras también además y pero o se fue era no según entre más otros"
    ),
    "fr": _words(
        "le la les l un une ce cet cette ces il elle ils elles son sa ses leur on en dans à au aux de du des par pour"
        " avec sans sur sous lors après avant depuis pendant selon comme si mais et ou cependant ainsi également"
    ),
    "it": _words(
        "il lo la i gli le l un una questo questa questi queste egli lui lei essi suo sua suoi in nel nella a al alla"
        " di del della da dal con per su tra fra dopo prima durante secondo come quando se ma e o anche inoltre è fu"
    ),
    "cs": _words(
        "v ve na po za z ze s se k ke o od do u pro při před mezi během podle to ten ta tento tato toto jeho její"
        " jejich je jsou byl byla bylo byli když který která po poté později také a ale nebo kromě"
    ),
}
# languages that write ordinals with a full stop: those where a number and a capital begin a name or a noun, and those
# where this is so for Roman numerals
_ORDINALS = _words("de lb tr az hu eu")
_ROMAN_ORDINALS = _ORDINALS | _words("cs sk pl sl hr bs sr fi et lv da nb nn no is fo")


def sentences(text: str, language: str = "en") -> list[str]:
    """Return the sentences of a text, in order and unchanged.

    Args:
        text: The text.
        language: The ISO 639-1 code of its language, which matters after abbreviations and ordinals.
    """
    return [text[start:end] for start, end in spans(text, language)]


def spans(text: str, language: str = "en") -> list[Span]:
    """Return the spans of the sentences of a text, in order.

    Between them there are only white space, list marks and rules. Takes time linear in the length of the text.

    Args:
        text: The text.
        language: The ISO 639-1 code of its language, as for `sentences`.
    """
    sentence_spans = [span for block in _blocks(text, min(len(text), _MOST)) for span in _split(text, *block, language)]
    if len(text) > _MOST and (rest := text[_MOST:].strip()):
        begin = text.index(rest[0], _MOST)
        sentence_spans.append((begin, begin + len(rest)))
    return sentence_spans


def _blocks(text: str, most: int) -> Iterator[Span]:
    """Yield the spans of lines without their marks; wrapped lines are joined."""
    start = end = 0  # of the block that was not yielded yet, if any
    may_continue = False  # whether the next line may belong to the block
    for first, last in _lines(text, most):
        mark = _MARK.match(text, first, last)
        begin = mark.end() if mark else first
        while last > begin and text[last - 1].isspace():
            last -= 1
        if _RULE.fullmatch(text, begin, last):
            may_continue = False
            continue
        marked = not text[first:begin].isspace() and begin > first
        if may_continue and not marked and (text[begin].islower() or text[begin] in "(（"):
            end = last
            continue
        if end > start:
            yield start, end
        start, end = begin, last
        may_continue = "#" not in text[first:begin] and text[last - 1] not in ":："
    if end > start:
        yield start, end


def _lines(text: str, most: int) -> Iterator[Span]:
    """Yield the spans of the first `most` characters' lines, without line ends."""
    start = 0
    for line_end in _LINE_END.finditer(text, 0, most):
        yield start, line_end.start()
        start = line_end.end()
    yield start, most


def _split(text: str, start: int, end: int, language: str) -> Iterator[Span]:
    brackets = _BRACKETS.finditer(text, start, end)
    bracket = next(brackets, None)
    at = start
    while stop := _STOP.search(text, at, end):
        at = stop.end()
        while bracket and bracket.end() < at:
            bracket = next(brackets, None)
        if bracket and bracket.start() < stop.start() and at < bracket.end():
            continue
        if not stop["always"] and not _ends(text, start, stop, end, language):
            continue
        if citation := _CITATION.match(text, at, end):
            at = citation.end()
        yield start, at
        while at < end and text[at].isspace():
            at += 1
        start = at
    if start < end:
        yield start, end


def _ends(text: str, start: int, stop: re.Match[str], end: int, language: str) -> bool:
    """Whether a sentence that begins at `start` ends with these full stops and the closing marks after them."""
    at = stop.end()
    before = text[max(start, stop.start() - 30) : stop.start()]
    rest = text[at : min(at + 40, end)]
    following = rest.lstrip()
    if not following:
        return True
    if before[-1:] in ("(", "["):  # "(?)", "[...]"
        return False
    begins = _BEGINS.match(following)
    word = begins["word"] if begins else ""
    if rest[0].isspace():
        wrapped = _LINE_END.search(rest[: len(rest) - len(following)])
        if not word and following[0] not in "([（":
            return False
        # a lower-case word begins a sentence only if it contains a capital or a digit (mTOR, p53, β-carotene) or is
        # part of a name
        plain = word.islower() and word.isalpha() and following[1:2] not in _HYPHENS
        if plain and following[0] not in "([（" and not wrapped and not _PARTICLES.match(following):
            return False
    elif rest[0] in "([（":
        return bool(_CITATION.match(text, at, end)) and not _abbreviated(before, word, language, closed=False)
    elif not _glued(before, rest) or _ADDRESS.search(before):
        return False
    if before[-1:].islower() and _LOWER_LETTER.search(before) and _NEXT_PART.match(following):
        return False
    closed = not set(stop[0]).isdisjoint(")]）")
    return stop["stops"] != "." or not _abbreviated(before, word, language, closed=closed)


def _glued(before: str, rest: str) -> bool:
    """Whether the white space between two sentences is missing; it is not in "Ph.D", "U.S.A" or "file.TXT"."""
    if rest[0].islower() or not (rest[1:2].islower() or rest[1:2] in " \t" or "\u3400" <= rest[0] <= "\u9fff"):
        return False
    return not before[-1:].isalpha() or (before[-2:].isalpha() and not before[-1:].isupper())


def _abbreviated(before: str, following: str, language: str, *, closed: bool) -> bool:
    """Whether a full stop belongs to an abbreviation or an ordinal and ends no sentence.

    Args:
        before: The text before the full stop.
        following: The word after it.
        language: The language of the text.
        closed: Whether brackets close after the full stop. An abbreviation before them, as in "(in the U.S.)", does
            not end a sentence, whatever follows.
    """
    if _LIST_NUMBER.search(before):
        return True
    openings = _OPENING.get(language, _OPENING["en"])
    opens = not closed and following.lower() in openings and following[:1].isupper()
    if number := _NUMBER.search(before):
        ordinal = language in (_ORDINALS if number["digits"] else _ROMAN_ORDINALS)
        if ordinal or number["digits"]:
            return ordinal and not opens
    match = _WORD.search(before)
    if not match:
        return False
    word = "".join(match[0].lower().split())
    if match[0].isupper() and len(word) > 1 and word.isalpha():  # "patients in the ED"
        return False
    if word in _NEVER:
        return True
    if word in _BEFORE_NUMBER and (len(word) > 1 or match[0].islower()):
        return following[:1].isdigit()
    if word in ("al", "etc"):
        return closed or following[:1].islower() or (word == "al" and not following[:1].isalpha())
    if len(word) == 1 and (match[0].isupper() or _CASELESS_INITIAL.search(before)):
        return not opens
    return not opens and (word in _BEFORE_OPENING or ("." in word and len(word) <= 6))
