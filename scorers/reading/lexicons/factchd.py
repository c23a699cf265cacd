"""Patterns of statements that an answer is FACTUAL or NON-FACTUAL."""

from __future__ import annotations

from halu_tasks.scorers.reading.patterns import expression, ignoring_case, pattern

# --- the strict reading -------------------------------------------------------------------------------

# French, Spanish, Portuguese, Italian and German have their own words. "no" before the English word negates
# it only in capitals, unlike in "no factual errors".
ABROAD = r"(?:factuel(?:le)?|f[aá]ctic[oa]|fattuale|fatual|faktisch(?!\s\w))"
NON = rf"(?:non|not|un|nicht|não|(?-i:NO)|no(?=\s{ABROAD}))[\s\-_‐‑‒–—−]{{0,2}}"
LABEL = rf"(?P<non>{NON})?(?P<word>factual|facts|{ABROAD}|(?-i:FACT)(?=\W*(?:\Z|\n)))(?![a-z0-9]|[\-‐‑]\w)"
MARKS = expression(r"""
    [\s*_`#<>\"'“”‘’«»\[\](){}|~:.=\-–—]
""")
PREFIX = ignoring_case(rf"""
    {MARKS}{{0,20}}(?:(?:output|response|answer|label|verdict|judge?ment|classification|result|assessment|conclusion
    |decision|ruling|rating|determination|category|class
    |(?:my|final)\s\w+)(?=\W)(?:\s+is\b)?{MARKS}{{1,20}})?(?:facts\s*:{MARKS}{{0,20}})?
""")
AT_START = ignoring_case(rf"(?:the\s|this\s|it\s(?:is|'s)\s)?{LABEL}")
# "FACTUAL or NON-FACTUAL", "neither factual nor non-factual": both labels, so neither is stated.
EITHER = ignoring_case(rf"""
    (?:{NON})?factual[\s\"'*`”’)\]]{{0,4}}(?:,?\s?\b(?:or|nor|and|vs\.?|versus)\b
    |[/|])[\s\"'*`“‘(\[]{{0,4}}(?:a\s)?(?:{NON})?factual(?![a-z])
""")
ANYWHERE = ignoring_case(rf"(?:factual|{ABROAD})(?![a-z0-9])")
NON_BEFORE = ignoring_case(rf"(?<![a-z0-9]){NON}\Z")
DECLARED = ignoring_case(rf"""
    \b(?:(?:final|overall|my)\s+(?:verdict|answer|label|judge?ment|decision|conclusion|assessment|classification)
    |verdict)\b(?:\s+(?:is|would be|remains|should be)\b)?{MARKS}{{0,20}}(?:that\s)?(?:(?:the|this)\s(?:answer|response
    |statement|claim)\sis\s)?{MARKS}{{0,6}}$
""")
STATED = ignoring_case(rf"""
    (?:\b(?:is|are|was|be|being|as|it|est|es|ist|go(?:ing)? with|pick|choose|say|opt for|lean(?:ing)?|towards?|remains
    |answer|response|label(?:led|ed)?|verdict|judge?ment|deemed|considered|classification|conclude[sd]?|rated?|output
    |therefore|thus|hence|so)|[:=→])(?:\s+(?:is|as|to be|be|a|an|the|not|indeed|thus|therefore|completely|entirely|fully
    |clearly|actually|largely|mostly|also|in fact|considered|deemed|classified|labell?ed)\b){{0,4}}{MARKS}{{0,6}}$
""")
NEGATED = ignoring_case(rf"""
    (?:\b(?:not|cannot|never|far from|anything but|hardly|no longer|partially|partly|only|half
    |(?:nothing|none|no part)[^.;]{{0,30}}?|no (?:es|é)|n['’]est pas|ist nicht|(?:wrong|incorrect|inaccurate|unfair
    |misleading|mistake|error|stretch|harsh|generous) to|no (?:reason|grounds?|basis|justification|need) (?:to|for|in))
    |n['’]t)(?:\s+(?:is|be|been|a|an|the|as|to|indeed|completely|entirely|fully|wholly|strictly|actually|considered
    |deemed|classified|labell?ed|call(?:ed)?|this|it|judged|really|classify(?:ing)?|label(?:l?ing)?|rat(?:e|ing)
    |deem(?:ing)?|describ(?:e|ing)|regard|accept|treat|mark(?:ing)?|consider(?:ing)?|calling|say|it|see|that|response
    |answer|statement|claim)\b){{0,5}}{MARKS}{{0,6}}$
""")
ANSWERED_NO = ignoring_case(rf"{MARKS}{{0,4}}(?:[?:=]{MARKS}{{0,4}}(?:no|false)\b|\?{MARKS}{{0,4}}[❌✗✘✖])")
# A list that marks each label: "FACTUAL ❌ / NON-FACTUAL ✅", "[x] FACTUAL / [ ] NON-FACTUAL"
TICK = r"(?P<{}>[✅✔☑✓]|\[[xX✓✔]\])|[❌✗✘✖☐☒]|\[\s?\]"
MARKED = ignoring_case(rf"""
    (?:(?:{TICK.format("before")})[\s*_`\ufe0f]{{0,4}})(?P<n>{NON})?factual\b
    |(?P<m>{NON})?factual[\s*_`:|]{{0,6}}(?:{TICK.format("behind")})
""")
# "FACTUAL or NON-FACTUAL? I'd say the latter."
BY_PLACE = ignoring_case(rf"""
    (?P<non>{NON})?factual\W{{1,6}}(?:or\W{{1,6}})?(?:{NON})?factual\W{{0,4}}\?[^\n]{{0,60}}?\bthe (?:(?P<first>former
    |first)|latter|second)\b
""")
NOT_CHOSEN = ignoring_case(rf"\b(?:rather than|instead of|as opposed to)(?:\s(?:as|a|the))?{MARKS}{{0,6}}$")
QUALIFIES = pattern(r"""
    [*_`\"'”’]{0,4}\s(?!and\b|but\b|because\b|as\b|since\b|in\b|based\b|given\b|due\b|for\b|according\b|or\b|so\b
    |answer\b|response\b|statement\b|claim\b|here\b|then\b|overall\b)[a-z]
""")
# Labels that are not a verdict on the given answer: those of a hypothetical answer ("it would be FACTUAL if it said
# 1941", "a FACTUAL answer"), of a part of the answer ("the first claim is FACTUAL"), or in someone else's view.
CONDITION = ignoring_case(r"\b(?:if|whether|had|were|unless|provided|then)\b")
SUPPOSED = ignoring_case(r"""
    \b(?:would|could|might)\b[^.;\n]*\Z|\bto be\b[^.;\n]{0,20}\Z|\b(?:if|whether|unless)\b[^.;:\n]*\Z
""")
PURPOSE = ignoring_case(rf"""
    (?:\A|[.;:,\n]\s*|\bin order |\bfor (?:\w+ ){{1,4}})to be (?:considered |called )?{MARKS}{{0,6}}\Z
""")
# "naming Curie would have made it FACTUAL"; but "the date is wrong, which would make it NON-FACTUAL" is a verdict
WOULD_MAKE = ignoring_case(r"""
    (?P<which>\b(?:which|this|that)\s)?(?:\b(?:would|could|might)\s(?:not\s)?|'d\s)(?:have\s)?(?:\w+ly\s)?(?:ma[kd]e
    |render|turn|change|become|count)\w*\b[^.;\n]*\Z
""")
IN_A_VIEW = ignoring_case(r"""
    \b(?:some|one|others|people|someone)\s(?:might|may|could)\b[^.;\n]*\Z|\bcalling\b[^.;\n]*\Z
""")
ATTRIBUTE = ignoring_case(rf"""
    (?<!\bis )(?<!\bas )(?<!\bwas )(?<!\bnot )(?<!n't )(?<!\bhardly )\b(?:a|an|the
    |any)\s(?:\w+,?\s){{0,2}}{MARKS}{{0,4}}\Z
""")
ATTRIBUTED = ignoring_case(rf"{MARKS}{{0,4}}(?:answer|response|claim|version|statement|one|part|information|content)\b")
CLAUSE = ignoring_case(r"""
    [.;:,\n(]|\b(?:but|because|and|(?:al|even )?though|while|whereas|so|since|however|thus|therefore)\b
""")
PART = ignoring_case(r"""
    \b(?:parts?|half|rest|else|sentences?|portion|first|second|third|last|latter|former|others?|remaining
    |some)\b(?![^.;]*(?<!\bof )(?<!\bof the )\b(?:answer|response|it|this)\s(?:is|was)\b)
""")
SUPPORTED = ignoring_case(r"""
    \b(?:is|are|was)\s(?P<not>not\s|n't\s)?(?:\w+ly\s)?(?:(?P<good>supported|confirmed|backed|verified)|contradicted
    |refuted)\b
""")
