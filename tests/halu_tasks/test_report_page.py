"""The report's page as text: what is escaped and shown, how marks are cut, that it stays small and the same."""

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import pytest
from cases import CASES
from report_model import altered, changed, from_json, model, model_json

from halu_tasks.report.details import text_limit, titles
from halu_tasks.report.page import as_json, in_detail, markdown, ranked, render, verdict
from halu_tasks.report.picture import picture
from halu_tasks.report.report_records import Column, Floor, MeanFigure, Report, Result
from halu_tasks.report.summary import summary
from halu_tasks.report.text import block, characters, count, marked, name, number, plain, rank, segments
from halu_tasks.results.comparability import Entry, labelled, short_names
from halu_tasks.scorers.metrics import Estimate
from halu_tasks.text.number_format import escaped


def test_a_text_is_escaped_before_pictures_are_put_in() -> None:
    shown = '&lt;b&gt;<span class="ctl">␀␁</span>&amp;<span class="ctl">⟨RLO⟩</span>'
    assert characters("<b>\x00\x01&\u202e") == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\nb\tc", "a␊b␉c"),
        ("\x7f\x85", "␡⟨U+0085⟩"),
        ("\ud800", "⟨U+D800⟩"),
        ("\u200e\u200f\u200dx", "\u200e\u200f\u200dx"),
        ("e" + "\u0301" * 99, "e" + "\u0301" * 6),
        (["a", 1], '["a", 1]'),
    ],
)
def test_one_line_of_characters_that_can_be_seen(text: object, shown: str) -> None:
    assert plain(text) == shown


def test_a_long_text_says_how_much_is_left_out() -> None:
    assert "… 1,510 more characters in items.parquet" in block("x" * 500, "items.parquet", left=1510)
    assert "more characters" not in block("x" * 500, "items.parquet")
    assert str(name("y" * 200)).count("y") == 80


@pytest.mark.parametrize(("gold", "predicted", "cut"), CASES["a_text_is_cut_at_every_border"])
def test_a_text_is_cut_at_every_border(gold: list[list[int]], predicted: list[list[int]], cut: list[list[int]]) -> None:
    assert [list(segment) for segment in segments("0123456789", gold, predicted)] == cut


def test_marks_count_code_points_and_are_told_in_words() -> None:
    drawn = str(marked("😀ab<c", [[1, 3]], [[2, 5]]))
    assert re.sub("<span[^>]*>.*?</span>", "", drawn) == (
        '<div class="text"><div dir="auto">😀<mark class="gold">a</mark><mark class="both">b</mark>'
        '<mark class="predicted">&lt;c</mark></div></div>'
    )
    assert " [missed: " in drawn


def test_numbers() -> None:
    assert [number(x) for x in (0.5, -0.25, 12.345, None, float("nan"), -0.0001)] == [
        *("0.500", "−0.250", "12.3", "–", "–", "0.000")
    ]
    assert [number(x, True) for x in (0.5, -0.5, 0.0)] == ["+0.500", "−0.500", "0.000"]
    assert [rank(span) for span in ((1, 3), (2, 2))] == ["1–3", "2"]
    assert count(16713) == "16,713"


UP, DOWN, MANY = (True, (0.0, 1.0)), (False, (0.0, 1.0)), (False, (0.0, None))


@pytest.mark.parametrize(
    ("measure", "reply", "shown"),
    [
        (UP, {"value": 1.0, "answer": "A"}, ("right", "right")),
        (DOWN, {"value": 1.0, "answer": "A"}, ("wrong", "wrong")),
        (UP, {"value": 0.25, "answer": ["x"]}, ("partly", "0.25")),
        (UP, {"value": 0.0, "answer": None, "outcome": "?"}, ("wrong unread", "unparsed")),
        (UP, {"value": 0.0, "answer": None, "outcome": "abstained"}, ("wrong unread", "abstained")),
        # a reply that says that nothing is wrong is an answer
        (UP, {"value": 1.0, "answer": []}, ("right", "right")),
        (UP, {"value": None, "answer": "A"}, ("unread", "no verdict")),
        (MANY, {"value": 3.0, "answer": "A"}, ("wrong", "3")),
    ],
)
def test_what_a_reply_is_worth(measure: Any, reply: dict[str, Any], shown: tuple[str, str]) -> None:
    column = replace(model(1, 1).columns[0], higher_is_better=measure[0], range=measure[1])
    assert verdict(column, {"outcome": "answered"} | reply) == shown


