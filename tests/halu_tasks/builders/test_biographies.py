"""Biographies from services on loopback that answer as Wikidata's and Wikipedia's do; the people are invented."""

import hashlib
import json
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from common import Cli, read_rows
from loopback import Handler, Server

from halu_tasks.builders.biographies import PeopleQuery
from halu_tasks.builders.documents import read_documents

RIGHTS = {"url": "https://creativecommons.org/licenses/by-sa/4.0/", "text": "Creative Commons BY-SA 4.0"}
CONTACT = "ada@example.org"


class Person:
    """The person with a number: professions, country and birth follow from it.

    Every 5th has no article in Turkish, every 11th none in English; of every 7th the Turkish page is gone.
    """

    def __init__(self, number: int) -> None:
        self.item = f"Q{number}"
        self.name = f"Person {number}"
        self.professions = {"Q100" if number % 2 else "Q200", *(["Q100"] if number % 6 == 0 else [])}
        self.country = "Q10" if number % 3 else "Q20"
        self.born = 1850 + number
        self.languages = (
            {"en", "ar", "tr"} - ({"tr"} if number % 5 == 0 else set()) - ({"en"} if number % 11 == 0 else set())
        )

    @property
    def uri(self) -> str:
        return f"http://www.wikidata.org/entity/{self.item}"


PEOPLE = [Person(number) for number in range(1, 61)]


class Services(Server):
    """Both services; `faults` are sent instead of the next answers, `pages` counts what was asked for."""

    def __init__(self) -> None:
        super().__init__(_Handler)
        self.queries: list[str] = []
        self.pages: Counter[str] = Counter()
        self.agents: set[str] = set()
        self.faults: list[tuple[int, dict[str, Any]]] = []
        self.most_pages: int | None = None

    def people(self, text: str) -> dict[str, Any]:
        self.queries.append(text)
        born = re.search(r"YEAR\(\?born\) >= (\d+) && YEAR\(\?born\) <= (\d+)", text)
        profession, country = re.search(r"P106 wd:(Q\d+)", text), re.search(r"P27 wd:(Q\d+)", text)
        found = [
            person
            for person in PEOPLE
            if (not profession or profession[1] in person.professions)
            and (not country or country[1] == person.country)
            and (not born or int(born[1]) <= person.born <= int(born[2]))
        ]
        order = re.search(r'SHA256\(CONCAT\("(.*?)", STR', text)
        limit = re.search(r"LIMIT (\d+)", text)
        assert order and limit
        found.sort(key=lambda person: hashlib.sha256(f"{order[1]}{person.uri}".encode()).hexdigest())
        languages = re.findall(r"schema:name \?title_(\w+)", text)
        optional = text.count("OPTIONAL {") == len(languages) and text.count("BOUND(") == len(languages)
        held = any if optional and " || ".join(f"BOUND(?title_{name})" for name in languages) in text else all
        found = [person for person in found if held(name in person.languages for name in languages)]
        rows = [
            {"person": {"type": "uri", "value": person.uri}}
            | {
                f"title_{name}": {"type": "literal", "value": person.name}
                for name in languages
                if name in person.languages
            }
            for person in found[: int(limit[1])]
        ]
        return {"head": {}, "results": {"bindings": rows}}

    def page(self, language: str, title: str) -> dict[str, Any]:
        self.pages[f"{language}/{title}"] += 1
        number = int(title.split()[1])
        page: dict[str, Any] = {"pageid": number, "title": title}
        if number % 7 == 0 and language == "tr":
            page = {"title": title, "missing": True}
        else:
            text = (
                "" if number == 13 else f"{title} was born in {1850 + number}. 一\u2028二\n\nLife\n{title} built mills."
            )
            page |= {
                "extract": text,
                "canonicalurl": f"https://{language}.wikipedia.org/wiki/{title.replace(' ', '_')}",
            }
            page["revisions"] = [{"revid": 9000 + number, "parentid": 1, "timestamp": "2024-05-01T10:00:00Z"}]
        return {"batchcomplete": True, "query": {"rightsinfo": RIGHTS, "pages": [page]}}


class _Handler(Handler):
    server: Services

    def do_GET(self) -> None:
        path, given = urlsplit(self.path).path, parse_qs(urlsplit(self.path).query)
        self.server.agents.add(self.headers["User-Agent"])
        status = 200
        if self.server.faults:
            status, content = self.server.faults.pop(0)
        elif path == "/sparql":
            content = self.server.people(given["query"][0])
        elif self.server.most_pages is not None and sum(self.server.pages.values()) >= self.server.most_pages:
            status, content = 403, {"blocked": True}
        else:
            assert given["explaintext"] == ["1"] and given["maxlag"] == ["5"]
            content = self.server.page(path.split("/")[1], given["titles"][0])
        self.send(status, content, Retry_After="0")


@pytest.fixture
def services() -> Iterator[Services]:
    with Services() as running:
        yield running


