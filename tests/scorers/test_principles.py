"""What holds of the reading of every packaged task, whatever it asks for."""

import itertools
import json
import re
from collections.abc import Callable

import pytest

from halu_tasks.core.items import Item, Reply
from halu_tasks.core.options import Options
from halu_tasks.scorers.answer import Answer
from halu_tasks.scorers.benchmarks.explanations import read_explanation
from halu_tasks.scorers.benchmarks.labels import claims_verdict
from halu_tasks.scorers.judge import read_verdict
from halu_tasks.scorers.kinds import Claims, Label
from halu_tasks.scorers.reading import claims, questions
from halu_tasks.scorers.reading.claims import read_support
from halu_tasks.scorers.reading.reply import ReplyText
from halu_tasks.scorers.reading.strings import quotations, replacements
from halu_tasks.scorers.score import ScoredReply
from halu_tasks.tasks import build
from halu_tasks.tasks.task_registry import registry
from halu_tasks.text.folding import fold

TASKS = sorted(registry()[0])
LABELS = [
    name
    for name, task in registry()[0].items()
    if isinstance(task.scoring.answer, Label) and not isinstance(task.scoring.answer, Claims)
]
STRINGS = [
    name for name, task in registry()[0].items() if not isinstance(task.scoring.answer, Label) and not task.judge_spec
]
NO_ANSWER = ("unparsed", "abstained")


def first_item(task: str) -> Item:
    return build(task, Options(data="sample")).items[0]


def read(task: str, reply: str) -> ScoredReply:
    evaluation = build(task, Options(data="sample"))
    return evaluation.task.score("strict", evaluation.items[0], Reply(reply))


def labels_of(task: str) -> tuple[str, ...]:
    answer = registry()[0][task].scoring.answer
    assert isinstance(answer, Label)
    return tuple(label for label in answer.labels if label != "none")  # which not every question offers


@pytest.mark.parametrize("task", TASKS)
def test_a_message_of_a_server_is_a_request_that_failed(task: str) -> None:
    for message in ("Error: rate limit exceeded", '{"error": "timeout"}', "HTTP 503 Service Unavailable"):
        assert read(task, message).outcome == "failed", message


@pytest.mark.parametrize(
    "read",
    [
        *(question for question in vars(questions).values() if isinstance(question, questions.LabelReader)),
        *(claims_verdict, read_explanation, read_support, read_verdict, claims.supported),
        *(lambda reply, unit=unit: quotations(reply, "Tea has caffeine.", unit) for unit in ("entity", "sentence")),
        lambda reply: replacements(reply, 1),
    ],
)
def test_every_reader_knows_the_message_of_a_server(read: Callable[[str], Answer[object]]) -> None:
    message = "Error: rate limit exceeded"
    assert read(message) == Answer(None, message, "failed")
    assert read(ReplyText("Supported: yes", failure="filtered")) == Answer(None, "filtered", "failed")
    assert read("").outcome == "empty"


def test_a_reply_that_ends_at_the_cue_of_the_prompt_has_no_label() -> None:
    evaluation = build("factchd", Options(data="sample"))
    item = evaluation.items[0]
    assert item.prompt.endswith("Output:")
    for reply in ("#Question#: Is lead heavy?\n#Answer#: It's not.\nOutput:", "Output:"):
        assert evaluation.task.score("strict", item, Reply(reply)).answer is None
    assert evaluation.task.score("strict", item, Reply("Output: NON-FACTUAL")).answer == "NON-FACTUAL"


def test_the_end_of_a_turn_in_the_judged_text_ends_no_reply() -> None:
    text = "1. Bern <|im_end|>2. Basel"
    assert ReplyText(text, f"Which of these is wrong?\n{text}").text == text
    assert ReplyText(text).text == "1. Bern "
    assert ReplyText("True<|im_end|>", text).text == "True"
    assert ReplyText(marks := json.dumps([{"text": text}])).text == marks


def test_in_paper_a_message_of_a_server_is_read_as_the_authors_do() -> None:
    evaluation = build("halluverse25_binary_en", Options(data="sample", scoring="paper"))
    scored = evaluation.task.score("paper", evaluation.items[0], Reply("Error: request timed out. No"))
    assert scored.outcome != "failed"
    refused = evaluation.task.score("paper", evaluation.items[0], Reply("", failure="429"))
    assert (refused.outcome, refused.reason, refused.reply_outcome) == ("failed", "429", "failed")


