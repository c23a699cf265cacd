"""What is frozen: runs of the program and the facts that each of them gives.

A run is a name and a function that returns facts, key → JSON value. The program is called by its command line alone,
so that a change of its modules needs no change here.
"""

import contextlib
import hashlib
import io
import json
import lzma
import os
import re
import tarfile
import tempfile
import threading
from collections.abc import Callable, Iterator
from functools import cache, partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count, product
from pathlib import Path
from typing import Any

Facts = dict[str, Any]
Run = Callable[[], Facts]

HERE = Path(__file__).parent
SHARED = Path(os.environ.get("HALU_TASKS_TEST_DATA") or HERE.parents[2] / "shared" / "data")
RELEASED = SHARED / "refact_outputs"
MODES = ("strict", "paper")
KINDS = ("oracle", "baseline", "mixed", "hostile")

VARIANTS = {
    "refact_": ["--subset=single_error"],
    "refact_judgment_comparative": ["--both-orders"],
    "refact_judgment_independent": ["--split=train5_test20"],
    "halluverse": ["--with-zero"],
    "halluverse25_binary": ["--without-original"],
    "halluverse_m3": ["--part=qa", "--part=summarization"],
    "factchd": ["--alpha=0.5"],
}
"""Beginning of a task's name → options that change what is asked or how it is scored."""

JUDGED = {"cfaith_gen": ("conflict", "consistent"), "fave": ("unsupported", "supported")}
"""Judged task → verdicts of its judge."""


