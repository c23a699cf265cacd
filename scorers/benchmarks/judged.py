"""Texts that a judge compares with a correct answer (C-FAITH, section 4.2) or with the papers that they cite (FAVE).

A user's task says in its file what the judge is asked (`own_judge`): about a reply, or about each of its claims,
which the judge lists first.

The claims of a summary are its sentences (Factored Verification, section 3). A judge checks only those that cite a
paper, each against the titles and abstracts of the papers that it cites. A sentence all of whose citations match no
paper of the list is a hallucination, since nothing supports it, and the judge is not asked. An empty reply counts as a
summary with one hallucination.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from rapidfuzz import fuzz

from halu_tasks.core.items import Item
from halu_tasks.core.prompting import JinjaText, fill, placeholders, prompt_for
from halu_tasks.scorers.answer import UNPARSED, Answer
from halu_tasks.scorers.attempts import JudgedAttempts, attempt_metrics
from halu_tasks.scorers.benchmarks.labels import RATE
from halu_tasks.scorers.citations import CitingSentence, find_citations, listed_papers
from halu_tasks.scorers.columns import Column
from halu_tasks.scorers.gold import AnswerGold, Paper, SummaryGold
from halu_tasks.scorers.judge import (
    CLAIM,
    CONFLICT,
    CONSISTENT,
    FAILED,
    PASSAGES,
    REPLY,
    TARGET,
    ClaimSpec,
    JudgeSpec,
    Question,
    Questions,
    Sense,
    excerpt,
    fence,
    read_verdict,
    shown_passages,
)
from halu_tasks.scorers.judge_correction import corrected, judge_error_metrics, label_facts
from halu_tasks.scorers.metrics import Metric, Terms, mean, metric, micro, share_free_of, share_of
from halu_tasks.scorers.reading.claim_lists import ClaimListReader
from halu_tasks.scorers.reading.claims import SUPPORTED, UNSUPPORTED, read_support
from halu_tasks.scorers.reading.reply import ReplyText
from halu_tasks.scorers.reading.verdicts import VerdictReader
from halu_tasks.scorers.registry import TaskScorer
from halu_tasks.scorers.score import ScoredReply
from halu_tasks.text.folding import slug
from halu_tasks.text.sentences import sentences

if TYPE_CHECKING:
    from halu_tasks.knowledge import Snippet

_KEPT_ANSWER, _KEPT_SUMMARY = 1_000, 4_000
"""Maximum lengths in characters of the open answer and of the summary that a score keeps."""


def _open_answer(reply: str, verdicts: Sequence[str] | None) -> Answer[str]:
    text = _text_of(reply)
    if not text:
        return ReplyText(reply).missing or Answer(None)
    reason = "the judge gave no verdict" if FAILED in (verdicts or ()) else ""
    return Answer(_beginning(text, _KEPT_ANSWER), reason)


def _beginning(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[:longest] + "…"


def _text_of(reply: str) -> str:
    return ReplyText(reply).text.strip()


# --- open answers -----------------------------------------------------------------------------------------


def _asks_of_all(placeholder: str, fields_of: Callable[[Item], Mapping[str, str]]) -> Questions:
    """Make what asks one question about all of a reply, which `placeholder` stands for, and none if it is blank."""

    def questions(item: Item, reply: str, longest: int) -> list[Question]:
        text = _text_of(reply)
        part, left_out = excerpt(text, longest)
        return [Question({**fields_of(item), placeholder: fence(part)}, left_out=left_out)] if text else []

    return questions


OPEN_ANSWER = JudgeSpec(
    prompt_for("cfaith_conflict", "judge")["user"],
    _asks_of_all(
        "output",
        lambda item: {"question": fence(item.gold.question), "correct_answer": fence(item.gold.correct_answer)},
    ),
    read_verdict,
    unjudged="closer_to_correct",
    labels={CONFLICT: "bad", CONSISTENT: "good"},
    measurement="hallucinated",
    measurements={"good": {CONFLICT: 0.0, CONSISTENT: 1.0}},
)


def _sense(
    labels: Mapping[str, Sense], verdicts: Sequence[str], without_verdict: Sense | None, empty: Sense
) -> Sense | None:
    """Return what a reply counts as by the verdict on it, if there was a question; None if it does not count."""
    if not verdicts:
        return empty
    return without_verdict if FAILED in verdicts else labels[verdicts[0]]


_BY_JUDGE: dict[str, Any] = {"requires_option": "judge"}
_FAILED = "share of replies on which the judge gave no verdict"
_FAILURES = mean("judge_failed", "judge_failed", _FAILED, higher_is_better=False, **_BY_JUDGE)


def open_scorer(without_verdict: Sense | None = None, empty: Sense = "neutral") -> TaskScorer:
    """Score an open answer that a judge compares with the correct one.

    A reply without an answer (blank, or with a reasoning block that is never closed) is unparsed, and neither right nor
    hallucinated, as is one that declines. Without a judge, only `closer_to_correct` is known.

    Args:
        without_verdict: What a reply counts as on which the judge gave no verdict; by default, it does not count.
        empty: What a reply counts as about which a judge is not asked, because it has no text or declines.

    Returns:
        A scorer with the metrics `hallucination_rate`, `acc`, `judge_failed`, those of `attempt_metrics` and those of
        `judge_error_metrics`, for which a judge is needed, and `closer_to_correct`; all are shares from 0 to 1, except
        for `judge_kappa` and `net`. A reply on which the judge gave no verdict counts only in `judge_failed`.
    """

    def score(item: Item[AnswerGold], reply: str, verdicts: Sequence[str] | None) -> ScoredReply:
        text, answers = _text_of(reply), (item.gold.correct_answer, item.gold.halu_answer)
        to_correct, to_hallucinated = (fuzz.ratio(text, answer) for answer in answers)
        measurements = {"closer_to_correct": float(to_correct > to_hallucinated)}
        if verdicts is not None:
            measurements["judge_failed"] = float(FAILED in verdicts)
            if sense := _sense(OPEN_ANSWER.labels, verdicts, without_verdict, empty):
                measurements |= {"hallucinated": float(sense == "bad"), "good": float(sense == "good")}
        return ScoredReply.of(item, _open_answer(reply, verdicts), measurements)

    conflict = "conflict with the correct answer"
    closer = "share of replies closer to the correct answer than to the hallucinated one, by rapidfuzz's ratio"
    acc = mean("acc", "good", f"share of replies that do not {conflict}, by the judge")
    attempted, acc_attempted, net = attempt_metrics(JudgedAttempts(bad="hallucinated"), "judge")
    metrics = (
        replace(RATE, about=f"share of replies that {conflict}, by the judge"),
        acc,
        attempted,
        acc_attempted,
        net,
        _FAILURES,
        *(corrected(each, OPEN_ANSWER) for each in (acc, attempted, net)),
        *judge_error_metrics("hallucination_rate", OPEN_ANSWER),
        mean("closer_to_correct", "closer_to_correct", closer),
        share_of(UNPARSED),
    )
    facts = {"closer_to_correct", "judge_failed", "hallucinated", "good", "partial", *label_facts(OPEN_ANSWER)}
    return TaskScorer(score, metrics, facts, gold=AnswerGold)


# --- what a task file asks ---------------------------------------------------------------------------------

_PLACEHOLDER = re.compile(r"[ \t]*\n?[ \t]*(\{\{\s*\w+\s*\}\})[ \t]*\n?")


def own_judge(labels: Mapping[str, Sense], prompt: str) -> JudgeSpec:
    """Return what a judge is asked by the prompt of a task file.

    Text that a placeholder stands for is put between fences, and the form of the verdict is added to the prompt. A
    reply without text is not judged.

    Args:
        labels: The labels, and what each says of a reply, or of a claim.
        prompt: A template over the fields of an item, `target`, and `reply`; or, in the place of the last, `claim` and
            `passages`, if the judge is asked about each claim.
    """
    listed = json.dumps([*labels], ensure_ascii=False).strip("[]")
    form = fill(prompt_for("own", "judge")["user"], {"labels": listed})

    def shown(item: Item) -> dict[str, str]:
        fields = {**item.fields, **item.gold.shown, TARGET: item.target}
        return {name: fence(str(fields[name])) for name in sorted(placeholders(asked)) if name in fields}

    def of_claim(item: Item, claim: str, passages: Sequence[Snippet]) -> Question:
        searched = {PASSAGES: shown_passages(passages)} if looks_up else {}
        return Question({**shown(item), **searched, CLAIM: fence(claim)}, about=claim)

    def of_sentences(item: Item, reply: str, longest: int) -> list[Question]:
        return [of_claim(item, excerpt(sentence, longest)[0], ()) for sentence in sentences(_text_of(reply))]

    on_own_lines = _PLACEHOLDER.sub(r"\n\1\n", prompt).strip()
    asked = JinjaText(f"{on_own_lines}\n\n{{% raw %}}{form}{{% endraw %}}")
    reader = VerdictReader({label: label for label in labels})
    looks_up = PASSAGES in placeholders(asked)
    if REPLY not in placeholders(asked):
        claims = ClaimSpec(_LISTING, of_claim, looks_up)
        return JudgeSpec(
            asked,
            of_sentences,
            reader,
            unjudged=UNPARSED,
            labels=labels,
            measurement=_BAD_CLAIMS,
            claims=claims,
            parts=True,
        )
    return JudgeSpec(
        asked,
        _asks_of_all(REPLY, shown),
        reader,
        unjudged=UNPARSED,
        labels=labels,
        measurement="bad",
        measurements={
            **{sense: {label: float(labels[label] == sense) for label in labels} for sense in ("good", "partial")},
            **{share: {label: float(label == own) for label in labels} for own, share in _shares(labels).items()},
        },
    )


def _shares(labels: Iterable[str]) -> dict[str, str]:
    return {label: f"share_{slug(label)}" for label in labels}


def judged_scorer(
    labels: Mapping[str, Sense], without_verdict: Sense | None = None, empty: Sense = "neutral"
) -> TaskScorer:
    """Score a reply by the label that a judge gives it.

    A reply without text, or one that declines where no label is neutral, is neither good nor bad.

    Args:
        labels: The labels of the judge, and whether each is good, bad, partial or neutral.
        without_verdict: What a reply counts as on which the judge gave no verdict; by default, it does not count.
        empty: What a reply counts as about which a judge is not asked, because it has no text or declines.

    Returns:
        A scorer with the metrics `net`, `bad_rate`, `acc` (the share with a good label), `attempted`, `acc_attempted`,
        `share_LABEL` of each label, `judge_failed`, what labels of people correct, and `judge_error_metrics`, for all
        of which a judge is needed; all are shares from 0 to 1, except for `judge_kappa` and `net`. The shares of
        labels are of all replies, so that with those of other outcomes they add up to 1; in all others, a reply on
        which the judge gave no verdict does not count.
    """
    shares = _shares(labels)
    judge_spec = own_judge(labels, "{{reply}}")
    better: Mapping[Sense, bool] = {"good": True, "bad": False}

    def score(item: Item, reply: str, verdicts: Sequence[str] | None) -> ScoredReply:
        measurements = {}
        if verdicts is not None:
            measurements["judge_failed"] = float(FAILED in verdicts)
            measurements |= {share: float(label in verdicts) for label, share in shares.items()}
            if sense := _sense(labels, verdicts, without_verdict, empty):
                measurements |= {each: float(each == sense) for each in _MEASURED}
        return ScoredReply.of(item, _open_answer(reply, verdicts), measurements)

    def share_of_label(label: str, name: str) -> Metric:
        about = f"share of replies with the label {label}"
        return mean(name, name, about, higher_is_better=better.get(labels[label]), **_BY_JUDGE)

    attempted, acc_attempted, net = attempt_metrics(JudgedAttempts(), "judge")
    acc = mean("acc", "good", "share of replies with a good label, by the judge", **_BY_JUDGE)
    of_labels = [share_of_label(*share) for share in shares.items()]
    metrics = (
        net,
        mean("bad_rate", "bad", "share of replies with a bad label, by the judge", higher_is_better=False),
        acc,
        attempted,
        acc_attempted,
        *of_labels,
        _FAILURES,
        *(corrected(each, judge_spec) for each in (net, acc, attempted, *of_labels)),
        *judge_error_metrics("bad_rate", judge_spec),
        share_of(UNPARSED),
    )
    facts = {"judge_failed", "bad", "good", "partial", *shares.values(), *label_facts(judge_spec)}
    return TaskScorer(score, metrics, facts)


_MEASURED: tuple[Sense, ...] = ("good", "bad", "partial")


# --- the claims of a reply -------------------------------------------------------------------------------

_BAD_CLAIMS = "bad_claims"


_LISTING = JudgeSpec(
    prompt_for("factored_verification_claims", "factored_verification")["user"],
    _asks_of_all("text", lambda item: {}),
    ClaimListReader(),
    unjudged=UNPARSED,
)


def judged_claims_scorer(labels: Mapping[str, Sense], neutral: Literal["neutral", "bad"] = "neutral") -> TaskScorer:
    """Score a reply by the labels that its claims get, from a judge or from people.

    The good, bad and partial shares of a reply are those of its claims without the neutral ones. A reply without claims
    attempts nothing. A claim without a verdict counts in `judge_failed` alone, and so does a reply whose claims have
    none.

    Args:
        labels: The labels of claims, and whether each is good, bad, partial or neutral.
        neutral: What a claim with a neutral label counts as in the shares of a reply.

    Returns:
        A scorer with the metrics `net`, `acc_attempted` (FActScore, Min et al. 2023, section 3.1, if neutral claims are
        bad), `attempted`, `acc` and `bad_rate`, means over replies of these shares; `acc_claims` and `share_LABEL` of
        each label, shares of the claims of all replies; `claims`, `bad_claims` and `judge_error_metrics`, per reply;
        and `judge_failed`. All need verdicts.
    """
    counted: dict[str, Sense] = {label: neutral if sense == "neutral" else sense for label, sense in labels.items()}
    number_of = {label: f"claims_{slug(label)}" for label in labels}
    judge_spec = own_judge(labels, "{{claim}}")

    def score(item: Item, reply: str, verdicts: Sequence[str] | None) -> ScoredReply:
        measurements: dict[str, float] = {}
        if verdicts is not None:
            labelled = [label for label in verdicts if label != FAILED]
            senses = Counter(counted[label] for label in labelled)
            relevant = sum(senses[sense] for sense in _MEASURED)
            measurements = {"asked": len(verdicts), "failed": len(verdicts) - len(labelled)}
            if labelled or not verdicts:
                measurements |= {number: labelled.count(label) for label, number in number_of.items()}
                measurements |= {"claims": len(labelled), "good_claims": senses["good"], "relevant_claims": relevant}
                measurements[_BAD_CLAIMS] = sum(labels[label] == "bad" for label in labelled)
            if relevant or FAILED not in verdicts:
                measurements |= {sense: senses[sense] / relevant if relevant else 0.0 for sense in _MEASURED}
        return ScoredReply.of(item, _open_answer(reply, None), {n: float(v) for n, v in measurements.items()})

    attempted, acc_attempted, net = attempt_metrics(JudgedAttempts(), "judge")
    share = "mean over all replies of the share of claims with a {} label, 0 without claims"
    irrelevant = "" if neutral == "bad" else ", of those that are not neutral"
    worse: dict[str, Any] = {"higher_is_better": False, **_BY_JUDGE}
    metrics = (
        replace(net, about="mean over replies of the share of good claims minus the penalty times that of bad ones"),
        replace(acc_attempted, about=f"mean over replies with claims of the share that are good{irrelevant}"),
        replace(attempted, about="share of replies with claims that count"),
        mean("acc", "good", share.format("good"), **_BY_JUDGE),
        mean("bad_rate", "bad", share.format("bad"), **worse),
        micro(
            "acc_claims",
            "good_claims",
            "relevant_claims",
            f"share of all claims that are good{irrelevant}",
            **_BY_JUDGE,
        ),
        *(
            micro(
                f"share_{slug(label)}",
                number_of[label],
                "claims",
                f"share of all claims with the label {label}",
                higher_is_better={"good": True, "bad": False}.get(labels[label]),
                **_BY_JUDGE,
            )
            for label in labels
        ),
        replace(_count("claims", "claims", "claims of a reply"), **_BY_JUDGE),
        _count(_BAD_CLAIMS, _BAD_CLAIMS, "claims of a reply with a bad label", False),
        micro("judge_failed", "failed", "asked", "share of claims on which the judge gave no verdict", **worse),
        *judge_error_metrics(_BAD_CLAIMS, judge_spec, math.inf),
        share_of(UNPARSED),
    )
    numbers = ("asked", "failed", "claims", "good_claims", "relevant_claims", _BAD_CLAIMS, *number_of.values())
    return TaskScorer(score, metrics, {*_MEASURED, *numbers, *label_facts(judge_spec)})


# --- summaries that cite papers ---------------------------------------------------------------------------


_HEADING = re.compile(
    r"[#*_\s]{0,6}(?:corrected |revised |final )?summary[ \t]?[*_]{0,3}(?::[*_]{0,3}|[ \t]*\n)\s*", re.IGNORECASE
)


def summary_of(reply: str) -> str | None:
    """Extract the summary from a reply, without reasoning and heading; None if there is none."""
    text = ReplyText(reply).text
    begin = _HEADING.match(text)
    return text[begin.end() if begin else 0 :].strip() or None


def cited_sentences(summary: str, papers: Sequence[Paper]) -> tuple[list[CitingSentence], int]:
    """Return the sentences of a summary that have citations, and the number of all its sentences."""
    listed = listed_papers(papers)
    every = [find_citations(sentence, listed) for sentence in sentences(summary)]
    return [each for each in every if each.papers or each.unknown], len(every)


def shown(papers: Sequence[Paper]) -> str:
    """Format papers for a judge, critic or writer, between fences."""
    return fence(
        "\n\n".join(
            f"{paper['name']}:\n\nTitle: {paper['title']}\n\nAbstract: {paper['abstract'] or '(none)'}"
            for paper in papers
        )
    )


def summary_questions(item: Item[SummaryGold], reply: str, longest: int) -> list[Question]:
    """Return the judge's questions, one for each sentence that cites papers of the list."""
    summary, questions = summary_of(reply), []
    for claim in cited_sentences(summary, item.gold.papers)[0] if summary else ():
        if claim.papers:
            part, left_out = excerpt(claim.sentence, longest)
            fields = {"papers": shown(claim.papers), "claim": fence(part)}
            questions.append(Question(fields, claim.sentence, left_out))
    return questions


