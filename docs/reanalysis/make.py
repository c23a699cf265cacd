"""Write the page of published figures beside those of the released replies and verdicts.

    python docs/reanalysis/make.py              writes docs/reanalysis/index.md
    python docs/reanalysis/make.py PAGE         writes another file
    python docs/reanalysis/make.py --check      says whether index.md is what would be written
    python docs/reanalysis/make.py halluqa      prints a section: halluqa, factscore, truthfulqa_multi, refact,
                                                faithbench or mushroom

The environment variable HALU_TASKS_DATA names the folder with the released data: one folder a benchmark, with the files
under their published names. `published.yaml` has the published figures, and `index.md.jinja` the text. All intervals,
differences and kappas are those of the package (docs/statistics.md).
"""

from __future__ import annotations

import csv
import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import combinations, pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml
from jinja2 import Environment, StrictUndefined

from halu_tasks.benchmarks.factscore import labelled_replies
from halu_tasks.core.items import Reply
from halu_tasks.core.options import Options
from halu_tasks.replies.score_file import ScoredFile, score_file
from halu_tasks.results.published import Published, published
from halu_tasks.scorers.columns import by_cluster
from halu_tasks.scorers.metrics import Estimate, Metric, estimate, estimates, mean, mean_of
from halu_tasks.scorers.score import ScoredReply
from halu_tasks.scorers.statistics.agreement import cohen_kappa
from halu_tasks.scorers.statistics.differences import LEVEL, Difference, difference, holm, rank_ranges
from halu_tasks.tasks import build

HERE = Path(__file__).parent
PAGE = HERE / "index.md"
PUBLISHED: Mapping[str, Any] = yaml.safe_load((HERE / "published.yaml").read_text(encoding="utf-8"))
Facts = dict[str, Any]
"""What the text of a section names; of all sections, `compared`, `as_printed` and `decided` are in the first table."""
Runs = Mapping[str, Sequence[ScoredReply]]
"""The scored replies of each system, to the same items."""