def rows_of(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a file of JSON Lines, compressed or not."""
    text = lzma.decompress(path.read_bytes()) if path.suffix == ".xz" else path.read_bytes()
    return [json.loads(line) for line in text.decode("utf-8").splitlines() if line]


def write(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def call(*argv: object) -> str:
    """Run `halu-tasks` in this process and return what it prints.

    Raises:
        RuntimeError: It fails; status 3, some replies missing, is none.
    """
    from halu_tasks.cli import main

    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = main([str(argument) for argument in argv])
    if status not in (0, 3):
        raise RuntimeError(f"halu-tasks {' '.join(map(str, argv))}: status {status}: {err.getvalue().strip()[-300:]}")
    return out.getvalue()


def draw(*parts: object) -> int:
    return int.from_bytes(hashlib.sha256("\0".join(map(str, parts)).encode()).digest()[:8], "big")


@cache
def tasks() -> list[str]:
    """Return the names of the tasks."""
    table = call("list").partition("\ngroup ")[0]
    return re.findall(r"^(\w+) ", table, re.M)[1:]


@cache
def replies() -> dict[tuple[str, str], list[dict[str, Any]]]:
    """Return the stored replies: (task and option, kind) → predictions."""
    stored = rows_of(HERE / "replies.jsonl.xz")
    return {(row["items"], row["kind"]): row["predictions"] for row in stored}


def variants(task: str) -> list[str]:
    """Return the options under which a task is frozen; the empty one is none."""
    return ["", *(option for start, options in VARIANTS.items() if task.startswith(start) for option in options)]


# scores


def results(*parts: str) -> Path:
    """Return where the results lie that are compared by themselves and again in a report."""
    return Path(os.environ["HALU_TASKS_CACHE"], "frozen", *parts)


def scored(path: Path, run: Run) -> Path:
    """Return the path of results; the run that writes them runs if it has not yet."""
    if not path.exists():
        run()
    return path


def score(task: str, predictions: list[dict[str, Any]] | Path, *options: str, out: Path | None = None) -> Facts:
    """Score predictions; the facts are n, figures, interval ends, and what was read from each reply.

    With `out`, results are written there, and beside them the replies and details, which a report reads again.
    """
    with tempfile.TemporaryDirectory() as folder:
        printed = out or Path(folder) / "results.json"
        printed.parent.mkdir(parents=True, exist_ok=True)
        path, details = printed.with_suffix(".jsonl"), printed.with_suffix(".details")
        if isinstance(predictions, Path):
            path = predictions
        else:
            write(path, predictions)
        printed.write_text(call("score", task, path, *options, "--json", "--details", details), encoding="utf-8")
        figures, read = json.loads(printed.read_text(encoding="utf-8")), rows_of(details)
    facts: Facts = {key: figures[key] for key in ("n", "missing", "version")}
    facts |= {f"figure {name}": value for name, value in figures["metrics"].items()}
    facts |= {f"interval {name}": ends for name, ends in figures["intervals"].items()}
    return facts | {f"reading {row['id']}": [row["answer"], row["outcome"]] for row in read}


def sample_runs() -> Iterator[tuple[str, Run]]:
    for task in tasks():
        for option, mode, kind in product(variants(task), MODES, KINDS):
            yield (
                " ".join(filter(None, (task, option, mode, kind))),
                partial(score_sample, task, mode, kind, option=option),
            )
            if task in JUDGED and not option:
                yield f"{task} {mode} {kind} judged", partial(score_sample, task, mode, kind, by_judge=True)


def score_sample(task: str, mode: str, kind: str, by_judge: bool = False, option: str = "") -> Facts:
    """Score the stored replies of a kind to the sample's items."""
    options = (*filter(None, [option]), "--data=sample", f"--scoring={mode}", f"--model={kind}")
    run, out = (judged if by_judge else score), None if option else in_sample(task, mode, kind, by_judge)
    return run(task, replies()[f"{task} {option}".strip(), kind], *options, out=out)


def in_sample(task: str, mode: str, kind: str, by_judge: bool = False) -> Path:
    return results("judged" if by_judge else "sample", kind, f"{task}-{mode}.json")


class _Judge(BaseHTTPRequestHandler):
    """Gives verdicts by a hash of the question: as often one as the other, and now and then none that can be read."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        question = json.loads(body)["messages"][-1]["content"]
        labels: tuple[str, str] = self.server.labels  # type: ignore[attr-defined]
        verdict = (*labels, *labels, "no verdict")[draw(question) % 5]
        message = {"role": "assistant", "content": json.dumps({"reason": "-", "verdict": verdict})}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        known = {"id": "1", "object": "chat.completion", "created": 0, "model": "m"}
        answer = known | {"choices": [choice], "usage": usage}
        data = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args: object) -> None:
        """Quiet."""


def judged(task: str, predictions: list[dict[str, Any]] | Path, *options: str, out: Path | None = None) -> Facts:
    """Score replies with a judge on loopback."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Judge)
    server.labels = JUDGED[task]  # type: ignore[attr-defined]
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    judge = ("--judge=openai/gpt-4o", f"--judge-base-url={url}", "--judge-max-failures=1")
    try:
        return score(task, predictions, *options, *judge, out=out)
    finally:
        server.shutdown()
        server.server_close()


def released_runs(folders: list[Path]) -> Iterator[tuple[str, Run]]:
    """Released ReFACT replies: `folder/model/task.jsonl`, as docs/convert_refact_outputs.py writes them."""
    for folder in folders:
        for path, mode in product(sorted(folder.glob("*/refact_*.jsonl")), MODES):
            yield f"released {path.parent.name} {path.stem} {mode}", partial(score_released, path, mode)


def score_released(path: Path, mode: str) -> Facts:
    options = (f"--data={SHARED / 'refact'}", f"--scoring={mode}", f"--model={path.parent.name}")
    return score(path.stem, path, *options, out=in_released(path, mode))


def in_released(path: Path, mode: str) -> Path:
    return results("released", path.parts[-3], mode, f"{path.stem}-{path.parent.name}.json")


# label sets


def label_runs() -> Iterator[tuple[str, Run]]:
    # how well later sets are read is measured, and not frozen
    sets = ("answer_labels", "answer_labels_2", "answer_labels_3")
    for path in (path for name in sets for path in sorted((SHARED / name).glob("*.jsonl"))):
        for task in sorted({row.get("task", path.stem) for row in rows_of(path)}):
            for mode in MODES:
                yield f"labels {path.parent.name}/{path.stem} {task} {mode}", partial(read_labels, path, task, mode)


@cache
def item_ids(task: str, data: str) -> dict[str, None]:
    """Return the ids of a task's items, or none if the data are not at hand."""
    try:
        rows = call("items", task, f"--data={data}", "--json").splitlines()
    except RuntimeError:
        return {}
    return dict.fromkeys(json.loads(row)["id"] for row in rows)


def read_labels(path: Path, task: str, mode: str) -> Facts:
    """Read the replies of a label set, each as the reply to its item or, if it names none, to one of the sample."""
    rows = [row for row in rows_of(path) if row.get("task", path.stem) == task]
    data = next((d for d in ("sample", str(SHARED)) if all(r["id"] in item_ids(task, d) for r in rows)), "sample")
    ids = item_ids(task, data)
    if not ids:
        raise RuntimeError(f"{task} has no items in its sample")
    carriers = [row["id"] for row in rows]
    if not all(id in ids for id in carriers):
        carriers = [id for _, id in zip(rows, (id for _ in count() for id in ids), strict=False)]
    facts: Facts = {}
    waiting = list(range(len(rows)))
    while waiting:
        # an item has one reply in a file of predictions, so that replies to the same one wait for the next file
        first = {carriers[number]: number for number in reversed(waiting)}
        texts = {id: rows[number].get("reply", rows[number].get("output")) for id, number in first.items()}
        predictions = [{"id": id, "output": text} for id, text in texts.items()]
        read = score(task, predictions, f"--data={data}", f"--scoring={mode}", "--partial")
        facts |= {f"reading line {number + 1}": read[f"reading {id}"] for id, number in first.items()}
        waiting = sorted(set(waiting) - set(first.values()))
    return facts


# prompts


def prompt_runs() -> Iterator[tuple[str, Run]]:
    for task in tasks():
        for option in (*variants(task), "--cot"):
            name = " ".join(filter(None, ("prompts", task, option)))
            yield name, partial(prompts, task, *filter(None, [option]))


def prompts(task: str, *options: str) -> Facts:
    """Return what each item of the sample asks; of a task without chain of thought, nothing under that option."""
    try:
        printed = call("items", task, "--data=sample", "--json", *options)
    except RuntimeError:
        return {"error": "refused"}
    rows = [json.loads(line) for line in printed.splitlines()]
    return {f"{key} {row['id']}": value for row in rows for key, value in row.items() if key != "id"}


# reports

IDENTITY = (
    "column", "group", "entry", "first", "second", "label", "title", "task", "model", "method", "name", "metric",
)  # fmt: skip
"""Fields that name a record of a report."""

LEFT_OUT = {"id", "source", "created", "package", "table", "items", "judge", "cost", "harness", "data_file"}
"""Fields that say where and when results were written, and the replies, which are compared one by one elsewhere."""


def report(*paths: Path) -> Facts:
    """Write a report about results; the facts are the values of its JSON file, by names instead of ids."""
    with tempfile.TemporaryDirectory() as out:
        call("report", *paths, "-o", out)
        written = json.loads((Path(out) / "report.json").read_text(encoding="utf-8"))
    records = [row for section in ("entries", "columns", "groups") for row in written[section]]
    titles = {
        row["id"]: " ".join(str(row[key]) for key in ("label", "title", "scoring", "data") if row.get(key))
        for row in records
    }
    facts: Facts = {}
    for section, rows in written.items():
        if section in LEFT_OUT:
            continue
        for row in rows if isinstance(rows, list) else [rows]:
            if not isinstance(row, dict):
                facts[unique(section, facts)] = str(row).replace(str(paths[0]), "RESULTS")
                continue
            named = {key: titles.get(value, value) for key, value in row.items() if isinstance(value, str)}
            record = unique(" | ".join([section, *(named[key] for key in IDENTITY if key in named)]), facts)
            facts[record] = "present"
            rest = {key: value for key, value in row.items() if key not in LEFT_OUT and key not in IDENTITY}
            facts |= {f"{record} | {key}": value for key, value in leaves(rest, titles)}
    return facts


def unique(key: str, facts: Facts) -> str:
    """Return a key that is not there yet."""
    return next(name for number in count(1) if (name := key if number == 1 else f"{key} #{number}") not in facts)


def leaves(value: object, titles: dict[str, str], key: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the leaves of JSON with their keys, ids replaced by titles."""
    if isinstance(value, dict | list):
        parts = value.items() if isinstance(value, dict) else enumerate(value)
        for name, part in parts:
            if name not in LEFT_OUT:
                yield from leaves(part, titles, f"{key}.{name}" if key else str(name))
    else:
        yield key, titles.get(value, value) if isinstance(value, str) else value


def report_runs(folders: list[Path]) -> Iterator[tuple[str, Run]]:
    yield "report of logs", report_of_logs
    yield "report of the sample", report_of_sample
    yield "report with a judge", report_with_judge
    for folder in folders[:1]:
        if any(folder.glob("*/refact_*.jsonl")):
            yield "report of released replies", partial(report_of_released, folder)


def report_of_logs() -> Facts:
    """Report the stored logs of both harnesses."""
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(HERE / "logs.tar.xz") as archive:
            archive.extractall(folder, filter="data")
        return report(Path(folder))


def report_of_sample() -> Facts:
    """Report all tasks in both modes, with the means of groups."""
    chosen = product(tasks(), MODES, ("mixed", "baseline"))
    return report(*(scored(in_sample(*each), partial(score_sample, *each)) for each in chosen))


def report_with_judge() -> Facts:
    """Report judged tasks, and the mean of C-FAITH, which needs a judge."""
    tasks = product((*JUDGED, "cfaith_choice", "cfaith_tf"), MODES, ("mixed", "baseline"))
    chosen = [(task, mode, kind, task in JUDGED) for task, mode, kind in tasks]
    return report(*(scored(in_sample(*each), partial(score_sample, *each)) for each in chosen))


def report_of_released(released: Path) -> Facts:
    """Report the replies of released models, of several hundred clusters, with their differences."""
    chosen = product(sorted(released.glob("*/refact_*.jsonl")), MODES[:1])
    return report(*(scored(in_released(*each), partial(score_released, *each)) for each in chosen))


def runs(folders: list[Path]) -> dict[str, Run]:
    """Return all runs by name, those of the released replies for the folders that are there."""
    parts = (sample_runs(), released_runs(folders), label_runs(), prompt_runs(), report_runs(folders))
    return {name: run for part in parts for name, run in part}
