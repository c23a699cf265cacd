"""Which runs can be compared, by which metrics, and as which entries (models with their settings)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

from halu_tasks.core.errors import UsageError, did_you_mean
from halu_tasks.results.run import METHOD_UNKNOWN, PLAIN, Run
from halu_tasks.scorers.metrics import Metric
from halu_tasks.scorers.statistics.differences import same_items

# a hash, such as that of a chat template, of which labels have eight digits
_HASH = re.compile(r"\b[0-9a-f]{40,}\b")
LIMIT = "max_tokens"
"""The setting of how long a reply may be."""

Differences = dict[str, str]
"""How a run differs from another, as predicates ("uses other data"), each with what to do about it, if anything."""


def not_paired(first: Run, other: Run) -> Differences:
    """Explain why the items of two runs cannot be paired: different data or scoring, or no item that both have.

    The method, the prompt and the model may differ.

    Returns:
        The differences of `other`; empty if the items can be paired.
    """
    if first.benchmark_task.benchmark != other.benchmark_task.benchmark:
        return {f"is of the task {other.task}, which has other items than {first.task}": ""}
    differences = {}
    if other.task == first.task and other.task_version != first.task_version:
        differences[f"is of version {other.task_version} of the task, not {first.task_version}"] = ""
    if other.scoring != first.scoring:
        again = _score_again(other, first.scoring)
        differences[f"uses {other.scoring} scoring, not {first.scoring}"] = again
    if other.judge != first.judge:
        differences[f"is judged by {other.judge or 'no model'}, not {first.judge or 'no model'}"] = ""
    if other.provenance.data_sha256 != first.provenance.data_sha256:
        differences[f"uses other data, {_data(other)}, not {_data(first)}"] = ""
    elif other.epochs != first.epochs:
        times = f"answers each item {other.epochs} times, not {first.epochs}"
        differences[times] = "run both with the same --epochs"
    elif not shared_items(first, other):
        mismatch = same_items(first.scores, other.scores)
        differences["has none of the same items"] = f"{mismatch}; run both with the same options"
    elif not differences and (ids := other_targets(first, other)) and not first.benchmark_task.scoring.own_targets:
        differences[f"has a different correct answer for {len(ids)} items, such as {ids[0]}"] = ""
    return differences


def shared_items(first: Run, other: Run) -> set[str]:
    """Return the ids of the items that both runs answer, in the same cluster and equally often."""
    if first.items_hash == other.items_hash:
        return {id for id, _ in first.items}
    return {item[0] for item, times in first.items.items() if other.items.get(item) == times}


def why_not_paired(first: Run, other: Run) -> str:
    """Say why the items of two runs cannot be paired, and what to do about it; empty if they can."""
    reasons = [f"it {what}; {do}" if do else f"it {what}" for what, do in not_paired(first, other).items()]
    return f"{other.source} cannot be compared with {first.source}: {'; '.join(reasons)}" if reasons else ""


def asked_otherwise(first: Run, other: Run) -> list[str]:
    """List how the prompts of `other` differ from those of `first`, a run of the same task."""
    differences = []
    if (hash := other.provenance.prompt_hash) != first.provenance.prompt_hash:
        main = first.provenance.prompt_hash
        contrast = f"not {main}" if main else "and those of the others are unknown"
        differences.append(f"has the prompts {hash}, {contrast}" if hash else "does not record how the model was asked")
    options, other_options = first.asked, other.asked
    return differences + [
        f"has {name} {other_options[name]}, not {value}"
        for name, value in options.items()
        if name in other_options and None not in (value, other_options[name]) and value != other_options[name]
    ]


def items_that_differ(first: Run, other: Run) -> int:
    """Count the items of a run that lack the same answer, outcome and value of what both measured in another run."""
    both = {name for score in first.scores for name in score.facts}
    both &= {name for score in other.scores for name in score.facts}
    return len({id for id, _ in Counter(_read(first, both)) - Counter(_read(other, both))})


def repeats(run: Run, earlier: Run) -> bool:
    """Return whether a run has all of an earlier one's answers and scores."""
    measured, before = ({name for score in one.scores for name in score.facts} for one in (run, earlier))
    return before <= measured and not items_that_differ(earlier, run)


def _read(run: Run, names: Collection[str]) -> Iterator[tuple[str, str]]:
    for score in run.scores:
        measured = sorted((name, value) for name, value in score.facts.items() if name in names)
        yield score.id, repr((score.answer, score.outcome, measured))


def other_targets(first: Run, other: Run) -> list[str]:
    """List the items that two runs share with a different correct answer in each.

    In comparable runs, these are items whose answers were shown in different orders.
    """
    targets = {score.id: score.target for score in first.scores}
    return [score.id for score in other.scores if score.id in targets and score.target != targets[score.id]]


def chosen_metrics(run: Run, names: Sequence[str]) -> list[Metric]:
    """Look up metrics of a run's task by name.

    Args:
        run: The run.
        names: Names of metrics; the headline metric if empty.

    Raises:
        UsageError: The task has no such metric.
    """
    metrics = run.metrics()
    if unknown := [name for name in names if name not in metrics]:
        problem = f"{run.task} has no metric {unknown[0]!r} in {run.scoring}{did_you_mean(unknown[0], metrics)}"
        raise UsageError(f"{problem}; metrics: {', '.join(metrics)}")
    return [metrics[name] for name in dict.fromkeys(names or [next(iter(metrics))])]


