"""The questions of the package's benchmarks that a label answers."""

from __future__ import annotations

from halu_tasks.scorers.reading.choices import OPTION_STEPS, OptionVocabulary
from halu_tasks.scorers.reading.steps import LabelReader
from halu_tasks.scorers.reading.types import TYPE_STEPS, TypeVocabulary
from halu_tasks.scorers.reading.vocabulary import Vocabulary

TRUE, FALSE = "True", "False"
YES, NO = "Yes", "No"
FACTUAL, NON_FACTUAL = "FACTUAL", "NON-FACTUAL"
ENTITY, RELATION, SENTENCE, NONE = TYPES = ("entity", "relation", "sentence", "none")

true_false = LabelReader(Vocabulary(("judgment",), (TRUE, FALSE), yes=TRUE))
"""Whether a text is true: ReFACT's independent judgment, C-FAITH's true-or-false format."""
hallucinates = LabelReader(Vocabulary(("judgment", "hallucination"), (NO, YES), yes=YES))
"""Whether a text hallucinates: HalluVerse25, HaluEval and others."""
factual = LabelReader(Vocabulary(("judgment",), (FACTUAL, NON_FACTUAL), yes=FACTUAL))
"""Whether a text is factual: FactCHD."""
error_type = LabelReader(TypeVocabulary(("types",), TYPES, yes=""), TYPE_STEPS)
"""Which type of error an edited text has: HalluVerse25."""
pick = LabelReader(OptionVocabulary(("judgment", "options"), ("A", "B"), yes=""), OPTION_STEPS)
"""Which of two answers is right: ReFACT's comparative judgment."""
choice = LabelReader(OptionVocabulary(("judgment", "options"), ("A", "B", "C", "D"), yes=""), OPTION_STEPS)
"""Which of four options is right: C-FAITH's choice format."""
