"""How replies to a task are scored: the answer, the scorers of both modes, and the metrics that are reported."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import islice
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, InstanceOf, StrictBool, StrictStr, ValidationError, model_validator

from halu_tasks.core.errors import did_you_mean
from halu_tasks.core.items import Item, Reply
from halu_tasks.core.prompting import next_question, placeholders
from halu_tasks.core.settings import KeyFault
from halu_tasks.scorers.annotators import CLASS, in_mode
from halu_tasks.scorers.answer import ABSTAINED, ANSWERED, EMPTY, INFERRED, REQUEST_FAILED, UNPARSED, Answer, Outcome
from halu_tasks.scorers.attempts import ACC_ATTEMPTED, ATTEMPTED, NET, LabelAttempts, attempt_metrics
from halu_tasks.scorers.columns import column_names
from halu_tasks.scorers.judge import CLAIM, FAILED, JUDGE_FAILED, REPLY, JudgeSpec, Sense, Verdict
from halu_tasks.scorers.judge_correction import JUDGE_ERRORS
from halu_tasks.scorers.kinds import AnswerKind, Claims, JudgedText, Label, Spans, Strings
from halu_tasks.scorers.metrics import Metric, outcome_shares, share_of
from halu_tasks.scorers.reader_metrics import reader_spec
from halu_tasks.scorers.reading.fields import structured_answer
from halu_tasks.scorers.reading.reply import ReplyText
from halu_tasks.scorers.reading.steps import only_declines
from halu_tasks.scorers.registry import SCORERS, Reading, TaskScorer, make_scorer, reading_named
from halu_tasks.scorers.score import ScoredReply, mark_missing
from halu_tasks.scorers.statistics.calibration import with_probability
from halu_tasks.tasks.keys import Keys, Mode, OptionName, StringTuple, Template, reason_of, takes
from halu_tasks.tasks.yaml_files import FunctionName, load_object
from halu_tasks.text.folding import fold, slug

MODES: tuple[Mode, ...] = ("strict", "paper")
_LONGEST_TURN, _MOST_TURNS = 50_000, 3
"""How far a reply is searched for further questions, in characters, and how many of these are looked at.

