"""One of several options, in English or Chinese: `pick` and `choice`. The rules are in `verdict`."""

from __future__ import annotations

import re
from functools import partial

from halu_tasks.scorers.answer import Answer
from halu_tasks.scorers.declining import declining, stated
from halu_tasks.scorers.verdict_text import (
    CONCLUDES,
    DECLARED,
    Declared,
    any_of,
    behind,
    ends,
    joined,
    last_declared,
    matches,
    read_reply,
)

_BOTH = "both or neither"

_NAME = r"(?:answers?|options?|choice|response|选项|答案)"
# What may stand between a marker and the letter it introduces.
_FILLER_WORDS = any_of(
    "is are was be should would will must as of for to that the my with so thus therefore factually correct right"
    " best better more accurate final verdict definitely clearly actually it(?:'s)? one letter in based on analysis"
    " favou?r goes given still only and being having i say choose select conclude declare"
)
_FILLER = re.compile(rf"(?:[^\w(]|\b{_FILLER_WORDS}\b|就是|应|是|为|选|择|项|的|该|当|最|正确|答案)*", re.IGNORECASE)
_REFUSAL = re.compile(
    any_of("both neither either none all cannot can't tied? they equal inconclusive undetermined no")
    + r"\b|都|均|两者|两个|没有",
    re.IGNORECASE,
)
# "A careful answer": no option, other than "A is", "A or", "A because".
_FOLLOWS_LETTER = any_of(
    "is was and or because since as over for due based by with in on here arbitrarily simply only seems? appears?"
    " remains provides? gives offers presents has contains demonstrates comes gets? got wins beats prevails confuses"
    " conflates misstates"
)
_AFTER_ARTICLE = re.compile(rf"\s+(?!{_FOLLOWS_LETTER}\b)[a-z]")
_COORDINATED = re.compile(
    rf"\)?\s?(?:,|、|/|&|\+|\band\b|\bor\b|和|与|或|及)\s?(?:{_NAME}\s?)?\(?([A-Za-z])(?![A-Za-z0-9]|'s)",
    re.IGNORECASE,
)
_PAIR = re.compile(r"(?<![A-Za-z])([A-Za-z])\)?\s?(?:and|or|nor|&|/|、|和|与)\s?(?:answer\s)?\(?$", re.IGNORECASE)
_UNSURE = re.compile(r"(?:\bif|\bwhether|\bnor|\bneither)\s(?:answer\s|option\s)?\(?$", re.IGNORECASE)

