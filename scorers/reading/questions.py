"""The questions of the package's benchmarks that a label answers."""

from __future__ import annotations

from halu_tasks.scorers.reading.options import OptionQuestion
from halu_tasks.scorers.reading.question import Question
from halu_tasks.scorers.reading.types import TypeQuestion

true_false = Question(("judgment",), ("en", "eu", "zh"), ("True", "False"), yes="True")
"""Whether a text is true: ReFACT's independent judgment."""
hallucinates = Question(("judgment", "hallucination"), ("en", "eu", "zh"), ("No", "Yes"), yes="Yes")
"""Whether a text hallucinates."""
factual = Question(("judgment",), ("en", "eu", "zh"), ("FACTUAL", "NON-FACTUAL"), yes="FACTUAL")
"""Whether a text is factual: FactCHD."""
true_false_zh = Question(("judgment",), ("en", "zh"), ("True", "False"), yes="True")
"""Whether an answer is right, in Chinese or English: C-FAITH's true-or-false format."""

hallucinates_multilingual = Question(
    ("judgment", "hallucination"), ("en", "eu", "zh", "tr", "ar", "hi"), ("No", "Yes"), yes="Yes"
)
"""Whether a sentence hallucinates, in English, Turkish, Arabic, Hindi or Chinese: HalluVerse25."""
error_type = TypeQuestion(
    ("types",), ("en", "tr", "ar", "hi"), ("entity", "relation", "sentence", "none"), yes="none"
)
"""Which type of error an edited text has, in English, Turkish, Arabic or Hindi: HalluVerse25."""
pick = OptionQuestion(("judgment", "options"), ("en", "eu", "zh"), ("A", "B"), yes="")
"""Which of two answers is right: ReFACT's comparative judgment."""
choice = OptionQuestion(("judgment", "options"), ("en", "zh"), ("A", "B", "C", "D"), yes="")
"""Which of four options is right, in Chinese or English: C-FAITH's choice format."""
