"""Read strings that a reply gives as data: a JSON or Python list, an object, a table, or pairs of labelled lines.

The field is chosen by its name. If what is wrong was asked for, the field `wrong`, `entity` or `original` is used and
`correct` is not; if replacements were asked for, it is the other way round. Fields with explanations or counts are
never used.
"""

from __future__ import annotations

import re

from halu_tasks.scorers.reading.strings.literal import Found, Value, values
from halu_tasks.scorers.reading.strings.sections import Kind

Record = list[tuple[str, Value]]

_LONGEST = 100_000
_NEVER = re.compile(
    r"\b(?:why|reason\w*|explanation|explain\w*|justification|notes?|comments?|evidence|types?|categor\w+|confidence"
    r"|index|number|position|location|nr|no|id|id's|context|question|source|count|score|thought\w*|analysis"
    r"|verdict|status|label|assessment)\b|^[#№]$",
    re.IGNORECASE,
)
_WRONG = re.compile(
    r"\b(?:wrong\w*|incorrect\w*|inaccura\w+|false|err(?:or|oneous)\w*|hallucinat\w+|altered|changed|swapped"
    r"|replaced(?! (?:with|by)\b)|mistak\w+|faulty|confabulated|untrue|originals?|fabricated|found|before"
    r"|unsupported)\b",
    re.IGNORECASE,
)
_RIGHT = re.compile(
    r"\b(?:correct\w*|right|replac\w+|should|fix\w*|true|actual\w*|expected|suggest\w*|proper|accurate|truth|instead"
    r"|after|change[ds]? to)\b",
    re.IGNORECASE,
)
_FILLED = re.compile(
    r"\b(?:replac\w+|correct\w*|fill\w*|restor\w+|substitut\w+|solution|missing|hidden|unmasked|masked (?:word|text"
    r"|term|entity|phrase|value)s?|should)\b",
    re.IGNORECASE,
)
_MASKS = re.compile(r"mask|\b(?:tags?|blanks?|gaps?|slots?|placeholders?|wrong|incorrect|sentence)\b", re.IGNORECASE)
_HOLDS = re.compile(
    r"\b(?:answers?|results?|outputs?|texts?|words?|terms?|values?|phrases?|entit(?:y|ies)|content|strings?|spans?"
    r"|claims?|statements?|quotes?|passages?|sentences?|items?|list|response|what it says|as written|given|stated)\b",
    re.IGNORECASE,
)
_NOUN: dict[Kind, re.Pattern[str]] = {
    "entity": re.compile(r"\bentit(?:y|ies)\b", re.IGNORECASE),
    "sentence": re.compile(r"\bsentences?\b", re.IGNORECASE),
    "passage": re.compile(r"\b(?:passages?|spans?)\b", re.IGNORECASE),
    "replacement": re.compile(r"\breplacements?\b", re.IGNORECASE),
}
_INDEX = re.compile(
    r"\W*(?:(?:masks?|blank|gap|tag|entity|entities|replacements?|sentence|word|term|error|item|slot|passage|span|no|nr"
    r"|wrong|incorrect)\W*)*"
    r"(?:\d{1,3}(?:st|nd|rd|th)?|first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|one|two|three|four"
    r"|five|six)?\W*(?:masks?)?\W*",
    re.IGNORECASE,
)
_COUNTS = re.compile(r"\d|first|second|third|fourth|fifth|sixth|one|two|three|four|five|six", re.IGNORECASE)
_SAID_RIGHT = re.compile(
    r"\W*(?:correct|right|true|accurate|ok|okay|fine|yes|valid|supported|✅|✓|✔)\W*", re.IGNORECASE
)
_VERDICTS = re.compile(
    r"\b(?:correct|right|true|accurate|wrong|incorrect|false|verdict|status|label|assessment|factual)\b|\?",
    re.IGNORECASE,
)
_RULE = frozenset("|-:+= \t")
_LABELLED = re.compile(r"[\s>*_+•\d.)-]{0,12}([A-Za-z<\[][^:\n]{0,40}?)[*_`]*\s?[:：][*_]*\s+(\S.*)")


def structured(text: str, kind: Kind) -> list[str] | None:
    """Return the strings that the text gives as data, unchanged; None if it contains no data."""
    if len(text) > _LONGEST:
        return None
    if (strings := _best_value(values(text, bare=_all_bracketed(text, kind)), text, kind)) is not None:
        return strings
    if (table := _last_table(text.split("\n"), kind)) is not None:
        return table
    return _label_values(text.split("\n"), kind)


