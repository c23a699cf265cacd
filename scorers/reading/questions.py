"""The questions of the package's benchmarks that a label answers."""

from __future__ import annotations

from halu_tasks.scorers.reading.lexicon import LANGUAGES
from halu_tasks.scorers.reading.options import OptionQuestion
from halu_tasks.scorers.reading.question import Question
from halu_tasks.scorers.reading.types import TypeQuestion

TRUE, FALSE = "True", "False"
YES, NO = "Yes", "No"
FACTUAL, NON_FACTUAL = "FACTUAL", "NON-FACTUAL"
ENTITY, RELATION, SENTENCE, NONE = TYPES = ("entity", "relation", "sentence", "none")

true_false = Question(("judgment",), ("en", "eu", "zh"), (TRUE, FALSE), yes=TRUE)
"""Whether a text is true: ReFACT's independent judgment."""
hallucinates = Question(("judgment", "hallucination"), ("en", "eu", "zh"), (NO, YES), yes=YES)
"""Whether a text hallucinates."""
factual = Question(("judgment",), ("en", "eu", "zh"), (FACTUAL, NON_FACTUAL), yes=FACTUAL)
"""Whether a text is factual: FactCHD."""
true_false_zh = Question(("judgment",), ("en", "zh"), (TRUE, FALSE), yes=TRUE)
"""Whether an answer is right, in Chinese or English: C-FAITH's true-or-false format."""

hallucinates_multilingual = Question(("judgment", "hallucination"), LANGUAGES, (NO, YES), yes=YES)
"""Whether a sentence hallucinates, in English, Turkish, Arabic, Hindi or Chinese: HalluVerse25."""
error_type = TypeQuestion(("types",), ("en", "tr", "ar", "hi", "zh", "es"), TYPES, yes="")
"""Which type of error an edited text has, in English, Turkish, Arabic, Hindi, Chinese or Spanish: HalluVerse25."""
pick = OptionQuestion(("judgment", "options"), ("en", "eu", "zh"), ("A", "B"), yes="")
"""Which of two answers is right: ReFACT's comparative judgment."""
choice = OptionQuestion(("judgment", "options"), ("en", "zh"), ("A", "B", "C", "D"), yes="")
"""Which of four options is right, in Chinese or English: C-FAITH's choice format."""
