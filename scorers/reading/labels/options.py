"""One of several options, in English or Chinese: `pick` and `choice`. The rules are in `verdict`."""

from __future__ import annotations

import re

from halu_tasks.scorers.answer import Answer
from halu_tasks.scorers.reading.labels.declining import declining, stated
from halu_tasks.scorers.reading.labels.options_text import RIGHT_MARKS, WRONG_MARKS, plain_verdicts
from halu_tasks.scorers.reading.labels.verdict_text import (
    CONCLUDES,
    DECLARED,
    Declared,
    behind,
    ends,
    joined,
    last_declared,
    matches,
    read_reply,
)
from halu_tasks.text.folding import any_of

_BOTH = "both or neither"

_NAME = r"(?:answers?|options?|choice|response|选项|答案)"
# What may stand between a marker and the letter it introduces.
_FILLER_WORDS = any_of(
    "is are was be should would will must as of for to that the my with so thus therefore factually correct right"
    " best better more accurate final verdict definitely clearly actually it(?:'s)? one letter in based on analysis"
    " favou?r goes given still only and being having i say choose select conclude declare la le der die"
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
    " conflates misstates rather instead it should must looks sounds turns holds checks mistakenly wrongly incorrectly"
    " falsely erroneously correctly accurately rightly says states claims doesn't does isn't the edges makes made"
    " matches can't cannot"
)
_AFTER_ARTICLE = re.compile(rf"\s+(?!{_FOLLOWS_LETTER}(?:\W|\Z))[a-z]")
_COORDINATED = re.compile(
    rf"\)?\s?(?:,|、|/|&|\+|\band\b|\bor\b|和|与|或|及)\s?(?:{_NAME}\s?)?\(?([A-Za-z])(?![A-Za-z0-9]|'s)",
    re.IGNORECASE,
)
_PAIR = re.compile(r"(?<![A-Za-z])([A-Za-z])\)?\s?(?:and|or|nor|&|/|、|和|与)\s?(?:answer\s)?\(?$", re.IGNORECASE)
_UNSURE = re.compile(r"(?:\bif|\bwhether|\bnor|\bneither)\s(?:answer\s|option\s)?\(?$", re.IGNORECASE)
# A condition leaves the choice open, unless it is only that one must choose.
_FORCED = r"(?:forced|pressed|pushed|made|pressured|asked|I|we|you|one|anything|any|not|so)\b"
_CONDITION = re.compile(
    rf"(?:(?<!even )\b(?:if|assuming|provided that|suppose|supposing|unless|depending"
    rf"|otherwise)\b(?!\s(?:that\s)?{_FORCED})"
    r"|\bif not,|如果|假如|要是|假设|若(?!干)|取决于)"
    r"(?:(?!\b(?:so|but|therefore|thus|hence|however|yet)\b|所以|因此|但)[^.;。])*\Z",
    re.IGNORECASE,
)
_ON_CONDITION = re.compile(
    rf"\W*(?:(?:and|or|but|while) )?(?:(?:if|assuming|unless|provided that|suppose)\b(?!\s(?:that\s)?{_FORCED})"
    rf"|如果|假如|要是|假设|若)"
    r"(?!.{0,300}(?:\b(?:so|but|therefore|thus|hence|however)\b|所以|因此|但))",
    re.IGNORECASE,
)
# "Hepatitis A" is no option.
_KIND = re.compile(
    r"\b(?:vitamins?|hepatitis|influenza|types?|groups?|class|factor|phase|step|figure|planet|star|protein|gene|strain"
    r"|chain|subunit|receptor|particle|team|person|sample|substance|compound|point|case|scenario)\s\Z",
    re.IGNORECASE,
)
_CONDITIONAL = re.compile(r"\)?,?\s(?:only\s)?(?:if|when|assuming|provided that|unless|depending)\b", re.IGNORECASE)
# What only seems so is taken back by what follows.
_SEEMS = re.compile(
    r"\bat (?:first|a glance)\b|\bon the (?:surface|face of it)\b|\b(?:initially|superficially|originally)\b"
    r"|\b(?:may|might|could|can) (?:at first )?(?:seem|look|appear|sound)|\b(?:first|one (?:may|might"
    r"|could)) (?:think|thought)\b"
    r"|乍看|乍一看|看似|看起来|起初|一开始|最初|本以为|原以为",
    re.IGNORECASE,
)
_TURN = re.compile(
    r"\b(?:but|however|yet|nevertheless|actually|in fact|in reality)\b|但|然而|其实|实际上|不过", re.IGNORECASE
)

# --- what is said of an option, right behind its letter -------------------------------------------------

