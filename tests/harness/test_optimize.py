"""`halu-tasks optimize` against a model on loopback whose drafts get better with every rule that an optimizer adds."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from scripted_builders import Learning, document

Optimize = Callable[..., tuple[subprocess.CompletedProcess[str], Path]]


@pytest.fixture
def optimize(
    serve: Callable[..., Any],
    here: Callable[..., subprocess.CompletedProcess[str]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Optimize:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.setenv("INSPECT_CACHE_DIR", str(tmp_path / "replies"))
    source = tmp_path / "documents.jsonl"

    def run(
        model: Any, *arguments: str, builder: str = "haluagent", documents: Any = None
    ) -> tuple[subprocess.CompletedProcess[str], Path]:
        rows = documents or [document(n) for n in range(20)]
        source.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        own = () if documents else ("-T", "types=EntErr", "--train", "6", "--validation", "10")
        done = here(
            "build", "optimize", builder, source, "-o", tmp_path / "out", "--model", "openai/gpt-4o",
            "--model-base-url", serve(model).url, "-M", "responses_api=false", "-T", "language=en",
            *own, "--display", "none", *arguments,
        )  # fmt: skip
        return done, tmp_path / "out"

    return run


@pytest.mark.slow
def test_the_pass_rate_rises_over_rounds_and_it_ends_when_it_falls(optimize: Optimize) -> None:
    model = Learning(best=2, each=4)
    done, folder = optimize(model, "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    rates = [
        max(tried["validation"]["overall"]["share"]["value"] for tried in found["tried"]) for found in told["rounds"]
    ]
    assert len(rates) == 4 and rates[0] == 0.0 < rates[1] < rates[2] > rates[3] == 0.0
    assert told["rounds"][-1]["ended"] == "the validation rate fell"
    # which candidate gets which reply depends on the order in which they are asked
    chosen = [found["chosen"] for found in told["rounds"]]
    assert told["best"] == chosen[2] and chosen[2].startswith("round-2-candidate-")
    prompts = (folder / "prompts.yaml").read_text(encoding="utf-8")
    assert prompts.count(Learning.RULE) == 2 and "haluagent_check_label_en" in prompts
    # the two other candidates could not be read, and were not tried
    assert [len(found["tried"]) for found in told["rounds"]] == [1, 1, 1, 1]
    problems = [sorted(own["hallucinate"] for own in found["problems"].values()) for found in told["rounds"]]
    assert problems == [[]] + [["leaves out {knowledge}", "no <prompt>"]] * 3
    assert done.stderr.count("no hallucinate prompt: leaves out {knowledge}") == 3
    # an optimizer sees what the verifier had against drafts
    assert "hallucination: same as the answer" in model.shown[0]
    rejects = [json.loads(line) for line in (folder / "rounds" / "1-rejects.jsonl").read_text("utf-8").splitlines()]
    assert len(rejects) == told["rounds"][1]["rejects"] == 6 * 3
    assert {reject["check"] for reject in rejects} == {"hallucination"}
    names = {path.stem for path in (folder / "prompts").iterdir()}
    assert {name for name in names if not name.endswith("-train")} == set(chosen)


@pytest.mark.slow
def test_a_second_run_asks_nothing_and_a_table_is_printed(optimize: Optimize) -> None:
    first, _ = optimize(Learning(best=1, each=10))
    assert first.returncode == 0, first.stderr
    table = first.stdout.splitlines()
    assert table[0].split() == ["iteration", "format", "answer", "hallucination", "label", "overall"]
    assert table[2].split()[-1] == "0.00%" and table[3].split()[-1] == "100.00%"
    assert "ended: no draft of the training documents was rejected for a prompt" in first.stdout

    def silent(request: dict[str, Any]) -> Any:
        raise AssertionError("nothing is left to ask")

    again, _ = optimize(silent)
    assert again.returncode == 0 and again.stdout == first.stdout
    # another one of more candidates might be best, which what was asked in later rounds does not know of
    other, _ = optimize(silent, "--candidates", "4")
    assert other.returncode == 2 and "contains an optimization with other candidates" in other.stderr
    other, _ = optimize(silent, "-T", "seed=1")
    assert other.returncode == 2 and "contains an optimization with other settings" in other.stderr


@pytest.mark.slow
def test_prompts_that_never_get_better(optimize: Optimize) -> None:
    done, folder = optimize(Learning(best=5, each=0), "--rounds", "2", "--json")
    told = json.loads(done.stdout)
    assert [found["ended"] for found in told["rounds"]] == ["", "", "that was the last round"]
    # of equal rates the first prompts, those of the package
    assert told["best"] == "round-0" and Learning.RULE not in (folder / "prompts.yaml").read_text("utf-8")
    done, _ = optimize(lambda request: "no", "--train", "15", "--validation", "15")
    assert done.returncode == 2


@pytest.mark.slow
def test_an_optimizer_that_nobody_can_read_is_an_error(optimize: Optimize) -> None:
    class Mute(Learning):
        def __call__(self, request: dict[str, Any]) -> Any:
            if "You improve a prompt" in str(request["messages"][-1]["content"]):
                return "I would rather not."
            return super().__call__(request)

    done, folder = optimize(Mute(best=2, each=4))
    last = done.stderr.splitlines()[-1]
    assert done.returncode == 2 and "nothing was optimized" in last and "no <prompt> (3)" in last
    assert "best:" not in done.stdout and not (folder / "prompts.yaml").exists()
    # the way out that it names
    shutil.rmtree(folder / "logs" / "round-1-optimizer")
    done, _ = optimize(Learning(best=1, each=10))
    assert done.returncode == 0 and (folder / "prompts.yaml").is_file(), done.stderr


FENCED = re.compile(r"(=====[0-9a-f]{16})\n(.*?)\n\1", re.DOTALL)
RULE = "Be sure that it is wrong."


def improve(asked: str) -> str:
    """What an optimizer replies: the prompt that it is shown, with a rule."""
    return f"<prompt>\n{FENCED.findall(asked)[0][1]}\n{RULE}\n</prompt>"


@pytest.mark.slow
def test_factchd_is_optimized_by_what_its_responses_have_to_be(optimize: Optimize) -> None:
    def model(request: dict[str, Any]) -> str:
        asked = str(request["messages"][-1]["content"])
        if "You improve a prompt" in asked:
            return improve(asked)
        knowledge = FENCED.findall(asked)[0][1]
        if asked.startswith("You check facts"):
            return json.dumps({"verdict": "no" if "never" in asked else "yes", "reason": "so it is"})
        if asked.startswith("You check"):
            return '{"verdict": "yes", "reason": "it does"}'
        if '{"explanation":' in asked:
            return json.dumps({"explanation": f"It is a claim. The evidence says {knowledge}. Therefore it is so."})
        false = "NON-FACTUAL: " in asked
        response = "It never was so." if false and RULE in asked else "It was so." if false else "It is so."
        return json.dumps({"query": f"What is said about {knowledge[4:12]}?", "response": response})

    documents = [{"id": f"{n}", "text": f"The mill {n} of Fenwick was finished in 18{n + 10}."} for n in range(10)]
    arguments = ("--train", "3", "--validation", "4", "--candidates", "1", "--json")
    done, folder = optimize(model, *arguments, builder="factchd_pipeline", documents=documents)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    rates = [each["tried"][0]["validation"]["overall"]["share"]["value"] for each in told["rounds"] if each["tried"]]
    assert rates == [0.5, 1.0] and told["best"] == "round-1-candidate-1"
    rejects = [json.loads(line) for line in (folder / "rounds" / "1-rejects.jsonl").read_text("utf-8").splitlines()]
    assert {(reject["check"], reject["prompt"]) for reject in rejects} == {("consistency", "label_non_factual")}
    assert (folder / "prompts.yaml").read_text("utf-8").count(RULE) == 1


@pytest.mark.slow
def test_refact_is_optimized_by_the_edits_of_its_kinds(optimize: Optimize) -> None:
    def model(request: dict[str, Any]) -> str:
        asked = str(request["messages"][-1]["content"])
        fenced = [text for _, text in FENCED.findall(asked)]
        if "You improve a prompt" in asked:
            return improve(asked)
        if "Which sentences of the answer state facts" in asked:
            return json.dumps([fenced[1].split(". ")[0] + "."])
        if "Turn the sentence into its opposite" in asked:
            return json.dumps({"sentence": fenced[2].replace(" was", " was never" if RULE in asked else " was not")})
        if "Three things are to be decided" in asked:
            false = "yes" if "never" in asked else "no"
            return json.dumps([{"verdict": false, "reason": "r"}, *[{"verdict": "yes", "reason": "r"}] * 2])
        raise AssertionError(asked)

    documents = [
        {
            "id": f"{n}",
            "question": f"Who built Mill{n}?",
            "text": f"Mill{n} was built of granite by Ada. Go and see it.",
        }
        for n in range(8)
    ]
    options = [f"-T{name}" for name in ("kinds=neg", "nli_model=judge", "min_score=0", "min_chars=0")]
    arguments = ("--train", "3", "--validation", "4", "--candidates", "1", "--json", *options)
    done, folder = optimize(model, *arguments, builder="refact_pipeline", documents=documents)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    rates = [each["tried"][0]["validation"]["overall"]["share"]["value"] for each in told["rounds"] if each["tried"]]
    assert rates == [0.0, 1.0]
    rejects = [json.loads(line) for line in (folder / "rounds" / "1-rejects.jsonl").read_text("utf-8").splitlines()]
    assert {(reject["check"], reject["prompt"]) for reject in rejects} == {("wrong", "negate")}


@pytest.mark.slow
def test_halluverse25_is_optimized_by_the_prompt_of_each_type(optimize: Optimize) -> None:
    def model(request: dict[str, Any]) -> str:
        asked = str(request["messages"][-1]["content"])
        fenced = [text for _, text in FENCED.findall(asked)]
        if "You improve a prompt" in asked:
            return improve(asked)
        if len(fenced) == 2:
            wrong = "yes" if "Szada" in fenced[1] else "no"
            return json.dumps({"reason": "", "wrong": wrong, "fluent": "yes", "type": "entity"})
        if "was born" in fenced[0] and "\n" not in fenced[0] and fenced[0].count(".") == 1:
            return json.dumps({"edited": fenced[0].replace("Orfalu", "Szada" if RULE in asked else "Orfa")})
        return json.dumps([fenced[0].split(". ")[0] + "."])

    documents = [
        {"id": f"{n}", "text": f"Mara Tolnay the {n}th was born in Orfalu in 1904. She lived there. She died."}
        for n in range(8)
    ]
    options = [f"-T{name}" for name in ("types=entity", "facts=1", "min_sentences=1")]
    arguments = ("--train", "3", "--validation", "4", "--candidates", "1", "--json", *options)
    done, folder = optimize(model, *arguments, builder="halluverse25_pipeline", documents=documents)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    rates = [each["tried"][0]["validation"]["overall"]["share"]["value"] for each in told["rounds"] if each["tried"]]
    assert rates == [0.0, 1.0]
    rejects = [json.loads(line) for line in (folder / "rounds" / "1-rejects.jsonl").read_text("utf-8").splitlines()]
    assert {reject["prompt"] for reject in rejects} == {"entity"}