def test_labels_are_short_and_stay_distinct() -> None:
    assert short_names(["openai/gpt-4o", "openai/gpt-4o-mini"]) == {
        "openai/gpt-4o": "gpt-4o",
        "openai/gpt-4o-mini": "gpt-4o-mini",
    }
    assert set(short_names(["a/b", "b"]).values()) == {"a/b", "b"}
    entry = Entry("hf/m", "plain prompt", {"chat_template": "ab" * 32}, {})
    labels = [one.label for one in labelled([entry, replace(entry, settings={})])]
    assert labels == ["m (chat_template=abababab)", "m"]


def test_items_are_titled_by_the_line_in_which_their_prompts_differ() -> None:
    asked = {str(i): f"Task:\nWhy {i}?\nAnswer: because" for i in range(3)}
    assert titles(asked) == {"0": "Why 0?", "1": "Why 1?", "2": "Why 2?"}
    assert titles({"1": "", "2": ""}) == {"1": "", "2": ""}
    assert len(titles({"1": "a" * 999, "2": "b"})["1"]) == 140


def test_a_summary_claims_a_lead_only_of_a_model_that_is_better_than_all_others() -> None:
    undecided = quiet(model(4, 3, apart=False), floors=False)
    for place in undecided.places:
        place.ranks = dict.fromkeys(place.entries, (1, 4))
    first, second, plan = summary(undecided)
    # some differences between two of the four are decided, but none makes a model the best
    assert first == "No model leads on any of 3 tasks."
    open_on = "the mean of refact and all 3 tasks (any of 4 models)"
    assert second == f"These items do not show which model leads on {open_on}."
    assert plan.endswith("halu-tasks plan RESULT OTHER_RESULT --difference 0.05 --models 4 --tasks 3")
    first, *_ = summary(replace(undecided, pairs=[replace(pair, better=None) for pair in undecided.pairs]))
    assert first == "Nothing is decided between 4 models on any of 3 tasks."


def quiet(report: Report, *, floors: bool = True, means: bool = True) -> Report:
    """The report without what would spoil a comparison."""
    changed(report, lambda column, entry, result: replace(result, superseded=[]))
    for column in report.columns:
        column.floors = column.floors if floors else []
    kept = report.means if means else []
    pairs = [pair for pair in report.pairs if pair.place in (*report.columns, *kept)]
    return replace(report, notes=[], skipped=[], means=kept, pairs=pairs)


@pytest.mark.parametrize(
    ("figures", "told"),
    [
        (((0.9, 0.8, 0.95), (0.9, 0.8, 0.95)), "{} is better than guessing on all 2 tasks."),
        (
            ((0.9, 0.8, 0.95), (0.13, 0.1, 0.2)),
            "{} is better than guessing on 1 of 2 tasks, and not shown to be on refact_localization_entity.",
        ),
        (((0.6, 0.4, 0.8), (0.13, 0.1, 0.2)), "{} is not shown to be better than guessing on any of 2 tasks."),
        (((0.5, 0.4, 0.6), (0.11, 0.1, 0.2)), "{} is no better than guessing on any of 2 tasks."),
    ],
)
def test_of_one_model_the_report_says_whether_it_is_better_than_guessing(figures: Any, told: str) -> None:
    # floors of 0.5 and 0.12
    report = quiet(model(1, 2, apart=False))
    report = with_figures(report, {("e0", f"c{i}"): figure for i, figure in enumerate(figures)})
    first, *others = summary(report)
    assert first == told.format(report.entries[0].label)
    assert not any("compared" in sentence or "leads" in sentence for sentence in (first, *others))
    assert re.sub("<[^>]*>", "", render(report)).count(first) == 1


