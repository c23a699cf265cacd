"""Take off what a model thinks before it answers, in the markup of its chat template.

lm-eval's vLLM backend delivers this markup in full and its Hugging Face backend without special tokens; Inspect takes
off what its providers know. What the reasoning says is never read as the answer.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class Markup(NamedTuple):
    """How a family of models separates its reasoning from its answer; each part is an expression, or empty.

    Attributes:
        models: The models whose chat template writes it.
        opens: Begins reasoning.
        closes: Ends reasoning.
        answers: Begins the answer; nothing before it is part of the answer.
        ends: Ends the answer.
    """

    models: str
    opens: str = ""
    closes: str = ""
    answers: str = ""
    ends: str = ""


_THOUGHT = r"(?:think(?:ing)?|thoughts?|reason(?:ing)?|reflection|analysis|scratch_?pad)"
_START = r"(?:<\|start\|>\s{0,4}assistant\s{0,4})?"

MARKUPS = (
    # also in capitals and with a prefix: <seed:think>, <mm:think>, <longcat_think>
    Markup(
        "DeepSeek-R1, Qwen3, QwQ, GLM-4.5, Hunyuan, Nemotron, Phi-4-reasoning, SmolLM3, OLMo 3, EXAONE Deep, Claude, "
        "Marco-o1, LLaVA-CoT, Seed-OSS, MiniMax-M3, LongCat",
        # Inspect writes what it keeps of a signature into the tag
        opens=rf"<(?:[a-z]{{1,20}}[:_-])?{_THOUGHT}(?: [^<>]{{0,200}})?>",
        closes=rf"</(?:[a-z]{{1,20}}[:_-])?{_THOUGHT}>",
    ),
    Markup("Magistral, Mistral Small 4", opens=r"\[THINK\]", closes=r"\[/THINK\]"),
    Markup("Kimi-VL-Thinking", opens="◁think▷", closes="◁/think▷"),
    Markup(
        "Kimi K3",
        opens=r"<\|open\|>think<\|sep\|>",
        closes=r"<\|close\|>think<\|sep\|>",
        answers=r"<\|open\|>response<\|sep\|>",
        ends=r"<\|close\|>(?:response|message)<\|sep\|>",
    ),
    Markup(
        "Command A Reasoning, Command R7B",
        opens=r"<\|START_THINKING\|>",
        closes=r"<\|END_THINKING\|>",
        answers=r"<\|START_RESPONSE\|>",
        ends=r"<\|END_RESPONSE\|>",
    ),
    Markup(
        "OpenThinker, Sky-T1",
        opens=r"<\|begin_of_thought\|>",
        closes=r"<\|end_of_thought\|>",
        answers=r"<\|begin_of_solution\|>",
        ends=r"<\|end_of_solution\|>",
    ),
    Markup("Apertus", opens=r"<\|inner_prefix\|>", closes=r"<\|inner_suffix\|>"),
    Markup("MedGemma", opens=r"<unused94>(?:thought)?", closes="<unused95>"),
    # without special tokens, nothing separates the reasoning from the answer
    Markup("Gemma 4", opens=r"<\|channel>(?:thought)?|\A\s{0,9}thought\n", closes=r"<channel\|>"),
    Markup("GLM-4.1V-Thinking", answers=r"<\|begin_of_box\|>", ends=r"<\|end_of_box\|>"),
    Markup(
        "gpt-oss",
        opens=rf"{_START}<\|channel\|>\s{{0,4}}(?:analysis|commentary)[^<\n]{{0,40}}(?:<\|constrain\|>\w{{1,20}})?<\|message\|>",
        answers=rf"{_START}<\|channel\|>\s{{0,4}}final[^<\n]{{0,40}}(?:<\|constrain\|>\w{{1,20}})?<\|message\|>",
        ends=r"<\|return\|>|<\|call\|>",
    ),
    Markup(
        "gpt-oss without special tokens",
        opens=r"\A\s{0,9}(?-i:analysis(?=[^\s\Wa-z_]|[\"'“(¿])|(?:assistant)?commentary(?=[^\s\Wa-z_]))|assistantcommentary(?=\S)",
        answers=r"(?-i:assistantfinal)",
    ),
    Markup(
        "Muse",
        opens=rf"{_START}to=self<\|message\|>",
        answers=rf"{_START}(?:to=user)?<\|message\|>",
        ends=r"<\|eom\|>|<\|eot\|>",
    ),
    Markup(
        "Inkling",
        opens=r"<\|content_thinking\|>",
        answers=r"<\|content_text\|>",
        ends=r"<\|end_message\|>|<\|content_model_end_sampling\|>",
    ),
    Markup(
        "Granite 3.2 and 3.3",
        opens=r"\A\s{0,9}Here(?:'s| is) my thought process:",
        answers=r"Here(?:'s| is) my response:",
    ),
    Markup(
        "Apriel",
        opens=r"\A\s{0,9}Here are my reasoning steps:",
        answers=r"\[BEGIN FINAL RESPONSE\]",
        ends=r"\[END FINAL RESPONSE\]",
    ),
    Markup("HuatuoGPT-o1", opens=r"\A\s{0,9}## Thinking\n", answers=r"(?<=\n)## Final Response\n"),
    Markup(
        "the end of a turn",
        ends=r"<\|(?:im_end|eot_id|eom_id|end|endoftext|end_of_text|END_OF_TURN_TOKEN|EOT|im_start|user)\|>"
        r"|</s>|<end_of_turn>|<eos>|<turn\|>|<\|end▁of▁sentence\|>|<｜end▁of▁sentence｜>|\[EOS\]|\[e~\[|<\|role_end\|>",
    ),
)
"""The known markups. Of several that match at the same place, the first one counts."""

_PARTS = ("opens", "closes", "answers", "ends")
# How the expressions begin. They are tried nowhere else, so a markup that begins otherwise has to be added here.
_BEGINS = r"(?=[<\[◁](?=[/|｜\w])|\A|assistant|to=|Here(?:'s| is) my response|## Final Response)"
_EXPRESSIONS = "|".join(
    f"(?P<{part}{number}>{expression})"
    for number, markup in enumerate(MARKUPS)
    for part in _PARTS
    if (expression := getattr(markup, part))
)
_TOKEN = re.compile(f"{_BEGINS}(?:{_EXPRESSIONS})", re.IGNORECASE)
# "Thought: … Final Answer: …", as agents write that are prompted like ReAct
_REACT = re.compile(r"\s{0,9}Thought:"), re.compile(r"(?m)^[ \t]{0,9}Final Answer:")
# the answer that the reasoning is followed by, in a tag of its own
_ANSWER = re.compile(r"\s*<(answer|response|output|solution|conclusion)>(.*?)(?:</\1>.*)?\Z", re.DOTALL | re.IGNORECASE)


def strip_reasoning(reply: str) -> str | None:
    """Return the answer of a reply, without the reasoning before it and the markup around it.

    Reasoning is what stands between opening and closing markup, before closing markup whose opening is part of the
    prompt, and before the beginning of the answer. Time is linear in the length of the reply.

    Returns:
        The answer; None if reasoning is never closed, since all that follows is reasoning.
    """
    kept: list[str] = []
    start, thinking, separated = 0, False, False
    for token in _TOKEN.finditer(reply):
        part = str(token.lastgroup).rstrip("0123456789")
        if part == "ends":
            if thinking:
                continue
            kept.append(reply[start : token.start()])
            start = token.end()
            if any(map(str.strip, kept)):
                start = len(reply)
                break
        elif part == "opens":
            if not thinking:
                kept.append(reply[start : token.start()])
            thinking = separated = True
        else:
            if part == "answers" or not thinking:
                kept.clear()
            start, thinking, separated = token.end(), False, True
    if thinking:
        return None
    text = "".join([*kept, reply[start:]])
    opened, answers = _REACT
    if opened.match(text) and (answer := max(answers.finditer(text), key=re.Match.start, default=None)):
        return text[answer.end() :]
    if separated and (tagged := _ANSWER.fullmatch(text)) and text.count(f"<{tagged[1]}>") == 1:
        return tagged[2]
    return text
