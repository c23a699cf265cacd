"""Scorers by name on samples of a user's own, in both harnesses, with values computed by hand."""

from __future__ import annotations

import json
import logging
import os
import pickle
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from cases import CASES
from common import Caplog, Patch, Run, write_rows
from inspect_ai import Task, eval, score
from inspect_ai.dataset import Sample
from inspect_ai.log import write_eval_log
from inspect_ai.model import ModelOutput
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.util import registry_create
from judges import figures
from programs import IS_LM_EVAL_0_5, run

from halu_tasks.core.errors import UsageError

PAGE = Path(__file__).resolve().parents[2] / "docs" / "scorers.md"
TEXT = "The cat sat on the red mat"


@solver
def replies_with(replies: dict[str, str]) -> Solver:
    """Answers each sample, by its id, without a model."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        state.output = ModelOutput.from_content("none", replies[str(state.sample_id)])
        return state

    return solve


@pytest.fixture
def scored(tmp_path: Path) -> Run:
    """`scored(scorer, samples, replies, **arguments)` scores samples by a registered scorer; returns the log."""

    def run(name: str, samples: Sequence[Sample], replies: Sequence[str], epochs: int = 1, **arguments: Any) -> Any:
        by_id = {}
        for number, (sample, reply) in enumerate(zip(samples, replies, strict=True)):
            sample.id = f"s{number}"
            by_id[sample.id] = reply
        scorer = registry_create("scorer", f"halu_tasks/{name}", **arguments)
        (log,) = eval(
            Task(dataset=list(samples), solver=replies_with(by_id), scorer=scorer, epochs=epochs),
            model="mockllm/model", log_dir=str(tmp_path / "logs"), display="none", log_realtime=False,
        )  # fmt: skip
        return log

    return run


def values(log: Any) -> list[Any]:
    assert log.status == "success", log.error
    return [next(iter(sample.scores.values())).value for sample in log.samples]


def spans(*at: tuple[int, int], **metadata: Any) -> Sample:
    return Sample(input="?", metadata={"text": TEXT, "spans": [list(span) for span in at], **metadata})


def target(*strings: str, **metadata: Any) -> Sample:
    return Sample(input="?", target=strings[0] if len(strings) == 1 else list(strings), metadata=metadata)


# --- Inspect ----------------------------------------------------------------------------------------


def test_iou_with_its_error_by_cluster(scored: Run) -> None:
    samples = [spans((19, 26), cluster="a"), spans((19, 26), cluster="a"), spans((19, 26), cluster="b")]
    log = scored("iou", samples, ["red mat", "sat on the red mat", "I cannot tell which words are wrong."])
    assert values(log) == pytest.approx([1, 7 / 18, 0])
    found = figures(log)
    assert found["iou"] == pytest.approx(25 / 54)
    # without cluster a the mean is 0, without b it is 25/36: half of what lies between
    assert found["iou_stderr"] == pytest.approx(25 / 72)
    assert 0 <= found["iou_low"] < 25 / 54 < found["iou_high"] <= 1
    assert (found["abstained"], found["unparsed"], found["empty"]) == pytest.approx((1 / 3, 0, 0))
    details = log.samples[1].scores["iou"]
    assert details.answer == "sat on the red mat"
    assert details.metadata["facts"]["shared_chars"] == 7 and details.metadata["outcome"] == "answered"


def test_without_a_cluster_each_sample_is_one_and_its_epochs_belong_to_it(scored: Run) -> None:
    samples = [spans((19, 26)), spans((19, 26))]
    once = figures(scored("iou", samples, ["red mat", "cat"]))
    assert (once["iou"], once["iou_stderr"]) == pytest.approx((0.5, 0.5))
    again = figures(scored("iou", samples, ["red mat", "cat"], epochs=3))
    assert again["iou_stderr"] == pytest.approx(once["iou_stderr"])


def test_iou_of_fields_under_other_names_and_a_sentence(scored: Run) -> None:
    sample = Sample(input="?", metadata={"passage": "A is. B was.", "errors": [[6, 12]], "article": 7})
    names = {"text": "passage", "spans": "errors", "cluster": "article"}
    log = scored("iou", [sample], ["Wrong sentence: B was."], returns="sentence", **names)
    assert values(log) == [1]
    assert log.samples[0].scores["iou"].metadata["cluster"] == "7"


def test_expmatch_weighs_head_body_and_tail(scored: Run) -> None:
    reference = "A is B. It was C. Therefore D."
    replies = [reference, "A is B. It was X. Therefore D.", "I cannot answer this.", "<think>A is B."]
    log = scored("expmatch", [target(reference) for _ in replies], replies)
    # two of three words of the body are shared: an F1 of 2/3, weighed 0.7
    assert values(log) == pytest.approx([1, 0.15 + 0.7 * 2 / 3 + 0.15, 0, 0])
    found = figures(log)
    assert found["expmatch_body"] == pytest.approx((1 + 2 / 3) / 4)
    assert (found["expmatch_head"], found["abstained"], found["unparsed"]) == pytest.approx((0.5, 0.25, 0.25))
    log = scored("expmatch", [target(reference) for _ in range(2)], replies[:2], alpha=0.8)
    assert values(log) == pytest.approx([1, 0.2 + 0.8 * 2 / 3])
    assert figures(log)["expmatch"] == pytest.approx((1.2 + 0.8 * 2 / 3) / 2)


def test_error_type_in_several_languages(scored: Run) -> None:
    samples = [target("Entity"), target("relation"), target("sentence")]
    log = scored("error_type", samples, ["Hata türü: varlık", "This is an entity error.", "نوع الخطأ: جملة"])
    assert values(log) == ["C", "I", "C"]
    found = figures(log)
    assert (found["rate_relation_as_entity"], found["rate_entity_as_relation"]) == (1, 0)


def test_error_type_none_is_an_answer_only_where_it_is_allowed(scored: Run) -> None:
    log = scored("error_type", [target("none"), target("entity")], ["There is no error.", "None"], none_allowed=True)
    assert values(log) == ["C", "I"]
    log = scored("error_type", [target("entity")], ["There is no error."])
    assert figures(log)["unparsed"] == 1
    log = scored("error_type", [target("none")], ["None"])
    assert "target is 'none', expected entity, relation or sentence; with none_allowed=true" in log.error.message


def test_verdict_by_labels_and_reading(scored: Run) -> None:
    samples = [target("Yes"), target("Yes"), target("No"), target("No")]
    replies = ["Verdict: Yes", "It contains no errors.", "Yes", "I cannot determine whether it hallucinates."]
    log = scored("verdict", samples, replies, labels={"Yes": "wrong", "No": "right"}, reading="hallucinates")
    assert values(log) == ["C", "I", "I", "I"]
    found = figures(log)
    assert [found[name] for name in ("acc", "precision", "recall", "f1")] == [0.25, 0.5, 0.5, 0.5]
    assert (found["f1_wrong"], found["f1_right"], found["abstained"], found["inferred"]) == (0.5, 0, 0.25, 0.25)


def test_what_a_server_says_in_the_place_of_a_reply_and_the_question_repeated_are_no_verdicts(scored: Run) -> None:
    question = "Paris is in Spain.\nIs the statement above True or False?\nAnswer False if you doubt it."
    samples = [Sample(input=question, target="False") for _ in range(3)]
    replies = ["Error: rate limit exceeded", question, f"{question}\nFalse"]
    log = scored("verdict", samples, replies)
    assert values(log) == ["I", "I", "C"]
    found = figures(log)
    assert (found["failed"], found["unparsed"]) == (pytest.approx(1 / 3), pytest.approx(1 / 3))


@pytest.mark.parametrize(("scorer", "sample", "arguments", "message"), CASES["a_sample_that_lacks_something_is_named"])
def test_a_sample_that_lacks_something_is_named(
    scored: Run, scorer: str, sample: dict[str, Any], arguments: dict[str, Any], message: str
) -> None:
    log = scored(scorer, [Sample(input="?", **sample)], ["reply"], **arguments)
    assert log.status == "error" and message in log.error.message


@pytest.mark.slow
def test_a_log_is_scored_by_name(scored: Run, tmp_path: Path) -> None:
    """With the command line, which prints an error as one line."""
    log = scored("exact_match", [target("x", text=TEXT, spans=[[19, 26]])], ["red mat"])
    write_eval_log(log, path := str(tmp_path / "made.json"))

    command = ["inspect_ai", "score", path, "--action", "overwrite", "--display", "none", "--output-file"]
    command += [str(tmp_path / "scored.json"), "--overwrite", "--scorer", "halu_tasks/iou"]
    failed = run(*command, "-S", "text=passage", folder=tmp_path)
    assert failed.stderr.splitlines()[-1] == (
        "halu-tasks: sample 's0': metadata lacks 'passage', which iou needs; it has: text, spans"
    )
    done = run(*command, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    made = json.loads((tmp_path / "scored.json").read_text())
    assert made["samples"][0]["scores"]["iou"]["value"] == 1
    assert made["results"]["scores"][0]["metrics"]["iou"]["value"] == 1


# --- lm-eval ----------------------------------------------------------------------------------------

YAML = """
task: mine
dataset_path: json
dataset_kwargs: {data_files: mine.jsonl}
test_split: train
output_type: generate_until
doc_to_text: "{{ask}}"
doc_to_target: target
generation_kwargs: {until: [], max_gen_toks: 50}
"""


def further(metric: str, name: str, of_filter: str = "none") -> str:
    """The key of a further metric in lm-eval's results."""
    return f"{name}({metric}),{of_filter}" if IS_LM_EVAL_0_5 else f"{metric}_{name},{of_filter}"


