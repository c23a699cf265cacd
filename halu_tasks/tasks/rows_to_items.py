"""Items of rows without code: a task file names the fields of a row that are prompts, gold, id, cluster and tags."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, StrictStr

from halu_tasks.core.hashing import short_hash
from halu_tasks.core.items import Item
from halu_tasks.core.options import Options
from halu_tasks.core.prompting import JinjaText, placeholders, render_jinja
from halu_tasks.data.rows import Row, numbered, require_text, value_at
from halu_tasks.scorers.annotators import ANNOTATORS, POOL, pooled, with_marks
from halu_tasks.scorers.kinds import AnswerKind, JudgedText, Label, Spans, Strings
from halu_tasks.tasks.keys import Function, Keys, takes
from halu_tasks.tasks.keys import Strings as StringList
from halu_tasks.text.marks import Mark, marks_of, unmarked
from halu_tasks.text.spans import Text

FILE = "file"
"""The name under which a template of ids knows the stem of the row's file."""
_TYPES = {"string": str, "text": str, "strings": list, "array": list, "object": dict, "any": object}


# --- rows -------------------------------------------------------------------------------------------


def _kind(value: Any) -> str | tuple[str, ...]:
    """Return the kind of values that a field of a row has: the name of a type, or the strings that it may be."""
    if isinstance(value, list) and value and all(isinstance(string, str) for string in value):
        return tuple(value)
    if not isinstance(value, str) or value not in _TYPES:
        raise ValueError(f"expected {', '.join(map(repr, _TYPES))} or a list of strings, got {value!r}")
    return value


def _accepted(row: Row) -> None:
    """Accept every row whose fields have the right types."""


def _id(text: str) -> str:
    placeholders(JinjaText(text))
    return text


class RowKeys(Keys):
    """The key `rows`: what a valid row is, and what of it is not for prompts.

    The last five are for tasks without a function `cases`, which makes items of rows itself.

    Attributes:
        fields: The fields that a row must have: each with its type, or with the strings that it may be.
        columns: The columns of a table, each with its other names; empty if the file is not a table.
        check: Raises ValueError if a row is invalid.
        format: The format of the files; by default, their suffix says it.
        records: Where the list of rows is in a JSON file, as a dotted path.
        id: The field with the item's id, or a template over the fields and the stem of the file (`file`).
        cluster: The field that items with a common source share; by default, each item is its own cluster.
        tags: The field of each tag, unless it has the tag's name.
    """

    fields: dict[StrictStr, Annotated[str | StringList, BeforeValidator(_kind)]] = Field({})
    columns: Annotated[
        dict[StrictStr, StringList],
        BeforeValidator(lambda value: dict.fromkeys(value, ()) if isinstance(value, list) else value),
    ] = Field({})
    check: Annotated[Function, takes({})] = _accepted
    format: Literal["json", "jsonl", "csv", "xlsx", "parquet"] | None = None
    records: StrictStr | None = None
    id: Annotated[StrictStr, AfterValidator(_id)] | None = None
    cluster: StrictStr | None = None
    tags: dict[StrictStr, StrictStr] = Field({})

    @property
    def of_items(self) -> set[str]:
        """The keys that say how items are made."""
        return {"id", "cluster", "tags"}

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


def text_at(row: Row, path: str) -> str:
    """Return the text of a field; several texts, one on each line.

    Args:
        row: The row.
        path: The field, which may be within others (`metadata.model`).

    Raises:
        ValueError: There is no such field, or it is no text.
    """
    value = value_at(row, path)
    parts = value if isinstance(value, list) else [value]
    if any(part is None or isinstance(part, dict | list) for part in parts):
        raise ValueError(f"field {path!r} is {type(value).__name__}, expected a text; one within it is named {path}.…")
    text = "\n".join(map(_text, parts))
    require_text({path: f"{text}."}, path)  # the field may be blank, but not invalid Unicode
    return text


def _text(value: Any) -> str:
    """Return a plain value as JSON has it; YAML and JSON read true and 1 as such."""
    return str(value).lower() if isinstance(value, bool) else str(value)


# --- gold -------------------------------------------------------------------------------------------


def _by_text(value: Any) -> Any:
    return {_text(key): label for key, label in value.items()} if isinstance(value, dict) else value


class AnnotatorKeys(Keys):
    """The key `annotators` of `gold`: what each of several people says of an item.

    Attributes:
        field: The field: a mapping of annotators to labels or spans, or a list of records, of which an annotator may
            have several. The other keys are for records.
        by: The key of the annotator.
        label: The key of the label, or of the category of a span; of several, the worst counts.
        start: The key of the offset at which a span begins.
        end: The key of the offset after its end.
        none: The label of an item without records; for labels that people only give to faults.
    """

    field: StrictStr
    by: StrictStr = "by"
    label: StrictStr = "label"
    start: StrictStr = "start"
    end: StrictStr = "end"
    none: StrictStr | None = None


