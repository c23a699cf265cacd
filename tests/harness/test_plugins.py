"""Parts that another package adds by entry points: the package of docs/plugins.md, and what can be wrong with one."""

import json
import os
import re
import subprocess
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from common import Capture, Patch, Run, write_rows
from inspect_ai import eval as inspect_eval

from halu_tasks.builders.pipeline import pipelines
from halu_tasks.cli import main
from halu_tasks.core.options import Options
from halu_tasks.core.plugins import added
from halu_tasks.lm_eval_adapter.lm_eval_models import OracleLM
from halu_tasks.results.read import read_results
from halu_tasks.tasks import build

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "plugins.md").read_text("utf-8")
SOURCE, PROJECT, TASK, ROWS = (
    next(iter(re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.M | re.S)))
    for language in ("python", "toml", "yaml", "json")
)
REPLIES = {"graz": "It is in Styria: RIGHT", "oslo": "WRONG", "lyon": "I think that this is so, yes."}


def install(site: Path, name: str, source: str, entry_points: Mapping[str, Mapping[str, str]]) -> None:
    """Put a package of one module where Python finds it."""
    (site / f"{name}.py").write_text(source, "utf-8")
    info = site / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    groups = (
        "\n".join([f"[{group}]", *(f"{part} = {place}" for part, place in parts.items())])
        for group, parts in entry_points.items()
    )
    (info / "entry_points.txt").write_text("\n".join(groups) + "\n")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: Patch) -> Iterator[Path]:
    """A folder of installed packages, which are read anew."""
    folder = tmp_path / "site-packages"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.chdir(tmp_path)
    added.cache_clear()
    pipelines.cache_clear()
    yield folder
    added.cache_clear()
    pipelines.cache_clear()


@pytest.fixture
def loud(site: Path, tmp_path: Path) -> Path:
    """The package of the page is installed, and its task is in the current folder; returns the task's file."""
    install(site, "loud", SOURCE, tomllib.loads(PROJECT)["project"]["entry-points"])
    (tmp_path / "claims.jsonl").write_text(ROWS)
    path = tmp_path / "loud.yaml"
    path.write_text(TASK)
    return path


def test_a_package_of_twenty_lines_adds_a_reading_a_scorer_and_an_export(
    loud: Path, tmp_path: Path, run_lm_eval: Run, capsys: Capture
) -> None:
    assert len([line for line in SOURCE.splitlines() if line.strip() and not line.startswith(("import", "from"))]) <= 20
    assert main(["check", "loud.yaml"]) == 0

    replies = write_rows(tmp_path / "replies.jsonl", [{"id": id, "output": text} for id, text in REPLIES.items()])
    capsys.readouterr()
    assert main(["score", "loud.yaml", str(replies), "--model", "m", "--json"]) == 0
    scored = json.loads(printed := capsys.readouterr().out)["metrics"]
    assert (scored["acc"], scored["short"], scored["unparsed"]) == pytest.approx((2 / 3, 1, 1 / 3))

    # the model that knows the answers, in both harnesses
    in_lm_eval = run_lm_eval(["loud_claims"], OracleLM(), folder=tmp_path)["results"]["loud_claims"]
    (log,) = inspect_eval(
        "halu_tasks/task",
        model="halu/oracle",
        task_args={"config": "loud.yaml"},
        log_dir="results",
        display="none",
    )
    (run,) = read_results([log.location]).runs
    for name in ("acc", "short"):
        assert in_lm_eval[f"{name},none"] == run.figures[name].value == 1

    # the report and the export read both
    (tmp_path / "results" / "scored.json").write_text(printed)
    loud.unlink()
    assert main(["report", "results", "-o", "report"]) == 0
    assert "2 entries, 1 task" in capsys.readouterr().out
    assert "loud_claims" in (tmp_path / "report" / "report.md").read_text("utf-8")
    assert main(["export", "figures", "results", "--output", "figures.tsv"]) == 0
    rows = (tmp_path / "figures.tsv").read_text().splitlines()
    assert {"loud_claims\tshort\t1.000", "loud_claims\tacc\t0.667", "loud_claims\tacc\t1.000"} <= {*rows}


def test_an_added_export_is_listed_with_the_others(loud: Path, capsys: Capture) -> None:
    assert main(["export", "--help"]) == 0
    assert re.search(r"^  eee .*^  figures +Write a line for each figure$", capsys.readouterr().out, re.M | re.S)
    assert main(["export", "figure", "results"]) == 2
    assert "'figures'" in capsys.readouterr().err


def test_an_added_name_is_among_those_that_are_suggested(loud: Path, capsys: Capture) -> None:
    loud.write_text(TASK.replace("last_capitals", "last_capital"))
    assert main(["check", "loud.yaml"]) == 2
    said = capsys.readouterr()
    assert "unknown reading 'last_capital' (did you mean 'last_capitals'?)" in said.out + said.err