# --- figures as text --------------------------------------------------------------------------------------


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table."""
    return "\n".join([_row(head), f"|{'---|' * len(head)}", *map(_row, rows)])


def _row(cells: Iterable[object]) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def shown(figure: Estimate | Difference | None, digits: int = 2, unit: float = 100) -> str:
    """Return a figure with its interval, if it has one, in percent by default; empty if there is none."""
    if figure is None:
        return ""
    value = f"{unit * figure.value:.{digits}f}"
    if figure.low is None or figure.high is None:
        return f"{value} (no interval)"
    return f"{value} [{unit * figure.low:.{digits}f}, {unit * figure.high:.{digits}f}]"


def p_value(found: float | None) -> str:
    """Return a p-value; empty if there is none."""
    return "" if found is None else "< 0.001" if found < 0.001 else f"{found:.3f}"


# --- the package's statistics -----------------------------------------------------------------------------


def scored(id_: str, facts: Mapping[str, float], cluster: str = "", **tags: str) -> ScoredReply:
    """Return a reply whose verdict is known; by default it is its own cluster."""
    return ScoredReply(id_, cluster or id_, None, "", facts, tags)


def figure_of(metric: Metric, scores: Sequence[ScoredReply]) -> Estimate:
    """Estimate a metric that is defined."""
    found = estimate(metric, by_cluster(scores))
    assert found is not None, metric.name
    return found


def difference_of(metric: Metric, ones: Sequence[ScoredReply], others: Sequence[ScoredReply]) -> Difference:
    """Compute the difference of a metric that is defined in both."""
    found = difference(metric, ones, others)
    assert found is not None and found.p is not None, metric.name
    return found


class Ranking:
    """Systems from the best to the worst, with the differences of all pairs.

    Args:
        metric: What they are ranked by.
        runs: Their scored replies; equal systems stay in this order.
    """

    def __init__(self, metric: Metric, runs: Runs) -> None:
        self.figures = {name: figure_of(metric, own) for name, own in runs.items()}
        sign = -1 if metric.higher_is_better else 1
        self.names = sorted(runs, key=lambda name: sign * self.figures[name].value)
        pairs = combinations(self.names, 2)
        self.differences = {(one, other): difference_of(metric, runs[one], runs[other]) for one, other in pairs}

    @cached_property
    def decided(self) -> list[tuple[str, str]]:
        """The pairs that all pairs together decide, the better one first."""
        adjusted = holm([found.p for found in self.differences.values()])
        return [pair for pair, p in zip(self.differences, adjusted, strict=True) if p is not None and p < LEVEL]

    @cached_property
    def ranks(self) -> dict[str, str]:
        """The ranks that are possible for each system."""
        ranges = rank_ranges(self.decided, self.names)
        shown_ = (str(best) if best == worst else f"{best} to {worst}" for best, worst in ranges)
        return dict(zip(self.names, shown_, strict=True))

    @property
    def neighbours(self) -> list[tuple[str, str]]:
        """Each system with the next one."""
        return [*pairwise(self.names)]

    @property
    def alone(self) -> list[tuple[str, str]]:
        """The neighbours that are decided, each pair alone."""
        return [pair for pair in self.neighbours if (self.differences[pair].p or 0) < LEVEL]

    @property
    def together(self) -> list[tuple[str, str]]:
        """The neighbours that are decided together with all other pairs."""
        return [pair for pair in self.neighbours if pair in self.decided]

    @property
    def text(self) -> str:
        """How many neighbours and how many pairs are decided."""
        neighbours, alone, together = map(len, (self.neighbours, self.alone, self.together))
        of_pairs = f"of all {len(self.differences)} pairs, {len(self.decided)} are decided together"
        return f"Of {neighbours} neighbours, {alone} are decided alone and {together} together; {of_pairs}."

    def next(self, name: str) -> Difference | None:
        """Return the difference to the next system; None of the last one."""
        place = self.names.index(name) + 1
        return self.differences[name, self.names[place]] if place < len(self.names) else None


def decided(*rankings: Ranking) -> str:
    """Return how many neighbours are decided alone and together, for the first table."""
    alone, together, all_ = (
        sum(len(getattr(ranking, name)) for ranking in rankings) for name in ("alone", "together", "neighbours")
    )
    return f"{alone} and {together} of {all_}"


def moved(one: Sequence[str], other: Sequence[str]) -> int:
    """Count the places that another system has in the second ranking."""
    return sum(first != second for first, second in zip(one, other, strict=True))


def width(figure: Estimate) -> float:
    """Return the width of an interval."""
    assert figure.low is not None and figure.high is not None
    return figure.high - figure.low


# --- HalluQA ----------------------------------------------------------------------------------------------

RIGHT = mean("acc", "right")


def halluqa_replies(data: Path, model: str) -> list[dict[str, Any]]:
    """Read a model's replies with the judge's verdicts."""
    (path,) = (data / "halluqa" / "outputs").glob(f"{model}_output*.json")
    rows: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    return rows


def halluqa_scores(rows: Iterable[Mapping[str, Any]], category: Mapping[int, str]) -> list[ScoredReply]:
    """Score released verdicts as published: a missing one counts as a hallucination."""
    return [
        scored(
            str(row["question_id"]),
            {"right": float(row["is_hallucination"] is False)},
            category=category[row["question_id"]],
        )
        for row in rows
    ]


def halluqa(data: Path) -> Facts:
    """Compare HalluQA's table of 24 models."""
    columns, printed = PUBLISHED["halluqa"]["columns"], PUBLISHED["halluqa"]["rows"]
    theirs = {model: [f"{value:.2f}" for value in values] for model, values in printed.items()}
    questions = json.loads((data / "halluqa" / "HalluQA.json").read_text(encoding="utf-8"))
    category = {row["question_id"]: row["Category"] for row in questions}
    wording = {row["question_id"]: row["Question"].strip() for row in questions}
    rows = {model: halluqa_replies(data, model) for model in theirs}
    runs = {model: halluqa_scores(own, category) for model, own in rows.items()}

    ranking = Ranking(RIGHT, runs)
    metrics = [*(RIGHT.only("category", name, name) for name in columns[:-1]), RIGHT]
    ours = {m: [f"{100 * figure.value:.2f}" for figure in estimates(metrics, own).values()] for m, own in runs.items()}
    cells = [(m, *cell) for m in theirs for cell in zip(columns, theirs[m], ours[m], strict=True)]
    errata = [cell for cell in cells if cell[2] != cell[3]]
    missing = {m: [row for row in own if not isinstance(row["is_hallucination"], bool)] for m, own in rows.items()}
    assert not any(row["response"].strip() for own in missing.values() for row in own)
    judged = {m: [row for row in rows[m] if row not in own] for m, own in missing.items() if own}
    by_mean = Ranking(mean_of("acc", dict.fromkeys(columns[:-1], RIGHT), "category"), runs)
    places = {m: (ranking.names.index(m) + 1, by_mean.names.index(m) + 1) for m in runs}
    farthest = max(places, key=lambda m: abs(places[m][0] - places[m][1]))
    reworded = {
        m: sum(row["question"].strip() != wording[row["question_id"]] for row in own) for m, own in rows.items()
    }
    fewest = min(reworded.values())
    return {
        "compared": f"{len(runs)} models, {len(cells)} cells",
        "as_printed": f"{len(cells) - len(errata)} of {len(cells)}",
        "decided": decided(ranking),
        "models": len(runs),
        "totals": table(
            ["model", "published", "recomputed", "ranks", "minus the next", "p, alone"],
            [
                [m, theirs[m][-1], shown(ranking.figures[m]), ranking.ranks[m], shown(own), p_value(own and own.p)]
                for m in ranking.names
                for own in [ranking.next(m)]
            ],
        ),
        "decisions": ranking.text,
        "alone": " and ".join(f"{one} from {other}" for one, other in ranking.alone),
        "cells": len(cells),
        "equal": len(cells) - len(errata),
        "categories": table(
            ["model: published / recomputed", *columns],
            [[m, *(f"{a} / {b}" for a, b in zip(theirs[m], ours[m], strict=True))] for m in ranking.names],
        ),
        "missing": sum(map(len, missing.values())),
        "empty": sum(not row["response"].strip() for own in rows.values() for row in own),
        "left_out": table(
            ["model", "without a verdict", "as published", "left out"],
            [
                [m, len(missing[m]), shown(ranking.figures[m]), shown(figure_of(RIGHT, halluqa_scores(own, category)))]
                for m, own in judged.items()
            ],
        ),
        "moved": moved(ranking.names, by_mean.names),
        "farthest": farthest,
        "place": places[farthest][0],
        "other_place": places[farthest][1],
        "errata": errata,
        "reworded": fewest,
        "more": ", ".join(f"{number} for {m}" for m, number in reworded.items() if number > fewest),
    }


