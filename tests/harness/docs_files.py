"""What a reader of the documentation has, besides the package: a model, documents, replies, notes of annotators.

`Reader` runs commands in a folder. `BEFORE` and `AFTER` say what the reader does before and after commands: it makes
the files that they name, with the package's own commands where these can make them.
"""

from __future__ import annotations

import csv
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from common import fenced, read_rows
from docs_commands import ROOT, Command, as_run, shown_files
from programs import LM_EVAL_OF_FEW
from scripted_builders import HaluModel, document
from test_build_factchd import FACTS, TRIPLES
from test_build_factchd import model as factchd_model
from test_build_refact import document as refact_document
from test_executors import SBATCH, SQUEUE
from test_fave import Lab
from test_methods import kind as method_kind
from test_methods import reply as method_reply

from halu_tasks.data.locate import SAMPLE

GOOD = ("good", "near")
"""The facts at which the scripted model of FactCHD's pipeline does what it is asked."""
TOWNS = ["Graz", "Lisbon", "Porto", "Turin", "Ghent", "Lyon", "Basel", "Oslo", "Riga", "Bern"]
BIOGRAPHY = [f"Mara Tolnay founded the school of {town} in {year}." for year in (1904, 1931, 1960) for town in TOWNS]


OF_QUESTIONS = ("CORRECT", "INCORRECT", "NOT_ATTEMPTED")
"""The labels of the judge of docs/own-questions.md."""


class Model:
    """The server's answers: as the prompts of builders, judges and methods ask, otherwise a verdict."""

    def __init__(self) -> None:
        self.halu, self.lab = HaluModel(), Lab()

    def __call__(self, request: dict[str, Any]) -> Any:
        if "input" in request:
            return _response(self({"messages": [_message(turn) for turn in request["input"]]}))
        messages = request.get("messages") or [{"content": request.get("prompt")}]
        asked = str(messages[-1]["content"])
        if "You check a fact that is stated in a biography" in asked:
            return json.dumps({"reason": "…", "verdict": ("supported", "not_supported")[len(asked) % 3 == 0]})
        if "Is the reply CORRECT, INCORRECT or NOT_ATTEMPTED?" in asked:
            return json.dumps({"reason": "…", "verdict": OF_QUESTIONS[len(asked) % 3]})
        if "biograph" in asked or "You make test material for detectors" in asked or "You review pairs of" in asked:
            return _halluverse(asked)
        if "conflict" in asked:
            return json.dumps({"reason": "…", "verdict": ("consistent", "conflict")[len(asked) % 3 == 0]})
        if method_kind(request) != "plain":
            return method_reply(request)
        if any("Research question:" in str(turn["content"]) for turn in messages) or "trust verdicts in it" in asked:
            return self.lab(request)
        if reply := _refact(asked):
            return reply
        for scripted in (self.halu, factchd_model):
            try:
                return scripted(request)
            except (AssertionError, IndexError, ValueError):
                continue
        return "Final Verdict: True"


def _refact(asked: str) -> str | None:
    """What the prompts of ReFACT's pipeline ask for; None for another prompt."""
    shown = fenced(asked)
    if "Which sentences of the answer state facts" in asked:
        mills = re.findall(r"Mill\d+ was built of granite by Ada Rook\.", asked)
        return json.dumps([mills[0], "Its wheel turns to the left and lifts 30 buckets."])
    if "Turn the sentence into its opposite" in asked:
        opposite = shown[2].replace(" was", " was never").replace("to the left", "to the right")
        return json.dumps({"sentence": opposite})
    if "Find a replacement for each marked phrase" in asked:
        return shown[2].replace("granite", "slate")
    if "decide whether both sentences say the same" in asked:
        return json.dumps([{"verdict": "no", "reason": "so it seems"}] * len(json.loads(shown[0])))
    others = {
        "Choose key phrases": '["granite"]',
        "Under which other expressions": '["The granite"]',
        "Which one would deceive most readers": '{"choice": 2}',
        "Three things are to be decided": json.dumps([{"verdict": "yes", "reason": "clear"}] * 3),
    }
    return next((reply for question, reply in others.items() if question in asked), None)


