"""`halu-tasks optimize` against a model on loopback whose drafts get better with every rule that an optimizer adds."""

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from common import Cli, Run, fenced, read_rows, write_rows
from scripted_builders import HaluModel, Learning, document

Optimize = Callable[..., tuple[subprocess.CompletedProcess[str], Path]]


@pytest.fixture
def optimize(serve: Run, here: Cli, tmp_path: Path) -> Optimize:
    source = tmp_path / "documents.jsonl"

    def run(
        model: Any, *arguments: str, builder: str = "haluagent", documents: Any = None
    ) -> tuple[subprocess.CompletedProcess[str], Path]:
        rows = documents or [document(n) for n in range(20)]
        write_rows(source, rows)
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
    rejects = read_rows(folder / "rounds" / "1-rejects.jsonl")
    assert len(rejects) == told["rounds"][1]["rejects"] == 6 * 3
    assert {reject["check"] for reject in rejects} == {"hallucination"}
    names = {path.stem for path in (folder / "prompts").iterdir()}
    assert {name for name in names if not name.endswith("-train")} == set(chosen)


@pytest.mark.slow
def test_a_log_of_the_optimizer_that_was_cut_off_is_set_aside_and_made_again(optimize: Optimize) -> None:
    first, folder = optimize(Learning(best=1, each=10))
    (log,) = (folder / "logs" / "round-1-optimizer").glob("*.eval")
    log.write_bytes(log.read_bytes()[:700])
    model = Learning(best=1, each=10)
    again, _ = optimize(model)
    assert again.returncode == 0 and len(model.shown) == 3, again.stderr
    assert again.stdout.splitlines()[:4] == first.stdout.splitlines()[:4]
    assert [path.name for path in log.parent.glob("*.damaged")] == [f"{log.name}.damaged"]


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


@pytest.mark.slow
def test_the_definitions_of_types_are_optimized_for_labels_that_do_not_fit(optimize: Optimize) -> None:
    class Mislabelling(HaluModel):
        def __call__(self, request: dict[str, Any]) -> Any:
            asked = str(request["messages"][-1]["content"])
            if "You improve a prompt" in asked:
                prompt = fenced(asked)[0]
                if "SpaErr spatiotemporal error:" not in prompt:
                    return f"<prompt>{prompt} </prompt>"
                kept = "candidate" if "type does not fit" in asked else ""
                return f"<prompt>{prompt}\nA year is a time, {kept}.</prompt>"
            if "You label wrong answers" in asked:
                return json.dumps(["EntErr", "EntErr", "SpaErr" if "A year is a time" in asked else "EntErr"])
            if "You check labels" in asked:
                assert "A year is a time" not in asked
                fits = "century later, by Ada Rook.\n   → spatiotemporal error" in asked
                return json.dumps([{"verdict": verdict} for verdict in ("yes", "yes", "yes" if fits else "no")])
            return super().__call__(request)

    done, folder = optimize(Mislabelling(), "--json")
    assert done.returncode == 0, done.stderr
    assert "A year is a time, candidate." in (folder / "prompts.yaml").read_text("utf-8")
    rates = [
        found["tried"][0]["validation"]["overall"]["share"]["value"] for found in json.loads(done.stdout)["rounds"][:2]
    ]
    assert rates == [0.0, 1.0]
    assert {tuple(row["prompts"]) for row in read_rows(folder / "rounds" / "1-rejects.jsonl")} == {("label", "types")}