# "less accurate" is wrong and "less wrong" right
_FAULTS = any_of("incorrect inaccurate wrong false flawed misleading mistaken erroneous problematic bad")
_WRONG = (
    rf"(?:le(?:ss|ast)(?!\s(?:\w+ly\s)?{_FAULTS})|"
    + any_of(
        "incorrect inaccurate wrong false flawed misleading untrue mistaken erroneous fabricated confabulated"
        " hallucinated altered falsified distorted tampered manipulated corrupted invalid non-?factual unfactual"
        " counterfactual nonsense nonsensical modified doctored fictitious"
        " fictional bogus fake unreliable untenable off worse inferior weaker"
        " fabrication confabulation hallucination falsehood distortion"
        r" made[\s-]up"
    )
    + r")\b"
)
_RIGHT = (
    rf"(?:le(?:ss|ast)\s(?:\w+ly\s)?{_FAULTS}|"
    + any_of(
        "factual correct accurate right true valid truthful reliable trustworthy sound genuine authentic unaltered"
        " error-free"
    )
    + r")\b"
)
_ADVERB = any_of(r"(?!part)\w+ly also the an? indeed quite very still both to\sbe one answer that which")
_ADVERBS = rf"(?:{_ADVERB}\s+){{0,5}}"
_BE = any_of(
    r"is was as are being seems? appears? remains looks? sounds? turns\sout proves turned\sout proved holds rings"
    r" strikes\sme\sas would\sbe to\sbe"
    r" (?:should|must|has\sto|needs\sto|ought\sto)\s(?:\w+ly\s)?be ha(?:s|d)\s(?:\w+ly\s)?been"
)
_BE_NOT = (
    rf"(?:(?:is|was|are|has|seems?)n't|{_BE}\s+{_ADVERBS}(?:not|never)"
    r"|(?:does|do|did)(?:n't|\snot)\s(?:seem|appear|look|sound)|(?:(?:should|must|could)n't|can't|cannot"
    r"|(?:should|must|could)\snot)\sbe)\b"
)
_TAKEN_AS = (
    r"(?:(?:made|considered|deemed|judged|regarded|rated|label?led|marked|classified|called|found|shown|seen|viewed"
    r"|treated|taken|rendered|known|turned)\s+(?:to\sbe\s|as\s|into\s|out\s)?)?"
)
# "is wrong", "was made false", "should be considered incorrect", "is not the false one"
_IS = re.compile(
    rf"\)?\s+(?:(?P<no>{_BE_NOT})|{_BE})\s+{_ADVERBS}{_TAKEN_AS}{_ADVERBS}(?P<not>not\s+)?{_ADVERBS}"
    rf"(?:(?P<wrong>(?:(?:more|most)\s)?{_WRONG})|(?P<right>{_RIGHT}))",
    re.IGNORECASE,
)
_IS_NOT = re.compile(rf"\)?\s+{_BE_NOT}(?!\s(?:only|just|as|necessarily)\b)", re.IGNORECASE)
_MISTAKES = (
    r"(?:errors?|mistakes?|inaccurac(?:y|ies)|falsehoods?|misstatements?|fabrications?|misconceptions?"
    r"|contradictions?)\b"
)
_CLAIM = (
    r"(?:claim|statement|assertion|detail|sentence|description|figure|number|fact|part|line|explanation"
    r"|information)s?\b"
)
_HAS = any_of("contains? has have includes? makes? introduces? commits?")
_GAP = r"\)?(?:\s?[:(,=]\s?|\s[-–—→⇒=]{1,3}\s|\s+)"
_DOES_WELL = re.compile(
    rf"{_GAP}(?:no (?:\w+ ){{0,2}}{_MISTAKES}|(?:gets?|got|has|have)\s[^,.;]{{0,40}}?\bright\b"
    rf"|(?:{_HAS}\s(?:no|zero)|(?:does|do)(?:n't|\snot)\s{_HAS}|is (?:\w+ly )?(?:free (?:of|from)|without))\s"
    rf"(?:[\w-]+\s+){{0,4}}?{_MISTAKES}"
    r"|(?:holds|stands|checks|adds) (?:up|out)\b|(?:is|are) (?:\w+ly )?(?:supported|backed up|confirmed|borne out) by\b"
    r"|(?:\w+ly )?(?:matches|fits|agrees with|is (?:consistent|in line|in agreement) with) (?:the |what |our "
    r"|established )*"
    r"(?:\w+ )?(?:facts?|evidence|sources?|reality|known|science|record|literature|knowledge)\b|(?:matches"
    r"|fits) what (?:we|is) know)",
    re.IGNORECASE,
)
_DOES_BADLY = re.compile(
    rf"{_GAP}(?:{_HAS}\s+(?!(?:no|zero|few|fewer)\b)(?:[\w-]+\s+){{0,4}}?(?:{_MISTAKES}|{_WRONG}\s{_CLAIM})"
    r"|(?:gets?|got|has|have)\s[^,.;]{0,40}?\b(?:wrong|backwards|reversed)\b"
    r"|(?:\w+ly )?(?:confuses|conflates|mixes up|misstates|misrepresents|reverses|contradicts|swaps|misidentifies"
    r"|misattributes|mislabels|distorts|fabricates|errs|fails|falls (?:short|apart|flat)|slips up|goes wrong)\b"
    r"|(?:conflicts|clashes) with\b|violates\b|goes against\b|is (?:\w+ )?(?:inconsistent|incompatible|at odds) with\b"
    r"|(?:does|do)(?:n't| not) (?:\w+ )?(?:hold|stand|check|add|match|fit|make sense|agree)\b"
    r"|(?:can|should|must|has to|is|was) (?:\w+ly )?(?:be )?(?:\w+ly )?"
    r"(?:rejected|ruled out|dismissed|discarded|excluded|eliminated|discounted|contradicted)\b)",
    re.IGNORECASE,
)
# What is said of a part of the option, which counts where nothing is said of the whole.
_GIVES = r"(?:gives?|states?|provides?|uses|has|shows|names|cites|identifies|reports) the (?:\w+ly )?"
_STATES = re.compile(
    r"\)?\s+(?:\w+ )?(?:(?P<right>(?:correctly|accurately|rightly|truthfully)\s\w)"
    rf"|{_GIVES}(?:(?P<proper>correct|right|accepted|established|true|accurate|actual|proper)|(?:wrong|incorrect"
    r"|false|opposite))\s"
    r"|(?P<wrong>(?:incorrectly|inaccurately|wrongly|mistakenly|falsely|erroneously)\s\w"
    r"|(?:swaps|replaces|substitutes)\s\S[^.;]{0,60}? (?:with|by|for)\b))",
    re.IGNORECASE,
)
_ZH_OF = "(?:选项|项|的|说法|描述|表述|内容|与|和|所述|所说|事实|史实|题意|原文)*"
_ZH_WRONG = (
    rf"(?:{_ZH_OF}(?:是|也|为|则|都|均|属于)*(?:错|不正确|不对|不是|有误|不符|不相符|不一致|不准确"
    "|不成立|不属实|(?:为|是)假|虚假|不真实|有问题|存在错误|矛盾|说错|搞错|弄错|站不住脚|(?:可以|应该?|被)?排除"
    rf"|[与和][^,;。]{{1,10}}(?:矛盾|不符|不一致|相悖)|[{WRONG_MARKS}]))"
)
_ZH_RIGHT = (
    rf"(?:{_ZH_OF}(?:才|是|为|唯一|最|最为|更|完全|基本|也)*"
    r"(?:正确|对(?![于比应照方])|相?(?:符合|一致|吻合)|相符|[与和同跟][^,;。]{1,10}?(?:一致|相符|吻合)|准确|合适"
    r"|恰当|贴切|合理|可信|最佳|当选|入选|没有?(?:错|问题|毛病)|无误|站得住脚|成立|属实|(?:为|是)真|真实|(?<=最)有?可能"
    r"|最?接近(?:事实|史实|正确|真相|题意)|[√✓✔✅]))"
)
_ZH_CALLED = re.compile(
    rf"\)?[\s.:]*(?:{_ZH_OF}(?:并不是|不是|并非|没有?|未)(?P<right_after_all>错|有误|误|问题)"
    rf"|(?P<wrong>{_ZH_WRONG})|(?P<right>{_ZH_RIGHT}))"
)
# "A: correct", "B (false)", "A - FALSE", "A = yes"
_RATED = re.compile(
    rf"\)?(?:\s(?:is\s)?{_RIGHT})?\s?(?:[:(=,]|[-–—→⇒=]{{1,3}}\s)\s?(?:(?:mostly|partially|partly|it's"
    rf"|is)\s)?{_ADVERBS}"
    rf"(?P<not>not\s+{_ADVERBS})?(?:(?P<right>{_RIGHT}|(?:yes|t)\b(?=\W*\Z|\s?[,;(]))"
    rf"|(?P<wrong>{_WRONG}|(?:no|f)\b(?=\W*\Z|\s?[,;(])))",
    re.IGNORECASE,
)
# "A true, B false"
_BARELY = re.compile(
    r"\)?\s(?:(?P<right>true|correct|right|factual)|(?P<wrong>false|incorrect|wrong))\b(?=\W*\Z|\s?[,;.(])",
    re.IGNORECASE,
)
# "B is the more accurate one", "B provides a better explanation": at most one option can be so called.
_NOUN = any_of(
    "answers? responses? choices? options? ones? explanation statement version text passage account description pick"
)
_ABOVE = any_of(
    "more most better best superior closest closer nearer nearest lesser fewer greater preferable preferred stronger"
)
_EXCLUSIVE = re.compile(
    rf"\)?\s+(?:(?:{_BE}|provides?|offers?|gives?|presents?|has|demonstrates|contains)\s+(?:[\w-]+\s+){{0,5}}?"
    rf"{_ABOVE}\b"
    rf"|{_BE}\s+(?:the|my)\s+(?:[\w-]+\s+){{0,3}}?(?:answer|response|choice|option|one|version|pick|winner|verdict)\b"
    rf"|{_BE}\s+the\s+(?:\w+ly\s+)?{_RIGHT}(?=\W*\Z)"
    rf"|(?:provides|offers|gives|presents|has)\s+the\s+(?:\w+ly\s+)?{_RIGHT} {_NOUN}"
    r"|(?:more|better)\s\w+|(?:wins|beats|prevails|outperforms|edges out)\b|(?:comes|gets) (?:\w+ )?closer\b"
    rf"|(?:gets|has) (?:my vote|the edge)\b|for me\b|it is\b(?=\W*\Z)|(?:over|rather than"
    rf"|instead of) (?:{_NAME} )?\(?[A-D]\b)"
    r"|(?:选项|项)?(?:就|才|便)?是(?:唯一)?(?:的|正确的?)?(?:答案|选项)|(?:选项|项)?比[^,;。]{1,12}?更(?:准确"
    r"|正确|符合|合理|接近|可信|恰当|贴切)|(?:选项|项)?才(?=是|对|正确|符合|属实|成立|最)",
    re.IGNORECASE,
)
# "which is inaccurate", "this statement is correct", "but that's not true"
_THIS_IS = re.compile(
    r"(?:\b(?:this|it|that)|(?<=[,;(–—-]\s)which)(?:\s(?:answer|statement|explanation|claim|response|description"
    r"|part|detail|figure))?"
    rf"(?:(?P<no>\s?(?:is|was|are|does|seems)(?:n't|\snot)\b)|(?:\s{_BE}|'s))"
    rf"\s{_ADVERBS}(?P<not>not\s{_ADVERBS})?(?:(?:in part |part(?:ial)?ly )?(?P<right>{_RIGHT})|(?P<wrong>{_WRONG}))",
    re.IGNORECASE,
)
_ALONE = re.compile(
    rf"\W*(?:(?:verdict|accuracy|assessment|rating|status|judge?ment"
    rf"|evaluation)\s?[:=]\s?)?{_ADVERBS}(?P<not>not\s{_ADVERBS})?"
    rf"(?:(?P<right>{_RIGHT})|(?P<wrong>{_WRONG}))(?=\W*\Z|\s?[.:,;!(—–-])",
    re.IGNORECASE,
)
_ALL_ALIKE = re.compile(
    r"\b(?:both|neither)\b(?:\s(?:of|the|answers?|options?|responses?|[A-D]|and|n?or|are|is|\w+ly)){0,9}"
    rf"\s(?:(?:in)?(?:correct|accurate|acceptable|valid|factual)\b|(?:contain|have|make) (?:\w+ ){{0,3}}?{_MISTAKES})",
    re.IGNORECASE,
)