def filtered(ran: Mapping[str, Any]) -> list[str]:
    """What the filters left of each reply; lm-eval 0.5 logs a list for each."""
    logged = [sample["filtered_resps"][0] for sample in ran["samples"]["mine"]]
    return [each[0] if isinstance(each, list) else each for each in logged]


DOCUMENT = "filter_list: [{name: none, filter: [{function: halu_document}]}]\n"


@pytest.fixture
def run_task(tmp_path: Path, run_lm_eval: Run) -> Run:
    """`run_task(task, server)` runs a task in the folder of the test in lm-eval, and returns its results."""

    def run(task: str, server: Any) -> Any:
        asked = {"model": "m", "base_url": f"{server.url}/chat/completions", "tokenizer_backend": None}
        how = {"model_args": asked, "apply_chat_template": True}
        return run_lm_eval([task], "local-chat-completions", None, tmp_path, **how)

    return run


@pytest.fixture
def run_yaml(tmp_path: Path, monkeypatch: Patch, serve: Run, run_task: Run) -> Run:
    """`run_yaml(metrics, rows, replies)` runs a user's own task in lm-eval; returns its results."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "datasets"))

    def run(metrics: str, rows: Sequence[Mapping[str, Any]], replies: Sequence[str]) -> Any:
        (tmp_path / "mine.yaml").write_text(YAML + metrics, encoding="utf-8")
        asked = [{"ask": f"question {number}", "target": "", **row} for number, row in enumerate(rows)]
        write_rows(tmp_path / "mine.jsonl", asked)
        said = dict(zip((row["ask"] for row in asked), replies, strict=True))

        def reply(request: dict[str, Any]) -> str:
            (tmp_path / "asked").touch()
            return said[request["messages"][-1]["content"]]

        return run_task("mine", serve(reply))

    return run


def test_the_metrics_of_lm_eval_are_those_of_inspect(run_yaml: Run) -> None:
    rows = [{"passage": TEXT, "spans": [[19, 26]], "article": article} for article in "aab"]
    replies = ["red mat", "sat on the red mat", "I cannot tell which words are wrong."]
    metric = "metric_list: [{metric: halu_iou, text: passage, cluster: article, figures: [char_f1, abstained]}]\n"
    ran = run_yaml(DOCUMENT + metric, rows, replies)
    found = ran["results"]["mine"]
    assert found["halu_iou,none"] == pytest.approx(25 / 54)
    assert found["halu_iou_stderr,none"] == pytest.approx(25 / 72)
    # 14 of the 14 + 25 characters that were returned and of the 21 that are wrong
    assert found[further("halu_iou", "char_f1")] == pytest.approx(2 * 14 / (25 + 21))
    assert found[further("halu_iou", "abstained")] == pytest.approx(1 / 3)
    assert [sample["halu_iou"] for sample in ran["samples"]["mine"]] == pytest.approx([1, 7 / 18, 0])


def test_metrics_of_the_target_need_no_filter(run_yaml: Run, caplog: Caplog) -> None:
    metrics = """