def test_the_answer_names_the_two_things_that_spoil_the_comparison_most() -> None:
    report = with_ranks(quiet(model(2, 3, apart=False), floors=False, means=False), {})
    report = replace(report, pairs=[replace(pair, better=None) for pair in report.pairs])
    first, second = (entry.label for entry in report.entries)
    nothing = f"Nothing is decided between {first} and {second} on any of 3 tasks"
    assert summary(report)[0] == f"{nothing}."
    changed(report, lambda column, entry, own: own if entry.id != "e0" or column.id == "c1" else unread(own))
    for column in report.columns:
        column.data = "sample"
    report = replace(report, notes=["other settings"])
    sample = "these figures are of the packaged sample, not of the benchmark"
    assert summary(report)[0] == f"{nothing}; {sample}, and most replies of {first} on 2 tasks could not be read."
    told = re.sub(r"\s+", " ", re.sub("<[^>]*>", "", render(report)))
    # each in full, with the command that helps
    assert "What helps: halu-tasks data fetch" in told
    assert "halu-tasks run MODEL --tasks refact_judgment_comparative,halueval_summarization --structured" in told
    assert "other settings. What helps: halu-tasks run MODEL OTHER_MODEL --tasks refact_judgment_comparative," in told


def unread(result: Result) -> Result:
    """The result of replies that could not be read."""
    return altered(result, unparsed=2002)


def test_no_model_above_any_floor_is_part_of_the_answer() -> None:
    report = with_ranks(quiet(model(2, 2, apart=False), means=False), {})
    report = replace(report, pairs=[replace(pair, better=None) for pair in report.pairs])
    report = with_figures(report, {(entry, f"c{i}"): (0.1, 0.0, 0.12) for entry in ("e0", "e1") for i in range(2)})
    assert summary(report)[0].endswith(" on any of 2 tasks; no model is shown to be better than guessing on any.")


def with_figures(report: Report, figures: dict[tuple[str, str], tuple[float, float, float]]) -> Report:
    """The report with these headline figures, each with the ends of its interval, by the ids of entry and column."""

    def change(column: Column, entry: Entry, result: Result) -> Result | None:
        if (entry.id, column.id) not in figures:
            return None
        value, low, high = figures[entry.id, column.id]
        return replace(result, metrics={column.metric: Estimate(value, 0.1, low, high)})

    return changed(report, change)


def with_ranks(report: Report, leaders: dict[str, str]) -> Report:
    """The report with these leaders, by the ids of columns and groups; all other ranks are open."""
    last = len(report.entries)

    def rank(place: str, entry: str) -> tuple[int, int]:
        return (1, last) if place not in leaders else (1, 1) if leaders[place] == entry else (2, last)

    for place in report.places:
        place.ranks = {entry: rank(place.id, entry.id) for entry in place.entries}
    return report


def sentences(report: Report, word: str) -> list[str]:
    """The sentences of the summary that contain a word."""
    return [sentence for sentence in summary(report) if word in sentence]


