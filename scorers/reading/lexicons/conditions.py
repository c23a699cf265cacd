"""Patterns of verdicts that hold only under a condition, in English and Chinese."""

from __future__ import annotations

from halu_tasks.scorers.reading.lexicons.rewording import BAD, GOOD
from halu_tasks.scorers.reading.patterns import ignoring_case

CLAUSE = ignoring_case(r"[,;:，。]|\b(?:and|but|while|whereas)\b")
CONDITION = ignoring_case(r"""
    \b(?:if|otherwise|else|unless|when|assuming|could|may|might|depend(?:s|ing))\b|如果|若|假如|要是|假设|否则|取决于
    |可能|也许
""")
# A condition that applies to the rest of the sentence: "It depends on the year: True for 2006 and False for 1998"
DEPENDS = ignoring_case(r"\bdepend(?:s|ing)\b|取决于")
OPENS = ignoring_case(r"\W*(?:\w+ )?(?:if|when|assuming|unless)\b|\W*(?:如果|若|假如|要是|假设)")
SIDE = ignoring_case(rf"""
    (?P<bad>\b{BAD}\b|\bnot {GOOD}\b|不(?:正确|对|属实)|(?<![看弄搞说写记犯])错误?|虚假|有误)|\b{GOOD}\b|正确
    |对(?=\W|也|\Z)|属实
""")
