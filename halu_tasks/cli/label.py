"""`label`: what people check by hand: drawn from results or built datasets, and read back."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from halu_tasks.cli.command import Count
from halu_tasks.cli.output import EXIT_PARTIAL, print_record, table, warn

Labels = Annotated[Path, "-o", "--output", "LABELS"]
Annotations = Annotated[Sequence[Path], "ANNOTATIONS.jsonl"]


def verdicts(results: Sequence[str], *, output: Labels, sample: Count = 150, seed: int = 0) -> int:
    """Draw judged replies of each model from results, to label.

    Args:
        results: results of a judged task, as for report
        output: where to write: JSON Lines if it ends in .jsonl, otherwise CSV
        sample: about how many verdicts of each model; whole replies are drawn
        seed: seed of the sample
    """
    from halu_tasks.results.reference import draw_verdicts

    drawn = draw_verdicts(results, sample, seed, output)
    rows = [
        {"model": d.model, "task": d.task, "verdicts": f"{d.verdicts:,}", "replies": f"{d.replies:,} of {d.of:,}"}
        for d in drawn
    ]
    print(table(rows))
    print(
        f"\nwrite yes or no in 'label' of {output} and your name in 'by', then: "
        f"halu-tasks report RESULTS --reference {output}, or --reference with halu-tasks score"
    )
    warnings = [each.warning for each in drawn if each.warning]
    for warning in warnings:
        warn(warning)
    return EXIT_PARTIAL if warnings else 0


def items(
    folder: Path,
    *,
    output: Annotated[Path, "-o", "--output", "TASKS.jsonl"],
    sample: Count | None = None,
    seed: int = 0,
) -> None:
    """Write the items of a built dataset for doccano, with labels and guidelines.

    Args:
        folder: the folder that `halu-tasks build` wrote to
        output: where to write
        sample: only export a sample of N items
        seed: seed of the sample and of the order
    """
    from halu_tasks.builders.annotation import export_items
    from halu_tasks.builders.folder import Folder

    count = export_items(Folder(folder), output, sample, seed)
    print(f"{count:,} items in {output}, with labels and guidelines in files next to it")


def import_items(
    folder: Path,
    annotations: Annotations,
    *,
    rule: Literal["majority", "two"] = "majority",
    least: Count = 2,
    output: Annotated[Path | None, "-o", "--output", "FOLDER"] = None,
    json: bool = False,
) -> int:
    """Read the labels of items: agreement, and the items that annotators keep.

    Args:
        folder: the folder that the items were exported from
        annotations: doccano's export, one file for each annotator, or the zip archive of all
        rule: an item's label is that of more than half, or one that two annotators give and no other as often
        least: minimum number of labels of an item
        output: a new folder for the items that are kept
        json: print one JSON object instead of YAML
    """
    from halu_tasks.builders.annotation import import_labels
    from halu_tasks.builders.folder import Folder

    report = import_labels(Folder(folder), annotations, rule, least, output)
    print_record(report.as_json(), as_json=json)
    if not json:
        print(f"\nwritten to {output}" if output else "\nnothing was written; to keep the items, name a folder with -o")
    problems = [f"annotator {each.name}: {each.problem}" for each in report.annotators if each.problem]
    for problem in problems:
        warn(problem)
    return EXIT_PARTIAL if problems else 0
