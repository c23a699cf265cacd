"""Read the verdict that a reply gives: true or false, answer A or B, option A to D, in English or Chinese.

These are the strict readers; those of the paper are in `refact_published`. A reply is read in steps. In each step,
the last match is used. A step is tried only if the steps before it find nothing.

1. A declared verdict: after "Final verdict", "Final answer", "答案：" and similar markers, or in a LaTeX box. The
   verdict is in the same sentence or, if nothing follows there, at the start of the next one. A first or last line
   that contains only the verdict declares it as well.
2. A conclusion about the whole: "the correct answer is B", "I would choose B", "B is the more accurate one";
   "therefore, the answer is false", "the answer contains several inaccuracies".
3. A plain rating that could apply to several options: "Answer B is factually correct". It is used if only one option
   is rated right, or if only one of those rated right is never called wrong.
4. Elimination: all options but one are called wrong. For true or false: a list of "inaccuracies found".

A declared "both" or "neither" is not a verdict, and only a choice made after it overrides it. A negation inverts a
rating. "Mostly true" is true and "partially true" is false, because the question is whether everything is true.
Markdown, LaTeX, quotation marks and full-width forms are removed before reading. A tag that is never closed is read
as a word ("<False>"). A Chinese reply without a declared truth value is read by its last judgment.

Statements that are not about the whole are ignored: an introduction that ends in a colon ("Here is what is
correct:"), "whether the answer is correct", "it would be correct if", "makes no factual claims". A label after "my
answer" or "overall answer" is used only if no final verdict is declared.

A reply abstains if it says that it cannot decide (`declining`) and states no verdict elsewhere. A clause such as "I
cannot be sure" is dropped and the rest is read, so that "I cannot be sure, but it is true" is True.

`engine` runs the steps, and `declared` implements step 1. The rules of the other steps are in `options` (`pick`,
`choice`), `truth` (`true_false`) and `truth_zh` (`true_false_zh`), and the patterns are in `lexicons`.
"""

from halu_tasks.scorers.reading.labels.options import choice, pick
from halu_tasks.scorers.reading.labels.truth import true_false
from halu_tasks.scorers.reading.labels.truth_zh import true_false_zh

__all__ = ["choice", "pick", "true_false", "true_false_zh"]
