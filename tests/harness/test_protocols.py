"""The run configurations of published tables: both harnesses read them, and run what they say."""

import json
import math
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from common import Patch, Run

from halu_tasks.core.options import Options
from halu_tasks.lm_eval_adapter.lm_eval_models import OracleLM
from halu_tasks.results.published import PROTOCOLS, published
from halu_tasks.tasks import build, registry

TASKS, GROUPS = registry()
LM_EVAL = sorted(PROTOCOLS.glob("lm_eval/*.yaml"))
INSPECT = sorted(PROTOCOLS.glob("inspect/*.yaml"))
FIGURES = published()


FAST = {"halluverse25_table3", "refact_table3"}


def runs(paths: list[Path]) -> list[Any]:
    """The files as parameters of a test that runs them, most of them only among the slow tests."""
    return [pytest.param(path, id=path.stem, marks=() if path.stem in FAST else pytest.mark.slow) for path in paths]


def members(names: list[str]) -> set[str]:
    return {member for name in names for member in (GROUPS[name].members if name in GROUPS else [name])}


def content(path: Path) -> dict[str, Any]:
    return dict(yaml.safe_load(path.read_text(encoding="utf-8")))


def judge(request: dict[str, Any]) -> str:
    """A judge and critic that finds nothing wrong."""
    if "supported" in str(request["messages"][-1]["content"]):
        return json.dumps({"critique": "…", "supported": "yes"})
    return json.dumps({"reason": "…", "verdict": "consistent"})


@pytest.fixture
def judged_here(serve: Run, monkeypatch: Patch) -> Any:
    """A server on loopback in place of the judge's."""
    server = serve(judge)
    monkeypatch.setenv("HALU_TASKS_DATA", "sample")
    return server


# --- every table has its file ---------------------------------------------------------------------