# --- FActScore --------------------------------------------------------------------------------------------

DEFINITIONS = {
    "published definition": ("paper", "acc_attempted"),
    "irrelevant facts left out": ("strict", "acc_attempted"),
    "all facts pooled": ("paper", "acc_claims"),
    "no answer counts 0": ("paper", "acc"),
    "net": ("strict", "net"),
}
"""The mode and the metric of the task `factscore` that each definition is."""


def biographies(data: Path, system: str, scoring: str) -> ScoredFile:
    """Score a system's biographies by people's labels of their facts."""
    folder = data / "factscore"
    with TemporaryDirectory() as made:
        labelled = Path(made, f"{system}.jsonl")
        rows = labelled_replies(folder / labelled.name)
        labelled.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        options = Options(data=str(folder), scoring=scoring, verdicts=str(labelled))
        return score_file("factscore", options, [str(labelled)], keep=True)


def factscore(data: Path) -> Facts:
    """Compare FActScore's figures of people's labels of three systems."""
    printed = {f.model: f"{100 * f.value:.1f}" for f in published() if f.source.startswith("FActScore")}
    found = {(system, mode): biographies(data, system, mode) for system in printed for mode in ("paper", "strict")}
    runs = {system: found[system, "paper"].scores for system in printed}
    written = {system: {s.id: s for s in own if s.facts["claims"]} for system, own in runs.items()}
    task = found["ChatGPT", "paper"].evaluation.task
    metrics = {metric.name: metric for metric in task.scorers["paper"].metrics}
    share, pooled = metrics["acc_attempted"], metrics["acc_claims"]
    ranking = Ranking(share, runs)
    of_relevant = {system: found[system, "strict"].estimates["acc_attempted"].value for system in printed}
    gain = {system: value - ranking.figures[system].value for system, value in of_relevant.items()}
    pairs = []
    for one, other in ranking.differences:
        both = [id_ for id_ in written[one] if id_ in written[other]]
        difference_ = difference_of(share, *([written[system][id_] for id_ in both] for system in (one, other)))
        over_all = shown(ranking.differences[one, other])
        deviation = f"{100 * (difference_.stderr or 0):.2f}"
        pairs.append([f"{one} − {other}", over_all, shown(difference_), deviation, len(both)])
    # each fact as a reply of its own
    facts = [
        scored(f"{id_}/{number}", {"supported": float(number < own.facts["good_claims"])})
        for id_, own in written["ChatGPT"].items()
        for number in range(int(own.facts["claims"]))
    ]
    independent = figure_of(mean("supported", "supported"), facts)
    whole = {system: irrelevant_sentences(data / "factscore" / f"{system}.jsonl") for system in printed}
    ours = {system: f"{100 * figure.value:.2f}" for system, figure in ranking.figures.items()}
    errata = [(s, p, ours[s]) for s, p in printed.items() if f"{100 * ranking.figures[s].value:.1f}" != p]
    return {
        "compared": f"{len(printed)} systems",
        "as_printed": f"{len(printed) - len(errata)} of {len(printed)}",
        "decided": decided(ranking),
        "main": table(
            ["system", "published", "recomputed", "ranks", "minus the next", "biographies", "facts"],
            [
                [
                    system,
                    printed[system],
                    shown(ranking.figures[system]),
                    ranking.ranks[system],
                    shown(ranking.next(system)),
                    f"{len(written[system])} of {len(runs[system])}",
                    f"{sum(own.facts['claims'] for own in runs[system]):,.0f}",
                ]
                for system in ranking.names
            ],
        ),
        "decisions": ranking.text,
        "silent": len(written["InstructGPT"].keys() - written["ChatGPT"].keys()),
        "pairs": table(["pair", "over all", "both wrote", "standard error", "biographies"], pairs),
        "definitions": table(
            ["system", *DEFINITIONS],
            [
                [s, *(shown(found[s, mode].estimates[name]) for mode, name in DEFINITIONS.values())]
                for s in ranking.names
            ],
        ),
        "least": f"{100 * gain['InstructGPT']:.1f}",
        "most": f"{100 * gain['PerplexityAI']:.1f}",
        "none_left": sum(
            s.facts["claims"] > s.facts["relevant_claims"] == 0 for s in found["PerplexityAI", "strict"].scores
        ),
        "independent": shown(independent),
        "narrow": f"{width(figure_of(pooled, runs['ChatGPT'])) / width(independent):.1f}",
        "errata": errata,
        "irrelevant": ", ".join(f"{number} of {system}" for system, number in whole.items()),
    }


