"""Files of strangers: what could run a command, take all memory or end in a traceback is one line."""

import gzip
import json
import subprocess
import zipfile
from itertools import product
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from common import Cli, Patch, write_rows
from programs import run as program

from halu_tasks.core.limits import LIMITS, Archive, LimitError
from halu_tasks.core.options import Options
from halu_tasks.results.read import read_results
from halu_tasks.tasks import build
from halu_tasks.tasks.yaml_files import task_configs

TASK = "refact_correction"
PACKAGED = task_configs() / "refact" / f"{TASK}.yaml"
SPACES = b" " * (1 << 24)


def one_line(ran: subprocess.CompletedProcess[str]) -> str:
    """The only line of an error."""
    assert ran.returncode == 2 and not ran.stdout
    (line,) = ran.stderr.splitlines()
    return line.removeprefix("halu-tasks: ")


# --- templates ------------------------------------------------------------------------------------

UNSAFE, LOADS = "is unsafe", "line 1 loads another file ({}), which no template may"
TEMPLATES = {
    "{{ cycler.__init__.__globals__.os.system('touch ran') }}": UNSAFE,
    "{{ question.__class__.__mro__[1].__subclasses__() }}": UNSAFE,
    "{{ '{0.__class__}'['format'](question) }}": UNSAFE,
    "{% include '/etc/hostname' %}": LOADS.format("Include"),
    "{% import 'a' as b %}": LOADS.format("Import"),
    "{% from 'a' import b %}": LOADS.format("FromImport"),
    "{% extends 'a' %}": LOADS.format("Extends"),
    "{% for i in range(10**9) %}{% endfor %}x": "Range too big",
    "{{ 1 / 0 }}": "division by zero",
    "{{ " + "(" * 5_000 + "question" + ")" * 5_000 + " }}": "is nested too deeply",
    "{% for i in range(99999) %}{{ question }}{% endfor %}": "more than 100,000 characters in a filled template",
}


