"""The lm-eval hook: what it does to lm-eval, and that nothing else notices it."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from programs import FEW as FEW_FILES
from programs import run

from halu_tasks.tasks import registry

TASKS, GROUPS = registry()
OURS = {*TASKS, *GROUPS}
CONFIGS = Path(importlib.util.find_spec("halu_tasks.task_configs").submodule_search_locations[0])  # type: ignore
HOOK = "_halu_tasks_autoload"
SOURCE = Path(__file__).parents[2] / "halu_tasks" / "autoload"

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec(HOOK) is None, reason="the hook is there in installs only (pip install .)"
)


def python(code: str, path: Path | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run code in an interpreter of its own; `path` goes first on its import path. The installed .pth line
    imports the checkout's hook, so that an editable install need not be made again for every change."""
    return run(code=code, PYTHONPATH=os.pathsep.join(map(str, [path, SOURCE] if path else [SOURCE])), **environment)


def shown(code: str, *, path: Path | None = None, **environment: str) -> tuple[Any, str]:
    """The JSON that the code prints, and its standard error."""
    done = python(code, path=path, **environment)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1]), done.stderr


# --- at start -----------------------------------------------------------------------------------


def test_the_hook_imports_nothing_when_python_starts() -> None:
    started = python("pass", PYTHONPROFILEIMPORTTIME="1")
    lines = [line.partition("|")[2].partition("|")[2] for line in started.stderr.splitlines()]
    names = [line.strip() for line in lines]
    at = names.index(HOOK)
    depth = len(lines[at]) - len(lines[at].lstrip())
    # a module's own imports stand before it, deeper indented
    before = len(lines[at - 1]) - len(lines[at - 1].lstrip())
    assert before <= depth, f"{HOOK} imports {names[at - 1]}"
    assert not any(re.match(r"(halu_tasks|lm_eval|inspect_ai)\b", name) for name in names)


# --- with lm-eval -------------------------------------------------------------------------------

LOGGED = """
import json, logging, sys
logging.basicConfig(level=logging.WARNING, stream=sys.stderr, format="%(levelname)s %(message)s", force=True)
from lm_eval.tasks import TaskManager
"""
FEW = LOGGED + FEW_FILES

WHOLE = f"""{LOGGED}
manager = TaskManager()
from lm_eval.api.registry import get_model, model_registry
import lm_eval.models
print(json.dumps(dict(
    tasks=manager.all_subtasks,
    groups=manager.all_groups,
    models=sorted(model_registry),
    classes=[get_model("halu-" + kind).__name__ for kind in ("oracle", "baseline", "replay")],
    dummy=get_model("dummy").__name__,
)))
"""


@pytest.mark.slow
def test_tasks_groups_and_models_stand_beside_lm_evals_own() -> None:
    found, errors = shown(WHOLE)
    assert {name for name in found["tasks"] if name in OURS} == set(TASKS)
    assert {name for name in found["groups"] if name in OURS} == set(GROUPS)
    assert len(found["tasks"]) == len(set(found["tasks"])) > 1_000
    assert {"arc_easy", "hellaswag", "mmlu"} <= {*found["tasks"], *found["groups"]}
    assert {"hf", "vllm", "dummy", "local-completions", "openai-chat-completions"} <= set(found["models"])
    assert found["classes"] == ["OracleLM", "BaselineLM", "ReplayLM"] and found["dummy"] == "DummyLM"
    # nothing is said about duplicates
    assert not [line for line in errors.splitlines() if any(name in line for name in OURS) or "halu" in line]


def test_filters_and_metrics_are_registered_without_being_imported() -> None:
    code = """
import json, sys
import lm_eval.api.metrics, lm_eval.filters
from lm_eval.api.registry import aggregation_registry, filter_registry, get_filter, metric_registry
before = [name for name in sys.modules if name.startswith("halu_tasks")]
names = [sorted(registry) for registry in (filter_registry, metric_registry, aggregation_registry)]
metric = metric_registry.get("halu_iou")
print(json.dumps([before, names, [get_filter("halu_verdict").__name__, getattr(metric, "fn", metric).__name__]]))
"""
    (before, (filters, metrics, aggregations), made), errors = shown(code)
    assert before == [] and made == ["verdict_filter", "halu_iou"]
    assert {"take_first", "halu_document", "halu_strings", "halu_verdict"} <= set(filters)
    assert {"exact_match", "halu_exact_match", "halu_expmatch", "halu_error_type", "halu_verdict"} <= set(metrics)
    assert {"mean", "halu_mean"} <= set(aggregations)
    assert errors == ""


@pytest.mark.slow
def test_include_path_of_our_folder_says_nothing_and_lists_the_same(tmp_path: Path) -> None:
    linked = tmp_path / "linked"
    linked.symlink_to(CONFIGS)
    code = f"""{FEW}
listed = [TaskManager(include_path=path).all_tasks for path in (None, {str(CONFIGS)!r}, [{str(linked)!r}])]
print(json.dumps(listed))
"""
    (plain, included, through_link), errors = shown(code)
    assert plain == included == through_link
    assert {*OURS, "arc_easy"} <= set(plain)
    assert errors == ""


