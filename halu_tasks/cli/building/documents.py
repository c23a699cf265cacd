"""`halu-tasks documents`: fetch documents that a builder can make a dataset of."""

from __future__ import annotations

import argparse
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
    about = "a language of Wikipedia, in which everyone has an article; can be repeated (default: en, ar, tr)"
    biographies.add_argument("--language", action="append", default=[], metavar="LANGUAGE", help=about)
    about = "their profession, as an item of Wikidata (Q82955)"
    biographies.add_argument("--profession", metavar="ITEM", help=about)
    about = "their country of citizenship, as an item of Wikidata (Q43)"
    biographies.add_argument("--country", metavar="ITEM", help=about)
    biographies.add_argument("--born", metavar="YEARS", help="their years of birth (1900..1949)")
    biographies.add_argument("--seed", type=integer, default=0, metavar="N", help="seed of the sample (default: 0)")
    about = "maximum number of requests per second (default: 1)"
    biographies.add_argument("--rate", type=number, default=1.0, metavar="N", help=about)
    biographies.add_argument("--wikidata", metavar="URL", help="the address of another SPARQL service")
    about = "the address of another MediaWiki API, with {language}"
    biographies.add_argument("--wikipedia", metavar="URL", help=about)
    add_json_argument(biographies, "a table")


def run(arguments: argparse.Namespace) -> int:
    """Fetch the documents, and print how many there are."""
    from halu_tasks.builders.biographies import WIKIDATA, WIKIPEDIA, PeopleSample, fetch_biographies

    wanted = PeopleSample(
        number=arguments.number,
        languages=tuple(arguments.language or ("en", "ar", "tr")),
        profession=arguments.profession,
        country=arguments.country,
        born=arguments.born,
        seed=arguments.seed,
    )
    output = Path(arguments.output)
    fetched = fetch_biographies(
        wanted,
        output,
        arguments.contact,
        progress,
        rate=arguments.rate,
        wikidata=arguments.wikidata or WIKIDATA,
        wikipedia=arguments.wikipedia or WIKIPEDIA,
    )
    if arguments.json:
        print_json(fetched._asdict())
    else:
        print(f"{fetched.people:,} people\n")
        rows = [[str(output / f"{language}.jsonl"), f"{count:,}"] for language, count in fetched.documents.items()]
        print(table(["file", "documents"], rows, right=(1,)))
        if fetched.left_out:
            print("\n" + table(["left out", "pages"], [[name, f"{n:,}"] for name, n in fetched.left_out.items()]))
    if missing := wanted.number - fetched.people:
        warn(f"{missing:,} fewer people than requested")
        return EXIT_PARTIAL
    return 0
