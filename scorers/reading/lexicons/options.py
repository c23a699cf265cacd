"""Patterns of statements that choose one of several options, in English and Chinese."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from halu_tasks.scorers.reading.lexicons import declared
from halu_tasks.scorers.reading.lexicons.declared import DECLARED
from halu_tasks.scorers.reading.patterns import expression, ignoring_case, pattern
from halu_tasks.text.folding import any_of

# A mark may be all that a sentence states about an option.
ANYTHING = pattern(r"\S")
RIGHT_MARKS, WRONG_MARKS = "√✓✔✅", "×✗✘❌"
NAME = r"(?:answers?|options?|choice|response|选项|答案)"
# Words that may occur between a marker and the letter that it introduces.
FILLER_WORDS = any_of("""
    is are was be should would will must as of for to that the my with so thus therefore factually correct right best
    better more accurate final verdict definitely clearly actually it(?:'s)? one letter in based on analysis favou?r
    goes given still only and being having i say choose select conclude declare la le der die
""")
FILLER = ignoring_case(rf"(?:[^\w(]|\b{FILLER_WORDS}\b|就是|应|是|为|选|择|项|的|该|当|最|正确|答案)*")
REFUSAL = ignoring_case(r"""
    (?:both|neither|either|none|all|cannot|can't|tied?|they|equal|inconclusive|undetermined|no)\b|都|均|两者|两个|没有
""")
# In "A careful answer", A is not an option, unlike in "A is", "A or", "A because".
FOLLOWS_LETTER = any_of("""
    is was and or because since as over for due based by with in on here arbitrarily simply only seems? appears? remains
    provides? gives offers presents has contains demonstrates comes gets? got wins beats prevails confuses conflates
    misstates rather instead it should must looks sounds turns holds checks mistakenly wrongly incorrectly falsely
    erroneously correctly accurately rightly says states claims doesn't does isn't the edges makes made matches can't
    cannot
""")
AFTER_ARTICLE = pattern(rf"\s+(?!{FOLLOWS_LETTER}(?:\W|\Z))[a-z]")
COORDINATED = ignoring_case(rf"""
    \)?\s?(?:,|、|/|&|\+|\band\b|\bor\b|和|与|或|及)\s?(?:{NAME}\s?)?\(?([A-Za-z])(?![A-Za-z0-9]|'s)
""")
PAIR = ignoring_case(r"(?<![A-Za-z])([A-Za-z])\)?\s?(?:and|or|nor|&|/|、|和|与)\s?(?:answer\s)?\(?$")
UNSURE = ignoring_case(r"(?:\bif|\bwhether|\bnor|\bneither)\s(?:answer\s|option\s)?\(?$")
# A condition leaves the choice open, unless the condition is only that one must choose.
FORCED = r"(?:forced|pressed|pushed|made|pressured|asked|I|we|you|one|anything|any|not|so)\b"
CONDITION = ignoring_case(rf"""
    (?:(?<!even )\b(?:if|assuming|provided that|suppose|supposing|unless|depending|otherwise)\b(?!\s(?:that\s)?{FORCED})
    |\bif not,|如果|假如|要是|假设|若(?!干)|取决于)(?:(?!\b(?:so|but|therefore|thus|hence|however|yet)\b|所以|因此
    |但)[^.;。])*\Z
""")
ON_CONDITION = ignoring_case(rf"""
    \W*(?:(?:and|or|but|while) )?(?:(?:if|assuming|unless|provided that|suppose)\b(?!\s(?:that\s)?{FORCED})|如果|假如
    |要是|假设|若)(?!.{{0,300}}(?:\b(?:so|but|therefore|thus|hence|however)\b|所以|因此|但))
""")
# The letter in "Hepatitis A" is not an option.
KIND = ignoring_case(r"""
    \b(?:vitamins?|hepatitis|influenza|types?|groups?|class|factor|phase|step|figure|planet|star|protein|gene|strain
    |chain|subunit|receptor|particle|team|person|sample|substance|compound|point|case|scenario)\s\Z
""")
CONDITIONAL = ignoring_case(r"\)?,?\s(?:only\s)?(?:if|when|assuming|provided that|unless|depending)\b")
# An option that only seems right is replaced by what follows.
SEEMS = ignoring_case(r"""
    \bat (?:first|a glance)\b|\bon the (?:surface|face of it)\b|\b(?:initially|superficially|originally)\b
    |\b(?:may|might|could|can) (?:at first )?(?:seem|look|appear|sound)|\b(?:first|one (?:may|might|could)) (?:think
    |thought)\b|乍看|乍一看|看似|看起来|起初|一开始|最初|本以为|原以为
""")
TURN = ignoring_case(r"\b(?:but|however|yet|nevertheless|actually|in fact|in reality)\b|但|然而|其实|实际上|不过")

# --- statements about an option, directly after its letter --------------------------------------------

# "less accurate" means wrong, and "less wrong" means right.
FAULTS = any_of("incorrect inaccurate wrong false flawed misleading mistaken erroneous problematic bad")
WRONG = expression(rf"""
    (?:le(?:ss|ast)(?!\s(?:\w+ly\s)?{FAULTS})|incorrect|inaccurate|wrong|false|flawed|misleading|untrue|mistaken
    |erroneous|fabricated|confabulated|hallucinated|altered|falsified|distorted|tampered|manipulated|corrupted|invalid
    |non-?factual|unfactual|counterfactual|nonsense|nonsensical|modified|doctored|fictitious|fictional|bogus|fake
    |unreliable|untenable|off|worse|inferior|weaker|fabrication|confabulation|hallucination|falsehood|distortion
    |made[\s-]up)\b
""")
RIGHT = expression(rf"""
    (?:le(?:ss|ast)\s(?:\w+ly\s)?{FAULTS}|factual|correct|accurate|right|true|valid|truthful|reliable|trustworthy|sound
    |genuine|authentic|unaltered|error-free)\b
""")
ADVERB = any_of(r"(?!part)\w+ly also the an? indeed quite very still both to\sbe one answer that which")
ADVERBS = rf"(?:{ADVERB}\s+){{0,5}}"
BE = any_of(r"""
    is was as are being seems? appears? remains looks? sounds? turns\sout proves turned\sout proved holds rings
    strikes\sme\sas would\sbe to\sbe (?:should|must|has\sto|needs\sto|ought\sto)\s(?:\w+ly\s)?be
    ha(?:s|d)\s(?:\w+ly\s)?been
""")
BE_NOT = expression(rf"""
    (?:(?:is|was|are|has|seems?)n't|{BE}\s+{ADVERBS}(?:not|never)|(?:does|do|did)(?:n't|\snot)\s(?:seem|appear|look
    |sound)|(?:(?:should|must|could)n't|can't|cannot|(?:should|must|could)\snot)\sbe)\b
""")
TAKEN_AS = expression(r"""
    (?:(?:made|considered|deemed|judged|regarded|rated|label?led|marked|classified|called|found|shown|seen|viewed
    |treated|taken|rendered|known|turned)\s+(?:to\sbe\s|as\s|into\s|out\s)?)?
""")
# "is wrong", "was made false", "should be considered incorrect", "is not the false one"
IS = ignoring_case(rf"""
    \)?\s+(?:(?P<no>{BE_NOT})|{BE})\s+{ADVERBS}{TAKEN_AS}{ADVERBS}(?P<not>not\s+)?{ADVERBS}(?:(?P<wrong>(?:(?:more
    |most)\s)?{WRONG})|(?P<right>{RIGHT}))
""")
IS_NOT = ignoring_case(rf"\)?\s+{BE_NOT}(?!\s(?:only|just|as|necessarily)\b)")
MISTAKES = expression(r"""
    (?:errors?|mistakes?|inaccurac(?:y|ies)|falsehoods?|misstatements?|fabrications?|misconceptions?|contradictions?)\b
""")
CLAIM = expression(r"""
    (?:claim|statement|assertion|detail|sentence|description|figure|number|fact|part|line|explanation|information)s?\b
""")
HAS = any_of("contains? has have includes? makes? introduces? commits?")
GAP = r"\)?(?:\s?[:(,=]\s?|\s[-–—→⇒=]{1,3}\s|\s+)"
DOES_WELL = ignoring_case(rf"""
    {GAP}(?:no (?:\w+ ){{0,2}}{MISTAKES}|(?:gets?|got|has|have)\s[^,.;]{{0,40}}?\bright\b
    |(?:{HAS}\s(?:no|zero)|(?:does|do)(?:n't|\snot)\s{HAS}
    |is (?:\w+ly )?(?:free (?:of|from)|without))\s(?:[\w-]+\s+){{0,4}}?{MISTAKES}|(?:holds|stands|checks|adds) (?:up
    |out)\b|(?:is|are) (?:\w+ly )?(?:supported|backed up|confirmed|borne out) by\b
    |(?:\w+ly )?(?:matches|fits|agrees with
    |is (?:consistent|in line|in agreement) with) (?:the |what |our |established )*(?:\w+ )?(?:facts?|evidence|sources?
    |reality|known|science|record|literature|knowledge)\b|(?:matches|fits) what (?:we|is) know)
""")
DOES_BADLY = ignoring_case(rf"""
    {GAP}(?:{HAS}\s+(?!(?:no|zero|few|fewer)\b)(?:[\w-]+\s+){{0,4}}?(?:{MISTAKES}|{WRONG}\s{CLAIM})
    |(?:gets?|got|has|have)\s[^,.;]{{0,40}}?\b(?:wrong|backwards|reversed)\b|(?:\w+ly )?(?:confuses|conflates|mixes up
    |misstates|misrepresents|reverses|contradicts|swaps|misidentifies|misattributes|mislabels|distorts|fabricates|errs
    |fails|falls (?:short|apart|flat)|slips up|goes wrong)\b|(?:conflicts|clashes) with\b|violates\b|goes against\b
    |is (?:\w+ )?(?:inconsistent|incompatible|at odds) with\b|(?:does|do)(?:n't| not) (?:\w+ )?(?:hold|stand|check|add
    |match|fit|make sense|agree)\b|(?:can|should|must|has to|is|was) (?:\w+ly )?(?:be )?(?:\w+ly )?(?:rejected|ruled out
    |dismissed|discarded|excluded|eliminated|discounted|contradicted)\b)
""")
# Statements about a part of an option, which are used if there is none about the whole option.
GIVES = r"(?:gives?|states?|provides?|uses|has|shows|names|cites|identifies|reports) the (?:\w+ly )?"
STATES = ignoring_case(rf"""
    \)?\s+(?:\w+ )?(?:(?P<right>(?:correctly|accurately|rightly|truthfully)\s\w)|{GIVES}(?:(?P<proper>correct|right
    |accepted|established|true|accurate|actual|proper)|wrong|incorrect|false|opposite)\s
    |(?P<wrong>(?:incorrectly|inaccurately|wrongly|mistakenly|falsely|erroneously)\s\w
    |(?:swaps|replaces|substitutes)\s\S[^.;]{{0,60}}? (?:with|by|for)\b))
""")
ZH_OF = r"(?:选项|项|的|说法|描述|表述|内容|与|和|所述|所说|事实|史实|题意|原文)*"
ZH_WRONG = expression(rf"""
    (?:{ZH_OF}(?:是|也|为|则|都|均|属于)*(?:错|不正确|不对|不是|有误|不符|不相符|不一致|不准确|不成立|不属实|(?:为|是)假
    |虚假|不真实|有问题|存在错误|矛盾|说错|搞错|弄错|站不住脚|(?:可以|应该?|被)?排除
    |[与和][^,;。]{{1,10}}(?:矛盾|不符|不一致|相悖)|[{WRONG_MARKS}]))
""")
ZH_RIGHT = expression(rf"""
    (?:{ZH_OF}(?:才|是|为|唯一|最|最为|更|完全|基本|也)*(?:正确|对(?![于比应照方])|相?(?:符合|一致|吻合)|相符
    |[与和同跟][^,;。]{{1,10}}?(?:一致|相符|吻合)|准确|合适|恰当|贴切|合理|可信|最佳|当选|入选|没有?(?:错|问题|毛病)
    |无误|站得住脚|成立|属实|(?:为|是)真|真实|(?<=最)有?可能|最?接近(?:事实|史实|正确|真相|题意)|[√✓✔✅]))
""")
ZH_CALLED = pattern(rf"""
    \)?[\s.:]*(?:{ZH_OF}(?:并不是|不是|并非|没有?|未)(?P<right_after_all>错|有误|误|问题)|(?P<wrong>{ZH_WRONG})
    |(?P<right>{ZH_RIGHT}))