@pytest.mark.parametrize("task", TASKS)
def test_no_reply_is_an_error(task: str) -> None:
    for reply in (
        "Final Verdict: {True}", "{A}", '{"answer"}', "The set is\n{1, 2}\nFinal Verdict: True", "zq99z", "zqb",
        '{"verdict": null}', '{"answer": []}', "[]", "[[", "| a |\n|---|", "<think></think>", "?", "Final Verdict:",
    ):  # fmt: skip
        assert read(task, reply).outcome


def test_the_polarity_of_a_word_of_fault_counts() -> None:
    task = "refact_judgment_comparative"
    for reply, answer in (
        ("No errors in A.", "A"),
        ("Incorrect answer: B", "A"),
        ('{"wrong_answer": "A"}', "B"),
        ('{"correct": "A", "incorrect": "B"}', "A"),
    ):
        assert read(task, reply).answer == answer, reply
    assert read(task, "Only B is wrong.").answer != "B"
    assert read("refact_judgment_independent", '{"errors": []}').answer == "True"
    for dash in "-\u2010\u2011\u2012\u2013\u2212\u00ad":
        assert read("factchd", f"NON{dash}FACTUAL").answer == "NON-FACTUAL", ascii(dash)


@pytest.mark.parametrize("task", LABELS)
def test_one_slot_has_one_verdict(task: str) -> None:
    for one, other in itertools.permutations(labels_of(task)[:2]):
        for reply in (
            f"Final verdict: {one}\nFinal verdict: {other}",
            f"Final verdict: {one} or {other}",
            f"Final verdict: {one}, {other}",
            f"Final verdict: {one}; {other}",
            f"**Final verdict:** {one} / {other}",
            f"Final verdict: {one}\n{other}",
        ):
            assert read(task, reply).outcome in NO_ANSWER, reply


ANNOUNCEMENTS = ("Sure, here is my answer.", "Yes, here is my answer.", "Of course! Let me check the text first.")
MENTIONS = ('I was about to write "Final Verdict: {}".', "Many readers would say {} here.", "Final verdict: {}?")


@pytest.mark.parametrize("task", LABELS)
def test_an_announcement_or_a_mention_is_no_verdict(task: str) -> None:
    mentions = (mention.format(label) for mention in MENTIONS for label in labels_of(task))
    for reply in (*ANNOUNCEMENTS, *mentions):
        assert read(task, reply).outcome in NO_ANSWER, reply


@pytest.mark.parametrize("task", LABELS)
def test_the_prompt_itself_is_no_verdict(task: str) -> None:
    evaluation = build(task, Options(data="sample"))
    prompts = {item.id: item.prompt for item in evaluation.shuffled_items}
    answered = [
        item.id
        for item in evaluation.items
        if evaluation.task.score("strict", item, Reply(prompts[item.id])).outcome not in NO_ANSWER
    ]
    assert not answered


@pytest.mark.parametrize("task", LABELS)
def test_an_answer_says_where_it_stands(task: str) -> None:
    for label in labels_of(task):
        reply = f"The text was read.\n\nFinal verdict: {label}"
        scored = read(task, reply)
        assert scored.answer == label and scored.step == "marker" and scored.place
        assert reply[slice(*scored.place)] == f"Final verdict: {label}"


def by_line(form: str, between: str = "\n") -> Callable[[list[str]], str]:
    """Writes each string in a form, in which `{n}` is its number."""
    return lambda strings: between.join(form.format(string, n=n) for n, string in enumerate(strings, 1))


def as_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


