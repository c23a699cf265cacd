"""Which verdict a reply gives: true or false, answer A or B, option A to D, in English or Chinese.

These are the strict readings (the published ones are in `refact_published`). A reply is read in steps; in
each step the last finding wins, and a later step is tried only when the earlier ones found nothing.

1. A declared verdict: what stands behind "Final verdict", "Final answer", "答案：" and the like or in a LaTeX
   box, in the same sentence or, if nothing follows there, at the start of the next; and a first or last
   line that is nothing but the verdict.
2. A conclusion about the whole: "the correct answer is B", "I would choose B", "B is the more accurate one";
   "therefore, the answer is false", "the answer contains several inaccuracies".
3. A plain rating that could hold for several options: "Answer B is factually correct". It counts when it is
   given to one option alone, or to one only of those that are never called wrong.
4. Elimination: every option but one is called wrong. For true or false: a list of "inaccuracies found".

A declared "both" or "neither" is no verdict; only a choice made after it overrides it. A negation turns a
rating round. "Mostly true" is true and "partially true" is false, since the question is whether all of it
is. Markdown, LaTeX, quotation marks and full-width forms are removed before reading. A Chinese reply
without a declared truth value is read by its last judgment.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterator

from halu_tasks.scorers.answer import Answer, strip_reasoning

# No real reply is longer; of a longer one (a model caught in a loop) the two ends are read.
_HEAD, _TAIL = 50_000, 150_000
_REACH = 200  # Characters that are looked at behind a marker.
# No real sentence is longer or says more; the bounds keep the time linear.
_LONGEST, _MOST = 1_000, 20

_BOX = re.compile(r"\\boxed\s?\{|<(?:final_)?answer>", re.IGNORECASE)
_LATEX = re.compile(r"\\(?:(?:text|math)[a-z]{0,8}|emph|underline|quad)\s?\{?|</?[a-zA-Z_]{1,20}>")
_TRADITIONAL = "錯誤對確實準無沒說問題斷結論為應該屬偽內幻覺選項這個與題"
_SIMPLIFIED = "错误对确实准无没说问题断结论为应该属伪内幻觉选项这个与题"
_PLAIN: dict[int, str] = {
    **{code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)},
    **dict.fromkeys(map(ord, '*_`#~|>$"＊＿＃“”„«»「」『』【】\ufeff'), ""),
    **dict.fromkeys([*range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x206A)], ""),  # Unseen.
    **dict.fromkeys(map(ord, "{}[]\u3000"), " "),
    **dict.fromkeys(map(ord, "‘’"), "'"),
    **dict(zip(map(ord, _TRADITIONAL), _SIMPLIFIED, strict=True)),
}
_LIST_MARK = re.compile(r"(?m)^[ \t]*(?:[-+•·–—]|\d{1,3}[.)])[ \t]+")
# The point of "A. text" at the start of a line ends no sentence.
_SENTENCE_END = re.compile(r"(?m)\n+|(?<=[.!?;])(?<!^[A-Z]\.)\s+|(?<=。)|(?<=[!?;])(?=[\u3400-\u9fff])")

_LABEL = r"answer|winner|conclusion|choice|decision|judge?ment|result|rating|label|classification|assessment"
_DECLARED = re.compile(
    rf"(?<!this )\bverdict\b"
    rf"|\b(?:final|overall|my)\s(?:{_LABEL}|determination|pick|selection|response|evaluation)\b"
    rf"|^(?:the\s)?(?:{_LABEL})\s?[:=]|^(?:overall\s)?factual\s(?:accuracy|correctness)\s?:",
    re.IGNORECASE,
)
_BOTH = "both or neither"
_Reader = Callable[[str], str | None]


def _sentences(reply: str) -> list[str] | None:
    """The reply's answer part as plain sentences; None when its reasoning never ends."""
    text = strip_reasoning(reply)
    if text is None:
        return None
    text = text.strip()
    if len(text) > _HEAD + _TAIL:
        text = f"{text[:_HEAD]}\n{text[-_TAIL:]}"
    text = _LATEX.sub(" ", _BOX.sub("\nverdict: ", text)).translate(_PLAIN)
    parts = _SENTENCE_END.split(_LIST_MARK.sub("", text))
    return [
        piece
        for part in parts
        for start in range(0, len(part), _LONGEST)
        if (piece := part[start : start + _LONGEST].strip())
    ]


