"""The page as people use it: sorted, filtered, by keyboard, on a phone, in the dark, on paper, without scripts."""

import itertools
import time
from collections.abc import Callable
from typing import Any

import pytest
from report_model import altered, changed, from_json, model, model_json

pytestmark = pytest.mark.browser


def sideways(page: Any) -> int:
    """How far the page's body scrolls sideways."""
    return int(page.evaluate("document.documentElement.scrollWidth - window.innerWidth"))


def until(holds: Callable[[], bool]) -> None:
    """Waits for what the page does a moment later; its policy lets no waiting script in."""
    end = time.monotonic() + 5
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.05)


def column_of(page: Any, number: int) -> list[float | None]:
    """Figures of the entries in a column of the leaderboard, from above."""
    values = page.eval_on_selector_all(
        f"#leaderboard .board tr.entry td:nth-child({number})", "cells => cells.map(cell => cell.dataset.v)"
    )
    return [float(value) if value else None for value in values]


def test_sorts_by_a_column_best_first_and_back(opened: Any) -> None:
    report = model(5, 4)
    # of a rate, of which less is better, one entry has no figure
    changed(report, lambda column, entry, own: None if (entry.id, column.id) == ("e1", "c3") else own)
    found = opened(report)
    page = found.page
    for number, first, reverse in ((2, "descending", True), (5, "ascending", False)):
        head = page.locator("#leaderboard thead th").nth(number)
        button = head.locator("button")
        assert head.get_attribute("aria-sort") is None
        for direction, turned in ((first, reverse), ("ascending" if reverse else "descending", not reverse)):
            button.press("Enter")
            values = column_of(page, number + 1)
            figures = [value for value in values if value is not None]
            assert figures == sorted(figures, reverse=turned) and values[: len(figures)] == figures
            assert head.get_attribute("aria-sort") == direction
            assert direction in page.locator("#said").text_content()
        assert page.locator("#leaderboard [aria-sort]").count() == 1
    found.quiet()


def test_replies_without_an_answer_are_named_where_they_are_more_than_one_in_a_hundred(opened: Any) -> None:
    report = model(3, 4)
    many = {"unparsed": 30, "abstained": 20, "empty": 21, "judge_failed": 400}
    first = report.results[0]
    page = opened(changed(report, lambda _, __, own: altered(own, **many) if own is first else own)).page
    entry = report.entries[0].label
    row = page.locator("#leaderboard tr.entry", has=page.get_by_text(entry, exact=True))
    # 20 of 2,002 are less than 1%
    shares = row.locator("td:nth-child(3) .some")
    assert shares.all_inner_texts() == ["1.5% unparsed", "1.0% empty", "20% not judged"]
    # the task is one of two in the mean, where all tasks count the same
    assert row.locator("td.mean .some").all_inner_texts() == ["10.0% not judged"]
    assert page.locator("#leaderboard .board .some").count() == 4


@pytest.mark.parametrize(("entries", "columns"), [(3, 5), (10, 8)])
def test_the_leaderboard_fits_a_desk(opened: Any, entries: int, columns: int) -> None:
    page = opened(model(entries, columns, items=0)).page
    assert sideways(page) <= 0
    region = page.locator("#leaderboard .scroll").first
    assert region.evaluate("e => e.scrollWidth <= e.clientWidth")
    # nor is a figure or a name cut off, or over the next one
    wide = "cells => cells.filter(e => e.scrollWidth > e.clientWidth + 1).map(e => e.textContent)"
    assert page.eval_on_selector_all("#leaderboard .board th, #leaderboard .board td", wide) == []


def test_a_longer_bar_is_better_in_every_column(opened: Any) -> None:
    page = opened(model(5, 7)).page
    for number in range(2, 10):
        figures = column_of(page, number)
        bars = page.eval_on_selector_all(
            f"#leaderboard .board tr.entry td:nth-child({number}) .bar",
            "bars => bars.map(bar => parseFloat(bar.style.getPropertyValue('--v')))",
        )
        up = "higher" in page.locator("#leaderboard thead th").nth(number - 1).text_content()
        pairs = sorted(zip(figures, bars, strict=True), reverse=up)
        assert [bar for _, bar in pairs] == sorted(bars, reverse=True)