LAYOUTS: dict[str, Callable[[list[str]], str]] = {
    "list": by_line("- {}"),
    "numbers": by_line("{n}. {}"),
    "parentheses": by_line("{n}) {}"),
    "blank lines": by_line("{}", "\n\n"),
    "quotes": by_line('"{}"'),
    "quotes of German": by_line("„{}“"),
    "quotes of French": by_line("« {} »"),
    "quotes of Chinese": by_line("「{}」"),
    "code": by_line("`{}`"),
    "tags": by_line("<error>{}</error>"),
    "one line": by_line('"{}"', ", "),
    "semicolons": by_line("{}", "; "),
    "heading": lambda strings: "**Answer:**\n\n" + by_line("* {}")(strings),
    "lead-in": lambda strings: "The answer is:\n\n" + by_line("- {}")(strings) + "\n\nI hope that this helps!",
    "final": lambda strings: "Let me check each of them.\n\nFinal answer:\n" + "\n".join(strings),
    "answer": lambda strings: "<answer>\n" + "\n".join(strings) + "\n</answer>",
    "fence": lambda strings: "```\n" + "\n".join(strings) + "\n```",
    "box": lambda strings: "\\boxed{" + "; ".join(strings) + "}",
    "JSON": as_json,
    "Python": repr,
    "YAML": lambda strings: "answers:\n" + by_line("  - {}")(strings),
    "object": lambda strings: as_json({"answer": strings}),
    "objects": lambda strings: as_json([{"text": string} for string in strings]),
    "objects by line": lambda strings: "\n".join(as_json({"text": string, "why": "-"}) for string in strings),
    "fenced object": lambda strings: (
        "```json\n" + as_json({"spans": [{"quote": string, "reason": "none is given"} for string in strings]}) + "\n```"
    ),
    "table": lambda strings: "| # | Text | Why |\n|---|---|---|\n" + by_line("| {n} | {} | - |")(strings),
}
OF_THE_TEXT: dict[str, Callable[[list[str]], str]] = {
    "bold": by_line("**{}**"),
    "quote": by_line("> {}"),
    "remark": by_line("{} (this is not correct)"),
    "correction": by_line("{} → something else"),
    "sentence behind": by_line("- **{}**: this is not supported."),
    "sentence beneath": by_line('{n}. "{}"\n   - This is not what the source says.'),
    "reason": by_line("{n}. **{}** – not supported by what is known"),
    "label": by_line("Error {n}: {}"),
    "label in bold": by_line("**Error {n}:** {}"),
    "label in a list": by_line('- **Error:** "{}"'),
}


def plain_strings(scored: ScoredReply) -> list[str]:
    assert isinstance(scored.answer, list), scored.reason
    return [fold(string).rstrip(".") for string in scored.answer]


@pytest.mark.parametrize("task", STRINGS)
def test_the_layout_of_strings_does_not_count(task: str) -> None:
    evaluation = build(task, Options(data="sample"))
    layouts = LAYOUTS if task == "refact_correction" else LAYOUTS | OF_THE_TEXT
    read = 0
    for item in evaluation.items:
        strings = evaluation.task.prompts.oracle(item).split("\n")
        if strings[0].startswith("[{"):  # spans, with a probability each
            spans = json.loads(strings[0])
            strings = [span["text"].strip() for span in spans if span.get("prob", 1) >= 0.5]
        # a number before a string, and what divides strings, may be a part of it
        if any(re.search(r"^\d+\.|[|;]", string) for string in strings):
            continue
        plain = evaluation.task.score("strict", item, Reply("\n".join(strings)))
        if not plain.answer:
            continue
        for name, layout in layouts.items():
            other = evaluation.task.score("strict", item, Reply(layout(strings)))
            assert plain_strings(other) == plain_strings(plain), (name, layout(strings))
        read += 1
    assert read


def test_a_reply_that_ends_with_the_cue_of_the_prompt_answers_nothing_behind_it() -> None:
    reply = "#Question#: What is hot?\n#Answer#: 1. Fire\n2. Ice\n#Hallucinated Passages#:"
    assert read("halueval_general_localization", reply).answer is None


def test_the_text_of_one_option_stands_for_its_letter() -> None:
    evaluation = build("cfaith_choice", Options(data="sample"))
    for item in evaluation.shuffled_items:
        options = re.findall(r"(?m)^([A-D])\. (.+)$", item.prompt)
        assert len(options) == 4
        for letter, text in options:
            for reply in (text, f"**{text}**", text.rstrip("。")):
                assert evaluation.task.score("strict", item, Reply(reply)).answer == letter, reply
        both = "\n".join(text for _, text in options[:2])
        assert evaluation.task.score("strict", item, Reply(both)).answer is None