def irrelevant_sentences(path: Path) -> int:
    """Count the sentences that people mark irrelevant as a whole."""
    rows = (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines())
    return sum(sentence["human-atomic-facts"] is None for row in rows for sentence in row["annotations"] or [])


# --- TruthfulQA-multi -------------------------------------------------------------------------------------

LANGUAGES = {"en": "English", "es": "Spanish", "ca": "Catalan", "eu": "Basque", "gl": "Galician"}
BASE = "Meta-Llama-3-70B"
ASPECTS = ("truthfulness", "informativeness")
TRUE, BOTH = mean("truthfulness", "truthfulness"), mean("both", "both")
JUDGED = 817

Labels = dict[str, dict[str, bool]]
"""People's labels of each reply, by its id and aspect."""


def people_labels(*paths: Path) -> Labels:
    """Read people's labels, of which the files' columns have different names; an empty one is none."""
    labels: Labels = {}
    for path in paths:
        with path.open(encoding="utf-8", newline="") as file:
            _, *rows = csv.reader(file)
        for row in rows:
            own = zip(ASPECTS, row[5:7], strict=True)
            labels[row[0]] = {aspect: label == "yes" for aspect, label in own if label in ("yes", "no")}
    return labels


def truthful(labels: Labels) -> list[ScoredReply]:
    """Score labelled replies; those to a question are a cluster."""
    found = []
    for id_, own in labels.items():
        question, _, model = id_.partition("__")
        facts = {name: float(value) for name, value in own.items()} | (
            {"both": float(all(own.values()))} if own else {}
        )
        found.append(scored(id_, facts, question, model=model))
    return found


def judged(count: int) -> Estimate:
    """Estimate the judge's share of all questions from its count."""
    return figure_of(TRUE, [scored(str(n), {"truthfulness": float(n < count)}) for n in range(JUDGED)])