# What is said of an option, right behind its letter.
_BE = any_of(r"is was as are being seems? appears? remains would\sbe to\sbe")
_ADVERB = any_of(r"(?!part)\w+ly also the an? indeed quite very still both to\sbe")
_ADVERBS = rf"(?:{_ADVERB}\s+){{0,5}}"
_EN_WRONG = any_of("not incorrect inaccurate wrong false less worse flawed misleading untrue") + r"\b"
_ZH_OF = "(?:选项|项|的|说法|描述|表述|内容|与|和|事实|史实|题意|原文)*"
_ZH_WRONG = (
    rf"(?:{_ZH_OF}(?:是|也|为|则|都|均|属于)*(?:错|不正确|不对|不是|有误|不符|不相符|不一致|不准确"
    "|不成立|不属实|有问题|存在错误|矛盾|说错|搞错|弄错|站不住脚|(?:可以|应该?|被)?排除|[与和][^,;。]{1,10}(?:矛盾|不符|不一致|相悖)|[×✗✘❌]))"
)
_EN_RIGHT = any_of("factual correct accurate right true valid") + r"\b"
_ZH_RIGHT = (
    rf"(?:{_ZH_OF}(?:才|是|为|唯一|最|最为|更|完全|基本|也)*"
    r"(?:正确|对(?![于比应照方])|符合|相符|一致|吻合|准确|合适|恰当|贴切|合理|可信|最佳|当选|入选|没有?(?:错|问题|毛病)|无误|站得住脚|成立|属实|[√✓✔✅]))"
)
_CALLED_WRONG = re.compile(
    rf"\)?(?:\s+{_BE}\s+{_ADVERBS}{_EN_WRONG}|\s+isn't\b|[\s.:]*{_ZH_WRONG}"
    r"|\s+(?:contains|has|makes)\s+(?!no\b)(?:[\w-]+\s+){0,4}?(?:errors?|mistakes?|inaccurac(?:y|ies))"
    r"|\s+(?:gets?|got|has|have)\s[^,.;]{0,40}?\b(?:wrong|backwards|reversed)\b"
    r"|\s+(?:\w+ly )?(?:confuses|conflates|mixes up|misstates|misrepresents|reverses|contradicts)\b)",
    re.IGNORECASE,
)
_CALLED_RIGHT = re.compile(
    rf"\)?(?:\s+{_BE}\s+{_ADVERBS}{_EN_RIGHT}|\s+(?:gets?|got|has|have)\s[^,.;]{{0,40}}?\bright\b|[\s.:]*{_ZH_RIGHT})",
    re.IGNORECASE,
)
_RATED = re.compile(rf"\)?\s?[:(]\s?{_ADVERBS}(?:({_EN_RIGHT})|({_EN_WRONG}))", re.IGNORECASE)
# "B is the more accurate one", "B provides a better explanation": at most one option can be so called.
_EXCLUSIVE = re.compile(
    rf"\)?\s+(?:(?:{_BE}|provides?|offers?|gives?|presents?|has|demonstrates|contains)\s+(?:[\w-]+\s+){{0,5}}?"
    rf"{any_of('more most better best superior closest closer greater preferable preferred stronger')}\b"
    rf"|{_BE}\s+the\s+(?:[\w-]+\s+){{0,3}}?(?:answer|response|choice|option|one|verdict)\b"
    r"|(?:more|better)\s\w+|(?:wins|beats|prevails)\b|(?:comes|gets) (?:\w+ )?closer\b)",
    re.IGNORECASE,
)
_THIS_IS = re.compile(
    r"\b(?:this|it|that)(?:\s(?:answer|statement|explanation|claim|response|description))?(?:\s(?:is|seems"
    r"|appears to be)|'s)"
    rf"\s{_ADVERBS}(?:(?:in part |part(?:ial)?ly )?({_EN_RIGHT})|{_EN_WRONG})",
    re.IGNORECASE,
)
_ALL_ALIKE = re.compile(
    r"\b(?:both|neither)\b(?:\s(?:of|the|answers?|options?|responses?|[A-D]|and|n?or|are|is|\w+ly)){0,9}"
    r"\s(?:in)?(?:correct|accurate|acceptable|valid|factual)\b",
    re.IGNORECASE,
)

