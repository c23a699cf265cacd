"""Builds whose files were cut, emptied or exchanged: one line says so, and the dataset that there is stays."""

import json
import resource
import shutil
import subprocess
import threading
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from common import Cli
from scripted_builders import HaluModel, document, start_build, write_documents
from test_build import files_of

OWN = ("-T", "language=en", "-T", "types=EntErr", "--part-size", "4")
NUMBER = 12


@pytest.fixture
def build(run_build: Any) -> Any:
    def run(model: Any, *arguments: str, **how: Any) -> Any:
        return run_build("haluagent", [document(n) for n in range(NUMBER)], model, *OWN, *arguments, **how)

    return run


def log_of(folder: Path, part: int) -> Path:
    (log,) = (folder / "logs" / f"{part:05}").glob("*.eval")
    return log


def documents_of(folder: Path, part: int) -> Path:
    return folder / "documents" / f"{part:05}.jsonl"


def emptied(folder: Path) -> None:
    documents_of(folder, 1).write_text("")


def missing(folder: Path) -> None:
    documents_of(folder, 1).unlink()


def one_line_short(folder: Path) -> None:
    path = documents_of(folder, 1)
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))


def log_of_another_part(folder: Path) -> None:
    shutil.copyfile(log_of(folder, 0), log_of(folder, 1))


def log_without_a_sample(folder: Path) -> None:
    path = log_of(folder, 1)
    with zipfile.ZipFile(path) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    files.pop(next(name for name in files if name.startswith("samples/")))
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)


def log_cut_off(folder: Path) -> None:
    path = log_of(folder, 1)
    path.write_bytes(path.read_bytes()[:-200])


DOCUMENTS = [emptied, missing, one_line_short]
OTHERS = [log_of_another_part, log_without_a_sample, log_cut_off]


@pytest.mark.slow
def test_damage_is_one_line_and_the_dataset_stays(build: Any, here: Cli, tmp_path: Path) -> None:
    _, folder = build(HaluModel())
    made = files_of(folder)
    for number, damage in enumerate([*DOCUMENTS, *OTHERS]):
        for partial in ((), ("--partial",)):
            copy = tmp_path / f"damaged-{number}{''.join(partial)}"
            shutil.copytree(folder, copy)
            damage(copy)
            done = here("build", "collect", copy, *partial)
            if partial and damage is log_cut_off:
                # no log that can be read is a part that is not done
                assert done.returncode == 3 and "documents are not in the dataset" in done.stderr
                continue
            assert done.returncode == 2 and done.stderr.count("\n") == 1, (damage.__name__, done.stderr)
            assert files_of(copy) == made, damage.__name__
    # what was not changed can be collected again
    assert here("build", "collect", folder).returncode == 0 and files_of(folder) == made


@pytest.mark.slow
def test_the_same_command_restores_the_documents_and_asks_nothing(build: Any) -> None:
    _, folder = build(HaluModel())
    made = files_of(folder)
    begun = {path.name: path.read_bytes() for path in (folder / "documents").iterdir()}
    for damage in DOCUMENTS:
        damage(folder)
        model = HaluModel()
        told, _ = build(model)
        assert told["documents"] == NUMBER and not model.asked
        assert {path.name: path.read_bytes() for path in (folder / "documents").iterdir()} == begun
        assert files_of(folder) == made


@pytest.mark.slow
def test_a_plan_that_is_damaged_is_one_line(build: Any, here: Cli) -> None:
    _, folder = build(HaluModel())
    plan = json.loads((folder / "build.json").read_text())
    faults: dict[str, Any] = {"{}": {}, "list": []}
    faults |= {f"without {key}": {name: own for name, own in plan.items() if name != key} for key in plan}
    faults |= {f"{key} is null": {**plan, key: None} for key in plan}
    for name, fault in faults.items():
        (folder / "build.json").write_text(json.dumps(fault))
        for command in (["build", "collect"], ["build", "quality"], ["label", "items", "-o", folder / "a"]):
            done = here(*command, folder)
            assert done.returncode == 2 and "build.json" in done.stderr and done.stderr.count("\n") == 1, (
                name,
                command,
            )
        told, _ = build(HaluModel(), fails=True)
        assert "build.json" in told and told.count("\n") == 1, name


