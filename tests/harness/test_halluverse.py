"""The HalluVerse tasks in both harnesses: probabilities, groups, one language, the parts of HalluVerse-M3."""

import math
from typing import Any

import pytest
from common import Run
from judges import figures

from halu_tasks.core.options import Options
from halu_tasks.lm_eval_adapter.models import BaselineLM, OracleLM
from halu_tasks.tasks import build

LANGUAGES = ("en", "ar", "tr")


def in_lm_eval(results: dict[str, Any]) -> dict[str, float]:
    found = {key.removesuffix(",none"): value for key, value in results.items() if key.endswith(",none")}
    return {name: value for name, value in found.items() if not name.endswith("_stderr")}


def test_in_a_group_each_language_has_its_area(run_lm_eval: Run) -> None:
    results = run_lm_eval(["halluverse25_binary"], OracleLM(), {"halu_probability": True})["results"]
    for language in LANGUAGES:
        assert results[f"halluverse25_binary_{language}"]["roc_auc,none"] == 1.0
    assert not any(math.isnan(value) for value in in_lm_eval(results["halluverse25_binary"]).values())


@pytest.mark.parametrize("options", [{"part": "summarization"}, {"with_zero": True}])
@pytest.mark.slow
def test_the_parts_and_rows_labelled_0_give_the_same_figures_in_both_harnesses(
    options: dict[str, Any], run_lm_eval: Run, run_inspect: Run
) -> None:
    metadata = {f"halu_{name}": value for name, value in options.items()}
    results = run_lm_eval(["halluverse_m3_hi"], BaselineLM(), metadata)
    mark = "summarization" if "part" in options else "with_zero"
    assert results["versions"]["halluverse_m3_hi"] == f"1.0-sample-{mark}"
    log = run_inspect("halluverse_m3_hi", "halu/baseline", options)
    assert log.eval.task_version == f"1-A-sample-{mark}"
    found = figures(log)
    assert found["acc"] == pytest.approx(5 / 12 if "part" in options else 5 / 14)
    assert in_lm_eval(results["results"]["halluverse_m3_hi"]).items() <= found.items()
    asked = {sample.input[-1].text for sample in log.samples}
    assert asked == {item.prompt for item in build("halluverse_m3_hi", Options(data="sample", **options)).items}


@pytest.mark.slow
def test_the_tasks_of_table_3_show_three_examples_of_each_type(run_inspect: Run) -> None:
    log = run_inspect("halluverse25_9shot", "halu/oracle")
    assert figures(log)["acc"] == 1.0 and len(log.samples) == 69 and log.eval.task_version == "1-A-sample"
    for sample in log.samples:
        replies = [message.text for message in sample.input if message.role == "assistant"]
        assert sorted(replies) == ["entity"] * 3 + ["relation"] * 3 + ["sentence"] * 3 and len(sample.input) == 19


def test_the_name_of_the_file_is_a_name_of_the_group(run_inspect: Run) -> None:
    assert len(run_inspect("halluverse", "halu/oracle").samples) == 69