def _all_bracketed(text: str, kind: Kind) -> bool:
    """Return whether all lines are values or their headings.

    Words in brackets without quotes are then values, and not a comment on another line.
    """
    lines = [line.strip("`* \t") for line in text.split("\n")]
    return kind in ("entity", "replacement") and all(
        line.startswith(("[", "{", "]", "}")) or line.endswith((":", ",")) or ": [" in line for line in lines if line
    )


def _best_value(found: list[Found], text: str, kind: Kind) -> list[str] | None:
    """Return the strings of the value whose label fits best, and of several the last; None if there is none.

    Consecutive values without a label between them count as one.
    """
    groups: list[list[Found]] = []
    for value in found:
        if groups and not value.label and not text[groups[-1][-1].end : value.start].strip(" \n\t\r,;`*"):
            groups[-1].append(value)
        else:
            groups.append([value])
    fitting = [group for group in groups if fits(group[0].label, kind) >= 0]
    for group in sorted(fitting, key=lambda group: fits(group[0].label, kind))[::-1]:
        strings = [_strings(value.value, kind) for value in group]
        if all(each is not None for each in strings):
            return [string for each in strings for string in each or []]
    return None


def fits(name: str, kind: Kind) -> int:
    """Return how well the name of a field fits what was asked for.

    3 if it fits by its meaning, 2 by its noun, 1 if it says only that the field has content, 0 if it says nothing, and
    -1 if the field is something else.
    """
    name = name.replace("_", " ").replace("-", " ")
    name = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    if _NEVER.search(name):
        return -1
    if kind == "replacement":
        if _FILLED.search(name):
            return 3
        if _MASKS.search(name):
            return -1
    else:
        if _WRONG.search(name):
            return 3
        if _RIGHT.search(name):
            return -1
    if _NOUN[kind].search(name):
        return 2
    return 1 if _HOLDS.search(name) else 0


def _strings(value: Value, kind: Kind) -> list[str] | None:
    """Return the strings of a value; None if it is a boolean, or has fields but not the one that was asked for."""
    if value is None:
        return []
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        return [value]
    if value and all(isinstance(entry, tuple) for entry in value):
        return _record_strings([entry for entry in value if isinstance(entry, tuple)], kind)
    entries = [entry for entry in value if not isinstance(entry, tuple)]
    if len(entries) > 1 and all(_is_pair(entry) for entry in entries):
        return [str(entry[-1 if kind == "replacement" else 0]) for entry in entries if isinstance(entry, list)]
    return _all_strings([entry for entry in entries if not _is_called_right(entry, kind)], kind)


def _all_strings(entries: list[Value], kind: Kind) -> list[str] | None:
    """Return the strings of all entries; None if `_strings` returns None for one of them."""
    strings_by_entry = [_strings(entry, kind) for entry in entries]
    return None if None in strings_by_entry else [string for strings in strings_by_entry for string in strings or []]


def _is_pair(value: Value) -> bool:
    """Return whether a value is a list of two strings."""
    return isinstance(value, list) and len(value) == 2 and all(isinstance(entry, str) for entry in value)


def _is_called_right(value: Value | list[tuple[str, str]], kind: Kind) -> bool:
    """Return whether a record calls something right although what is wrong was asked for."""
    if kind == "replacement" or not isinstance(value, list):
        return False
    for field in value:
        if not isinstance(field, tuple) or not _VERDICTS.search(field[0].replace("_", " ")):
            continue
        verdict = field[1]
        if isinstance(verdict, bool) and verdict != bool(_WRONG.search(field[0].replace("_", " "))):
            return True
        if isinstance(verdict, str) and _SAID_RIGHT.fullmatch(verdict[:30]) and len(verdict) < 30:
            return True
    return False