# --- what introduces a letter: a declaration, a choice, a rejection ---------------------------------------

_GOOD = (
    rf"(?:{_RIGHT}|"
    + any_of("best better stronger winning preferred preferable superior original real unmodified")
    + r"\b)"
)
_OVERALL = r"(?: here| overall| of the two| between the two| among them)?"
_LINK = (
    r"(?:\s(?:is|was|would be|should be|must be|has to be|remains|seems to be|appears to be"
    r"|(?:lies|occurs|appears|sits|(?:can be |is |was )?(?:found|given|contained|located)) (?:in|by))\b"
    r"|\s?[:=→⇒]|\s[-–—]+(?=\s))"
)
_WITH_MISTAKE = rf"(?:with|containing)\s(?:the|an?)\s(?:\w+ ){{0,2}}?{_MISTAKES}"
_THE_RIGHT_ONE = (
    rf"(?<!not the )(?<!not )(?<![\w-])(?:{_GOOD} {_NOUN}|{_NOUN} {_GOOD})"
    rf"{_OVERALL}{_LINK}|\b(?:correct|accurate|factual) (?:claim|fact|figure|information){_LINK}"
)
_THE_WRONG_ONE = re.compile(
    rf"\b(?:{_WRONG} (?:{_NOUN}|claim|detail|information|part){_OVERALL}|{_NOUN} {_WITH_MISTAKE})"
    rf"{_LINK}|^(?:(?:\w+ly )?{_WRONG}|not (?:\w+ly )?{_RIGHT})(?: {_NOUN})?[\s{WRONG_MARKS}]{{0,3}}[:=]"
    rf"|\b{_MISTAKES}\s(?:is|are|lies?|occurs?|appears?|sits?|can be|was)(?: found| made)? (?:in|with|by)\b"
    r"|(?:\breject|(?<!not )\brul(?:e|ing) out|\bdismiss|\bdiscard|\beliminate|\bexclude|\banything but|^(?:\w+ly )?not"
    r"|\b(?:it|answer|verdict)(?:'s not| is not| isn't| can't be| cannot be))\b",
    re.IGNORECASE,
)
# "the answer that holds up is B": what is said there is said of the option behind the link
_ONE_THAT = re.compile(rf"\b{_NOUN} (?:that|which)(?=\s)", re.IGNORECASE)
_LINKED = re.compile(rf"[^,.;]{{3,60}}?{_LINK}", re.IGNORECASE)
_DECLARED_OPTION = re.compile(
    rf"{DECLARED.pattern}|\b(?:the|my) answer is\b|^answer is\b|^it's\b"
    rf"|^(?:the )?(?:more )?(?:\w+ly )?{_GOOD}(?: {_NOUN})?[\s{RIGHT_MARKS}]{{0,3}}[:=]"
    r"|^(?:my |the )?(?:final )?(?:answer|choice|pick)\s?(?:[→⇒]|[-–—]+(?=\s))|^TL;?\s?DR\s?:"
    r"|^答(?:\s?:|(?=[A-D]))|^答案(?=\s)|正确(?:答案|选项)(?=\s?\([A-Z]\))|(?:答案|结论|最终选择|我的选择|正确选项"
    r"|选项)(?:对应)?的?(?:字母|序号|编号|代号|标号|代码)(?:是|为|:)"
    r"|(?:答案|结论|最终选择|我的选择|正确选项)(?:应该|应当|应|就|显然|无疑|当然|肯定|只能|毫无疑问)?\s?(?:是|为|选|:)",
    re.IGNORECASE,
)
_LETTER_NEXT = (
    rf"(?=\s(?:that )?(?:it's |it is )?(?:\w+ly )?(?:{_NAME} )?\(?[A-D]\)?"
    r"(?:\W*\Z|\s?[.,;:!—–-]|\s(?:since|because|as|for|here|over|is the)\b))"
)
_CHOICE = re.compile(
    r"(?<!not )(?<!n't )(?<!never )\b(?:choos(?:e|ing)|chose|pick(?:ing)?|select(?:ing|ed)?"
    r"|inclined (?:to(?:wards?)?)|go(?:ing)? (?:with|for)"
    r"|opt for|prefer|recommend|declare|favou?r|lean(?:ing)?(?: to(?:wards?)?)?|vote (?:for|goes to|is)|money is on"
    r"|bet on|trust|settle (?:on|for)|sid(?:e|ing) with)\b"
    rf"|{_THE_RIGHT_ONE}|\bthe (?:only|one|single) (?:\w+ ){{0,2}}{_NOUN} [^,.;]{{0,60}}?{_LINK}|\b(?:correct"
    rf"|accurate|right|better) is\b"
    rf"|\b(?:i(?:'d|'ll)?|i would|we)(?: would| will)? (?:say|guess|think|believe|take|vote){_LETTER_NEXT}"
    rf"|\b(?:it|letter|verdict)(?:'s| is| must be| has to be| should be| would be| can only be){_LETTER_NEXT}"
    rf"|\bmakes?(?= (?:{_NAME} )?\(?[A-D]\)? (?:the )?(?:\w+ly )?(?:{_RIGHT}|better|winner))"
    r"|\b(?:so|hence|thus|therefore),?(?= (?:answer |option )?\(?[A-D]\)?\W*\Z)|(?:所以|因此|故"
    r"|综上(?:所述)?),?(?=\s?(?:选项)?[A-D]\W*\Z)"
    r"|\bnot (?:answer |option )?\(?[A-D]\)?,? but\b|\b(?:leaves|leaving)\b(?: us with)?"
    r"|\bif (?:forced|pressed|pushed|made|I (?:had|have|must|were))\b[^,.;]{0,30},"
    r"|(?<![不别未非])(?:选(?!项)择?了?(?:的是)?|投(?=[A-D]))|(?<=[应该])填|而是|(?<=[,;])\s?是|(?:正确|对)的是"
    r"|(?:认为|觉得|推断|判断|估计|推测|猜|应该|应当|可能|疑问|只能|那就)(?:正确的|答案)?(?:是|为)|(?:只|仅)?剩下?(?:的"
    r"|了)?(?:只有)?|倾向于?|非(?=[A-D]莫属)|投给|锁定|(?:也就是|即)(?=(?:选项)?[A-D](?:\W|项|选项))"
    r"|对应(?:的?选项)?(?:是|为)?"
    r"|(?:^|(?<=[,;:])|(?<=\s))(?:正确|对)(?:的|选项|答案)?\s?:|(?:答案|选项)(?=\s?(?:应|是|为|就|:))",
    re.IGNORECASE,
)
# 与此一致的是D, 唯一没有错误的是C, 不正确的是A、B和D
_ZH_WHICH = re.compile(
    r"(?P<no>不够?|没有?(?:任何)?|未|无)?(?P<said>正确|符合?|一致|相符|成立|准确|属实|吻合|恰当|贴切|匹配|合理"
    r"|可信|(?P<wrong>错误?|有误|问题|矛盾|误|相悖))"
    r"(?:[^,;。:?A-Z]{0,8}的(?:选项|答案|说法|描述|一?项|表述|陈述)?|选项|项|答案|说法)[^,;。?A-Z]{0,4}?(?:是|为"
    r"|有|见|:)\s?(?:选项)?(?P<letters>[A-Z](?:(?:项|选项)?[、,和及与/]{1,2}\s?[A-Z]){0,3})"
    r"(?![A-Za-z])"
)
_ZH_EITHER = re.compile("(?:可能是?|或许是?|要么是?)[A-Z].{0,20}?(?:也(?:有)?可能|或许|要么)")
_ZH_EXCEPT = re.compile(
    rf"除了?(?:选项)?(?P<letter>[A-Z])(?:项|选项)?(?:以外|之外|外)?,?(?:其他|其它|其余|别的|剩下"
    rf"|另外)[^。;]{{0,12}}?{_ZH_WRONG}"
)
_HEDGE = (
    r"(?:(?:prob|presum|argu|definite|certain|clear|obvious|most like|like|final|ultimate|consequent)(?:ab)?ly"
    r"|so|then|maybe|perhaps|ok(?:ay)?"
    r"|well|hence|thus|therefore|overall|given (?:the|all|this)(?: \w+)?|in (?:my (?:view|opinion)|the end|short"
    r"|conclusion))"
)
# A sentence that takes back a verdict given before it.
_REVISES = re.compile(
    r"\W*(?:wait|hold on|hmm|correction|on (?:second thought|reflection|closer)|actually|scratch that|no, |sorry"
    r"|let me (?:re|correct)|i (?:misread|made a mistake|was wrong)|等等|不对,|更正|抱歉,|重新)",
    re.IGNORECASE,
)
_DOUBTED = re.compile(
    r"(?:(?:\bnot|n't|\bnever)\s(?:\w+ly\s)?(?:think|believe|consider|find|say|see how)|\bdoubt)(?:\s(?:that|if"
    r"|whether))?\s\Z",
    re.IGNORECASE,
)
_CONCLUDING = re.compile(
    r"(?:^|[,;:—–-]\s?|\band\s)(?:so|hence|thus|therefore|which (?:means|makes)|(?:that|this) (?:means|makes)|making)\b"
    r"[^,;.]{0,30}\Z|\b(?:which|that|this) makes\s?(?:answer\s)?\Z|\bon reflection\b[^;.]{0,30}\Z",
    re.IGNORECASE,
)
# "which matches Answer B", "as Answer A says"
_DENIES = re.compile(r"\b(?:not|no|never|rather than|instead|zero)\b|n't\b", re.IGNORECASE)
_AGREES_WITH = re.compile(
    r"(?<!not )(?<!n't )\b(?:match(?:es|ing)?|consistent with|in line with|agree(?:s|ing) with|supports?|confirms?)"
    r"\s(?:what )?\Z",
    re.IGNORECASE,
)
# "a mistake in Answer A", "the claim in Answer A that … is wrong", "in Answer A, … was changed to …"
_MISTAKE_IN = re.compile(
    rf"(?P<no>\b(?:no|not|any|without|zero)\b(?:\s[\w-]+){{0,3}}\s"
    rf"|n't\s(?:[\w-]+\s){{0,4}})?\b{_MISTAKES}(?:\s\w+){{0,2}}\s(?:in|with)\s\Z",
    re.IGNORECASE,
)
_IN = re.compile(r"\b(?:in|by|of)\s\Z", re.IGNORECASE)
_CLAIM_IN = re.compile(rf"\b{_CLAIM}(?:\s(?:made|given|found))?\s(?:in|by|of)\s\Z", re.IGNORECASE)
_CHANGED = re.compile(
    r"\b(?:is|was|were|been) (?:\w+ )?(?:swapped|changed|replaced|altered|substituted|modified|reversed|inverted)\b",
    re.IGNORECASE,
)
_AS = re.compile(r"(?<!\()\b(?:just |exactly )?as \Z", re.IGNORECASE)
_SAYS = re.compile(r"\)? (?:\w+ly )?(?:says|states|claims|explains|notes|describes|does|has it)\b", re.IGNORECASE)


