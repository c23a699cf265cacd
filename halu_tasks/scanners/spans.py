"""The scanner `spans`: which passages of a reply are hallucinated?"""

from __future__ import annotations

from inspect_scout import Result, Scanner, Transcript, scanner

from halu_tasks.core.prompting import texts, turns
from halu_tasks.scanners.transcripts import TranscriptReply, asked_of, no_reply, reply_of
from halu_tasks.scorers.answer import Answer
from halu_tasks.scorers.benchmarks.strings import places
from halu_tasks.scorers.reading.strings import quotations
from halu_tasks.solvers.arguments import checked
from halu_tasks.solvers.asking import ask, chat_messages
from halu_tasks.tasks import task_named
from halu_tasks.text.spans import Text, merge

TASK = "halueval_general_localization"


@scanner(messages="all")
@checked
def spans(cache: bool = True) -> Scanner[Transcript]:
    """Ask which passages of a reply are hallucinated, in the words of the task `halueval_general_localization`.

    The value is whether there is one that occurs in the reply. The model role `grader` is asked; it defaults to the
    model of the scan.

    Args:
        cache: Whether to cache replies of the model.
    """
    task = task_named(TASK)
    prompt = task.prompts.wordings[0].prompt
    most_tokens = task.decoding.max_tokens

    async def scan(transcript: Transcript) -> Result:
        reply = reply_of(transcript)
        if reply is None:
            return no_reply()
        messages = chat_messages(turns(*texts(prompt, {"query": asked_of(reply), "response": reply.text})))
        output = await ask(messages, "grader", cache=cache, temperature=0.0, max_tokens=most_tokens)
        return located(reply, quotations(output.completion, reply.text, "passage"))

    return scan


def located(reply: TranscriptReply, answer: Answer[list[str]]) -> Result:
    """Locate passages in a reply.

    Args:
        reply: The reply.
        answer: The passages that a model called hallucinated.

    Returns:
        Whether a passage was located. Without an answer, or if no passage occurs in the reply, there is no value.
    """
    strings = answer.value or []
    text = Text(reply.text)
    placed = {string: places(text, string, ()) for string in strings}
    marked = merge(span for each in placed.values() for span in each)
    unplaced = [string for string, each in placed.items() if not each]
    reason = answer.reason or (f"{len(unplaced)} of {len(placed)} passages are not in the reply" if unplaced else "")
    unknown = answer.value is None or (unplaced and not marked)
    return Result(
        value=None if unknown else bool(marked),
        answer=None if answer.value is None else "\n".join(reply.text[start:end] for start, end in marked),
        explanation=reason or f"{len(marked)} passages",
        metadata={
            "spans": [list(span) for span in marked],
            "characters": sum(end - start for start, end in marked),
            "reply_characters": len(reply.text),
            "unplaced": unplaced,
        },
        references=reply.references,
    )
