"""Reading Excel workbooks (`.xlsx`) as tables of text; needs openpyxl (the extra `xlsx`)."""

from __future__ import annotations

import datetime
import warnings
from collections.abc import Iterator
from typing import Any

from halu_tasks.core.errors import DataError
from halu_tasks.core.extras import require_extra
from halu_tasks.data.shards import File

SUFFIX = ".xlsx"


def workbook_cells(path: File) -> Iterator[tuple[int, list[str]]]:
    """Read (number from 1, cells as text) of each row of the first sheet.

    Empty rows, and empty cells at the end of a row, are left out. Numbers are written as Excel shows them unformatted
    (0, 1.5), dates as 2026-01-31, and formulas as the value that was saved with them.

    Raises:
        UsageError: The extra is not installed.
        DataError: The file is not a workbook.
    """
    require_extra("xlsx", f"{path}: reading Excel workbooks (instead of CSV)")
    from openpyxl import load_workbook
    from openpyxl.utils.escape import unescape

    try:
        with path.open("rb") as file, warnings.catch_warnings():
            # openpyxl warns of features that it drops (styles, validation), which do not matter here
            warnings.simplefilter("ignore")
            sheet = load_workbook(file, read_only=True, data_only=True).worksheets[0]
            # some programs write wrong dimensions, which would truncate the sheet
            sheet.reset_dimensions()
            rows = list(sheet.iter_rows(values_only=True))
    except OSError as error:
        raise DataError(f"{path}: {error.strerror or error}") from None
    except Exception as error:
        # openpyxl passes on any error of the zip and XML readers
        raise DataError(f"{path}: not an Excel workbook ({' '.join(str(error).split())})") from None
    for number, values in enumerate(rows, 1):
        cells = [unescape(value) if isinstance(value, str) else cell_text(value) for value in values]
        while cells and not cells[-1].strip():
            cells.pop()
        if cells:
            yield number, cells


def cell_text(value: Any) -> str:
    """Write a cell as text, as Excel shows it unformatted."""
    match value:
        case None:
            return ""
        case bool():
            return str(value).upper()
        case float() if value.is_integer():
            return str(int(value))
        case datetime.datetime() if value.time() == datetime.time():
            return value.date().isoformat()
    return str(value)