def _message(turn: Mapping[str, Any]) -> dict[str, Any]:
    content = turn.get("content")
    text = content if isinstance(content, str) else "".join(part.get("text", "") for part in content or [])
    return {"role": turn.get("role"), "content": text}


def _response(text: Any) -> dict[str, Any]:
    """A body of OpenAI's newer interface."""
    content = [{"type": "output_text", "text": str(text), "annotations": []}]
    message = {"type": "message", "id": "1", "role": "assistant", "status": "completed", "content": content}
    usage = {
        "input_tokens": 1, "output_tokens": 1, "total_tokens": 2,
        "input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0},
    }  # fmt: skip
    return {
        "id": "1", "object": "response", "created_at": 0, "model": "m", "status": "completed", "output": [message],
        "parallel_tool_calls": False, "tool_choice": "auto", "tools": [], "usage": usage,
    }  # fmt: skip


def _halluverse(asked: str) -> str:
    """Copies sentences, makes each kind of error, and names it."""
    texts = fenced(asked)
    if "sentences of it that state facts" in asked:
        return json.dumps(BIOGRAPHY[: int(re.search(r"Choose (\d+) sentences", asked)[1])])  # type: ignore[index]
    if "You review pairs" in asked:
        kind = "sentence" if "raft" in texts[1] else "relation" if "destroyed" in texts[1] else "entity"
        return json.dumps({"reason": "It differs.", "wrong": "yes", "fluent": "yes", "type": kind})
    edited = {
        "RELATION": texts[-1].replace("founded", "destroyed"),
        "SENTENCE": f"Mara Tolnay sailed round the world alone on a raft with {len(texts[-1])} goats.",
        "ENTITY": texts[-1].replace("Mara Tolnay", "Ilse Brandt"),
    }
    return json.dumps(
        {"edited": next(text for name, text in edited.items() if f"put one {name}" in asked or name in asked)}
    )


class Reader:
    """Runs the commands of a page in a folder, with a server in the place of all models."""

    def __init__(self, page: str, folder: Path, server: str) -> None:
        self.page, self.folder, self.server = page, folder / "here", server
        self.folder.mkdir()
        own = folder / "bin"
        own.mkdir()
        lm_eval = f"#!{{python}}\n{LM_EVAL_OF_FEW}"
        scripts = {"sbatch": SBATCH, "squeue": SQUEUE, "module": "#!/bin/sh\n", "lm_eval": lm_eval}
        for name, script in scripts.items():
            (own / name).write_text(script.format(python=sys.executable, folder=str(own)), encoding="utf-8")
            (own / name).chmod(0o755)
        keys = ("OPENAI", "LOCAL", "VLLM")
        self.environment = os.environ | {
            "PATH": f"{own}:{Path(sys.executable).parent}:{os.environ['PATH']}",
            "HALU_TASKS_DATA": "sample",
            "HALU_TASKS_CACHE": str(folder / "cache"),
            "INSPECT_CACHE_DIR": str(folder / "replies"),
            "INSPECT_DISPLAY": "plain",
            "INSPECT_EVAL_MODEL": "openai/gpt-4o-mini",
            "SCOUT_SCAN_MAX_PROCESSES": "1",
            "COLUMNS": "200",
            **{f"{key}_API_KEY": "none" for key in keys},
            **{f"{key}_BASE_URL": server for key in keys},
        }
        for name, content in shown_files(page).items():
            self.write(name, content)

    def write(self, name: str, content: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
        return path

    def rows(self, name: str, rows: Iterable[Mapping[str, Any]]) -> Path:
        return self.write(name, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))

    def text(self, text: str) -> str:
        """A command as it is run."""
        logs = sorted(self.folder.rglob("*.eval"), key=lambda path: path.stat().st_mtime)
        log = str(logs[-1].relative_to(self.folder)) if logs else "LOG"
        return as_run(text, server=self.server, log=log)

    def run(self, text: str, exports: Sequence[str] = ()) -> subprocess.CompletedProcess[str]:
        """Run a command, with what its block exports before it."""
        return subprocess.run(
            ["bash", "-euc", "\n".join([*map(self.text, exports), text])],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8",
            errors="replace", cwd=self.folder, env=self.environment, timeout=1500,
        )  # fmt: skip

    def need(self, text: str) -> str:
        """Run a command of the reader's own, which must succeed; returns what it prints."""
        done = self.run(text)
        assert done.returncode in (0, 3), f"{text}\n{done.stdout[-3000:]}"
        return done.stdout


