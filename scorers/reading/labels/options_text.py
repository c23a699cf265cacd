"""Rewrite marks, signs, tables and words of other languages in a reply about options as plain English verdicts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from halu_tasks.scorers.reading.lexicons.options import RIGHT_MARKS, WRONG_MARKS

_MARK = f"[{RIGHT_MARKS}{WRONG_MARKS}]"
_UNIFIED_MARKS = {
    **dict.fromkeys(map(ord, "👍☑🟢🏆⭕"), "✅"),
    **dict.fromkeys(map(ord, "👎🔴❎✖🚫⛔"), "❌"),
    0xFE0F: "",
}

# --- marks --------------------------------------------------------------------------------------------

_MARK_BEFORE = re.compile(
    rf"(?m)(?P<before>^[\s(\[*+-]*|(?<=[A-D])[\s,;(\[]+)(?P<mark>{_MARK})[\s)\]]*"
    r"(?P<letter>(?:Answer |Option )?[A-D])(?![A-Za-z])"
)


def marks_behind(text: str) -> str:
    """Return the text with the mark of each option after its letter; marks before a letter are moved."""
    text = text.translate(_UNIFIED_MARKS)
    if not re.match(rf"[\s(\[*+-]*{_MARK}", text):
        return text
    return _MARK_BEFORE.sub(lambda match: f"{match['before']}{match['letter']} {match['mark']}", text)


# --- signs --------------------------------------------------------------------------------------------

_NAMED = r"(?<![A-Za-z])(?:(?i:answer|option|response)[ \t])?[*_]{0,2}"
_COMPARISON = re.compile(
    rf"{_NAMED}(?P<one>[A-B])[*_]{{0,2}}[ \t]?(?:(?P<more>>{{1,3}}|≻)|<{{1,3}}"
    rf"|≺)[ \t]?{_NAMED}(?P<other>[A-B])(?![A-Za-z>])"
)


def _write_comparison(comparison: re.Match[str]) -> str:
    one, other = comparison["one"], comparison["other"]
    better, worse = (one, other) if comparison["more"] else (other, one)
    return f"Answer {better} is better than Answer {worse}"


# --- other languages ----------------------------------------------------------------------------------

_ENGLISH = {
    "answer": "respuesta réponse antwort risposta resposta opción opção opzione",
    "is": "es est ist é è sería serait ware ware",
    "not": "no pas nicht não non",
    "correct": "correcta correcto correcte bonne richtig richtige korrekt korrekte corretta correta verdadera vraie"
    " juste exacte wahr wahre factuelle faktisch",
    "incorrect": "incorrecta incorrecte falsa fausse falsch falsche inkorrekt scorretta sbagliata errada incorreta"
    " errónea erronée inexacte",
    "first": "primera première erste prima primeira",
    "second": "segunda deuxième seconde zweite seconda",
    "final": "finale endgültige",
    "the": "la le il el die der das a",
}
_AFTER_NOUN = re.compile(r"\banswer (final|(?:in)?correct)(?= ?:| is\b)", re.IGNORECASE)
_FOREIGN = re.compile(rf"(?<!\w)(?:{_ENGLISH['answer'].replace(' ', '|')}|réponses)(?!\w)", re.IGNORECASE)
_WORDS = {word: english for english, words in _ENGLISH.items() for word in words.split() if word != "a"}
_WORD = re.compile(rf"(?<!\w)(?:{'|'.join(sorted(_WORDS, key=len, reverse=True))})(?!\w)", re.IGNORECASE)


def _translate_verdicts(text: str) -> str:
    """Return the text with the words for a verdict in Spanish, French, German, Italian or Portuguese in English."""
    if not _FOREIGN.search(text):
        return text
    return _AFTER_NOUN.sub(r"\1 answer", _WORD.sub(lambda word: _WORDS[word[0].lower()], text))


# --- tables -------------------------------------------------------------------------------------------

_OPTION = re.compile(
    r"[\s*_]*(?:(?:answer|option|response|choice|选项|答案)\s?)?\(?(?P<letter>[A-D])\)?(?:项|选项)?[\s*_.:]*",
    re.IGNORECASE,
)
_VERDICT = re.compile(
    rf"[\s*_]*(?:{_MARK}|(?:not |mostly |partially |partly |factually )*(?:in)?(?:correct|accurate)\b"
    rf"|(?:non-?)?factual\b"
    r"|(?:right|wrong|true|false|yes|no|y|n|valid|invalid)\b(?=[\s*_]*(?:$|[,.;:(–—-]))|(?:不?正确|错误|对"
    r"|错)(?=[\s*_]*$))",
    re.IGNORECASE,
)
_YES_OR_NO = re.compile(r"[\s*_]*(?P<word>yes|no|y|n)\b", re.IGNORECASE)
_ASKS_FOR_ERRORS = re.compile(
    r"\b(?:errors?|mistakes?|false|wrong|incorrect|inaccura\w+|confabulated|altered|hallucinat\w+)\b|错", re.IGNORECASE
)


def _rewrite_rows(lines: Sequence[str]) -> Iterator[str]:
    """Yield the lines of a table, with those that give a verdict replaced by one line for each verdict."""
    header: list[str | None] = []
    header_cells: list[str] = []
    for line in lines:
        cells = line.strip().strip("|").split("|")
        options = [option["letter"].upper() if (option := _OPTION.fullmatch(cell)) else None for cell in cells]
        if not header:
            header, header_cells = options, cells
        columns = [pair for pair in zip(header, cells, strict=False) if pair[0] and _VERDICT.match(pair[1])]
        if sum(map(bool, header)) > 1 and columns:
            yield from (_write_verdict(letter, cell, cells[0]) for letter, cell in columns if letter)
        elif (
            options[0]
            and not any(options[1:])
            and (rated := [n for n, cell in enumerate(cells) if _VERDICT.match(cell)])
        ):
            last = rated[-1]
            yield _write_verdict(options[0], cells[last], header_cells[last] if last < len(header_cells) else "")
        else:
            yield line


def _write_verdict(letter: str, cell: str, question: str) -> str:
    """Return the verdict of a cell as a sentence.

    Args:
        letter: The letter of the option.
        cell: The content of the cell.
        question: The heading of the cell's row or column. If it asks for errors, "yes" calls the option wrong.
    """
    cell = cell.strip(" *_")
    if short := _YES_OR_NO.match(cell):
        good = (short["word"][0].lower() == "y") != bool(_ASKS_FOR_ERRORS.search(question))
        return f"Answer {letter}: {'correct' if good else 'incorrect'}"
    return f"Answer {letter}: {cell}"


def _rewrite_tables(text: str) -> str:
    """Return the text with the rows of tables that rate options rewritten as plain verdicts."""
    if text.count("|") < 4:
        return text
    kept: list[str] = []
    rows: list[str] = []
    for line in [*text.split("\n"), ""]:
        if line.lstrip().startswith("|"):
            rows.append(line)
            continue
        kept += _rewrite_rows(rows)
        rows.clear()
        kept.append(line)
    return "\n".join(kept[:-1])


def plain_verdicts(text: str) -> str:
    """Return the text with marks, signs, tables and words of other languages rewritten as plain English verdicts."""
    return _COMPARISON.sub(_write_comparison, _rewrite_tables(_translate_verdicts(marks_behind(text))))