def _score_again(run: Run, scoring: str) -> str:
    if not run.source.endswith(".eval"):
        return f"score or run it again as {scoring}"
    scorer = f"--scorer halu_tasks/halu_score -S scoring={scoring}"
    return f"score it again: inspect score {run.source} {scorer} --overwrite --action overwrite"


def _data(run: Run) -> str:
    return f"{run.provenance.data_file} ({run.provenance.data}, sha256 {run.provenance.data_sha256[:12]}…)"


# --- entries ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Entry:
    """A model as it was asked, which is compared with others across tasks.

    Neither the judge nor the harness is part of an entry: a harness only passes messages on.

    Attributes:
        model: The model under test.
        method: The method.
        settings: The settings of the model that differ from the tasks' own.
        roles: The models of other roles by role.
        id: Its id in a report.
        label: Its name in a report.
    """

    model: str
    method: str
    settings: Mapping[str, str] = field(hash=False)
    roles: Mapping[str, str] = field(hash=False)
    id: str = field(default="", compare=False)
    label: str = field(default="", compare=False)

    @classmethod
    def of(cls, run: Run) -> Entry:
        """Return the entry that a run belongs to."""
        return cls(
            model=run.model,
            method=run.method,
            settings={name: str(value) for name, value in sorted(run.settings.items())},
            roles={role: model for role, model in sorted(run.roles.items()) if role != "grader"},
        )

    def distinctions(self) -> list[str]:
        """List what may distinguish this entry from another one of the same model."""
        described = (*self.roles.items(), *self.settings.items())
        return [
            *([] if self.method == PLAIN else [self.method]),
            *(f"{name}={_HASH.sub(lambda hash: hash[0][:8], value)}" for name, value in described),
        ]


def entries_of(runs: Sequence[Run]) -> list[Entry]:
    """Return the entry of each run.

    Inspect puts the provider before a model's name (`openai/gpt-4o`), lm-eval does not (`gpt-4o`). Two such names are
    one entry if everything else is the same, no harness has both, and no other name fits either. The chat template does
    not count, since only lm-eval records it.

    A model that has another token limit on some of its tasks is one entry, too, whose settings do not have the limit.
    Limits on the same task are compared with each other.
    """
    harnesses: dict[Entry, set[str]] = {}
    for run in runs:
        harnesses.setdefault(Entry.of(run), set()).add(run.program)

    def same(short: Entry, long: Entry) -> bool:
        fits = f"/{long.model}".endswith(f"/{short.model}") and _asked(long) == _asked(short)
        return fits and harnesses[long].isdisjoint(harnesses[short])

    by_length = sorted(harnesses, key=lambda entry: len(entry.model))
    pairs = [pair for pair in combinations(by_length, 2) if same(*pair)]
    uses = Counter(entry for pair in pairs for entry in pair)
    long_name = {short: long for short, long in pairs if uses[long] == uses[short] == 1}
    entries = [long_name.get(entry, entry) for entry in map(Entry.of, runs)]
    limits: dict[Entry, dict[Entry, set[str]]] = {}
    for run, entry in zip(runs, entries, strict=True):
        limits.setdefault(_without(entry, LIMIT), {}).setdefault(entry, set()).add(run.task)
    one_row = {
        entry: joint
        for joint, tasks in limits.items()
        if len(tasks) > 1 and sum(map(len, tasks.values())) == len(set[str]().union(*tasks.values()))
        for entry in tasks
    }
    return [one_row.get(entry, entry) for entry in entries]


def _without(entry: Entry, name: str) -> Entry:
    return replace(entry, settings={key: value for key, value in entry.settings.items() if key != name})


def _asked(entry: Entry) -> Entry:
    return replace(_without(entry, "chat_template"), model="")


def different_settings(compared: Iterable[Mapping[Entry, Run]]) -> dict[str, dict[Entry, str | None]]:
    """Find the generation settings in which compared entries differ.

    Args:
        compared: Runs that are compared with each other, such as those of each column, by entry. Entries whose settings
            are not known do not count.

    Returns:
        By the name of the setting, the value of each entry; None is the task's own value.
    """
    differences: dict[str, dict[Entry, str | None]] = {}
    for runs in compared:
        generation = {entry: run.generation for entry, run in runs.items() if entry.method != METHOD_UNKNOWN}
        settings = {entry: Entry.of(runs[entry]).settings for entry in generation}
        for name in sorted({name for entry, names in generation.items() for name in names & settings[entry].keys()}):
            values = {entry: settings[entry].get(name) for entry in generation}
            if len({*values.values()}) > 1:
                differences.setdefault(name, {}).update(values)
    return differences


def short_names(models: Collection[str]) -> dict[str, str]:
    """Shorten the names of models to what follows the last slash, if they stay distinct."""
    last = {model: model.rstrip("/").rpartition("/")[2] for model in models}
    return last if len(set(last.values())) == len(last) else {model: model for model in models}


def labelled(entries: Sequence[Entry], *, among_all: bool = False) -> list[Entry]:
    """Number the entries and label each with its model's short name, and what distinguishes entries of one model.

    Args:
        entries: The entries.
        among_all: Whether to name what distinguishes an entry from those of other models, too.
    """
    short = short_names({entry.model for entry in entries})
    labels = []
    for number, entry in enumerate(entries, 1):
        distinctions = [other.distinctions() for other in entries if among_all or other.model == entry.model]
        distinct = [text for text in entry.distinctions() if not all(text in other for other in distinctions)]
        label = f"{short[entry.model]} ({', '.join(distinct)})" if distinct else short[entry.model]
        labels.append(replace(entry, id=f"e{number}", label=label))
    return labels