# --- files --------------------------------------------------------------------------------------------------------


def _documents(reader: Reader, command: str) -> None:
    name = "biographies/en.jsonl" if "biographies" in command else "documents.jsonl"
    if "halluverse25" in command:
        reader.rows(name, [{"id": "tolnay", "text": " ".join(BIOGRAPHY)}])
    else:
        reader.rows(name, [document(number) for number in range(6)])


def _answers(reader: Reader, command: str) -> None:
    more = " The wheel is made of oak, and a miller keeps it in order with grease, wedges and much patience." * 4
    rows = [refact_document(number, score=9, question_score=9) for number in range(10, 18)]
    reader.rows("answers.jsonl", [row | {"text": row["text"].replace(" Go and", f"{more} Go and")} for row in rows])


def _facts(reader: Reader, command: str) -> None:
    keys = ("head", "relation", "tail")
    reader.rows("facts/triples.jsonl", [dict(zip(keys, triple, strict=True)) for triple in TRIPLES])
    reader.rows("facts/texts.jsonl", [{"id": name, "text": text} for name, text in FACTS.items() if name in GOOD])


def _demonstrations(reader: Reader, command: str) -> None:
    reader.rows("real.jsonl", [_json_block("docs/pipelines.md", "response")])


def _passages(reader: Reader, command: str) -> None:
    reader.rows("wiki/water.jsonl", [_json_block("docs/knowledge.md", "title")])


def _own_rows(reader: Reader, command: str) -> None:
    reader.rows("my_rows.jsonl", [_json_block("docs/local-data.md", "sample_id")])


def _own_task(reader: Reader, command: str) -> None:
    shutil.copytree(ROOT / "docs" / "own_task", reader.folder, dirs_exist_ok=True)


def _json_block(page: str, key: str) -> dict[str, Any]:
    """The first object of a page with a key."""
    text = (ROOT / page).read_text(encoding="utf-8")
    for block in re.findall(r"^```json\n(\{.*?)^```", text, re.DOTALL | re.MULTILINE):
        if f'"{key}"' in block:
            return dict(json.loads(block))
    raise AssertionError(f"{page} shows no object with {key}")


def _data(reader: Reader, command: str) -> None:
    folder = reader.folder / "path/to/data"
    shutil.copytree(SAMPLE, folder)
    # the training part, which is not in the sample
    shutil.copy(folder / "factchd/fact_test_noe.jsonl", folder / "factchd/fact_train_noe.jsonl")


def _hub(reader: Reader, command: str) -> None:
    import pandas as pd

    rows = pd.read_json(SAMPLE / "refact/refact_multi_error.jsonl", lines=True)
    folder = reader.folder / "path/to/folder/data"
    folder.mkdir(parents=True)
    for split in ("train", "test"):
        rows.to_parquet(folder / f"{split}-00000-of-00001.parquet")
    rows.rename(columns={"question": "q", "correct_answer": "a"}).to_parquet(reader.folder / "rows.parquet")


def _prompts(reader: Reader, command: str) -> None:
    for name, question in (("short", "True or False?"), ("long", "Is the answer true? Reply with True or False.")):
        user = f"Question: {{question}}\nAnswer: {{answer}}\n{question}"
        reader.write(f"{name}.yaml", json.dumps({"refact_judgment_independent": {"user": user}}))


def _cluster(reader: Reader, command: str) -> None:
    reader.write("slurm.yaml", shown_files("docs/scale.md")["slurm.yaml"])


def _derived(reader: Reader, command: str) -> None:
    path = reader.folder / "my_refact.yaml"
    path.write_text(path.read_text().replace("TASKS", reader.need("halu-tasks show --path").strip()))