def _joined(sentences: list[str]) -> list[str]:
    """The sentences, each that ends in a colon continued by its next one."""
    pairs = zip(sentences, [*sentences[1:], ""], strict=True)
    return [f"{one} {following}"[: 2 * _REACH] if one[-1] == ":" else one for one, following in pairs]


# "I cannot give a final verdict", "nothing that would warrant a verdict of False"
_DENIED = re.compile(r"(?:\b(?:not|cannot|unable)\b|n't\b)(?:(?!\b(?:and|so|but)\b)[^,;:])*\Z")
_INTRODUCES = re.compile(
    r"(?:\W|\b(?:is|are|was|should|would|be|must|as|follows?|the|that|for|this|answer|remains)\b)*"
)


def _declared(sentences: list[str], marker: re.Pattern[str], read: _Reader) -> Iterator[tuple[int, str]]:
    """What each marker introduces, with the index of its sentence."""
    for index, sentence in enumerate(sentences):
        value: str | None = None
        behind: str | None = None
        for found in deque(marker.finditer(sentence), maxlen=_MOST):
            if _DENIED.search(sentence, max(found.start() - 100, 0), found.start()):
                continue
            behind = sentence[found.end() : found.end() + _REACH]
            value = read(behind) or value
        # A marker with nothing behind it, or before a colon, introduces what comes next.
        unread = behind is not None and value is None and index + 1 < len(sentences)
        if unread and (sentence[-1] == ":" or _INTRODUCES.fullmatch(behind or "")):
            value = read(sentences[index + 1][:_REACH])
        if value is not None:
            yield index, value


# --- one of several options ---------------------------------------------------------------------------