def test_a_summary_names_the_models_that_are_not_shown_to_be_better_than_uninformed_replies() -> None:
    # acc and iou, of which more is better, and hallucination_rate, of which less is
    report = with_ranks(model(2, 4, apart=False), {})
    columns = report.columns
    assert [column.metric for column in columns] == ["acc", "iou", "acc", "hallucination_rate"]
    first, second = (entry.label for entry in report.entries)
    figures = {(entry, f"c{i}"): (0.9, 0.8, 0.95) for entry in ("e0", "e1") for i in range(4)}
    figures |= {(entry, "c3"): (0.2, 0.1, 0.3) for entry in ("e0", "e1")}
    assert sentences(with_figures(report, figures), "floor") == []
    # an interval that includes the floor of 0.5, and one on its wrong side
    figures |= {("e0", "c0"): (0.6, 0.5, 0.7), ("e1", "c0"): (0.3, 0.2, 0.4), ("e1", "c3"): (0.6, 0.55, 0.7)}
    (told,) = sentences(with_figures(report, figures), "floor")
    both, one = f"every model on {columns[0].title} (floor 0.500)", f"{second} on {columns[3].title} (floor 0.500)"
    assert told.endswith(f" (the floor): {both}; {one}.")
    figures |= {("e0", "c3"): (0.5, 0.4, 0.6), ("e0", "c0"): (0.9, 0.8, 0.95), ("e1", "c0"): (0.9, 0.8, 0.95)}
    figures |= {("e0", "c1"): (0.2, 0.1, 0.3)}
    (told,) = sentences(with_figures(report, figures), "floor")
    one, both = f"{first} on {columns[1].title} (floor 0.120)", f"every model on {columns[3].title} (floor 0.500)"
    assert told.endswith(f" (the floor): {one}; {both}.")


def test_a_floor_that_no_model_can_exceed_is_left_out_of_the_summary() -> None:
    report = model(1, 2, apart=False)
    figures = {("e0", "c0"): (0.9, 0.8, 0.95), ("e0", "c1"): (0.9, 0.8, 0.95)}
    with_figures(report, figures)
    for value, told in ((1.0, 0), (0.99, 1)):
        for column in report.columns:
            column.floors = [
                floor._replace(value=value) if floor.name == "marking all" else floor for floor in column.floors
            ]
        found = sentences(report, "floor")
        assert len(found) == told and all(report.columns[1].title in sentence for sentence in found)


def test_a_summary_names_the_results_of_which_most_replies_could_not_be_read() -> None:
    report = model(2, 3, apart=False)
    assert sentences(report, "readable") == []
    first, second = (entry.label for entry in report.entries)
    unparsed = {("e0", "c0"): 2002, ("e0", "c2"): 1502, ("e1", "c0"): 1001, ("e1", "c1"): 1202}
    changed(report, lambda c, e, own: altered(own, unparsed=unparsed.get((e.id, c.id), 0), empty=0))
    a, b, c = (column.title for column in report.columns)
    assert sentences(report, "readable") == [
        f"Most replies contain no readable answer (unparsed or empty): {first} on {a} (100%); {first} on {c} (75%); "
        f"{second} on {b} (60%). These figures say little about what a model knows. Look at some replies, raise the "
        f"token limit if they are cut, or ask for JSON. What helps: halu-tasks run MODEL --tasks {a},{c},{b} "
        "--structured"
    ]


GOOD, BAD = (0.9, 0.8, 0.95), (0.4, 0.3, 0.45)


def compared(figures: dict[str, tuple[float, float, float]], unparsed: dict[tuple[str, str], int]) -> Report:
    """Two models on two tasks, the first of which is better on both, with its figures by column."""
    report = with_ranks(quiet(model(2, 2, apart=False), means=False), {"c0": "e0", "c1": "e0"})
    both = {("e0", column): figure for column, figure in figures.items()} | {("e1", c): BAD for c in ("c0", "c1")}
    changed(report, lambda c, e, own: altered(own, unparsed=unparsed.get((e.id, c.id), 0), empty=0))
    for column in report.columns:
        column.floors = [floor._replace(value=0.5) for floor in column.floors]
    return with_figures(report, both)


def test_a_lead_above_the_floor_is_called_one_first() -> None:
    first, second, *_ = summary(compared({"c0": GOOD, "c1": GOOD}, {}))
    assert first == "gemma-3-27b-it leads on all 2 tasks." and second.startswith("A lead is shown statistically")
    none, first, *others = summary(compared({"c0": LOW, "c1": LOW}, {}))
    told = "No model leads on any of 2 tasks; no model is shown to be better than guessing on any."
    assert none == told and first == f"The best figures on all 2 tasks{NOT_CALLED}"
    assert any("(the floor): every model on" in sentence for sentence in others)
    assert not any("statistically" in sentence for sentence in others)