def _replies(reader: Reader, command: str) -> None:
    """Replies to the items of the command's task, all right but every fourth; `items` takes the same options."""
    words = shlex.split(command.replace("\\\n", " "))
    task = next(
        (
            word
            for word in words
            if re.fullmatch(r"(halu_tasks/)?(refact|cfaith)_\w+|factscore|halluqa|my_\w+\.yaml", word)
        ),
        "",
    )
    options = [
        f"{word} {shlex.quote(words[place + 1])}"
        for place, word in enumerate(words)
        if word in ("--data", "--data-split", "--columns", "--prompts")
    ]
    items = reader.need(f"halu-tasks items {task.removeprefix('halu_tasks/')} {' '.join(options)} --json")
    targets = [json.loads(line) for line in items.splitlines() if line.startswith("{")]
    rows = [{"id": row["id"], "output": row["target"] if n % 4 else "?"} for n, row in enumerate(targets)]
    reader.rows("replies.jsonl", rows)
    for part in (0, 1):
        reader.rows(f"replies/part-{part}.jsonl", rows[part::2])


def _verdicts(reader: Reader, command: str) -> None:
    """Verdicts on the replies of `_replies`, of which every fourth is wrong."""
    replies = read_rows(reader.folder / "replies.jsonl")
    reader.rows("verdicts.jsonl", ({"id": row["id"], "verdict": row["output"] == "?"} for row in replies))


def _served_models(reader: Reader, command: str) -> None:
    """The models that the page shows, with a server in the place of weights."""
    path = reader.folder / "models.yaml"
    content = path.read_text().replace("http://localhost:8000/v1", reader.server)
    weights = re.compile(r"model: hf +#.*\n( *)arguments: \{pretrained: ([^,]+), .*\n.*batch_size.*")
    content, number = weights.subn(rf"model: openai-api/local/\2\n\1base_url: {reader.server}", content)
    assert number == 1
    path.write_text(content)


def _first_night(reader: Reader, command: str) -> None:
    night = re.search(r"halu-tasks run .*?(?= -o)", command)
    assert night
    reader.need(f"{night[0]} -o results/2026-01-01T0200")


def _german(reader: Reader, command: str) -> None:
    shutil.copytree(SAMPLE / "halluverse25", reader.folder / "out/dataset", dirs_exist_ok=True)
    (reader.folder / "out/dataset/en_final_data.csv").rename(reader.folder / "out/dataset/de_final_data.csv")


