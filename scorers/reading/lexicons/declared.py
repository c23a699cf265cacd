"""Patterns of what introduces a verdict, concludes or takes back a statement, in English."""

from __future__ import annotations

from halu_tasks.scorers.reading.patterns import expression, ignoring_case, pattern
from halu_tasks.text.folding import any_of

# --- declared verdicts --------------------------------------------------------------------------------

LABEL = any_of("answer winner conclusion choice decision judge?ment result rating label classification assessment")
DECLARED = ignoring_case(rf"""
    (?<!this )\bverdict\b|\b(?:final|overall|my)\s(?:{LABEL}|determination|pick|selection|response|evaluation|call|vote
    |ruling)\b|^(?:the\s)?{LABEL}\s?[:=]|^(?:overall\s)?factual\s(?:accuracy|correctness)\s?:
""")
"""Matches a marker that introduces a verdict."""
# "I cannot give a final verdict", "nothing that would warrant a verdict of False"
DENIED = pattern(r"""
    (?:\b(?:not|cannot|unable)\b|n't\b)(?:(?!\b(?:and|so|but)\b)[^,;:])*\Z
    |(?:不认为|不觉得|不相信|不能说|不能认为)[^,;:。]*\Z
""")
# "The overall answer is factually correct" may be about the judged answer.
WEAK = ignoring_case(r"(?:overall|my)\s(?:answer|response)")
INTRODUCES = pattern(r"(?:\W|\b(?:is|are|was|should|would|be|must|as|follows?|the|that|for|this|answer|remains)\b)*")
CONCLUDES = ignoring_case(r"""
    \W*(?:and |so )?(?:therefore|thus|hence|overall|in (?:conclusion|summary|short)|to (?:conclude|summari[sz]e)
    |.{0,20}\bconclude\b|(?:based|given|considering|because|since|ultimately|conclusion|consequently|as a result)\b)
""")
"""Matches the start of a sentence that concludes."""
SECOND_THOUGHT = expression(r"""
    (?:wait|hold on|correction|corrected|scratch that|strike that|my (?:mistake|bad)|looking (?:again|closer|back)
    |re-?reading|on (?:second thoughts?|reflection|closer (?:look|inspection)|re-?(?:reading|checking))
    |upon (?:further|closer|second) (?:review|inspection|look|reading)
    |let me (?:correct|revise|re-?consider|re-?check|re-?read|double[ -]check)
    |i (?:was (?:wrong|mistaken)|misread|misunderstood|made an? (?:mistake|error)|overlooked|missed that
    |stand corrected|take (?:that|it) back|(?:have|need|want) to (?:correct|revise|change)|must correct))(?!\w)
""")
"""Expression for the start of a sentence that takes back an earlier statement."""
