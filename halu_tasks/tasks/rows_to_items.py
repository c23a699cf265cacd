"""Items of rows without code: a task file names the fields of a row that are prompts, gold, id, cluster and tags."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any, Literal, cast

from pydantic import BeforeValidator, Field, StrictStr

from halu_tasks.core.errors import DataError
from halu_tasks.core.hashing import short_hash, stable_number
from halu_tasks.core.items import Item
from halu_tasks.core.options import POOLS, Options
from halu_tasks.core.prompting import render_jinja
from halu_tasks.data.rows import Row, not_unicode, numbered, require_text, value_at
from halu_tasks.scorers.annotators import CLASS, in_mode, pooled, with_marks
from halu_tasks.scorers.gold import LabelAnnotation, LabelGold, SpanAnnotation, SpanGold, StringsGold
from halu_tasks.scorers.kinds import AnswerKind, JudgedText, Label, Spans, Strings
from halu_tasks.tasks.keys import Function, Keys, Mode, StringTuple, one_of, takes
from halu_tasks.text.marks import QUOTES, Mark, marks_of, match_quote, parse_tags, quoted, shift_marks
from halu_tasks.text.spans import Text

FILE = "file"
"""The name under which a template of ids knows the stem of the row's file."""
_TYPES = {"string": str, "text": str, "strings": list, "array": list, "object": dict, "any": object}


# --- rows -------------------------------------------------------------------------------------------


def _kind(value: Any) -> str | tuple[str, ...]:
    """Check the declared kind of a field's values: the name of a type, or the strings that are allowed."""
    if isinstance(value, list) and value and all(isinstance(string, str) for string in value):
        return tuple(value)
    if not isinstance(value, str) or value not in _TYPES:
        raise ValueError(f"expected {', '.join(map(repr, _TYPES))} or a list of strings, got {value!r}")
    return value


class RowKeys(Keys):
    """The key `rows`: what a valid row is, and what of it is not for prompts.

    The last five are for tasks without a function `cases`, which makes items of rows itself.

    Attributes:
        fields: The fields that a row must have: each with its type, or with the strings that it may be.
        columns: The columns of a table, each with its other names; empty if the file is not a table.
        check: Raises ValueError if a row is invalid.
        format: The format of the files; by default, their suffix says it.
        records: Where the list of rows is in a JSON file, as a dotted path.
        join: The `file` with further fields, whose rows have the same value of the field `by`; several rows may share
            one, and their own fields take precedence.
        where: The values that fields must have in the rows that are used.
        id: The field with the item's id, or a template over the fields and the stem of the file (`file`).
        cluster: The field that items with a common source share; by default, items of which the same is asked share it.
        tags: The field of each tag, unless it has the tag's name.
    """

    fields: dict[StrictStr, Annotated[str | StringTuple, BeforeValidator(_kind)]] = Field({})
    columns: Annotated[
        dict[StrictStr, StringTuple],
        BeforeValidator(lambda value: dict.fromkeys(value, ()) if isinstance(value, list) else value),
    ] = Field({})
    check: Annotated[Function, takes({})] = Field(lambda row: None)
    format: Literal["json", "jsonl", "csv", "xlsx", "parquet"] | None = None
    records: StrictStr | None = None
    join: Annotated[dict[Literal["file", "by"], StrictStr], Field(min_length=2)] | None = None
    where: dict[StrictStr, Any] = Field({})
    id: StrictStr | None = None
    cluster: StrictStr | None = None
    tags: dict[StrictStr, StrictStr] = Field({})

    def types(self) -> Mapping[str, type]:
        """Return the fields with the types of their values."""
        declared = {name: str if isinstance(kind, tuple) else _TYPES[kind] for name, kind in self.fields.items()}
        return {**dict.fromkeys(self.columns, str), **declared}

    def selected(
        self, lines: Iterable[tuple[int, Row]], place: object, joined_rows: Mapping[str, Row] | None
    ) -> Iterator[tuple[int, Row]]:
        """Yield the numbered rows that are used, completed by the joined file, if there is one.

        Raises:
            DataError: A row lacks a field that `where` names, or has no counterpart; the message names its line.
        """
        for number, row in lines:
            try:
                if all(value_at(row, name) == value for name, value in self.where.items()):
                    yield number, row if joined_rows is None else {**self._joined_row(row, joined_rows), **row}
            except ValueError as error:
                raise DataError(f"{place}:{number}: {error}") from None

    def _joined_row(self, row: Row, joined_rows: Mapping[str, Row]) -> Row:
        assert self.join
        if (value := text_at(row, self.join["by"])) not in joined_rows:
            raise ValueError(f"{self.join['by']} {value!r} is not in {self.join['file']}")
        return joined_rows[value]

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