def truthfulqa_multi(data: Path) -> Facts:
    """Compare TruthfulQA-multi's rates and kappas in five languages."""
    folder, printed = data / "truthfulqa_multi", PUBLISHED["truthfulqa_multi"]
    labels = {lang: people_labels(folder / f"{lang}.csv", folder / f"base_{lang}.csv") for lang in LANGUAGES}
    replies = {lang: truthful(own) for lang, own in labels.items()}
    judge = {lang: {m: own[place] for m, own in printed["judge"].items()} for place, lang in enumerate(LANGUAGES)}
    equal, rows, rankings, informed = 0, [], list[Ranking](), list[Ranking]()
    inside = above = 0
    for place, (language, name) in enumerate(LANGUAGES.items()):
        by_model = {m: [s for s in replies[language] if s.tags["model"] == m] for m in printed["people"]}
        for model, own in by_model.items():
            counts = {aspect: sum(s.facts.get(aspect, 0) for s in own) for aspect in ASPECTS}
            equal += sum(counts[aspect] == printed["people"][model][aspect][place] for aspect in ASPECTS)
        # the four models answer the same questions
        runs = {m: [replace(score, id=score.cluster) for score in own] for m, own in by_model.items()}
        rankings.append(Ranking(TRUE, runs))
        informed.append(Ranking(BOTH, runs))
        for model in rankings[-1].names:
            people, by_judge = rankings[-1].figures[model], judged(judge[language][model])
            inside += (people.low or 0) <= by_judge.value <= (people.high or 1)
            above += by_judge.value > people.value
            figures = (shown(figure, 1) for figure in (by_judge, informed[-1].figures[model]))
            counted = printed["people"][model]["truthfulness"][place]
            rows.append([name, model, counted, shown(people, 1), rankings[-1].ranks[model], *figures])

    kappas, rare = [], list[int]()
    for place, (language, name) in enumerate(LANGUAGES.items()):
        second, cells = people_labels(folder / f"iaa_{language}.csv"), list[str]()
        for aspect in ASPECTS:
            raters = [[str(own[id_][aspect]) for id_ in second] for own in (labels[language], second)]
            found, theirs = cohen_kappa(*raters), f"{printed['cohen_kappa'][aspect][place]:.4f}"
            assert found is not None
            equal += f"{found.value:.4f}" == theirs
            no = [rater.count("False") for rater in raters]
            cells += [theirs, shown(found, 4, 1), " and ".join(map(str, no))]
            rare += no if aspect == "informativeness" else []
        kappas.append([name, *cells])

    by_language, both = Ranking(TRUE, replies), Ranking(BOTH, replies)
    assert not any("en" in pair and "eu" not in pair for pair in by_language.decided)
    base = {lang: [s for s in own if s.tags["model"] == BASE] for lang, own in replies.items()}
    earlier = {lang: _with_earlier_text(folder / f"{lang}.csv") for lang in LANGUAGES}
    compared = 2 * len(rows) + 2 * len(LANGUAGES)
    return {
        "compared": f"4 models, {len(LANGUAGES)} languages, {compared} figures",
        "as_printed": f"{equal} of {compared}",
        "decided": decided(*rankings),
        "languages": table(
            ["language", "people", "ranks", "minus the next", "judge", "both"],
            [
                [
                    LANGUAGES[lang],
                    shown(by_language.figures[lang], 1),
                    by_language.ranks[lang],
                    shown(by_language.next(lang), 1),
                    f"{100 * sum(judge[lang].values()) / (JUDGED * len(judge[lang])):.1f}",
                    shown(both.figures[lang], 1),
                ]
                for lang in by_language.names
            ],
        ),
        "decisions": by_language.text,
        "english": by_language.names.index("en") + 1,
        "english_both": both.names.index("en") + 1,
        "english_before": " and ".join(LANGUAGES[other] for one, other in both.decided if one == "en"),
        "models": table(["language", "model", "published", "recomputed", "ranks", "judge", "both"], rows),
        "neighbours": sum(len(ranking.neighbours) for ranking in rankings),
        "alone": sum(len(ranking.alone) for ranking in rankings),
        "together": sum(len(ranking.together) for ranking in rankings),
        "inside": inside,
        "above": above,
        "rows": len(rows),
        "kappas": table(
            ["language", "truthful: published", "recomputed", "no", "informative: published", "recomputed", "no"],
            kappas,
        ),
        "reordered": sum(a.names != b.names for a, b in zip(rankings, informed, strict=True)),
        "base": ", ".join(
            f"{100 * informative:.0f}% instead of {100 * true:.0f}% in {LANGUAGES[lang]}"
            for lang, own in base.items()
            for informative, true in [[figure_of(metric, own).value for metric in (BOTH, TRUE)]]
        ),
        "unlabelled": [
            (LANGUAGES[lang], id_, id_.partition("__")[2])
            for lang, own in labels.items()
            for id_, said in own.items()
            if not said
        ],
        "rare": f"{min(rare)} to {max(rare)}",
        "earlier": ", ".join(f"{number} of 300 {LANGUAGES[lang]}" for lang, number in earlier.items() if number),
    }


def _with_earlier_text(path: Path) -> int:
    """Count the rows that have an earlier text of the reply, too."""
    with path.open(encoding="utf-8", newline="") as file:
        return sum(bool((row.get("antes") or "").strip()) for row in csv.DictReader(file))


# --- ReFACT -----------------------------------------------------------------------------------------------

REFACT = {"Gemma-3-27B": "gemma-3-27b-it", "Llama-3.2-3B": "Llama-3.2-3B-Instruct"}


