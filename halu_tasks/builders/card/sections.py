"""The sections of a dataset's card about its balance, its leaks and its annotation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from halu_tasks.builders.quality.leaks import NONE
from halu_tasks.builders.quality.quality import near_duplicates
from halu_tasks.text.figures import format_estimate
from halu_tasks.text.markdown import escaped, table

SAME = "same in every pair"
"""The verdict shown for a feature that cannot leak."""
Figures = Mapping[str, Any]


def balance_section(report: Figures) -> Iterator[str]:
    """Yield the section on kinds and labels, given the result of `quality.quality`."""
    yield "## Balance"
    rows = [["kind", *_spread(report["balance"]["kinds"])]]
    for file, fields in report["balance"]["labels"].items():
        rows += [[escaped(f"{field} in {file}"), *_spread(counts)] for field, counts in fields.items()]
    yield table(["of", "numbers", "evenness", "always the same reply"], rows)
    yield (
        "Evenness is the entropy divided by its maximum (1 means evenly distributed). The last column is the share of "
        "the most frequent label."
    )


def leaks_section(report: Figures) -> Iterator[str]:
    """Yield the sections on leaks and duplicates, given the result of `quality.quality`."""
    pairs = report["pairs"]
    yield "## Leaks"
    yield (
        "How well a feature that says nothing about facts separates hallucinated texts from true ones: 0.5 is chance, "
        f"1 and 0 are perfect. Based on {pairs['used']:,} of {pairs['n']:,} pairs, with 95% intervals clustered by "
        "document."
    )
    features = {**report["leaks"], "words alone, to a classifier": report["classifier"]}
    rows = [
        [
            escaped(name),
            *(format_estimate(without_interval(figures, key)) for key in ("area", "in_pairs")),
            _verdict(figures),
        ]
        for name, figures in features.items()
    ]
    yield table(["feature", "all texts", "within pairs", "leak"], rows)
    if telling := report["classifier"].get("words"):
        sides = [
            f"{escaped(side)}: {', '.join(map(escaped, words)) or 'none'}" for side, words in sorted(telling.items())
        ]
        yield "Words that best separate the two for the classifier, by side. " + ". ".join(sides) + "."
    yield "## Duplicates"
    within, against = report["duplicates"], report["benchmarks"]
    similar = near_duplicates(within)
    lines = [
        f"Items equal to an earlier one: {within['same']['n']:,}; nearly the same: {similar}.",
        *(
            f"Items that share text with {escaped(file['source'])} {escaped(file['file'])}: {file['n']:,}."
            for file in against["compared"]
        ),
    ]
    if against["not_compared"]:
        lines.append(f"Not compared with (not available locally): {escaped(', '.join(against['not_compared']))}.")
    yield "\n".join(f"- {line}" for line in lines)


def annotation_section(report: Figures) -> Iterator[str]:
    """Yield the section on annotators' labels, given the result of `annotation.Annotation.report`."""
    yield "## Annotation"
    agreement = report["agreement"]
    yield (
        f"{len([annotator for annotator in report['annotators'] if annotator['labels']])} annotators labelled "
        f"{report['annotated']:,} of {report['items']:,} items; {report['kept']:,} were kept by the rule "
        f"`{escaped(report['rule'])}` with at least {report['least']} labels, {report['relabelled']:,} of them "
        "relabelled."
    )
    rows = [
        ["pairwise agreement", f"{agreement['items']:,}", format_estimate(agreement.get("pairwise_agreement"))],
        ["Fleiss' kappa", f"{agreement['items']:,}", format_estimate(agreement.get("fleiss_kappa"))],
    ]
    for pair in agreement["pairs"]:
        names = escaped(" and ".join(pair["annotators"]))
        rows.append([f"agreement of {names}", f"{pair['items']:,}", format_estimate(pair["agreement"])])
        rows.append([f"Cohen's kappa of {names}", f"{pair['items']:,}", format_estimate(pair["cohen_kappa"])])
    yield table(["agreement", "items", "figure"], rows)
    if report["dropped"]:
        dropped = [
            [escaped(reason), escaped(kind), f"{number:,}"]
            for reason, kinds in report["dropped"].items()
            for kind, number in kinds.items()
        ]
        yield "Dropped:"
        yield table(["reason", "kind", "items"], dropped)


def without_interval(figures: Figures, key: str) -> Mapping[str, float | None] | None:
    """Return a feature's figure, without its interval if the feature is the same in both texts of every pair.

    In that case the figure is not subject to chance.
    """
    estimate: Mapping[str, float | None] | None = figures.get(key)
    return {**estimate, "low": None, "high": None} if estimate and figures.get("same") else estimate


def _spread(counted: Figures) -> list[str]:
    """Return the table cells for counts: the counts, their evenness, and the largest share."""
    counts = ", ".join(f"{escaped(name) or 'none'} {number:,}" for name, number in counted["counts"].items())
    return [counts, *("–" if counted[name] is None else f"{counted[name]:.3f}" for name in ("evenness", "largest"))]


def _verdict(figures: Figures) -> str:
    """Format a feature's verdict."""
    if figures.get("same") and figures["verdict"] == NONE:
        return SAME
    return f"**{figures['verdict']}**" if figures["verdict"] == "leak" else escaped(figures["verdict"])