def text_at(row: Row, path: str) -> str:
    """Return the text of a field; several texts, one on each line.

    Args:
        row: The row.
        path: The field, which may be within others (`metadata.model`).

    Raises:
        ValueError: There is no such field, or it is no text.
    """
    return _text_of(value_at(row, path), path)


def _text_of(value: Any, path: str) -> str:
    if isinstance(value, str):
        text = value
    elif value is None:
        raise ValueError(f"field {path!r} is null, expected a text; leave out rows that lack it")
    else:
        parts = value if isinstance(value, list) else [value]
        if any(part is None or isinstance(part, dict | list) for part in parts):
            kind = type(value).__name__
            raise ValueError(f"field {path!r} is {kind}, expected a text; one within it is named {path}.…")
        text = "\n".join(map(_text, parts))
    try:
        text.encode()
    except UnicodeEncodeError:
        raise not_unicode(path) from None
    return text


def of_cell(value: Any) -> Any:
    """Parse a cell of a table that has a list or object as JSON; return any other value unchanged."""
    if isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):
        with suppress(ValueError, RecursionError):
            return json.loads(value)
    return value


def _text(value: Any) -> str:
    """Format a plain value as in JSON; YAML and JSON have other words for true and false than Python."""
    return str(value).lower() if isinstance(value, bool) else str(value)


# --- gold -------------------------------------------------------------------------------------------


def _by_mode(value: Any) -> Any:
    return {"strict": value, "paper": value} if isinstance(value, str) else value


def _by_text(value: Any) -> Any:
    return {_text(key): label for key, label in value.items()} if isinstance(value, dict) else value


class AnnotatorKeys(Keys):
    """The key `annotators` of `gold`: what each of several people says of an item.

    Attributes:
        field: The field: a mapping of annotators to labels or spans, or a list of records, of which an annotator may
            have several. The other keys are for records, and may be dotted paths through lists, as in the exports of
            annotation tools. What an annotator skipped or has not finished is left out.
        by: The key of the annotator.
        label: The key of the label, or of the category of a span; of several, the worst counts.
        start: The key of the offset at which a span begins. What the span quotes is under the same key with `text` (or
            `span`, `quote`, …) in the place of `start`.
        end: The key of the offset after its end.
        none: The label of an item without records; for labels that people only give to faults.
    """

    field: StrictStr
    by: StrictStr = "by"
    label: StrictStr = "label"
    start: StrictStr = "start"
    end: StrictStr = "end"
    none: StrictStr | None = None

    def spans(self, record: Row, *, labels: bool) -> list[dict[str, Any]]:
        """Return the records of the spans of a record, each with its label if there are any.

        Raises:
            ValueError: A key is missing.
        """
        names = {"start": self.start, "end": self.end, **({"label": self.label} if labels else {})}
        values = {name: value_at(record, key) for name, key in names.items()}
        for name in QUOTES:
            with suppress(ValueError):
                values.setdefault("text", value_at(record, self.start.replace("start", name)))
        if not isinstance(values["start"], list):
            return [values]
        return [dict(zip(values, each, strict=True)) for each in zip(*values.values(), strict=True)]


_Annotators = Annotated[
    AnnotatorKeys, BeforeValidator(lambda value: {"field": value} if isinstance(value, str) else value)
]


