"""Sampling people from Wikidata (HalluVerse25, section 3.1), by profession, country and year of birth."""

from __future__ import annotations

import hashlib
import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from halu_tasks.builders.biographies.client import Client
from halu_tasks.core.errors import DataError, UsageError
from halu_tasks.core.hashing import stable_hash

_ITEM = re.compile(r"Q[1-9][0-9]*")
_LANGUAGE = re.compile(r"[a-z]{2,3}(?:-[a-z]+)*")
_YEARS = re.compile(r"(-?[0-9]{1,4})(?:\.\.(-?[0-9]{1,4}))?")


class Years(NamedTuple):
    """A range of years of birth, both included."""

    first: int
    last: int

    @classmethod
    def parse(cls, text: str) -> Years:
        """Parse `1900..1949`, or a single year.

        Raises:
            UsageError: The string is not a range of years.
        """
        match = _YEARS.fullmatch(text.strip())
        years = cls(int(match[1]), int(match[2] or match[1])) if match else None
        if years is None or years.first > years.last:
            raise UsageError(f"expected years such as 1900..1949, got {text!r}")
        return years

    def __str__(self) -> str:
        return f"{self.first}..{self.last}"


class Stratum(NamedTuple):
    """A group of people; None stands for any.

    Attributes:
        profession: A profession (P106), as an item of Wikidata.
        country: A country of citizenship (P27), as an item of Wikidata.
        born: Years of birth (P569).
    """

    profession: str | None
    country: str | None
    born: Years | None

    def describe(self) -> str:
        """Describe the group for people."""
        parts = (("profession", self.profession), ("country", self.country), ("born", self.born))
        return ", ".join(f"{name} {value}" for name, value in parts if value is not None) or "anyone"


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """Whose biographies to fetch.

    Attributes:
        number: The number of people, divided evenly among the groups.
        languages: The languages of Wikipedia in which everyone must have an article.
        professions: Items of Wikidata; empty for any profession.
        countries: Items of Wikidata; empty for any country.
        born: Ranges of years of birth; empty for any year.
        seed: The seed of the sample.
    """

    number: int
    languages: tuple[str, ...]
    professions: tuple[str, ...] = ()
    countries: tuple[str, ...] = ()
    born: tuple[Years, ...] = ()
    seed: int = 0

    def __post_init__(self) -> None:
        for name, values in (("profession", self.professions), ("country", self.countries)):
            if wrong := [value for value in values if not _ITEM.fullmatch(value)]:
                raise UsageError(f"--{name}: expected an item of Wikidata such as Q82955, got {wrong[0]!r}")
        if wrong := [value for value in self.languages if not _LANGUAGE.fullmatch(value)]:
            raise UsageError(f"--language: expected a language of Wikipedia such as en, got {wrong[0]!r}")
        for named in (self.languages, self.professions, self.countries, tuple(map(str, self.born))):
            if twice := next((value for value in named if named.count(value) > 1), None):
                raise UsageError(f"{twice} is named twice")

    def quotas(self) -> dict[Stratum, int]:
        """Return the groups, every combination of what is wanted, with the number of people of each.

        What cannot be divided evenly goes to groups that the seed chooses.
        """
        strata = [
            Stratum(*each)
            for each in itertools.product(self.professions or (None,), self.countries or (None,), self.born or (None,))
        ]
        each, more = divmod(self.number, len(strata))
        drawn = sorted(strata, key=lambda stratum: stable_hash(self.seed, stratum.describe()))[:more]
        return {stratum: each + (stratum in drawn) for stratum in strata}

    def to_json(self) -> dict[str, Any]:
        """Return what is wanted as JSON values."""
        return {**{name: list(value) if isinstance(value, tuple) else value for name, value in vars(self).items()}} | {
            "born": [str(years) for years in self.born]
        }


class Person(NamedTuple):
    """An item of Wikidata, and the titles of its articles by language."""

    item: str
    titles: Mapping[str, str]


def query(stratum: Stratum, languages: Sequence[str], seed: int, limit: int) -> str:
    """Return the SPARQL query for people of a group.

    Articles are found by Wikidata's links to the Wikipedias. The order is that of hashes of the seed and the item, so
    the first results are a random sample, which is the same for the same seed and data.
    """
    lines = ["?person wdt:P31 wd:Q5 ."]
    if stratum.profession:
        lines.append(f"?person wdt:P106 wd:{stratum.profession} .")
    if stratum.country:
        lines.append(f"?person wdt:P27 wd:{stratum.country} .")
    if stratum.born:
        first, last = stratum.born
        lines.append(f"?person wdt:P569 ?born . FILTER(YEAR(?born) >= {first} && YEAR(?born) <= {last})")
    names = [f"?title_{language.replace('-', '_')}" for language in languages]
    for language, name in zip(languages, names, strict=True):
        article = f"?article_{language.replace('-', '_')}"
        wiki = f"<https://{language}.wikipedia.org/>"
        lines.append(f"{article} schema:about ?person ; schema:isPartOf {wiki} ; schema:name {name} .")
    body = "\n".join(f"  {line}" for line in lines)
    order = f'ORDER BY SHA256(CONCAT("{seed} ", STR(?person)))'
    return f"SELECT DISTINCT ?person {' '.join(names)} WHERE {{\n{body}\n}}\n{order}\nLIMIT {limit}"


def sample(
    client: Client, endpoint: str, stratum: Stratum, number: int, wanted: Wanted, taken: frozenset[str]
) -> list[Person]:
    """Return a sample of people of a group; fewer than requested if there are not enough.

    Args:
        client: Sends the query.
        endpoint: The address of the query service.
        stratum: The group.
        number: The number of people.
        wanted: Their languages, and the seed.
        taken: Items of people in other groups, who are not sampled again.

    Raises:
        DataError: The service does not answer, or with something else.
    """
    text = query(stratum, wanted.languages, wanted.seed, number + len(taken))
    try:
        content = client.get_json(endpoint, {"query": text, "format": "json"})
    except DataError as error:
        raise DataError(
            f"{error}; a group that is too large takes too long ({stratum.describe()}): narrow it with --profession, "
            "--country or --born"
        ) from None
    try:
        rows = content["results"]["bindings"]
        people = {person.item: person for row in rows if (person := _person(row, wanted.languages))}
    except (KeyError, TypeError, AttributeError):
        raise DataError(f"{endpoint}: not the answer of a SPARQL service") from None
    ordered = sorted(people.values(), key=lambda person: _order(wanted.seed, person.item))
    return [person for person in ordered if person.item not in taken][:number]


def _person(row: Mapping[str, Any], languages: Sequence[str]) -> Person | None:
    item = str(row["person"]["value"]).rpartition("/")[2]
    titles = {language: str(row[f"title_{language.replace('-', '_')}"]["value"]) for language in languages}
    return Person(item, titles) if _ITEM.fullmatch(item) else None


def _order(seed: int, item: str) -> str:
    """Return the key by which the query orders people."""
    return hashlib.sha256(f"{seed} http://www.wikidata.org/entity/{item}".encode()).hexdigest()
