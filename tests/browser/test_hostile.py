"""Outputs that would run, hide or break out: the page shows them as text, with the elements that it has anyway."""

from typing import Any

import pytest
from report_model import model, with_texts

pytestmark = pytest.mark.browser

HOSTILE = {
    "script": "<script>window.canary = 1; alert(1)</script>",
    "end of script": "</script><script>window.canary = 1</script>",
    "end of style": "</style><style>body { display: none }</style>",
    "end of title": "</title></head><body onload='window.canary = 1'>",
    "image": "<img src=x onerror='window.canary = 1'>",
    "quotes": "\" onmouseover=\"window.canary = 1\" autofocus onfocus='window.canary = 1' x='",
    "svg": "<svg onload='window.canary = 1'><script>window.canary = 1</script></svg>",
    "animated": "<svg><animate onbegin=window.canary=1 attributeName=x dur=1s></svg>",
    "math": "<math><mtext><table><mglyph><style><!--</style><img title='--&gt;&lt;img src=1 onerror=canary=1&gt;'>",
    "frame": "<iframe srcdoc='<script>parent.canary = 1</script>'></iframe><object data='data:text/html,x'></object>",
    "form": "<form action='https://example.org'><button formaction='javascript:canary=1'>x</button></form>",
    "base": "<base href='https://example.org/'><meta http-equiv=refresh content='0;url=https://example.org'>",
    "link": "javascript:window.canary=1",
    "markdown": "[x](javascript:canary=1) ![](https://example.org/x.png)",
    "templates": "{{7*7}} ${1} {% raw %} {# x #} <%= 7*7 %> #{7*7}",
    "comment": "<!-- --!> <!--> <!DOCTYPE html> -->",
    "cdata": "<![CDATA[ ]]> ]]> <?xml version='1.0'?>",
    "mathtext": r"$x$ $\frac{1}{2} $ \$ $\undefined{",
    "bidi": "\u202e\u202dabc\u2066def\u2067\u2068 txt.exe \u202a\u202b\u200f\u061c\u202c",
    "controls": "\x00\x01\x07\x08\x1b[31m\x7f\x80\x85\x9b\x9f\r\u2028\u2029\ufffe\uffff\U000e0041",
    "surrogates": "\ud800 \udfff \udc00\ud800 x",
    "towers": "Z" + "\u0300\u0301\u0302\u0310\u0315\u031a" * 60 + "a\u20dd" + "\u0336" * 40,
    "entities": "&lt;script&gt; &#60;b&#62; &amp;amp; &NewLine; &#0;",
    "lines": "a\n\n\tb\r\nc\v\f d",
    "wide": "W" * 5000,
    # longer than any string that a report shows whole
    "long line": "A<b>" * 4096,
    "right to left": "שלום <b>עולם</b> \u202e مرحبا",
}

TREE = """() => {
  for (const e of document.querySelectorAll('.ctl, .cut, wbr')) e.remove();
  return [...document.querySelectorAll('*')].map(
    e => e.tagName + ' ' + e.getAttributeNames().filter(n => n !== 'open' && n !== 'hidden').sort().join(' '));
}"""
OUTSIDE = """() => [...document.querySelectorAll('body *')].filter(e => {
  const box = e.getBoundingClientRect();
  return box.width && !e.closest('.scroll, .vh, .skip, svg') && (box.right > innerWidth + 1 || box.left < -1);
}).map(e => e.outerHTML.slice(0, 200))"""


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_output_is_text_and_nothing_else(opened: Any, name: str) -> None:
    report = model(2, 4, items=1, apart=name == "script")
    text = HOSTILE[name]
    found = opened(with_texts(report, text), width=400)
    found.all_open()
    page = found.page
    page.wait_for_timeout(50)
    assert page.evaluate("typeof window.canary") == "undefined"
    assert page.evaluate(OUTSIDE) == []
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    # nor does a table grow without end
    assert page.evaluate("Math.max(...[...document.querySelectorAll('table')].map(t => t.offsetWidth))") < 2400
    tree = page.evaluate(TREE)
    found.quiet()
    assert tree == opened(with_texts(report, "x" * len(text)), width=400).page.evaluate(TREE)


def test_what_hides_is_seen(opened: Any) -> None:
    report = with_texts(model(2, 3, items=1), "a\x00b\u202ec\ud800d\x85e\u200df")
    page = opened(report).page
    for place in ("h1", "#leaderboard tr.entry th .label", ".item .reply .text"):
        assert page.locator(place).first.text_content().startswith("a␀b⟨RLO⟩c⟨U+D800⟩d⟨U+0085⟩e\u200df")
    assert page.title().startswith("a␀b⟨RLO⟩c")


def test_marks_do_not_climb_out_of_their_place(opened: Any) -> None:
    tower = "Z" + "\u0301" * 300
    page = opened(with_texts(model(2, 3, items=1), tower)).page
    for place in ("#leaderboard tr.entry th", ".item .text", "h1"):
        assert page.locator(place).first.evaluate("e => getComputedStyle(e).overflowY") == "clip"