# What introduces a letter: a declaration, and a choice.
_DECLARED_OPTION = re.compile(
    rf"{DECLARED.pattern}|\b(?:the|my) answer is\b|^it's\b"
    r"|^答\s?:|^答案(?=\s)|(?:答案|结论|最终选择|我的选择|正确选项)(?:应该|应当|应|就|显然|无疑|当然|肯定|只能|毫无疑问)?\s?(?:是|为|选|:)",
    re.IGNORECASE,
)
_CHOICE = re.compile(
    r"(?<!not )(?<!n't )(?<!never )\b(?:choos(?:e|ing)|chose|pick(?:ing)?|select(?:ing|ed)?|go(?:ing)? with"
    r"|opt for|prefer|recommend|declare|favou?r|lean(?:ing)? towards?|vote for|sid(?:e|ing) with)\b"
    r"|\b(?:correct|right|best|better|accurate|true)"
    r" (?:answer|choice|option|response|one|explanation|statement)(?: here| overall)?"
    r" (?:is|would be|should be|must be|remains)\b"
    r"|\b(?:correct|right|best) (?:answer|choice|option|response):|\b(?:correct|accurate|right|better) is\b"
    r"|\b(?:so|hence|thus|therefore),?(?= (?:answer |option )?\(?[A-D]\)?\W*\Z)|(?:所以|因此|故)(?=\s?[A-D]\W*\Z)"
    r"|\bnot (?:answer |option )?\(?[A-D]\)?,? but\b"
    r"|\bsay(?= (?:that )?(?:it's )?(?:answer |option )?\(?[A-Z]\)?[.,!]?\Z)"
    r"|\bif (?:forced|pressed|pushed|made|I (?:had|have|must|were))\b[^,.;]{0,30},"
    r"|(?<![不别未非])选择?|(?<=[应该])填|而是|(?<=[,;])\s?是|(?:正确|对)的是|(?:认为|觉得|应该|应当|可能|疑问|只能|那就)(?:正确的|答案)?(?:是|为)|(?:只|仅)?剩下?(?:的"
    r"|了)?(?:只有)?|倾向于?|非(?=[A-D]莫属)"
    r"|(?:^|(?<=[,;:])|(?<=\s))(?:正确|对)(?:的|选项|答案)?\s?:|(?:答案|选项)(?=\s?(?:应|是|为|就|:))",
    re.IGNORECASE,
)


_ANSWER = "(?:answer|option|response|choice|one|explanation|statement)"
_FIRST, _SECOND = (
    re.compile(
        rf"\b(?:the )?{nth} {_ANSWER}\b|\bthe (?:{word}|{nth}(?= (?:is|was|does|has|contains)\b))"
        rf"|\b(?:answer|option|response) #?{number}\b|\A\W*{nth}\W*\Z",
        re.IGNORECASE,
    )
    for nth, word, number in (("first", "former", 1), ("second", "latter", 2))
)


def _lettered(options: str, text: str) -> str:
    """The text with "the first answer", "the latter", "Option 2" called by their letters."""
    for ordinal, letter in zip((_FIRST, _SECOND), options, strict=True):
        text = ordinal.sub(f"Answer {letter}", text)
    return text


def pick(reply: str, options: str = "AB") -> Answer[str]:
    """Which of two answers the reply prefers: one of the letters, or unparsed.

    ReFACT's comparative judgment; the letters are those the prompt gives the two answers. Where no letter is taken,
    "the first answer", "the latter", "Option 2" are read as the letters.
    """
    answer = read_reply(reply, _Options(options).answer, _marks_behind)
    if answer.value or not (_FIRST.search(ends(reply)) or _SECOND.search(ends(reply))):
        return answer
    return read_reply(reply, _Options(options).answer, partial(_lettered, options))


def choice(reply: str, options: str = "ABCD") -> Answer[str]:
    """Which option of a multiple-choice question the reply takes, in Chinese or English, or unparsed.

    C-FAITH's choice format. A reply that takes several options is unparsed.
    """
    read = _Options(options).answer
    answer = read_reply(reply, read, _marks_behind)
    if answer.value or _LETTER.search(ends(reply)):
        return answer
    return read_reply(reply, read, partial(_counted, options))