_NAME = r"(?:answers?|options?|choice|response|选项|答案)"
# What may stand between a marker and the letter it introduces.
_FILLER = re.compile(
    r"(?:[^\w(]|\b(?:is|are|was|be|should|would|will|must|as|of|for|to|that|the|my|with|so|thus|therefore"
    r"|factually|correct|right|best|better|more|accurate|final|verdict|definitely|clearly|actually|it(?:'s)?|one"
    r"|letter|in|based|on|analysis|favou?r|goes|given|still|only|and|being|having|i|say|choose|select|conclude"
    r"|declare)\b"
    r"|应该|应当|就是|应|是|为|选|择|项|的|该|当|最|正确|答案)*",
    re.IGNORECASE,
)
_REFUSAL = re.compile(
    r"(?:both|neither|either|none|all|cannot|can't|tied?|they|equal|inconclusive|undetermined|no)\b"
    r"|都|均|两者|两个|没有",
    re.IGNORECASE,
)
_AFTER_ARTICLE = re.compile(
    r"\s+(?!(?:is|was|and|or|because|since|as|over|for|due|based|by|with|in|on|here|arbitrarily|simply|only"
    r"|seems?|appears?|remains|provides?|gives|offers|presents|has|contains|demonstrates)\b)[a-z]"
)
_COORDINATED = re.compile(
    rf"\)?\s?(?:,|、|/|&|\+|\band\b|\bor\b|和|与|或|及)\s?(?:{_NAME}\s?)?\(?([A-Za-z])(?![A-Za-z0-9_]|'s)",
    re.IGNORECASE,
)
_BE = r"(?:is|was|as|are|being|seems?|appears?|remains|would\sbe|to\sbe)"
_ADVERBS = (
    r"(?:(?:(?!partial|part)\w+ly|also|the|an?|indeed|quite|very|still|only|both|entirely|to\sbe)\s+){0,5}"
)
_EN_WRONG = r"(?:not|incorrect|inaccurate|wrong|false|less|worse|flawed|misleading|untrue)\b"
_ZH_WRONG = r"(?:(?:选项|项|的|说法|是|也|为|则|都|属于)*(?:错|不正确|不对|不是|有误|不符|不准确))"
_EN_RIGHT = r"(?:factual|correct|accurate|right|true|valid)\b"
_ZH_RIGHT = r"(?:(?:选项|项|的|说法|才|是|为|唯一|最|最为|更)*(?:正确|对的|符合|准确|合适|恰当|最佳))"
_CALLED_WRONG = re.compile(
    rf"\)?(?:\s+{_BE}\s+{_ADVERBS}{_EN_WRONG}|\s+isn't\b|[\s.:]*{_ZH_WRONG}"
    r"|\s+(?:contains|has|makes)\s+(?!no\b)(?:[\w-]+\s+){0,4}?(?:errors?|mistakes?|inaccurac(?:y|ies)))",
    re.IGNORECASE,
)
_CALLED_RIGHT = re.compile(rf"\)?(?:\s+{_BE}\s+{_ADVERBS}{_EN_RIGHT}|[\s.:]*{_ZH_RIGHT})", re.IGNORECASE)
_RATED = re.compile(rf"\)?\s?[:(]\s?{_ADVERBS}(?:({_EN_RIGHT})|({_EN_WRONG}))", re.IGNORECASE)
# "B is the more accurate one", "B provides a better explanation": at most one option can be so called.
_EXCLUSIVE = re.compile(
    rf"\)?\s+(?:(?:{_BE}|provides?|offers?|gives?|presents?|has|demonstrates|contains)\s+(?:[\w-]+\s+){{0,5}}?"
    r"(?:more|most|better|best|superior|closest|closer|greater|preferable|preferred|stronger)\b"
    rf"|{_BE}\s+the\s+(?:[\w-]+\s+){{0,3}}?(?:answer|response|choice|option|one|verdict)\b"
    r"|(?:more|better)\s\w+|wins\b)",
    re.IGNORECASE,
)
_CHOICE = re.compile(
    r"(?<!not )(?<!n't )(?<!never )\b(?:choos(?:e|ing)|chose|pick(?:ing)?|select(?:ing|ed)?|go(?:ing)? with"
    r"|opt for|prefer|recommend|declare|favou?r|lean(?:ing)? towards?|vote for|sid(?:e|ing) with)\b"
    r"|\b(?:correct|right|best|better|accurate|true)"
    r" (?:answer|choice|option|response|one|explanation|statement)(?: here| overall)?"
    r" (?:is|would be|should be|must be|remains)\b"
    r"|\b(?:correct|right|best) (?:answer|choice|option|response):|\b(?:correct|accurate|right|better) is\b"
    r"|\bsay(?= (?:that )?(?:it's )?(?:answer |option )?\(?[A-Z]\)?[.,!]?\Z)"
    r"|(?<![不别未非])选择?|而是|(?:答案|选项)(?=\s?(?:应|是|为|就|:))",
    re.IGNORECASE,
)
_DECLARED_OPTION = re.compile(
    rf"{_DECLARED.pattern}|\b(?:the|my) answer is\b|^it's\b"
    r"|(?:答案|结论|最终选择|我的选择|正确选项)(?:应该|应当|应|就)?\s?(?:是|为|选|:)",
    re.IGNORECASE,
)
_PAIR = re.compile(
    r"(?<![A-Za-z])([A-Za-z])\)?\s?(?:and|or|nor|&|/|、|和|与)\s?(?:answer\s)?\(?$", re.IGNORECASE
)
_ALL_ALIKE = re.compile(
    r"\b(?:both|neither)\b(?:\s(?:of|the|answers?|options?|responses?|[A-D]|and|n?or|are|is|\w+ly)){0,9}"
    r"\s(?:in)?(?:correct|accurate|acceptable|valid|factual)\b",
    re.IGNORECASE,
)
_UNSURE = re.compile(r"(?:\bif|\bwhether|\bnor|\bneither)\s(?:answer\s|option\s)?\(?$", re.IGNORECASE)


