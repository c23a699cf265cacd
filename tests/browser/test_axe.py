"""What axe-core finds in the page: nothing, in light and dark, on a desk and on a phone."""

from typing import Any

import pytest
from report_model import model

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("width", [1320, 400])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(opened: Any, axe: str, scheme: str, width: int) -> None:
    found = opened(model(3, 5, items=2), width=width, color_scheme=scheme)
    found.all_open()
    found.page.locator("#show-published").check()
    found.page.evaluate(axe)
    violations = found.page.evaluate("axe.run().then(result => result.violations)")
    found_by_axe = [
        (violation["id"], node["html"][:160], node["failureSummary"][:200])
        for violation in violations
        for node in violation["nodes"][:3]
    ]
    assert found_by_axe == []