class GoldKeys(Keys):
    """The key `gold`: which fields of a row say what is right.

    Spans are given by one of `spans`, `strings` and `marked`, or by annotators. White space at their ends is left out.

    Attributes:
        target: The field with the label, the strings, or a reply that earns the full score.
        labels: The labels by the values that this field has, or the categories of spans by their values; by default,
            the values themselves.
        text: The prompt field that spans are in; by default `text`, or else the only one.
        spans: The field with [start, end] in characters of the text, or records with `start`, `end`, `label`, `prob`.
        strings: The field with strings of the text, which are marked wherever they occur.
        marked: The field with the text, in which tags such as [HAL] and [/HAL] are around what is marked.
        annotators: What each of several people says.
        pool: How this is pooled, if no other field says what is right; also an option of the task.
    """

    target: StrictStr | None = None
    labels: Annotated[dict[str, StrictStr], BeforeValidator(_by_text)] = Field({})
    text: StrictStr | None = None
    spans: StrictStr | None = None
    strings: StrictStr | None = None
    marked: StrictStr | None = None
    annotators: (
        Annotated[AnnotatorKeys, BeforeValidator(lambda value: {"field": value} if isinstance(value, str) else value)]
        | None
    ) = None
    pool: Literal["any", "majority", "all", "soft"] = "majority"

    @property
    def paths(self) -> list[str]:
        """The fields that are named."""
        people = self.annotators.field if self.annotators else None
        return [path for path in (self.target, self.spans, self.strings, self.marked, people) if path]

    @property
    def _spans(self) -> list[str]:
        return [key for key in ("spans", "strings", "marked") if getattr(self, key)]

    def fault(self, answer: AnswerKind) -> str | None:
        """Return what is missing or wrong for a kind of answer; None if nothing is."""
        of_spans, spans = isinstance(answer, Spans), self._spans
        if wrong := [*([] if of_spans else spans[:1]), *spans[1:]]:
            return f"{wrong[0]}: has no effect: the answer is of the kind {answer.name}, with {spans[0]} in the gold"
        if self.annotators and not isinstance(answer, Label | Spans):
            return f"annotators: give labels or spans, not {answer.name}"
        if not self.annotators and not (spans if of_spans else self.target) and not isinstance(answer, JudgedText):
            missing = "spans: is missing (or strings, marked, annotators)" if of_spans else "target: is missing"
            return f"{missing}: the field of the rows with the {answer.name}"
        unknown = [label for label in self.labels.values() if _known(answer) and label not in _known(answer)]
        return f"labels: {unknown[0]!r} is not among the labels of the answer" if unknown else None

    def of(
        self, row: Row, fields: Mapping[str, str], answer: AnswerKind, options: Options
    ) -> tuple[str, dict[str, Any]]:
        """Return the target and the gold of the item of a row.

        Args:
            row: The row.
            fields: The item's fields.
            answer: The kind of answer that the task asks for.
            options: The options of the task.

        Raises:
            ValueError: A field is missing or wrong; the message names it.
        """
        target = self._label(value_at(row, self.target), answer) if self.target else ""
        if isinstance(answer, Strings):
            value = value_at(row, str(self.target))
            return target, {"originals": list(map(_text, value)) if isinstance(value, list) else [target]}
        records = self._records(row, answer) if self.annotators else []
        gold: dict[str, Any] = {ANNOTATORS: records, POOL: options.pool or self.pool} if self.annotators else {}
        item = Item("", "", target, gold=gold)
        if isinstance(answer, Spans):
            name = self.text or ("text" if "text" in fields or len(fields) != 1 else next(iter(fields)))
            if name not in fields:
                raise ValueError(f"gold: text: {name!r} is not among the fields; they are {', '.join(fields)}")
            item = replace(item, gold={"text": fields[name], **gold})
            marks = self._marks(row, fields[name], answer) if self._spans else None
            item = pooled(item, records, answer) if marks is None else with_marks(item, marks, answer)
        elif self.annotators and not target:
            given = [record for record in records if record["label"]]
            item = pooled(item, given, answer) if given else replace(item, target=self.annotators.none or "")
        return target or item.target, dict(item.gold)

    def _label(self, value: Any, answer: AnswerKind) -> str:
        """Return the label that a value is, of several the worst; what is no label is text."""
        texts = [text_at({"": one}, "") for one in value] if isinstance(value, list) and _known(answer) else None
        texts = [text_at({"": value}, "")] if texts is None else texts
        if unknown := [text for text in texts if self.labels and text not in self.labels]:
            known = ", ".join(map(repr, self.labels))
            raise ValueError(f"gold: labels: lacks {unknown[0]!r}, which the row has; it has {known}")
        labels = {self.labels.get(text, text) for text in texts}
        return next((label for label in _known(answer) if label in labels), next(iter(labels), ""))

    def _marks(self, row: Row, text: str, answer: Spans) -> list[Mark]:
        """Return the marks that a row gives by itself."""
        value = value_at(row, self.spans or self.strings or str(self.marked))
        if self.spans:
            return self._listed(value, self.spans, answer)
        if self.strings:
            placed = {str(one): Text(text).place(str(one), fuzzy=False) for one in value}
            if absent := [string for string, spans in placed.items() if not spans]:
                raise ValueError(f"field {self.strings!r}: {absent[0]!r} does not occur in the text")
            return [Mark(*span) for spans in placed.values() for span in spans]
        bare, marks = unmarked(str(value), answer.categories)
        by = text.find(bare.strip()) - (len(bare) - len(bare.lstrip()))
        if bare.strip() != text.strip():
            raise ValueError(f"field {self.marked!r} is not the text with tags in it")
        return [mark._replace(start=max(mark.start + by, 0), end=mark.end + by) for mark in marks]

    def _listed(self, value: Any, path: str, answer: Spans) -> list[Mark]:
        marks = marks_of(value, lambda named: self._label(named, answer) if answer.categories else "")
        if marks is None:
            raise ValueError(f"field {path!r} is no list of [start, end] or of records with start and end")
        return marks

    def _records(self, row: Row, answer: AnswerKind) -> list[dict[str, Any]]:
        """Return what each annotator says, one record for each label, or for the marks of each annotator."""
        keys = self.annotators
        assert keys
        given = value_at(row, keys.field)
        pairs = [*given.items()] if isinstance(given, dict) else [(text_at(one, keys.by), one) for one in given]
        if not isinstance(answer, Spans):
            said = pairs if isinstance(given, dict) else [(by, value_at(one, keys.label)) for by, one in pairs]
            return [{"by": by, "label": self._label(value, answer) if value else ""} for by, value in said]
        people: dict[str, list[Mark]] = {}
        for by, value in pairs:
            if not isinstance(given, dict):
                named = {"start": keys.start, "end": keys.end, **({"label": keys.label} if answer.categories else {})}
                value = [{name: value_at(value, key) for name, key in named.items()}]
            people.setdefault(by, []).extend(self._listed(value, keys.field, answer))
        return [{"by": by, "marks": [mark._asdict() for mark in marks]} for by, marks in people.items()]