def _record_strings(record: Record, kind: Kind) -> list[str] | None:
    """Return the strings of an object; None if it has none.

    These are its numbered fields, the field that was asked for, or the keys or values of a mapping of wrong to right.
    """
    if all(_INDEX.fullmatch(key[:60].replace("_", " ")) and _COUNTS.search(key) for key, _ in record):
        return _all_strings([value for _, value in record], kind)
    record = [(key, value) for key, value in record if not isinstance(value, bool)]
    ranks = {key: fits(key, kind) for key, _ in record}
    best = max(ranks.values(), default=-1)
    if best > 0:
        name = next(re.sub(r"\d", "", key) for key, _ in record if ranks[key] == best)
        return _all_strings([value for key, value in record if re.sub(r"\d", "", key) == name], kind)
    plain = [(key, value) for key, value in record if ranks[key] == 0]
    if len(record) == 1 and not isinstance(record[0][1], str):
        return _strings(record[0][1], kind)
    if plain and len(plain) == len(record) and all(isinstance(value, str) for _, value in plain):
        return [str(value) if kind == "replacement" else key for key, value in plain]
    if kind == "replacement" and len(record) == 1:
        return _strings(record[0][1], kind)
    return None


def _last_table(lines: list[str], kind: Kind) -> list[str] | None:
    """Return the strings of the last table in a reply that has a column for them."""
    strings: list[str] | None = None
    rows: list[list[str]] = []
    framed = True
    for line in [*lines, ""]:
        stripped = line.strip()
        if "|" in stripped[1:]:
            rows.append([] if _RULE.issuperset(stripped) else _cells(stripped))
            framed = framed and stripped[0] == stripped[-1] == "|"
            continue
        if len(rows) > 1 and ([] in rows[:2] or (framed and _is_rectangular(rows))):
            strings = _table_strings(rows, kind) or strings
        rows, framed = [], True
    return strings


def _is_rectangular(rows: list[list[str]]) -> bool:
    """Return whether rows without a rule below the header look like a table: the same number of cells, at least two."""
    return len(rows[0]) > 1 and len({len(row) for row in rows}) == 1


def _cells(line: str) -> list[str]:
    """Return the cells of a row."""
    return [cell.strip() for cell in line.removeprefix("|").removesuffix("|").split("|")]


def _table_strings(rows: list[list[str]], kind: Kind) -> list[str] | None:
    """Return the strings of a table, whose rule is an empty row."""
    ruled = [] in rows
    body = [row for row in rows if row]
    if not body:
        return None
    head = [cell.strip("*_` ") for cell in body[0]]
    ranks = [fits(cell, kind) for cell in head]
    if ruled or (max(ranks) > 0 and all(len(cell) < 40 for cell in head)):
        body = body[1:]
    else:
        head, ranks = [""] * len(head), [0] * len(head)
    body = [row + [""] * (len(head) - len(row)) for row in body]
    body = [row for row in body if not _is_called_right([*zip(head, row, strict=False)], kind)]
    column = ranks.index(max(ranks)) if max(ranks) > 0 else _content_column(body, ranks)
    return [row[column] for row in body if row[column].strip("-–— ")]


def _content_column(body: list[list[str]], ranks: list[int]) -> int:
    """Return the first column that does not only count rows, for a table whose header does not show which to use."""
    candidates = [
        column for column in range(len(ranks)) if not all(_INDEX.fullmatch(row[column][:60]) for row in body)
    ] or [len(ranks) - 1]
    return next((column for column in candidates if ranks[column] == 0), candidates[0])


def _label_values(lines: list[str], kind: Kind) -> list[str] | None:
    """Return the values of the labelled lines that fit best ("Wrong: x", "Correct: y"); None if there are none.

    If the labels differ only in their numbers, all values are returned.
    """
    fields = [(line, _LABELLED.match(line[:2_000])) for line in lines if line.strip()]
    if len(fields) > 1 and fields[0][0].rstrip().endswith(":") and not fields[0][1]:
        del fields[0]
    labels = [(label[1].strip("*_` "), label[2].strip()) for _, label in fields if label]
    if len(labels) < 2 or len(labels) < len(fields) or any(len(label.split()) > 3 for label, _ in labels):
        return None
    ranks = [fits(label, kind) for label, _ in labels]
    if kind != "sentence" and min(ranks) >= 0 and len({re.sub(r"\d", "", label.lower()) for label, _ in labels}) == 1:
        return [value for _, value in labels]
    if max(ranks) < 1 or min(ranks) >= 0 or len({label.lower() for label, _ in labels}) > 4:
        return None
    return [value for (_, value), rank in zip(labels, ranks, strict=True) if rank == max(ranks)]
