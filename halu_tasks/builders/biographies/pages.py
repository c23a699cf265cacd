"""The texts of Wikipedia's pages, each with its licence and revision."""

from __future__ import annotations

from typing import NamedTuple

from halu_tasks.builders.biographies.client import Client
from halu_tasks.builders.documents import Document
from halu_tasks.core.errors import DataError

NO_PAGE, EMPTY = "no such page", "empty page"


class LeftOut(NamedTuple):
    """A page that gives no document, and why."""

    id: str
    title: str
    reason: str


def fetch_page(client: Client, endpoint: str, language: str, item: str, title: str) -> Document | LeftOut:
    """Return the document of a page: its plain text, without tables, references and notes.

    Args:
        client: Sends the request.
        endpoint: The address of the API of the language's Wikipedia.
        language: The language.
        item: The person's item of Wikidata.
        title: The title of the page.

    Raises:
        DataError: The API does not answer, or with something else.
    """
    id = f"{item}-{language}"
    parameters = {
        "action": "query", "format": "json", "formatversion": "2", "redirects": "1", "maxlag": "5", "titles": title,
        "prop": "extracts|info|revisions", "explaintext": "1", "exsectionformat": "plain", "inprop": "url",
        "rvprop": "ids|timestamp", "meta": "siteinfo", "siprop": "rightsinfo",
    }  # fmt: skip
    content = client.get_json(endpoint, parameters)
    try:
        rights = content["query"]["rightsinfo"]
        (page,) = content["query"]["pages"]
        if page.get("missing") or page.get("invalid"):
            return LeftOut(id, title, NO_PAGE)
        if not page["extract"].strip():
            return LeftOut(id, title, EMPTY)
        revision = page["revisions"][0]
        fields = {
            "title": page["title"],
            "licence": rights["text"],
            "licence_url": rights["url"],
            "source": f"{page['canonicalurl']}?oldid={revision['revid']}",
            "revision": revision["revid"],
            "revised": revision["timestamp"],
            "entity": item,
            "language": language,
        }
        return Document(id, page["extract"].strip(), fields)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError):
        raise DataError(f"{endpoint}: the answer about {title!r} lacks the page's text, licence or revision") from None
