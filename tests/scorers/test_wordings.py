"""Families of wordings that the readers of verdicts, choices and labels take as a careful reader would."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from halu_tasks.scorers import factchd
from halu_tasks.scorers.answer import Answer
from halu_tasks.scorers.verdict import choice, pick, true_false, true_false_zh
from halu_tasks.tasks import task_named

CHOICE = [
    ("A", "答：A"),
    ("A", "答：Ａ"),
    ("C", "答: C"),
    ("B", "答案：B"),
    ("B", "B选项"),
    ("B", "B选项。"),
    ("B", "选B"),
    ("B", "应选B。"),
    ("B", "我选B"),
    ("B", "A不对，B对"),
    ("B", "A不对，B对。"),
    ("B", "A错B对"),
    ("C", "A、B、D都错，C对。"),
    ("B", "A不对，B正确。"),
    ("D", "只有D是对的。"),
    ("D", "D项正确"),
    ("D", "D"),
    ("D", "D。因为时间符合。"),
    ("D", "选项D"),
    ("D", "故选D。"),
    ("C", "综上所述，选择C。"),
    ("C", "正确答案应为C"),
    ("C", "C是正确的，其余选项均有误。"),
    ("A", "A选项符合史实，B、C、D均不符合。"),
    ("A", "【答案】A"),
    ("A", "[答案] A\n[解析] B错误"),
    ("B", "答案选B，不选A"),
    ("B", "答案不是A，是B。"),
    ("B", "不是A，而是B"),
    ("B", "我认为是B"),
    ("B", "应该是B吧"),
    ("B", "B（扶芳藤）"),
    ("B", "本题答案为(B)。"),
    ("B", "排除A、C、D，选B。"),
    ("unparsed", "A和B都对"),
    ("unparsed", "A或B"),
    ("unparsed", "都不正确"),
    ("abstained", "无法判断"),
    ("abstained", "无法确定哪个选项正确。"),
    ("abstained", "我不知道答案。"),
    ("abstained", "信息不足，不能确定选A还是选B。"),
    ("B", "我不确定，但应该选B。"),
    ("B", "虽然我不能完全确定，但我认为答案是B。"),
    ("B", "The answer is B."),
    ("B", "答案：B\n\nA选项的说法是正确的吗？不是。"),
    ("abstained", "抱歉，我无法回答这个问题。"),
    ("C", "最终答案：C"),
    ("C", "最终答案是选项C。"),
    ("C", "√C"),
    ("C", "C √"),
    ("B", "A ×\nB √\nC ×\nD ×"),
    ("B", "A：错误\nB：正确\nC：错误\nD：错误"),
    ("B", "A. 错\nB. 对\nC. 错\nD. 错"),
    ("C", "A、B、D三项均错误，故C正确"),
    ("C", "C选项的描述与事实一致"),
    ("A", "首先，B有误；其次，C有误；最后，D有误。因此选A。"),
    ("A", "答：选A。"),
    ("A", "答：应选择A选项"),
    ("D", "正确的是D"),
    ("D", "D才是正确答案"),
    ("D", "D为正确选项"),
    ("B", "選B"),
    ("B", "答案應該是B"),
    ("B", "我會選擇B選項"),
]

TRUE_FALSE_ZH = [
    ("True", "判断：√"),
    ("False", "判断：×"),
    ("True", "√"),
    ("False", "×"),
    ("True", "✓"),
    ("False", "✗"),
    ("True", "✔"),
    ("False", "❌"),
    ("True", "✅"),
    ("True", "对"),
    ("False", "错"),
    ("True", "答：对"),
    ("False", "答：错误"),
    ("True", "答：正确"),
    ("False", "判断结果：✗"),
    ("False", "这个说法是错的"),
    ("True", "这个说法是对的"),
    ("True", "没错"),
    ("False", "有错误"),
    ("False", "该回答与事实不符。"),
    ("True", "该回答与事实相符。"),
    ("True", "该回答符合事实"),
    ("False", "不符合事实"),
    ("False", "不对"),
    ("True", "回答正确"),
    ("False", "回答错误"),
    ("False", "该回答存在错误。"),
    ("True", "该回答不存在错误。"),
    ("True", "没有发现错误"),
    ("False", "部分正确"),
    ("False", "不完全正确"),
    ("abstained", "无法判断该回答是否正确"),
    ("abstained", "无法判断该回答是否正确。"),
    ("abstained", "我无法确定该回答是否正确。"),
    ("abstained", "不知道"),
    ("abstained", "信息不足，无法判断。"),
    ("abstained", "很难说该回答是否正确。"),
    ("abstained", "由于缺乏相关资料，我不能判断这个回答是对是错。"),
    ("abstained", "是否正确无法判断"),
    ("abstained", "我无法判断。"),
    ("True", "我不能百分之百确定，但该回答应该是正确的。"),
    ("False", "虽然无法核实所有细节，但该回答是错误的。"),
    ("False", "无法确定具体日期，但该回答把地点弄错了，因此错误。"),
    ("False", "答案：错误"),
    ("True", "T"),
    ("False", "F"),
    ("True", "是"),
    ("False", "否"),
    ("True", "是的，该回答正确。"),
    ("False", "不是，该回答有误。"),
    ("False", "该说法有误，应为1911年。"),
    ("False", "是错误的"),
    ("True", "判断：正确"),
    ("False", "判断：错"),
    ("False", "结论：该回答错误"),
    ("False", "错误。正确答案是1911年"),
    ("True", "正确。没有任何错误。"),
    ("False", "這個回答不正確。"),
    ("abstained", "無法判斷該回答是否正確。"),
    ("False", "False"),
    ("True", "True"),
    ("True", "The answer is correct."),
    ("abstained", "I cannot determine whether the answer is correct."),
    ("False", "我判断这个回答是错误的。"),
    ("False", "该回答不属实。"),
    ("True", "该回答属实。"),
    ("False", "该回答不能算正确"),
    ("False", "不能认为该回答正确"),
]

PICK = [
    ("B", "The second answer is the factual one."),
    ("A", "The first answer is the factual one."),
    ("B", "The second answer is correct."),
    ("B", "I would go with the second answer."),
    ("A", "I choose the first one."),
    ("A", "The former is more accurate."),
    ("B", "The latter is factually correct; the former is wrong."),
    ("B", "Neither A nor B; but if forced, B."),
    ("B", "Neither A nor B is fully correct, but if forced to choose, I'd say B."),
    ("A", "Neither is perfect. If I had to pick, A."),
    ("A", "Both are correct, but A is more accurate."),
    ("unparsed", "Neither answer is correct."),
    ("unparsed", "Both answers are correct."),
    ("abstained", "I cannot determine which answer is correct."),
    ("abstained", "I can't decide between A and B."),
    ("abstained", "It is impossible to say whether A or B is correct."),
    ("abstained", "I don't know which one is right."),
    ("B", "I'm not sure, but B seems more accurate."),
    ("A", "I cannot be certain, but I would choose A."),
    ("B", "It's hard to say. If I had to choose, B."),
    ("A", "Final verdict: A"),
    ("A", "Final Verdict: the first answer"),
    ("B", "Final Verdict: Answer 2"),
    ("B", "Option 2 is correct."),
    ("A", "Answer A is right and Answer B is wrong."),
    ("B", "Answer A is wrong."),
    ("A", "<A>"),
    ("A", "Final Verdict: <A>"),
    ("B", "Second."),
    ("A", "First answer"),
    ("A", "The first response is accurate, while the second contains an error."),
    ("B", "The first answer contains an error, the second does not."),
    ("B", "The second one."),
    ("abstained", "I cannot provide a final verdict."),
    ("abstained", "Both answers contain claims I cannot verify, so I cannot choose."),
]

TRUE_FALSE = [
    ("abstained", "I cannot determine whether the answer is correct."),
    ("abstained", "I can't tell if this is true or false."),
    ("abstained", "It is impossible to verify the answer."),
    ("abstained", "Final Verdict: Cannot be determined"),
    ("abstained", "Final Verdict: Undetermined"),
    ("abstained", "Final Verdict: Unable to determine"),
    ("abstained", "The accuracy of this answer cannot be verified."),
    ("abstained", "I am not able to judge this."),
    ("True", "I cannot be sure, but the answer is True."),
    ("False", "I can't verify every claim, but the answer is incorrect."),
    ("False", "While I cannot verify the numbers, the answer is false."),
    ("True", "I don't have enough information about the year, but overall the answer is correct."),
    ("False", "Final Verdict: False\n\nThe overall answer is factually correct, but one term is not."),
    ("False", "Final Verdict: False. My answer is correct because the year is wrong."),
    ("True", "My answer: True"),
    ("False", "Overall answer: False"),
    ("False", "My answer is False."),
    ("False", "Final Verdict: 2/4 = False"),
    ("False", "Final Verdict: 3 out of 4 claims correct = False"),
    ("False", "<False>"),
    ("True", "<True>"),
    ("True", "Final Verdict: <True>"),
    ("False", "<answer>False</answer>"),
    ("False", "<b>False</b>"),
    ("False", "Final Verdict:\n\nAfter analysing the answer, I conclude that the statement is **False**."),
    ("True", "Final Verdict: After analyzing each claim, I conclude that the answer is True."),
    ("False", "Having checked the facts, I find the answer false."),
    ("False", "Based on my analysis, I conclude that the answer is false."),
    ("unparsed", "The answer makes no factual claims."),
    ("unparsed", "The answer makes no factual claims; it only asks a question."),
    ("True", "The answer is correct. It makes no factual claims that are wrong."),
    ("unparsed", "Here is an analysis of the answer's factual accuracy:\n\n1. The sky is blue."),
    ("unparsed", "Let me check whether the answer is correct:\n\n1. The sky is blue."),
    ("unparsed", "Here is what is correct in the answer:\n- The year"),
    ("False", "The answer contains the following inaccuracies:\n- The year"),
    ("True", "The answer is correct for the following reasons:\n- The year"),
    ("False", "The answer is incorrect for these reasons:\n- the year"),
    ("True", "The answer is:\nTrue"),
    ("False", "My verdict is:\n\nFalse"),
    ("False", "The answer incorrectly states that cells have no membrane."),
    ("True", "The answer is factually correct."),
    ("False", "The answer is not factually correct."),
    ("False", "There are several inaccuracies in the answer."),
    ("True", "There are no inaccuracies in the answer."),
    ("True", "I found no errors."),
    ("abstained", "I'm sorry, but I can't help with that."),
    ("abstained", "I can't provide a final verdict."),
    ("False", "Final verdict: Not true"),
    ("False", "Verdict - False"),
    ("True", "✅ True"),
    ("False", "It is false that cells have no membrane, so the answer is False."),
    ("abstained", "I don't know."),
    ("abstained", "Whether the answer is correct is unclear."),
    ("abstained", "Final Verdict: Uncertain"),
    ("abstained", "Final Verdict: I don't know"),
]

FACTCHD = [
    ("NON-FACTUAL", "The answer is NON-FACTUAL; it would be FACTUAL if it said 1941."),
    ("NON-FACTUAL", "The answer is NON-FACTUAL. It would have been FACTUAL had it said 1941."),
    ("NON-FACTUAL", "NON-FACTUAL. To be FACTUAL, the answer would have to say 1941."),
    ("NON-FACTUAL", "This is NON-FACTUAL. A FACTUAL answer would name Puccini."),
    ("NON-FACTUAL", "The response is non-factual. If it had said 1783, it would be factual."),
    ("NON-FACTUAL", "I'd label this NON-FACTUAL, although the first sentence is factual."),
    ("NON-FACTUAL", "The answer is NON-FACTUAL because the date is wrong; everything else is factual."),
    ("NON-FACTUAL", "It's NON-FACTUAL even though part of it is FACTUAL."),
    ("FACTUAL", "The answer is FACTUAL. It would be NON-FACTUAL if it claimed 1956."),
    ("FACTUAL", "The answer is FACTUAL. Some might consider it NON-FACTUAL because of the title."),
    ("FACTUAL", "The answer is factual; calling it non-factual would be wrong."),
    ("FACTUAL", "The answer is FACTUAL and not NON-FACTUAL."),
    ("FACTUAL", "The answer is FACTUAL, as there is no non-factual information in it."),
    ("FACTUAL", "The answer is factual. Nothing in it is non-factual."),
    ("FACTUAL", "I'd say FACTUAL rather than NON-FACTUAL."),
    ("NON-FACTUAL", "Non Factual - the species is not native to Europe."),
    ("FACTUAL", "Factual — x is right."),
    ("FACTUAL", "Factual - the player won three times."),
    ("NON-FACTUAL", "Non-Factual – he was born in 1950"),
    ("NON-FACTUAL", "non factual: wrong year"),
    ("FACTUAL", "Factual, since he did win."),
    ("FACTUAL", "Factual because the claim matches."),
    ("NON-FACTUAL", "The answer is incorrect. Mount Rushmore was finished in 1941."),
    ("NON-FACTUAL", "The answer contains a factual error. The treaty was signed in 1494."),
    ("NON-FACTUAL", "Factually, the answer is wrong: the bridge opened in 1937."),
    ("NON-FACTUAL", "Factually incorrect. The bridge opened in 1937."),
    ("FACTUAL", "Factually correct. The bridge opened in 1937."),
    ("FACTUAL", "The answer is correct."),
    ("FACTUAL", "The answer is accurate; the bridge opened in 1937."),
    ("FACTUAL", "This is true. Insulin is made in the pancreas."),
    ("NON-FACTUAL", "This is false. Insulin is made in the pancreas."),
    ("NON-FACTUAL", "False. Insulin is made in the pancreas."),
    ("FACTUAL", "True. Insulin is made in the pancreas."),
    ("FACTUAL", "Yes, the answer is right."),
    ("NON-FACTUAL", "No, the answer is wrong."),
    ("NON-FACTUAL", "The claim is not supported by the evidence."),
    ("FACTUAL", "The claim is supported by the evidence."),
    ("NON-FACTUAL", "The claim is inaccurate because the year is wrong."),
    ("NON-FACTUAL", "There is a factual error in the answer: the year."),
    ("NON-FACTUAL", "The answer has an error in the date."),
    ("NON-FACTUAL", "The answer contains false information."),
    ("NON-FACTUAL", "The answer contains incorrect information about the treaty."),
    ("FACTUAL", "There are no factual errors in the answer."),
    ("FACTUAL", "The answer contains no errors."),
    ("FACTUAL", "I found no factual errors in this answer."),
    ("abstained", "I cannot determine whether the answer is factual."),
    ("abstained", "I can't tell whether this is FACTUAL or NON-FACTUAL."),
    ("abstained", "It is impossible to say if the answer is factual or non-factual."),
    ("abstained", "I do not know."),
    ("abstained", "There is not enough information to label this FACTUAL or NON-FACTUAL."),
    ("abstained", "I am not sure whether the answer is factual."),
    ("NON-FACTUAL", "I cannot be sure, but the answer is NON-FACTUAL."),
    ("FACTUAL", "I'm not certain, but I believe it is FACTUAL."),
    ("NON-FACTUAL", "I cannot verify every detail, but the date is wrong, so NON-FACTUAL."),
    ("unparsed", "FACTUAL or NON-FACTUAL?"),
    ("unparsed", "The treaty was signed in 1783."),
    ("NON-FACTUAL", "At first I thought FACTUAL, but it is NON-FACTUAL."),
    ("NON-FACTUAL", "The answer appears FACTUAL at first, but the date is wrong. NON-FACTUAL."),
    ("FACTUAL", "It may seem NON-FACTUAL, but every statement checks out, so it is FACTUAL."),
    ("NON-FACTUAL", "Verdict: NON-FACTUAL. A factual version would say 1941."),
    ("NON-FACTUAL", "The answer is NON-FACTUAL. The factual part is the name, but the date is wrong."),
    ("NON-FACTUAL", "NON-FACTUAL\n\nThe statement is factual in its first half only."),
    ("NON-FACTUAL", "NON-FACTUAL\n\nThe first claim is FACTUAL. The second claim is wrong."),
    ("NON-FACTUAL", "The answer isn't factual."),
    ("NON-FACTUAL", "The answer cannot be considered factual."),
    ("NON-FACTUAL", "I would not call this factual."),
    ("NON-FACTUAL", "The answer is wrong. It would be FACTUAL if it said 1941."),
    ("NON-FACTUAL", "Label: NON-FACTUAL\nReason: for it to be FACTUAL, the year must be 1941."),
    ("FACTUAL", "The statement is FACTUAL: it is a fact that Paris is the capital."),
    ("NON-FACTUAL", "Not factual."),
    ("NON-FACTUAL", "That is not correct. The war ended in 1945."),
    ("NON-FACTUAL", "Incorrect. The war ended in 1945."),
    ("FACTUAL", "Correct. The war ended in 1945."),
    ("NON-FACTUAL", "The answer provided is untrue."),
    ("NON-FACTUAL", "The answer is misleading; the war ended in 1945."),
    ("NON-FACTUAL", "The answer is partially correct, but the year is wrong."),
    ("NON-FACTUAL", "The answer states that the war ended in 1944, which is incorrect."),
    ("NON-FACTUAL", "The answer incorrectly states that the war ended in 1944."),
    ("FACTUAL", "The answer correctly states that the war ended in 1945. It is accurate."),
    ("NON-FACTUAL", "My label is NON-FACTUAL; had the year been 1941 I would have said FACTUAL."),
    ("NON-FACTUAL", "NON-FACTUAL (not FACTUAL)"),
    ("FACTUAL", "**Label:** FACTUAL"),
    ("NON-FACTUAL", "The answer is <NON-FACTUAL>"),
    ("NON-FACTUAL", "<NON-FACTUAL>"),
    ("NON-FACTUAL", "It is NON-FACTUAL, whereas the FACTUAL answer is 1941."),
    ("NON-FACTUAL", "The answer is NON-FACTUAL. Had it named Borglum's son, then it would be considered FACTUAL."),
    (
        "NON-FACTUAL",
        "I conclude that the answer is NON-FACTUAL. The correct, FACTUAL claim is that it was finished in 1941.",
    ),
    ("FACTUAL", "I conclude that the answer is FACTUAL. A NON-FACTUAL answer might have said 1956."),
]


def said(answer: Answer[str]) -> str:
    """The value, or what became of the reply."""
    return answer.value or answer.outcome


@pytest.mark.parametrize(("expected", "reply"), CHOICE)
def test_choice(expected: str, reply: str) -> None:
    assert said(choice(reply)) == expected


@pytest.mark.parametrize(("expected", "reply"), TRUE_FALSE_ZH)
def test_true_false_zh(expected: str, reply: str) -> None:
    assert said(true_false_zh(reply)) == expected


@pytest.mark.parametrize(("expected", "reply"), PICK)
def test_pick(expected: str, reply: str) -> None:
    assert said(pick(reply)) == expected


@pytest.mark.parametrize(("expected", "reply"), TRUE_FALSE)
def test_true_false(expected: str, reply: str) -> None:
    assert said(true_false(reply)) == expected


@pytest.mark.parametrize(("expected", "reply"), FACTCHD)
def test_factchd(expected: str, reply: str) -> None:
    assert said(factchd.read(reply)[0]) == expected


ITEM = "Question: Why is the sky blue?\nAnswer: It is blue because of the sea."
NEXT = "Question: Why is grass green?\nAnswer: Paint.\nFinal Verdict: True"


@pytest.mark.parametrize(
    ("expected", "reply"),
    [
        ("False", f"Final Verdict: False\n\n{NEXT}"),
        ("False", f"False\n\n{NEXT}"),
        (
            "False",
            f"Here is my analysis of the answer's accuracy:\n\n1. Read:\n{ITEM}\n\n2. Wrong.\n\nFinal Verdict: False",
        ),
        ("False", f"1. Read the question:\n{ITEM}\n\nFinal Verdict: False\n\n{NEXT}"),
        ("False", f"Each claim is correct.\n\n{ITEM}\n\nTherefore, the answer is False."),
        ("abstained", f"I cannot determine whether the answer is correct.\n\n{NEXT}"),
    ],
)
def test_a_reply_is_cut_at_a_question_only_behind_its_answer(expected: str, reply: str) -> None:
    assert said(task_named("refact_judgment_independent").label(reply)) == expected


@pytest.mark.parametrize("task", ["refact_judgment_independent", "factchd", "cfaith_choice", "cfaith_tf"])
def test_the_second_set_of_labels(task: str, shared_data: Path) -> None:
    path = shared_data / "answer_labels_2" / f"{task}.jsonl"
    if not path.is_file():
        pytest.skip("no labelled replies here")
    sure = [row for row in map(json.loads, path.read_text(encoding="utf-8").splitlines()) if row["sure"]]
    read = [task_named(task).label(row["reply"]).value or "none" for row in sure]
    assert sum(value == row["label"] for value, row in zip(read, sure, strict=True)) >= 0.97 * len(sure)