def test_notes_stand_once_and_a_corrected_mean_shows_what_its_rank_is_of(opened: Any) -> None:
    report = model(3, 4)
    for column in report.columns:
        column.notes = ["the judge was not checked"]
    (mean,) = report.means
    means = [*mean.figures.values()]
    mean.figures = {
        entry: one._replace(corrected=one.figure._replace(value=one.figure.value - 0.1))
        for entry, one in mean.figures.items()
    }
    page = opened(report).page
    (note,) = page.locator("#leaderboard p.note").all_inner_texts()
    assert note.endswith("cfaith_gen: the judge was not checked.") and note.startswith("refact_judgment_comparative, ")
    cell = page.locator("#leaderboard tr.entry td.mean").first.inner_text()
    best = max(mean.figure.value for mean in means)
    assert f"{best:.3f}" in cell and f"{best - 0.1:.3f}" in cell and "rank 1 by corrected figures" in cell


def test_floors_are_shown_and_published_figures_are_switched(opened: Any) -> None:
    page = opened(model(3, 4)).page
    assert page.locator("#leaderboard tr.floor").first.is_visible()
    row = page.locator("#leaderboard tr.published").first
    assert not row.is_visible()
    page.locator("#show-published").check()
    assert row.is_visible()
    # below one's own
    last = page.locator("#leaderboard tr.entry").last.bounding_box()
    assert row.bounding_box()["y"] > last["y"]


@pytest.mark.parametrize(("width", "wide"), [(1280, 3), (390, 1)])
def test_the_first_screen_has_the_answer_and_a_picture_of_all_figures(opened: Any, width: int, wide: int) -> None:
    report = model(2, 8)
    page = opened(report, width=width, color_scheme="dark" if wide == 1 else "light").page
    assert page.locator("#answer").inner_text().startswith("gemma-3-27b-it leads on the mean of refact and ")
    panels = page.locator("#picture .panel")
    # eight tasks and a mean, of which the first is seen without scrolling
    assert panels.count() == 9
    box = panels.first.bounding_box()
    assert box["y"] + box["height"] < 900
    tops = [panel.bounding_box()["y"] for panel in panels.all()[:3]]
    assert len({*tops}) == 4 - wide
    heads = page.locator("#picture .benchmark h3").all_inner_texts()
    assert heads == ["refact", "halueval", "cfaith", "halluverse25", "fave"]
    # every figure is where its axis has it
    columns = {column.id: column for column in report.columns}
    for panel in panels.all()[1:]:
        link = panel.locator("h4 a").get_attribute("href")
        column = columns[link.removeprefix("#why-")]
        rows = panel.locator(".strips").first.locator("li")
        for entry, result in column.results.items():
            row = rows.filter(has=page.get_by_text(entry.label, exact=True))
            figure = result.metrics[column.metric]
            assert row.locator(".value").inner_text().startswith(f"{figure.value:.3f}")
            strip, dot = row.locator("svg.strip").bounding_box(), row.locator("svg.model circle").bounding_box()
            share = (dot["x"] + dot["width"] / 2 - strip["x"]) / strip["width"]
            if column.range[1] is not None:
                assert share == pytest.approx(figure.value if column.higher_is_better else 1 - figure.value, abs=0.01)


def test_people_are_drawn_beside_models_on_the_same_gold(opened: Any) -> None:
    page = opened(model(2, 3)).page
    (panel,) = (one for one in page.locator("#picture .panel").all() if one.locator("svg.people").count())
    names = panel.locator(".strips").nth(1).locator("li .who").all_inner_texts()
    assert names == ["people", "gemma-3-27b-it", "Qwen/Qwen3-8B", "guessing"]