def refact(data: Path) -> Facts:
    """Compare ReFACT's Table 2 for the two models whose replies are in the data."""
    table_2 = [f for f in published() if f.source == "ReFACT, Table 2" and f.task != "refact" and f.model in REFACT]
    tasks = [*dict.fromkeys(figure.task for figure in table_2)]

    def score(model: str, task: str, scoring: str) -> ScoredFile:
        replies = str(data / "refact_outputs" / REFACT[model] / f"{task}.jsonl")
        return score_file(task, Options(data=str(data), scoring=scoring), [replies], partial=True, keep=True)

    found = {(m, task, mode): score(m, task, mode) for m in REFACT for task in tasks for mode in ("paper", "strict")}
    rows, errata = [], []
    for figure in sorted(table_2, key=lambda figure: [*REFACT].index(figure.model)):
        paper, strict = (found[figure.model, figure.task, mode].estimates for mode in ("paper", "strict"))
        ours = paper[figure.metric]
        counted = paper.get(f"{figure.metric}_published_join", ours).value
        task, theirs = figure.task.removeprefix("refact_").replace("_", " "), f"{figure.value:.2f}"
        same = f"{counted:.2f}" == theirs
        own = f"{counted:.2f}" if same else f"{counted:.3f}"
        errata += [] if same else [(figure.model, task, figure.metric, theirs, own)]
        modes = (shown(each, 3, 1) for each in (ours, strict[figure.metric]))
        rows.append([figure.model, task, f"`{figure.metric}`", theirs, own if same else f"**{own}**", *modes])

    differences = {}
    for task in tasks:
        runs = [found[model, task, "strict"] for model in REFACT]
        headline = runs[0].evaluation.task.headline
        (metric,) = (metric for metric in runs[0].evaluation.all_metrics if metric.name == headline)
        differences[task, headline] = difference_of(metric, *(run.scores for run in runs))
    adjusted = holm([own.p for own in differences.values()])
    alone = sum((own.p or 0) < LEVEL for own in differences.values())
    together = sum((p or 0) < LEVEL for p in adjusted)

    def paper_value(task: str, metric: str) -> str:
        return f"{found['Gemma-3-27B', task, 'paper'].estimates[metric].value:.3f}"

    reading = {
        model: found[model, "refact_judgment_comparative", "strict"].estimates["acc"].value
        - found[model, "refact_judgment_comparative", "paper"].estimates["acc"].value
        for model in REFACT
    }
    return {
        "compared": f"{len(REFACT)} of 9 models, {len(rows)} cells",
        "as_printed": f"{len(rows) - len(errata)} of {len(rows)}",
        "decided": f"{alone} and {together} of {len(tasks)} (one a task)",
        "cells": table(["model", "task", "metric", "published", "as published", "`paper`", "`strict`"], rows),
        "pairs": table(
            ["task", "metric", "difference", "p, together"],
            [
                [task.removeprefix("refact_").replace("_", " "), f"`{headline}`", shown(own, 3, 1), p_value(p)]
                for ((task, headline), own), p in zip(differences.items(), adjusted, strict=True)
            ],
        ),
        "reading": f"{reading['Gemma-3-27B']:+.3f}",
        "other_reading": f"{reading['Llama-3.2-3B']:+.3f}",
        "joined": paper_value("refact_localization_entity", "iou_published_join"),
        "once": paper_value("refact_localization_entity", "iou"),
        "errata": errata,
    }


# --- FaithBench -------------------------------------------------------------------------------------------

CLASSES = ("Unwanted", "Questionable", "Benign", "Consistent")
UNWANTED, UP_TO_QUESTIONABLE, MARKED = (
    mean(name, name, higher_is_better=False) for name in ("unwanted", "up_to_questionable", "marked")
)


def writers(data: Path) -> dict[str, str]:
    """Return the model that wrote each summary, by the summary's id."""
    return {
        f"{path.stem.removeprefix('batch_')}/{sample['sample_id']}": sample["metadata"]["summarizer"]
        for path in sorted((data / "faithbench").glob("batch_*.json"))
        for sample in json.loads(path.read_text(encoding="utf-8"))["samples"]
    }


def summaries(data: Path, pool: str, writers: Mapping[str, str], models: Iterable[str]) -> dict[str, list[ScoredReply]]:
    """Score each model's summaries of the sources by their class, the labels of people pooled by `pool`."""
    runs: dict[str, list[ScoredReply]] = {model: [] for model in models}
    for item in build("faithbench_judgment", Options(data=str(data), pool=pool)).items:
        class_ = item.tags["class"]
        bad = {m.name: float(CLASSES.index(class_) <= n) for n, m in enumerate((UNWANTED, UP_TO_QUESTIONABLE, MARKED))}
        # a source is summarised once by each model
        runs[writers[item.id]].append(scored(item.cluster, bad, **{"class": class_, "item": item.id}))
    return runs