_LETTER = re.compile(r"(?<![A-Za-z])[A-D](?![A-Za-z])")
_MARK = "[√✓✔✅☑×✗✘❌]"
_MARK_BEFORE = re.compile(
    rf"(?m)(?P<before>^[\s(\[*+-]*|(?<=[A-D])[\s,;(\[]+)(?P<mark>{_MARK})[\s)\]\ufe0f]*(?P<letter>[A-D])(?![A-Za-z])"
)
_CHINESE_COUNT = re.compile(
    r"(?:第\s?(?P<nth>[一二三四1-4])|最(?P<last>后)一)(?:个|個|项|項|种|種)?(?:选项|選項|答案|说法|說法|描述|陈述|表述|选择)"
    r"|(?:第\s?(?P<item>[一二三四1-4])|最(?P<final>后)一)(?:项|項)|(?:选项|選項)\s?(?P<number>[一二三四1-4])(?!\d)"
    r"|(?:(?<=[选選是择擇为])|(?<=[选選择擇]了))(?:第\s?(?P<bare>[一二三四1-4])|最(?P<end>后)一)(?:个|個)(?!\w)"
)
_ENGLISH_COUNT = re.compile(
    r"\b(?:the )?(?:(?P<nth>first|second|third|fourth|last) (?:answer|option|choice|statement|one)|(?:option"
    r"|choice) (?P<number>[1-4])(?!\d))",
    re.IGNORECASE,
)
_PLACES = {
    word: place
    for place, words in enumerate(("一1first", "二2second", "三3third", "四4fourth"))
    for word in (words[0], words[1], words[2:])
}


def _marks_behind(text: str) -> str:
    """The text with the mark of each option behind its letter, where the reply sets the marks before the letters."""
    if not re.match(rf"[\s(\[*+-]*{_MARK}", text):
        return text
    return _MARK_BEFORE.sub(lambda found: f"{found['before']}{found['letter']} {found['mark']}", text)


def _counted(options: str, text: str) -> str:
    """The text with "the third option" called by its letter."""

    def letter(found: re.Match[str]) -> str:
        word = next(filter(None, found.groups())).lower()
        return f"选项{options[_PLACES.get(word, len(options) - 1)]}"

    return _ENGLISH_COUNT.sub(letter, _CHINESE_COUNT.sub(letter, text))