def test_an_added_executor_runs_the_tasks_of_a_job(site: Path, tmp_path: Path, capsys: Capture) -> None:
    source = """
def in_turn(tasks, config):
    def run(job, report):
        for rank in range(tasks):
            if not job.finished(rank, tasks):
                job.work(rank, tasks, report)
        report(f"{tasks} tasks in turn")
    return run
"""
    install(site, "queue_of_ours", source, {"halu_tasks.executors": {"in_turn": "queue_of_ours:in_turn"}})
    replies = tmp_path / "replies"
    replies.mkdir()
    items = build("refact_judgment_independent", Options(data="sample")).items
    for half in (0, 1):
        write_rows(replies / f"{half}.jsonl", [{"id": item.id, "output": "True"} for item in items[half::2]])
    command = ["score", "refact_judgment_independent", "replies", "--data", "sample", "--work-folder", "work", "--json"]
    assert main([*command, "--executor", "in_turn", "--executor-tasks", "2"]) == 0
    assert "2 tasks in turn" in capsys.readouterr().err
    assert main([*command, "--executor", "in_turns"]) == 2
    said = capsys.readouterr().err
    assert "unknown executor 'in_turns' (did you mean 'in_turn'?); known: local, slurm, ray, in_turn" in said


def test_an_added_pipeline_builds_a_dataset(site: Path, tmp_path: Path, capsys: Capture) -> None:
    source = """
from dataclasses import dataclass
from halu_tasks.builders.pipeline import Draft, Pipeline

@dataclass(frozen=True)
class Shout(Pipeline):
    name, version, about = "shout", 1, "each document in capitals"
    benchmark, paper, checks, prompts_used = "halluverse25", "our own", ("loud",), ()
    texts = {}

    async def drafts(self, document, ask):
        row = {"orig_sentence": document.text, "edited_sentence": document.text.upper(), "final_label": "entity"}
        return [Draft.of(document, "entity", checks=self.checks, row=row)]

    def lines(self, item):
        yield f"{self.language}_final_data.csv", item.row

    def pairs(self, item):
        return ()

    def shown(self, item):
        return item.row

    def key(self, item):
        return item.row["orig_sentence"]
"""
    install(site, "shouting", source, {"halu_tasks.pipelines": {"shout": "shouting:Shout"}})
    assert main(["build", "options", "shout"]) == 0 and "max_chars" in capsys.readouterr().out
    assert list(pipelines()) == sorted(pipelines()) and pipelines()["shout"].about == "each document in capitals"


@pytest.mark.slow
def test_scanners_of_a_package_are_found_by_inspects_entry_point(site: Path, tmp_path: Path, run_inspect: Run) -> None:
    pytest.importorskip("inspect_scout")
    source = """
from inspect_scout import Result, scanner

@scanner(messages="all")
def shouting():
    async def scan(transcript):
        return Result(value=transcript.messages[-1].text.isupper())
    return scan
"""
    install(site, "loud_scanners", source, {"inspect_ai": {"loud_scanners": "loud_scanners"}})
    log = run_inspect("refact_judgment_independent", "halu/oracle", limit=2)
    command = ["scout", "scan", "loud_scanners/shouting", "-T", str(Path(log.location).parent), "--display", "plain"]
    paths = {**os.environ, "PYTHONPATH": str(site)}
    done = subprocess.run(command, cwd=tmp_path, env=paths, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0 and "scan complete" in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize(
    "packages, said",
    [
        ({"one": "yes_no = one:read", "two": "yes_no = two:read"}, "reading 'yes_no': one, two have one of this name"),
        ({"one": "true_false = one:read"}, "reading 'true_false': halu-tasks, one have one of this name"),
        ({"one": "yes_no = one:reads"}, "reading 'yes_no' of one: AttributeError"),
        ({"one": "yes_no = absent:read"}, "reading 'yes_no' of one: ModuleNotFoundError: No module named 'absent'"),
    ],
)
def test_what_is_wrong_with_a_package_is_said_in_a_line(
    packages: Mapping[str, str], said: str, site: Path, tmp_path: Path, capsys: Capture
) -> None:
    for name, line in packages.items():
        part, _, place = line.partition(" = ")
        install(site, name, "def read(reply): ...\n", {"halu_tasks.readings": {part: place}})
    part = next(iter(packages.values())).partition(" ")[0]
    (tmp_path / "claims.jsonl").write_text(ROWS)
    (tmp_path / "loud.yaml").write_text(
        TASK.replace("last_capitals", part).replace("name: terse, words: 8", "name: verdict")
    )
    assert main(["check", "loud.yaml"]) == 2
    printed = capsys.readouterr()
    assert said in printed.out + printed.err


def test_an_export_that_cannot_be_imported_leaves_the_others(
    site: Path, capsys: Capture, caplog: pytest.LogCaptureFixture
) -> None:
    install(site, "broken", "raise RuntimeError('no')\n", {"halu_tasks.exports": {"mine": "broken:mine"}})
    assert main(["export", "--help"]) == 0
    assert "  eee " in capsys.readouterr().out
    assert "export 'mine' of broken: RuntimeError: no" in caplog.text