def _known(answer: AnswerKind) -> tuple[str, ...]:
    """Return the labels, or the categories of spans, from the worst to the best."""
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

    @property
    def tag_paths(self) -> dict[str, str]:
        """The field of each tag."""
        return {**{tag: tag for tag in self.tags}, **self.row.tags}

    @property
    def paths(self) -> tuple[str, ...]:
        """The fields that a row must have."""
        own = [path for path in (self.row.id, self.row.cluster) if path and "{" not in path]
        return tuple(dict.fromkeys([*self.fields.values(), *self.gold.paths, *own, *self.tag_paths.values()]))

    @property
    def names_file(self) -> bool:
        """Whether ids name the file of a row."""
        return "{" in (self.row.id or "") and FILE in placeholders(JinjaText(self.row.id))

    def check(self, row: Row) -> None:
        """Raise ValueError unless the row makes an item."""
        self.row.check_values(row)
        self.answer.check(self._item(row, Options(), Counter()))

    def items(self, rows: Iterable[Row], options: Options) -> Iterator[Item]:
        """Yield the item of each row."""
        seen: Counter[str] = Counter()
        for row in rows:
            yield self._item(row, options, seen)

    def _item(self, row: Row, options: Options, seen: Counter[str]) -> Item:
        fields = {name: text_at(row, path) for name, path in self.fields.items()}
        target, gold = self.gold.of(row, fields, self.answer, options)
        tags = {tag: text_at(row, path) for tag, path in self.tag_paths.items()}
        for tag, values in self.tags.items():
            if tags[tag] not in values:
                raise ValueError(f"tag {tag} is {tags[tag]!r}, which tags lacks; it has {', '.join(values)}")
        id = self._id(row) or numbered(short_hash(*fields.values()), seen)
        cluster = text_at(row, self.row.cluster) if self.row.cluster else id
        return Item(id, cluster, target, gold=gold, tags=tags, fields=fields)

    def _id(self, row: Row) -> str | None:
        """Return the id that a row has; None if it gets one made from its prompt fields."""
        named = self.row.id or ("id" if "id" in row else "")
        try:
            return render_jinja(named, row) if "{" in named else text_at(row, named) if named else None
        except ValueError as error:
            raise ValueError(f"id: {str(error).removeprefix('prompt: ')}") from None