@pytest.mark.parametrize("path", [*LM_EVAL, *INSPECT], ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_file_states_where_each_value_comes_from_and_the_figures_to_compare_with(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    values = content(path)
    options = values["metadata"] if path.parent.name == "lm_eval" else values["task"]["args"]
    stated = ["num_fewshot", "gen_kwargs", *(key for key in options if key != "published")]
    stated += ["temperature", *(values.get("solver") or {}).get("args", {})]
    for number, line in enumerate(lines):
        if line.strip().partition(":")[0] in stated:
            assert lines[number - 1].strip().startswith("#"), (path, line)
    figures = values["metadata"]["published"]
    asked = {values["task"]["task"].partition("/")[2]} if "task" in values else {*values["tasks"]}
    for method in figures["methods"]:
        same = [f for f in FIGURES if f.source == figures["source"] and f.method == method]
        assert {f.task for f in same} & (asked | members(list(asked))), (path, method)
        scoring = options.get("halu_scoring", options.get("scoring", "strict"))
        assert all(f.scoring in (scoring, "both") for f in same)


def test_each_published_figure_has_a_file_for_inspect_and_for_lm_eval_unless_it_needs_a_method() -> None:
    def covered(paths: list[Path]) -> set[tuple[str, str, str]]:
        found = set()
        for path in paths:
            values = content(path)
            asked = [values["task"]["task"].partition("/")[2]] if "task" in values else values["tasks"]
            figures = values["metadata"]["published"]
            found |= {
                (figures["source"], method, task) for method in figures["methods"] for task in {*asked, *members(asked)}
            }
        return found

    # in two places, the text repeats a table, and its first row Table 3's
    elsewhere = {
        ("Factored Verification, section 2.4", "few_shot", "halueval_summarization"),
        ("FactCHD, Table 5", "tuned", "factchd"),
        # replies and verdicts are released, and scored again (docs/reanalysis)
        ("HalluQA, README.md", "prompt", "halluqa"),
        ("FActScore, Table 1", "prompt", "factscore"),
    }
    not_run = ("construction", "annotation", "submission", "submission_by_cor")
    every = {(f.source, f.method, f.task) for f in FIGURES if f.method not in not_run} - elsewhere
    assert every <= covered(INSPECT)
    plain = {"prompt", "few_shot", "cot", "claims", "tuned"}
    assert {figure for figure in every if figure[1] in plain} <= covered(LM_EVAL)


def test_both_harnesses_parse_every_file() -> None:
    from inspect_ai._cli.eval import parse_run_config
    from lm_eval.config.evaluate_config import EvaluatorConfig

    assert len(LM_EVAL) == 14 and len(INSPECT) == 20 and {path.stem for path in LM_EVAL} < {p.stem for p in INSPECT}
    for path in LM_EVAL:
        config = EvaluatorConfig.from_config(path)
        assert config.tasks == content(path)["tasks"] and set(config.tasks) <= {*TASKS, *GROUPS}
    for path in INSPECT:
        settings = parse_run_config(str(path))
        assert settings["task_args"] == content(path)["task"]["args"]
        assert settings["tasks"].removeprefix("halu_tasks/") in {*TASKS, *GROUPS}


def test_published_figures_with_a_tuned_threshold_have_rows_that_tune_it() -> None:
    tuned = [path for path in INSPECT if "tuned_threshold" in str(content(path)["metadata"]["published"])]
    for path in tuned:
        task = content(path)["task"]
        items = build(task["task"].removeprefix("halu_tasks/"), Options(data="sample", **task["args"])).items
        assert {item.tags["part"] for item in items} == {"train", "test"}, path
    assert tuned


# --- lm-eval --------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", runs(LM_EVAL))
def test_lm_eval_runs_a_file_under_its_values(
    path: Path, judged_here: Any, run_lm_eval: Run, monkeypatch: Patch
) -> None:
    from lm_eval.config.evaluate_config import EvaluatorConfig

    config = EvaluatorConfig.from_config(path)
    assert config.log_samples and config.output_path == "results"
    judged = {"halu_judge_base_url": judged_here.url} if "halu_judge" in config.metadata else {}
    chat = lambda self, history, **_: history[-1]["content"]  # noqa: E731
    monkeypatch.setattr(OracleLM, "apply_chat_template", chat)
    results = run_lm_eval(
        list(config.tasks),
        OracleLM(),
        config.metadata | judged,
        num_fewshot=config.num_fewshot,
        gen_kwargs=config.gen_kwargs,
        apply_chat_template=config.apply_chat_template,
        fewshot_as_multiturn=config.fewshot_as_multiturn,
        limit=2,
    )
    ran = {name: figures for name, figures in results["configs"].items() if name in TASKS}
    assert set(ran) == members(list(config.tasks))
    for name, ran_as in ran.items():
        assert ran_as["generation_kwargs"].items() >= config.gen_kwargs.items(), name
        assert ran_as["num_fewshot"] == config.num_fewshot
        told = ran_as["metadata"]["halu_tasks"]
        for key, value in config.metadata.items():
            if key.startswith("halu_") and (option := key.removeprefix("halu_")) in told:
                assert told[option] in (value, str(value).split(",")), (name, option)
        headline = TASKS[name].headline_metric(told["scoring"]).name
        assert not math.isnan(results["results"][name][f"{headline},none"]), name
    if judged:
        assert judged_here.asked and {request["temperature"] for request in judged_here.asked} == {0.0}


# --- Inspect --------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", runs(INSPECT))
def test_inspect_runs_a_file_under_its_values(
    path: Path, judged_here: Any, openai: Run, tmp_path: Path, monkeypatch: Patch
) -> None:
    from inspect_ai import eval as inspect_eval
    from inspect_ai._cli.eval import parse_run_config

    values = content(path)
    monkeypatch.chdir(tmp_path)
    # what a user has to bring: passages, and a key of a search engine
    Path("wikipedia").mkdir()
    rows = [{"id": item.id, "text": item.fields["evidence"]} for item in build("factchd", Options(data="sample")).items]
    Path("wikipedia/corpus.jsonl").write_text("\n".join(map(json.dumps, rows)))
    config = tmp_path / "run.yaml"
    text = path.read_text(encoding="utf-8")
    config.write_text(text.replace("tool: web_search", "tool: think"), encoding="utf-8")

    settings = parse_run_config(str(config))
    arguments = values["task"]["args"]
    if "judge" in arguments:
        settings["task_args"] = settings["task_args"] | {"judge_base_url": judged_here.url}
    # a method asks questions of its own, to which the embedded model has no reply
    model = openai(judged_here) if "solver" in values else "halu/oracle"
    (log,) = inspect_eval(**settings, model=model, limit=2, log_dir="logs", display="log", log_realtime=False)

    assert log.status == "success", log.error
    assert log.eval.task_registry_name == values["task"]["task"]
    assert log.eval.task_args.items() >= arguments.items()
    generate = values.get("generate_config", {})
    assert log.plan.config.model_dump().items() >= generate.items()
    assert re.search(r"-paper\b", log.eval.task_version) if arguments.get("scoring") else True
    if solver := values.get("solver"):
        (step,) = [step for step in log.plan.steps if step.solver == solver["solver"]]
        stated = solver.get("args", {}).items()
        assert all(step.params[name] == value for name, value in stated if name != "tool")
    judges = [asked for asked in judged_here.asked if "judge" in arguments and "solver" not in values]
    assert all(request["temperature"] == 0.0 for request in judges) and bool(judges) == (
        "judge" in arguments and "solver" not in values
    )
