"""The HalluVerse tasks in both harnesses: probabilities, groups, one language, the parts of HalluVerse-M3."""

import math
from typing import Any

from common import Run

from halu_tasks.lm_eval_adapter.models import OracleLM

LANGUAGES = ("en", "ar", "tr")


def in_lm_eval(results: dict[str, Any]) -> dict[str, float]:
    found = {key.removesuffix(",none"): value for key, value in results.items() if key.endswith(",none")}
    return {name: value for name, value in found.items() if not name.endswith("_stderr")}


def test_in_a_group_each_language_has_its_area(run_lm_eval: Run) -> None:
    results = run_lm_eval(["halluverse25_binary"], OracleLM(), {"halu_probability": True})["results"]
    for language in LANGUAGES:
        assert results[f"halluverse25_binary_{language}"]["roc_auc,none"] == 1.0
    assert not any(math.isnan(value) for value in in_lm_eval(results["halluverse25_binary"]).values())


def test_the_name_of_the_file_is_a_name_of_the_group(run_inspect: Run) -> None:
    assert len(run_inspect("halluverse", "halu/oracle").samples) == 69
