"""`halu-tasks annotate`: export a built dataset to annotators in doccano, and import their labels."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from halu_tasks.cli.arguments import add_json_argument, integer, positive_int
from halu_tasks.cli.output import EXIT_PARTIAL, print_json, warn
from halu_tasks.cli.tables import figure, table

if TYPE_CHECKING:
    from halu_tasks.builders.annotation.annotation import Agreement, AnnotationReport

HELP = "export a built dataset to annotators, and import their labels (doccano)"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of both actions."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)

    export = actions.add_parser("export", help="write items for doccano, with labels and guidelines")
    export.add_argument("folder", metavar="OUT", help="the folder that `halu-tasks build` wrote to")
    export.add_argument("-o", "--output", metavar="TASKS.jsonl", required=True, help="where to write")
    export.add_argument("--sample", type=positive_int, metavar="N", help="only export a sample of N items")
    about = "seed of the sample and of the order (default: 0)"
    export.add_argument("--seed", type=integer, default=0, metavar="N", help=about)

    import_ = actions.add_parser("import", help="read labels: agreement, and the items that annotators keep")
    import_.add_argument("folder", metavar="OUT", help="the folder that the items were exported from")
    about = "doccano's export, one file for each annotator, or the zip archive of all"
    import_.add_argument("annotations", metavar="ANNOTATIONS.jsonl", nargs="+", help=about)
    about = "an item's label is that of more than half, or one that two annotators give and no other as often"
    import_.add_argument("--rule", choices=("majority", "two"), default="majority", help=about)
    about = "minimum number of labels of an item (default: 2)"
    import_.add_argument("--least", type=positive_int, default=2, metavar="N", help=about)
    import_.add_argument("-o", "--output", metavar="OUT2", help="a new folder for the items that are kept")
    add_json_argument(import_, "tables")

    verdicts = actions.add_parser("verdicts", help="draw judged replies of each model from results, to label")
    verdicts.add_argument("results", metavar="RESULTS", nargs="+", help="results of a judged task, as for report")
    about = "where to write: JSON Lines if it ends in .jsonl, otherwise CSV"
    verdicts.add_argument("-o", "--output", metavar="LABELS", required=True, help=about)
    about = "about how many verdicts of each model; whole replies are drawn (default: 150)"
    verdicts.add_argument("--sample", type=positive_int, default=150, metavar="N", help=about)
    about = "seed of the sample (default: 0)"
    verdicts.add_argument("--seed", type=integer, default=0, metavar="N", help=about)


def run(arguments: argparse.Namespace) -> int:
    """Run the action."""
    actions = {
        "export": _export,
        "import": _import,
        "verdicts": _verdicts,
    }
    return actions[arguments.action](arguments)


def _verdicts(arguments: argparse.Namespace) -> int:
    from halu_tasks.results.reference import draw_verdicts

    drawn = draw_verdicts(arguments.results, arguments.sample, arguments.seed, Path(arguments.output))
    rows = [[d.model, d.task, f"{d.verdicts:,}", f"{d.replies:,} of {d.of:,}"] for d in drawn]
    print(table(["model", "task", "verdicts", "replies"], rows, right=(2,)))
    print(
        f"\nwrite yes or no in 'label' of {arguments.output} and your name in 'by', then: "
        f"halu-tasks report RESULTS --reference {arguments.output}, or --reference with halu-tasks score"
    )
    warnings = [each.warning for each in drawn if each.warning]
    for warning in warnings:
        warn(warning)
    return EXIT_PARTIAL if warnings else 0


def _export(arguments: argparse.Namespace) -> int:
    from halu_tasks.builders.run.folder import Folder
    from halu_tasks.builders.workflow.annotate import export_items

    output = Path(arguments.output)
    count = export_items(Folder(Path(arguments.folder)), output, arguments.sample, arguments.seed)
    print(f"{count:,} items in {output}, with labels and guidelines in files next to it")
    return 0


def _import(arguments: argparse.Namespace) -> int:
    from halu_tasks.builders.run.folder import Folder
    from halu_tasks.builders.workflow.annotate import import_labels

    output = Path(arguments.output) if arguments.output else None
    annotations = [Path(path) for path in arguments.annotations]
    labels = import_labels(Folder(Path(arguments.folder)), annotations, arguments.rule, arguments.least, output)
    if arguments.json:
        print_json(labels.report.to_json())
    else:
        _show(labels.report, output)
    for problem in labels.problems:
        warn(problem)
    return EXIT_PARTIAL if labels.problems else 0


def _show(report: AnnotationReport, output: Path | None) -> None:
    from halu_tasks.builders.workflow.annotate import format_counts

    print(f"rule: {report.rule}, with {report.least} labels or more\n")
    rows = [
        [
            annotator.name,
            f"{annotator.labels:,}",
            f"{annotator.rows:,}",
            format_counts(annotator.left_out),
            f"{annotator.comments:,}",
        ]
        for annotator in report.annotators
    ]
    print(table(["annotator", "labels", "rows", "rows without a label", "comments"], rows, right=(1, 2, 4)) + "\n")
    _show_agreement(report.agreement)
    rows = [[name, f"{label.n:,}", figure(label.share)] for name, label in report.labels.items()]
    print("\n" + table(["label of an item", "items", "share, 95% interval"], rows, right=(1,)) + "\n")
    print(f"kept {report.kept:,} of {report.items:,} items, {report.relabelled:,} of them changed")
    dropped = [
        [reason, kind, f"{count:,}"] for reason, kinds in report.dropped.items() for kind, count in kinds.items()
    ]
    if dropped:
        print("\n" + table(["dropped for", "kind", "items"], dropped, right=(2,)))
    print(f"\nwritten to {output}" if output else "\nnothing was written; to keep the items, name a folder with -o")


def _show_agreement(agreement: Agreement) -> None:
    size, items = agreement.annotators_per_item, f"{agreement.items:,}"
    rows = [
        [f"pairwise agreement ({size} labels per item)", items, figure(agreement.pairwise_agreement)],
        [f"Fleiss' kappa ({size} labels per item)", items, figure(agreement.fleiss_kappa)],
        ["Krippendorff's alpha (2 labels per item or more)", "", figure(agreement.krippendorff_alpha)],
    ]
    for pair in agreement.pairs:
        names = ", ".join(pair.annotators)
        rows.append([f"agreement ({names})", f"{pair.items:,}", figure(pair.agreement)])
        rows.append([f"Cohen's kappa ({names})", f"{pair.items:,}", figure(pair.cohen_kappa)])
    print(table(["agreement", "items", "value, 95% interval"], rows, right=(1,)))
    if count := agreement.with_other_numbers:
        print(f"not in the first two, because they have more or fewer labels: {count:,} items")
