"""Patterns of statements that the judged text is true or false, in English."""

from __future__ import annotations

import re

from halu_tasks.scorers.reading.lexicons import declared
from halu_tasks.scorers.reading.lexicons.declared import DECLARED
from halu_tasks.scorers.reading.patterns import expression, ignoring_case, pattern
from halu_tasks.text.folding import any_of

# Words that may occur between a marker and the verdict that it introduces.
HEDGE = any_of("""
    the this that given provided entire whole overall full answer response statement explanation information claim is
    are was be been should would will must can as in to of for my it its i a an therefore thus so factually considered
    deemed rated classified marked conclude final verdict still very quite fairly indeed mostly largely generally
    essentially primarily basically technically substantially broadly mainly almost remains leans? towards? definitely
    demonstrably completely entirely fully totally highly reasonably probably likely clearly actually really all every
    each statements claims points (?:that|it|this)'s they're
""")
TRUE = any_of("true correct accurate factual valid right sound reliable")
FALSE = any_of("""
    false incorrect inaccurate wrong invalid untrue misleading flawed erroneous unsupported fabricated
    (?:non-?|un)factual
""")
FAULT = any_of("""
    inaccuracy inaccuracies errors? hallucinations? mistakes? misconceptions? misunderstandings? falsehoods?
    oversimplifications? inconsistency inconsistencies flaws? misinformation misstatements? exaggerations?
""")
NEGATION = r"(?:\b(?:not|no|none|never|without|cannot|free|neither|nor|any)\b|n't\b)"
# "After analysing the answer, I conclude that", "2/4 ="
LEAD = expression(r"""
    (?:\W{0,10}(?:(?:after|upon|having|based on|given|considering|in light of)\b[^,.;:]{0,100},\s)?(?:I
    |we)\s(?:\w+\s)?(?:conclude|find|determine|judge|classify|rate|label)\b)?(?:\W{0,10}\d{1,3}\s?(?:/|of
    |out of)\s?\d{1,3}\b(?:[\w\s]{0,30}=)?)?
""")
# A declared verdict.
VALUE = ignoring_case(rf"""
    {LEAD}(?:\W{{0,10}}\d{{1,3}}\s?%)?(?:\W|\b{HEDGE}\b)*(?P<not>\b(?:not|isn't|aren't
    |wasn't)\s+(?:{HEDGE}\s+)*)?(?P<part>\b(?:partial|partially|partly|somewhat|half|mixed|only
    |not)\b[\s-]+(?:(?:partially|partly|factually)\s)?)?\b(?:(?P<true>{TRUE}|(?:yes|yep|yeah)(?!\s\w))
    |(?P<false>{FALSE}|(?:no|nope)(?!\s\w)))\b(?!\s(?:answer|explanation|option|response|term)\b)
""")
# "True or False", "True if everything is correct": the instruction repeated.
ECHO = ignoring_case(rf"\W*(?:(?:or|and)?\W*(?:{TRUE}|{FALSE})|if)\b")
BUT_FAULTY = ignoring_case(rf"\b(?:but|however|though)\b[^.]*\b(?:contains?|has|have|includes?)\b[^.]*\b{FAULT}")
CONTAINS = ignoring_case(rf"(?:\W|\b{HEDGE}\b)*\b(?:contains?|has|includes?)\s(?P<no>no\s)?(?:\w+\s){{0,4}}?{FAULT}\b")
BARE = ignoring_case(r"""
    \W*(?:(?:(?P<true>true|correct|yes)|false|incorrect|no)\b(?:\W*|\s?[.,:;(–—-].*)|(?:(?P<t>t)|f)\W*)
""")
HEADED = ignoring_case(rf"(?:final )?(?:{DECLARED.pattern})")
# What a sentence is about: the answer as a whole, a part of it, or the label ("I would classify it as False").
WHOLE = ignoring_case(r"""
    \b(?:the|this|given|provided|entire|whole|overall|your|author's|above)\s(?:(?!correct|accurate|better|right
    |ideal)[\w'-]+\s){0,2}?(?:answer|response)\b(?:'s (?:\w+ )?(?:accuracy|correctness)\b|(?!'))
    |\bcorrect answer(?= (?:to [\w ]{1,40} )?is\b)|^(?:answer|response)(?= (?:is|contains|has)\b)
""")
CLAIM = ignoring_case(r"\b(?:statement|explanation|information|claims?|it|this|text|passage|author|description)\b")
RULING = pattern(r"""
    \b(?:I(?: would| will| must| have to| can|'d|'ll|'m| lean)\b|(?:should|must|has to|needs to) be\b
    |(?:classify|categori[sz]e|label|mark|rate)\b).{0,100}\b(?:True|False)\b|\bcorrect answer\b.{0,150}?\bis (?:True
    |False)\b
""")
DECIDES = ignoring_case(rf"{WHOLE.pattern}|(?-i:{RULING.pattern})")
REFUSES = ignoring_case(r"""
    \W*I(?:'m| am)? (?:can't|cannot|can not|won't|unable to|not able to) (?:provide|give|offer|help|assist|evaluate
    |fulfil|answer|make|render)
""")
# The labels as the prompt writes them; at the start of a sentence, the capital letter has no meaning.
WRITTEN = pattern(r"(?<=\w )(?<!not )(?:True|False)\b")
PARTLY = ignoring_case(r"\b(?:partially|partly|somewhat)\s(?:true|false)\b")
# "The answer would be correct if it said 1941", "whether the answer is correct"
SUPPOSED = ignoring_case(r"\b(?:if|whether)\b")
WOULD = ignoring_case(r"\bwould (?:\w+ly )?(?:be|have been)\b[^.;]*\b(?:if|had|were|unless)\b")
CLAUSE_END = ignoring_case(r"[,;:()]|\b(?:but|however|although|though|while|and|so|yet|despite|making|thus)\b")
SUBORDINATE = ignoring_case(r"""
    \b(?:that|which|because|since|as it|as the|due|regarding|about|concerning|where|who|when|in stating|why|how)\b
""")
# "the correct answer" is not the given one.
NOT_GIVEN = r"(?<!some )(?!(?<=the )\w+\s(?:answer|explanation|statement|response|term)\b)"
# "factual accuracy" and "no factual claims" are not judgments.
TOPIC = r"(?!factual\s(?:accuracy|correctness|claims?|statements?|assertions?|information|content|basis|details?)\b)"
# A word of judgment with its negation.
JUDGED = ignoring_case(rf"""
    (?P<no>{NEGATION}[^.]{{0,40}}?)?(?:(?P<part>\b(?:partially|partly
    |somewhat)\s+(?:\w+ly\s)?)?\b(?:(?:factual\s)?(?P<fault>{FAULT})\b
    |{NOT_GIVEN}{TOPIC}(?P<true>{TRUE})\b(?P<some>\sin\s(?:parts?|some)\b)?|{FALSE}\b|hallucinated\b
    |lack(?:s|ing)(?:\s\w+){{0,2}}?\s(?:accuracy|correctness)\b))
""")
PART_OF = ignoring_case(r"\b(?:parts?|half|portion|section|sentence) of \Z")
NONE = ignoring_case(r"\bnone of\b|\bno(?:thing|t one \w+|t a single \w+) (?:in|about|of)\b")
MINOR = ignoring_case(r"\b(?:minor|slight|small)\s(?:\w+\s)?\Z")
# "The answer is correct for several reasons:" is a judgment, "What is correct in the answer:" introduces judgments.
PREDICATED = ignoring_case(rf"""
    \b(?:is|are|seems|appears)\s(?:\w+ly\s){{0,3}}(?:{TRUE})(?:\W+(?:for|because|since|as)\b|\W*\Z)
""")
MISSTATES = ignoring_case(r"""
    (?<!not )(?<!n't )(?<!never )\b(?:(?:incorrectly|inaccurately|wrongly|falsely|erroneously
    |mistakenly)\s(?!\w*ed\b)\w+|misstates?\b|misrepresents?\b)
""")
# "The claim that … is not accurate."
LAST_WORD = ignoring_case(rf"\b(?:is|are)\s(?P<no>not\s)?(?:\w+ly\s){{0,3}}(?:(?P<true>{TRUE})|{FALSE})\W*\Z")
FOUND = ignoring_case(rf"""
    (?:\bnot\s|n't\s)?\b(?:find|found|see|spot(?:ted)?|detect(?:ed)?|following|identified|noticed?|there (?:is|are)
    |there's)\b[^.]{{0,80}}\b{FAULT}\b
""")
NEGATED = ignoring_case(rf"{NEGATION}")
# A field of an object or a row of a table: "is_factually_correct": false
FIELD = ignoring_case(rf"""
    \b(?:is (?:factually |factual )?(?:{TRUE})|factual(?:ly (?:{TRUE}))?)(?:\s?[:=?]
    |\s(?=\s))(?=\s?(?:true|false|yes|no)\s?(?:[,.]|$))
""")
TICKS, CROSSES = "✅✔☑√✓👍", "❌✗✘✖×❎👎"
MARK = pattern(rf"[^\w{TICKS}{CROSSES}]*(?:(?P<true>[{TICKS}])|[{CROSSES}])\W*(?:\Z|(?=\w))")
SAYS = pattern(rf"[\w{TICKS}{CROSSES}]")
# "True? No, False."
ANSWERED = ignoring_case(r"\W*(?:no|yes)\W+(?=(?:true|false)\b)")
# "Not everything in the answer is correct", "Only a part of it is true"
NOT_ALL = ignoring_case(r"""
    \bnot (?:quite )?(?:everything|every\w*|all|each)\b|\bonly (?:\w+ ){0,3}(?:parts?|half|some|portion|one|two)\b
""")
# A last sentence that ends in the label: "…, hence True", "A single error is enough: False."
CLOSING = pattern(r"""
    (?:(?P<no>(?:\bnot|\bnever|\bcannot|n't)\s(?:\w+\s){0,2}?)|[:=→–—,]|->|=>|\b(?:hence|so|ergo|thus|therefore|then|is
    |be|with|say|means|remains|answer|as)\b|'s|\bmakes? (?:it|this|that|the \w+))\W{0,6}(?P<label>True
    |False)\b(?: it is)?[^\w?]*\Z
""")
OF_A_PART = ignoring_case(r"\W*(?:the|this|that|its) (?:\w+ )?(?:statement|claim|point|sentence|part|assertion)\b")
TEXT = expression(r"""
    (?:the|this|that|these|its|your|any of the)\s(?:\w+\s){0,2}?(?:answer|response|claims?|statement|explanation
    |assertion|text)
""")
# "I disagree with the answer", "I have no objection to this claim"
AGREES = ignoring_case(rf"""
    \b(?:i|we)(?:'d|'m|'ll)?\b(?P<between>[^,.;:]{{0,40}}?)\b(?:(?P<yes>agree|concur|go along|am on board)|disagree
    |quarrel|take issue|objections?|object)\b(?:\s(?:\w+ly\s)?(?:with|to)\s{TEXT}\b|(?=\W*\Z|\s?[:;–—]))
""")
EVIDENCE = r"(?:evidence|facts?|sources?|records?|data|documents?|passages?|literature)"
# Whether the judged text agrees with what is known: "is consistent with the evidence", "does not hold up"
ACCORD = ignoring_case(r"""
    \b(?:(?P<yes>(?:is|are|fully|entirely|not|be)\s(?:\w+ly\s)?(?:consistent|in (?:line|keeping|accord|accordance
    |agreement)) with|match(?:es)?\b|agrees? with|aligns? with|lines? up with|tall(?:y|ies) with|(?:is|are) true to
    |holds? (?:up|true|water)|checks? out|stands? up|(?:supports?|confirms?|corroborates?|backs? up|bears? out)\s(?:the
    |this|all|every|each)|(?:supported|confirmed|corroborated|backed(?: up)?|borne out|verified) by
    |gets? (?:it|everything|every\s\w+|all\b.{0,20}) right)|contradict(?:s|ed|ions?)?\b|conflicts? with
    |clash(?:es)? with|at odds with|inconsistent with|incompatible with|(?:runs?|is) (?:counter|contrary) to
    |goes against|refutes?|refuted|disproves?|disproved|debunk(?:s|ed)|mixes up|confuses|conflates
    |(?:gets?|has) (?:it|this|that|things) (?:all )?(?:wrong|backwards|the wrong way round)
    |(?:any|some|no)thing (?:\w+ly )?(?:wrong|incorrect|false|amiss|off)\b|(?:wrong|amiss) with|unfounded|baseless
    |made up|invented|an? (?:\w+ ){0,2}(?:myth|fabrication|lie|falsehood|hoax))
""")
TURNED = ignoring_case(r"""
    \b(?:no|not|never|none|nothing|neither|nor|without|cannot|fails? to|hardly|free of)\b|n't\b|\bfar from\b
""")
JUDGED_TEXT = ignoring_case(rf"\b{TEXT}\b|^\W*(?:this|that|it)\b|\b{EVIDENCE}\b.*\b(?:it|this)\b")
# "It is true that the war ended, but", "the correct answer": not verdicts on the answer.
ASSERTS = ignoring_case(r"\b(?:true|correct|right|accurate|false|wrong) (?:that|to)\b")
ASIDE = ignoring_case(r"\b(?:whether|if)\b[^,;]*\Z")
ECHOED = ignoring_case(r"\bfactual\b|\?\W*\Z|\b(?:true or false|false or true)\b")
NEITHER = ignoring_case(r"\bneither\b.*\bnor\b")
NAMES = re.compile(r"\s(?!because\b|since\b|as\b|and\b|but\b|for\b|in\b)\w")  # "the correct direction is"
ABOUT_IT = ignoring_case(r"\W*(?:it|this|that|everything|all of (?:it|this|that))(?:'s|\b)")
# "Wait, …", "Correction: …"
SECOND_THOUGHT = ignoring_case(rf"""
    \W*(?:(?:hmm+|oh|oops|no|ah|but)\W+)*(?:{declared.SECOND_THOUGHT}|actually(?=,))
    |\W*(?:等等|等一下|且慢|更正|纠正|订正|修正|不对[,，]|我(?:看|说|弄|搞|记)错了)
""")
OPENER = pattern(r"\W*\w+(?:\s\w+){0,2}\s?[:：]\s*")
