"""Write the recomputed figures as records of Every Eval Ever: one for each model of a table.

    python docs/reanalysis/records.py FOLDER ORGANIZATION

HALU_TASKS_DATA names the folder with the released data, as for make.py. ORGANIZATION is who publishes the records. They
have the figures with intervals, and neither replies nor labels, which are where they were released. Mu-SHROOM has none:
of its systems, only figures are released.
"""

from __future__ import annotations

import json
import os
import sys
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import make
import yaml

from halu_tasks import __version__
from halu_tasks.core.hashing import stable_hash
from halu_tasks.core.options import Options
from halu_tasks.exports.common import write_new
from halu_tasks.exports.every_eval_ever import SCHEMA_VERSION
from halu_tasks.replies.score_file import score_file
from halu_tasks.results.published import published
from halu_tasks.scorers.metrics import Estimate, Metric
from halu_tasks.scorers.score import ScoredReply
from halu_tasks.tasks.task_registry import registry

MODELS: Mapping[str, Mapping[str, str]] = yaml.safe_load((make.HERE / "models.yaml").read_text(encoding="utf-8"))


class Result(NamedTuple):
    """A figure of a model.

    Attributes:
        name: What is measured, as `task.metric`.
        about: What the metric means.
        lower_is_better: Its direction.
        figure: The figure, from 0 to 1.
        items: How many items it is of.
        facts: What else there is to say, such as who judged.
    """

    name: str
    about: str
    lower_is_better: bool
    figure: Estimate
    items: int
    facts: Mapping[str, str]


class Table(NamedTuple):
    """A recomputed table.

    Attributes:
        name: The name of the benchmark, also of the folder.
        title: As the page has it.
        paper: The arXiv number.
        data: Where its data are.
        results: The results by the name of the model.
    """

    name: str
    title: str
    paper: str
    data: str
    results: Mapping[str, Sequence[Result]]


def _result(name: str, about: str, metric: Metric, scores: Sequence[ScoredReply], **facts: str) -> Result:
    counted = sum(fact in score.facts for score in scores for fact in metric.columns)
    lower = metric.higher_is_better is False
    return Result(name, about, lower, make.figure_of(metric, scores), counted, facts)


def halluqa(data: Path) -> Table:
    """Return HalluQA's table of 24 models."""
    printed = make.PUBLISHED["halluqa"]["rows"]
    questions = json.loads((data / "halluqa" / "HalluQA.json").read_text(encoding="utf-8"))
    category = {row["question_id"]: row["Category"] for row in questions}
    about = "share of 450 Chinese questions that are answered without a hallucination, by GPT-4's released verdicts"
    results = {}
    for model, values in printed.items():
        scores = make.halluqa_scores(make.halluqa_replies(data, model), category)
        results[model] = [_result("halluqa.acc", about, make.RIGHT, scores, published=str(values[-1] / 100))]
    return Table("halluqa", "HalluQA", "2310.03368", "https://github.com/OpenMOSS/HalluQA", results)


def factscore(data: Path) -> Table:
    """Return FActScore's table of three systems."""
    about = "mean share of the atomic facts of a biography that people call supported, of those who got an answer"
    results = {}
    for figure in published():
        if figure.source.startswith("FActScore"):
            file = make.biographies(data, figure.model, "paper")
            wrote = sum(score.facts["claims"] > 0 for score in file.scores)
            estimate = file.estimates["acc_attempted"]
            facts = {"published": f"{figure.value:.3f}", "scoring": "paper"}
            results[figure.model] = [Result("factscore.acc_attempted", about, False, estimate, wrote, facts)]
    home = "https://github.com/google-deepmind/long-form-factuality"
    return Table("factscore", "FActScore", "2305.14251", home, results)


def truthfulqa_multi(data: Path) -> Table:
    """Return people's labels of four models in five languages."""
    folder, people = data / "truthfulqa_multi", make.PUBLISHED["truthfulqa_multi"]["people"]
    results: dict[str, list[Result]] = {model: [] for model in people}
    for place, (language, name) in enumerate(make.LANGUAGES.items()):
        labels = make.people_labels(folder / f"{language}.csv", folder / f"base_{language}.csv")
        scores = [replace(score, id=score.cluster) for score in make.truthful(labels)]
        for model, values in people.items():
            own = [score for score in scores if score.tags["model"] == model]
            about = f"share of 100 replies in {name} that people call"
            facts = {"language": language, "published": str(values["truthfulness"][place] / 100)}
            results[model] += [
                _result(f"truthfulqa_multi_{language}.truthful", f"{about} truthful", make.TRUE, own, **facts),
                _result(
                    f"truthfulqa_multi_{language}.truthful_and_informative",
                    f"{about} truthful and informative",
                    make.BOTH,
                    own,
                    language=language,
                ),
            ]
    home = "https://github.com/hitz-zentroa/truthfulqa-multi"
    return Table("truthfulqa_multi", "TruthfulQA-multi", "2502.09387", home, results)


