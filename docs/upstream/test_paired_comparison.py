"""The paired comparison, on scores with known answers and on logs of Inspect."""

import math
import subprocess
import sys
from pathlib import Path

import pytest
from inspect_ai import Task, eval
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import match
from paired_comparison import holm, paired_difference, t_quantile, t_tail

ONES, OTHERS = [1.0, 1.0, 0.0, 1.0, 0.0, 1.0], [1.0, 0.0, 0.0, 0.0, 1.0, 1.0]


def test_single_samples_have_the_error_of_a_paired_t_test() -> None:
    found = paired_difference(ONES, OTHERS, range(6), math.inf)
    differences = [one - other for one, other in zip(ONES, OTHERS, strict=True)]
    mean = sum(differences) / 6
    variance = sum((each - mean) ** 2 for each in differences) / 5
    assert found.value == pytest.approx(1 / 6) and found.stderr == pytest.approx(math.sqrt(variance / 6))
    assert found.low < 0 < found.high and found.p > 0.05


def test_samples_of_one_document_count_as_one() -> None:
    four_times = [[score for score in scores for _ in range(4)] for scores in (ONES, OTHERS)]
    documents = [number for number in range(6) for _ in range(4)]
    one, four = paired_difference(ONES, OTHERS, range(6)), paired_difference(*four_times, documents)
    assert four[:5] == pytest.approx(one[:5]) and (four.clusters, four.samples) == (6, 24)
    assert paired_difference(*four_times, range(24)).stderr < 0.6 * one.stderr


def test_equal_runs_are_not_known_to_be_equal() -> None:
    found = paired_difference([1.0] * 100, [1.0] * 100, range(100))
    share = 1 / (1 + 100 / t_quantile(99) ** 2)
    assert found[:5] == pytest.approx((0, 0, -share, share, 1))


def test_p_is_below_5_percent_where_the_interval_excludes_0() -> None:
    for wins in range(1, 40):
        found = paired_difference([1.0] * wins + [0.0] * (100 - wins), [0.0] * 100, range(100))
        assert (found.p < 0.05) == (found.low > 0)


def test_the_t_distribution_has_its_known_values() -> None:
    known = [(1, 12.706204736), (2, 4.30265273), (10, 2.228138852), (120, 1.979930405)]
    assert [t_quantile(degrees) for degrees, _ in known] == pytest.approx([value for _, value in known])
    assert t_tail(0, 3) == 0.5 and t_tail(1, 1) == pytest.approx(0.25)


def test_holm_adjusts_the_smallest_p_value_most() -> None:
    assert holm([0.04, 0.01, 0.03]) == pytest.approx([0.06, 0.03, 0.06])


def log_of(folder: Path, right: int) -> str:
    """The log of a model that answers the first samples right."""
    samples = [
        Sample(id=number, input=str(number), target="yes", metadata={"page": number // 2}) for number in range(20)
    ]
    outputs = [ModelOutput.from_content("mockllm", "yes" if number < right else "no") for number in range(20)]
    for output in outputs:
        output.usage = ModelUsage()  # else Inspect downloads a tokenizer to count tokens
    model = get_model("mockllm/model", custom_outputs=outputs)
    task = Task(MemoryDataset(samples), scorer=match(), name="pages")
    (log,) = eval(task, model=model, log_dir=str(folder), display="none", max_samples=1)
    return str(log.location)


def test_two_logs_are_compared_on_the_command_line(tmp_path: Path) -> None:
    logs = [log_of(tmp_path, 18), log_of(tmp_path, 6)]
    script = Path(__file__).with_name("paired_comparison.py")

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, str(script), *logs, *arguments]
        return subprocess.run(command, capture_output=True, text=True)

    by_page = run("--cluster", "page").stdout
    scores = [[1.0] * 18 + [0.0] * 2, [1.0] * 6 + [0.0] * 14]
    found = paired_difference(*scores, [number // 2 for number in range(20)])
    expected = f"difference +0.6000, 95% interval [{found.low:+.4f}, {found.high:+.4f}], p {found.p:.4f}\n"
    assert by_page == f"{expected}standard error {found.stderr:.4f}, 20 samples, 10 clusters\n"
    assert "20 clusters" in run().stdout
    refused = run("--cluster", "chapter")
    assert refused.returncode == 1 and refused.stderr.endswith("sample 0 has no metadata 'chapter'\n")
