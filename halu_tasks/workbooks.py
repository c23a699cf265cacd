"""Excel workbooks (`.xlsx`) as tables of text. Needs openpyxl, the extra `xlsx`."""

from __future__ import annotations

import datetime
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from halu_tasks.errors import DataError

SUFFIX = ".xlsx"


def workbook_cells(path: Path) -> Iterator[tuple[int, list[str]]]:
    """(number from 1, cells as text) of each row of the first sheet; rows without any content are left out,
    and empty cells at a row's end are cut off. Numbers are written as Excel shows them unformatted (0, 1.5),
    dates as 2026-01-31; of a formula the value that was saved with it.

    Raises:
        DataError: openpyxl is not installed, or the file is no workbook.
    """
    try:
        from openpyxl import load_workbook
        from openpyxl.utils.escape import unescape
    except ImportError:
        raise DataError(
            f"{path}: an Excel workbook needs openpyxl; install halu-tasks[xlsx], or export the sheet as CSV"
        ) from None
    try:
        with path.open("rb") as file, warnings.catch_warnings():
            # what openpyxl cannot keep (styles, validation) is nothing that is read here
            warnings.simplefilter("ignore")
            sheet = load_workbook(file, read_only=True, data_only=True).worksheets[0]
            # some programs write a wrong size, which would cut the sheet
            sheet.reset_dimensions()
            rows = list(sheet.iter_rows(values_only=True))
    except OSError as error:
        raise DataError(f"{path}: {error.strerror or error}") from None
    except Exception as error:
        # openpyxl lets through whatever the readers of zip and XML raise
        raise DataError(f"{path}: not an Excel workbook ({' '.join(str(error).split())})") from None
    for number, values in enumerate(rows, 1):
        cells = [unescape(value) if isinstance(value, str) else _text(value) for value in values]
        while cells and not cells[-1].strip():
            cells.pop()
        if cells:
            yield number, cells


def _text(value: Any) -> str:
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
