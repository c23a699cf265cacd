"""`halu-tasks documents`: fetch documents that a builder can make a dataset of."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path

from halu_tasks.cli.arguments import add_json_argument, integer, number, positive_int
from halu_tasks.cli.output import EXIT_PARTIAL, print_json, progress, warn
from halu_tasks.cli.tables import table

HELP = "fetch documents for a builder: biographies from Wikipedia"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    about = "people sampled from Wikidata, with their pages in Wikipedia (HalluVerse25)"
    biographies = actions.add_parser("biographies", help=about)
    about = "the folder of the documents; the same command continues what it contains"
    biographies.add_argument("-o", "--output", metavar="FOLDER", required=True, help=about)
    about = "your e-mail address or web page; Wikimedia asks programs to name one"
    biographies.add_argument("--contact", metavar="ADDRESS", required=True, help=about)
    biographies.add_argument("--number", type=positive_int, default=500, metavar="N", help="people (default: 500)")
    for name, about in (
        ("language", "a language of Wikipedia; everyone has an article in each (default: en, ar, tr)"),
        ("profession", "a profession, as an item of Wikidata (Q82955)"),
        ("country", "a country of citizenship, as an item of Wikidata (Q43)"),
        ("born", "years of birth (1900..1949)"),
    ):
        about += "; can be repeated"
        biographies.add_argument(f"--{name}", action="append", default=[], metavar=name.upper(), help=about)
    biographies.add_argument("--seed", type=integer, default=0, metavar="N", help="seed of the sample (default: 0)")
    about = "maximum number of requests per second (default: 1)"
    biographies.add_argument("--rate", type=number, default=1.0, metavar="N", help=about)
    biographies.add_argument("--wikidata", metavar="URL", help="the address of another SPARQL service")
    about = "the address of another MediaWiki API, with {language}"
    biographies.add_argument("--wikipedia", metavar="URL", help=about)
    add_json_argument(biographies, "a table")


def run(arguments: argparse.Namespace) -> int:
    """Fetch the documents, and print how many there are."""
    from halu_tasks.builders.biographies.people import Wanted, Years
    from halu_tasks.builders.workflow.biographies import WIKIDATA, WIKIPEDIA, BiographiesRequest, fetch_biographies

    wanted = Wanted(
        number=arguments.number,
        languages=tuple(arguments.language or ("en", "ar", "tr")),
        professions=tuple(arguments.profession),
        countries=tuple(arguments.country),
        born=tuple(map(Years.parse, arguments.born)),
        seed=arguments.seed,
    )
    output = Path(arguments.output)
    request = BiographiesRequest(
        wanted=wanted,
        output=output,
        contact=arguments.contact,
        rate=arguments.rate,
        wikidata=arguments.wikidata or WIKIDATA,
        wikipedia=arguments.wikipedia or WIKIPEDIA,
    )
    fetched = fetch_biographies(request, progress)
    if arguments.json:
        print_json(asdict(fetched))
    else:
        print(f"{fetched.people:,} people\n")
        rows = [[str(output / f"{language}.jsonl"), f"{count:,}"] for language, count in fetched.documents.items()]
        print(table(["file", "documents"], rows, right=(1,)))
        if fetched.left_out:
            print("\n" + table(["left out", "pages"], [[name, f"{n:,}"] for name, n in fetched.left_out.items()]))
    for group, count in fetched.missing.items():
        warn(f"{group}: {count:,} fewer people than requested")
    return EXIT_PARTIAL if fetched.missing else 0