def refact(data: Path) -> Table:
    """Return the headlines of the two models of ReFACT whose replies are in the data, in `strict`."""
    results: dict[str, list[Result]] = {}
    for model, folder in make.REFACT.items():
        for task in registry()[1]["refact"].members:
            replies = str(data / "refact_outputs" / folder / f"{task}.jsonl")
            file = score_file(task, Options(data=str(data)), [replies], partial=True, keep=True)
            name = file.evaluation.task.headline
            (metric,) = (metric for metric in file.evaluation.all_metrics if metric.name == name)
            lower, count = metric.higher_is_better is False, len(file.scores)
            one = Result(f"{task}.{name}", metric.about, lower, file.estimates[name], count, {"scoring": "strict"})
            results.setdefault(model, []).append(one)
    return Table("refact", "ReFACT", "2509.25868", "https://github.com/ddz5431/ReFACT", results)


def faithbench(data: Path) -> Table:
    """Return the ten models that wrote FaithBench's summaries."""
    names = make.PUBLISHED["faithbench"]["rows"]
    scores = make.summaries(data, "any", make.writers(data), names)
    about = "share of a model's summaries in which anybody marks an unwanted hallucination"
    results = {
        model: [_result("faithbench.unwanted", about, make.UNWANTED, own, labels="people")]
        for model, own in scores.items()
    }
    return Table("faithbench", "FaithBench", "2410.13210", "https://github.com/vectara/FaithBench", results)


def records(data: Path, organization: str, retrieved: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the path of each record below the folder, and the record.

    Args:
        data: The folder with the released data.
        organization: Who publishes the records.
        retrieved: When the released data were read, in seconds since 1970.
    """
    ids = {name: (id_, weights) for weights, named in MODELS.items() for name, id_ in named.items()}
    for make_table in (halluqa, factscore, truthfulqa_multi, refact, faithbench):
        table = make_table(data)
        for model, results in table.results.items():
            id_, weights = ids[model]
            digest = stable_hash("reanalysis", table.name, model, __version__)
            identity = str(uuid.UUID(bytes=bytes.fromhex(digest)[:16], version=4))
            developer, _, name = id_.partition("/")
            yield (
                f"data/halu-tasks__{table.name}/{developer}/{name}/{identity}.json",
                {
                    "schema_version": SCHEMA_VERSION,
                    "evaluation_id": f"halu-tasks__{table.name}/{model.replace('/', '_')}/{__version__}",
                    "retrieved_timestamp": str(retrieved),
                    "source_metadata": {
                        "source_name": f"halu-tasks: {table.title}, recomputed from released replies and labels",
                        "source_type": "evaluation_run",
                        "source_organization_name": organization,
                        "evaluator_relationship": "third_party",
                        "additional_details": {"paper": f"https://arxiv.org/abs/{table.paper}"},
                    },
                    "eval_library": {"name": "halu_tasks", "version": __version__},
                    "model_info": {
                        "name": model,
                        "id": id_,
                        "developer": developer,
                        "additional_details": {"deployment_type": "unknown", "model_availability": weights},
                    },
                    "evaluation_results": [_as_json(table, result) for result in results],
                },
            )


def _as_json(table: Table, result: Result) -> dict[str, Any]:
    figure = result.figure
    uncertainty: dict[str, Any] = {"num_samples": result.items}
    if figure.stderr is not None:
        uncertainty["standard_error"] = {"value": figure.stderr, "method": "jackknife over clusters"}
    if figure.low is not None and figure.high is not None:
        method = "from the jackknife over clusters"
        ends = {"lower": figure.low, "upper": figure.high, "confidence_level": 0.95, "method": method}
        uncertainty["confidence_interval"] = ends
    return {
        "evaluation_result_id": result.name,
        "evaluation_name": result.name.rpartition(".")[0],
        "source_data": {"dataset_name": table.title, "source_type": "url", "url": [table.data]},
        "metric_config": {
            "evaluation_description": result.about,
            "metric_id": f"halu_tasks.{result.name}",
            "metric_name": result.name.rpartition(".")[2],
            "metric_unit": "proportion",
            "lower_is_better": result.lower_is_better,
            "score_type": "continuous",
            "min_score": 0.0,
            "max_score": 1.0,
        },
        "score_details": {"score": figure.value, "details": dict(result.facts), "uncertainty": uncertainty},
    }


def main(arguments: Sequence[str]) -> str | None:
    """Write the records; return what is wrong, if anything is."""
    data = Path(os.environ.get("HALU_TASKS_DATA") or "?")
    if len(arguments) != 2:
        return "usage: records.py FOLDER ORGANIZATION"
    if not data.is_dir():
        return "HALU_TASKS_DATA: name the folder with the released data"
    folder = Path(arguments[0])
    made = dict(records(data, arguments[1], int(time.time())))
    as_bytes = {
        path: (json.dumps(record, ensure_ascii=False, indent=1) + "\n").encode() for path, record in made.items()
    }
    write_new({folder / path: content for path, content in as_bytes.items()})
    print(f"{len(made)} records in {folder}")
    return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
