"""The sections of a dataset's card about its balance, its leaks and its annotation."""

from __future__ import annotations

from collections.abc import Iterator

from halu_tasks.builders.annotation.annotation import AnnotationReport
from halu_tasks.builders.quality.balance import Distribution
from halu_tasks.builders.quality.leaks import LEAK, NONE, Separation
from halu_tasks.builders.quality.quality import Quality
from halu_tasks.text.figures import format_estimate
from halu_tasks.text.markdown import escaped, table

SAME = "same in every pair"
"""The verdict shown for a feature that cannot leak."""


def balance_section(report: Quality) -> Iterator[str]:
    """Yield the section on kinds and labels."""
    yield "## Balance"
    rows = [["kind", *_cells(report.balance.kinds)]]
    for file, fields in report.balance.labels.items():
        rows += [[escaped(f"{field} in {file}"), *_cells(label)] for field, label in fields.items()]
    yield table(["of", "numbers", "evenness", "always the same reply"], rows)
    yield (
        "Evenness is the entropy divided by its maximum (1 means evenly distributed). The last column is the share of "
        "the most frequent label."
    )


def leaks_section(report: Quality) -> Iterator[str]:
    """Yield the sections on leaks and duplicates."""
    pairs = report.pairs
    yield "## Leaks"
    yield (
        "How well a feature that says nothing about facts separates hallucinated texts from true ones: 0.5 is chance, "
        f"1 and 0 are perfect. Based on {pairs.used:,} of {pairs.n:,} pairs, with 95% intervals clustered by "
        "document."
    )
    rows = [
        [escaped(name), *map(format_estimate, separation.figures), _verdict(separation)]
        for name, separation in report.separations.items()
    ]
    yield table(["feature", "all texts", "within pairs", "leak"], rows)
    if telling := report.classifier.words:
        sides = [
            f"{escaped(side)}: {', '.join(map(escaped, words)) or 'none'}" for side, words in sorted(telling.items())
        ]
        yield "Words that best separate the two for the classifier, by side. " + ". ".join(sides) + "."
    yield "## Duplicates"
    duplicates, benchmarks = report.duplicates, report.benchmarks
    lines = [
        f"Items equal to an earlier one: {duplicates.same.n:,}; nearly the same: {duplicates.describe_similar()}.",
        *(
            f"Items that share text with {escaped(file.source)} {escaped(file.file)}: {file.n:,}."
            for file in benchmarks.compared
        ),
    ]
    if benchmarks.not_compared:
        lines.append(f"Not compared with (not available locally): {escaped(', '.join(benchmarks.not_compared))}.")
    yield "\n".join(f"- {line}" for line in lines)


def annotation_section(report: AnnotationReport) -> Iterator[str]:
    """Yield the section on annotators' labels."""
    yield "## Annotation"
    agreement = report.agreement
    yield (
        f"{sum(bool(annotator.labels) for annotator in report.annotators)} annotators labelled "
        f"{report.annotated:,} of {report.items:,} items; {report.kept:,} were kept by the rule "
        f"`{escaped(report.rule)}` with at least {report.least} labels, {report.relabelled:,} of them relabelled."
    )
    rows = [
        ["pairwise agreement", f"{agreement.items:,}", format_estimate(agreement.pairwise_agreement)],
        ["Krippendorff's alpha", f"{report.annotated:,}", format_estimate(agreement.krippendorff_alpha)],
    ]
    for pair in agreement.pairs:
        names = escaped(" and ".join(pair.annotators))
        rows.append([f"agreement of {names}", f"{pair.items:,}", format_estimate(pair.agreement)])
        rows.append([f"Cohen's kappa of {names}", f"{pair.items:,}", format_estimate(pair.cohen_kappa)])
    yield table(["agreement", "items", "figure"], rows)
    if report.dropped:
        dropped = [
            [escaped(reason), escaped(kind), f"{number:,}"]
            for reason, kinds in report.dropped.items()
            for kind, number in kinds.items()
        ]
        yield "Dropped:"
        yield table(["reason", "kind", "items"], dropped)


def _cells(distribution: Distribution) -> list[str]:
    """Return the table cells for a distribution: the counts, their evenness, and the largest share."""
    counts = ", ".join(f"{escaped(name) or 'none'} {number:,}" for name, number in distribution.counts.items())
    shares = (distribution.evenness, distribution.largest)
    return [counts, *("–" if share is None else f"{share:.3f}" for share in shares)]


def _verdict(separation: Separation) -> str:
    """Format a feature's verdict."""
    if separation.same and separation.verdict == NONE:
        return SAME
    return f"**{LEAK}**" if separation.verdict == LEAK else escaped(separation.verdict)
