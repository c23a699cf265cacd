"""The groups of HalluVerse tasks in both harnesses."""

import math

from common import Run

from halu_tasks.lm_eval_adapter.lm_eval_models import OracleLM


def test_in_a_group_each_language_has_its_area(run_lm_eval: Run) -> None:
    results = run_lm_eval(["halluverse25_binary"], OracleLM(), {"halu_probability": True})["results"]
    for language in ("en", "ar", "tr"):
        assert results[f"halluverse25_binary_{language}"]["roc_auc,none"] == 1.0
    means = results["halluverse25_binary"].items()
    assert not any(math.isnan(mean) for name, mean in means if name.endswith(",none") and "_stderr" not in name)


def test_the_name_of_the_file_is_a_name_of_the_group(run_inspect: Run) -> None:
    assert len(run_inspect("halluverse", "halu/oracle").samples) == 69