def _annotated(reader: Reader, command: str) -> None:
    """What three people label, in a spreadsheet and in doccano."""
    labels = (reader.folder / "labels.csv").read_text(encoding="utf-8")
    rows = list(csv.DictReader(labels.splitlines(keepends=True)))
    for name in ("ana", "bo", "cy"):
        reader.rows(f"{name}.jsonl", (row | {"label": ["valid"]} for row in rows))
        with (reader.folder / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
            table = csv.DictWriter(file, rows[0])
            table.writeheader()
            table.writerows(row | {"label": "valid"} for row in rows)


def _column(file: str, column: str, words: Sequence[str] = ("yes", "no")) -> Callable[[Reader, str], None]:
    """Write words into a column of a file, in turn."""

    def fill(reader: Reader, command: str) -> None:
        with (reader.folder / file).open(encoding="utf-8-sig", newline="") as source:
            rows = list(csv.DictReader(source))
        assert rows and column in rows[0], (file, rows[:1])
        with (reader.folder / file).open("w", encoding="utf-8", newline="") as target:
            writer = csv.DictWriter(target, rows[0])
            writer.writeheader()
            writer.writerows(row | {column: words[number % len(words)]} for number, row in enumerate(rows))

    return fill


def _removed(*names: str) -> Callable[[Reader, str], None]:
    """Begin without a folder, since an earlier command of the page wrote another one of its name."""

    def remove(reader: Reader, command: str) -> None:
        for name in names:
            shutil.rmtree(reader.folder / name, ignore_errors=True)

    return remove


def _reports(folder: str, *models: str) -> Callable[[Reader, str], None]:
    """See that a report is of these models, and complete."""

    def read(reader: Reader, command: str) -> None:
        report = json.loads((reader.folder / folder / "report.json").read_text(encoding="utf-8"))
        assert {entry["model"] for entry in report["entries"]} == set(models), report["entries"]
        assert report["results"] and report["pairs"] and not report["skipped"], report["skipped"]

    return read


Action = Callable[[Reader, str], None] | str
"""A function of the reader and the command, or a command."""


class Step(NamedTuple):
    """What the reader does for the commands of a page (None: of any) that contain a pattern.

    If `makes` names a file or folder, only where it is missing.
    """

    page: str | None
    pattern: str
    action: Action
    makes: str | None = None


ORACLE = "lm_eval --model halu-oracle --tasks refact_judgment --output_path results --log_samples"
PILOT = "lm_eval --tasks refact_judgment_independent --log_samples --model"
QWEN = "Qwen/Qwen2.5-0.5B-Instruct"
BUILD = "halu-tasks build haluagent documents.jsonl -o out --model openai/gpt-4o -T language=en"

BEFORE = (
    Step(None, r"halu-tasks build (collect )?.*-o out\b|export eee .*-o out\b", _removed("out")),
    Step(None, r"-o shared/out", _removed("shared/out")),
    Step(None, r"build halluverse25_pipeline biographies", _documents, "biographies/en.jsonl"),
    Step(None, r"documents\.jsonl", _documents, "documents.jsonl"),
    Step(None, r"answers\.jsonl", _answers, "answers.jsonl"),
    Step(None, r"facts/", _facts, "facts"),
    Step(None, r"real\.jsonl", _demonstrations, "real.jsonl"),
    Step(None, r"wiki/", _passages, "wiki"),
    Step(None, r"my_rows\.jsonl", _own_rows, "my_rows.jsonl"),
    Step(None, r"path/to/data", _data, "path/to/data"),
    Step(None, r"path/to/folder|rows\.parquet", _hub, "path/to/folder"),
    Step(None, r"short\.yaml", _prompts, "short.yaml"),
    Step(None, r"slurm\.yaml", _cluster, "slurm.yaml"),
    Step("docs/own-task.md", r"plain\.jsonl", _own_task, "plain.jsonl"),
    Step("docs/own-questions.md", r"questions\.yaml", _own_task, "questions.csv"),
    Step("docs/task-files.md", r"check my_refact\.yaml", _derived),
    Step(None, r"(?<![/\w])replies(\.jsonl|/| )", _replies),
    Step("docs/judges.md", r"--verdicts verdicts\.jsonl", _verdicts),
    Step("docs/leaderboards.md", r"run models\.yaml", _served_models),
    Step("docs/planning.md", r"plan x y", f"{PILOT} halu-oracle --output_path x", "x"),
    Step("docs/planning.md", r"plan x y", f"{PILOT} halu-baseline --output_path y", "y"),
    Step("docs/leaderboards.md", r"nightly\.sh", _first_night),
    Step("docs/pipelines.md", r"de_final_data\.csv", _german),
    # a leaderboard accepts no result on the packaged sample
    Step("docs/exports.md", r" results ", _data, "path/to/data"),
    Step("docs/exports.md", r" results ", ORACLE + ' --metadata \'{"halu_data": "path/to/data"}\'', "results"),
    Step("docs/report.md", r" results ", ORACLE, "results"),
    # one model each, for a comparison
    Step(None, r"report --pairs results logs", _removed("results", "logs")),
    Step(None, r"report --pairs results logs", ORACLE, "results"),
    Step(None, r"report --pairs results logs", "inspect eval halu_tasks/refact_judgment", "logs"),
    Step("docs/scanners.md", r" \./logs", "inspect eval rag.py --model openai/gpt-4o-mini", "logs"),
)

AFTER = (
    Step(None, r"label verdicts .*-o labels\.csv", _column("labels.csv", "label")),
    Step("docs/own-questions.md", r"label verdicts", _column("labels.csv", "label", OF_QUESTIONS)),
    Step(None, r"label items ", _annotated),
    Step("README.md", r"report results -o", _reports("report", QWEN, "openai/gpt-4o-mini")),
    Step(
        "docs/getting-started.md",
        r"run openai-api/local/NAME",
        _reports("halu-runs/report", QWEN, "openai/gpt-4o-mini", "openai-api/local/NAME"),
    ),
)


def take(steps: Sequence[Step], reader: Reader, command: Command, text: str) -> None:
    """Do what a command needs, or what follows it."""
    for step in steps:
        if step.page in (None, command.page) and re.search(step.pattern, text):
            if step.makes and (reader.folder / step.makes).exists():
                continue
            if isinstance(step.action, str):
                reader.need(step.action)
            else:
                step.action(reader, text)
