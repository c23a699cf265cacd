"""The questions of the package's benchmarks that a label answers."""

from __future__ import annotations

from halu_tasks.scorers.reading.options import OPTION_STEPS, Options
from halu_tasks.scorers.reading.steps import Question
from halu_tasks.scorers.reading.types import TYPE_STEPS, Types
from halu_tasks.scorers.reading.vocabulary import Vocabulary

TRUE, FALSE = "True", "False"
YES, NO = "Yes", "No"
FACTUAL, NON_FACTUAL = "FACTUAL", "NON-FACTUAL"
ENTITY, RELATION, SENTENCE, NONE = TYPES = ("entity", "relation", "sentence", "none")

true_false = Question(Vocabulary(("judgment",), ("en", "eu", "zh"), (TRUE, FALSE), yes=TRUE))
"""Whether a text is true: ReFACT's independent judgment."""
hallucinates = Question(Vocabulary(("judgment", "hallucination"), ("en", "eu", "zh"), (NO, YES), yes=YES))
"""Whether a text hallucinates."""
factual = Question(Vocabulary(("judgment",), ("en", "eu", "zh"), (FACTUAL, NON_FACTUAL), yes=FACTUAL))
"""Whether a text is factual: FactCHD."""
true_false_zh = Question(Vocabulary(("judgment",), ("en", "zh"), (TRUE, FALSE), yes=TRUE))
"""Whether an answer is right, in Chinese or English: C-FAITH's true-or-false format."""

hallucinates_multilingual = Question(
    Vocabulary(("judgment", "hallucination"), ("en", "eu", "zh", "tr", "ar", "hi"), (NO, YES), yes=YES)
)
"""Whether a sentence hallucinates, in English, Turkish, Arabic, Hindi or Chinese: HalluVerse25."""
error_type = Question(Types(("types",), ("en", "tr", "ar", "hi", "zh", "es"), TYPES, yes=""), TYPE_STEPS)
"""Which type of error an edited text has, in English, Turkish, Arabic, Hindi, Chinese or Spanish: HalluVerse25."""
pick = Question(Options(("judgment", "options"), ("en", "eu", "zh"), ("A", "B"), yes=""), OPTION_STEPS)
"""Which of two answers is right: ReFACT's comparative judgment."""
choice = Question(Options(("judgment", "options"), ("en", "zh"), ("A", "B", "C", "D"), yes=""), OPTION_STEPS)
"""Which of four options is right, in Chinese or English: C-FAITH's choice format."""
