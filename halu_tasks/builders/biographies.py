"""Biographies from Wikipedia as documents for a builder (HalluVerse25, section 3.1).

People are sampled from Wikidata by profession, country and year of birth; each has an article in at least one of the
languages (appendix A). The same command resumes an interrupted run, and fetches only what the folder lacks.

people.json        the query, and the people that were sampled, with the titles of their articles
<language>.jsonl   the documents
left_out.jsonl     pages that give no document, and why
"""

import logging
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import httpx

from halu_tasks import __version__
from halu_tasks.builders.folder import hold, require_same, write_json
from halu_tasks.core.errors import DataError, UsageError, file_errors
from halu_tasks.core.files import json_line
from halu_tasks.core.records import to_json
from halu_tasks.data.rows import Row, json_lines, read_json_object
from halu_tasks.executors.jobs import Progress

WIKIDATA = "https://query.wikidata.org/sparql"
WIKIPEDIA = "https://{language}.wikipedia.org/w/api.php"
ATTEMPTS = 6
_BUSY = (408, 425, 429, 500, 502, 503, 504)
# errors of the MediaWiki API, which answers with status 200, after which a request can be repeated
_BUSY_ERRORS = ("maxlag", "ratelimited", "readonly")
# maximum number of seconds to wait although a service asks for more
_MOST_PATIENCE = 300
_PEOPLE, _LEFT_OUT = "people.json", "left_out.jsonl"
_ITEM = re.compile(r"Q[1-9][0-9]*")
_LANGUAGE = re.compile(r"[a-z]{2,3}(?:-[a-z]+)*|simple")
_YEARS = re.compile(r"(-?[0-9]{1,4})(?:\.\.(-?[0-9]{1,4}))?")

GetJson = Callable[[str, Mapping[str, str]], dict[str, Any]]
"""Returns the JSON object at an address with these parameters; raises DataError if there is none."""

logger = logging.getLogger(__name__)


# --- people ---------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class PeopleQuery:
    """The people whose biographies are fetched.

    Attributes:
        number: How many people.
        languages: The Wikipedias, at least one of which has an article about them.
        profession: Their profession, as an item of Wikidata.
        country: Their country of citizenship, as an item of Wikidata.
        born: Their years of birth, such as `1900..1949`.
        seed: Seed of the sample.
    """

    number: int
    languages: Sequence[str]
    profession: str | None = None
    country: str | None = None
    born: str | None = None
    seed: int = 0

    def sparql(self) -> str:
        """Return the SPARQL query for these people.

        Articles are found by Wikidata's links to the Wikipedias, in any of the languages. They are ordered by hashes
        of the seed and the item, so the first results are a random sample, which is the same for the same seed and
        data.

        Raises:
            UsageError: A value is invalid.
        """
        for value, pattern, expected in (
            *((each, _LANGUAGE, "--language: expected a language of Wikipedia such as en") for each in self.languages),
            (self.profession, _ITEM, "--profession: expected an item of Wikidata such as Q82955"),
            (self.country, _ITEM, "--country: expected an item of Wikidata such as Q43"),
            (self.born, _YEARS, "--born: expected years such as 1900..1949"),
        ):
            if value is not None and not pattern.fullmatch(value):
                raise UsageError(f"{expected}, got {value!r}")
        lines = ["?person wdt:P31 wd:Q5 ."]
        stated = (("P106", self.profession), ("P27", self.country))
        lines += [f"?person wdt:{relation} wd:{item} ." for relation, item in stated if item]
        if self.born:
            first, _, last = self.born.partition("..")
            years = f"YEAR(?born) >= {int(first)} && YEAR(?born) <= {int(last or first)}"
            lines.append(f"?person wdt:P569 ?born . FILTER({years})")
        names = {language: language.replace("-", "_") for language in self.languages}
        for language, name in names.items():
            wiki = f"<https://{language}.wikipedia.org/>"
            article = f"?article_{name} schema:about ?person ; schema:isPartOf {wiki} ; schema:name ?title_{name} ."
            lines.append(f"OPTIONAL {{ {article} }}" if len(names) > 1 else article)
        if len(names) > 1:
            lines.append(f"FILTER({' || '.join(f'BOUND(?title_{name})' for name in names.values())})")
        titles = " ".join(f"?title_{name}" for name in names.values())
        body = "\n".join(f"  {line}" for line in lines)
        order = f'ORDER BY SHA256(CONCAT("{self.seed} ", STR(?person)))'
        return f"SELECT DISTINCT ?person {titles} WHERE {{\n{body}\n}}\n{order}\nLIMIT {self.number}"


