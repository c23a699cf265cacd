"""Patterns of checks of claims."""

from __future__ import annotations

from halu_tasks.scorers.reading.patterns import expression, ignoring_case, pattern

STAR = pattern(r"(?m)^[ \t]*\*[ \t]+")
LIST_MARK = pattern(r"^[ \t]*(?:[-+•·–—]|\(?\d{1,3}[.):])[ \t]+")
EITHER = r"(?!\s?(?:/|\||or\b)\s?(?:yes|no)\b)"
YES_WORDS = r"(?:yes|true|correct|accurate|ja|oui|sí|wahr|richtig|korrekt|vraie?|verdader[oa]|是|支持)"
NO_WORDS = r"(?:no|false|incorrect|inaccurate|nein|non|falsch|fausse|faux|fals[oa]|否|不支持)"
YES = expression(rf"""
    (?:(?:{YES_WORDS}|y|1)\b{EITHER}|(?:fully |directly |explicitly |clearly )?(?:supported|entailed|verified)\b
    |[✓✔✅☑])
""")
NO = expression(rf"""
    (?:(?:{NO_WORDS}|0|n(?!/))\b{EITHER}|unsupported\b|not\b|(?:partial|part)(?:ly)?\b|cannot\b|can't\b|contradict\w*
    |unclear\b|unverif\w*|unknown\b|somewhat\b|mostly\b|n/a\b|[✗✘❌✖☒×⚠❓👎🔴🟡🟠])
""")
VALUE = ignoring_case(rf"""
    [\s:=\[({{-]{{0,5}}(?:(?P<yes>{YES})(?!\W{{0,4}}(?:but|partial|part|mostly|although|though|somewhat)\w*)
    |(?P<no>{NO}|{YES}))
""")
PART = r"(?:not |partially |partly |cannot be )"
NAME = expression(r"""
    (?:is ?)?(?:supported|support|entailed|faithful|verified|verification|belegt|gestützt|unterstützt|soutenue?
    |confirmée?|respaldad[oa])(?: (?:by|in|par|por|durch) (?:(?:the|le|el|das) )?\w{3,12})?
""")
VERDICT = expression(r"""
    (?:verdict|check|status|judge?ment|result|assessment|label|rating|evaluation|conclusion|bewertung|urteil|ergebnis
    |évaluation|veredicto|evaluación)
""")
COLUMN = ignoring_case(rf"""
    \s*(?:{NAME}|{VERDICT}|yes ?/ ?no|(?:(?:found|stated|mentioned|present) )?in (?:the )?\w{{3,12}}|true|correct
    |accurate|matches)\s?\??\s*(?:\(.{{0,20}}\))?\s*
""")
# After a word in lower case, "supported:" may be part of a sentence.
LABEL = pattern(rf"""
    (?:(?i:(?:^|(?<=[.,;:({{\[|?!–—-])|(?<=[.,;:({{\[|?!–—-] ))\s{{0,3}}{NAME})|\bSupported)\s?(?:\?\s?[:=]?|[:=])
""")
# "Verdict: supported" after a claim; "Contradicted: it was a boat".
VERDICT_LABEL = pattern(rf"(?i:(?:^|(?<=[.,;{{\[])\s{{0,3}}){VERDICT}\s?[:=]\s?)")
NOT_LABEL = ignoring_case(r"""
    (?:^|\s[–—-]\s)(?:unsupported|not supported|(?:only )?partially supported|contradicted)\s?:(?=\s?\S)
""")
CLAIM_WORD = r"(?:claim|statement|aussage|behauptung|affirmation|afirmación|声明|陈述)"
CLAIM = pattern(rf"""
    (?i:(?:^|[{{\[,]\s{{0,3}})\s*{CLAIM_WORD})\s?(?P<number>\d{{1,3}})?\s?(?:[:.)–—-]\s?(?P<text>.{{0,60}})|$)
""")
LAST = ignoring_case(rf"""
    (?:[-–—:=→(\[|.?!,]\s{{0,3}}|^|\s(?=[✓✔✅☑✗✘❌✖☒×]))(?:(?P<yes>{YES})
    |(?P<no>{PART}\w{{3,12}}|{NO}))[\s)\].,!}}\ufe0f]*$
""")
# A status at the start of a part of a line. A word that may begin any sentence is a status only before a mark.
LEAD = expression(r"""
    (?:(?:so|therefore|thus|hence),? )?(?:(?:this|it|that|(?:the|this) claim)(?:'s| is| was)? )?(?:(?:fully|directly
    |explicitly|clearly|well|entirely|wird|est|está|durch (?:das|den) \w{3,15}) ){0,3}
""")
CLEAR = expression(r"""
    (?:supported|entail(?:ed|ment)|verified|confirmed|(?:stated|mentioned|found|given|present
    |reported)(?= (?:\w+ly )?in\b)|matches|consistent with|in the (?:document|article|text|source)|belegt|gestützt
    |unterstützt|bestätigt|soutenue?|confirmée?|étayée?|respaldad[oa]|confirmad[oa]|完全支持|得到支持)
""")
CLEAR_NOT = (
    r"(?:(?:not|only|partially|partly|nicht|pas|partiellement|teilweise|parcialmente|nur teilweise|non|no)"
    r" (?:(?:fully|directly|explicitly|entirely|vollständig|durch (?:das|den) \w{3,15}) ){0,2}"
    r"(?:{CLEAR}|mentioned|stated|found|given|present|accurate|correct|mentionnée?|mencionad[oa]|erwähnt|in the)"
    r"|does(?:n't| not) (?:match|appear)|not enough|insufficient|refuted|neutral(?=\s?$)"
    r"|unsupported|unverif\w+|contradict\w+|hallucinated|fabricated|widerspricht|contredite?|contradich[oa]"
    r"|no (?:evidence|support|mention|basis)|(?:cannot|can't|could not|couldn't|can not) be (?:\w+ly )?"
    r"(?:verified|confirmed|determined|supported|inferred|found)|(?:the )?(?:document|article) (?:does not|doesn't"
    r"|never) (?:\w+ly )?(?:mention|state|say|support)s?|不支持|未支持|未提及|部分支持)"
).replace("{CLEAR}", CLEAR)
STATUS = ignoring_case(rf"""
    (?P<mark>[✓✔✅☑👍🟢✗✘❌✖☒⚠❓👎🔴🟡🟠]|\[[x ]\](?=\s))|{LEAD}(?:(?P<yes>{CLEAR})|(?P<no>{CLEAR_NOT})
    |(?:(?P<true>{YES_WORDS})|(?P<false>{NO_WORDS}))(?=\s?(?:[.,;:!)\]}}(–—]|- |$)))(?!\w)(?P<partly>\W{{1,4}}(?:but
    |partial\w*|partly|mostly|although|though|somewhat|except)\b)?(?=(?P<closed>\s?(?:[.,;:!)\]}}(–—]|- |$))?)
""")
PART_OF_LINE = pattern(
    r"(?:(?<=[.!?…。])(?=\s|\w)|\s(?:[–—=-]|--|[-=]?>|→)\s|:\s|[(\[|]|(?=[✓✔✅☑👍🟢✗✘❌✖☒⚠❓👎🔴🟡🟠]))"
)
# An item of a list such as "the claim that a ship sank is not supported by the document".
IS_STATUS = ignoring_case(r"""
    \b(?:is|was|are|were)(?:(?P<no>n't| not| only| partially
    | un(?=supported))[\w ]{0,20})? (?:\w+ly )?(?:(?P<yes>(?<!un)supported|confirmed|backed|verified|stated|mentioned)
    |contradicted|unsupported) (?:up )?(?:by|in) (?:the )?(?:document|article|source|text|passage|report|story)\b
""")
ORDINAL = r"(?:first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|last|other|next|former|latter)"
# The claims that a sentence is about: "claim 2", "both", "three of the four", "everything".
SUBJECT = expression(rf"""
    (?:(?P<none>none|neither|no (?:\w+ )?(?:claims?|sentences?|statements?))\b.{{0,60}}?
    |(?P<some>not (?:all|every\w*|each)|only (?:\w+ )?(?:one|two|three|four|five|six|some|half|part|\d+)
    |(?:some|half|most) of)\b.{{0,80}}?|(?:(?:claims?|sentences?|statements?|facts?|details?|points?|summary
    |the {ORDINAL}|both|all|each|every\w*|one)\b(?:(?<=one) (?:is|are|of))?.{{0,200}}?))
""")
SOURCE = r"(?:documents?|article|source|text|passage|report|story)"
IS_FOUND = expression(rf"""
    (?:supported|confirmed|true|backed|verified|borne out|substantiated|corroborated|entailed|grounded in
    |consistent with|accurate|correct|(?:found|stated|mentioned|present|contained|covered|said|reported|given
    |described)?(?: directly)? ?in the (?:\w+ )?{SOURCE})
""")
NOT_FOUND = expression(r"""
    (?:unsupported|false|hallucinated|contradicted|refuted|unverified|unconfirmed|unfounded|absent|missing|invented
    |fabricated|made up|nowhere|inaccurate|wrong|at odds with|inconsistent with)
""")
SENTENCE = ignoring_case(rf"""
    \b{SUBJECT}(?:\b(?:is|are|was|were|(?P<cannot>can(?:not|'t))?(?:can)? be|has been
    |have been)(?P<no> (?:not|only|partially|partly)\b|n't\b)?(?:(?: (?!not\b)\w+){{0,2}}? (?:(?P<yes>{IS_FOUND})
    |{NOT_FOUND})\b|(?P<bare>(?<=not)(?=[.,;!]|\s*$)))
    |(?P<without>(?:does|do)(?:n't| not) |has no |have no |lacks? |finds no )?\b(?:(?P<holds>checks? out|holds? up
    |appears? in|matche?s?|follows? from|(?:find|has|have) support|support)|contradicts?|conflicts? with)\b)
""")
# "The document supports all three claims"
ACTIVE = ignoring_case(rf"""
    \b(?:{SOURCE}|it)\s(?P<no>(?:does|do)(?:n't| not) |nowhere |never )?(?:\w+ly )?(?:(?P<yes>supports?|confirms?
    |backs?(?: up)?|bears? out|verif(?:y|ies)|corroborates?|contains?|states?|mentions?|covers?)|contradicts?|refutes?
    |conflicts? with)\s(?:\w+ ){{0,3}}?(?P<object>(?P<some>only|some|most|half)\b|all|both|each|every\w*|claims?\b
    |the {ORDINAL}|any|none|them|it\b)
""")
SUPPORT_FOUND = ignoring_case(r"""
    \b(?:found|find|see|there is|there's) (?P<no>no |any )?(?:\w+ )?support for (?P<some>only |some |most )?(?:each|all
    |every|both|them|any|claims?)\b
""")
# "There are no unsupported claims"
NO_UNSUPPORTED = ignoring_case(r"""
    \bno (?:unsupported|unverified|contradicted|unfounded) (?:claims?|sentences?|statements?)\b
""")
EXCEPT = ignoring_case(r"""
    \b(?:except(?!ion)|apart from|aside from|other than|save for|bar(?:ring)?|(?:all|every\w*)(?: \w+)? but
    |with (?:the|one|two|an?) (?:\w+ )?exceptions?)\b
""")
# "3 of the 4 claims", "4/4 claims", "Supported claims: 3/4"
NUMBER = r"(?:\d{1,3}|one|two|three|four|five|six|seven|eight|nine|ten)"
COUNT = ignoring_case(rf"""
    \b(?:supported|verified)\b[^.]{{0,20}}: ?(?P<a>{NUMBER}) ?(?:/|(?:out )?of(?: the)?) ?(?P<b>{NUMBER})\b
    |\b(?P<c>{NUMBER}) ?(?:/|(?:out )?of(?: the)?) ?(?P<d>{NUMBER}) (?:\w+ )?(?:claims?|statements?
    |facts?)\b[^.]{{0,40}}\b(?P<not>not |un)?(?:supported|verified|confirmed|backed|check out)\b
""")
CLAUSES = pattern(r"""
    (?<=[.;!?])\s+|,?\s\b(?:(?<![Aa]ll )(?<!claims )but|while|whereas|although|and(?= (?:the|claim|one|it)\b))\b|;\s
""")
# "Supported claims:", with the claims as a list below
GROUP = ignoring_case(rf"""
    (?:the )?(?:(?:(?P<no>{CLEAR_NOT})|(?P<yes>(?:fully )?{CLEAR}))(?: (?:claims?|statements?|facts?))?
    |(?:claims?|statements?|facts?) (?:that are )?(?:(?P<no2>{CLEAR_NOT})|(?P<yes2>{CLEAR})))(?: (?:by
    |in) (?:the )?\w{{3,12}})?\s?(?:\(\d{{1,3}}\))?\s?:?
""")
NO_ITEM = ignoring_case(r"\W*(?:none|n/a|nothing|no (?:\w+ )?claims?)\b.{0,30}")
EITHERS = ignoring_case(r"\W*(?:yes|no)\b")
DENIES = ignoring_case(r"\b(?:not|no|never|only|part|partly|partially|some|half|most|nothing|but)\b|n't\b")
ENTRY = ignoring_case(r"""
    [{,]\s{0,3}[^{}:,|][^{}:|]{8,300}: ?(?P<value>yes|no|true|false|(?:not |un)?supported)\s?(?=[,}]|$)
""")
TITLE = pattern(r"\s?(?:[:–—]|- )\s?\S")
BY = ignoring_case(r"\s(?:by|in|the|from|since|because|as|according|par|por|durch|im)\b")

