"""Which verdict a reply gives: true or false, answer A or B, option A to D, in English or Chinese.

These are the strict readings (the published ones are in `refact_published`). A reply is read in steps; in
each step the last finding wins, and a later step is tried only when the earlier ones found nothing.

1. A declared verdict: what stands behind "Final verdict", "Final answer", "答案：" and the like or in a LaTeX
   box, in the same sentence or, if nothing follows there, at the start of the next; and a first or last
   line that is nothing but the verdict.
2. A conclusion about the whole: "the correct answer is B", "I would choose B", "B is the more accurate one";
   "therefore, the answer is false", "the answer contains several inaccuracies".
3. A plain rating that could hold for several options: "Answer B is factually correct". It counts when it is
   given to one option alone, or to one only of those that are never called wrong.
4. Elimination: every option but one is called wrong. For true or false: a list of "inaccuracies found".

A declared "both" or "neither" is no verdict; only a choice made after it overrides it. A negation turns a
rating round. "Mostly true" is true and "partially true" is false, since the question is whether all of it
is. Markdown, LaTeX, quotation marks and full-width forms are removed before reading; a tag that is never
closed is a word ("<False>"). A Chinese reply without a declared truth value is read by its last judgment.

What says nothing of the whole does not count: an introduction that ends in a colon ("Here is what is correct:"),
"whether the answer is correct", "it would be correct if", "makes no factual claims". What stands behind "my answer"
or "overall answer" counts where no final verdict is declared.

A reply declines, and abstains, if it says that it cannot decide (`declining`) and states no verdict beside that: a
clause such as "I cannot be sure" is dropped and the rest is read, so that "I cannot be sure, but it is true" is True.

`engine` goes through the steps, and `declared` holds step 1; the rules for the others are in `options` (`pick`,
`choice`), `truth` (`true_false`) and `truth_zh` (`true_false_zh`), and the words in `lexicons`.
"""

from halu_tasks.scorers.reading.labels.options import choice, pick
from halu_tasks.scorers.reading.labels.truth import true_false
from halu_tasks.scorers.reading.labels.truth_zh import true_false_zh

__all__ = ["choice", "pick", "true_false", "true_false_zh"]
