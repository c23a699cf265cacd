"""Fetching biographies as documents for a builder, into a folder from which it can be continued.

biographies.json   whose biographies, and where from
people.jsonl       a line per group: the people that were sampled, with the titles of their articles
<language>.jsonl   the documents
left_out.jsonl     pages that give no document, and why
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from halu_tasks.builders.biographies.client import Client
from halu_tasks.builders.biographies.pages import LeftOut, fetch_page
from halu_tasks.builders.biographies.people import Person, Wanted, sample
from halu_tasks.builders.run.folder import LOCK, guard
from halu_tasks.core.errors import DataError, UsageError
from halu_tasks.core.files import atomic_write_text
from halu_tasks.core.json_lines import json_line
from halu_tasks.data.rows import json_lines, read_json_object

_PLAN, _PEOPLE, _LEFT_OUT = "biographies.json", "people.jsonl", "left_out.jsonl"
WIKIDATA = "https://query.wikidata.org/sparql"
WIKIPEDIA = "https://{language}.wikipedia.org/w/api.php"


@dataclass(frozen=True, kw_only=True)
class BiographiesRequest:
    """What to fetch.

    Attributes:
        wanted: Whose biographies.
        output: The folder.
        contact: The user's address, for the services.
        rate: Maximum number of requests per second.
        wikidata: The address of the query service.
        wikipedia: The address of Wikipedia's API, with `{language}`.
    """

    wanted: Wanted
    output: Path
    contact: str
    rate: float = 1.0
    wikidata: str = WIKIDATA
    wikipedia: str = WIKIPEDIA


@dataclass(frozen=True)
class Fetched:
    """What was fetched.

    Attributes:
        people: The number of people.
        missing: For each group with fewer people than requested, how many are missing.
        documents: The number of documents by language.
        left_out: Pages that give no document, by reason.
    """

    people: int
    missing: Mapping[str, int]
    documents: Mapping[str, int]
    left_out: Mapping[str, int]


def fetch_biographies(request: BiographiesRequest, report: Callable[[str], None]) -> Fetched:
    """Fetch biographies, or the rest of them; what the folder contains is neither asked for again nor replaced.

    Args:
        request: What to fetch.
        report: Called with a line about the progress.

    Raises:
        UsageError: A value of the request is invalid.
        DataError: A service does not answer, or the folder contains something else.
    """
    if not request.contact.strip():
        raise UsageError("--contact: expected an e-mail address or a web page, which Wikimedia asks of programs")
    if request.rate <= 0:
        raise UsageError(f"--rate: expected a number greater than 0, got {request.rate:g}")
    folder = request.output
    if folder.is_dir() and not (folder / _PLAN).is_file() and any(file.name != LOCK for file in folder.iterdir()):
        raise DataError(f"{folder}: is not empty and contains no biographies; choose another folder")
    try:
        with guard(folder), Client(request.contact, request.rate) as client:
            _begin(folder, request.wanted)
            people = _sample(folder, client, request, report)
            _fetch(folder, client, request, people, report)
    except OSError as error:
        raise DataError(f"{error.filename or folder}: {error.strerror or error}") from None
    return _summary(folder, request.wanted)


def _begin(folder: Path, wanted: Wanted) -> None:
    """Write the plan; raise DataError if the folder has another one."""
    plan = wanted.to_json()
    if (folder / _PLAN).is_file():
        earlier = read_json_object(folder / _PLAN)
        if other := next((name for name in plan if earlier.get(name) != plan[name]), None):
            raise DataError(f"{folder}: contains biographies with other {other}; choose another folder")
        return
    atomic_write_text(folder / _PLAN, json.dumps(plan, indent=1) + "\n")


def _sample(
    folder: Path, client: Client, request: BiographiesRequest, report: Callable[[str], None]
) -> dict[str, Person]:
    """Return the people by item, after sampling the groups that were not sampled yet."""
    sampled = {row["group"]: row for row in _rows(folder / _PEOPLE)}
    people = {each["item"]: Person(**each) for row in sampled.values() for each in row["people"]}
    for stratum, number in request.wanted.quotas().items():
        if stratum.describe() in sampled or not number:
            continue
        found = sample(client, request.wikidata, stratum, number, request.wanted, frozenset(people))
        row = {"group": stratum.describe(), "requested": number, "people": [each._asdict() for each in found]}
        _append(folder / _PEOPLE, row)
        people |= {each.item: each for each in found}
        report(f"{stratum.describe()}: {len(found)} of {number} people")
    return people


def _fetch(
    folder: Path,
    client: Client,
    request: BiographiesRequest,
    people: Mapping[str, Person],
    report: Callable[[str], None],
) -> None:
    """Append the pages that are not fetched yet to the files of their languages."""
    languages = request.wanted.languages
    files = [folder / f"{language}.jsonl" for language in languages]
    done = {row["id"] for path in (*files, folder / _LEFT_OUT) for row in _rows(path)}
    pages = [(person, language) for person in people.values() for language in languages]
    remaining = [(person, language) for person, language in pages if f"{person.item}-{language}" not in done]
    for number, (person, language) in enumerate(remaining, 1):
        endpoint = request.wikipedia.replace("{language}", language)
        page = fetch_page(client, endpoint, language, person.item, person.titles[language])
        if isinstance(page, LeftOut):
            _append(folder / _LEFT_OUT, page._asdict())
        else:
            _append(folder / f"{language}.jsonl", page.as_row())
        if number % 50 == 0 or number == len(remaining):
            report(f"{len(pages) - len(remaining) + number} of {len(pages)} pages")


def _append(path: Path, row: Mapping[str, Any]) -> None:
    """Append a line to a file."""
    with path.open("a", encoding="utf-8", newline="\n") as file:
        file.write(json_line(row) + "\n")


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    """Read the lines of a file, after removing one that an interruption has cut off; there may be no file."""
    if not path.is_file():
        return
    content = path.read_bytes()
    if content and not content.endswith(b"\n"):
        with path.open("r+b") as file:
            file.truncate(content.rfind(b"\n") + 1)
    yield from (row for _, row in json_lines(path))


def _summary(folder: Path, wanted: Wanted) -> Fetched:
    """Count what a folder contains."""
    groups = {row["group"]: row for row in _rows(folder / _PEOPLE)}
    missing = {name: number for name, row in groups.items() if (number := row["requested"] - len(row["people"]))}
    return Fetched(
        people=sum(len(row["people"]) for row in groups.values()),
        missing=missing,
        documents={language: sum(1 for _ in _rows(folder / f"{language}.jsonl")) for language in wanted.languages},
        left_out=dict(Counter(row["reason"] for row in _rows(folder / _LEFT_OUT))),
    )
