"""`halu-tasks annotate`: export a built dataset to annotators in doccano, and import their labels."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from halu_tasks.cli.arguments import add_json_argument, integer, positive_int
from halu_tasks.cli.output import EXIT_PARTIAL, print_json, warn
from halu_tasks.cli.tables import figure, table

if TYPE_CHECKING:
    from halu_tasks.builders.annotation import AnnotationReport, LabelAgreement
    from halu_tasks.builders.verification import VerificationReport

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

    parts = actions.add_parser("export-parts", help="write a sample of parts of drafts, with and without verification")
    parts.add_argument("folder", metavar="OUT", help="the folder that `halu-tasks build haluagent` wrote to")
    parts.add_argument("-o", "--output", metavar="PARTS", required=True, help="a new folder")
    about = (
        "number of answers, of hallucinated answers and of labels, each with and without verification (default: 300)"
    )
    parts.add_argument("--sample", type=positive_int, default=300, metavar="N", help=about)
    about = "seed of the samples and of the order (default: 0)"
    parts.add_argument("--seed", type=integer, default=0, metavar="N", help=about)

    import_parts = actions.add_parser("import-parts", help="read labels of parts: what the verifier is worth")
    import_parts.add_argument("folder", metavar="PARTS", help="the folder that the parts were exported to")
    for kind in ("answer", "response", "label"):
        about = f"doccano's exports of {kind}.jsonl, one file for each annotator, or the zip archive of all"
        import_parts.add_argument(f"--{kind}", metavar="ANNOTATIONS.jsonl", nargs="+", default=[], help=about)
    add_json_argument(import_parts, "tables")

    verdicts = actions.add_parser("verdicts", help="draw judged replies from results, for people to label")
    verdicts.add_argument("results", metavar="RESULTS", nargs="+", help="results of a judged task, as for report")
    about = "where to write: JSON Lines if it ends in .jsonl, otherwise CSV"
    verdicts.add_argument("-o", "--output", metavar="LABELS", required=True, help=about)
    about = "number of verdicts (default: 150)"
    verdicts.add_argument("--sample", type=positive_int, default=150, metavar="N", help=about)
    about = "seed of the sample (default: 0)"
    verdicts.add_argument("--seed", type=integer, default=0, metavar="N", help=about)


def run(arguments: argparse.Namespace) -> int:
    """Run the action."""
    actions = {
        "export": _export,
        "import": _import,
        "export-parts": _export_parts,
        "import-parts": _import_parts,
        "verdicts": _verdicts,
    }
    return actions[arguments.action](arguments)


def _verdicts(arguments: argparse.Namespace) -> int:
    from halu_tasks.results.human_labels import draw_verdicts

    drawn, verdicts = draw_verdicts(arguments.results, arguments.sample, arguments.seed, Path(arguments.output))
    print(
        f"{drawn:,} of {verdicts:,} verdicts in {arguments.output}; write yes or no in 'hallucinated', then: "
        f"halu-tasks report RESULTS --human {arguments.output}, or --human with halu-tasks score"
    )
    return 0


def _export(arguments: argparse.Namespace) -> int:
    from halu_tasks.builders.annotate import export_items
    from halu_tasks.builders.folder import Folder

    output = Path(arguments.output)
    count = export_items(Folder(Path(arguments.folder)), output, arguments.sample, arguments.seed)
    print(f"{count:,} items in {output}, with labels and guidelines in files next to it")
    return 0


def _import(arguments: argparse.Namespace) -> int:
    from halu_tasks.builders.annotate import import_labels
    from halu_tasks.builders.folder import Folder

    output = Path(arguments.output) if arguments.output else None
    annotations = [Path(path) for path in arguments.annotations]
    report = import_labels(Folder(Path(arguments.folder)), annotations, arguments.rule, arguments.least, output)
    if arguments.json:
        print_json(report.as_json())
    else:
        _show(report, output)
    problems = {each.name: each.problem for each in report.annotators if each.problem}
    return _warn_of(problems)


def _warn_of(problems: Mapping[str, str]) -> int:
    for name, problem in problems.items():
        warn(f"annotator {name}: {problem}")
    return EXIT_PARTIAL if problems else 0


def _export_parts(arguments: argparse.Namespace) -> int:
    from halu_tasks.builders.folder import Folder
    from halu_tasks.builders.verification import KEY, export_parts

    output = Path(arguments.output)
    counts = export_parts(Folder(Path(arguments.folder)), output, arguments.sample, arguments.seed)
    rows = [
        [str(output / f"{kind}.jsonl"), *(f"{count:,}" for count in arms.values())] for kind, arms in counts.items()
    ]
    print(table(["file", *next(iter(counts.values()))], rows, right=(1, 2)))
    print(f"\nlabels and guidelines are next to each file; keep {output / KEY} from annotators")
    if short := [kind for kind, arms in counts.items() if min(arms.values()) < arguments.sample]:
        warn(f"there are fewer than {arguments.sample:,} of some: {', '.join(short)}")
        return EXIT_PARTIAL
    return 0


def _import_parts(arguments: argparse.Namespace) -> int:
    from halu_tasks.builders.records import to_json
    from halu_tasks.builders.verification import import_parts
    from halu_tasks.core.errors import UsageError

    given = {kind: getattr(arguments, kind) for kind in ("answer", "response", "label")}
    annotations = {kind: [Path(path) for path in paths] for kind, paths in given.items() if paths}
    if not annotations:
        raise UsageError("name annotators' files with --answer, --response or --label")
    report = import_parts(Path(arguments.folder), annotations)
    if arguments.json:
        print_json(to_json(report))
    else:
        _show_parts(report)
    return _warn_of(report.problems)


def _show_parts(report: VerificationReport) -> None:
    rows, agreements = [], []
    for kind, arms in report.kinds.items():
        for arm, result in arms.items():
            right = figure(result.right.share if result.right else None)
            rows.append([kind, arm, f"{result.items:,}", f"{result.labelled:,}", right])
            agreements += [[kind, arm, *cells] for cells in _agreement_rows(result.agreement)]
    print(table(["part", "drafts", "sampled", "labelled", "right, 95% interval"], rows, right=(2, 3)))
    print("\n" + table(["part", "drafts", *_AGREEMENT], agreements, right=(3,)))


def _show(report: AnnotationReport, output: Path | None) -> None:
    from halu_tasks.builders.annotation import format_counts

    print(f"rule: {report.rule}, with {report.least} labels or more\n")
    rows = [
        [
            annotator.name,
            f"{len(annotator.labels):,}",
            f"{annotator.rows:,}",
            format_counts(annotator.left_out),
        ]
        for annotator in report.annotators
    ]
    print(table(["annotator", "labels", "rows", "rows without a label"], rows, right=(1, 2)) + "\n")
    print(table(_AGREEMENT, _agreement_rows(report.agreement), right=(1,)))
    rows = [[name, f"{label.n:,}", figure(label.share)] for name, label in report.labels.items()]
    print("\n" + table(["label of an item", "items", "share, 95% interval"], rows, right=(1,)) + "\n")
    print(f"kept {report.kept:,} of {report.items:,} items, {report.relabelled:,} of them changed")
    dropped = [
        [reason, kind, f"{count:,}"] for reason, kinds in report.dropped.items() for kind, count in kinds.items()
    ]
    if dropped:
        print("\n" + table(["dropped for", "kind", "items"], dropped, right=(2,)))
    print(f"\nwritten to {output}" if output else "\nnothing was written; to keep the items, name a folder with -o")


_AGREEMENT = ["agreement of", "items", "pairwise agreement", "Krippendorff's alpha"]


def _agreement_rows(agreement: Mapping[str, LabelAgreement]) -> list[list[str]]:
    return [[who, f"{items:,}", figure(agreed), figure(alpha)] for who, (items, agreed, alpha) in agreement.items()]