class GoldKeys(Keys):
    """The key `gold`: which fields of a row say what is right.

    Attributes:
        target: The field with the label, the strings, or a reply that earns the full score.
        labels: The labels by the values that this field has, or the categories of spans by their values; by default,
            the values themselves. What annotators give is left out if its label is null.
        classes: The labels by the classes that `labels` has instead, the worst first: pooled are classes, of which an
            item has the tag `class`. A label that depends on the scoring is a mapping of both modes.
        text: The prompt field that spans are in; by default `text`, or else the only one.
        spans: The field with the spans: [start, end] or [start, end, category], records with `start`, `end`, `label`,
            `prob` and `text`, strings that are marked wherever they occur, or the text with tags such as [HAL] and
            [/HAL]; with `tokens`, true or false for each. Offsets count characters of the text, or UTF-16 code units
            if records have a `text` that says so. White space at the ends does not count. A cell of a table has JSON.
        tokens: The field with the tokens of the text, in order.
        annotators: The labels or spans of each of several annotators.
        pool: How this is pooled, if no other field says what is right; also an option of the task.
    """

    target: StrictStr | None = None
    labels: Annotated[dict[str, StrictStr | None], BeforeValidator(_by_text)] = Field({})
    classes: dict[StrictStr, Annotated[dict[Mode, StrictStr], BeforeValidator(_by_mode)]] = Field({})
    text: StrictStr | None = None
    spans: StrictStr | None = None
    tokens: StrictStr | None = None
    annotators: _Annotators | None = None
    pool: Annotated[StrictStr, one_of("pool", POOLS)] = "majority"

    @property
    def paths(self) -> list[str]:
        """The fields that are named."""
        people = self.annotators.field if self.annotators else None
        return [path for path in (self.target, self.spans, self.tokens, people) if path]

    def fault(self, answer: AnswerKind) -> str | None:
        """Return what is missing or wrong for a kind of answer; None if nothing is."""
        of_spans = isinstance(answer, Spans)
        if not (of_spans or isinstance(answer, Label)) and (self.spans or self.annotators):
            return f"has spans or annotators, which answers of the kind {answer.name} do not use"
        key = "spans" if of_spans else "target"
        if not (getattr(self, key) or self.annotators or isinstance(answer, JudgedText)):
            return f"{key}: is missing: the field of the rows with the {answer.name}"
        if self.classes and not isinstance(answer, Label):
            return f"classes: are for labels, which answers of the kind {answer.name} are not"
        by_mode = [label for labels in self.classes.values() for label in labels.values()]
        for names, labels in ((self._pooled_names(answer), self.labels.values()), (_answer_names(answer), by_mode)):
            if unknown := [label for label in labels if names and label is not None and label not in names]:
                return f"labels: {unknown[0]!r} is not among the labels of the answer"
        return None

    def _pooled_names(self, answer: AnswerKind) -> tuple[str, ...]:
        """Return what is pooled, from the worst to the best: the classes, or the labels or categories themselves."""
        return (*self.classes,) if self.classes and isinstance(answer, Label) else _answer_names(answer)

    def of(self, row: Row, fields: Mapping[str, str], answer: AnswerKind, options: Options) -> Item:
        """Return an item with the target and the gold of the item of a row, and the tag `class` if it has one.

        Args:
            row: The row.
            fields: The item's fields.
            answer: The kind of answer that the task asks for.
            options: The options of the task.

        Raises:
            ValueError: A field is missing or wrong; the message names it.
        """
        target = self._label(value_at(row, self.target), self.target, answer) if self.target else ""
        if isinstance(answer, Strings):
            value = of_cell(value_at(row, str(self.target)))
            originals = list(map(_text, value)) if isinstance(value, list) else [target]
            return Item("", "", target, gold=StringsGold(originals=originals))
        pool = options.pool or self.pool if self.annotators else ""
        item: Item = Item("", "", "")
        if isinstance(answer, Spans):
            name = self.text or ("text" if "text" in fields or len(fields) != 1 else next(iter(fields)))
            if name not in fields:
                raise ValueError(f"gold: text: {name!r} is not among the fields; they are {', '.join(fields)}")
            marked = self._marked(row, fields[name], answer) if self.annotators else []
            item = replace(item, gold=SpanGold(text=fields[name], annotators=marked, pool=pool))
        elif isinstance(answer, Label):
            labelled = self._labelled(row, answer, pool) if self.annotators else []
            classes = cast("dict[str, Mapping[str, str]]", self.classes) or None
            item = replace(item, gold=LabelGold(annotators=labelled, pool=pool, classes=classes))
        if self.spans and isinstance(answer, Spans):
            value = value_at(row, self.spans)
            if self.tokens:
                marks = flagged(item.gold.text, value_at(row, self.tokens), value)
            else:
                marks = self._marks(value, self.spans, item.gold.text, answer)
            item = with_marks(item, marks, answer)
        elif self.annotators and not target:
            item = pooled(item, item.gold.annotators, answer)
        label = target or item.target or (self.annotators and self.annotators.none) or ""
        if self.classes and label not in self.classes:
            raise ValueError(
                f"gold: {label or 'no label'!r} is not among the classes; they are {', '.join(self.classes)}"
            )
        return in_mode(replace(item, target=label, tags={CLASS: label} if self.classes else {}), options.scoring)

    def _label(self, value: Any, path: str, answer: AnswerKind) -> str:
        """Return the label that a value is, of several the worst; what is no label is text."""
        if not isinstance(value, list) or not _answer_names(answer):
            return self._label_of(_text_of(value, path), path) or ""
        labels = {label for one in value or [""] if (label := self._label_of(_text_of(one, path), path))}
        return next((label for label in self._pooled_names(answer) if label in labels), next(iter(labels), ""))

    def _label_of(self, text: str, path: str) -> str | None:
        """Return the label for a value; None if the annotation is left out."""
        if self.labels and text not in self.labels:
            values = ", ".join(map(repr, self.labels))
            raise ValueError(f"field {path!r} is {text!r}, which gold: labels lacks; it has {values}")
        return self.labels.get(text, text)

    def _left_out(self, value: Any) -> bool:
        """Whether all labels of an annotation are null."""
        texts = [*map(_text, value or [""])] if isinstance(value, list) else [_text(value)]
        return all(self.labels.get(text, text) is None for text in texts)

    def _marks(self, value: Any, path: str, text: str, answer: Spans) -> list[Mark]:
        """Return the marks that a value gives in one of the ways of `spans`."""
        value = of_cell(value)
        marks: list[Mark] | None = None
        if value is None:
            raise ValueError(f"field {path!r} is null; write [] where nothing is marked, or leave the row out")
        if isinstance(value, str):
            marks = shift_marks(*parse_tags(value, answer.categories), text)
        elif value and isinstance(value, list) and all(isinstance(string, str) for string in value):
            places = [Text(text).place(string, fuzzy=False) for string in value]
            marks = [Mark(*span) for spans in places for span in spans] if all(places) else None
        else:
            marks = marks_of(value, lambda named: self._label(named, path, answer) if answer.categories else "")
            marks = marks and [as_quoted(text, mark, quoted(record)) for mark, record in zip(marks, value, strict=True)]
        if marks is None:
            raise ValueError(f"field {path!r} has no spans of the text (a list of [start, end], records or strings)")
        return marks

    def _annotations(self, row: Row, answer: AnswerKind) -> Iterator[tuple[str, Any]]:
        assert self.annotators
        keys = self.annotators
        annotations = of_cell(value_at(row, keys.field))
        if isinstance(annotations, dict):
            yield from annotations.items()
            return
        if not isinstance(annotations, list) or not all(isinstance(one, dict) for one in annotations):
            raise ValueError(f"field {keys.field!r} is neither a mapping of annotators nor a list of records")
        for one in filter(_is_finished, annotations):
            if None in self.labels.values() and self._left_out(value_at(one, keys.label)):
                continue
            is_label = isinstance(answer, Label)
            yield (
                text_at(one, keys.by),
                value_at(one, keys.label) if is_label else keys.spans(one, labels=bool(_answer_names(answer))),
            )

    def _labelled(self, row: Row, answer: Label, pool: str) -> list[LabelAnnotation]:
        assert self.annotators
        keys = self.annotators
        annotations = []
        for by, value in self._annotations(row, answer):
            label = self._label(value, keys.field, answer) if value or value == [] else ""
            if label and label not in self._pooled_names(answer):
                raise ValueError(f"field {keys.field!r}: {label!r} is not among the labels of the answer")
            texts = dict.fromkeys(map(_text, value if isinstance(value, list) else [value]))
            values = [(text, self._label_of(text, keys.field)) for text in texts if value and pool == "distinct"]
            annotations.append(LabelAnnotation(by, label, tuple(values)))
        return annotations

    def _marked(self, row: Row, text: str, answer: Spans) -> list[SpanAnnotation]:
        assert self.annotators
        keys = self.annotators
        people: dict[str, list[Mark]] = {}
        for by, value in self._annotations(row, answer):
            if value is not None:
                people.setdefault(by, []).extend(self._marks(value, keys.field, text, answer))
        if not people and (isinstance(of_cell(value_at(row, keys.field)), dict) or "." in keys.start):
            raise ValueError(f"field {keys.field!r} has no annotator; leave out rows that nobody has marked")
        return [SpanAnnotation(by, tuple(marks)) for by, marks in people.items()]