SUMMARY = JudgeSpec(
    prompt_for("fave_support", "judge")["user"],
    summary_questions,
    read_support,
    unjudged="share_cited",
    coverage="share_cited",
    labels={UNSUPPORTED: "bad", SUPPORTED: "good"},
    measurement="hallucinations",
    precision=2 / 3,
    parts=True,
)
"""In the paper, people confirm two thirds of the reported hallucinations (section 3.4)."""


_COUNTS = (
    *("sentences", "cited", "known", "unknown", "ambiguous", "blank"),
    *("asked", "failed", "hallucinations", "any", "factor"),
)


def score_summary(item: Item[SummaryGold], reply: str, verdicts: Sequence[str] | None) -> ScoredReply:
    """Score a summary by the judge's verdicts on its sentences.

    A sentence on which the judge failed does not count as a hallucination, but is counted in `failed`.

    Args:
        item: The item.
        reply: The reply.
        verdicts: A verdict on each of `summary_questions`; None if no judge was asked, in which case nothing is known
            about hallucinations.
    """
    summary = summary_of(reply)
    claims, sentence_count = cited_sentences(summary, item.gold.papers) if summary else ([], 0)
    checked = [claim for claim in claims if claim.papers]
    counts: dict[str, float] = {
        "sentences": sentence_count,
        "cited": len(claims),
        "known": len(checked),
        "unknown": sum(len(claim.unknown) for claim in claims),
        "ambiguous": sum(len(claim.ambiguous) for claim in claims),
        "blank": sum(not any(paper["abstract"] for paper in claim.papers) for claim in checked),
    }
    if verdicts is not None:
        wrong = sum(verdict == UNSUPPORTED for verdict in verdicts) + len(claims) - len(checked) + (summary is None)
        counts |= {
            "asked": len(checked),
            "failed": sum(verdict == FAILED for verdict in verdicts),
            "hallucinations": wrong,
            "any": wrong > 0,
            "factor": item.gold.adjustment,
        }
    kept_answer = Answer(_beginning(summary, _KEPT_SUMMARY)) if summary else None
    answer = kept_answer or ReplyText(reply).missing or Answer(None, "empty")
    return ScoredReply.of(item, answer, {name: float(count) for name, count in counts.items()})