_ANSWER = "(?:answer|option|response|choice|one|explanation|statement)"
_FIRST, _SECOND = (
    re.compile(
        rf"\b(?:the )?{nth} {_ANSWER}\b|\bthe (?:{word}|{nth}(?= (?:is|was|does|has|contains)\b))"
        rf"|\b(?:answer|option|response) #?{number}\b|\A\W*{nth}\W*\Z",
        re.IGNORECASE,
    )
    for nth, word, number in (("(?:first|1st)", "former", 1), ("(?:second|2nd)", "latter", 2))
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
    read = _Options(options).answer
    answer = read_reply(reply, read, plain_verdicts)
    if answer.value:
        return answer
    plain = plain_verdicts(ends(reply))
    if not (_FIRST.search(plain) or _SECOND.search(plain)):
        return answer
    return read_reply(reply, read, lambda text: _lettered(options, plain_verdicts(text)))


def choice(reply: str, options: str = "ABCD") -> Answer[str]:
    """Which option of a multiple-choice question the reply takes, in Chinese or English, or unparsed.

    C-FAITH's choice format. A reply that takes several options is unparsed.
    """
    read = _Options(options).answer
    answer = read_reply(reply, read, plain_verdicts)
    if answer.value or _LETTER.search(ends(reply)):
        return answer
    return read_reply(reply, read, lambda text: plain_verdicts(_counted(options, text)))


_LETTER = re.compile(r"(?<![A-Za-z])[A-D](?![A-Za-z])")
_CHINESE_COUNT = re.compile(
    r"(?:第\s?(?P<nth>[一二三四1-4])|最(?P<last>后)一)(?:个|個|项|項|种|種)?(?:选项|選項|答案|说法|說法|描述"
    r"|陈述|表述|选择)"
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
            rf"(?<![A-Za-z0-9'-])(?:(?i:{_NAME}\s?\(?(?P<named>[{letters}]))|(?P<bare>[{letters}]))(?![A-Za-z0-9-])"
            rf"(?:(?P<owned>'s)(?:\s[\w-]+){{1,8}}?(?=\s(?:{_BE}|{_BE_NOT})\s)|(?!'s))"
        )
        self._group = re.compile(
            rf"(?<![A-Za-z])((?:[{letters}](?![A-Za-z])(?:(?:\s?(?:[、,和及与/&]|and\b|or\b)){{1,2}}\s?"
            rf"|\s)?){{2,4}})(?:这?[两三四2-4](?:项|个选项|个|者))?(?:选项|项)?"
            rf"(?:(?:are|were)\s(?:all\s|both\s)?{_ADVERBS}(?:(?P<false>{_WRONG})|(?P<true>{_RIGHT}))"
            rf"|(?P<wrong>{_ZH_WRONG})|(?P<right>{_ZH_RIGHT}))"
        )
        self._heading = re.compile(
            rf"\W*(?:(?:according to|in|as for|regarding|looking at|however,"
            rf"|meanwhile,) )?(?:{_NAME})\s?\(?(?P<letter>[{letters}])\)?"
            r"(?:\s?[:.–—-]|\W*\Z|,|\s(?:also\s|\w+ly\s)?(?:says|states|claims|mentions|describes|suggests"
            r"|asserts|gives|argues|explains)\b)",
            re.IGNORECASE,
        )
        self._line = re.compile(
            rf"\W*(?:{_HEDGE}[\s,:]+){{0,3}}(?:(?:the )?(?:correct )?{_NAME}\s?)?\(?([{letters}])\)?(?:选项"
            rf"|项)?(?:吧|呗|啊|呢|哦)?(?:\sit\sis)?"
            r"(?:\W*|\s?\([^()]*\)\W*|\s?[.:、)]\s?\S.*|,?\s(?:since|because|as|not|rather than|instead of)\s.*"
            r"|,?\s(?:i (?:think|believe|guess|suppose)|i'd say|in my (?:view|opinion)|probably|most likely"
            r"|for sure)\W*"
            r"|,?\s(?:but|though|although)\s(?:i|it|this|my)\b.*)",
            re.IGNORECASE,
        )

    def answer(self, sentences: list[str]) -> Answer[str]:
        """The option that the sentences take, by the steps given in `verdict`."""
        declared = self._declared(sentences)
        if declared and declared[1] in self.letters:
            return Answer(self._revised(sentences[declared[0] + 1 :]) or declared[1])
        answer = self._weighed(declared, stated(joined(sentences)))
        if answer.value is None and any(map(declining, sentences)):
            return Answer(None, "declines", abstained=True)
        # one sentence and no more is the answer, not the beginning of an argument
        return answer._replace(inferred=answer.value is not None and len(sentences) > 1)

    def _revised(self, sentences: list[str]) -> str | None:
        """The option taken behind a sentence that takes back what was declared before it."""
        for index, sentence in enumerate(sentences):
            if _REVISES.match(sentence):
                chosen = self._concluded(sentences[index:])
                return chosen if chosen and chosen in self.letters else None
        return None

    def _weighed(self, declared: Declared | None, sentences: list[str]) -> Answer[str]:
        """The option that the sentences take without a declaration, or behind one that takes none."""
        chosen = self._concluded(sentences[declared[0] if declared else 0 :])
        if chosen == _BOTH:
            right, wrong = self._ratings(_behind_last(_ALL_ALIKE, sentences))
            return _only(right, right - wrong) or Answer(None, "several answers")
        if chosen:
            return Answer(chosen)
        right, wrong = self._ratings(sentences)
        if not right and not wrong:
            right, wrong = self._parts(sentences)
        left = set(self.letters) - wrong
        if declared:
            other = declared[1].upper()
            return Answer(other) if other in left else Answer(None, "several answers")
        reason = "several answers" if len(right) > 1 else "no verdict"
        return _only(right, right - wrong, wrong and left) or Answer(None, reason)

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
        if _CONDITIONAL.match(text, end):
            return None
        if named["not"] or _rated(text, end) is False:
            return self._other(value).lower() if len(self.letters) == 2 else None
        return value

    def _other(self, letter: str) -> str:
        """The other of two options; nothing where there are more."""
        return self.letters.replace(letter, "") if len(self.letters) == 2 else ""

    def _declared(self, sentences: list[str]) -> Declared | None:
        """The last declared verdict and its sentence."""
        lettered = {line[1].upper() for line in map(self._line.fullmatch, sentences) if line}

        def alone(text: str) -> str | None:
            line = self._line.fullmatch(text)
            # Several lines that open with a letter discuss or repeat the options.
            if not line or len(lettered) > 1 or self._read(text) == _BOTH:
                return None
            return line[1].upper() if _rated(text, line.end(1)) is not False else None

        settled = ["." if _ON_CONDITION.match(sentence) else sentence for sentence in sentences]
        return last_declared(settled, {_DECLARED_OPTION: self._read}, alone)

    def _concluded(self, sentences: list[str]) -> str | None:
        """The last choice, exclusive rating, or rating in a sentence that concludes.

        `_BOTH` when a later conclusion rates all options alike.
        """
        value = None
        for sentence in sentences:
            concludes = bool(CONCLUDES.match(sentence) or _REVISES.match(sentence))
            if concludes and _ALL_ALIKE.search(sentence):
                value = _BOTH
            value = self._chosen(sentence) or self._preferred(sentence, concludes) or value
        return value

    def _chosen(self, sentence: str) -> str | None:
        """The option of the last choice or rejection in the sentence."""
        if _ZH_EITHER.search(sentence):
            return None
        found = [
            (match.start(), self._read(behind(match)), self._undecided(sentence, match.end()))
            for match in matches(_CHOICE, sentence)
        ]
        found += [
            (match.start(), self._other(self._read(behind(match)) or ""), self._undecided(sentence, match.end()))
            for match in matches(_THE_WRONG_ONE, sentence)
        ]
        found += [(match.start(), self._linked(match), False) for match in matches(_ONE_THAT, sentence)]
        found += [
            (match.start(), match["letters"], False)
            for match in matches(_ZH_WHICH, sentence)
            if bool(match["no"]) == bool(match["wrong"])
        ]
        found += [(match.start(), match["letter"], False) for match in matches(_ZH_EXCEPT, sentence)]
        chosen = [
            option
            for _, option, open_ in sorted(found, key=lambda one: one[0])
            if _one(option, self.letters) and not open_
        ]
        return chosen[-1] if chosen else None

    def _linked(self, one_that: re.Match[str]) -> str:
        """The option in "the one that is right is B", or the other of "the one that is wrong is A"."""
        rated = _rated(one_that.string, one_that.end())
        link = _LINKED.match(one_that.string, one_that.end()) if rated is not None else None
        option = self._read(behind(link)) if link else None
        return (option if rated else self._other(option or "")) or ""

    def _preferred(self, sentence: str, concludes: bool) -> str | None:
        """The option that the sentence rates above the others, or rates right in conclusion."""
        value = None
        for found in self._mentions(sentence):
            rated = _said(sentence, found)
            if rated is False or found["owned"]:
                continue
            before = sentence[max(found.start() - 60, 0) : found.start()]
            if _EXCLUSIVE.match(sentence, found.end()) or (rated and (concludes or _CONCLUDING.search(before))):
                value = _letter(found)
        return value

    def _ratings(self, sentences: list[str]) -> tuple[set[str], set[str]]:
        """The options somewhere called right, and those somewhere called wrong."""
        right: set[str] = set()
        wrong: set[str] = set()
        for sentence in sentences:
            for found in matches(self._group, sentence):
                (wrong if found["wrong"] or found["false"] else right).update(re.findall("[A-Z]", found[1]))
            for found in matches(_ZH_WHICH, sentence):
                called_wrong = bool(found["no"]) != bool(found["wrong"])
                (wrong if called_wrong else right).update(set(found["letters"]) & set(self.letters))
            for found in self._mentions(sentence):
                rated = _said(sentence, found)
                if rated is not None and not found["owned"]:
                    (right if rated else wrong).add(_letter(found))
        return right, wrong

    def _details(self, sentences: list[str]) -> tuple[set[str], set[str]]:
        """The options of which a part is called right, and those of which one is called wrong."""
        right: set[str] = set()
        wrong: set[str] = set()
        for sentence in sentences:
            mentions = self._mentions(sentence)
            ends_at = [*(one.start() for one in mentions[1:]), len(sentence)]
            for found, following in zip(mentions, ends_at, strict=False):
                rated = _said(sentence, found) if found["owned"] else None
                if rated is None:
                    rated = _located(sentence, found, following)
                if rated is None:
                    rated = _judged(sentence, found.end(), following)
                if rated is None and len(mentions) == 1 and _agreed(sentence, found):
                    rated = True
                if rated is not None:
                    (right if rated else wrong).add(_letter(found))
        return right - wrong, wrong

    def _parts(self, sentences: list[str]) -> tuple[set[str], set[str]]:
        """The options called right and wrong in part: under their headings, and in details where the reply does not
        call all alike."""
        right, wrong = self._headed(sentences)
        if not any(map(_ALL_ALIKE.search, sentences)):
            more_right, more_wrong = self._details(sentences)
            right, wrong = right | more_right, wrong | more_wrong
        return right - wrong, wrong

    def _headed(self, sentences: list[str]) -> tuple[set[str], set[str]]:
        """The options called right, and those called wrong, under a heading of their own ("Answer A: … This statement
        is incorrect.")."""
        right: set[str] = set()
        wrong: set[str] = set()
        letter = None
        for sentence in sentences:
            if heading := self._heading.match(sentence):
                letter = heading["letter"].upper()
            if letter is None:
                continue
            for found in [*matches(_THIS_IS, sentence), *filter(None, [_ALONE.match(sentence)])]:
                (right if _good(found) else wrong).add(letter)
        return right - wrong, wrong

    def _mentions(self, sentence: str) -> list[re.Match[str]]:
        """Where the sentence names an option that is neither conditional nor half of "A and B"."""
        mentioned = [*matches(self._mention, sentence)]
        # the turns of the sentence, where anything in it only seems so
        seeming = mentioned and _SEEMS.search(sentence)
        turns = [found.start() for found in _TURN.finditer(sentence)] if seeming else None
        return [found for found in mentioned if self._stands(sentence, found, turns)]

    def _stands(self, sentence: str, mention: re.Match[str], turns: list[int] | None) -> bool:
        before = sentence[max(mention.start() - 30, 0) : mention.start()]
        if mention[0] == "A" and _AFTER_ARTICLE.match(sentence, mention.end()):
            return False
        pair, other = _PAIR.search(before), _COORDINATED.match(sentence, mention.end())
        if other and other[1].upper() in self.letters and other[1].upper() != _letter(mention):
            return False
        if _UNSURE.search(before) or _KIND.search(before) or (pair and pair[1].upper() in self.letters):
            return False
        if turns is not None and _only_seems(sentence, mention, turns):
            return False
        return not self._undecided(sentence, mention.start())

    @staticmethod
    def _undecided(sentence: str, start: int) -> bool:
        """Whether what begins there holds on a condition only."""
        return bool(_CONDITION.search(sentence, max(start - 200, 0), start))


def _only(*candidates: set[str]) -> Answer[str] | None:
    """The first option that stands alone."""
    return next((Answer(next(iter(options))) for options in candidates if len(options) == 1), None)


def _behind_last(pattern: re.Pattern[str], sentences: list[str]) -> list[str]:
    """The sentences behind the last one in which the pattern is found."""
    last = max((index for index, sentence in enumerate(sentences) if pattern.search(sentence)), default=-1)
    return sentences[last + 1 :]


def _letter(mention: re.Match[str]) -> str:
    return str(mention["named"] or mention["bare"]).upper()


def _one(option: str | None, letters: str) -> bool:
    return option is not None and len(option) == 1 and option in letters


def _good(found: re.Match[str]) -> bool:
    """Whether a rating is a good one; each negation turns it round."""
    names = found.re.groupindex
    negations = sum(found[name] is not None for name in ("no", "not") if name in names)
    right = any(found[name] for name in ("right", "right_after_all", "proper") if name in names)
    return right != (negations % 2 == 1)


def _rated(text: str, end: int) -> bool | None:
    """Whether the option whose name ends there is called right (True) or wrong (False), at once."""
    for pattern in (_IS, _RATED, _BARELY, _ZH_CALLED):
        if found := pattern.match(text, end):
            return None if _CONDITIONAL.match(text, found.end()) else _good(found)
    if _DOES_WELL.match(text, end):
        return True
    return False if _DOES_BADLY.match(text, end) or _IS_NOT.match(text, end) else None


def _said(sentence: str, mention: re.Match[str]) -> bool | None:
    """Whether the option named there is called right or wrong; what one does not believe is turned round."""
    rated = _rated(sentence, mention.end())
    doubted = _DOUBTED.search(sentence, max(mention.start() - 40, 0), mention.start())
    return not rated if rated is not None and doubted else rated


def _judged(text: str, start: int, end: int) -> bool | None:
    """Whether what the option says is called right or wrong in the same sentence: "A says …, which is wrong"."""
    if stated_how := _STATES.match(text, start):
        return _good(stated_how)
    judged = [_good(found) for found in _THIS_IS.finditer(text, start, min(end, start + 400))]
    return judged[-1] if judged else None


def _located(sentence: str, mention: re.Match[str], end: int) -> bool | None:
    """Whether a mistake is said to be in the option, or none, or something in it is called right or wrong."""
    before = sentence[max(mention.start() - 80, 0) : mention.start()]
    if mistake := _MISTAKE_IN.search(before):
        return bool(mistake["no"])
    if not _IN.search(before):
        return None
    if _CHANGED.search(sentence, mention.end(), min(end, mention.end() + 200)):
        return False
    if not _CLAIM_IN.search(before):
        return None
    judged = _IS.search(sentence, mention.end(), min(end, mention.end() + 200))
    return _good(judged) if judged else None


def _agreed(sentence: str, mention: re.Match[str]) -> bool:
    """Whether the facts of the sentence agree with the option."""
    start = mention.start()
    agrees = _AGREES_WITH.search(sentence[:start]) or (
        _AS.search(sentence[:start]) and _SAYS.match(sentence, mention.end())
    )
    return bool(agrees) and not _DENIES.search(sentence, 0, start)


def _only_seems(sentence: str, mention: re.Match[str], turns: list[int]) -> bool:
    """Whether what is said of the option there only seems so, up to the next turn of the sentence."""
    start = max((turn for turn in turns if turn <= mention.start()), default=0)
    end = min((turn for turn in turns if turn > mention.start()), default=len(sentence))
    return bool(_SEEMS.search(sentence, start, min(end, mention.end() + 60)))
