"""Fixtures for all tests: nothing outside a temporary folder is read or written, and no network is asked."""

import gc
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import rich
from hypothesis import settings

# a busy machine is no failure: no test here is about time spent on one example
settings.register_profile("halu_tasks", deadline=None)
settings.load_profile("halu_tasks")

SHARED = Path(__file__).resolve().parents[1].parent / "shared" / "data"


def pytest_collection_finish() -> None:
    """What collecting imported stays to the end: the garbage collector need not look through it again and again."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def _isolated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Caches of the session in a folder of its own, the hub offline, no data named."""
    folder = tmp_path_factory.mktemp("caches")
    with pytest.MonkeyPatch.context() as patch:
        for name in ("HALU_TASKS_CACHE", "HF_HOME", "XDG_CACHE_HOME"):
            patch.setenv(name, str(folder / name.lower()))
        for name in ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE"):
            patch.setenv(name, "1")
        for name in ("HALU_TASKS_DATA", "HALU_TASKS_NO_AUTOLOAD", "HF_ENDPOINT", "HF_TOKEN"):
            patch.delenv(name, raising=False)
        patch.setenv("NO_PROXY", "127.0.0.1,localhost")
        yield


@pytest.fixture(scope="session", autouse=True)
def _quiet() -> None:
    """Runs of Inspect would log to standard output, and tests read that."""
    rich.get_console().quiet = True


@pytest.fixture(autouse=True)
def halu_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache for each test; returns its folder."""
    folder = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("HALU_TASKS_CACHE", str(folder))
    return folder


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real data; skips where there is none."""
    folder = Path(os.environ.get("HALU_TASKS_TEST_DATA") or SHARED)
    if not folder.is_dir():
        pytest.skip(f"no real data in {folder} (HALU_TASKS_TEST_DATA names another folder)")
    return folder


@pytest.fixture
def here(capsys: pytest.CaptureFixture[str]) -> Callable[..., subprocess.CompletedProcess[str]]:
    """`here("score", …)` runs `halu-tasks score …` in this process; the result has returncode, stdout and stderr."""

    def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
        from halu_tasks.cli import main

        capsys.readouterr()
        try:
            status = main([*map(str, arguments)])
        except SystemExit as ended:
            status = int(str(ended.code))
        return subprocess.CompletedProcess(arguments, status, *capsys.readouterr())

    return run