def test_the_names_of_curves_do_not_overlap_and_are_read_on_a_phone(opened: Any) -> None:
    report = model(6, 3)
    for column in report.columns:
        curves = [curve | {"points": [[0.1, 0.1], [0.9, 0.3]]} for curve in column.details["risk"]]
        column.details = {**column.details, "risk": curves}
    found = opened(report, width=390)
    found.all_open()
    plot = found.page.locator(".plot").first
    boxes = [name.bounding_box() for name in plot.locator(".names b").all()]
    assert len(boxes) == 6 and len({box["y"] for box in boxes}) == 6
    tops = sorted(box["y"] for box in boxes)
    assert all(low - high >= boxes[0]["height"] * 0.8 for high, low in itertools.pairwise(tops))
    assert plot.locator(".x span").first.evaluate("e => parseFloat(getComputedStyle(e).fontSize)") >= 11


def test_two_models_are_chosen(opened: Any) -> None:
    page = opened(model(4, 4)).page
    assert page.locator(".pair:visible").count() == 1
    page.select_option("#first", "e3")
    page.select_option("#second", "e1")
    assert page.locator(".pair:visible").get_attribute("id") == "pair-e1-e3"
    # four tasks, one apart from them, and the mean of a group
    assert page.locator(".pair:visible tbody tr").count() == 6
    page.select_option("#second", "e3")
    assert page.locator("#no-pair").is_visible()
    page.locator(".wins tbody tr").nth(0).locator("td a").nth(1).click()
    assert page.locator(".pair:visible").get_attribute("id") == "pair-e0-e2"


def test_items_are_filtered_paged_and_opened(opened: Any) -> None:
    found = opened(model(3, 4, items=6))
    page = found.page
    shown = page.locator(".item:visible")
    assert shown.count() == 10
    assert page.locator("#f-count").inner_text() == "Items 1 to 10 of 30"
    page.locator("#next").click()
    assert page.locator("#f-count").inner_text() == "Items 11 to 20 of 30"
    page.select_option("#f-column", "c1")
    assert shown.count() == 6
    page.select_option("#f-entry", "e0")
    page.locator("#f-wrong").check()
    assert shown.count() == 4
    first = shown.first
    assert first.locator("summary .what").inner_text().startswith("What is item ")
    assert not first.locator(".id").is_visible()
    first.locator("summary").click()
    assert "/original" in first.locator(".id").inner_text()
    assert first.locator(".reply:visible").count() == 1
    assert first.locator(".verdict:visible").inner_text() == "wrong"
    assert first.locator("mark.gold").first.is_visible()
    page.locator("#f-text").fill("what is ITEM 4?")
    until(lambda: shown.count() == 1)
    page.locator("#f-text").fill("nowhere at all")
    until(lambda: shown.count() == 0)
    assert page.locator("#f-count").inner_text() == "No items match these filters."
    found.quiet()


def test_marks_in_a_right_to_left_text_keep_its_order(opened: Any) -> None:
    page = opened(model(3, 4)).page
    page.select_option("#f-column", "c1")
    item = page.locator(".item:visible").nth(1)
    item.locator("summary").click()
    text = item.locator(".reply .text > div").first
    assert text.evaluate("e => getComputedStyle(e).direction") == "rtl"
    # in one line the first mark lies to the right of the last one
    text.evaluate("e => { e.style.whiteSpace = 'pre'; }")
    boxes = [mark.bounding_box() for mark in text.locator("mark").all()]
    assert boxes[0]["x"] > boxes[-1]["x"]
    assert "missed" in text.text_content() or "found" in text.text_content()


def test_dark_by_the_system_and_by_the_button(opened: Any) -> None:
    def colours(page: Any) -> list[str]:
        return list(
            page.evaluate(
                """["html", "h2"].map(e => getComputedStyle(document.querySelector(e)))
                .flatMap(style => [style.backgroundColor, style.color])"""
            )
        )

    page = opened(model(2, 2)).page
    light = colours(page)
    assert light[0] == "rgb(255, 255, 255)"
    page.emulate_media(color_scheme="dark")
    dark = colours(page)
    assert light[0] != dark[0]
    assert light[-1] != dark[-1]
    page.locator("#theme").click()
    assert colours(page) == light
    page.emulate_media(color_scheme="light")
    assert colours(page) == light
    page.locator("#theme").click()
    assert colours(page) == dark


