"""A build in Chinese, to the ceiling of its tasks; other languages are tested in process."""

import json
import re
from typing import Any

import pytest
from common import Run


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