@pytest.fixture
def fetch(services: Services, here: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    monkeypatch.setattr("halu_tasks.builders.biographies.WIKIDATA", f"{services.url}/sparql")
    monkeypatch.setattr("halu_tasks.builders.biographies.WIKIPEDIA", f"{services.url}/{{language}}/api.php")

    def run(*arguments: str, out: str = "out") -> subprocess.CompletedProcess[str]:
        own = ("-o", tmp_path / out, "--contact", CONTACT)
        return here("build", "biographies", *own, *arguments)

    return run


def test_people_are_sampled_and_their_pages_are_documents(fetch: Cli, services: Services, tmp_path: Path) -> None:
    group = ("--profession", "Q100", "--country", "Q10", "--born", "1850..1880")
    done = fetch("--number", "9", "--language", "en", "--language", "tr", *group, "--seed", "3", "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["people"] == 9 and told["documents"]["en"] + told["left_out"].get("empty page", 0) >= 7
    people = json.loads((tmp_path / "out" / "people.json").read_text())["people"]
    assert sum(told["documents"].values()) + sum(told["left_out"].values()) == sum(map(len, people.values())) < 18
    by_item = {person.item: person for person in PEOPLE}
    for item, titles in people.items():
        person = by_item[item]
        assert person.country == "Q10" and person.born <= 1880 and "Q100" in person.professions
        # an article in either language is enough
        assert titles == dict.fromkeys(person.languages - {"ar"}, person.name)
    (agent,) = services.agents
    assert agent.startswith("halu-tasks/") and CONTACT in agent
    documents = list(read_documents(tmp_path / "out" / "en.jsonl"))
    first = documents[0]
    number = int(first.fields["entity"][1:])
    assert first.id == f"Q{number}-en" and f"Person {number} built mills." in first.text
    assert first.licence == RIGHTS["text"] and first.fields["licence_url"] == RIGHTS["url"]
    assert first.fields["revision"] == 9000 + number
    assert first.fields["source"] == f"https://en.wikipedia.org/wiki/Person_{number}?oldid={9000 + number}"
    left_out = read_rows(tmp_path / "out" / "left_out.jsonl")
    assert {row["reason"] for row in left_out} <= {"no such page", "empty page"}
    # the same seed draws the same people, another one does not
    fetch("--number", "9", "--language", "en", "--language", "tr", *group, "--seed", "3", out="again")
    assert (tmp_path / "again" / "people.json").read_bytes() == (tmp_path / "out" / "people.json").read_bytes()
    fetch("--number", "9", "--language", "en", "--language", "tr", *group, "--seed", "4", out="other")
    assert (tmp_path / "other" / "people.json").read_bytes() != (tmp_path / "out" / "people.json").read_bytes()


def test_an_interrupted_run_is_continued_and_nothing_is_asked_twice(
    fetch: Cli, services: Services, tmp_path: Path
) -> None:
    services.most_pages = 7
    done = fetch("--number", "20", "--language", "en")
    assert done.returncode == 2 and "refused with status 403" in done.stderr
    file = tmp_path / "out" / "en.jsonl"
    kept = file.read_bytes()
    # the last line was cut off: its page is asked for again, and no other
    file.write_bytes(kept[:-20])
    cut = json.loads(kept.splitlines()[-1])["title"]
    services.most_pages = None
    services.faults = [(429, {}), (503, {}), (200, {"error": {"code": "maxlag", "info": "Waiting for a host"}})]
    done = fetch("--number", "20", "--language", "en", "--json")
    assert done.returncode == 0, done.stderr
    assert services.pages == Counter(services.pages.keys()) + Counter([f"en/{cut}"]) and len(services.pages) == 20
    assert len(services.queries) == 1
    documents = [document.id for document in read_documents(file)]
    assert len(set(documents)) == len(documents) == json.loads(done.stdout)["documents"]["en"]
    assert file.read_bytes().startswith(kept[: kept[:-1].rindex(b"\n")])
    before, content = sum(services.pages.values()), file.read_bytes()
    assert fetch("--number", "20", "--language", "en").returncode == 0
    assert sum(services.pages.values()) == before and file.read_bytes() == content
    done = fetch("--number", "21", "--language", "en")
    assert (
        done.returncode == 2
        and "contains biographies with other number (20, not 21); choose another folder" in done.stderr
    )
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "en.jsonl").write_text("mine\n")
    done = fetch("--number", "1", out="mine")
    assert done.returncode == 2 and (tmp_path / "mine" / "en.jsonl").read_text() == "mine\n"


def test_too_few_people_are_told(fetch: Cli) -> None:
    done = fetch("--number", "12", "--language", "en", "--born", "1851..1854", "--json")
    assert done.returncode == 3 and "8 fewer people than requested" in done.stderr
    assert json.loads(done.stdout)["people"] == 4


def test_what_cannot_be_fetched_is_one_line(fetch: Cli, services: Services) -> None:
    for arguments, reason in (
        (("--profession", "writer"), "--profession: expected an item of Wikidata such as Q82955, got 'writer'"),
        (("--born", "1900-1910"), "expected years such as 1900..1949, got '1900-1910'"),
        (("--language", "English"), "--language: expected a language of Wikipedia such as en, got 'English'"),
        (("--contact", " "), "--contact: expected an e-mail address"),
    ):
        done = fetch(*arguments)
        assert done.returncode == 2 and reason in done.stderr, done.stderr
    services.faults = [(504, {})] * 6
    done = fetch("--language", "en")
    assert done.returncode == 2 and "no answer after 6 attempts (status 504)" in done.stderr
    assert "takes too long: narrow it with --profession" in done.stderr.splitlines()[-1]
    services.faults = [(200, {"results": "none"})]
    done = fetch("--language", "en")
    assert done.returncode == 2 and "not the answer of a SPARQL service" in done.stderr


def test_the_query_finds_articles_by_links_and_orders_by_seed() -> None:
    text = PeopleQuery(number=10, languages=("simple", "zh-yue"), profession="Q1", born="1900..1949", seed=5).sparql()
    assert "schema:isPartOf <https://zh-yue.wikipedia.org/>" in text and "?title_zh_yue" in text
    assert "wdt:P106 wd:Q1 ." in text and "P27" not in text and text.endswith("LIMIT 10")
    assert 'ORDER BY SHA256(CONCAT("5 ", STR(?person)))' in text