class FetchCounts(NamedTuple):
    """The number of people, which may be too few, of documents by language, and of other pages by reason."""

    people: int
    documents: Mapping[str, int]
    left_out: Mapping[str, int]


# --- fetching -------------------------------------------------------------------------------------


def fetch_biographies(folder: Path, contact: str, report: Progress, query: PeopleQuery) -> FetchCounts:
    """Fetch biographies, or the rest of them.

    Args:
        folder: The folder.
        contact: The user's address, for the services.
        report: Called with lines about the progress.
        query: The people.

    Raises:
        UsageError: A value is invalid.
        DataError: A service does not answer, or the folder contains something else.
    """
    if not contact.strip():
        raise UsageError("--contact: expected an e-mail address or a web page, which Wikimedia asks of programs")
    sparql, languages, record = query.sparql(), query.languages, to_json(query)
    get_json = _client(contact)
    with file_errors(folder), hold(folder, _PEOPLE, "contains no biographies") as is_new:
        if is_new:
            people = _sample_people(get_json, sparql, languages)
            write_json(folder / _PEOPLE, {**record, "people": people})
        else:
            earlier = read_json_object(folder / _PEOPLE)
            people = earlier.pop("people")
            require_same(folder, "biographies", earlier, record)
        report(f"{len(people)} of {query.number} people")
        _fetch_pages(folder, get_json, languages, people, report)
    return FetchCounts(
        len(people),
        {name: sum(1 for _ in _rows(folder / f"{name}.jsonl")) for name in languages},
        Counter(row["reason"] for row in _rows(folder / _LEFT_OUT)),
    )


def _sample_people(get_json: GetJson, sparql: str, languages: Sequence[str]) -> dict[str, dict[str, str]]:
    """Return the titles of people's articles by language, by item.

    Raises:
        DataError: The service does not answer.
    """
    try:
        content = get_json(WIKIDATA, {"query": sparql, "format": "json"})
    except DataError as error:
        raise DataError(
            f"{error}; a group that is too large takes too long: narrow it with --profession, --country or --born"
        ) from None
    names = {language: f"title_{language.replace('-', '_')}" for language in languages}
    people: dict[str, dict[str, str]] = {}
    try:
        for row in content["results"]["bindings"]:
            item = str(row["person"]["value"]).rpartition("/")[2]
            if _ITEM.fullmatch(item):
                people[item] = {language: str(row[name]["value"]) for language, name in names.items() if name in row}
    except (KeyError, TypeError, AttributeError):
        raise DataError(f"{WIKIDATA}: not the answer of a SPARQL service") from None
    return people


def _fetch_pages(
    folder: Path, get_json: GetJson, languages: Sequence[str], people: Mapping[str, Mapping[str, str]], report: Progress
) -> None:
    """Append the pages that the folder lacks to the files of their languages."""
    files = [folder / _LEFT_OUT, *(folder / f"{language}.jsonl" for language in languages)]
    done = {row["id"] for path in files for row in _rows(path)}
    pages = [(item, language, title) for item, titles in people.items() for language, title in titles.items()]
    remaining = [page for page in pages if f"{page[0]}-{page[1]}" not in done]
    for number, (item, language, title) in enumerate(remaining, 1):
        page = _fetch_page(get_json, language, item, title)
        path, row = folder / f"{language}.jsonl", page
        if isinstance(page, str):
            path, row = folder / _LEFT_OUT, {"id": f"{item}-{language}", "title": title, "reason": page}
        with path.open("a", encoding="utf-8", newline="\n") as file:
            file.write(json_line(row) + "\n")
        if number % 50 == 0 or number == len(remaining):
            report(f"{len(pages) - len(remaining) + number} of {len(pages)} pages")


