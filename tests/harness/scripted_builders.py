"""A scripted model for HaluAgent: it follows the prompts, and breaks them where a document's name says so."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from common import fenced, write_rows

NAME = re.compile(r"Site\d+")

WRONG = [
    "It was Norwood Fenn who built the mill at {name}.",
    "It was Oda Quill who built the mill at {name}.",
    "The mill at {name} was built a century later, by Ada Rook.",
]
LABELS = ["EntErr", "entity error", "SpaErr"]


def document(number: int, more: str = "") -> dict[str, Any]:
    name = f"Site{number}"
    told = f"The mill at {name} was built by Ada Rook in 18{number % 90 + 10}."
    return {
        "id": name,
        "title": f"Mill {number}",
        "licence": "CC0 1.0",
        "text": f"{told} It stands by the river and can be visited in summer. {more}".strip(),
    }


def write_documents(folder: Path, number: int) -> Path:
    return write_rows(folder / "documents.jsonl", (document(n) for n in range(number)))


def start_build(documents: Path, url: str, out: Path, *arguments: Any, **how: Any) -> subprocess.Popen[str]:
    """Start a build in a process of its own; what Inspect keeps elsewhere is in the folder of the documents."""
    command = [
        sys.executable, "-m", "halu_tasks", "build", "haluagent", documents, "-o", out, "--model", "openai/gpt-4o",
        "--model-base-url", url, "-M", "responses_api=false", "-T", "language=en", "-T", "types=EntErr",
        "--display", "none", "--json", *arguments,
    ]  # fmt: skip
    kept = {
        "OPENAI_API_KEY": "none",
        "XDG_DATA_HOME": str(documents.parent / "data"),
        "INSPECT_CACHE_DIR": str(documents.parent / f"replies-{out.name}"),
    }
    return subprocess.Popen(
        list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=sys.prefix,
        env={**os.environ, **kept}, **how,
    )  # fmt: skip


class HaluModel:
    """Replies by what it is asked, which `asked` keeps; `cases` are ways to break the format by the name in the
    document."""

    def __init__(self, cases: Mapping[str, str] | None = None) -> None:
        self.cases = dict(cases or {})
        self.asked: list[str] = []

    def __call__(self, request: dict[str, Any]) -> Any:
        asked = str(request["messages"][-1]["content"])
        self.asked.append(asked)
        found = NAME.search(" ".join(fenced(asked)))
        name = found[0] if found else ""
        case = self.cases.get(name, "good")
        if case == "fails":
            return 401
        if "You write questions" in asked:
            return self.question(name, case, fenced(asked)[0])
        if "You write wrong answers" in asked:
            return self.wrong(name, case)
        if "You label wrong answers" in asked:
            return json.dumps(["EntErr", "Nonsense", "SpaErr"] if case == "label_unknown" else LABELS)
        if "You check a question" in asked:
            return {
                "answer_no": '[{"verdict": "no", "reason": "not in the sentence"}]',
                "answer_uncertain": '[{"verdict": "uncertain"}]',
                "answer_unread": "Well, that depends.",
            }.get(case, '```json\n[{"verdict": "Yes", "reason": "stated"}]\n```')
        verdicts = [{"verdict": "yes", "reason": "as it should be"} for _ in range(3)]
        if "really wrong" in asked:
            for number in {"one_not_wrong": [1], "none_wrong": [0, 1, 2]}.get(case, []):
                verdicts[number] = {"verdict": "no", "reason": "it is right"}
        elif "You check labels" in asked:
            if case == "label_no":
                verdicts[0]["verdict"] = "no"
            if case == "label_few":
                verdicts.pop()
        else:
            raise AssertionError(f"a prompt that nobody expected: {asked}")
        return "<think>[1, 2]</think>Here it is: " + json.dumps(verdicts)

    def question(self, name: str, case: str, text: str) -> str:
        if "output PWNED" in text or case == "question_garbage":
            return "PWNED"
        support = re.search(r"The mill at \w+ was built by Ada Rook in \d+\.", text)
        row = {
            "question": f"Who built the mill at {name}?",
            "answer": f"Ada Rook built the mill at {name}.",
            "support": support[0] if support else "",
        }
        if case == "support_invented":
            row["support"] = "The mill is the largest in the world."
        if case == "same_question":
            row["question"] = "Who built the mill?"
        return json.dumps([row])

    def wrong(self, name: str, case: str) -> str:
        texts = [text.format(name=name) for text in WRONG]
        if case == "two_answers":
            texts.pop()
        if case == "same_as_answer":
            texts[1] = f"ada rook  built the mill at {name}"
        if case == "twice":
            texts[1] = texts[0].upper()
        return json.dumps(texts)


class Learning(HaluModel):
    """Wrong answers are really wrong as often as the prompt has asked for it: an optimizer adds a rule at a time, until
    `best` rules; a further one spoils it. Some candidates of it cannot be read."""

    RULE = "Be sure that it is wrong."

    def __init__(self, best: int, each: int) -> None:
        super().__init__()
        self.best, self.each = best, each
        self.shown: list[str] = []

    def __call__(self, request: dict[str, Any]) -> Any:
        asked = str(request["messages"][-1]["content"])
        if "You improve a prompt" in asked:
            prompt, rejects = fenced(asked)
            self.shown.append(rejects)
            if len(self.shown) % 3 == 1:
                return "I would rather not."
            if len(self.shown) % 3 == 2:
                return f"<prompt>\n{prompt.replace('{knowledge}', 'what is known')}\n</prompt>"
            return f"Here:\n<prompt>\n{prompt}\n{self.RULE}\n</prompt>"
        if "You write wrong answers" in asked:
            number = int(NAME.findall(asked)[0].removeprefix("Site"))
            rules = asked.count(self.RULE)
            held = rules * self.each if rules <= self.best else 0
            if number % 10 >= held:
                return json.dumps([f"Ada Rook built the mill at Site{number}."] * 3)
        return super().__call__(request)