class _Options:
    """The readings for one set of letters; every method takes plain sentences."""

    def __init__(self, letters: str) -> None:
        self.letters = letters
        cases = letters + letters.lower()
        self._first = re.compile(
            rf"(?P<not>not\s)?(?:(?P<name>{_NAME})\s?)?(?P<open>\()?(?P<letter>[{cases}])(?![A-Za-z0-9_]|'s)",
            re.IGNORECASE,
        )
        self._mention = re.compile(
            rf"(?<![A-Za-z0-9_'-])(?:(?i:{_NAME})\s?\(?[{cases}]|[{letters}])(?![A-Za-z0-9_-]|'s)"
        )
        self._line = re.compile(
            rf"\W*(?:(?:the )?(?:correct )?{_NAME}\s?)?\(?([{cases}])\)?"
            r"(?:\W*|\s?[.:、)]\s?\S.*|,?\s(?:since|because|as)\s.*)",
            re.IGNORECASE,
        )

    def read(self, text: str) -> str | None:
        """The option that `text` names at its start, `_BOTH` for a refusal to choose, or None.

        Of two options, one that is called wrong there names the other, in lower case.
        """
        filler = _FILLER.match(text)
        start = filler.end() if filler else 0
        named = self._first.match(text, start)
        if named is None:
            return _BOTH if _REFUSAL.match(text, start) else None
        value, end = named["letter"].upper(), named.end()
        bare = not named["name"] and not named["open"]
        if bare and named["letter"].islower() and text.strip(" .():,!") != named["letter"]:
            return None
        if bare and value == "A" and _AFTER_ARTICLE.match(text, end):
            return None
        other = _COORDINATED.match(text, end)
        if other and other[1].upper() in self.letters and other[1].upper() != value:
            return _BOTH
        if named["not"] or _CALLED_WRONG.match(text, end):
            return self.letters.replace(value, "").lower() if len(self.letters) == 2 else None
        return value

    def declared(self, sentences: list[str]) -> tuple[int, str] | None:
        """The last declared verdict and its sentence."""
        found = list(_declared(sentences, _DECLARED_OPTION, self.read))
        lines = [line for line in map(self._line.fullmatch, sentences) if line]
        for index in (0, len(sentences) - 1):
            line = self._line.fullmatch(sentences[index][:_REACH])
            # Several lines that open with a letter discuss or repeat the options.
            if line and len({other[1].upper() for other in lines}) == 1 and self.read(line[0]) != _BOTH:
                found.append((index, line[1].upper()))
        return max(found, key=lambda pair: pair[0]) if found else None

    def concluded(self, sentences: list[str]) -> str | None:
        """The last choice, exclusive rating, or rating in a sentence that concludes.

        `_BOTH` when a later conclusion rates all options alike.
        """
        value = None
        for sentence in sentences:
            at, concludes = -1, _CUE.match(sentence)
            if concludes and _ALL_ALIKE.search(sentence):
                value = _BOTH
            for found in deque(_CHOICE.finditer(sentence), maxlen=_MOST):
                named = self.read(sentence[found.end() : found.end() + _REACH])
                if named and named in self.letters:
                    value, at = named, found.end()
            for found in deque(self._mention.finditer(sentence), maxlen=_MOST):
                end = found.end()
                if at >= 0 or _CALLED_WRONG.match(sentence, end) or not self._stands(sentence, found):
                    continue
                if _EXCLUSIVE.match(sentence, end) or (concludes and _CALLED_RIGHT.match(sentence, end)):
                    value = found[0][-1].upper()
        return value

    def _stands(self, sentence: str, mention: re.Match[str]) -> bool:
        """Whether the mention is neither conditional nor half of "A and B"."""
        before = sentence[max(mention.start() - 30, 0) : mention.start()]
        if mention[0] == "A" and _AFTER_ARTICLE.match(sentence, mention.end()):
            return False
        pair = _PAIR.search(before)
        return not _UNSURE.search(before) and not (pair and pair[1].upper() in self.letters)

    def ratings(self, sentences: list[str]) -> tuple[set[str], set[str]]:
        """The options somewhere called right, and those somewhere called wrong."""
        right: set[str] = set()
        wrong: set[str] = set()
        for sentence in sentences:
            for found in deque(self._mention.finditer(sentence), maxlen=_MOST):
                if not self._stands(sentence, found):
                    continue
                letter = found[0][-1].upper()
                listed = _RATED.match(sentence, found.end())
                if _CALLED_WRONG.match(sentence, found.end()) or (listed and listed[2]):
                    wrong.add(letter)
                elif _CALLED_RIGHT.match(sentence, found.end()) or listed:
                    right.add(letter)
        return right, wrong


