"""The parts of a dataset's card that tell of its balance, its leaks and its annotation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from halu_tasks.builders.leaks import NONE
from halu_tasks.builders.quality import near_duplicates
from halu_tasks.markdown import escaped, table

SAME = "same in every pair"
"""What is said of a feature that cannot leak."""
Figures = Mapping[str, Any]


def balance_section(found: Figures) -> Iterator[str]:
    """Kinds and labels, from `quality.quality`."""
    yield "## Balance"
    rows = [["kind", *_spread(found["balance"]["kinds"])]]
    for file, fields in found["balance"]["labels"].items():
        rows += [[escaped(f"{field} in {file}"), *_spread(own)] for field, own in fields.items()]
    yield table(["of", "numbers", "evenness", "always the same reply"], rows)
    yield (
        "Evenness is the entropy over that of equal shares, 1 being even. The last column is the share of the most "
        "frequent label."
    )


def leaks_section(found: Figures) -> Iterator[str]:
    """Leaks and duplicates, from `quality.quality`."""
    pairs = found["pairs"]
    yield "## Leaks"
    yield (
        "How well a feature that says nothing of facts tells hallucinated texts from true ones; 0.5 is not at all, and "
        f"1 and 0 are perfectly. {pairs['used']:,} of {pairs['n']:,} pairs were looked at, with 95% intervals over "
        "documents."
    )
    features = {**found["leaks"], "words alone, to a classifier": found["classifier"]}
    rows = [
        [escaped(name), *(figure(without_interval(own, key)) for key in ("area", "in_pairs")), _verdict(own)]
        for name, own in features.items()
    ]
    yield table(["feature", "all texts", "within pairs", "leak"], rows)
    if telling := found["classifier"].get("words"):
        told = [f"{escaped(side)}: {', '.join(map(escaped, own)) or 'none'}" for side, own in sorted(telling.items())]
        yield "Words that tell the classifier most, by what they speak for. " + ". ".join(told) + "."
    yield "## Duplicates"
    within, against = found["duplicates"], found["benchmarks"]
    similar = near_duplicates(within)
    lines = [
        f"Items that are the same as an earlier one: {within['same']['n']:,}; nearly the same: {similar}.",
        *(
            f"Items that share text with {escaped(own['source'])} {escaped(own['file'])}: {own['n']:,}."
            for own in against["compared"]
        ),
    ]
    if against["not_compared"]:
        lines.append(f"Not compared with, as they were not at hand: {escaped(', '.join(against['not_compared']))}.")
    yield "\n".join(f"- {line}" for line in lines)


def annotation_section(found: Figures) -> Iterator[str]:
    """Annotators' labels, from `annotation.Annotation.report`."""
    yield "## Annotation"
    agreement = found["agreement"]
    yield (
        f"{len([own for own in found['annotators'] if own['labels']])} annotators labelled {found['annotated']:,} of "
        f"{found['items']:,} items; {found['kept']:,} were kept by the rule `{escaped(found['rule'])}` of at least "
        f"{found['least']} labels, {found['relabelled']:,} of these changed."
    )
    rows = [
        ["pairwise agreement", f"{agreement['items']:,}", figure(agreement.get("pairwise_agreement"))],
        ["Fleiss' kappa", f"{agreement['items']:,}", figure(agreement.get("fleiss_kappa"))],
    ]
    for pair in agreement["pairs"]:
        names = escaped(" and ".join(pair["annotators"]))
        rows.append([f"agreement of {names}", f"{pair['items']:,}", figure(pair["agreement"])])
        rows.append([f"Cohen's kappa of {names}", f"{pair['items']:,}", figure(pair["cohen_kappa"])])
    yield table(["agreement", "items", "figure"], rows)
    if found["dropped"]:
        dropped = [
            [escaped(reason), escaped(kind), f"{number:,}"]
            for reason, kinds in found["dropped"].items()
            for kind, number in kinds.items()
        ]
        yield "Dropped:"
        yield table(["reason", "kind", "items"], dropped)


def figure(own: Mapping[str, float | None] | None) -> str:
    """A figure with its interval."""
    if own is None:
        return "–"
    return f"{own['value']:.3f}" + ("" if own["low"] is None else f" [{own['low']:.3f}, {own['high']:.3f}]")


def without_interval(own: Figures, key: str) -> Mapping[str, float | None] | None:
    """A figure of a feature; without its interval where the feature is the same in both texts of every pair, for
    then there is nothing that chance could have had a part in."""
    found: Mapping[str, float | None] | None = own.get(key)
    return {**found, "low": None, "high": None} if found and own.get("same") else found


def _spread(own: Figures) -> list[str]:
    counts = ", ".join(f"{escaped(name) or 'none'} {number:,}" for name, number in own["counts"].items())
    return [counts, *("–" if own[name] is None else f"{own[name]:.3f}" for name in ("evenness", "largest"))]


def _verdict(own: Figures) -> str:
    if own.get("same") and own["verdict"] == NONE:
        return SAME
    return f"**{own['verdict']}**" if own["verdict"] == "leak" else escaped(own["verdict"])
