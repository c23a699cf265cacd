"""Precision and recall of the scanners on labelled examples: python tests/recall_of_scanners.py FOLDER.

FOLDER has the files of FAVE, HaluEval and FactCHD, as `HALU_TASKS_DATA` has. No model is asked, so this measures what
the scanners do themselves; each row says what stands in for a model.

- `citations` without a model. Sentences cite a paper of their list of FAVE, or one of another query's list, which is to
  be found, in several styles. The sentences of abstracts have no labels: some of them cite papers.
- `spans` with replies that list what annotators of HaluEval marked, as a model might write it, by characters.
- `factored_verification` on FactCHD, against the evidence, with sentences as claims. The verifier `right` knows one
  claim of each reply labelled as not factual to be false, `noisy` errs on one claim of twenty, and `words` supports
  claims all of whose numbers and capitalised words are in the evidence.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    GenerateConfig,
    ModelAPI,
    ModelOutput,
    ModelUsage,
    get_model,
    modelapi,
)
from inspect_ai.solver import generate
from inspect_scout import Transcript, scan, scan_results_df, transcripts_from

from halu_tasks.core.options import Options
from halu_tasks.data.rows import Row
from halu_tasks.scanners import citations, factored_verification
from halu_tasks.scanners.spans import located
from halu_tasks.scanners.transcripts import TranscriptReply
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
            text = str(item.gold["text"])
            answer = quotations(write(list(item.gold["strings"])), text, "passage")
            result = located(TranscriptReply(text, [], []), answer)
            spans = [(start, end) for start, end in (result.metadata or {})["spans"]]
            counts.append(char_counts([(start, end) for start, end in item.gold["spans"]], spans))
        found[form] = Found(
            *(sum(column) for column in zip(*((c.predicted, c.gold, c.intersection) for c in counts), strict=True))
        )
    return found


# --- factored verification ----------------------------------------------------------------------------


FALSE: set[str] = set()
"""One sentence, drawn at random, of each reply of FactCHD that is labelled as not factual."""


@modelapi(name="verifier")
class Verifier(ModelAPI):
    """Lists the sentences of a text as claims, and checks them.

    Model `words` supports claims whose numbers and names are in the document, `right` those that are not in `FALSE`,
    and `noisy` says the opposite of `right` on one claim of twenty.
    """

    async def generate(self, input: list[ChatMessage], tools: Any, tool_choice: Any, config: GenerateConfig) -> Any:
        """Reply to the last message."""
        asked = input[-1].text
        if "The claims are:" in asked:
            listed = claims_of(_fenced(asked, "Text:"))
            return _output("The claims are:\n" + "\n".join(f"- {claim}" for claim in listed))
        claim = _fenced(asked, "Claim:")
        if self.model_name == "words":
            document = _words(_fenced(asked, "Document:"))
            needed = re.findall(r"\d[\d.,]*\d|\d|(?<=[a-z,] )[A-Z]\w+", claim)
            supported = all(_words(each) <= document for each in needed)
        else:
            turned = self.model_name == "noisy" and random.Random(claim).random() < 0.05
            supported = (_key(claim) not in FALSE) != turned
        return _output(f"Supported: {'Yes' if supported else 'No'}")


def claims_of(text: str) -> list[str]:
    """Return the sentences of a text, each on one line."""
    return [" ".join(claim.split()) for claim in sentences(text)]


def _fenced(asked: str, label: str) -> str:
    return re.findall(rf"{label}\n(=====\w+)\n(.*?)\n\1", asked, re.DOTALL)[-1][1]


def _key(claim: str) -> str:
    """Return a claim without the marks that lists are cleaned of."""
    return " ".join(re.findall(r"\w+", claim))


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))


def _output(reply: str) -> ModelOutput:
    output = ModelOutput.from_content("words", reply)
    output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
    return output


@modelapi(name="replay")
class Replay(ModelAPI):
    """Replies with the text that follows the question in the prompt."""

    async def generate(self, input: list[ChatMessage], tools: Any, tool_choice: Any, config: GenerateConfig) -> Any:
        """Reply to the last message."""
        return _output(input[-1].text.partition("\0")[2])


def verified(folder: Path) -> dict[str, list[tuple[bool, bool]]]:
    """Return what real scans of a log say of each row of FactCHD, and its label, by verifier."""
    rows = [
        json.loads(line)
        for name in ("test", "train")
        for line in (folder / "factchd" / f"{name}_case_sample.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    rows = [row for row in rows if row.get("evidence")]
    labels = [row["label"].upper().startswith("NON") for row in rows]
    for row, label in zip(rows, labels, strict=True):
        if label:
            FALSE.add(_key(random.Random(row["id"]).choice(claims_of(row["response"]))))
    samples = [
        Sample(id=number, input=f"{row['query']}\0{row['response']}", metadata={"evidence": row["evidence"]})
        for number, row in enumerate(rows, 1)
    ]
    with tempfile.TemporaryDirectory() as logs:
        task = Task(dataset=samples, solver=generate())
        eval(task, model=get_model("replay/reply"), log_dir=logs, display="none")
        said = {name: _scanned(logs, name) for name in ("right", "noisy", "words")}
    return {
        name: [(by_id[str(number)], label) for number, label in enumerate(labels, 1)] for name, by_id in said.items()
    }


def _scanned(logs: str, verifier: str) -> dict[str, bool]:
    status = scan(
        [factored_verification(source="evidence", how="reasoned", cache=False)],
        transcripts_from(logs),
        scans=f"{logs}/scans-{verifier}",
        model=get_model(f"verifier/{verifier}"),
        max_processes=1,
        display="none",
    )
    (frame,) = scan_results_df(status.location).scanners.values()
    values = zip(frame["transcript_task_id"], frame["value"], strict=True)
    return {str(id): str(value).lower() == "true" for id, value in values}


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
    print("\n" + head.format("factored verification, by verifier"))
    for name, pairs in verified(folder).items():
        print(counted(pairs).row(f"{name} (of {len(pairs)})"))


if __name__ == "__main__":
    main()