def _option(reply: str, letters: str) -> Answer[str]:
    """The option of `letters` that a reply takes, by the steps given at the top."""
    sentences = _sentences(reply)
    if sentences is None:
        return Answer(None, "unclosed reasoning")
    if not sentences:
        return Answer(None, "empty")
    options = _Options(letters)
    declared = options.declared(sentences)
    if declared and declared[1] in letters:
        return Answer(declared[1])
    joined = _joined(sentences)
    chosen = options.concluded(joined[declared[0] if declared else 0 :])
    if chosen:
        return Answer(chosen) if chosen in letters else Answer(None, "several answers")
    right, wrong = options.ratings(joined)
    if declared:
        left = {declared[1].upper()} & (set(letters) - wrong)
        return Answer(left.pop()) if left else Answer(None, "several answers")
    for candidates in (right, right - wrong, set(letters) - wrong if wrong else wrong):
        if len(candidates) == 1:
            return Answer(candidates.pop())
    return Answer(None, "several answers" if len(right) > 1 else "no verdict")


def pick(reply: str, options: str = "AB") -> Answer[str]:
    """Which of two answers the reply prefers: one of the letters, or unparsed.

    ReFACT's comparative judgment; the letters are those the prompt gives the two answers.
    """
    return _option(reply, options)


def choice(reply: str, options: str = "ABCD") -> Answer[str]:
    """Which option of a multiple-choice question the reply takes, in Chinese or English, or unparsed.

    C-FAITH's choice format. A reply that takes several options is unparsed.
    """
    return _option(reply, options)


# --- true or false -------------------------------------------------------------------------------------

# What may stand between a marker and the verdict it introduces.
_HEDGE = (
    r"the|this|that|given|provided|entire|whole|overall|full|answer|response|statement|explanation|information"
    r"|claim|is|are|was|be|been|should|would|will|must|can|as|in|to|of|for|my|it|its|i|a|an|therefore|thus|so"
    r"|factually|considered|deemed|rated|classified|marked|conclude|final|verdict|still|very|quite|fairly|indeed"
    r"|mostly|largely|generally|essentially|primarily|basically|technically|substantially|broadly|mainly|almost"
    r"|remains|leans?|towards?|definitely|demonstrably|completely|entirely|fully|totally|highly|reasonably"
    r"|probably|likely|clearly|all|every|each|statements|claims|points"
)
_TRUE = r"(?:true|correct|accurate|factual|valid|right|sound|reliable)"
_FALSE = (
    r"(?:false|incorrect|inaccurate|wrong|invalid|untrue|misleading|flawed|erroneous|unsupported|fabricated"
    r"|(?:non-?|un)factual)"
)
_VALUE = re.compile(
    rf"(?:\W|\b(?:{_HEDGE})\b)*(?P<not>\b(?:not|isn't)\s+(?:(?:{_HEDGE})\s+)*)?"
    r"(?P<part>\b(?:partial|partially|partly|somewhat|half|mixed|only|not)\b[\s-]+"
    r"(?:(?:partially|partly|factually)\s)?)?"
    rf"\b(?:(?P<true>{_TRUE}|yes(?!\s\w))|(?P<false>{_FALSE}|no(?!\s\w)))\b"
    r"(?!\s(?:answer|explanation|option|response|term)\b)",
    re.IGNORECASE,
)
# "True or False", "True if everything is correct": the instruction repeated.
_ECHO = re.compile(rf"\W*(?:(?:or|and)?\W*(?:{_TRUE}|{_FALSE})|if)\b", re.IGNORECASE)
_BARE = re.compile(r"\W*(true|false|correct|incorrect|yes|no)\b(?:\W*|\s?[.,:;(–—-].*)", re.IGNORECASE)