def _fetch_page(get_json: GetJson, language: str, item: str, title: str) -> Row | str:
    """Return a page as a row of documents, in plain text without tables, references and notes; or why there is none."""
    parameters = {
        "action": "query", "format": "json", "formatversion": "2", "redirects": "1", "maxlag": "5", "titles": title,
        "prop": "extracts|info|revisions", "explaintext": "1", "exsectionformat": "plain", "inprop": "url",
        "rvprop": "ids|timestamp", "meta": "siteinfo", "siprop": "rightsinfo",
    }  # fmt: skip
    endpoint = WIKIPEDIA.replace("{language}", language)
    content = get_json(endpoint, parameters)
    try:
        rights = content["query"]["rightsinfo"]
        (page,) = content["query"]["pages"]
        if page.get("missing") or page.get("invalid"):
            return "no such page"
        text = page["extract"].strip()
        revision = page["revisions"][0]
        row = {
            "id": f"{item}-{language}",
            "text": text,
            "title": page["title"],
            "licence": rights["text"],
            "licence_url": rights["url"],
            "source": f"{page['canonicalurl']}?oldid={revision['revid']}",
            "revision": revision["revid"],
            "revised": revision["timestamp"],
            "entity": item,
            "language": language,
        }
        return row if text else "empty page"
    except (KeyError, TypeError, ValueError, IndexError, AttributeError):
        raise DataError(f"{endpoint}: the answer about {title!r} lacks the page's text, licence or revision") from None


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    """Read the lines of a file, after removing one that an interruption has cut off; there may be no file."""
    if not path.is_file():
        return
    content = path.read_bytes()
    if content and not content.endswith(b"\n"):
        with path.open("r+b") as file:
            file.truncate(content.rfind(b"\n") + 1)
    yield from (row for _, row in json_lines(path))


# --- requests -------------------------------------------------------------------------------------


def _client(contact: str) -> GetJson:
    """Return a function that sends one request at a time, and repeats it when a service is busy."""
    agent = f"halu-tasks/{__version__} ({contact}) python-httpx/{httpx.__version__}"
    client = httpx.Client(headers={"User-Agent": agent}, follow_redirects=True, timeout=90)

    def get_json(url: str, parameters: Mapping[str, str]) -> dict[str, Any]:
        for attempt in range(1, ATTEMPTS + 1):
            seconds = min(2**attempt, 60)
            try:
                return _content(url, client.get(url, params=dict(parameters)))
            except httpx.HTTPStatusError as error:
                problem, stated = str(error), error.response.headers.get("Retry-After", "")
                seconds = min(int(stated), _MOST_PATIENCE) if stated.isdecimal() else seconds
            except httpx.HTTPError as error:
                problem = str(error) or type(error).__name__
            if attempt < ATTEMPTS:
                logger.warning("%s: %s; trying again in %d s", url, problem, seconds)
                time.sleep(seconds)
        raise DataError(f"{url}: no answer after {ATTEMPTS} attempts ({problem}); try again later")

    return get_json


def _content(url: str, reply: httpx.Response) -> dict[str, Any]:
    """Return the JSON object of a reply.

    Raises:
        httpx.HTTPStatusError: The service cannot answer now.
        DataError: It refuses the request.
    """

    def busy(reason: str) -> httpx.HTTPStatusError:
        return httpx.HTTPStatusError(reason, request=reply.request, response=reply)

    if reply.status_code in _BUSY:
        raise busy(f"status {reply.status_code}")
    if reply.is_error:
        raise DataError(f"{url}: refused with status {reply.status_code}: {' '.join(reply.text.split())[:200]}")
    try:
        content = reply.json()
    except ValueError:
        # the query service cuts off an answer that takes too long
        raise busy("the answer is not JSON") from None
    if not isinstance(content, dict):
        raise DataError(f"{url}: expected a JSON object")
    if not isinstance(fault := content.get("error"), dict):
        return content
    if fault.get("code") in _BUSY_ERRORS:
        raise busy(str(fault["code"]))
    raise DataError(f"{url}: {fault.get('code')}: {fault.get('info')}")