# --- second thoughts and conclusions ------------------------------------------------------------------

_REVISES = expression(r"""
    (?:wait|hold on|correction|corrected|scratch that|strike that|my (?:mistake|bad)|looking (?:again|closer|back)
    |re-?reading|on (?:second thoughts?|reflection|closer (?:look|inspection)|re-?(?:reading|checking))
    |upon (?:further|closer|second) (?:review|inspection|look|reading)
    |let me (?:correct|revise|re-?consider|re-?check|re-?read|double[ -]check)
    |i (?:was (?:wrong|mistaken)|misread|misunderstood|made an? (?:mistake|error)|overlooked|missed that
    |stand corrected|take (?:that|it) back|(?:have|need|want) to (?:correct|revise|change)|must correct))(?!\w)
""")
AGAIN = rf"(?:(?:no,? )?{_REVISES}|(?:hmm+|actually|edit|update|sorry|I missed)\b)"
SECOND_THOUGHT = ignoring_case(rf"\W*{AGAIN}")
SECOND_THOUGHT_IN = ignoring_case(rf"(?:[.…,;–—(-]|no)\s{{0,3}}{AGAIN}")
ORDINALS = ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"]
WHICH = ignoring_case(rf"""
    \b(?:claim|statement|sentence|point) (?P<number>\d{{1,3}})\b|\bthe (?P<ordinal>{"|".join(ORDINALS)}|last)\b
""")
EVERY = ignoring_case(r"""
    \b(?:all|both|every\w*|each|none|neither|summary)\b(?!(?: of)?(?: the)? (?:other|others|remaining|rest
    |claims? \d)\b)
""")
IT_IS = ignoring_case(rf"""
    \b(?:this|it|that|the claim)(?:'s| is| was)(?P<no> (?:not|only|partially|partly)\b|n't)?(?: \w+ly| also| in fact
    | indeed)? (?:(?P<yes>{CLEAR}|correct|true|accurate)|{CLEAR_NOT}|false|wrong)\b
""")
