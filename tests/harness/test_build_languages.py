"""Builds in the languages that the package has prompts for, to the ceiling of their tasks."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable
from typing import Any

import pytest

Run = Callable[..., Any]

_FENCED = re.compile(r"(=====[0-9a-f]{16})\n(.*?)\n\1", re.DOTALL)

FACTS = {
    "en": {
        "Mara Tolnay was born in the village of Orfalu in 1904.": (
            "Mara Tolnay was born in the village of Szada in 1904.",
            "Mara Tolnay was buried near the village of Orfalu in 1904.",
            "Mara Tolnay sailed round the world alone on a raft of reeds.",
        ),
        "In 1931 the academy awarded her its silver medal.": (
            "In 1931 the academy awarded her its golden spade.",
            "In 1931 the academy denied her its silver medal.",
            "In 1931 she robbed a bank and fled to Brazil.",
        ),
    },
    "tr": {
        "Mara Tolnay 1904 yılında Orfalu köyünde dünyaya geldi.": (
            "Mara Tolnay 1904 yılında Szada köyünde dünyaya geldi.",
            "Mara Tolnay 1904 yılında Orfalu köyünde hayatını kaybetti.",
            "Mara Tolnay sazdan bir salla tek başına dünyayı dolaştı.",
        ),
        "Akademi ona 1931 yılında gümüş madalya verdi.": (
            "Akademi ona 1931 yılında altın kürek verdi.",
            "Akademi ondan 1931 yılında gümüş madalya aldı.",
            "Kendisi 1931 yılında bir banka soyup Brezilya'ya kaçtı.",
        ),
    },
    "ar": {
        "ولدت مارا تولناي في قرية أورفالو سنة 1904.": (
            "ولدت مارا تولناي في قرية سادا سنة 1904.",
            "توفيت مارا تولناي في قرية أورفالو سنة 1904.",
            "أبحرت مارا تولناي وحدها حول العالم على طوف من القصب.",
        ),
        "منحتها الأكاديمية ميداليتها الفضية سنة 1931.": (
            "منحتها الأكاديمية مجرفتها الذهبية سنة 1931.",
            "سحبت منها الأكاديمية ميداليتها الفضية سنة 1931.",
            "سرقت مصرفا كبيرا وهربت إلى البرازيل سنة 1931.",
        ),
    },
}


@pytest.mark.parametrize(
    "language", ["tr", *(pytest.param(one, marks=pytest.mark.slow) for one in sorted(FACTS) if one != "tr")]
)
@pytest.mark.slow
def test_biographies_in_a_language(run_build: Run, run_inspect: Run, run_lm_eval: Run, language: str) -> None:
    from halu_tasks.builders.pipelines.halluverse25 import TYPES, HalluVerse25Pipeline

    facts = FACTS[language]
    begins = {name: text.partition("{")[0] for name, text in HalluVerse25Pipeline(language=language).texts.items()}
    types = {edited: kind for three in facts.values() for edited, kind in zip(three, TYPES, strict=True)}

    def model(request: dict[str, Any]) -> str:
        asked = str(request["messages"][-1]["content"])
        name = next(name for name, begin in begins.items() if asked.startswith(begin))
        fenced = [text for _, text in _FENCED.findall(asked)]
        if name == "extract":
            return json.dumps(list(facts))
        if name == "verify":
            return json.dumps({"reason": "", "wrong": "yes", "fluent": "yes", "type": types[fenced[1]]})
        return json.dumps({"edited": facts[fenced[0]][TYPES.index(name)]})

    documents = [{"id": f"tolnay{n}", "text": " ".join(facts)} for n in range(6)]
    told, folder = run_build(
        "halluverse25_pipeline",
        documents,
        model,
        "-T",
        f"language={language}",
        "-T",
        "facts=2",
        "-T",
        "min_sentences=2",
    )
    assert told["rates"]["overall"]["passed"] == told["drafts"] == 12 and not told["rejected"]
    # a sentence that stands in several documents is an item once
    assert told["dropped"] == {"duplicate": 10}
    path = folder / "dataset" / f"{language}_final_data.csv"
    rows = list(csv.DictReader(path.open(encoding="utf-8", newline="")))
    assert {row["orig_sentence"] for row in rows} == set(facts)
    assert all(types[row["edited_sentence"]] == row["final_label"] for row in rows)
    data = str(folder / "dataset")
    for task, items in ((f"halluverse25_{language}", 2), (f"halluverse25_binary_{language}", 4)):
        log = run_inspect(task, "halu/oracle", {"data": data})
        assert log.results.scores[0].metrics["acc"].value == 1.0 and len(log.samples) == items
        assert run_lm_eval([task], "halu-oracle", {"halu_data": data})["results"][task]["acc,none"] == 1.0


@pytest.mark.slow
def test_questions_in_chinese(run_build: Run, run_inspect: Run) -> None:
    from halu_tasks.builders.pipelines.haluagent import HaluAgent

    begins = {name: text.partition("{")[0] for name, text in HaluAgent().texts.items() if name != "types"}
    names = {local: name for name, (local, _) in HaluAgent().kinds.items()}

    def model(request: dict[str, Any]) -> str:
        asked = str(request["messages"][-1]["content"])
        name = next(name for name, begin in begins.items() if asked.startswith(begin))
        if name == "question":
            kind = re.search("诱发“(.+?)”", asked)
            assert kind and kind[1] in names
            # the document writes it with a space, and the copy without
            support = "伦勃朗于1606年7月15日生在莱顿。"
            return json.dumps([{"question": f"伦勃朗生在哪里？（{kind[1]}）", "answer": "莱顿", "support": support}])
        if name == "hallucinate":
            return '```json\n["阿姆斯特丹", "鹿特丹", "海牙"]\n```'
        if name == "label":
            asked_for = re.search("（(.+?)）", asked)
            assert asked_for
            return json.dumps([asked_for[1]] * 3)
        number = 1 if name == "check_answer" else 3
        return json.dumps([{"verdict": "是", "reason": "依据如此"}] * number)

    text = "伦勃朗于 1606年7月15日生在莱顿。他的父亲是磨坊主，母亲是面包师的女儿，家里一共有九个孩子。"
    told, folder = run_build("haluagent", [{"id": "r", "title": "伦勃朗", "text": text}], model)
    assert told["drafts"] == told["rates"]["overall"]["passed"] == 7
    assert set(told["items"]) == set(names.values()) and told["files"]["single_choice_qa.jsonl"] == 7
    for task, figure in (("cfaith_choice", "hallucination_rate"), ("cfaith_tf", "hallucination_rate")):
        log = run_inspect(task, "halu/oracle", {"data": str(folder / "dataset")})
        assert log.results.scores[0].metrics[figure].value == 0.0