metric_list:
  - metric: halu_verdict
    aggregation: halu_mean
    higher_is_better: true
    labels: ["Yes", "No"]
    reading: hallucinates
    figures: [f1]
"""
    rows = [{"target": label} for label in ("Yes", "Yes", "No", "No")]
    with caplog.at_level(logging.WARNING, "halu_tasks"):
        found = run_yaml(metrics, rows, ["Verdict: Yes", "No", "Yes", ""])["results"]["mine"]
    assert (found["halu_verdict,none"], found[further("halu_verdict", "f1")]) == (0.25, 0.5)
    # s / sqrt(n) of 1, 0, 0, 0
    assert found["halu_verdict_stderr,none"] == pytest.approx(0.25)
    assert "halu_verdict: 1 of 4 replies (25.0%) are empty" in caplog.text


@pytest.mark.slow
def test_one_reply_has_no_standard_error(run_yaml: Run) -> None:
    rows = [{"target": "A is B. It was C. Therefore D."}]
    found = run_yaml("metric_list: [{metric: halu_expmatch}]\n", rows, ["A is B. It was X. Therefore D."])
    assert found["results"]["mine"]["halu_expmatch,none"] == pytest.approx(0.3 + 0.7 * 2 / 3)
    assert found["results"]["mine"]["halu_expmatch_stderr,none"] == "N/A"


def test_filters_reduce_a_reply_for_any_metric(run_yaml: Run) -> None:
    """The metrics of this package tell a reply that declined from an unparsed one behind the filters too."""
    metrics = """