def _is_finished(record: Mapping[str, Any]) -> bool:
    """Whether an annotator neither skipped an item (Label Studio) nor left it unfinished or discarded it (Argilla)."""
    return record.get("was_cancelled") is not True and record.get("status") not in ("draft", "discarded", "pending")


def as_quoted(text: str, mark: Mark, quote: str) -> Mark:
    """Move a mark to the place in a text that its record quotes.

    Raises:
        ValueError: The record quotes something else than what stands at its offsets, and not at one place of the text.
    """
    if place := match_quote(text, mark, quote):
        return place
    spans = Text(text).place(quote, fuzzy=False)
    if len(spans) == 1:
        return mark._replace(start=spans[0][0], end=spans[0][1])
    there, where = text[mark.start : mark.end][:60], f"stands at {len(spans)} places of the text"
    where = where if spans else "does not stand in the text"
    raise ValueError(
        f"the span [{mark.start}, {mark.end}] is {there!r}, and its record quotes {quote[:60]!r}, which {where}; "
        "offsets count characters (code points), or UTF-16 code units"
    )


def flagged(text: str, tokens: Any, flags: Any) -> list[Mark]:
    """Mark the flagged tokens of a text; consecutive ones become one mark.

    Raises:
        ValueError: The text does not consist of the tokens, or there is not a flag for each.
    """
    if not isinstance(tokens, list) or not isinstance(flags, list) or len(tokens) != len(flags):
        raise ValueError("gold: tokens: expected a list of tokens, and of as many true and false as spans")
    marks, at, was = list[Mark](), 0, False
    for token, flag in zip(tokens, flags, strict=True):
        start = text.find(str(token), at)
        if start < 0 or text[at:start].strip() or not isinstance(flag, bool):
            raise ValueError(f"gold: tokens: {token!r} is not the next of the text, or {flag!r} is not true or false")
        at = start + len(str(token))
        if flag:
            marks.append(Mark(marks.pop().start if was else start, at))
        was = flag
    return marks


