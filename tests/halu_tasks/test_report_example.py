"""The page of an example report is what its script makes of the released replies."""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "report_example"
_spec = spec_from_file_location("make_report_example", FOLDER / "make.py")
assert _spec and _spec.loader
make = module_from_spec(_spec)
_spec.loader.exec_module(make)


@pytest.mark.slow
def test_the_page_is_what_the_released_replies_give(shared_data: Path) -> None:
    assert make.page(shared_data).splitlines() == make.PAGE.read_text(encoding="utf-8").splitlines()