LOW = (0.5, 0.45, 0.55)
NOT_CALLED = (
    " are not called a lead: they are not shown to be better than the floor, or most replies of the best model or of "
    "all others could not be read."
)


@pytest.mark.parametrize(
    ("figure", "unparsed", "reasons"),
    [
        (LOW, {}, {"no lead: not shown to be better than guessing"}),
        (GOOD, {("e1", "c1"): 1500}, {"no lead: most replies of the others unreadable", "75% unreadable"}),
        (GOOD, {("e0", "c1"): 1500}, {"no lead: 75% unreadable"}),
    ],
)
def test_a_model_leads_only_where_it_is_above_the_floor_and_its_and_other_replies_are_read(
    figure: tuple[float, float, float], unparsed: dict[tuple[str, str], int], reasons: set[str]
) -> None:
    report = compared({"c0": GOOD, "c1": figure}, unparsed)
    leads, _, not_called, *_ = summary(report)
    assert re.match(r"gemma-3-27b-it leads on refact_judgment_comparative(, but most .* on refact_loc.*)?\.$", leads)
    assert not_called == f"The best figures on refact_localization_entity{NOT_CALLED}"
    panels = [panel for benchmark in picture(report, report.entries) for panel in benchmark.panels]
    bold = {(panel.place.title, row.label) for panel in panels for row in panel.rows if row.leads}
    assert bold == {("refact_judgment_comparative", "gemma-3-27b-it")}
    assert {row.mark for panel in panels for row in panel.rows} - {""} == reasons


def test_the_lead_of_a_mean_must_exceed_the_mean_of_its_tasks_floors() -> None:
    report = model(2, 3, apart=False)
    (mean,) = report.means
    report = with_ranks(report, {mean.id: "e0"})
    values = (0.4, 0.8, 0.6)[: len(mean.columns)]
    for column in report.columns:
        column.floors = []
    for column, value in zip(mean.columns, values, strict=True):
        column.floors = [Floor("baseline", column.metric, value, True, None)]
    floor = sum(values) / len(values)
    for low, leads in ((floor + 0.01, True), (floor - 0.01, False)):
        figure = Estimate(0.9, 0.1, low, 0.95)
        mean.figures = {entry: MeanFigure(figure) for entry in mean.entries}
        first, *_ = summary(report)
        assert first.startswith("gemma-3-27b-it leads on the mean of") == leads, first


def test_a_mean_shows_the_share_of_replies_without_an_answer() -> None:
    report = model(2, 3, apart=False)
    (group,) = report.means
    counts = {
        "e0": {"unparsed": 0, "abstained": 0, "empty": 0, "failed": 0},
        "e1": {"unparsed": 2002, "abstained": 0, "empty": 0, "failed": 0},
    }
    changed(report, lambda column, entry, result: altered(result, **counts[entry.id]))
    assert [group.cell(entry).missing for entry in report.entries] == [{}, {"unparsed": 1.0}]
    line = next(row for row in markdown(report).splitlines() if row.startswith("| Qwen/Qwen3-8B | "))
    assert "100% unparsed" in line.split(" | ")[1]


def test_bins_of_a_calibration_stand_under_their_heads() -> None:
    report = model(2, 3, apart=False)
    page = render(report)
    table = page[page.index('aria-label="Calibration of') :].partition("</table>")[0]
    head, *rows = (re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL) for row in table.split("<tr>")[1:])
    # neither model has replies in all bins
    for record, row in zip(report.columns[2].details["calibration"], rows, strict=True):
        shown = {low[:3]: re.search(r"n (\d+)", cell)[1] for low, cell in zip(head[4:], row[4:], strict=True)}  # type: ignore[index]
        counts = {f"{bin['low']:.1f}": str(bin["n"]) for bin in record["bins"]}
        assert len(counts) == 8 and shown == dict.fromkeys(shown, "0") | counts