@metric(
    form="mean",
    about="hallucinations_per_summary times the assumed precision",
    higher_is_better=False,
    range=(0.0, math.inf),
    requires_option="judge",
)
def hallucinations_per_summary_adjusted(hallucinations: Column, factor: Column) -> Terms:
    """Multiply the number of each summary by the precision."""
    return hallucinations * factor


@metric(
    form="mean",
    about="upper bound of the share of summaries with a real one, the mean of 1 - (1 - assumed precision)^k for k "
    "reports",
    higher_is_better=False,
    requires_option="judge",
)
def summaries_with_any_adjusted(hallucinations: Column, factor: Column) -> Terms:
    """Compute the share that holds if each report is real independently of the others.

    If reports of a summary tend to be real together, the share is lower, down to `summaries_with_any` times the
    precision.
    """
    return 1 - (1 - factor) ** hallucinations


# it does not vary between summaries
@metric(
    form="mean",
    about="assumed precision, the share of reported hallucinations that are taken to be real",
    higher_is_better=None,
    requires_option="judge",
    has_interval=False,
)
def adjustment_factor(factor: Column) -> Terms:
    """Return the precision, which is the same for all items."""
    return factor


def _count(name: str, measurement: str, about: str, higher_is_better: bool | None = None) -> Metric:
    return mean(name, measurement, f"mean number of {about}", higher_is_better=higher_is_better, range=(0.0, math.inf))


