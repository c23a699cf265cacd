"""`label`: what people check by hand: drawn from results or built datasets, and read back."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from halu_tasks.cli.command import Count
from halu_tasks.cli.output import EXIT_PARTIAL, figure, print_json, print_record, table, warn
from halu_tasks.core.errors import UsageError

Labels = Annotated[Path, "-o", "--output", "LABELS"]
NewFolder = Annotated[Path, "-o", "--output", "FOLDER"]
Annotations = Annotated[Sequence[Path], "ANNOTATIONS.jsonl"]


def verdicts(results: Sequence[str], *, output: Labels, sample: Count = 150, seed: int = 0) -> None:
    """Draw judged replies from results, for people to label.

    Args:
        results: results of a judged task, as for report
        output: where to write: JSON Lines if it ends in .jsonl, otherwise CSV
        sample: number of verdicts
        seed: seed of the sample
    """
    from halu_tasks.results.human_labels import draw_verdicts

    drawn, number = draw_verdicts(results, sample, seed, output)
    print(
        f"{drawn:,} of {number:,} verdicts in {output}; write yes or no in 'hallucinated', then: "
        f"halu-tasks report RESULTS --human {output}, or --human with halu-tasks score"
    )


def reports(results: Sequence[str], *, output: Labels, sample: Count = 100, seed: int = 0) -> None:
    """Draw reported hallucinations (fave), for people to confirm.

    Args:
        results: results of fave, as for report
        output: where to write (CSV)
        sample: number of reports
        seed: seed of the sample
    """
    from halu_tasks.results.adjustment import draw_reports

    drawn, number = draw_reports(results, sample, seed, output)
    print(
        f"{drawn:,} of {number:,} reported hallucinations in {output}; write yes or no in 'confirmed': is the claim "
        f"unsupported by the papers? Then: halu-tasks label factor {output}"
    )


def factor(checks: Path, *, json: bool = False) -> int:
    """Estimate the share of reported hallucinations that people confirm (fave).

    Args:
        checks: the labelled reports: a file with 'id' and 'confirmed' (yes or no)
        json: print one JSON object instead of text
    """
    from halu_tasks.results.adjustment import adjustment_of, read_checks

    adjustment = adjustment_of(read_checks(checks))
    if json:
        print_json(adjustment.as_json())
    else:
        value, error = f"{adjustment.factor.value:.4f}", f"{adjustment.error:.4f}"
        print(
            f"{adjustment.confirmed} of {adjustment.checked} reports confirmed, from {adjustment.summaries} summaries\n"
            f"adjustment factor: {figure(adjustment.factor)}, standard error {error}\n\n"
            "to use it:\n"
            f"  halu-tasks score  --adjustment {value} --adjustment-error {error}\n"
            f"  Inspect           -T adjustment={value} -T adjustment_error={error}\n"
            f"  lm-eval           --metadata halu_adjustment={value},halu_adjustment_error={error}"
        )
    if adjustment.unlabelled:
        warn(f"{adjustment.unlabelled} of {adjustment.unlabelled + adjustment.checked} reports have no label")
    return EXIT_PARTIAL if adjustment.unlabelled else 0


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
    from halu_tasks.builders.annotate import export_items
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
    from halu_tasks.builders.annotate import import_labels
    from halu_tasks.builders.folder import Folder

    report = import_labels(Folder(folder), annotations, rule, least, output)
    print_record(report.as_json(), as_json=json)
    if not json:
        print(f"\nwritten to {output}" if output else "\nnothing was written; to keep the items, name a folder with -o")
    problems = [f"annotator {each.name}: {each.problem}" for each in report.annotators if each.problem]
    for problem in problems:
        warn(problem)
    return EXIT_PARTIAL if problems else 0


def parts(folder: Path, *, output: NewFolder, sample: Count = 300, seed: int = 0) -> int:
    """Write a sample of parts of drafts, with and without verification.

    Args:
        folder: the folder that `halu-tasks build haluagent` wrote to
        output: a new folder
        sample: number of answers, of hallucinated answers and of labels, each with and without verification
        seed: seed of the samples and of the order
    """
    from halu_tasks.builders.folder import Folder
    from halu_tasks.builders.verification import KEY, export_parts

    counts = export_parts(Folder(folder), output, sample, seed)
    print(table([{"file": str(output / f"{kind}.jsonl"), **arms} for kind, arms in counts.items()]))
    print(f"\nlabels and guidelines are next to each file; keep {output / KEY} from annotators")
    if short := [kind for kind, arms in counts.items() if min(arms.values()) < sample]:
        warn(f"there are fewer than {sample:,} of some: {', '.join(short)}")
        return EXIT_PARTIAL
    return 0


def import_parts(
    folder: Path,
    *,
    answer: Annotations = (),
    response: Annotations = (),
    label: Annotations = (),
    json: bool = False,
) -> int:
    """Read the labels of parts: what the verifier is worth.

    Args:
        folder: the folder that the parts were exported to
        answer: doccano's exports of answer.jsonl, one file for each annotator, or the zip archive of all
        response: those of response.jsonl
        label: those of label.jsonl
        json: print one JSON object instead of YAML
    """
    from halu_tasks.builders.records import to_json
    from halu_tasks.builders.verification import import_parts as read_parts

    annotations = {"answer": answer, "response": response, "label": label}
    given = {kind: paths for kind, paths in annotations.items() if paths}
    if not given:
        raise UsageError("name annotators' files with --answer, --response or --label")
    report = read_parts(folder, given)
    print_record(to_json(report), as_json=json)
    for name, problem in report.problems.items():
        warn(f"annotator {name}: {problem}")
    return EXIT_PARTIAL if report.problems else 0
