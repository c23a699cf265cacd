"""The data of a task: where rows come from, what a valid row is, and how items are made of rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    InstanceOf,
    StrictStr,
    TypeAdapter,
    ValidationError,
    model_validator,
)

from halu_tasks.core.errors import unknown
from halu_tasks.core.items import Item, by_target
from halu_tasks.core.options import Options
from halu_tasks.core.prompting import render_jinja
from halu_tasks.data.locate import SAMPLE, Located, find_beside, is_sample
from halu_tasks.data.rows import Row, json_lines, read_rows, require_text, table_lines, table_rows
from halu_tasks.data.sources import SOURCES, Source, with_named_files
from halu_tasks.tasks.keys import (
    OPTIONS,
    Count,
    Function,
    KeyFault,
    Keys,
    Strings,
    check_placeholders,
    check_signature,
    reason_of,
    takes,
)

_TYPES = {"string": str, "text": str, "strings": list, "array": list, "object": dict, "any": object}


def _source(value: Any) -> Any:
    if isinstance(value, dict):
        try:
            return TypeAdapter(Source).validate_python(with_named_files(value))
        except ValidationError as error:
            raise reason_of(error) from None
    if isinstance(value, str) and value not in SOURCES:
        raise ValueError(unknown("source", value, SOURCES))
    return SOURCES[value] if isinstance(value, str) else value


def _kind(value: Any) -> str | tuple[str, ...]:
    """Return the kind of values that a field of a row has: the name of a type, or the strings that it may be."""
    if isinstance(value, list) and value and all(isinstance(string, str) for string in value):
        return tuple(value)
    if not isinstance(value, str) or value not in _TYPES:
        raise ValueError(f"expected {', '.join(map(repr, _TYPES))} or a list of strings, got {value!r}")
    return value


def _accepted(row: Row) -> None:
    """Accept every row whose fields have the right types."""


class RowKeys(Keys):
    """The key `rows`: what a valid row is.

    Attributes:
        fields: The fields that a row must have: each with its type, or with the strings that it may be.
        columns: The columns of a table, each with its other names; empty if the file is not a table.
        check: Raises ValueError if a row is invalid.
    """

    fields: dict[StrictStr, Annotated[str | Strings, BeforeValidator(_kind)]] = Field({})
    columns: Annotated[
        dict[StrictStr, Strings],
        BeforeValidator(lambda value: dict.fromkeys(value, ()) if isinstance(value, list) else value),
    ] = Field({})
    check: Annotated[Function, takes({})] = _accepted

    def types(self) -> Mapping[str, type]:
        """Return the fields with the types of their values."""
        declared = {name: str if isinstance(kind, tuple) else _TYPES[kind] for name, kind in self.fields.items()}
        return {**dict.fromkeys(self.columns, str), **declared}

    def check_values(self, row: Row) -> None:
        """Check the values of a row whose fields have the right types.

        Raises:
            ValueError: The row is invalid.
        """
        for name, kind in self.fields.items():
            value = row[name]
            if kind == "text":
                require_text(row, name)
            elif kind == "strings" and not all(isinstance(part, str) for part in value):
                raise ValueError(f"field {name!r} must be a list of strings")
            elif isinstance(kind, tuple) and value not in kind:
                raise ValueError(f"{name} is {value!r}, expected {' or '.join(map(repr, kind))}")
        self.check(row)


class TaskData(Keys):
    """Where the rows of a task come from, and how items are made of them.

    Attributes:
        source: Where the data come from.
        file_name: The file of the source; options may be part of the name.
        training: The file of its training part.
        row: Fields, check and columns of a row.
        cases: The function from rows to items.
        cases_arguments: Its further arguments.
        order: The function that orders worked examples.
        size: The number of items in the published data.
    """

    source: Annotated[InstanceOf[Source], BeforeValidator(_source)]
    file_name: Annotated[
        StrictStr, Field(alias="file"), AfterValidator(lambda text: check_placeholders(text, OPTIONS, "an option"))
    ]
    training: StrictStr | None = Field(None, alias="training_file")
    row: RowKeys = Field(alias="rows")
    cases: Function
    cases_arguments: dict[StrictStr, Any] = Field({})
    order: Annotated[Function, takes([], Options())] = Field(
        lambda items, options: by_target(items), alias="order_examples"
    )
    size: Count | None = Field(None, alias="items")

    @model_validator(mode="after")
    def _check(self) -> TaskData:
        published = [file.name for file in self.source.files]
        for key, name in {"file": self.file(Options()), "training_file": self.training}.items():
            if name is not None and name not in published:
                reason = f"source {self.source.name} has no file {name!r}; it has {', '.join(published)}"
                raise KeyFault(key, reason)
        try:
            check_signature(self.cases, [], Options(), **self.cases_arguments)
        except ValueError as error:
            raise KeyFault("cases", error) from None
        return self

    def file(self, options: Options) -> str:
        """Return the name of the file under some options."""
        return self.file_name if "{" not in self.file_name else render_jinja(self.file_name, vars(options))

    def items(self, rows: Iterable[Row], options: Options) -> Iterable[Item]:
        """Make items of rows; their prompts are not rendered yet."""
        items: Iterable[Item] = self.cases(rows, options, **self.cases_arguments)
        return items

    def rows(self, data: Located | Path) -> Iterator[Row]:
        """Read the rows of a file or dataset.

        Raises:
            DataError: A row is invalid, or there are none.
        """
        content, named = (data, {}) if isinstance(data, Path) else (data.content, data.columns)
        lines: Iterable[tuple[int, Row]]
        columns = {column: others for column, others in self.row.columns.items() if column not in named}
        columns |= dict.fromkeys(named.values(), ())
        if not self.row.columns:
            lines = json_lines(content) if isinstance(content, Path) else content.rows()
        elif isinstance(content, Path):
            lines = table_lines(content, columns)
        else:
            lines = table_rows(content.rows(nulls=True), content, columns)
        return read_rows(lines, content, self.row.types(), self.row.check_values, named)

    def fewshot_path(self, options: Options) -> Path:
        """Return the path of these rows: the file for these options, or else for the default options."""
        folder = SAMPLE / "fewshot" / self.source.name
        path = folder / (self.training or self.file(options))
        return path if path.is_file() else folder / (self.training or self.file(Options()))

    def training_data(self, options: Options) -> Located | None:
        """Return the training part, which is pinned or in the user's folder; None if there is none."""
        return find_beside(self.source, self.training, options) if self.training else None

    def lacks_training(self, options: Options) -> bool:
        """Whether the benchmark has a training part that the user's data lack."""
        return self.training is not None and not is_sample(options.data) and not self.training_data(options)