filter_list:
  - {name: label, filter: [{function: halu_verdict, reading: error_type}, {function: take_first}]}
metric_list:
  - {metric: exact_match, aggregation: mean, higher_is_better: true}
  - {metric: halu_error_type, figures: [abstained, failed]}
"""
    replies = [
        "The type is **entity**.",
        "1. entity",
        "I cannot determine the type.",
        '{"error": "rate limit exceeded"}',
    ]
    ran = run_yaml(metrics, [{"target": "entity"}] * 4, replies)
    assert filtered(ran) == ["entity", "entity", "[abstained]", "[failed]"]
    found = ran["results"]["mine"]
    assert found["exact_match,label"] == pytest.approx(2 / 4)
    assert found["halu_error_type,label"] == pytest.approx(2 / 4)
    assert found[further("halu_error_type", "abstained", "label")] == pytest.approx(1 / 4)
    assert found[further("halu_error_type", "failed", "label")] == pytest.approx(1 / 4)


def test_strings_are_reduced_to_one_on_each_line(run_yaml: Run) -> None:
    metrics = """
filter_list:
  - {name: strings, filter: [{function: halu_strings}, {function: take_first}]}
metric_list:
  - {metric: halu_exact_match}
"""
    replies = ["Wrong entities:\n- Paris\n- 1999", "None", " "]
    ran = run_yaml(metrics, [{"target": "Paris\n1999"}] * 3, replies)
    assert filtered(ran) == ["Paris\n1999", "None", "[empty]"]
    assert ran["results"]["mine"]["halu_exact_match,strings"] == pytest.approx(1 / 3)


def test_another_aggregation_has_no_error_rather_than_a_wrong_one(run_yaml: Run) -> None:
    metrics = "metric_list: [{metric: halu_verdict, aggregation: mean, higher_is_better: true}]\n"
    found = run_yaml(metrics, [{"target": "True"}] * 2, ["True", "False"])["results"]["mine"]
    assert found["halu_verdict,none"] == 0.5 and found["halu_verdict_stderr,none"] != found["halu_verdict_stderr,none"]


def test_a_list_as_target_is_told_of(run_yaml: Run, caplog: Caplog) -> None:
    metrics = "metric_list: [{metric: halu_exact_match}]\n"
    found = run_yaml(metrics, [{"target": ["red", "mat"]}] * 2, ["red", "red\nmat"])["results"]["mine"]
    if IS_LM_EVAL_0_5:  # which does not take it apart
        assert found["halu_exact_match,none"] == 0.5
        return
    assert found["halu_exact_match,none"] != found["halu_exact_match,none"]
    assert "whose doc_to_target is a string" in caplog.text


@pytest.mark.parametrize(("metrics", "message"), CASES["what_a_metric_lacks_is_named"])
def test_what_a_metric_lacks_is_named(run_yaml: Run, metrics: str, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        run_yaml(metrics, [{"target": "x"}], ["True"])


def test_figures_survive_the_way_between_processes() -> None:
    """lm-eval gathers the figures of several processes pickled."""
    from halu_tasks.lm_eval_adapter.lm_eval_metrics import halu_mean, halu_verdict

    metric = halu_verdict.fn if IS_LM_EVAL_0_5 else halu_verdict
    made = pickle.loads(pickle.dumps([metric(["True"], [reply], figures=["f1"]) for reply in ("True", "False")]))
    for name, expected in (("halu_verdict", 0.5), (further("halu_verdict", "f1").split(",")[0], 2 / 3)):
        values = [figure[name][0] if IS_LM_EVAL_0_5 else figure[name] for figure in made]
        assert halu_mean(values) == pytest.approx(expected)
        assert halu_mean(values, "stderr") == pytest.approx(0.5) or name != "halu_verdict"


# --- this package's own logs ------------------------------------------------------------------------


@pytest.mark.parametrize(("task", "named", "arguments", "figure"), CASES["a_log_of_this_package_is_scored_by_name"])
def test_a_log_of_this_package_is_scored_by_name(
    task: str, named: str, arguments: dict[str, Any], figure: str, shared_runs: Any
) -> None:
    log = shared_runs.log(task)
    own = figures(log)
    assert 0 < own[figure] < 1
    found = figures(score(log, registry_create("scorer", f"halu_tasks/{named}", **arguments), action="overwrite"))
    for name in (figure, f"{figure}_stderr", f"{figure}_low", f"{figure}_high"):
        assert found[name] == own[name]


def test_a_sample_of_another_package_is_refused_by_the_scorer_of_our_tasks(scored: Run) -> None:
    log = scored("halu_score", [target("red")], ["red"])
    assert log.status == "error"
    assert "sample 's0' is not of a halu_tasks task; for samples of your own use a named scorer" in log.error.message


# --- the page ---------------------------------------------------------------------------------------


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def test_the_pages_examples_run(serve: Run, openai: Run, run_task: Run, tmp_path: Path, monkeypatch: Patch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "datasets"))
    server = serve(lambda request: "sat on the red mat")
    for language, name in (("python", "wrong_words.py"), ("yaml", "wrong_words.yaml"), ("json", "wrong_words.jsonl")):
        (text,) = blocks(language)
        Path(name).write_text(text, encoding="utf-8")
    (log,) = eval("wrong_words.py", model=openai(server), log_dir="logs", display="none")
    assert figures(log)["iou"] == pytest.approx(7 / 18)
    again = score(log, registry_create("scorer", "halu_tasks/iou"), action="append")
    assert [found.metrics["iou"].value for found in again.results.scores] == pytest.approx([7 / 18] * 2)
    found = run_task("wrong_words", server)["results"]["wrong_words"]
    assert found["halu_iou,document"] == pytest.approx(7 / 18)
    # the 7 characters are all that are wrong, of 18 returned
    figures_of = [found[further("halu_iou", name, "document")] for name in ("exact", "char_f1")]
    assert figures_of == pytest.approx([0, 14 / 25])
    assert {request["messages"][-1]["content"] for request in server.asked} == {
        f"Which words of this text are wrong? Copy them, one on each line.\n\n{TEXT}"
    }


def test_the_page_lists_the_labels_that_readings_return() -> None:
    from halu_tasks.scorers.registry import reading_named

    (table,) = re.findall(r"^\| reading .*?\n\n", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    rows = re.findall(r"^\| `(\w+)` \| (.*?) \|", table, re.MULTILINE)
    assert len(rows) == 8
    said = {"true_false_zh": {"True": "正确", "False": "错误"}}
    for reading, labels in rows:
        for label in re.findall(r"`([\w-]+)`", labels):
            assert reading_named(reading)(said.get(reading, {}).get(label, label)).value == label, (reading, label)


@pytest.mark.skipif(os.environ.get("HALU_TASKS_NO_AUTOLOAD") == "1", reason="the hook is switched off")
def test_the_names_in_lm_eval_are_advertised_too() -> None:
    """Under the entry points that a later lm-eval reads."""
    import tomllib
    from importlib import import_module

    project = tomllib.loads((PAGE.parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    points = project["entry-points"]
    for group in ("lm_eval.filters", "lm_eval.metrics", "lm_eval.aggregations"):
        for place in points[group].values():
            module, _, name = place.partition(":")
            advertised = getattr(import_module(module), name)
            assert callable(getattr(advertised, "fn", advertised))


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (
            "metric_list: [{metric: halu_verdict, labels: [Yes, No]}]",
            "labels: entry 1: expected a string, got True .quote True, False",
        ),
        ("metric_list: [{metric: halu_verdict, labels: true}]", "labels: expected a list or a mapping, got True"),
        ("metric_list: [{metric: halu_verdict, labels: 'True,False'}]", "labels: expected a list or a mapping"),
        ("metric_list: [{metric: halu_verdict, lables: ['True', 'False']}]", "unknown argument 'lables'"),
        ("metric_list: [{metric: halu_iou, figures: [nope]}]", "unknown figure 'nope'"),
        (
            "filter_list: [{name: a, filter: [{function: halu_verdict, lables: ['True', 'False']}]}]\n"
            "metric_list: [{metric: halu_verdict}]",
            "filter halu_verdict: unknown argument 'lables'",
        ),
        (
            "filter_list: [{name: a, filter: [{function: halu_verdict, reading: nope}]}]\n"
            "metric_list: [{metric: halu_verdict}]",
            "unknown reading 'nope'",
        ),
    ],
)
def test_a_wrong_argument_is_refused_before_a_model_is_asked(
    more: str, told: str, run_yaml: Run, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=told):
        run_yaml(f"{more}\n", [{"target": "True"}], ["True"])
    assert not (tmp_path / "asked").exists()


def test_the_filter_of_verdicts_takes_the_labels_of_its_metric(run_yaml: Run) -> None:
    label = "{function: halu_verdict, labels: ['Yes', 'No'], reading: hallucinates}"
    metrics = f"""
filter_list: [{{name: label, filter: [{label}, {{function: take_first}}]}}]
metric_list: [{{metric: halu_verdict, labels: ['Yes', 'No'], reading: hallucinates}}]
"""
    found = run_yaml(metrics, [{"target": "Yes"}, {"target": "No"}], ["Verdict: Yes", "Yes"])["results"]["mine"]
    assert found["halu_verdict,label"] == 0.5