def _answer_names(answer: AnswerKind) -> tuple[str, ...]:
    return answer.labels if isinstance(answer, Label) else (*answer.categories,) if isinstance(answer, Spans) else ()


# --- items ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ItemMaker:
    """Makes an item of each row, as the keys of the task file say.

    Attributes:
        fields: The field of the row that each prompt field is.
        gold: Which fields say what is right.
        row: Which fields are id, cluster and tags.
        tags: The values of the declared tags.
        answer: The kind of answer.
    """

    fields: Mapping[str, str]
    gold: GoldKeys
    row: RowKeys
    tags: Mapping[str, Sequence[str]]
    answer: AnswerKind

    @cached_property
    def tag_paths(self) -> dict[str, str]:
        """The field of each tag."""
        pooled = {CLASS} if self.gold.classes else set()
        return {**{tag: tag for tag in self.tags if tag not in pooled}, **self.row.tags}

    @property
    def paths(self) -> tuple[str, ...]:
        """The fields that a row must have."""
        paths = [path for path in (self.row.id, self.row.cluster) if path and "{" not in path]
        return tuple(dict.fromkeys([*self.fields.values(), *self.gold.paths, *paths, *self.tag_paths.values()]))

    @property
    def names_file(self) -> bool:
        """Whether ids name the file of a row."""
        return "{" in (self.row.id or "") and FILE in str(self.row.id)

    def clustered(self, items: Iterable[Item], shown_fields: Iterable[str]) -> Iterator[Item]:
        """Yield items with their clusters.

        Args:
            items: The items of all rows.
            shown_fields: The names of the fields that the prompt shows. Rows without a cluster that are equal in all of
                these, except for white space, are one observation and share the first one's id as their cluster.
        """
        if self.row.cluster is not None:
            yield from items
            return
        first, names = dict[int, str](), sorted(shown_fields)
        for item in items:
            same = stable_number(*[" ".join(item.fields[name].split()) for name in names])
            cluster = first.setdefault(same, item.id)
            yield item if cluster == item.cluster else replace(item, cluster=cluster)

    def item(self, row: Row, options: Options, seen: Counter[str]) -> Item:
        """Make the item of a row.

        Args:
            row: The row.
            options: The options of the task.
            seen: How often each id was made of prompt fields so far, to which the item's is added.

        Raises:
            ValueError: The row makes no item; the message says why.
        """
        self.row.check_values(row)
        fields = {name: text_at(row, path) for name, path in self.fields.items()}
        with_gold = self.gold.of(row, fields, self.answer, options)
        tags = {tag: text_at(row, path) for tag, path in self.tag_paths.items()}
        for tag, values in self.tags.items():
            if tag in tags and tags[tag] not in values:
                raise ValueError(f"tag {tag} is {tags[tag]!r}, which tags lacks; it has {', '.join(values)}")
        id = self._id(row) or numbered(short_hash(*fields.values()), seen)
        cluster = text_at(row, self.row.cluster) if self.row.cluster else id
        item = replace(with_gold, id=id, cluster=cluster, tags={**tags, **with_gold.tags}, fields=fields)
        self.answer.check(item)
        return item

    def _id(self, row: Row) -> str | None:
        """Return the id of a row; None if it is to be made of the prompt fields."""
        named = self.row.id or ("id" if "id" in row else "")
        if not named:
            return None
        try:
            id = render_jinja(named, row) if "{" in named else text_at(row, named)
        except ValueError as error:
            raise ValueError(f"id: {str(error).removeprefix('prompt: ')}") from None
        if not id.strip():
            raise ValueError(f"id: {named!r} is empty")
        return id