def fave_scorer() -> TaskScorer:
    """Score a summary whose cited sentences are checked by a judge.

    Returns:
        A scorer with the metrics of hallucinations, for which a judge is needed, and numbers of sentences and
        citations. The adjusted ones assume that a certain share of reported hallucinations is real.
    """
    unsupported, without = "a cited sentence that is not supported", "share of summaries without one"
    failed = "share of the judged sentences on which the judge gave no verdict"
    worse: dict[str, Any] = {"higher_is_better": False, **_BY_JUDGE}
    metrics = (
        _count("hallucinations_per_summary", "hallucinations", "cited sentences that are not supported", False),
        mean("summaries_with_any", "any", f"share of summaries with {unsupported}", **worse),
        share_free_of("acc", "hallucinations", f"{without}, 1 - summaries_with_any", **_BY_JUDGE),
        hallucinations_per_summary_adjusted,
        summaries_with_any_adjusted,
        adjustment_factor,
        micro("judge_failed", "failed", "asked", failed, **worse),
        *judge_error_metrics("hallucinations_per_summary", SUMMARY, math.inf),
        micro("share_cited", "known", "sentences", "share of all sentences that cite a paper of the list"),
        _count("sentences", "sentences", "sentences of a summary"),
        _count("sentences_cited", "cited", "sentences with a citation"),
        _count("citations_unknown", "unknown", "citations that match no paper of the list", False),
        _count("citations_ambiguous", "ambiguous", "citations that match several papers", False),
        _count("cited_without_abstract", "blank", "sentences that cite only papers with a blank abstract"),
        share_of(UNPARSED),
    )
    return TaskScorer(score_summary, metrics, {*_COUNTS, *label_facts(SUMMARY)}, gold=SummaryGold)
