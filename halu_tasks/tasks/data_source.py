"""The data of a task: where rows come from, and which function makes items of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, TypeVar

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

from halu_tasks.core.errors import DataError, unknown
from halu_tasks.core.items import Item, by_target
from halu_tasks.core.options import Options
from halu_tasks.core.prompting import render_jinja
from halu_tasks.core.settings import KeyFault, checked_settings
from halu_tasks.data.hub import Dataset, parquet_file
from halu_tasks.data.locate import (
    SAMPLE,
    LocatedData,
    find_beside,
    in_folder,
    locate_own,
    locate_parts,
    named_data,
    with_joined,
)
from halu_tasks.data.rows import Refuse, Row, json_lines, json_records, read_rows, table_lines, table_rows
from halu_tasks.data.sources import SOURCES, OwnSource, Source, with_named_files
from halu_tasks.tasks.keys import (
    OPTIONS,
    Function,
    Keys,
    NonNegative,
    check_placeholders,
    check_signature,
    reason_of,
    takes,
)
from halu_tasks.tasks.rows_to_items import FILE, GoldKeys, ItemMaker, RowKeys, text_at

T = TypeVar("T")
FORMATS = {".csv": "csv", ".tsv": "csv", ".json": "json", ".jsonl": "jsonl", ".xlsx": "xlsx", ".parquet": "parquet"}


def _source(value: Any) -> Any:
    if isinstance(value, dict):
        try:
            return TypeAdapter(Source).validate_python(with_named_files(value))
        except ValidationError as error:
            raise reason_of(error) from None
    if isinstance(value, str) and value not in SOURCES:
        raise ValueError(unknown("source", value, SOURCES))
    return SOURCES[value] if isinstance(value, str) else value


def _own_fields(value: Any) -> Any:
    names = isinstance(value, list) and all(isinstance(name, str) for name in value)
    return {name: name for name in value} if names else value


class TaskData(Keys):
    """Where the rows of a task come from, and how items are made of them.

    Attributes:
        source: Where the data come from.
        file_names: The file of the source or a pattern of several, or files and patterns next to a task file; options
            may be part of a name.
        training: The file of its training part.
        examples: The file next to a task file whose rows make worked examples.
        row: What a valid row is, and what of it is id, cluster and tags.
        fields: The field of a row that each prompt field is, if there is no function `cases`.
        gold: The fields of a row that say what is right, if there is no function `cases`.
        cases: The function from rows to items; None if the keys say how items are made.
        cases_arguments: Its further arguments.
        order: The function that orders worked examples.
        size: The number of items in the published data.
    """

    source: Annotated[InstanceOf[Source], BeforeValidator(_source)]
    file_names: Annotated[
        tuple[StrictStr, ...],
        BeforeValidator(lambda value: [value] if isinstance(value, str) else value),
        AfterValidator(lambda names: tuple(check_placeholders(name, OPTIONS, "an option") for name in names)),
        Field(alias="file", min_length=1),
    ]
    training: StrictStr | None = Field(None, alias="training_file")
    examples: StrictStr | None = None
    row: RowKeys = Field(RowKeys.model_validate({}), alias="rows")
    fields: Annotated[dict[StrictStr, StrictStr], BeforeValidator(_own_fields)] = Field({})
    gold: GoldKeys = GoldKeys.model_validate({})
    cases: Function | None = None
    cases_arguments: dict[StrictStr, Any] = Field({})
    order: Annotated[Function, takes([], Options())] = Field(
        lambda items, options: by_target(items), alias="order_examples"
    )
    size: NonNegative | None = Field(None, alias="items")

    @model_validator(mode="after")
    def _check(self) -> TaskData:
        is_own, published = isinstance(self.source, OwnSource), [file.name for file in self.source.files]
        joined = self.row.join["file"] if self.row.join else None
        for key, name in {"file": self.file(Options()), "training_file": self.training, "rows": joined}.items():
            if name is not None and not self.source.matching(name) and not (is_own and key != "training_file"):
                has = f"it has {', '.join(published)}" if not is_own else "use examples"
                raise KeyFault(key, f"source {self.source.name} has no file {name!r}; {has}")
        if self.examples and not is_own:
            raise KeyFault("examples", "is for rows beside the task file; use training_file")
        if self.cases is None:
            return self
        try:
            own_arguments = checked_settings(self.cases, self.cases_arguments, "argument", strict=False)
            self.cases_arguments.update(own_arguments)
            check_signature(self.cases, [], Options(), **own_arguments)
        except ValueError as error:
            raise KeyFault("cases", error) from None
        if any(name != path for name, path in self.fields.items()):
            raise KeyFault("fields", "are made by the function `cases`: list their names")
        unused = {"gold": self.gold.model_fields_set, "rows": self.row.model_fields_set & {"id", "cluster", "tags"}}
        for key, names in unused.items():
            if names:
                raise KeyFault(key, f"{min(names)}: has no effect, since the function `cases` makes the items")
        return self

    def file(self, options: Options) -> str:
        """Return the name or pattern of the file under some options; the names of several, separated by commas."""
        return ", ".join(self._names(options))

    def in_sample(self, options: Options) -> bool:
        """Return whether the packaged sample has rows under some options."""
        sample = SAMPLE / self.source.name
        return any(in_folder(self.source, name, sample) for name in self.source.matching(self.file(options)))

    def _names(self, options: Options) -> list[str]:
        return [name if "{" not in name else render_jinja(name, vars(options)) for name in self.file_names]

    def locate(self, options: Options) -> LocatedData:
        """Locate the data under some options.

        Raises:
            DataError: They do not exist, or cannot be downloaded.
            UsageError: An option does not apply to the data.
        """
        located = self._located(self._names(options), options)
        if not self.row.join or isinstance(located.content, Dataset):  # the rows of a dataset are whole
            return located
        named = options.data if isinstance(self.source, OwnSource) else named_data(options)
        alone = named and Path(named).expanduser().is_file()
        in_its_folder = replace(options, data=str(located.content.parent)) if alone else options
        return with_joined(located, self._located([self.row.join["file"]], in_its_folder))

    def _located(self, names: list[str], options: Options) -> LocatedData:
        if isinstance(self.source, OwnSource):
            return locate_own(self.source, names, options)
        return locate_parts(self.source, ", ".join(names), options)

    def rows(self, data: LocatedData | Path, refuse: Refuse | None = None) -> Iterator[Row]:
        """Read the rows of files or a dataset.

        Args:
            data: The file, or what was located.
            refuse: Called with the error of each invalid row; by default, it is raised.

        Raises:
            DataError: A row is invalid, or there are none.
        """
        return self._read(data, None, self._checked, refuse)

    def items(
        self,
        data: LocatedData | Path,
        maker: ItemMaker,
        options: Options,
        shown_fields: Iterable[str],
        refuse: Refuse | None,
    ) -> Iterator[Item]:
        """Read the rows of files or a dataset, and make an item of each.

        Args:
            data: The file, or what was located.
            maker: What makes items of rows.
            options: The options of the task.
            shown_fields: As in `ItemMaker.clustered`.
            refuse: Called with the error of each row that makes no item; by default, it is raised.

        Raises:
            DataError: A row makes no item, or there are none.
        """
        seen = Counter[str]()
        return maker.clustered(
            self._read(data, maker, lambda row: maker.item(row, options, seen), refuse), shown_fields
        )

    def _checked(self, row: Row) -> Row:
        self.row.check_values(row)
        return row

    def _read(
        self, data: LocatedData | Path, maker: ItemMaker | None, make: Callable[[Row], T], refuse: Refuse | None
    ) -> Iterator[T]:
        located = LocatedData(data, "local", "") if isinstance(data, Path) else data
        parts = located.files or (located.content,)
        joined_rows = self._joined_rows(located.joined) if located.joined else None
        return chain.from_iterable(
            self._read_part(part, located.columns, maker, make, refuse, joined_rows) for part in parts
        )

    def _joined_rows(self, path: Path) -> dict[str, Row]:
        """Read the joined file, whose rows complete others, by their shared value.

        Raises:
            DataError: A row lacks it, or two have the same.
        """
        assert self.row.join
        by, rows = self.row.join["by"], dict[str, Row]()
        table = FORMATS.get(Path(str(path).removesuffix(".gz")).suffix.lower()) in ("csv", "xlsx")
        lines = table_lines(path, {by: ()}) if table else json_lines(path)
        for row in read_rows(lines, path, {by: object}, lambda row: row):
            if (value := text_at(row, by)) in rows:
                raise DataError(f"{path}: {by} {value!r} occurs twice")
            rows[value] = row
        return rows

    def _read_part(
        self,
        content: Path | Dataset,
        named: Mapping[str, str],
        maker: ItemMaker | None,
        make: Callable[[Row], T],
        refuse: Refuse | None,
        joined_rows: Mapping[str, Row] | None,
    ) -> Iterator[T]:
        columns = {column: alternatives for column, alternatives in self.row.columns.items() if column not in named}
        columns |= dict.fromkeys(named.values(), ())
        types = self.row.types()
        file = Path(str(content).removesuffix(".gz"))
        declared = maker is None and not isinstance(self.source, OwnSource)
        kind = "" if isinstance(content, Dataset) else self._format(file, declared=declared)
        if maker:
            columns = dict.fromkeys([path for path in maker.paths if path not in named], ()) | columns
            types = {**dict.fromkeys(named, object), **types}
        if kind == "parquet":
            content = parquet_file(Path(str(content)))
        lines: Iterable[tuple[int, Row]]
        if isinstance(content, Dataset):
            lines = table_rows(content.rows(nulls=True), content, columns) if self.row.columns else content.rows()
        elif kind in ("csv", "xlsx"):
            lines = table_lines(content, columns)
        else:
            lines = json_records(content, self.row.records) if self.row.records else json_lines(content)
        lines = self.row.selected(lines, content, joined_rows)
        if maker and maker.names_file:
            lines = ((number, {FILE: file.stem, **row}) for number, row in lines)
        return read_rows(lines, content, types, make, named, refuse)

    def _format(self, file: Path, *, declared: bool) -> str:
        """Return the format of a file. The task file declares the columns of published tables."""
        by_name = ("csv" if self.row.columns else "jsonl") if declared else FORMATS.get(file.suffix.lower())
        format = self.row.format or ("json" if self.row.records else by_name)
        if format is None:
            raise DataError(f"{file}: the name does not say the format; state it in the task file, rows: {{format: …}}")
        return format

    def fewshot_path(self, options: Options) -> Path:
        """Return the file with the package's examples for these options, or else for the default options."""
        folder = SAMPLE / "fewshot" / self.source.name
        path = folder / (self.training or self.file(options))
        return path if path.is_file() else folder / (self.training or self.file(Options()))

    def training_data(self, options: Options) -> LocatedData | None:
        """Locate the training part: pinned, in the user's folder or next to the task file; None without one."""
        if isinstance(self.source, OwnSource):
            return locate_own(self.source, [self.examples]) if self.examples else None
        return find_beside(self.source, self.training, options) if self.training else None

    def lacks_training(self, options: Options) -> bool:
        """Whether the benchmark has a training part that is missing in the user's data."""
        return self.training is not None and named_data(options) != "sample" and not self.training_data(options)