def test_a_column_of_one_entry_comes_after_those_that_entries_share_and_does_not_sort_the_rows() -> None:
    report = model(3, 3, apart=False)
    # only the first entry has the mean
    (mean,) = report.means
    mean.figures, mean.ranks = dict([*mean.figures.items()][:1]), {}
    places = report.heads(report.means, report.columns)
    assert [place.id for place in places] == ["c0", "c1", "c2", "g0"]
    best = sorted(report.columns[0].results.items(), key=lambda one: -one[1].metrics["acc"].value)
    labels = [entry.label for entry, _ in best]
    assert [entry.label for entry in ranked(report, places)] == labels
    board = render(report).partition('<table class="board"')[2].partition("</table>")[0]
    assert (board.count('<tr class="floor">'), board.count('<tr class="published">')) == (3, 2)
    text = markdown(report).partition("## Leaderboard")[2].splitlines()
    head, _, *lines = [line for line in text if line.startswith("|")]
    assert head.split(" | ")[1].startswith(escaped(report.columns[0].title))
    assert [line.split(" | ")[0].strip("| ") for line in lines[:3]] == [escaped(label) for label in labels]


def test_rows_are_sorted_by_the_figures_that_their_ranks_are_of() -> None:
    report = model(3, 3, apart=False)
    (group,) = report.means
    values = {"e0": (0.9, 0.1), "e1": (0.8, 0.2), "e2": (0.7, 0.3)}
    figures = {id: [Estimate(value, 0.1, value, value) for value in both] for id, both in values.items()}
    for corrected, order in ((1, ["e0", "e1", "e2"]), (2, ["e2", "e1", "e0"])):
        group.figures = {entry: MeanFigure(*figures[entry.id][:corrected]) for entry in report.entries}
        assert [entry.id for entry in ranked(report, [group])] == order


class Check(HTMLParser):
    """ReplyCounts elements, and holds what is left open."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.ids += [value or "" for key, value in attrs if key == "id"]
        if tag not in ("meta", "input", "wbr", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.ids += [value or "" for key, value in attrs if key == "id"]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_is_well_formed_the_same_each_time_and_loads_nothing() -> None:
    page = render(model(3, 5))
    assert page == render(model(3, 5))
    check = Check()
    check.feed(page)
    assert check.open == []
    assert len(check.ids) == len(set(check.ids))
    assert not re.search(r'\b(?:src|href)="(?!#)', page)
    assert "default-src 'none'" in page.replace("&#39;", "'")


@pytest.mark.parametrize("reply", [300, 6000])
@pytest.mark.slow
def test_ten_models_by_eight_tasks_stay_under_five_megabytes(reply: int) -> None:
    report = model_json(10, 8, items=20)
    for why in report["why"]:
        for item in why["items"]:
            for found in item["replies"]:
                found["reply"] = (found["reply"] * 20)[: min(reply, text_limit(9 * 20, 10))]
    assert len(render(from_json(report)).encode()) < 5_000_000


def test_the_json_of_a_report_has_the_values_that_it_was_made_of() -> None:
    values = model_json(2, 8, items=2)
    written = as_json(from_json(values))
    assert {"summary", "rule", "wins"} == written.keys() - values.keys()
    assert json.loads(json.dumps(written | values)) == json.loads(json.dumps(written))


def test_the_page_of_many_models_stays_readable() -> None:
    report = model(30, 12, items=3)
    part, page = in_detail(report), render(report)
    # all in the leaderboard and apart, and in detail those that lead
    assert len(page.encode()) < 2.5e6 and page.count('<tr class="entry">') == 2 * 30
    assert len(part.entries) == 12 and len(part.pairs) == 66 * 14 and len(page.split('<div class="pair"')) == 66 + 1
    leading = ranked(report, report.heads(report.top_means(main=True), report.columns))[:12]
    assert {entry.id for entry in part.entries} == {entry.id for entry in leading}
    text = markdown(report, detail=part)
    assert text.count("\n| halueval_summarization | acc |") == 66 and "Of 6,090 differences" in text
