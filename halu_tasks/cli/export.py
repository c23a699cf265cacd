"""`export`: results, built datasets and training data in the formats of other tools."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from halu_tasks.cli.command import Count, ItemOptions, Output
from halu_tasks.cli.output import EXIT_PARTIAL, warn
from halu_tasks.core.errors import UsageError

if TYPE_CHECKING:
    from halu_tasks.exports.write import ExportOutcome

ModelIds = Annotated[Sequence[str], "NAME=ORGANIZATION/NAME"]


def eee(
    results: Sequence[str],
    *,
    output: Output,
    model_id: ModelIds = (),
    organization: Annotated[str, "NAME"] = "unknown",
    relationship: Literal["first_party", "third_party", "collaborative", "other"] = "other",
) -> int:
    """Export results in the schema of Every Eval Ever: a record for each run, and a row for each reply.

    Args:
        results: results as for report
        output: where to write; files that are there are not replaced
        model_id: the id of a model on the Hub, by its name in the results
        organization: the organization that publishes the results
        relationship: what it is to those who made the model
    """
    from halu_tasks.exports.every_eval_ever import Publisher
    from halu_tasks.exports.write import export_eee

    publisher = Publisher(organization, relationship)
    return _print(export_eee(results, output.expanduser(), _ids(model_id, "--model-id"), publisher, warn))


def hub(
    results: Sequence[str],
    *,
    output: Output,
    model_id: ModelIds = (),
    dataset: Annotated[Sequence[str], "BENCHMARK=OWNER/NAME"] = (),
    partial: bool = False,
    source: Annotated[str | None, "URL"] = None,
) -> int:
    """Export results as .eval_results files of models, or a built dataset with an eval.yaml, for the Hugging Face Hub.

    Args:
        results: results as for report; or the folder of a build, whose dataset is written with an eval.yaml
        output: where to write; files that are there are not replaced
        model_id: the id of a model on the Hub, by its name in the results
        dataset: the dataset of the Hub with the leaderboard of a benchmark, for results whose data are not from there;
            BENCHMARK is a name from `halu-tasks data`
        partial: also export results on a part of the items (`--limit`); their notes say of how many
        source: an address where the results are published in full
    """
    from halu_tasks.exports.community_evals import Target
    from halu_tasks.exports.write import export_hub

    target = Target(_ids(dataset, "--dataset"), source)
    ids = _ids(model_id, "--model-id")
    return _print(export_hub(results, output.expanduser(), ids, target, warn, partial=partial))


def chats(
    task: str,
    *,
    options: ItemOptions,
    knowledge: Annotated[str | None, "PATH|gold"] = None,
    top: Count = 5,
    output: Annotated[Path | None, "-o", "--output", "FILE"] = None,
) -> None:
    """Export the training part of a benchmark as chats, one JSON line each; with --knowledge, after passages.

    Args:
        task: a task whose benchmark has a training part (factchd)
        options: which data, and how they are asked
        knowledge: put passages before each question, as the solver with_knowledge does: a file, a folder, or gold
        top: how many passages --knowledge looks up (FactCHD, section 5.3.4)
        output: where to write (default: standard output)
    """
    from halu_tasks.core.files import atomic_write
    from halu_tasks.core.json_lines import json_line
    from halu_tasks.tasks import task_named
    from halu_tasks.tasks.asking import training_chats

    benchmark = task_named(task)
    if len(options.prompts) > 1:
        raise UsageError(f"--prompts {','.join(options.prompts)}: expected one file, got {len(options.prompts)}")
    questions = None
    if knowledge is not None:
        from halu_tasks.solvers.knowledge import informed_questions

        questions = informed_questions(benchmark, knowledge, top, next(iter(options.prompts), None))
    rows = training_chats(benchmark, options, *([questions] if questions else []))
    with ExitStack() as stack:
        file = stack.enter_context(atomic_write(output, "export")) if output else sys.stdout
        for chat in rows:
            file.write(json_line(chat) + "\n")


def _ids(arguments: Sequence[str], flag: str) -> dict[str, str]:
    """Parse arguments `NAME=OWNER/NAME`; the first name may contain `=`.

    Raises:
        UsageError: An argument is not of this form, or gives a name two ids.
    """
    ids: dict[str, str] = {}
    for text in arguments:
        name, _, own = text.rpartition("=")
        owner, _, rest = own.partition("/")
        if not (name and owner and rest) or "/" in rest or not own.isprintable() or " " in own:
            raise UsageError(f"{flag}: expected NAME=OWNER/NAME, got {text!r}")
        if ids.setdefault(name, own) != own:
            raise UsageError(f"{flag}: {name!r} is given two ids, {ids[name]} and {own}")
    return ids


def _print(outcome: ExportOutcome) -> int:
    """Print the files of an export, and what they lack; return the exit status."""
    for note in outcome.notes:
        warn(note)
    for file in outcome.files:
        print(file)
    return EXIT_PARTIAL if outcome.incomplete else 0