def faithbench(data: Path) -> Facts:
    """Compare the ten models that wrote FaithBench's summaries."""
    printed: Mapping[str, Sequence[int]] = PUBLISHED["faithbench"]["rows"]
    wrote = writers(data)
    pools = {pool: summaries(data, pool, wrote, printed) for pool in ("any", "majority", "distinct", "all")}
    ranking = Ranking(UNWANTED, pools["any"])
    definitions = {
        "unwanted by anybody": ranking,
        "unwanted or questionable, as in the paper's figures of detectors": Ranking(UP_TO_QUESTIONABLE, pools["any"]),
        "marked by anybody": Ranking(MARKED, pools["any"]),
        "unwanted by most who marked something": Ranking(UNWANTED, pools["majority"]),
        "unwanted by most labels, as in the released script": Ranking(UNWANTED, pools["distinct"]),
        "unwanted by all who marked something": Ranking(UNWANTED, pools["all"]),
    }
    names = {model: model.rpartition("/")[2] for model in printed}
    low, second, high = ranking.names[0], ranking.names[1], ranking.names[-1]
    theirs = [pair for pair in ranking.decided if {low, second} & {*pair}]
    votes, labels = (
        {score.tags["item"]: score.tags["class"] for own in pools[pool].values() for score in own}
        for pool in ("majority", "distinct")
    )
    rows = []
    for model in ranking.names:
        classes = Counter(score.tags["class"] for score in pools["any"][model])
        counts = ", ".join(str(classes[name]) for name in CLASSES)
        figures = shown(ranking.figures[model], 1), ranking.ranks[model], shown(ranking.next(model), 1)
        rows.append([names[model], f"{printed[model][0]} of {sum(printed[model])}", *figures, counts])
    return {
        "compared": f"{len(rows)} models",
        "as_printed": "other items",
        "decided": decided(ranking),
        "models": table(
            ["model", "published", "recomputed", "ranks", "minus the next", f"summaries: {', '.join(CLASSES).lower()}"],
            rows,
        ),
        "decisions": ranking.text,
        "their_pairs": 2 * (len(rows) - 2),
        "their_decided": len([pair for pair in theirs if {*pair} != {low, second}]),
        "decided_pairs": "; ".join(f"{names[one]} before {names[other]}" for one, other in theirs),
        "definitions": table(
            ["a summary counts if it is", names[low], names[high], "other places", "pairs decided"],
            [
                [
                    name,
                    shown(own.figures[low], 1),
                    shown(own.figures[high], 1),
                    moved(ranking.names, own.names),
                    f"{len(own.decided)} of {len(own.differences)}",
                ]
                for name, own in definitions.items()
            ],
        ),
        "listed": sum(map(sum, printed.values())),
        "released": len(wrote),
        "not_a_vote": sum(votes[id_] != labels[id_] for id_ in votes),
    }


# --- Mu-SHROOM --------------------------------------------------------------------------------------------

ALL, NONE = "Baseline (mark all)", "Baseline (mark none)"
BY = ("iou", "cor")


def baselines(data: Path, task: str) -> dict[tuple[str, str], dict[str, Estimate]]:
    """Score marking everything and marking nothing, in both modes."""
    found = {}
    for scoring in ("paper", "strict"):
        evaluation = build(task, Options(data=str(data), scoring=scoring))
        metrics = [metric for metric in evaluation.all_metrics if metric.name in BY]
        for name in (ALL, NONE):
            marks = ([[0, len(item.gold.text)]] * (name == ALL) for item in evaluation.items)
            replies = zip(evaluation.items, (Reply(json.dumps({"spans": own})) for own in marks), strict=True)
            found[name, scoring] = estimates(metrics, [evaluation.task.score(scoring, *pair) for pair in replies])
    return found


def ranked_systems(figures: Iterable[Published]) -> dict[str, dict[str, float]]:
    """Return the figure of each system of a language in the ranking by `iou` and in that by `cor`, best first."""
    figures = [*figures]
    found = {}
    for by in BY:
        own = [figure for figure in figures if figure.metric == by]
        systems = {figure.model: figure.value for figure in own if figure.method == "submission"}
        if by == "cor":
            systems |= {figure.model: figure.value for figure in own if figure.method == "submission_by_cor"}
        found[by] = dict(sorted(systems.items(), key=lambda pair: -pair[1]))
    return found