""")
# "A: correct", "B (false)", "A - FALSE", "A = yes"
RATED = ignoring_case(rf"""
    \)?(?:\s(?:is\s)?{RIGHT})?\s?(?:[:(=,]|[-–—→⇒=]{{1,3}}\s)\s?(?:(?:mostly|partially|partly|it's
    |is)\s)?{ADVERBS}(?P<not>not\s+{ADVERBS})?(?:(?P<right>{RIGHT}|(?:yes|t)\b(?=\W*\Z|\s?[,;(]))
    |(?P<wrong>{WRONG}|(?:no|f)\b(?=\W*\Z|\s?[,;(])))
""")
# "A true, B false"
BARELY = ignoring_case(r"""
    \)?\s(?:(?P<right>true|correct|right|factual)|(?P<wrong>false|incorrect|wrong))\b(?=\W*\Z|\s?[,;.(])
""")
# "B is the more accurate one", "B provides a better explanation": this can apply to one option only.
NOUN = any_of("""
    answers? responses? choices? options? ones? explanation statement version text passage account description pick
""")
ABOVE = any_of("""
    more most better best superior closest closer nearer nearest lesser fewer greater preferable preferred stronger
""")
EXCLUSIVE = ignoring_case(rf"""
    \)?\s+(?:(?:{BE}|provides?|offers?|gives?|presents?|has|demonstrates|contains)\s+(?:[\w-]+\s+){{0,5}}?{ABOVE}\b
    |{BE}\s+(?:the|my)\s+(?:[\w-]+\s+){{0,3}}?(?:answer|response|choice|option|one|version|pick|winner|verdict)\b
    |{BE}\s+the\s+(?:\w+ly\s+)?{RIGHT}(?=\W*\Z)
    |(?:provides|offers|gives|presents|has)\s+the\s+(?:\w+ly\s+)?{RIGHT} {NOUN}|(?:more|better)\s\w+
    |(?:wins|beats|prevails|outperforms|edges out)\b|(?:comes|gets) (?:\w+ )?closer\b
    |(?:gets|has) (?:my vote|the edge)\b|for me\b|it is\b(?=\W*\Z)
    |(?:over|rather than|instead of) (?:{NAME} )?\(?[A-D]\b)|(?:选项|项)?(?:就|才|便)?是(?:唯一)?(?:的|正确的?)?(?:答案
    |选项)|(?:选项|项)?比[^,;。]{{1,12}}?更(?:准确|正确|符合|合理|接近|可信|恰当|贴切)
    |(?:选项|项)?才(?=是|对|正确|符合|属实|成立|最)
""")
# "which is inaccurate", "this statement is correct", "but that's not true"
THIS_IS = ignoring_case(rf"""
    (?:\b(?:this|it|that)|(?<=[,;(–—-]\s)which)(?:\s(?:answer|statement|explanation|claim|response|description|part
    |detail|figure))?(?:(?P<no>\s?(?:is|was|are|does|seems)(?:n't|\snot)\b)|\s{BE}
    |'s)\s{ADVERBS}(?P<not>not\s{ADVERBS})?(?:(?:in part |part(?:ial)?ly )?(?P<right>{RIGHT})|(?P<wrong>{WRONG}))
""")
ALONE = ignoring_case(rf"""
    \W*(?:(?:verdict|accuracy|assessment|rating|status|judge?ment
    |evaluation)\s?[:=]\s?)?{ADVERBS}(?P<not>not\s{ADVERBS})?(?:(?P<right>{RIGHT})|(?P<wrong>{WRONG}))(?=\W*\Z
    |\s?[.:,;!(—–-])
""")
ALL_ALIKE = ignoring_case(rf"""
    \b(?:both|neither)\b(?:\s(?:of|the|answers?|options?|responses?|[A-D]|and|n?or|are|is
    |\w+ly)){{0,9}}\s(?:(?:in)?(?:correct|accurate|acceptable|valid|factual)\b
    |(?:contain|have|make) (?:\w+ ){{0,3}}?{MISTAKES})
""")

# --- what introduces a letter: a declaration, a choice, a rejection -----------------------------------

GOOD = rf"(?:{RIGHT}|(?:best|better|stronger|winning|preferred|preferable|superior|original|real|unmodified)\b)"
OVERALL = r"(?: here| overall| of the two| between the two| among them)?"
LINK = expression(r"""
    (?:\s(?:is|was|would be|should be|must be|has to be|remains|seems to be|appears to be
    |(?:lies|occurs|appears|sits|(?:can be |is |was )?(?:found|given|contained|located)) (?:in|by))\b|\s?[:=→⇒]
    |\s[-–—]+(?=\s))
""")
WITH_MISTAKE = rf"(?:with|containing)\s(?:the|an?)\s(?:\w+ ){{0,2}}?{MISTAKES}"
THE_RIGHT_ONE = expression(rf"""
    (?<!not the )(?<!not )(?<![\w-])(?:{GOOD} {NOUN}|{NOUN} {GOOD}){OVERALL}{LINK}
    |\b(?:correct|accurate|factual) (?:claim|fact|figure|information){LINK}
""")
THE_WRONG_ONE = ignoring_case(rf"""
    \b(?:{WRONG} (?:{NOUN}|claim|detail|information|part){OVERALL}|{NOUN} {WITH_MISTAKE}){LINK}
    |^(?:(?:\w+ly )?{WRONG}|not (?:\w+ly )?{RIGHT})(?: {NOUN})?[\s{WRONG_MARKS}]{{0,3}}[:=]
    |\b{MISTAKES}\s(?:is|are|lies?|occurs?|appears?|sits?|can be|was)(?: found| made)? (?:in|with|by)\b
    |(?:\breject|(?<!not )\brul(?:e|ing) out|\bdismiss|\bdiscard|\beliminate|\bexclude|\banything but|^(?:\w+ly )?not
    |\b(?:it|answer|verdict)(?:'s not| is not| isn't| can't be| cannot be))\b
""")
# "the answer that holds up is B": the statement is about the option after the link.
ONE_THAT = ignoring_case(rf"\b{NOUN} (?:that|which)(?=\s)")
LINKED = ignoring_case(rf"[^,.;]{{3,60}}?{LINK}")
DECLARED_OPTION = ignoring_case(rf"""
    {DECLARED.pattern}|\b(?:the|my) answer is\b|^answer is\b|^it's\b
    |^(?:the )?(?:more )?(?:\w+ly )?{GOOD}(?: {NOUN})?[\s{RIGHT_MARKS}]{{0,3}}[:=]|^(?:my |the )?(?:final )?(?:answer
    |choice|pick)\s?(?:[→⇒]|[-–—]+(?=\s))|^TL;?\s?DR\s?:|^答(?:\s?:|(?=[A-D]))|^答案(?=\s)
    |正确(?:答案|选项)(?=\s?\([A-Z]\))|(?:答案|结论|最终选择|我的选择|正确选项|选项)(?:对应)?的?(?:字母|序号|编号|代号
    |标号|代码)(?:是|为|:)|(?:答案|结论|最终选择|我的选择|正确选项)(?:应该|应当|应|就|显然|无疑|当然|肯定|只能
    |毫无疑问)?\s?(?:是|为|选|:)
""")
LETTER_NEXT = expression(rf"""
    (?=\s(?:that )?(?:it's |it is )?(?:\w+ly )?(?:{NAME} )?\(?[A-D]\)?(?:\W*\Z|\s?[.,;:!—–-]
    |\s(?:since|because|as|for|here|over|is the)\b))
""")
CHOICE = ignoring_case(rf"""
    (?<!not )(?<!n't )(?<!never )\b(?:choos(?:e|ing)|chose|pick(?:ing)?|select(?:ing|ed)?|inclined (?:to(?:wards?)?)
    |go(?:ing)? (?:with|for)|opt for|prefer|recommend|declare|favou?r|lean(?:ing)?(?: to(?:wards?)?)?
    |vote (?:for|goes to|is)|money is on|bet on|trust|settle (?:on|for)|sid(?:e|ing) with)\b|{THE_RIGHT_ONE}
    |\bthe (?:only|one|single) (?:\w+ ){{0,2}}{NOUN} [^,.;]{{0,60}}?{LINK}|\b(?:correct|accurate|right|better) is\b
    |\b(?:i(?:'d|'ll)?|i would|we)(?: would| will)? (?:say|guess|think|believe|take|vote){LETTER_NEXT}
    |\b(?:it|letter|verdict)(?:'s| is| must be| has to be| should be| would be| can only be){LETTER_NEXT}
    |\bmakes?(?= (?:{NAME} )?\(?[A-D]\)? (?:the )?(?:\w+ly )?(?:{RIGHT}|better|winner))
    |\b(?:so|hence|thus|therefore),?(?= (?:answer |option )?\(?[A-D]\)?\W*\Z)
    |(?:所以|因此|故|综上(?:所述)?),?(?=\s?(?:选项)?[A-D]\W*\Z)|\bnot (?:answer |option )?\(?[A-D]\)?,? but\b
    |\b(?:leaves|leaving)\b(?: us with)?|\bif (?:forced|pressed|pushed|made|I (?:had|have|must|were))\b[^,.;]{{0,30}},
    |(?<![不别未非])(?:选(?!项)择?了?(?:的是)?|投(?=[A-D]))|(?<=[应该])填|而是|(?<=[,;])\s?是|(?:正确|对)的是
    |(?:认为|觉得|推断|判断|估计|推测|猜|应该|应当|可能|疑问|只能|那就)(?:正确的|答案)?(?:是|为)
    |(?:只|仅)?剩下?(?:的|了)?(?:只有)?|倾向于?|非(?=[A-D]莫属)|投给|锁定|(?:也就是|即)(?=(?:选项)?[A-D](?:\W|项|选项))
    |对应(?:的?选项)?(?:是|为)?|(?:^|(?<=[,;:])|(?<=\s))(?:正确|对)(?:的|选项|答案)?\s?:
    |(?:答案|选项)(?=\s?(?:应|是|为|就|:))
""")
# 与此一致的是D, 唯一没有错误的是C, 不正确的是A、B和D
ZH_WHICH = pattern(r"""
    (?P<no>不够?|没有?(?:任何)?|未|无)?(?P<said>正确|符合?|一致|相符|成立|准确|属实|吻合|恰当|贴切|匹配|合理|可信
    |(?P<wrong>错误?|有误|问题|矛盾|误|相悖))(?:[^,;。:?A-Z]{0,8}的(?:选项|答案|说法|描述|一?项|表述|陈述)?|选项|项|答案
    |说法)[^,;。?A-Z]{0,4}?(?:是|为|有|见|:)\s?(?:选项)?(?P<letters>[A-Z](?:(?:项
    |选项)?[、,和及与/]{1,2}\s?[A-Z]){0,3})(?![A-Za-z])
""")
ZH_EITHER = pattern(r"(?:可能是?|或许是?|要么是?)[A-Z].{0,20}?(?:也(?:有)?可能|或许|要么)")
ZH_EXCEPT = pattern(rf"""
    除了?(?:选项)?(?P<letter>[A-Z])(?:项|选项)?(?:以外|之外|外)?,?(?:其他|其它|其余|别的|剩下
    |另外)[^。;]{{0,12}}?{ZH_WRONG}
""")
HEDGE = expression(r"""
    (?:(?:prob|presum|argu|definite|certain|clear|obvious|most like|like|final|ultimate|consequent)(?:ab)?ly|so|then
    |maybe|perhaps|ok(?:ay)?|well|hence|thus|therefore|overall|given (?:the|all|this)(?: \w+)?
    |in (?:my (?:view|opinion)|the end|short|conclusion))
""")
# The start of a sentence that takes back an earlier verdict.
REVISES = ignoring_case(rf"""
    \W*(?:{declared.SECOND_THOUGHT}|hmm|on closer|actually|no, |sorry|let me re|等等|不对,|更正|抱歉,|重新)
""")
DOUBTED = ignoring_case(r"""
    (?:(?:\bnot|n't|\bnever)\s(?:\w+ly\s)?(?:think|believe|consider|find|say|see how)
    |\bdoubt)(?:\s(?:that|if|whether))?\s\Z
""")
CONCLUDING = ignoring_case(r"""
    (?:^|[,;:—–-]\s?|\band\s)(?:so|hence|thus|therefore|which (?:means|makes)|(?:that|this) (?:means|makes)
    |making)\b[^,;.]{0,30}\Z|\b(?:which|that|this) makes\s?(?:answer\s)?\Z|\bon reflection\b[^;.]{0,30}\Z
""")
# "which matches Answer B", "as Answer A says"
DENIES = ignoring_case(r"\b(?:not|no|never|rather than|instead|zero)\b|n't\b")
AGREES_WITH = ignoring_case(r"""
    (?<!not )(?<!n't )\b(?:match(?:es|ing)?|consistent with|in line with|agree(?:s|ing) with|supports?
    |confirms?)\s(?:what )?\Z
""")
# "a mistake in Answer A", "the claim in Answer A that … is wrong", "in Answer A, … was changed to …"
MISTAKE_IN = ignoring_case(rf"""
    (?P<no>\b(?:no|not|any|without|zero)\b(?:\s[\w-]+){{0,3}}\s
    |n't\s(?:[\w-]+\s){{0,4}})?\b{MISTAKES}(?:\s\w+){{0,2}}\s(?:in|with)\s\Z
""")
IN = ignoring_case(r"\b(?:in|by|of)\s\Z")
CLAIM_IN = ignoring_case(rf"\b{CLAIM}(?:\s(?:made|given|found))?\s(?:in|by|of)\s\Z")
CHANGED = ignoring_case(r"""
    \b(?:is|was|were|been) (?:\w+ )?(?:swapped|changed|replaced|altered|substituted|modified|reversed|inverted)\b
""")
AS = ignoring_case(r"(?<!\()\b(?:just |exactly )?as \Z")
SAYS = ignoring_case(r"\)? (?:\w+ly )?(?:says|states|claims|explains|notes|describes|does|has it)\b")
ANSWER = r"(?:answer|option|response|choice|one|explanation|statement)"
FIRST, SECOND = (
    re.compile(
        rf"\b(?:the )?{nth} {ANSWER}\b|\bthe (?:{word}|{nth}(?= (?:is|was|does|has|contains)\b))"
        rf"|\b(?:answer|option|response) #?{number}\b|\A\W*{nth}\W*\Z",
        re.IGNORECASE,
    )
    for nth, word, number in (("(?:first|1st)", "former", 1), ("(?:second|2nd)", "latter", 2))
)
LETTER = pattern(r"(?<![A-Za-z])[A-D](?![A-Za-z])")
CHINESE_COUNT = pattern(r"""
    (?:第\s?(?P<nth>[一二三四1-4])|最(?P<last>后)一)(?:个|個|项|項|种|種)?(?:选项|選項|答案|说法|說法|描述|陈述|表述
    |选择)|(?:第\s?(?P<item>[一二三四1-4])|最(?P<final>后)一)(?:项|項)|(?:选项|選項)\s?(?P<number>[一二三四1-4])(?!\d)
    |(?:(?<=[选選是择擇为])|(?<=[选選择擇]了))(?:第\s?(?P<bare>[一二三四1-4])|最(?P<end>后)一)(?:个|個)(?!\w)
""")
ENGLISH_COUNT = ignoring_case(r"""
    \b(?:the )?(?:(?P<nth>first|second|third|fourth|last) (?:answer|option|choice|statement|one)
    |(?:option|choice) (?P<number>[1-4])(?!\d))
""")
PLACES = {
    word: place
    for place, names in enumerate(("一1first", "二2second", "三3third", "四4fourth"))
    for word in (names[0], names[1], names[2:])
}
"""The index, from 0, of the option that a word for a number refers to."""


# --- options by their letters -------------------------------------------------------------------------


@dataclass(frozen=True)
class LetterWords:
    """The patterns for options with certain capital letters.

    Attributes:
        first: Matches the option named at the start of a string.
        mention: Matches an option, also with something that belongs to it ("B's claim").
        group: Matches several options that are called right or wrong together.
        heading: Matches the start of a sentence that is about one option.
        line: Matches a line that consists only of an option.
    """

    first: re.Pattern[str]
    mention: re.Pattern[str]
    group: re.Pattern[str]
    heading: re.Pattern[str]
    line: re.Pattern[str]


@cache
def letter_words(letters: str) -> LetterWords:
    """Return the patterns for options with the given letters."""
    return LetterWords(
        first=ignoring_case(rf"""
            (?P<not>not\s)?(?:(?P<name>{NAME})\s?)?(?P<open>\()?(?P<letter>[{letters}])(?![A-Za-z0-9]|'s)
        """),
        mention=pattern(rf"""
            (?<![A-Za-z0-9'-])(?:(?i:{NAME}\s?\(?(?P<named>[{letters}]))|(?P<bare>[{letters}]))(?![A-Za-z0-9-])
            (?:(?P<owned>'s)(?:\s[\w-]+){{1,8}}?(?=\s(?:{BE}|{BE_NOT})\s)|(?!'s))
        """),
        group=pattern(rf"""
            (?<![A-Za-z])((?:[{letters}](?![A-Za-z])(?:(?:\s?(?:[、,和及与/&]|and\b|or\b)){{1,2}}\s?|\s)?){{2,4}})
            (?:这?[两三四2-4](?:项|个选项|个|者))?(?:选项|项)?
            (?:(?:are|were)\s(?:all\s|both\s)?{ADVERBS}(?:(?P<false>{WRONG})|(?P<true>{RIGHT}))
            |(?P<wrong>{ZH_WRONG})|(?P<right>{ZH_RIGHT}))
        """),
        heading=ignoring_case(rf"""
            \W*(?:(?:according to|in|as for|regarding|looking at|however,|meanwhile,) )?(?:{NAME})\s?
            \(?(?P<letter>[{letters}])\)?(?:\s?[:.–—-]|\W*\Z|,
            |\s(?:also\s|\w+ly\s)?(?:says|states|claims|mentions|describes|suggests|asserts|gives|argues|explains)\b)
        """),
        line=ignoring_case(rf"""
            \W*(?:{HEDGE}[\s,:]+){{0,3}}(?:(?:the )?(?:correct )?{NAME}\s?)?\(?([{letters}])\)?(?:选项|项)?
            (?:吧|呗|啊|呢|哦)?(?:\sit\sis)?
            (?:\W*|\s?\([^()]*\)\W*|\s?[.:、)]\s?\S.*|,?\s(?:since|because|as|not|rather than|instead of)\s.*
            |,?\s(?:i (?:think|believe|guess|suppose)|i'd say|in my (?:view|opinion)|probably|most likely|for sure)\W*
            |,?\s(?:but|though|although)\s(?:i|it|this|my)\b.*)
        """),
    )