@pytest.mark.parametrize("template", TEMPLATES)
def test_a_template_runs_nothing_loads_nothing_and_has_an_end(
    template: str, here: Cli, tmp_path: Path, monkeypatch: Patch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HALU_TASKS_MAX_PROMPT", "100000")
    Path("mine.yaml").write_text(f"include: {PACKAGED}\ntask: mine\ndoc_to_text: {json.dumps(template)}\n")
    is_deep = len(template) > 5_000  # where the stack ends, hooks of other packages speak, too

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return program("halu_tasks", *words, folder=tmp_path) if is_deep else here(*words)

    checked = run("check", "mine.yaml")
    assert checked.returncode == 2 and not checked.stderr
    (line,) = checked.stdout.splitlines()
    assert line.startswith("mine.yaml:3: doc_to_text: ") and TEMPLATES[template] in line
    for command in ("items", "mine.yaml", "--data", "sample"), ("show", "mine.yaml"):
        assert TEMPLATES[template] in one_line(run(*command))
    assert not Path("ran").exists()


@pytest.mark.parametrize("key", ["description", "doc_to_target", "baseline"])
def test_a_fault_of_any_template_names_its_key(key: str, here: Cli, tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(f"include: {PACKAGED}\ntask: mine\n{key}: '{{{{ range(10**9) }}}}'\n")
    assert here("check", path).stdout.startswith(f"{path}:3: {key}: prompt: Range too big")


# --- YAML -----------------------------------------------------------------------------------------

LAUGHS = "a0: &a0 [1, 2]\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12))
YAML = {
    "x: " + "[" * 100_000: ":1: ",
    "{a: " * 300 + "1" + "}" * 300: ":1: more than 100 levels of nesting in a YAML file; to allow more",
    LAUGHS: ":6: more than 100,000 values in a YAML file, with what its aliases repeat",
    "a: &a [*a]": ":1: more than 100,000 values",
}


@pytest.mark.parametrize("text", YAML)
def test_yaml_that_would_end_the_interpreter_or_fill_memory_is_one_line(text: str, here: Cli, tmp_path: Path) -> None:
    path = tmp_path / "file.yaml"
    path.write_text(text)
    checked = program("halu_tasks", "check", path) if len(text) > 50_000 else here("check", path)
    assert checked.returncode == 2 and checked.stdout.startswith(f"{path}{YAML[text]}")
    assert len(checked.stdout.splitlines()) == 1 and not checked.stderr
    for arguments in (
        ("run", path, "--tasks", TASK, "--data", "sample", "-o", tmp_path / "runs"),
        ("items", TASK, "--data", "sample", "--prompts", path),
    ):
        assert one_line(here(*arguments)).startswith(f"{path}{YAML[text]}")


def test_aliases_that_repeat_little_are_read(here: Cli, tmp_path: Path) -> None:
    path = tmp_path / "file.yaml"
    path.write_text(f"{TASK}: &same {{user: &text 'Mine: {{question}}'}}\nrefact_localization_entity: *same\n")
    assert "\nMine: " in here("items", TASK, "--data", "sample", "--prompts", path, "--limit", "1").stdout


# --- compressed files -----------------------------------------------------------------------------


def test_a_line_without_end_takes_little_memory(tmp_path: Path) -> None:
    path = tmp_path / "replies.jsonl.gz"
    path.write_bytes(gzip.compress(SPACES) * 192)  # 3 GiB in one line
    code = (
        "import resource, sys; from halu_tasks.cli import main; status = main(sys.argv[1:]);"
        "print(status, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)"
    )
    ran = program("score", TASK, path, "--data", "sample", code=code)
    status, most = map(int, ran.stdout.split())
    assert f"{path}:1: more than 67,108,864 bytes in a line of a text file; to allow more, " in ran.stderr
    assert status == 2 and most < 1_000


@pytest.mark.parametrize(("limit", "value"), [("LINE", "9999"), ("TEXT", "60"), ("LINE", "none")])
def test_a_limit_can_be_set_and_is_named(limit: str, value: str, here: Cli, tmp_path: Path, monkeypatch: Patch) -> None:
    path = tmp_path / "replies.json"
    path.write_text(json.dumps([{"id": f"{n}", "output": "x" * 10_000} for n in range(9)], indent=1))
    monkeypatch.setenv(f"HALU_TASKS_MAX_{limit}", value)
    told = one_line(here("score", TASK, path, "--data", "sample"))
    if value == "none":
        assert told == "HALU_TASKS_MAX_LINE: expected an integer greater than 0, got 'none'"
    else:
        assert told.startswith(str(path)) and told.endswith(f"to allow more, set HALU_TASKS_MAX_{limit}=N")


@pytest.mark.parametrize("name", ["replies.jsonl.gz", "replies.parquet", "lists.parquet", "plain.parquet"])
def test_a_small_file_that_unpacks_to_much_takes_little_memory(name: str, tmp_path: Path) -> None:
    path, text = tmp_path / name, "a" * (1 << 20)
    if name.endswith(".gz"):
        path.write_bytes(gzip.compress(json.dumps({"id": "a", "output": text}).encode() + b"\n") * 2_000)
    elif name == "plain.parquet":
        pq.write_table(pa.table({"id": [text] * 300}), path, compression="zstd", use_dictionary=False)
    else:
        once = pa.DictionaryArray.from_arrays(pa.array([0] * 2_000, pa.int32()), [text])
        if name == "lists.parquet":
            once = pa.ListArray.from_arrays(pa.array([0, 2_000], pa.int32()), once)
        pq.write_table(pa.table({"id": once}), path, compression="zstd")
    code = (
        "import re, sys; from pathlib import Path; from halu_tasks.data.rows import parquet_rows, text_lines\n"
        "from halu_tasks.core.limits import LimitError; path = Path(sys.argv[1])\n"
        "try:\n"
        "    for row in parquet_rows(path, ['id']) if path.suffix == '.parquet' else text_lines(path): pass\n"
        "except LimitError as error: print(error)\n"
        "print(int(re.search(r'VmHWM:\\s+(\\d+)', Path('/proc/self/status').read_text())[1]) // 1024)"
    )
    told, most = program(path, code=code).stdout.splitlines()
    assert told.startswith(str(path)) and told.endswith("to allow more, set HALU_TASKS_MAX_RATIO=N")
    assert int(most) < 500 and path.stat().st_size < 3_000_000


def test_a_cell_may_be_as_long_as_a_text(here: Cli, tmp_path: Path, monkeypatch: Patch) -> None:
    (tmp_path / "t.yaml").write_text(
        "class: !function halu_tasks.lm_eval_adapter.task.HaluTask\ntask: t\nfile: rows.csv\nfields: [context]\n"
        "answer: {kind: label, labels: [yes_, no_]}\ngold: {target: label}\ndoc_to_text: 'Yes or no? {{context}}'\n"
    )
    (tmp_path / "rows.csv").write_text(f"id,context,label\n1,{'word ' * 40_000},yes_\n2,short text,no_\n")
    assert here("check", tmp_path / "t.yaml").stdout == "no faults in 1 files\n"
    monkeypatch.setenv("HALU_TASKS_MAX_TEXT", "150000")
    told = here("check", tmp_path / "t.yaml").stdout
    assert "rows.csv:2: a cell: more than 150,000 bytes in" in told and told.endswith("HALU_TASKS_MAX_TEXT=N\n")


def zipped(path: Path, parts: dict[str, bytes], stated: int | None = None) -> Path:
    """A zip archive, which may state another size for all of its parts."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
        for member in archive.infolist() if stated else ():
            member.file_size = stated or 0
    return path


# the header has no task, so no sample is read: only what the archive states of it can be too much
@pytest.mark.parametrize(
    ("part", "stated"),
    [*product(["header.json", "summaries.json"], [None, 99]), ("samples/1_epoch_1.json", None)],
)
def test_a_log_that_unpacks_to_too_much_is_not_read(
    part: str, stated: int | None, tmp_path: Path, monkeypatch: Patch
) -> None:
    monkeypatch.setenv("HALU_TASKS_MAX_TEXT", str(1 << 20))
    parts: dict[str, bytes] = {"_journal/start.json": b"{}", "header.json": b"{}", "summaries.json": b"[]"}
    path = zipped(tmp_path / "log.eval", parts | {part: SPACES}, stated)
    (skipped,) = read_results([str(path)]).skipped
    assert skipped.why.startswith(f"{part}: more than 1,048,576 bytes in a text that is read as a whole")


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, 93])
def test_a_part_of_an_archive_is_what_was_packed_or_an_error(method: int, tmp_path: Path, monkeypatch: Patch) -> None:
    import inspect_ai.log  # noqa: F401 (with it, zipfile packs by method 93, which logs have)

    path, content = tmp_path / "log.eval", b'{"reply": "' + b"so it is, " * 1_000 + b'"}'
    with zipfile.ZipFile(path, "w", method) as made:
        made.writestr("first.json", b"{}")
        made.writestr("samples/1.json", content)
    with Archive(str(path), "log.eval") as archive:
        assert [archive.unpack(name) for name in archive.namelist()] == [b"{}", content]
        place = archive.getinfo("samples/1.json").header_offset + len("samples/1.json") + 40
    monkeypatch.setenv("HALU_TASKS_MAX_TEXT", "9999")
    with Archive(str(path), "log.eval") as archive, pytest.raises(LimitError, match=r"samples.1.json: more than 9,999"):
        archive.unpack("samples/1.json")
    monkeypatch.delenv("HALU_TASKS_MAX_TEXT")
    damaged = bytearray(path.read_bytes())
    damaged[place] ^= 1
    path.write_bytes(damaged)
    with Archive(str(path), "log.eval") as archive, pytest.raises(Exception, match=r"Bad CRC|decompress"):
        archive.unpack("samples/1.json")


def workbook(path: Path, *changes: tuple[bytes, bytes]) -> Path:
    import openpyxl

    book = openpyxl.Workbook()
    sheet: Any = book.active
    for row in (["id", "output"], ["a", 1.0], ["b", 2.5], ["c", True]):
        sheet.append(row)
    book.save(path)
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    for old, new in changes:
        parts["xl/worksheets/sheet1.xml"] = parts["xl/worksheets/sheet1.xml"].replace(old, new)
    return zipped(path, parts)


def test_a_workbook_with_a_row_far_below_or_a_large_part_is_one_line(
    here: Cli, tmp_path: Path, monkeypatch: Patch
) -> None:
    monkeypatch.setenv("HALU_TASKS_MAX_CELLS", "10000")
    below = [(b'r="4"', b'r="1000000000"'), (b'"A4"', b'"A1000000000"'), (b'"B4"', b'"B1000000000"')]
    path = workbook(tmp_path / "replies.xlsx", *below)
    told = one_line(here("score", TASK, path, "--data", "sample"))
    assert told.startswith(f"{path}:9998: more than 10,000 cells in a workbook")
    monkeypatch.setenv("HALU_TASKS_MAX_TEXT", str(1 << 20))
    workbook(path, (b"<sheetData>", SPACES + b"<sheetData>"))
    told = one_line(here("score", TASK, path, "--data", "sample"))
    assert told.startswith(f"{path}: xl/worksheets/sheet1.xml: more than 1,048,576 bytes")


def test_parquet_with_text_that_is_not_utf_8_is_one_line(here: Cli, tmp_path: Path) -> None:
    buffers = pa.array([b"\xff\xfe"], pa.binary()).buffers()
    text = pa.Array.from_buffers(pa.string(), 1, buffers)
    pq.write_table(pa.table({"id": text, "output": text}), tmp_path / "replies.parquet")
    told = one_line(here("score", TASK, tmp_path / "replies.parquet", "--data", "sample"))
    assert told.startswith(f"{tmp_path / 'replies.parquet'}: not a Parquet file of UTF-8 ('utf-8' codec can't decode")


# --- names and pages ------------------------------------------------------------------------------


def test_names_with_any_letter_can_be_used_in_the_c_locale(here: Cli, tmp_path: Path) -> None:
    folder = tmp_path / "é"
    items = build(TASK, Options(data="sample")).items
    replies = write_rows(folder / "répliques.jsonl", ({"id": item.id, "output": item.target} for item in items))
    scored = here("score", TASK, replies, "--data", "sample", "--json")
    (folder / "scored.json").write_text(scored.stdout)
    # it reads the replies again
    reported = program("halu_tasks", "report", folder, "-o", folder / "report", LC_ALL="C")
    assert reported.returncode == 0 and reported.stdout.startswith(f"{folder}/report/index")
    assert "halu-tasks:" not in reported.stderr


def test_the_page_on_security_has_every_limit() -> None:
    page = (Path(__file__).resolve().parents[2] / "SECURITY.md").read_text(encoding="utf-8")
    for name, (most, what) in LIMITS.items():
        assert f"| `HALU_TASKS_{name.upper()}` | {what} | {most:,} |" in page