@pytest.fixture
def process(tmp_path: Path) -> Callable[..., subprocess.Popen[str]]:
    """`process(server, out)` starts a build in a process of its own."""
    source = write_documents(tmp_path, NUMBER)

    def start(server: Any, out: str, **how: Any) -> subprocess.Popen[str]:
        own = ("--part-size", "4", "--max-connections", "2")
        return start_build(source, server.url, tmp_path / out, *own, **how)

    return start


@pytest.mark.slow
def test_a_build_is_not_started_twice(serve: Any, process: Any, tmp_path: Path) -> None:
    working, go_on = threading.Event(), threading.Event()

    class Held(HaluModel):
        """Holds the first call back until the second process has ended."""

        def __call__(self, request: dict[str, Any]) -> Any:
            if not working.is_set():
                working.set()
                go_on.wait(60)
            return super().__call__(request)

    model = Held()
    server = serve(model)
    first = process(server, "out")
    assert working.wait(60)
    second = process(server, "out")
    _, error = second.communicate(timeout=120)
    assert second.returncode == 2 and error.count("\n") == 1
    assert error.startswith(f"halu-tasks: {tmp_path / 'out'}: another process is working on it")
    go_on.set()
    out, error = first.communicate(timeout=120)
    assert first.returncode == 0, error
    assert json.loads(out)["documents"] == NUMBER and len(model.asked) == NUMBER * 6


@pytest.mark.slow
def test_a_log_that_cannot_be_written_is_told_with_its_path(serve: Any, process: Any, tmp_path: Path) -> None:
    """A limit on the size of files, which fails as a full disk does."""
    server = serve(HaluModel())

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (8_000, 8_000))

    run = process(server, "out", preexec_fn=limited)
    _, error = run.communicate(timeout=120)
    # other files that Inspect keeps are too large, too, and it warns of them
    (last,) = [line for line in error.splitlines() if line.startswith("halu-tasks: ")]
    assert run.returncode == 2 and f"{tmp_path / 'out' / 'logs'}" in last and "(File too large)" in last, error
    # what other parts reply could not be kept either
    assert "part 2" not in error
    run = process(server, "out")
    out, error = run.communicate(timeout=120)
    assert run.returncode == 0 and json.loads(out)["documents"] == NUMBER, error


@pytest.mark.slow
def test_no_lock_is_left_beside_a_folder(build: Any, here: Cli, tmp_path: Path) -> None:
    build(HaluModel())
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "mine").write_text("")
    source = tmp_path / "documents.jsonl"
    before = {path.name for path in tmp_path.iterdir()}
    assert not [name for name in before if "lock" in name]
    for command in (["build"], ["build", "optimize"]):
        own = [*command, "haluagent", source, "--model", "mockllm/model", "-T", "language=en", "--display", "none"]
        done = here(*own, "-o", tmp_path / "taken")
        assert done.returncode == 2 and "is not empty" in done.stderr
        for out in (source / "out", source, Path("/proc/nothing/out")):
            done = here(*own, "-o", out)
            assert done.returncode == 2 and "is not writable" in done.stderr and str(out) in done.stderr
            assert "another process" not in done.stderr and done.stderr.count("\n") == 1
    source.write_text(json.dumps(document(1)) + "\n" + json.dumps(document(1)) + "\n")
    done = here("build", "haluagent", source, "--model", "mockllm/model", "-T", "language=en", "-o", tmp_path / "new")
    assert done.returncode == 2 and "two documents have the id" in done.stderr
    assert {path.name for path in tmp_path.iterdir()} == before | {"new"}
    assert [path.name for path in (tmp_path / "new").iterdir()] == [".lock"]  # which another build can take
    assert {path.name for path in (tmp_path / "taken").iterdir()} == {"mine"}