Real replies that continue with another question after their answer do so much earlier.
"""
_IN_PAPER: Mapping[Outcome, Outcome] = {ABSTAINED: UNPARSED, EMPTY: UNPARSED, INFERRED: ANSWERED}
_USUAL_FAILURE: Mapping[str, str | None] = {"strict": None, "paper": ""}
"""The `failure` of a `ReplyText` whose request is not known to have failed: in `paper` the authors read what servers
write in the place of a reply."""
_WITHOUT_LABELS = {"strings": Strings, "judged_text": JudgedText}
_OF_SPANS = ("categories", "degrees")
_USUAL: Mapping[str, tuple[Any, str]] = {
    "label": ("verdict", "acc"),
    "claims": ("checked_claims", "acc"),
    "spans": ({"name": "iou", "returns": "passages"}, "iou"),
    "strings": ("exact_match", "em"),
    "judged_text": ("judged", "net"),
}
"""The scorer of an answer of each kind, and the headline, unless the file names others."""
_ALONE = re.compile(r"\{\{\s*\w+\s*\}\}")


def _names_of_labels(value: Any) -> Any:
    if not isinstance(value, list | tuple):
        return value
    if not all(isinstance(label, str) for label in value):
        raise ValueError(f"expected a list of strings, got {value!r} (quote True, False, Yes and No)")
    if len(set(value)) < max(len(value), 2):
        raise ValueError(f"expected two or more different strings, got {value!r}")
    return dict.fromkeys(value, "")


def _names_of_categories(value: Any) -> Any:
    return {category: slug(category) for category in value} if isinstance(value, list | tuple) else value


class AnswerKeys(Keys):
    """The key `answer`. `categories` and `degrees` are keys of spans; the others, except `kind`, are keys of labels."""

    kind: Literal["label", "claims", "spans", "strings", "judged_text"]
    labels: Annotated[dict[StrictStr, StrictStr], BeforeValidator(_names_of_labels), Field(min_length=2)] = Field({})
    reading: Annotated[Reading, BeforeValidator(lambda name: reading_named(load_object(name))), takes("")] | None = None
    target_varies: StrictBool = False
    explains: StrictBool = False
    only_with: dict[StrictStr, OptionName] = Field({})
    categories: Annotated[dict[StrictStr, StrictStr], BeforeValidator(_names_of_categories)] = Field({})
    degrees: StrictBool = False

    @model_validator(mode="after")
    def _check(self) -> AnswerKeys:
        if self.kind not in ("label", "claims"):
            if unused := self.model_fields_set - {"kind", *(_OF_SPANS if self.kind == "spans" else ())}:
                raise ValueError(f"an answer of the kind {self.kind} has no {min(unused)!r}")
        elif unused := self.model_fields_set & {*_OF_SPANS}:
            raise ValueError(f"an answer of the kind {self.kind} has no {min(unused)!r}")
        elif missing := {"labels", *(["reading"] if self.kind == "claims" else [])} - self.model_fields_set:
            raise ValueError(f"{min(missing)}: is missing")
        elif self.reading is None and len({*map(fold, self.labels)}) < len(self.labels):
            raise ValueError("labels: some differ only in case or accents; name a reading that tells them apart")
        elif unknown := self.only_with.keys() - self.labels.keys():
            raise ValueError(f"only_with: {min(unknown)!r} is not a label")
        return self

    def answer_kind(self, prompts: Iterable[str]) -> AnswerKind:
        """Return the kind of answer that the task asks for in its prompts."""
        if self.kind == "spans":
            return Spans(self.categories, self.degrees)
        if self.kind in _WITHOUT_LABELS:
            return _WITHOUT_LABELS[self.kind]()
        reading = self.reading
        if not reading:
            from halu_tasks.scorers.reading.own_labels import question_of  # most tasks name their reading

            reading = question_of(tuple(self.labels), prompts)
        return (Claims if self.kind == "claims" else Label)(
            tuple(self.labels),
            reading,
            self.labels if any(self.labels.values()) else {},
            target_varies=self.target_varies,
            explains=self.explains,
            only_with=self.only_with,
        )


class JudgeKeys(Keys):
    """The key `judge` of a task whose file says what is asked."""

    labels: Annotated[dict[StrictStr, Sense], Field(min_length=2)]
    prompt: Template

    @model_validator(mode="after")
    def _check(self) -> JudgeKeys:
        names = [slug(label) for label in self.labels]
        if FAILED in names or "" in names or len(set(names)) < len(names):
            raise ValueError(f"labels: expected different words other than {FAILED!r}, got {', '.join(self.labels)}")
        if not {"good", "bad"} <= {*self.labels.values()}:
            raise ValueError("labels: expected at least one that is good and one that is bad")
        if not placeholders(self.prompt) & {REPLY, CLAIM}:
            raise ValueError("prompt: {{reply}} is missing, which stands for what is judged (or {{claim}}, for a part)")
        if re.search(r"\{[{%#]", _ALONE.sub("", self.prompt)):
            raise ValueError("prompt: expected nothing of Jinja but names such as {{reply}}, since texts are fenced")
        return self


def _judge(value: Any) -> Any:
    if not isinstance(value, dict):
        return load_object(value)
    try:
        keys = JudgeKeys.model_validate(value)
    except ValidationError as error:
        raise reason_of(error) from None
    from halu_tasks.scorers.benchmarks.judged import own_judge  # most tasks have no judge

    return own_judge(keys.labels, keys.prompt)


def _own_metric(value: Any) -> Any:
    metric = load_object(value)
    if not isinstance(metric, str | Metric):
        raise ValueError(f"expected a name or a function with the decorator @metric, got {metric!r}")
    return metric


class MetricKeys(Keys):
    """An entry of `metric_list`: the name of a metric of the scorer, or a metric function of the user."""

    metric: Annotated[Any, BeforeValidator(_own_metric)]
    of: StrictStr | None = None
    by: Annotated[StringTuple, BeforeValidator(lambda by: by if isinstance(by, list | tuple) else [by])] = ()
    split_requires: OptionName | None = None
    higher_is_better: StrictBool | None = None
    headline: Mode | None = None

    @property
    def name(self) -> str:
        """The name under which the metric is reported."""
        return str(getattr(self.metric, "name", self.metric))


def _by_mode(value: Any) -> Any:
    """Return the scorers by mode. A single scorer is for both modes, and `paper` defaults to `strict`."""
    if isinstance(value, str | FunctionName) or callable(value) or (isinstance(value, dict) and "name" in value):
        return dict.fromkeys(MODES, value)
    return {"paper": value["strict"], **value} if isinstance(value, dict) and "strict" in value else value


class ScoringSpec(Keys):
    """How replies are read and scored.

    Attributes:
        answer_keys: The kind of answer, its labels and its reading.
        choices: The two answers of a task that can be answered by a probability, the one looked for first.
        scorer: The scorers by mode: for each a name, a function, or a mapping with `name` and arguments. Without the
            key, they follow from the kind of answer.
        judge: What a judge is asked about a reply; None if no judge is needed.
        tags: The values of the tags by which metrics are split.
        metric_list: The metrics, the headline first; empty for all that the scorers have.
        system: The system text, which may have a cue for the answer.
        user: The prompt, which may have one, too.
    """

    answer_keys: AnswerKeys = Field(alias="answer")
    choices: tuple[StrictStr, StrictStr] | None = Field(None, alias="doc_to_choice")
    scorer: Annotated[dict[Mode, Any], BeforeValidator(_by_mode)] = Field({})
    judge: Annotated[InstanceOf[JudgeSpec], BeforeValidator(_judge)] | None = None
    tags: dict[StrictStr, StringTuple] = Field({})
    metric_list: Annotated[tuple[MetricKeys, ...], Field(min_length=1)] = ()
    system: Any = Field(None, alias="description")
    user: Any = Field(None, alias="doc_to_text")

    @model_validator(mode="after")
    def _check(self) -> ScoringSpec:
        kind = self.answer_keys.kind
        if self.judge is None and kind == "judged_text":
            raise KeyFault("judge", "is missing; answers of the kind judged_text need a judge")
        if self.judge is not None and kind != "judged_text":
            raise KeyFault("judge", f"only answers of the kind judged_text have a judge, not {kind}")
        if self.choices and {*self.choices} != {*self.answer_keys.labels}:
            raise KeyFault("doc_to_choice", f"expected the two labels of the answer, got {list(self.choices)}")
        if self.scorer and (missing := [mode for mode in MODES if self.scorer.get(mode) is None]):
            raise KeyFault("scorer", f"{missing[0]}: is missing")
        _ = self.scorers
        return self

    @cached_property
    def answer(self) -> AnswerKind:
        """The kind of answer that is asked for."""
        return self.answer_keys.answer_kind([str(text) for text in (self.system, self.user) if text])

    @cached_property
    def scorers(self) -> Mapping[str, TaskScorer]:
        """The scorers by mode.

        Each has the metrics of `metric_list` that it has, and the shares of replies without an answer, which are always
        reported.
        """
        usual, headline = _USUAL[self.answer_keys.kind]
        usual = "judged_claims" if self.judge and self.judge.claims else usual
        scorers = self._with_own_metrics({mode: self._scorer(mode, self.scorer.get(mode) or usual) for mode in MODES})
        of_any_mode = {metric.name: metric for mode in reversed(MODES) for metric in scorers[mode].metrics}
        entries = self.metric_list or tuple(
            MetricKeys(metric=name) for name in sorted(of_any_mode, key=lambda name: name != headline)
        )
        for entry in entries:
            self._check_metric(entry, of_any_mode)
        if repeated := [name for name, times in Counter(entry.name for entry in entries).items() if times > 1]:
            raise KeyFault("metric_list", f"lists {repeated[0]!r} twice")
        return {mode: replace(each, metrics=self._reported(mode, each, entries)) for mode, each in scorers.items()}

    def _scorer(self, mode: str, spec: Any) -> TaskScorer:
        arguments: dict[str, Any] = {}
        usual = {"labels": self.judge.labels} if self.judge else self.answer.scorer_arguments()
        try:
            if isinstance(spec, dict):
                arguments = {str(name): load_object(value) for name, value in spec.items() if name != "name"}
                spec = spec.get("name")
            scorer = make_scorer(load_object(spec), arguments, usual)
        except Exception as error:  # what a user's function raises is a fault of the file that names it
            raise KeyFault("scorer", f"{mode}: {str(error) or type(error).__name__}") from None
        if isinstance(scorer, TaskScorer) and "correct" in scorer.facts:
            names = {metric.name for metric in scorer.metrics}
            attempts = (metric for metric in attempt_metrics(LabelAttempts()) if metric.name not in names)
            scorer = replace(scorer, metrics=(*scorer.metrics, *attempts))
        if not isinstance(scorer, TaskScorer):
            reason = f"{mode}: expected a function that returns a TaskScorer, got {type(scorer).__name__}"
            raise KeyFault("scorer", reason)
        measurement = self.judge.measurement if self.judge else ""
        if measurement and not any(measurement in metric.columns for metric in scorer.metrics):
            use = "judged_claims" if self.judge and self.judge.claims else "judged"
            raise KeyFault("scorer", f"{mode}: has no metric of what this judge says; use {use}")
        if spec not in SCORERS:
            self._check_columns("scorer", scorer.metrics, scorer.facts)
        return scorer

    def _with_own_metrics(self, scorers: Mapping[str, TaskScorer]) -> Mapping[str, TaskScorer]:
        """Add the user's metrics to the scorers that have the columns they read."""
        if not (own_metrics := [entry.metric for entry in self.metric_list if entry.metric != entry.name]):
            return scorers
        for scorer in scorers.values():
            if clashing := {metric.name for metric in scorer.metrics} & {metric.name for metric in own_metrics}:
                raise KeyFault("metric_list", f"the scorer has a metric {min(clashing)!r}; give yours another name")
        self._check_columns("metric_list", own_metrics, {fact for scorer in scorers.values() for fact in scorer.facts})
        of_mode = {
            mode: [metric for metric in own_metrics if _facts_of(metric) <= column_names(scorer.facts)]
            for mode, scorer in scorers.items()
        }
        return {mode: replace(scorer, metrics=(*scorer.metrics, *of_mode[mode])) for mode, scorer in scorers.items()}

    def _check_columns(self, key: str, metrics: Iterable[Metric], facts: Iterable[str]) -> None:
        columns = column_names(facts)
        for metric in metrics:
            if unknown := sorted(_facts_of(metric) - columns):
                names = ", ".join(sorted(columns))
                raise KeyFault(
                    key,
                    f"{metric.name} ({metric.place}) reads {unknown[0]!r}, which is not a column"
                    f"{did_you_mean(unknown[0], columns)}; there are {names} and tag_NAME of each tag",
                )
            try:
                _ = metric.has_sums  # calls a function that does not declare its form
            except Exception as error:  # whatever the function raises is a fault of the file that names it
                reason = f"{metric.name}: fails on columns of no items ({type(error).__name__}: {error})"
                raise KeyFault(key, reason) from None

    def _check_metric(self, entry: MetricKeys, metrics: Mapping[str, Metric]) -> None:
        of = entry.of or entry.name
        if of not in metrics:
            close = did_you_mean(of, metrics)
            raise KeyFault("metric_list", f"unknown metric {of!r}{close}; the scorer has {', '.join(metrics)}")
        higher_is_better = metrics[of].higher_is_better
        if entry.higher_is_better not in (None, higher_is_better):
            reason = f"{entry.name}: higher_is_better is {higher_is_better} by the metric's definition"
            raise KeyFault("metric_list", reason)
        if unknown := [tag for tag in entry.by if tag not in self.tags]:
            expected = f"expected tags ({', '.join(self.tags) or 'none are declared'})"
            raise KeyFault("metric_list", f"{entry.name}: by: {expected}, got {unknown[0]!r}")

    def _reported(self, mode: str, scorer: TaskScorer, entries: Sequence[MetricKeys]) -> tuple[Metric, ...]:
        """Return the metrics of a mode: the listed ones, shares of replies without an answer, and splits by tags."""
        metrics = {metric.name: metric for metric in scorer.metrics}
        named = {entry.name for entry in entries}
        listed: list[Metric] = []
        splits: list[Metric] = []
        attempts = (ATTEMPTED, ACC_ATTEMPTED, NET) if mode == "strict" else ()
        errors = [name for name in metrics if name in JUDGE_ERRORS]
        always = (*attempts, JUDGE_FAILED, *errors)
        implied = [MetricKeys(metric=name) for name in always if name not in named]
        for entry in (*sorted(entries, key=lambda entry: entry.headline != mode), *implied):
            base = metrics.get(entry.of or entry.name)
            if base is None:
                continue  # one of the modes may lack a metric
            # corrected metrics are reported even if they are not listed
            better = metrics.get(f"{base.name}_ppi")
            for one in (base, *([better] if better and better.name not in named else [])):
                metric = replace(one, name=entry.name + one.name.removeprefix(base.name))
                listed.append(metric)
                needed = (entry.split_requires if one is base else None) or metric.requires_option
                part, values = replace(metric, requires_option=needed), ((tag, self.tags[tag]) for tag in entry.by)
                splits += [
                    part.only(tag, value, f"{metric.name}_{value}")
                    for tag, tag_values in values
                    for value in tag_values
                ]
        if not listed or listed[0].name not in named:
            raise KeyFault("metric_list", f"lists no metric that the scorer of {mode} has")
        if UNPARSED not in metrics:
            raise KeyFault("scorer", f"{mode}: the scorer lacks the metric 'unparsed' (scorers.metrics.share_of)")
        shares = [metrics[UNPARSED]]
        if mode == "strict":
            shares += outcome_shares(of_labels=isinstance(self.answer, Label))
            if self.judge and self.judge.has_neutral:  # the share of that label is the share of abstentions
                shares = [share for share in shares if share.name != ABSTAINED]
        else:
            shares += [share_of(REQUEST_FAILED)]
        names = {metric.name for metric in listed}
        return (*listed, *(share for share in shares if share.name not in names), *splits)

    # --- replies -----------------------------------------------------------------------------------

    @property
    def read(self) -> Reading | None:
        """Reads the label that a reply states, as in strict but without the gold; None unless labels are asked for."""
        return self.answer.reading if isinstance(self.answer, Label) else None

    @property
    def own_targets(self) -> tuple[str, ...]:
        """The targets that a prediction may state as its own, because the question has an order."""
        return self.answer.labels if isinstance(self.answer, Label) and self.answer.target_varies else ()

    def reading_spec(self, mode: str, about: str) -> JudgeSpec | None:
        """Return the questions to a model that reads replies; None if this mode has no label to read."""
        if mode != "strict" or not isinstance(self.answer, Label) or isinstance(self.answer, Claims):
            return None
        return reader_spec(about, self.answer.labels)

    def score(
        self, mode: str, item: Item, reply: Reply, verdicts: Sequence[Verdict] | None, questions: tuple[str, ...]
    ) -> ScoredReply:
        """Score a reply; `questions` are those that a reply may continue with."""
        if CLASS in item.tags:
            item = in_mode(item, mode)
        prompt = f"{item.system}\n{item.prompt}" if item.prompt else ""
        text = ReplyText(reply.text, prompt, reply.failure or _USUAL_FAILURE[mode])
        if verdicts and text.failure:
            verdicts = ()
        if self.judge:
            score = self._judged_score(mode, item, self.judged_text(mode, item, text, questions), verdicts)
        else:
            score = self._read_score(mode, item, text, questions)
            if reply.probability is not None and not text.failure:
                score = with_probability(score, reply.probability)
        if score.answer is None or text.failure:
            score = mark_missing(score, text)
        if mode == "strict":
            return score
        # in `paper` the authors tell neither these apart, nor empty replies from others
        outcome = _IN_PAPER.get(score.outcome, score.outcome)
        return replace(score, outcome=outcome, scoring=mode, blank=not (text.failure or text.strip()))

    def _judged_score(self, mode: str, item: Item, text: str, verdicts: Sequence[Verdict] | None) -> ScoredReply:
        assert self.judge
        declines = not self.is_asked_about(mode, item, text)
        if declines and verdicts:
            verdicts = ()
        labels = None if verdicts is None else [verdict.label for verdict in verdicts]
        score = self.scorers[mode].score(item, text, labels)
        if mode == "strict" and score.outcome == ANSWERED:
            if labels and self.judge.has_neutral:
                declines = self.judge.labels.get(labels[0]) == "neutral"
            elif self.judge.claims and labels is not None:
                declines = not labels
            score = replace(score, outcome=ABSTAINED if declines else ANSWERED)
        return replace(score, verdicts=verdicts or ())

    def _read_score(self, mode: str, item: Item, reply: ReplyText, questions: tuple[str, ...]) -> ScoredReply:
        read = self.scorers[mode].score
        if mode != "strict" or "\n" not in reply:
            return read(item, reply, None)
        for text in self._readings(reply, questions):
            score = read(item, text, None)
            if score.outcome != UNPARSED:
                break
        return score

    def label(self, reply: str, questions: tuple[str, ...]) -> Answer[str]:
        """Read the label that a reply states, as in strict but without the gold, for tasks with `read`."""
        assert self.read
        (part,) = self._readings(ReplyText(reply), questions)
        return self.read(part)

    def is_asked_about(self, mode: str, item: Item, text: str) -> bool:
        """Whether a judge is asked about a text: not in `strict` about one that declines, if no label fits it.

        A line of the target that declines, too, says that declining may be right.
        """
        assert self.judge
        if mode != "strict" or self.judge.has_neutral or not only_declines(ReplyText(text).text):
            return True
        return any(map(only_declines, item.target.splitlines()))

    def judged_text(self, mode: str, item: Item, reply: str, questions: tuple[str, ...]) -> str:
        """Return the part of a reply to a judged task that a judge is asked about."""
        assert self.judge
        text = ReplyText(reply, failure=_USUAL_FAILURE[mode])
        if mode == "strict" and (answer := structured_answer(text.text)):
            return answer
        parts = self._readings(text, questions) if mode == "strict" else (text,)
        return next((part for part in parts if self.judge.questions(item, part, len(part))), text)

    def _readings(self, reply: ReplyText, questions: tuple[str, ...]) -> tuple[ReplyText, ...]:
        """Return the parts of a reply to read in `strict`, in order, until one of them has an answer.

        These are what precedes another question that the reply continues with, and the whole reply. A label must be
        declared before that question, since a reply that weighs an answer may repeat the item before it reaches its
        verdict.
        """
        ends = next_question(questions).finditer(reply[:_LONGEST_TURN])
        turns = (turn for end in ends if (turn := reply.until(end.start())))
        before = list(islice(turns, _MOST_TURNS))
        if self.read:
            return (next((text for text in before if self._declares_label(text)), reply),)
        return (*before[:1], reply)

    def _declares_label(self, text: str) -> bool:
        """Whether a text declares a label, or declines to."""
        assert self.read
        answer = self.read(text)
        return answer.outcome != UNPARSED and not answer.inferred


def _facts_of(metric: Metric) -> set[str]:
    """Return the columns that a metric reads, except for tags, which belong to items."""
    return metric.columns - {f"tag_{tag}" for tag in metric.tags}
