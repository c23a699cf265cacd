"""How a model of a sweep was run in its folder: a result belongs to the settings that it was made with."""

from __future__ import annotations

import json
import shlex
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from halu_tasks.core.files import atomic_write
from halu_tasks.data.rows import read_json_object
from halu_tasks.sweeps.commands import CACHE, LOGS, RESULTS
from halu_tasks.sweeps.finished import has_replies
from halu_tasks.sweeps.sweep_model import SweepModel

FILE = "settings.json"
_SAME_REPLIES = {
    "inspect": {
        *("model_base_url", "max_connections", "adaptive_connections", "max_tasks", "max_samples", "batch"),
        *("max_retries", "timeout", "attempt_timeout", "retry_on_error", "fail_on_error", "no_fail_on_error"),
        *("continue_on_fail", "score_on_error", "log_level", "log_level_transcript", "log_buffer", "log_shared"),
        *("no_log_realtime", "tags", "metadata"),
    },
    "lm_eval": {"base_url", "num_concurrent", "max_retries", "timeout", "verify_certificate", "ca_cert_path"},
}
"""Options and arguments that change where and how fast a model is asked, and what happens on errors, not its replies.
"""


class Settings:
    """How a model is run, and what its folder says of how it was run before.

    Args:
        folder: The model's folder.
        model: The model.
        task_options: The options of the tasks that are not at their default, as JSON values.
        limit: Maximum number of items of each task; None for all.
    """

    def __init__(self, folder: Path, model: SweepModel, task_options: Mapping[str, Any], limit: int | None) -> None:
        self.folder, self.model = folder, model
        self._now = json.loads(json.dumps({**asdict(model), "task_options": task_options, "limit": limit}))

    def conflict(self) -> str:
        """Say why the folder cannot be continued: it has replies that were made in another way; empty if it can."""
        before = self._before()
        changed = next(self._changed(before), None)
        if not changed or not self._has_replies(before):
            return ""
        key, was, now = changed
        return (
            f"{self.folder} has replies with {key} {json.dumps(was)}, now it is {json.dumps(now)}; restore it, give "
            f"the model another name, or remove them: rm -r {shlex.quote(str(self.folder))}"
        )

    def record(self) -> None:
        """Record the settings, unless they conflict; what a run with others has left without a reply is removed.

        Raises:
            DataError: The folder cannot be written.
        """
        if self.conflict():
            return
        before = self._before()
        if before == self._now:
            return
        if next(self._changed(before), None):
            for name in (LOGS, RESULTS):
                shutil.rmtree(self.folder / name, ignore_errors=True)
            for path in self.folder.glob(f"{CACHE}*"):
                path.unlink()
        self.folder.mkdir(parents=True, exist_ok=True)
        with atomic_write(self.folder / FILE, "settings") as file:
            json.dump(self._now, file, indent=2, ensure_ascii=False)

    def _before(self) -> dict[str, Any]:
        """Return the settings of the last run; empty if there was none."""
        path = self.folder / FILE
        return read_json_object(path) if path.exists() else {}

    def _has_replies(self, before: Mapping[str, Any]) -> bool:
        return has_replies("lm_eval" if before.get("harness") == "lm_eval" else "inspect", self.folder)

    def _changed(self, before: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
        """Return what changes replies and is not as before: its name, and the value before and now."""
        same = _SAME_REPLIES[self.model.harness]
        for key, now in self._now.items() if before else ():
            was = before.get(key)
            if key in ("arguments", "options") and isinstance(was, dict):
                values = [{name: value for name, value in one.items() if name not in same} for one in (was, now)]
                if values[0] != values[1]:
                    yield key, *values
            elif was != now:
                yield key, was, now