_FAULT = (
    r"(?:inaccurac(?:y|ies)|errors?|hallucinations?|mistakes?|misconceptions?|misunderstandings?|falsehoods?"
    r"|oversimplifications?|inconsistenc(?:y|ies)|flaws?|misinformation|misstatements?|exaggerations?)"
)
# "I would classify it as False"; the answer as a whole; a part of it; a sentence that concludes.
_RULING = re.compile(
    r"\b(?:I (?:would|will|must|have to|can)|should be|(?:classify|categori[sz]e|label|mark|rate)\b).{0,100}"
    r"\b(?:True|False)\b|\bcorrect answer\b.{0,150}?\bis (?:True|False)\b"
)
_NEGATION = r"\b(?:not|no|never|without|cannot|free|neither|nor|any)\b|n't\b"
_WHOLE = re.compile(
    r"\b(?:the|this|given|provided|entire|whole|overall|your|author's|above)\s"
    r"(?:(?!correct|accurate|better|right|ideal)[\w'-]+\s){0,2}?(?:answer|response)\b(?!')"
    r"|\bcorrect answer(?= (?:to [\w ]{1,40} )?is\b)",
    re.IGNORECASE,
)
_CLAIM = re.compile(
    r"\b(?:statement|explanation|information|claims?|it|this|text|passage|author|description)\b",
    re.IGNORECASE,
)
_CUE = re.compile(
    r"\W*(?:and |so )?(?:therefore|thus|hence|overall|in (?:conclusion|summary|short)"
    r"|to (?:conclude|summari[sz]e)|.{0,20}\bconclude\b"
    r"|(?:based|given|considering|because|since|ultimately|conclusion|consequently|as a result)\b)",
    re.IGNORECASE,
)
_CLAUSE_END = re.compile(
    r"[,;:()]|\b(?:but|however|although|though|while|and|so|yet|despite|making|thus)\b", re.IGNORECASE
)
_SUBORDINATE = re.compile(
    r"\b(?:that|which|because|since|as it|as the|due|regarding|about|concerning|where|who|when|in stating"
    r"|why|how)\b",
    re.IGNORECASE,
)
# "the correct answer" is another than the given one.
_NOT_GIVEN = r"(?!(?<=the )\w+\s(?:answer|explanation|statement|response|term)\b)"
_MINOR = re.compile(r"\b(?:minor|slight|small)\s(?:\w+\s)?\Z", re.IGNORECASE)
# A judgment word with what turns it round.
_JUDGED = re.compile(
    rf"(?P<no>(?:{_NEGATION})[^.]{{0,40}}?)?(?:(?P<part>\b(?:partially|partly|somewhat)\s+(?:\w+ly\s)?)?"
    rf"\b(?:(?:factual\s)?(?P<fault>{_FAULT})\b"
    rf"|{_NOT_GIVEN}(?P<true>{_TRUE})\b(?P<some>\sin\s(?:parts?|some)\b)?|(?P<false>{_FALSE})\b))",
    re.IGNORECASE,
)
# "The claim that … is not accurate."
_LAST_WORD = re.compile(
    rf"\b(?:is|are)\s(?P<no>not\s)?(?:\w+ly\s){{0,3}}(?:(?P<true>{_TRUE})|{_FALSE})\W*\Z", re.IGNORECASE
)
_FOUND = re.compile(
    rf"(?:\bnot\s|n't\s)?\b(?:find|found|following|identified|noticed?)\b[^.]{{0,80}}\b{_FAULT}\b",
    re.IGNORECASE,
)
_REFUSES = re.compile(
    r"\W*I(?:'m| am)? (?:can't|cannot|can not|won't|unable to|not able to)"
    r" (?:provide|give|offer|help|assist|evaluate|fulfil|answer|make|render)",
    re.IGNORECASE,
)
# The labels as the prompt writes them; at the start of a sentence the capital means nothing.
_WRITTEN = re.compile(r"(?<=\w )(?<!not )(?:True|False)\b")
_PARTLY = re.compile(r"\b(?:partially|partly|somewhat)\s(?:true|false)\b", re.IGNORECASE)
_BUT_FAULTY = re.compile(
    rf"\b(?:but|however|though)\b[^.]*\b(?:contains?|has|have|includes?)\b[^.]*\b{_FAULT}", re.IGNORECASE
)


