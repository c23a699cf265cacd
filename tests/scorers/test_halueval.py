"""HaluEval: reading judgements, claims and passages; the figures worked out by hand."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halu_tasks.items import Item
from halu_tasks.scorers import halueval
from halu_tasks.scorers.claims import checks
from halu_tasks.scorers.metrics import estimates
from halu_tasks.scorers.passages import passages
from halu_tasks.scorers.verdict_hallucination import hallucinates

JUDGEMENTS = [
    # the word alone, and wrapped
    ("Yes", "Yes"),
    ("No", "No"),
    ("yes.", "Yes"),
    ("NO!", "No"),
    ("**No**", "No"),
    (" \n“Yes”\n", "Yes"),
    ("#Your Judgement#: Yes", "Yes"),
    ("#Your Judgement#: No", "No"),
    ("#Your Judgement#:\n\n**No.**", "No"),
    ("## Your Judgement\n\nYes", "Yes"),
    ("Your Judgement: No, nothing was added.", "No"),
    ("Judgment: yes", "Yes"),
    ("Answer: No", "No"),
    ("The answer is: Yes", "Yes"),
    ("Final answer: **No**", "No"),
    ("$\\boxed{\\text{Yes}}$", "Yes"),
    ("<answer>No</answer>", "No"),
    ('{"judgement": "Yes", "reason": "The year is not in the document."}', "Yes"),
    ('{"hallucination": false}', "No"),
    ('```json\n{"hallucinated": "yes"}\n```', "Yes"),
    ("Hallucination: No", "No"),
    ("Contains hallucination: Yes", "Yes"),
    ("Faithful: No", "Yes"),
    ("Supported by the document? Yes", "No"),
    # with an explanation
    ("Yes, the summary contains information that is not in the document.", "Yes"),
    ("Yes, the summary contains a hallucination. The document says Tuesday, not Monday.", "Yes"),
    ("Yes. The summary says that nobody was hurt. The document reports no injuries among staff only.", "Yes"),
    ("No, the summary is faithful to the document.", "No"),
    ("No. All of the details can be found in the document, and none is contradicted.", "No"),
    ("No - everything in the summary is supported.", "No"),
    ("No\n\nExplanation: The summary restates the first two paragraphs without adding anything.", "No"),
    ("Yes\n\nReason: the claim about the mayor's age is unsupported.", "Yes"),
    ("Yes the summary contains hallucinated information", "Yes"),
    ("No the summary does not hallucinate", "No"),
    ("No hallucination", "No"),
    ("No hallucinations were found.", "No"),
    ("No hallucinated content.", "No"),
    ("No, there is no contradiction between the two texts.", "No"),
    ("No unsupported claims.", "No"),
    # in a sentence
    ("The summary is faithful.", "No"),
    ("The summary is not faithful to the document.", "Yes"),
    ("The summary is unfaithful.", "Yes"),
    ("The summary contains a hallucination.", "Yes"),
    ("The summary contains hallucinated information.", "Yes"),
    ("The summary does not contain any hallucinated information.", "No"),
    ("The summary doesn't contain hallucinations.", "No"),
    ("This summary is hallucinated.", "Yes"),
    ("There is no hallucination in the summary.", "No"),
    ("There are no factual errors in this summary.", "No"),
    ("There is a hallucination: the document never mentions a second ferry.", "Yes"),
    ("I found no hallucinated information in the summary.", "No"),
    ("I could not identify any information that contradicts the document.", "No"),
    ("The summary accurately reflects the document.", "No"),
    ("The summary is fully supported by the document.", "No"),
    ("The summary is only partially supported by the document.", "Yes"),
    ("The summary is mostly accurate but adds a detail that is not in the document.", "Yes"),
    ("While it leaves out the cost, the summary is consistent with the document.", "No"),
    ("The summary contradicts the document.", "Yes"),
    ("The summary does not contradict the document.", "No"),
    ("The summary introduces details that cannot be found in the document.", "Yes"),
    ("The summary does not contain any information that is not supported by the document.", "No"),
    ("Nothing in the summary is unsupported.", "No"),
    ("Not all claims are supported by the document.", "Yes"),
    ("All claims in the summary are supported by the document.", "No"),
    ("None of the claims contradicts the document.", "No"),
    ("The summary is free of hallucinations.", "No"),
    ("The summary misrepresents what the minister said.", "Yes"),
    ("It contains fabricated details about the fire.", "Yes"),
    ("The response is factually correct.", "No"),
    ("The answer contains incorrect information about the boiling point.", "Yes"),
    ("The response contains no false or made-up information.", "No"),
    ("Hallucinated", "Yes"),
    ("Not hallucinated.", "No"),
    ("Faithful", "No"),
    ("Non-factual", "Yes"),
    ("Unsupported", "Yes"),
    # reasoning first, and a conclusion
    ("<think>Yes, I believe.</think>\nNo", "No"),
    ("The date is right. The place is right. The number of victims is not mentioned.\n\nSo the answer is Yes.", "Yes"),
    ("1. The bridge: supported.\n2. The date: supported.\n\n#Your Judgement#: No", "No"),
    ("The document says three, the summary says five.\nTherefore, the summary contains a hallucination.", "Yes"),
    ("Each point is in the document. Therefore, no, the summary does not hallucinate.", "No"),
    ("Overall, the summary is accurate and does not add anything.", "No"),
    ("Let me check whether the summary contains hallucinations. The date is correct. Overall it is faithful.", "No"),
    ("At first sight: Yes. On a second look the figure is in paragraph 4.\n\nFinal judgement: No", "No"),
    ("Judgement: No\n\nWait, the document speaks of Lyon, not Paris.\n\nJudgement: Yes", "Yes"),
    ("The claim that the pilot survived is not supported by the document.", "Yes"),
    ("The document does not mention any strike, so this is a fabrication.", "Yes"),
    ("I would say yes, since the summary invents a quotation.", "Yes"),
    ("My judgement is No.", "No"),
    ("Based on the document, the summary contains non-factual information.", "Yes"),
    ("Is the date right? Yes. Is the name right? Yes. Is everything supported by the document? Yes.", "No"),
    ("Does the summary contain hallucinated information? No.", "No"),
    ("The summary is about a flood. It says that 300 people left. This is stated in the text.\n\nAnswer: no", "No"),
    ("If all claims were in the document I would answer No, but the price is not, so my answer is Yes.", "Yes"),
    ("In conclusion, there are discrepancies between the summary and the document.", "Yes"),
    ("Conclusion: no discrepancies.", "No"),
    # nothing to read
    ("Yes and no.", None),
    ("Yes or No", None),
    ("Yes/No", None),
    ("", None),
    ("   \n", None),
    ("<think>Yes, because", None),
    ("I am sorry, but I cannot determine whether the summary contains hallucinations.", None),
    ("The document is about a flood in the north.", None),
    ("Please provide the document.", None),
    ('Answer "Yes" if the summary contains hallucinations, and "No" otherwise.', None),
    ("I need to check if the summary contains non-factual information.", None),
    ("#Your Judgement#:", None),
    ("November", None),
    ("Maybe", None),
]


@pytest.mark.parametrize(("reply", "label"), JUDGEMENTS)
def test_a_judgement_is_read_as_a_person_reads_it(reply: str, label: str | None) -> None:
    assert hallucinates(reply).value == label


CHECKS = [
    ("Claim: A ship sank.\nSupported: Yes\n\nClaim: Nobody was hurt.\nSupported: No", [True, False]),
    ("1. Claim: A ship sank.\n   Supported: Yes\n2. Claim: It was old.\n   Supported: Yes", [True, True]),
    ("- **Claim:** A ship sank.\n  **Supported:** Yes\n- **Claim:** It was red.\n  **Supported:** No", [True, False]),
    ("**Claim 1:** A ship sank. **Supported:** Yes\n**Claim 2:** It was red. **Supported:** No", [True, False]),
    ("Claim: A ship sank.\nSupported: partially", [False]),
    ("Claim: A ship sank.\nSupported: Partially, the document says a boat.", [False]),
    ("Claim: A ship sank.\nNot supported", [False]),
    ("Claim: A ship sank.\nSupported", [True]),
    ("Claim: A ship sank.\nSupported: Not supported", [False]),
    ("Claim: A ship sank.\nSupported: Yes, see the first line.\nClaim: B.\nSupported: YES", [True, True]),
    ("| Claim | Supported |\n|---|---|\n| A ship sank | Yes |\n| It was red | No |", [True, False]),
    ("| # | Supported? | Claim |\n|:-:|:-:|---|\n| 1 | ✅ | A ship sank |\n| 2 | ❌ | It was red |", [True, False]),
    ('[{"claim": "A ship sank", "supported": "Yes"}, {"claim": "It was red", "supported": "No"}]', [True, False]),
    (
        '[\n  {"claim": "A ship sank",\n   "supported": true},\n  {"claim": "B",\n   "supported": false}\n]',
        [True, False],
    ),
    ('{"claims": [{"text": "A", "is_supported": true}]}', [True]),
    ("1. A ship sank. - Yes\n2. It was red. - No", [True, False]),
    ("1. A ship sank (Supported)\n2. It was red (Not supported)", [True, False]),
    ("1. A ship sank: supported\n2. It was red: unsupported", [True, False]),
    ("* A ship sank. Yes.\n* It was red. No.", [True, False]),
    ("Claim: A ship sank.\nReasoning: The document says so in the first line.\nSupported: Yes", [True]),
    ("Claim: The claim is supported: by whom?\nSupported: No", [False]),
    ("Claim 1: A.\nClaim 2: B.\n\nClaim 1: Supported: Yes\nClaim 2: Supported: No", [True, False]),
    (
        "### Claim 1\nA ship sank.\n\n**Supported:**\nYes\n\n### Claim 2\nIt was red.\n\n**Supported:**\nNo",
        [True, False],
    ),
    ("Claim: A.\nSupported: Yes/No\n\nClaim: A ship sank.\nSupported: Yes", [True]),
    ("Claim: A.\nSupported: Cannot be verified", [False]),
    ("<think>Claim: X.\nSupported: No</think>Claim: A.\nSupported: Yes", [True]),
    ("Claim 1 is supported by the document.\nClaim 2 is not supported by the document.", [True, False]),
    ("The document does not mention a ship.", []),
    ("#Your Judgement#: Yes", []),
    ("", []),
]


@pytest.mark.parametrize(("reply", "supported"), CHECKS)
def test_claims_are_read_with_their_checks(reply: str, supported: list[bool]) -> None:
    assert checks(reply).checked == supported
