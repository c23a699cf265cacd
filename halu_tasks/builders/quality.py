"""Quality of a built dataset, as far as it can be told without a model or a person: leaks, balance, duplicates."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from halu_tasks.builders.bag_of_words import telling_words
from halu_tasks.builders.balance import Balance
from halu_tasks.builders.leaks import FEWEST_DOCUMENTS, LEAK, TOO_FEW, leaks
from halu_tasks.builders.overlaps import Compared, Near, Overlaps
from halu_tasks.builders.pipeline import Item, Pipeline
from halu_tasks.builders.sampling import PAIRS, PairSample


class Finding(NamedTuple):
    """Something about a dataset that its users must know: the check and what it says, in plain words."""

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
    """The quality of a dataset as JSON values; its items are read once and not held.

    Args:
        benchmarks: published texts to compare with.
        not_compared: names of those that are not at hand, for the report.
        near: finds near-duplicates among the items; these are not looked for without.
        dropped: duplicates that were dropped when the items were collected: `near`, the percent from which on, and
            how many, `n`.
        seed: of the sample of pairs and of the folds.
        most_pairs: pairs of which leaks are told; a sample by hash where there are more.

    Returns:
        `items`, `documents`; `pairs` with `n` and `used`; `leaks` by feature and the `classifier` (see `leaks.leaks`,
        `bag_of_words.telling_words`); `balance` (see `balance.Balance.found`); `duplicates` (`Overlaps.within`, and
        `dropped`) and `benchmarks` (`Overlaps.against`, and `not_compared`); `flagged`, what of it all is bad or was
        not tested, in plain words.

    Raises:
        DataError: a benchmark's file has a bad row.
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
    found: dict[str, Any] = {
        "items": number,
        "documents": len(documents),
        "pairs": {"n": sample.seen, "used": len(taken)},
        "leaks": leaks(taken),
        "classifier": telling_words(taken, seed),
        "balance": balance.found(),
        "duplicates": {**overlaps.within(), "dropped": dict(dropped) if dropped else None},
        "benchmarks": {**overlaps.against(benchmarks), "not_compared": list(not_compared)},
    }
    return {**found, "flagged": [finding._asdict() for finding in findings(found)]}


def findings(found: Mapping[str, Any]) -> Iterator[Finding]:
    """What is bad about a dataset, from its quality."""
    for feature, figures in found["leaks"].items():
        if figures["verdict"] == LEAK:
            yield Finding("leak", f"{feature}: {told_by(figures)}")
    if found["classifier"]["verdict"] == LEAK:
        yield Finding("leak", f"words alone, to a classifier: {told_by(found['classifier'])}")
    if TOO_FEW in {own["verdict"] for own in (*found["leaks"].values(), found["classifier"])}:
        yield Finding("not tested", f"{TOO_FEW}; for leaks, pairs of {FEWEST_DOCUMENTS} are needed")
    for file, fields in found["balance"]["labels"].items():
        for field, figures in fields.items():
            if figures.get("verdict") == LEAK:
                most = max(figures["counts"], key=figures["counts"].__getitem__)
                yield Finding("balance", f"{field} in {file}: always {most} is right for {figures['largest']:.1%}")
    for name, figures in found["duplicates"].items():
        if name in ("same", "similar") and figures and figures["n"]:
            what = "the same as" if name == "same" else "nearly the same as"
            yield Finding("duplicates", f"{figures['n']:,} of {found['items']:,} items are {what} an earlier one")
    if found["benchmarks"]["n"]:
        named = [own["source"] or own["file"] for own in found["benchmarks"]["compared"] if own["n"]]
        where = ", ".join(dict.fromkeys(named))
        told = f"{found['benchmarks']['n']:,} of {found['items']:,} items share text with {where}"
        yield Finding("benchmarks", told)


def near_duplicates(found: Mapping[str, Any]) -> str:
    """What is known of near-duplicates, in words, from `duplicates` of a dataset's quality."""
    own, before = found["similar"], found.get("dropped")
    if own is not None:
        return f"{own['n']:,}"
    if before is None:
        return "not looked for"
    if before["near"] >= 100:
        return f"not looked for (equal ones dropped when collected: {before['n']:,})"
    return f"not looked for again (dropped from {before['near']:g} percent on when collected: {before['n']:,})"


def told_by(figures: Mapping[str, Any]) -> str:
    """How well hallucinated and true texts are told apart, in words."""
    return f"area {figures['area']['value']:.3f} over all texts, {figures['in_pairs']['value']:.3f} within pairs"