_CONTAINS = re.compile(
    rf"(?:\W|\b(?:{_HEDGE})\b)*\b(?:contains?|has|includes?)\s(?P<no>no\s)?(?:\w+\s){{0,4}}?{_FAULT}\b",
    re.IGNORECASE,
)


def _word(good: bool) -> str:
    return "True" if good else "False"


def _read_truth(text: str) -> str | None:
    """The verdict that `text` begins with, or None."""
    found = _VALUE.match(text)
    if found is None:
        faults = _CONTAINS.match(text)
        return _word(faults["no"] is not None) if faults else None
    if found["true"] and _ECHO.match(text, found.end()):
        return None
    if found["true"] and found["true"].lower() != "true" and _BUT_FAULTY.search(text, found.end()):
        return "False"
    turned = found["not"] or (found["part"] and found["true"])
    return _word(bool(found["true"]) != bool(turned))


def _judgment(sentence: str) -> str | None:
    """The last judgment among the main clauses of a sentence."""
    value = None
    start = 0
    labels = {found[0] for found in _WRITTEN.finditer(sentence)}
    if len(labels) == 1 and not _PARTLY.search(sentence):
        return labels.pop()
    for end in [*(found.start() for found in _CLAUSE_END.finditer(sentence)), len(sentence)]:
        clause, start = sentence[start:end], end
        subject = _WHOLE.search(clause) or _CLAIM.search(clause)
        begin = subject.end() if subject else 0
        below = _SUBORDINATE.search(clause, begin)
        judged = _JUDGED.search(clause, begin, below.start() if below else len(clause))
        if judged and not (judged["fault"] and _MINOR.search(clause, 0, judged.start("fault"))):
            good = bool(judged["true"]) and not judged["part"] and not judged["some"]
            value = _word(good != bool(judged["no"]))
    last = _LAST_WORD.search(sentence)
    if value is None and last:
        value = _word(bool(last["true"]) != bool(last["no"]))
    return value


def true_false(reply: str) -> Answer[str]:
    """Whether the reply calls a text factual ("True") or not ("False"), in English; or unparsed.

    ReFACT's independent judgment: "False" also when it only says that the text contains inaccuracies.
    """
    sentences = _sentences(reply)
    if sentences is None:
        return Answer(None, "unclosed reasoning")
    if not sentences:
        return Answer(None, "empty")
    return _truth(sentences)


def _truth(sentences: list[str]) -> Answer[str]:
    """The verdict of English sentences."""
    found = list(_declared(sentences, _DECLARED, _read_truth))
    for index in (0, len(sentences) - 1):
        bare = _BARE.fullmatch(sentences[index][:_REACH])
        if bare:
            found.append((index, _word(bare[1].lower() in ("true", "correct", "yes"))))
    if found:
        return Answer(max(found, key=lambda pair: pair[0])[1])
    marked = [index for index, sentence in enumerate(sentences) if _DECLARED.search(sentence)]
    joined = _joined(sentences)
    value = (marked and _concluded(joined[marked[-1] :])) or _concluded(joined)
    for faults in filter(None, map(_FOUND.search, sentences)):
        value = value or _word(re.search(_NEGATION, faults[0], re.IGNORECASE) is not None)
    return Answer(value, "" if value else "no verdict")


