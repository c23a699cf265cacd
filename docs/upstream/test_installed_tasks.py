"""Tasks that installed packages advertise under the entry point group `lm_eval.tasks` are found by name, beside others.

The first test is of the packages that are installed, the last of a folder, the others of a package that they make.
"""

import re
import subprocess
import sys
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

import pytest
import yaml

GROUP = "lm_eval.tasks"
TASK = {
    "dataset_path": "none",
    "output_type": "generate_until",
    "doc_to_text": "{{text}}",
    "doc_to_target": "{{target}}",
    "metric_list": [{"metric": "exact_match"}],
}
TAG = "glue"  # one of lm-eval's own
LIST = f"""
import sys
from lm_eval.tasks import TaskManager
manager = TaskManager(include_path=sys.argv[1] if sys.argv[1:] else None)
for name in sorted(manager.all_tasks):
    print(name, manager.task_index[name].yaml_path)
print("tagged", *sorted(manager.task_index[{TAG!r}].tags))
print("imported", *(name for name in sys.modules if name.startswith("shipped")))
"""


def named_in(folder):
    """The names of the tasks that the YAML files of a folder define."""
    files = Path(folder).rglob("*.yaml")
    return {name for path in files for name in re.findall(r"^task: *(\w+) *$", path.read_text("utf-8"), re.MULTILINE)}


@pytest.mark.skipif(not metadata.entry_points(group=GROUP), reason="no installed package advertises tasks")
@pytest.mark.parametrize("entry_point", metadata.entry_points(group=GROUP), ids=lambda entry_point: entry_point.name)
def test_tasks_of_installed_packages_are_found(entry_point):
    from lm_eval.tasks import TaskManager

    folder = next(iter(find_spec(entry_point.value).submodule_search_locations))
    expected = named_in(folder)
    assert expected and expected <= set(TaskManager().all_tasks)


@pytest.fixture
def listed(tmp_path, monkeypatch):
    """`listed(*include_path)` lists tasks where a package is installed, as `list_tasks`, and says where its are."""
    manager = pytest.importorskip("lm_eval.tasks.manager")
    if not hasattr(manager, "discover_plugin_task_paths"):
        pytest.skip("this lm-eval reads no entry points of tasks")
    site = tmp_path / "site"
    tasks = site / "shipped" / "tasks"
    tasks.mkdir(parents=True)
    (site / "shipped" / "__init__.py").write_text("")
    write(tasks / "one.yaml", "shipped_one")
    write(tasks / "deep" / "two.yaml", "shipped_two", tag=TAG)
    advertised = "[lm_eval.tasks]\nbroken = not_installed.tasks\nshipped = shipped.tasks\n"
    info = site / "shipped-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: shipped\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(advertised)

    return lambda *include_path: (*list_tasks(f"sys.path.insert(0, {str(site)!r})", *include_path), tasks)


def list_tasks(first, *include_path):
    """The files of all tasks by name, those with the tag, and what is imported of the package, after a statement."""
    command = [sys.executable, "-c", f"import sys; {first}\n{LIST}", *map(str, include_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    *rows, tagged, imported = (line.partition(" ") for line in done.stdout.splitlines())
    return {name: path for name, _, path in rows}, tagged[2].split(), imported[2].split()


def write(path, name, **keys):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump({**TASK, "task": name, **keys}))
    return path


def test_a_package_brings_its_tasks_and_is_not_run(listed):
    files, _, imported, folder = listed()
    assert files["shipped_one"] == str(folder / "one.yaml")
    # in any depth, and although another entry point leads nowhere
    assert files["shipped_two"] == str(folder / "deep" / "two.yaml")
    # a folder of YAML files is listed without the code beside it, but for the package around it
    assert "shipped.tasks" not in imported


def test_a_task_that_is_named_by_path_comes_first(listed, tmp_path):
    mine = write(tmp_path / "mine" / "one.yaml", "shipped_one")
    files, *_ = listed(mine.parent)
    assert files["shipped_one"] == str(mine) and "shipped_two" in files


def test_a_package_adds_to_a_tag_of_lm_eval(listed):
    _, tagged, *_ = listed()
    # whoever runs the tag would otherwise run the package's tasks instead, without having named the package
    assert {"shipped_two", "cola", "rte"} <= {*tagged}


@pytest.mark.xfail(reason="TaskIndex.build replaces a tag; tags_of_both.patch keeps the tasks of both")
def test_a_folder_adds_to_a_tag_of_lm_eval(tmp_path):
    write(tmp_path / "mine.yaml", "mine", tag=TAG)
    _, tagged, _ = list_tasks("pass", tmp_path)
    assert {"mine", "cola", "rte"} <= {*tagged}
