"""HaluEval: reading judgements, claims and passages; the figures worked out by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halu_tasks.core.items import Item, Reply
from halu_tasks.scorers.answer import Answer
from halu_tasks.scorers.benchmarks import halueval, localization
from halu_tasks.scorers.metrics import estimates
from halu_tasks.scorers.reading.claims import checks
from halu_tasks.scorers.reading.labels.hallucination import hallucinates
from halu_tasks.scorers.reading.nothing import none_of
from halu_tasks.scorers.reading.strings.passages import passages
from halu_tasks.tasks import registry

JUDGEMENTS = [
    # found to be misread by a reviewer
    ("No problems found.", "No"),
    ("No issues found.", "No"),
    ("The summary is error-free.", "No"),
    ("The summary is hallucination-free.", "No"),
    ("This summary is hallucination free.", "No"),
    ("The summary is non-hallucinated.", "No"),
    ("Hallucinations: None found", "No"),
    ("hallucination: none", "No"),
    ("Hallucinations found: 0", "No"),
    ("'No'", "No"),
    ("(No)", "No"),
    ("Assistant: No", "No"),
    ("Based on the document, no.", "No"),
    ("Probably no", "No"),
    ("I think yes.", "Yes"),
    ("The document mentions all of these facts.", "No"),
    # short answers to a question
    ("Nope, everything is right.", "No"),
    ("Yeah, the date is off.", "Yes"),
    ("Certainly! Let me check the answer. It contains a fabricated quote.", "Yes"),
    ("Does the response contain errors? It does: the year is wrong.", "Yes"),
    ("Does the response contain errors? It does not appear to.", "No"),
    ("Does the summary contain anything unsupported? Not that I can see.", "No"),
    ("Is the answer accurate? Not entirely.", "Yes"),
    ("Is the answer accurate? It is. The facts check out.", "No"),
    ("Is there a hallucination? There is no evidence of one.", "No"),
    ("Can I trust it? I don't think so. The answer invents a source.", "Yes"),
    ("Is it correct? Clearly not.", "Yes"),
    ("Any made-up facts? None.", "No"),
    ("Certainly not.", "No"),
    ("Is there a hallucination? Unfortunately yes: the capital is another.", "Yes"),
    ("Is there a hallucination? Obviously no.", "No"),
    ("Is there a hallucination? It is hard to say.", None),
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
    # written when the reading was done
    (
        "After comparing the two, I believe the summary does include an unsupported claim, that she resigned.",
        "Yes",
    ),
    ("The summary looks good to me; every statement can be traced back to the document.", "No"),
    ("No issues found. The summary is accurate.", "No"),
    ('Yes - "forty people" is wrong, it was fourteen.', "Yes"),
    ("The information in the summary is all taken from the document, so: No", "No"),
    ("The document states that the man was 34, but the summary says 43. Yes", "Yes"),
    ("Judgement: The summary is not hallucinated.", "No"),
    ("**Judgement:** Hallucination present", "Yes"),
    ("**Judgement:** No hallucination present", "No"),
    ("It is hallucinated.", "Yes"),
    ("I don't think the summary contains any hallucination.", "No"),
    ("I think there might be a hallucination regarding the date.", "Yes"),
    ("The summary has one factual error.", "Yes"),
    ("The summary doesn't have any factual errors.", "No"),
    ("My final answer is Yes, because the summary claims that the firm apologised, which it did not.", "Yes"),
    (
        "It says that the concert was cancelled. It was postponed. Thus the summary is inaccurate.",
        "Yes",
    ),
    ("The summary omits some details but does not contradict the document. No", "No"),
    ("The summary omits some details, but everything it says is supported by the document.", "No"),
    ("Answer: Yes\n\nThe summary says that the driver died, while the document says that he was unhurt.", "Yes"),
    ("Although the summary is short, it contains no information that isn't in the document.", "No"),
    (
        "It correctly states the date. It accurately reports the number. No hallucination is present.",
        "No",
    ),
    ("Result: No", "No"),
    ("Output: Yes", "Yes"),
    ("Yes\n\nNo", "No"),
    ('The judgement should be "No".', "No"),
    ("Based on my analysis, the answer would be 'Yes'.", "Yes"),
    ("Therefore, my judgement is: **Yes**", "Yes"),
    ("The statement about the award is fabricated.", "Yes"),
    ("The summary adds that the minister apologised; this does not appear anywhere in the document.", "Yes"),
    ("Everything checks out.", "No"),
    ("I cannot see any contradiction.", "No"),
    ("The summary goes beyond the document by giving a cause.", "Yes"),
    ("Sorry, I can't answer that.", None),
    ("The summary talks about a war in the east.", None),
    ("Step 1: read the document. Step 2: compare. Step 3: decide.", None),
    (
        '1. "Two tugs towed it" - supported.\n2. "Some were treated" - not supported.\n\nConclusion: Yes',
        "Yes",
    ),
    ("The summary is consistent with the document and contains no fabricated details.", "No"),
    ("No.\n\nThe document says that the library was damaged by a fire in 2016, which the summary repeats.", "No"),
    ("Yes, it does.", "Yes"),
    ("No, it doesn't.", "No"),
    ("It does.", None),
    ("Both Yes and No could be argued.", None),
    ("hallucination = yes", "Yes"),
    ("is_hallucination: True", "Yes"),
    ("Label: No (faithful)", "No"),
    ("The summary is a faithful representation of the document.", "No"),
    ("This is an accurate summary.", "No"),
    ("This is not an accurate summary of the document.", "Yes"),
    ("The summary contains information which is not supported by the document, such as the price.", "Yes"),
    ("None of the information is hallucinated.", "No"),
    # concessions, conclusions, texts that claim nothing
    ("Nothing in it is wrong or made up, hence: No", "No"),
    ("The list consists of common English words. Nothing in it is wrong or made up, hence: No", "No"),
    ("The poem makes no factual claims, so there is nothing to hallucinate.", "No"),
    ("There are no factual claims in this answer to verify, therefore no.", "No"),
    ("There is no hallucination here - the answer is fiction and makes no factual claims.", "No"),
    ("There is no hallucination here; the poem makes no verifiable claims.", "No"),
    ("No hallucination: the story makes no factual claims.", "No"),
    ("The response is a creative text and makes no factual claims that could be wrong.", "No"),
    ("Every step of the code is right, thus: No.", "No"),
    ("The date is wrong, hence: Yes", "Yes"),
    ("The date is wrong, hence yes.", "Yes"),
    ("All of it can be verified, so my judgement is no.", "No"),
    ("It mixes up two cities, which means: Yes", "Yes"),
    ("The author named here does not exist => Yes", "Yes"),
    ("All facts check out → No", "No"),
    ("At first it looks like a hallucination, but the figure is right: No", "No"),
    ("It seems fine, but the quote is invented, so yes.", "Yes"),
    ("Nothing here is false.", "No"),
    ("Nothing is invented, nothing is wrong.", "No"),
    ("The answer is a translation and contains nothing that could be wrong.", "No"),
    ("This is an opinion and makes no claim that can be checked.", "No"),
    ("I can't verify every detail, but the answer is wrong about the date, so Yes.", "Yes"),
    ("The answer cannot be verified.", "Yes"),
    ("The claim can't be verified, which makes it a hallucination.", "Yes"),
    ("Yes: it says that Einstein won two Nobel Prizes.", "Yes"),
    ("It is not accurate to say the answer is free of hallucination. It invents a quotation.", "Yes"),
    ("It would be wrong to call this a hallucination.", "No"),
    ("I wouldn't call this a hallucination.", "No"),
    ("Hard to say, but I'd go with no.", "No"),
    ("The answer is hallucination. The book does not exist.", "Yes"),
    ("The answer appears to be hallucinated: there is no such law.", "Yes"),
    ("No; the recipe is plausible and contains no facts that could be wrong.", "No"),
    ("The answer doesn't state any facts, so it can't be a hallucination.", "No"),
    ("Judgement - No", "No"),
    ("Verdict = Yes", "Yes"),
    ("Hallucination? No.", "No"),
    ("Hallucination detected: none.", "No"),
    ("The answer makes up a source.", "Yes"),
    ("The response fabricates a citation. Yes.", "Yes"),
    ("The answer claims to know the user's name, which it can't. Yes", "Yes"),
    ("Not a hallucination: the capital of France is Paris.", "No"),
    ("The AI says it cannot browse the web, which is true. No", "No"),
    ("As this is a joke, there is nothing to check: no", "No"),
    ("Contains no misinformation.", "No"),
    ("The answer gets the year wrong.", "Yes"),
    ("There's nothing factual here to get wrong, so: No", "No"),
    ("It is a recipe; nothing is made up. No.", "No"),
    ("The answer only rephrases the question → No", "No"),
    ("Two of the three names are invented, so yes", "Yes"),
    ("The response sticks to the facts. Verdict: no", "No"),
    ("There is no hallucination – it's a greeting.", "No"),
    ("No hallucinations here: the text is pure fiction and asserts nothing about the world.", "No"),
    ("The answer contains no factual assertions.", "No"),
    ("This is creative writing, so there are no facts to check.", "No"),
    ("It says the Eiffel Tower is in Rome; hence, yes.", "Yes"),
    ("hence: Yes", "Yes"),
    ("Hence no.", "No"),
    ("Contains a hallucination, namely the date.", "Yes"),
    ("While most of it is right, the last sentence is made up.", "Yes"),
    ("Although it looks suspicious, the answer is accurate.", "No"),
    ("It may look like a hallucination, but it is correct.", "No"),
    ("The answer seems plausible but the quote is fabricated.", "Yes"),
    ("The answer is neither wrong nor made up.", "No"),
    ("I see no reason to call it hallucinated.", "No"),
    ("It's not a hallucination to say that water boils at 100 °C.", "No"),
    ("Yes (the author does not exist)", "Yes"),
    ("no :)", "No"),
    ("I'd lean towards yes.", "Yes"),
    ("I lean no.", "No"),
    ("Probably not hallucinated.", "No"),
    ("My verdict - Yes", "Yes"),
    ('{"answer": "no"}', "No"),
    ("The answer is right about the year and wrong about the place.", "Yes"),
    ("All claims verified. No hallucination.", "No"),
    ("One claim could not be verified. Yes.", "Yes"),
    ("The response refuses to answer, so it states nothing false.", "No"),
]

DECLINING = [
    "I cannot tell whether the answer hallucinates.",
    "I am unable to verify this answer.",
    "I don't know.",
    "It is not possible to determine whether this is a hallucination.",
    "Without more context I can't judge this.",
    "I can't judge that.",
    "Not sure.",
    "I have no way to check this.",
    "Unable to determine.",
    "It's impossible to say without a source.",
]


@pytest.mark.parametrize(("reply", "label"), JUDGEMENTS)
def test_a_judgement_is_read_as_a_person_reads_it(reply: str, label: str | None) -> None:
    assert hallucinates(reply).value == label


@pytest.mark.parametrize("reply", DECLINING)
def test_a_reply_that_declines_to_judge_abstains(reply: str) -> None:
    assert hallucinates(reply) == Answer(None, "declines", abstained=True)


CHECKS = [
    ("Claim: A ship sank.\nSupported: Y\nClaim: It was red.\nSupported: N", [True, False]),
    ("Claim: A ship sank.\nSupported: Yes (partially)", [False]),
    ("Claim: A ship sank.\nSupported: Yes, mostly", [False]),
    ("Claim: A ship sank.\nSupported: Yes; but the date is wrong", [False]),
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
    ("The first claim is supported. The second claim is not supported.", [True, False]),
    ("Claim 1 is supported, claim 2 is not.", [True, False]),
    ("The first, that a ship sank, is supported. The second, that it was red, is not supported.", [True, False]),
    ("The first one is supported. The second one is unsupported.", [True, False]),
    ("All claims are supported by the document.", [True]),
    ("None of the claims is supported.", [False]),
    ("1) A ship sank – supported by paragraph 1.\n2) It was red – not in the document.", [True, False]),
    ("- A ship sank ✅\n- It was red ❌", [True, False]),
    ("The document does not mention a ship.", []),
    ("#Your Judgement#: Yes", []),
    ("", []),
]


@pytest.mark.parametrize(("reply", "supported"), CHECKS)
def test_claims_are_read_with_their_checks(reply: str, supported: list[bool]) -> None:
    assert checks(reply).checked == supported


@pytest.mark.parametrize(
    "reply",
    [
        "I'm unable to check these claims without the document.",
        "I cannot check the claims without the document.",
        "The document was not provided, so I'm unable to verify the claims.",
    ],
)
def test_a_reply_that_declines_to_check_abstains(reply: str) -> None:
    score = halueval.score_claims(item(), reply)
    assert (score.answer, score.outcome, score.measurements["correct"]) == (None, "abstained", 0.0)
    assert halueval.claims_verdict(reply).abstained


@pytest.mark.parametrize(
    ("reply", "unchecked"),
    [
        ("Claim: A.\nSupported: Yes\n\nClaim: B", 1),
        ("Claim 1: A.\nSupported: Yes\nClaim 2: B.\nSupp", 1),
        ("Claim 1: A.\nClaim 2: B.\n\nClaim 1: Supported: Yes\nClaim 2: Supported: Yes", 0),
        ("Claims:\n1. Claim: A.\n   Supported: Yes", 0),
    ],
)
def test_a_claim_whose_check_is_missing_is_counted(reply: str, unchecked: int) -> None:
    assert checks(reply).unchecked == unchecked


def item(target: str = "Yes", text: str = "", *spans: tuple[int, int], id: str = "a") -> Item:
    gold = {"text": text, "spans": [list(span) for span in spans], "strings": [text[i:j] for i, j in spans]}
    kind = "right" if target == "No" else "hallucinated"
    return Item(f"{id}/{kind}", id, target, "", "", gold, {"kind": kind})


@pytest.mark.parametrize(
    ("reply", "answer", "claims", "supported"),
    [
        ("Claim: A.\nSupported: Yes\nClaim: B.\nSupported: Yes", "No", 2, 1.0),
        ("Claim: A.\nSupported: Yes\nClaim: B.\nSupported: No", "Yes", 2, 0.5),
        # one claim without support is enough, whatever the rest would have been
        ("Claim: A.\nSupported: No\nClaim: B.", "Yes", 2, 0.0),
        # but to call the summary right all must have been checked
        ("Claim: A.\nSupported: Yes\nClaim: B.", None, 2, 1.0),
        ("The summary is right.", None, None, None),
    ],
)
def test_a_summary_is_hallucinated_when_a_claim_is_not_supported(
    reply: str, answer: str | None, claims: int | None, supported: float | None
) -> None:
    score = halueval.score_claims(item(), reply)
    assert score.answer == answer and score.measurements["correct"] == float(answer == "Yes")
    assert (score.measurements.get("claims"), score.measurements.get("supported")) == (claims, supported)
    assert bool(score.reason) == (answer is None)


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        ("Yes.", "Yes"),
        ("No, it does not.", "No"),
        ("N.o", "No"),
        ("yes", None),
        ("Yes and No", None),
        ("Not sure", "No"),
        ("Yes. In November it was closed.", None),
        ("", None),
    ],
)
def test_the_published_reading_takes_the_one_string_that_occurs(reply: str, answer: str | None) -> None:
    assert halueval.published_judgement(reply).value == answer


def test_the_published_readings_of_the_other_forms() -> None:
    reasoned = "No date is given. Yesterday is wrong.\n#Your Judgement#: Yes"
    assert halueval.published_reasoned_judgement(reasoned).value == "Yes"
    assert halueval.published_judgement(reasoned).value is None
    assert halueval.published_reasoned_judgement("It is right. No").value == "No"
    assert halueval.score_claims_published(item(), "Claim: A\nSupported: No\nSupported: no").answer == "Yes"
    assert halueval.score_claims_published(item(), "1. A - Yes").answer is None


def test_figures_worked_out_by_hand() -> None:
    replies = {"a": ("Yes", "No"), "b": ("Yes", "Yes"), "c": ("?", "No")}
    task = registry()[0]["halueval_summarization"]
    kinds = {"Yes": "hallucinated", "No": "right"}
    scores = [
        task.score("strict", replace(item(target, id=id), tags={"kind": kinds[target]}), Reply(reply))
        for id, pair in replies.items()
        for target, reply in zip(("Yes", "No"), pair, strict=True)
    ]
    found = {name: e.value for name, e in estimates(task.scoring["strict"].metrics, scores).items()}
    # of six: a right twice, b right once, c right once and unread once
    assert found == {
        "acc": pytest.approx(4 / 6),
        "acc_right": pytest.approx(2 / 3),
        "acc_hallucinated": pytest.approx(2 / 3),
        "acc_pair": pytest.approx(1 / 3),
        "precision": pytest.approx(2 / 3),
        "recall": pytest.approx(2 / 3),
        "f1": pytest.approx(2 / 3),
        "unparsed": pytest.approx(1 / 6),
        "abstained": 0.0,
        "empty": 0.0,
    }


def test_the_number_of_claims_has_an_interval_without_an_upper_end() -> None:
    replies = ["Claim: A.\nSupported: Yes\n" * 1, "Claim 1: A.\nSupported: Yes\nClaim 2: B.\nSupported: No"]
    scores = [halueval.score_claims(item(id=str(n)), reply) for n, reply in enumerate(replies)]
    found = estimates(halueval.claims_scorer().metrics, scores)
    # 1 and 2: mean 1.5, standard error 0.5; Student's t with one degree of freedom is 12.706
    assert (found["claims"].value, found["claims"].stderr) == (1.5, pytest.approx(0.5))
    assert found["claims"].low == 0.0 and found["claims"].high == pytest.approx(1.5 + 12.706 * 0.5, abs=0.5)
    assert found["supported"].value == 0.75


TEXT = '1. Night\n2. Boat - a "small" one\n3. Kite\nBoats are made of stone. They float.'


@pytest.mark.parametrize(
    ("reply", "returned"),
    [
        ('2. Boat - a "small" one', ['2. Boat - a "small" one']),
        ("1. Night\n\n3. Kite", ["1. Night", "3. Kite"]),
        ("- 3. Kite\n- They float.", ["3. Kite", "They float."]),
        ("Hallucinated passages:\n- Boats are made of stone.", ["Boats are made of stone."]),
        ('Here are the hallucinated passages:\n\n1. "Boats are made of stone."', ["Boats are made of stone."]),
        ('"Boats are made of stone."\n\nExplanation: stone is too heavy.', ["Boats are made of stone."]),
        ("Boats are made of stone.\nThis is wrong because stone is heavy.", ["Boats are made of stone."]),
        ("Ships are made of glass.", ["Ships are made of glass."]),
        ("<think>3. Kite</think>They float.", ["They float."]),
        ("None", []),
        ("None.", []),
        ("[]", []),
        ("There are no hallucinated passages in the answer.", []),
        ("I found no hallucinated content.", []),
        ("The answer does not contain any hallucinations.", []),
        ("There is no contradiction.", []),
        ("Hallucinated passages: none", []),
        ("#Hallucinated Passages#:\nNone", []),
        ("I cannot determine which passages are hallucinated.", None),
        ("<think>They float.", None),
        ("", None),
    ],
)
def test_passages_are_the_lines_of_the_reply(reply: str, returned: list[str] | None) -> None:
    assert passages(reply, TEXT).value == returned


def test_what_says_that_there_is_none_is_the_benchmarks() -> None:
    of_quarrels = none_of("(?:quarrels?|kavga|نزاع|झगड़ा|争吵)")
    for reply in ("There is no quarrel.", "No quarrels were found.", "Kavga yok.", "لا يوجد نزاع", "没有争吵。"):
        assert passages(reply, TEXT, of_quarrels) == Answer([]), reply
    assert passages("There is no quarrel.", TEXT).value == ["There is no quarrel."]


def test_a_word_for_none_that_stands_in_the_text_is_no_passage() -> None:
    text = "None of the boats float."
    assert passages("None", text) == Answer([])
    assert passages("None of the boats float.", text) == Answer(["None of the boats float."])


def test_passages_are_scored_by_their_characters() -> None:
    text = "Boats are made of stone. They float."
    gold = item("", text, (0, 24))
    assert localization.score_passages(gold, "Boats are made of stone.").measurements["iou"] == 1.0
    assert localization.score_passages(gold, text).measurements["iou"] == pytest.approx(24 / 36)
    assert localization.score_passages(gold, "They float.").measurements["iou"] == 0.0
    # a string that is nowhere adds its length to the union
    assert localization.score_passages(gold, "- Boats are made of stone.\n- glass!").measurements[
        "iou"
    ] == pytest.approx(24 / 30)


# --- properties -------------------------------------------------------------------------------------

WORDS = st.sampled_from(
    ["Yes", "No", "not ", "Claim: ", "Supported: ", "hallucination ", "faithful ", "|", "\n", ". ", "#Your Judgement#:",
     "<think>", "</think>", "- ", "1. ", "if ", "(", '"', ":", "the summary ", "\u2028", "\ud800"]
)  # fmt: skip


@given(st.one_of(st.text(), st.lists(WORDS).map("".join)))
def test_no_reply_is_an_error(reply: str) -> None:
    assert hallucinates(reply).value in ("Yes", "No", None)
    found = checks(reply)
    assert found.unchecked >= 0 and (found.checked or found.reason)
    returned = passages(reply, TEXT)
    assert (returned.value is None) == bool(returned.reason)
    for score in (halueval.score_claims, halueval.score_claims_published):
        assert score(item(), reply).answer in ("Yes", "No", None)


@given(st.text(), st.sampled_from(["Yes", "No"]))
def test_a_judgement_behind_the_cue_wins(before: str, word: str) -> None:
    reasoned = before.replace("<", "").rstrip("\r") + f"\n#Your Judgement#: {word}"
    assert hallucinates(reasoned).value == word


@pytest.mark.parametrize("explanation", [" (they are of wood)", " - wrong material", " → wood", ": they are of wood"])
def test_an_explanation_behind_a_copied_passage_costs_nothing(explanation: str) -> None:
    assert passages(f"- Boats are made of stone.{explanation}", TEXT).value == ["Boats are made of stone."]