def _concluded(sentences: list[str]) -> str | None:
    """The last judgment of the whole, best in a sentence that concludes; else a concluding one of a part."""
    concluding = [_CUE.match(sentence) is not None for sentence in sentences]
    for cue, subject in ((True, _WHOLE), (False, _WHOLE), (False, _RULING), (True, _CLAIM)):
        for sentence, concludes in zip(reversed(sentences), reversed(concluding), strict=True):
            if concludes >= cue and subject.search(sentence) and not _REFUSES.match(sentence):
                value = _judgment(sentence)
                if value:
                    return value
    return None


# --- true or false, in Chinese -------------------------------------------------------------------------

_ZH_TEXT = re.compile("[\u3400-\u9fff]")
_ZH_DECLARED = re.compile(
    r"(?:判断|结论|答案|结果|判定|判决|裁定|评判|评价|最终|回答)(?:结果|判断|答案|结论)?(?:是|为|应为|应该是|:)+"
)
# A verdict that needs no subject: it stands alone, or a mark follows it.
_ZH_BARE = re.compile(
    r"[\W_]*(?:因此|所以|综上|总之|故|[,:，]|该|这个|此|上述|回答|答案|说法|陈述|是|为|完全|基本|大致|大体|总体|属于)*"
    r"(?P<no>不是|并非|不|没有?|非)?(?:完全|太|够|十分|很|是)?"
    r"(?:(?P<true>正确|准确|属实|真实|无误|对|是|真|成立|可靠)|(?P<false>错误?|虚假|假|否|有误|失实|不实|误))"
    r"的?(?:[\W_]|了|$)"
)
# "正确" before a noun or "是" speaks of the right answer, not of the given one.
_ZH_JUDGED = re.compile(
    r"(?P<no>不是|并非|并不|不够|不太|不完全|不|没有|没|无|未|非)?(?:完全|存在|发现|任何|出现|明显|事实|性|有|是|的|很|太|什么)*"
    r"(?:(?P<true>正确|准确|属实|真实|符合(?:事实|实际|史实)|成立|无误|是对的|是真的|可信|没错|没有?问题)"
    r"|(?P<false>错误|错|有误|虚假|幻觉|失实|不实|不符|存在问题|是假的|矛盾))"
    r"(?!的?(?:答案|说法应|名称|年份|选项|应|是|为|地))"
)
_ZH_PART = re.compile("部分|不完全|一半")


def _read_truth_zh(text: str) -> str | None:
    """The verdict that a Chinese text begins with, or None."""
    found = _ZH_BARE.match(text)
    if found is None:
        return None
    return _word(bool(found["true"]) != bool(found["no"]) and not _ZH_PART.search(found[0]))


def _judgment_zh(sentence: str) -> str | None:
    """The last judgment in a Chinese sentence; "partly right" is not right."""
    value = None
    for found in deque(_ZH_JUDGED.finditer(sentence), maxlen=_MOST):
        part = _ZH_PART.search(sentence, max(found.start() - 4, 0), found.end())
        value = _word(bool(found["true"]) != bool(found["no"]) and not part)
    return value


def true_false_zh(reply: str) -> Answer[str]:
    """Whether the reply calls an answer right ("True") or wrong ("False"), in Chinese or English.

    C-FAITH's true-or-false format. Traditional characters are read like simplified ones.
    """
    sentences = _sentences(reply)
    if sentences is None:
        return Answer(None, "unclosed reasoning")
    if not sentences:
        return Answer(None, "empty")
    if not any(map(_ZH_TEXT.search, sentences)):
        return _truth(sentences)
    found = list(_declared(sentences, _DECLARED, _read_truth))
    found += _declared(sentences, _ZH_DECLARED, lambda text: _read_truth_zh(text) or _read_truth(text))
    for index in (0, len(sentences) - 1):
        value = _read_truth_zh(sentences[index][:_REACH]) or _read_truth(sentences[index][:_REACH])
        if value:
            found.append((index, value))
    if found:
        return Answer(max(found, key=lambda pair: pair[0])[1])
    for sentence in reversed(sentences):
        value = _judgment_zh(sentence)
        if value:
            return Answer(value)
    return Answer(None, "no verdict")
