"""Precision and recall of the scanners on labelled examples: python tests/recall_of_scanners.py FOLDER.

FOLDER has the files of FAVE and HaluEval, as `HALU_TASKS_DATA` has. No model is asked, so this measures what
the scanners do themselves; each row says what stands in for a model.

- `citations` without a model. Sentences cite a paper of their list of FAVE, or one of another query's list, which is to
  be found, in several styles. The sentences of abstracts have no labels: some of them cite papers.
- `spans` with replies that list what annotators of HaluEval marked, as a model might write it, by characters.
"""

import argparse
import asyncio
import json
import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from inspect_ai.model import ChatMessageAssistant
from inspect_scout import Transcript

from halu_tasks.core.options import Options
from halu_tasks.data.rows import Row
from halu_tasks.scanners import citations, located
from halu_tasks.scorers.citations import surname
from halu_tasks.scorers.reading.strings import quotations
from halu_tasks.tasks import build
from halu_tasks.text.sentences import sentences
from halu_tasks.text.spans import char_counts


class Found(NamedTuple):
    """Numbers of what was found, of what was to be found, and of both."""

    found: int
    labelled: int
    shared: int

    def row(self, name: str) -> str:
        """Return a row of a table."""
        precision = f"{self.shared / self.found:.3f}" if self.found else "-"
        recall = f"{self.shared / self.labelled:.3f}" if self.labelled else "-"
        return f"| {name} | {self.labelled:,} | {self.found:,} | {precision} | {recall} |"


def counted(pairs: Sequence[tuple[bool, bool]]) -> Found:
    """Count pairs of what a scanner says and what the label says."""
    return Found(
        sum(said for said, _ in pairs), sum(label for _, label in pairs), sum(said and label for said, label in pairs)
    )


# --- citations ----------------------------------------------------------------------------------------


ABSTRACTS = "sentences of abstracts"
STYLES: dict[str, Callable[[str, int], str]] = {
    "(Name, 2009)": lambda name, year: f"The effect is small ({name}, {year}).",
    "Name (2009)": lambda name, year: f"{name} ({year}) found a small effect.",
    "Name et al. (2009)": lambda name, year: f"{name} et al. ({year}) found a small effect.",
    "(see Name 2009)": lambda name, year: f"The effect is small (see {name} {year}).",
    "Name's study (2009)": lambda name, year: f"{name}'s study ({year}) found a small effect.",
    "a 2009 study by Name": lambda name, year: f"The effect was small in a {year} study by {name}.",
}


def cited_sentences(folder: Path) -> Iterator[tuple[str, list[Row], str, bool]]:
    """Yield the style of a sentence, the list of papers, the sentence, and whether its citation is not of the list."""
    queries = json.loads((folder / "fave" / "paper_dataset.json").read_text(encoding="utf-8"))
    named = [[(surname(p["authors"][0]), p["metadata"]["year"]) for p in _dated(q)] for q in queries]
    for number, query in enumerate(queries):
        papers = [
            paper | {"year": paper["metadata"]["year"], "abstract": paper["summary"]} for paper in query["papers"]
        ]
        drawn = random.Random(query["query"])
        listed = {surname(name) for paper in papers for name in paper["authors"] if name.strip()}
        others = [each for at, names in enumerate(named) if at != number for each in names if each[0] not in listed]
        for name, year in named[number]:
            unlisted = drawn.choice(others)
            for style, write in STYLES.items():
                yield style, papers, write(name, year), False
                yield style, papers, write(*unlisted), True
        for place in range(1, len(papers) + 1):
            yield "[3]", papers, f"The effect is small [{place}].", False
            yield "[3]", papers, f"The effect is small [{place + len(papers)}].", True
        for paper in papers:
            for sentence in sentences(paper["abstract"]):
                yield ABSTRACTS, papers, sentence, False


def _dated(query: Row) -> list[Row]:
    return [paper for paper in query["papers"] if paper["authors"] and paper["metadata"]["year"]]


async def citations_found(folder: Path) -> dict[str, list[tuple[bool, bool]]]:
    """Return what the scanner says of each sentence and its label, by style."""
    scanner = citations(support=False)
    found: dict[str, list[tuple[bool, bool]]] = {}
    for style, papers, sentence, label in cited_sentences(folder):
        transcript = Transcript(
            transcript_id="1",
            metadata={"sample_metadata": {"papers": papers}},
            messages=[ChatMessageAssistant(content=sentence)],
        )
        result = await scanner(transcript)
        assert not isinstance(result, list)
        found.setdefault(style, []).append((bool(result.value), label))
    return found


# --- spans --------------------------------------------------------------------------------------------


def _with_typo(text: str) -> str:
    middle = len(text) // 2
    return text[:middle] + text[middle + 1 :]


FORMS: dict[str, Callable[[list[str]], str]] = {
    "as marked, one on each line": "\n".join,
    "numbered, in quotes, in lower case": lambda marked: "\n".join(
        f'{number}. "{text.lower()}"' for number, text in enumerate(marked, 1)
    ),
    "a JSON list": lambda marked: json.dumps(marked),
    "a character left out of each": lambda marked: "\n".join(f"- {_with_typo(text)}" for text in marked),
    "with a reason behind each": lambda marked: "\n".join(f"- {text} - this cannot be verified" for text in marked),
}


def spans_found(folder: Path) -> dict[str, Found]:
    """Return the numbers of characters that are found in each form of the reply."""
    items = build("halueval_general_localization", Options(data=str(folder))).items
    found: dict[str, Found] = {}
    for form, write in FORMS.items():
        counts = []
        for item in items:
            text = str(item.gold.text)
            answer = quotations(write(list(item.gold.strings)), text, "passage")
            result = located(text, answer)
            spans = [(start, end) for start, end in (result.metadata or {})["spans"]]
            counts.append(char_counts([(start, end) for start, end in item.gold.spans], spans))
        found[form] = Found(
            *(sum(column) for column in zip(*((c.predicted, c.gold, c.intersection) for c in counts), strict=True))
        )
    return found


def main() -> None:
    """Print a table for each scanner."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    head = "| {} | labelled | found | precision | recall |\n|---|---:|---:|---:|---:|"
    print(head.format("citations, by style"))
    found = asyncio.run(citations_found(folder))
    for style, pairs in found.items():
        print(counted(pairs).row(f"{style} (of {len(pairs):,})"))
    labelled = [pair for style, pairs in found.items() if style != ABSTRACTS for pair in pairs]
    print(counted(labelled).row(f"all but abstracts (of {len(labelled):,})"))
    print("\n" + head.format("spans: characters, by form of the reply"))
    for form, each in spans_found(folder).items():
        print(each.row(form))


if __name__ == "__main__":
    main()