class _Options:
    """The readings for one set of capital letters; every method takes plain sentences."""

    def __init__(self, letters: str) -> None:
        self.letters = letters
        self._first = re.compile(
            rf"(?P<not>not\s)?(?:(?P<name>{_NAME})\s?)?(?P<open>\()?(?P<letter>[{letters}])(?![A-Za-z0-9]|'s)",
            re.IGNORECASE,
        )
        self._mention = re.compile(
            rf"(?<![A-Za-z0-9'-])(?:(?i:{_NAME}\s?\(?[{letters}])|[{letters}])(?![A-Za-z0-9-]|'s)"
        )
        self._group = re.compile(
            rf"(?<![A-Za-z])((?:[{letters}](?:\s?[、,和及与/]\s?|\s)?){{2,4}})(?:这?[两三四2-4](?:项|个选项|个|者))?(?:选项|项)?"
            rf"(?:(?P<wrong>{_ZH_WRONG})|(?P<right>{_ZH_RIGHT}))"
        )
        self._heading = re.compile(rf"\W*(?:{_NAME})\s?\(?([{letters}])\)?\s?[:.–—-]", re.IGNORECASE)
        self._line = re.compile(
            rf"\W*(?:(?:the )?(?:correct )?{_NAME}\s?)?\(?([{letters}])\)?(?:选项|项)?(?:吧|呗|啊|呢|哦)?(?:\sit\sis)?"
            r"(?:\W*|\s?\([^()]*\)\W*|\s?[.:、)]\s?\S.*|,?\s(?:since|because|as|not|rather than|instead of)\s.*)",
            re.IGNORECASE,
        )

    def answer(self, sentences: list[str]) -> Answer[str]:
        """The option that the sentences take, by the steps given in `verdict`."""
        declared = self._declared(sentences)
        if declared and declared[1] in self.letters:
            return Answer(declared[1])
        answer = self._weighed(declared, stated(joined(sentences)))
        if answer.value is None and any(map(declining, sentences)):
            return Answer(None, "declines", abstained=True)
        # one sentence and no more is the answer, not the beginning of an argument
        return answer._replace(inferred=answer.value is not None and len(sentences) > 1)

    def _weighed(self, declared: Declared | None, sentences: list[str]) -> Answer[str]:
        """The option that the sentences take without a declaration, or behind one that takes none."""
        chosen = self._concluded(sentences[declared[0] if declared else 0 :])
        if chosen:
            return Answer(chosen) if chosen in self.letters else Answer(None, "several answers")
        right, wrong = self._ratings(sentences)
        if not right and not wrong:
            right, wrong = self._headed(sentences)
        left = set(self.letters) - wrong
        if declared:
            other = declared[1].upper()
            return Answer(other) if other in left else Answer(None, "several answers")
        for candidates in (right, right - wrong, wrong and left):
            if len(candidates) == 1:
                return Answer(candidates.pop())
        return Answer(None, "several answers" if len(right) > 1 else "no verdict")

    def _read(self, text: str) -> str | None:
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

    def _declared(self, sentences: list[str]) -> Declared | None:
        """The last declared verdict and its sentence."""
        lettered = {line[1].upper() for line in map(self._line.fullmatch, sentences) if line}

        def alone(text: str) -> str | None:
            line = self._line.fullmatch(text)
            # Several lines that open with a letter discuss or repeat the options.
            return line[1].upper() if line and len(lettered) == 1 and self._read(text) != _BOTH else None

        return last_declared(sentences, {_DECLARED_OPTION: self._read}, alone)

    def _concluded(self, sentences: list[str]) -> str | None:
        """The last choice, exclusive rating, or rating in a sentence that concludes.

        `_BOTH` when a later conclusion rates all options alike.
        """
        value = None
        for sentence in sentences:
            concludes = CONCLUDES.match(sentence)
            if concludes and _ALL_ALIKE.search(sentence):
                value = _BOTH
            read = [self._read(behind(found)) for found in matches(_CHOICE, sentence)]
            if chosen := [option for option in read if option and option in self.letters]:
                value = chosen[-1]
                continue
            for found in self._mentions(sentence):
                end = found.end()
                if _CALLED_WRONG.match(sentence, end):
                    continue
                if _EXCLUSIVE.match(sentence, end) or (concludes and _CALLED_RIGHT.match(sentence, end)):
                    value = found[0][-1].upper()
        return value

    def _ratings(self, sentences: list[str]) -> tuple[set[str], set[str]]:
        """The options somewhere called right, and those somewhere called wrong."""
        right: set[str] = set()
        wrong: set[str] = set()
        for sentence in sentences:
            for found in matches(self._group, sentence):
                (wrong if found["wrong"] else right).update(re.findall("[A-Z]", found[1]))
            for found in self._mentions(sentence):
                letter = found[0][-1].upper()
                listed = _RATED.match(sentence, found.end())
                if _CALLED_WRONG.match(sentence, found.end()) or (listed and listed[2]):
                    wrong.add(letter)
                elif _CALLED_RIGHT.match(sentence, found.end()) or listed:
                    right.add(letter)
        return right, wrong

    def _headed(self, sentences: list[str]) -> tuple[set[str], set[str]]:
        """The options called right, and those called wrong, under a heading of their own ("Answer A: … This statement
        is incorrect.")."""
        right: set[str] = set()
        wrong: set[str] = set()
        letter = None
        for sentence in sentences:
            if heading := self._heading.match(sentence):
                letter = heading[1].upper()
            for found in matches(_THIS_IS, sentence) if letter else ():
                (right if found[1] else wrong).add(letter or "")
        return right - wrong, wrong

    def _mentions(self, sentence: str) -> list[re.Match[str]]:
        """Where the sentence names an option that is neither conditional nor half of "A and B"."""
        return [found for found in matches(self._mention, sentence) if self._stands(sentence, found)]

    def _stands(self, sentence: str, mention: re.Match[str]) -> bool:
        before = sentence[max(mention.start() - 30, 0) : mention.start()]
        if mention[0] == "A" and _AFTER_ARTICLE.match(sentence, mention.end()):
            return False
        pair = _PAIR.search(before)
        return not _UNSURE.search(before) and not (pair and pair[1].upper() in self.letters)