@pytest.mark.slow
def test_a_task_of_the_same_name_in_the_users_folder_wins(tmp_path: Path) -> None:
    mine = tmp_path / "mine.yaml"
    mine.write_text("task: refact_correction\ndataset_path: json\noutput_type: generate_until\n")
    code = f"""{FEW}
index = TaskManager(include_path={str(tmp_path)!r})._index
print(json.dumps({{name: str(index[name].yaml_path) for name in ("refact_correction", "refact_judgment", "arc_easy")}}))
"""
    found, errors = shown(code)
    assert found["refact_correction"] == str(mine)
    assert Path(found["refact_judgment"]).is_relative_to(CONFIGS)
    assert errors == ""


@pytest.mark.slow
def test_switched_off_it_adds_nothing_and_include_path_still_works() -> None:
    code = f"""{FEW}
import lm_eval.models
from lm_eval.api.registry import model_registry
plain = TaskManager().all_tasks
included = TaskManager(include_path={str(CONFIGS)!r}).all_tasks
print(json.dumps([plain, included, sorted(model_registry)]))
"""
    (plain, included, models), errors = shown(code, HALU_TASKS_NO_AUTOLOAD="1")
    assert not OURS & set(plain) and "arc_easy" in plain
    assert set(included) >= OURS
    assert "hf" in models and not [name for name in models if name.startswith("halu")]
    assert errors == ""


# --- with an lm-eval of another shape --------------------------------------------------------------


def fake_lm_eval(folder: Path, manager: str = "", models: str = "") -> Path:
    """An lm-eval of the given code, first on the path."""
    (folder / "lm_eval" / "tasks").mkdir(parents=True)
    (folder / "lm_eval" / "api").mkdir()
    empty = dict.fromkeys(["__init__", "tasks/__init__", "api/__init__", "api/metrics", "filters"], "")
    for name, code in {**empty, "models": models, "tasks/manager": manager}.items():
        (folder / "lm_eval" / f"{name}.py").write_text(code)
    return folder


def test_an_lm_eval_without_what_the_hook_wraps_is_left_as_it_is(tmp_path: Path) -> None:
    code = """
import json, lm_eval.tasks.manager as manager, lm_eval.models as models, lm_eval.filters, lm_eval.api.metrics
print(json.dumps([manager.here, models.here]))
"""
    found, errors = shown(code, path=fake_lm_eval(tmp_path, "here = 1", "here = 2"))
    assert found == [1, 2]
    for name in ("tasks.manager", "models", "filters", "api.metrics"):
        assert f"cannot extend lm_eval.{name} of lm-eval {version('lm_eval')}" in errors


def test_without_metadata_lm_eval_is_imported_all_the_same(tmp_path: Path) -> None:
    hidden = """
from importlib import metadata
def gone(name):
    raise metadata.PackageNotFoundError(name)
metadata.version = metadata.distribution = gone
"""
    code = "import json, lm_eval.models as models, lm_eval.tasks.manager\nprint(json.dumps(models.here))"
    found, errors = shown(hidden + code, path=fake_lm_eval(tmp_path, "here = 1", "here = 2"))
    assert found == 2 and "cannot extend lm_eval.models of lm-eval of an unknown version" in errors


FINDS_PLUGINS = """
from pathlib import Path
class TaskIndex:
    asked = []
    @staticmethod
    def build(paths):
        TaskIndex.asked.append(len(paths))
        return {}
"""
KNOWS_PLUGINS = """
class Names:
    def __contains__(self, name):
        return name.startswith("halu")
model_registry = filter_registry = metric_registry = aggregation_registry = Names()
"""


def test_an_lm_eval_that_reads_entry_points_is_left_to_it(tmp_path: Path) -> None:
    path = fake_lm_eval(tmp_path, FINDS_PLUGINS)
    (path / "lm_eval" / "api" / "registry.py").write_text(KNOWS_PLUGINS)
    code = f"""
import json, lm_eval.models, lm_eval.filters, lm_eval.api.metrics
from lm_eval.tasks.manager import Path, TaskIndex, __file__ as own
TaskIndex.build([Path(own).parent, Path({str(CONFIGS)!r})])
print(json.dumps(TaskIndex.asked))
"""
    assert shown(code, path=path) == ([2], "")


def test_an_error_of_lm_evals_own_is_not_hidden(tmp_path: Path) -> None:
    path = fake_lm_eval(tmp_path, "raise RuntimeError('their own')")
    done = python("import lm_eval.tasks.manager", path=path)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == "RuntimeError: their own"


def test_a_hook_that_cannot_be_imported_stops_nobody(tmp_path: Path) -> None:
    (tmp_path / f"{HOOK}.py").write_text("raise RuntimeError('damaged')\n")
    assert shown("print('[1]')", path=tmp_path) == ([1], "")
