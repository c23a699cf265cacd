"""Quality checks of a built dataset that need neither a model nor annotators: leaks, balance, duplicates."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from halu_tasks.builders.pipeline import Item, Pipeline
from halu_tasks.builders.quality.bag_of_words import telling_words
from halu_tasks.builders.quality.balance import Balance
from halu_tasks.builders.quality.leaks import FEWEST_DOCUMENTS, LEAK, TOO_FEW, leaks
from halu_tasks.builders.quality.overlaps import Compared, Near, Overlaps
from halu_tasks.builders.quality.sampling import PAIRS, PairSample


class Finding(NamedTuple):
    """A problem with a dataset that its users must know about.

    Attributes:
        check: The check that found it.
        text: A description for users.
    """

    check: str
    text: str


def quality(
    pipeline: Pipeline,
    items: Iterable[Item],
    *,
    benchmarks: Iterable[Compared] = (),
    not_compared: Sequence[str] = (),
    near: Near | None = None,
    dropped: Mapping[str, Any] | None = None,
    seed: int = 0,
    most_pairs: int = PAIRS,
) -> dict[str, Any]:
    """Measure the quality of a dataset; its items are read once and not held in memory.

    Args:
        pipeline: The pipeline that built the dataset.
        items: The dataset's items.
        benchmarks: Published texts to compare with.
        not_compared: Names of published files that are not available locally, for the report.
        near: Finds near-duplicates among the items; None skips this check.
        dropped: Duplicates dropped when the items were collected: `near`, the threshold in percent, and `n`, their
            number.
        seed: Seed of the sample of pairs and of the folds.
        most_pairs: Maximum number of pairs to test for leaks; if there are more, a sample by hash is used.

    Returns:
        JSON values: `items`, `documents`; `pairs` with `n` and `used`; `leaks` by feature and the `classifier` (see
        `leaks.leaks`, `bag_of_words.telling_words`); `balance` (see `balance.Balance.found`); `duplicates`
        (`Overlaps.within`, and `dropped`) and `benchmarks` (`Overlaps.against`, and `not_compared`); `flagged`, a
        description of everything that is bad or was not tested.

    Raises:
        DataError: A benchmark's file contains an invalid row.
    """
    sample, balance, overlaps = PairSample(seed, most_pairs), Balance(pipeline.benchmark), Overlaps(near)
    number, documents = 0, set[str]()
    for item in items:
        number += 1
        documents.add(item.document)
        balance.add(item.kind, pipeline.lines(item))
        overlaps.add(item.id, pipeline.key(item), pipeline.group(item))
        context = pipeline.context(item)
        for place, pair in enumerate(pipeline.pairs(item)):
            sample.add(f"{item.id}/{place}", pair, context)
    taken = sample.taken()
    report: dict[str, Any] = {
        "items": number,
        "documents": len(documents),
        "pairs": {"n": sample.seen, "used": len(taken)},
        "leaks": leaks(taken),
        "classifier": telling_words(taken, seed),
        "balance": balance.found(),
        "duplicates": {**overlaps.within(), "dropped": dict(dropped) if dropped else None},
        "benchmarks": {**overlaps.against(benchmarks), "not_compared": list(not_compared)},
    }
    return {**report, "flagged": [finding._asdict() for finding in findings(report)]}


def findings(report: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield the problems of a dataset, given the result of `quality`."""
    for feature, figures in report["leaks"].items():
        if figures["verdict"] == LEAK:
            yield Finding("leak", f"{feature}: {told_by(figures)}")
    if report["classifier"]["verdict"] == LEAK:
        yield Finding("leak", f"words alone, to a classifier: {told_by(report['classifier'])}")
    if TOO_FEW in {figures["verdict"] for figures in (*report["leaks"].values(), report["classifier"])}:
        yield Finding("not tested", f"{TOO_FEW}; for leaks, pairs of {FEWEST_DOCUMENTS} are needed")
    for file, fields in report["balance"]["labels"].items():
        for field, figures in fields.items():
            if figures.get("verdict") == LEAK:
                most = max(figures["counts"], key=figures["counts"].__getitem__)
                yield Finding("balance", f"{field} in {file}: always {most} is right for {figures['largest']:.1%}")
    for name, figures in report["duplicates"].items():
        if name in ("same", "similar") and figures and figures["n"]:
            what = "the same as" if name == "same" else "nearly the same as"
            yield Finding("duplicates", f"{figures['n']:,} of {report['items']:,} items are {what} an earlier one")
    if report["benchmarks"]["n"]:
        named = [file["source"] or file["file"] for file in report["benchmarks"]["compared"] if file["n"]]
        where = ", ".join(dict.fromkeys(named))
        shared = f"{report['benchmarks']['n']:,} of {report['items']:,} items share text with {where}"
        yield Finding("benchmarks", shared)


def near_duplicates(duplicates: Mapping[str, Any]) -> str:
    """Describe the near-duplicates of a dataset, given `duplicates` of its quality."""
    similar, dropped = duplicates["similar"], duplicates.get("dropped")
    if similar is not None:
        return f"{similar['n']:,}"
    if dropped is None:
        return "not checked"
    if dropped["near"] >= 100:
        return f"not checked (equal items dropped when collected: {dropped['n']:,})"
    return f"not checked again (dropped when collected, at {dropped['near']:g}% similarity or more: {dropped['n']:,})"


def told_by(figures: Mapping[str, Any]) -> str:
    """Describe how well hallucinated and true texts can be told apart."""
    return f"area {figures['area']['value']:.3f} over all texts, {figures['in_pairs']['value']:.3f} within pairs"