def mushroom(data: Path) -> Facts:
    """Compare Mu-SHROOM's rankings, whose submissions are not released, by the two baselines."""
    figures = [figure for figure in published() if figure.source.startswith("Mu-SHROOM")]
    rows, constant, equal, entries = [], [], list[bool](), 0
    close, gaps, places, teams, same_first = 0, 0, 0, 0, 0
    for task in sorted({figure.task for figure in figures}):
        ours, theirs = baselines(data, task), ranked_systems(figure for figure in figures if figure.task == task)
        entries += sum(map(len, theirs.values()))
        for name in (ALL, NONE):
            equal += (f"{ours[name, 'paper'][by].value:.6g}" == f"{theirs[by][name]:.6g}" for by in BY)
        ranked = {by: [name for name in own if not name.startswith("Baseline")] for by, own in theirs.items()}
        first = {by: own[0] for by, own in ranked.items()}
        same_first += first["iou"] == first["cor"]
        places, teams = places + moved(ranked["iou"], ranked["cor"]), teams + len(ranked["iou"])
        apart = sorted(theirs["iou"][one] - theirs["iou"][other] for one, other in pairwise(ranked["iou"]))
        close += sum(gap < width(ours[ALL, "paper"]["iou"]) / 2 for gap in apart)
        gaps += len(apart)
        marked = (shown(ours[name, "paper"]["iou"], 3, 1) for name in (ALL, NONE))
        best = (f"{theirs[by][first[by]]:.3f} {first[by]}" for by in BY)
        rows.append([f"`{task}`", len(ranked["iou"]), *marked, *best, f"{apart[len(apart) // 2]:.3f}"])
        by_mode = [f"{ours[ALL, scoring]['cor'].value:.3f}" for scoring in ("paper", "strict")]
        constant += [[f"`{task}`", *by_mode]] if len({*by_mode}) > 1 else []
    return {
        "compared": f"{entries} entries, {len(equal)} figures of 2 baselines",
        "as_printed": f"{sum(equal)} of {len(equal)}",
        "decided": "not known",
        "entries": entries,
        "equal": sum(equal),
        "figures": len(equal),
        "languages": table(
            ["task", "teams", "mark all: IoU", "mark none: IoU", "first by IoU", "first by cor", "to the next"], rows
        ),
        "close": close,
        "neighbours": gaps,
        "moved": places,
        "teams": teams,
        "same_first": same_first,
        "constant": table(["task", "`paper`", "`strict`"], constant),
    }


# --- the page ---------------------------------------------------------------------------------------------

SECTIONS: Mapping[str, Callable[[Path], Facts]] = {
    own.__name__: own for own in (halluqa, factscore, truthfulqa_multi, refact, faithbench, mushroom)
}
_HEAD, *_TEXTS = (HERE / "index.md.jinja").read_text(encoding="utf-8").split("\n## ")
TEXTS = dict(zip(SECTIONS, _TEXTS, strict=True))


def rendered(text: str, facts: Facts) -> str:
    """Fill the figures into a text."""
    return Environment(undefined=StrictUndefined, autoescape=False).from_string(text).render(facts).strip()


def section(name: str, facts: Facts) -> str:
    """Return a section of the page, which names the command that prints it."""
    title, _, text = TEXTS[name].partition("\n")
    return f"## {title}\n\n`python docs/reanalysis/make.py {name}`\n\n{rendered(text, facts)}\n"


def page(data: Path) -> str:
    """Return the page, from the released data in a folder."""
    made = {name: make(data) for name, make in SECTIONS.items()}
    rows = []
    for name, facts in made.items():
        title = TEXTS[name].partition("\n")[0]
        rows.append([f"[{title}](#{title.lower()})", *(facts[key] for key in ("compared", "as_printed", "decided"))])
    overview = table(["table", "compared", "equal as printed", "neighbours decided alone and together"], rows)
    return "\n".join([rendered(_HEAD, {"overview": overview}) + "\n", *(section(*own) for own in made.items())])


def main(arguments: Sequence[str]) -> str | None:
    """Write the page, check it, or print a section.

    Returns:
        What is wrong, if anything is.
    """
    what = arguments[0] if arguments else str(PAGE)
    if len(arguments) > 1 or (what.startswith("-") and what != "--check"):
        return f"usage: make.py [PAGE | --check | {' | '.join(SECTIONS)}]"
    data = Path(os.environ.get("HALU_TASKS_DATA") or "?")
    if not data.is_dir():
        return "HALU_TASKS_DATA: name the folder with the released data"
    if what in SECTIONS:
        print(section(what, SECTIONS[what](data)), end="")
    elif what != "--check":
        Path(what).write_text(page(data), encoding="utf-8")
    elif PAGE.read_text(encoding="utf-8") != page(data):
        return f"{PAGE}: not what the data give; python docs/reanalysis/make.py writes it"
    return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