def test_nothing_scrolls_sideways_at_400_pixels_but_the_tables_do_by_keyboard(opened: Any) -> None:
    found = opened(model(6, 8, items=1), width=400)
    found.all_open()
    page = found.page
    assert sideways(page) <= 0
    region = page.locator("#leaderboard .scroll").first
    region.focus()
    assert region.evaluate("e => e === document.activeElement && e.scrollWidth > e.clientWidth")
    for _ in range(8):
        page.keyboard.press("ArrowRight")
    until(lambda: region.evaluate("e => e.scrollLeft") > 50)
    # the table says so, and one that fits does not
    assert "scroll it sideways" in page.locator("#leaderboard .swipe:visible").first.inner_text()
    for hint, table in zip(page.locator(".swipe").all(), page.locator(".scroll").all(), strict=True):
        assert hint.is_visible() == table.evaluate("e => e.scrollWidth > e.clientWidth + 1")
    # the model's name stays in sight
    assert region.locator("tr.entry th").first.bounding_box()["x"] < 40
    for region in page.locator(".scroll").all():
        assert region.get_attribute("tabindex") == "0"
        assert region.get_attribute("aria-label")


def test_the_keyboard_reaches_everything(opened: Any) -> None:
    page = opened(model(2, 2)).page
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    reached = set()
    for _ in range(70):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("(e => e.id || e.className || e.tagName)(document.activeElement)"))
    assert {"theme", "show-published", "sort", "first", "f-text"} <= reached


def test_on_paper_no_table_is_wider_than_the_sheet(opened: Any) -> None:
    page = opened(model(3, 4, items=0)).page
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 1032, "height": 700})
    assert sideways(page) <= 0
    widths = page.eval_on_selector_all("#leaderboard table", "tables => tables.map(table => table.offsetWidth)")
    assert max(widths) <= 1032


def test_all_of_it_is_there_without_scripts(opened: Any) -> None:
    report = model(3, 4)
    found = opened(report, java_script_enabled=False)
    page = found.page
    assert page.locator(".pair:visible").count() == 3
    assert page.locator(".item:visible").count() == 5 * 4
    assert page.locator("#theme").is_hidden()
    page.locator("#show-published").check()
    assert page.locator("#leaderboard tr.published").first.is_visible()
    page.locator(".item summary").first.click()
    assert page.locator(".item .reply").first.is_visible()


def test_an_empty_report_is_a_page(opened: Any) -> None:
    parts = {name: [] for name, value in model_json(1, 1).items() if isinstance(value, list)}
    told = {"title": "Nothing", "created": "", "package": "halu-tasks", "table": "items.parquet", "margin": None}
    found = opened(from_json(parts | told))
    assert "no result" in found.page.locator("main").inner_text()
    found.quiet()


def test_tasks_and_models_are_chosen_by_words_in_their_names(opened: Any) -> None:
    found = opened(model(5, 8))
    page = found.page
    heads, rows = page.locator("#leaderboard thead th:visible"), page.locator("#leaderboard tr.entry:visible")
    assert heads.count() == 1 + 1 + 8 and rows.count() == 5
    page.fill("#b-tasks", "halueval correction")
    assert [text.split("\n")[0] for text in heads.all_inner_texts()][1:] == [
        "halueval_summarization",
        "refact_correction",
    ]
    page.fill("#b-models", "GEMMA")
    assert rows.count() == 1 and rows.locator("td:visible").count() == 2
    page.fill("#b-tasks", "")
    page.fill("#b-models", "")
    assert heads.count() == 10 and rows.count() == 5
    found.quiet()


def test_of_many_models_the_leading_ones_are_shown_in_detail(opened: Any) -> None:
    report = model(30, 8, items=3)
    page = opened(report).page
    assert page.locator("#leaderboard tr.entry").count() == 30 and page.locator("#first option").count() == 14
    page.select_option("#first", page.locator("#first option").last.get_attribute("value"))
    assert page.locator(".pair:visible tbody tr").count() == 10
    assert page.get_by_text("What follows is of the 14 leading models").is_visible()
