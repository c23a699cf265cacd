"""From the keys of a task file to a `Task`: every key is checked here, where it is read."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

from halu_tasks.data.json_arrays import array_lines
from halu_tasks.data.rows import Row, json_lines
from halu_tasks.data.sources import SOURCES, Source
from halu_tasks.data.tables import table_lines
from halu_tasks.errors import UsageError, did_you_mean
from halu_tasks.items import Case, Item, by_target
from halu_tasks.options import Options
from halu_tasks.prompting import JinjaText, render_jinja
from halu_tasks.scorers.kinds import AnswerKind, JudgedText, Label, Spans, Strings
from halu_tasks.scorers.reading.judge import JudgeSpec
from halu_tasks.scorers.registry import TaskScorer, make_scorer, reading_named
from halu_tasks.tasks.task import Decoding, Reader, Subject, Task, Wording
from halu_tasks.tasks.yaml_files import FunctionName, TaskFile, load_object

if TYPE_CHECKING:
    from halu_tasks.scorers.metrics import Metric

MODES = ("strict", "paper")
PROMPT_FORMATS = ("independent", "comparative", "localization", "correction")
KEYS = {
    "task": "name of the task",
    "reference_task": "the packaged task that the definition comes from",
    "about": "one line for listings",
    "items": "number of items in the published data",
    "source": "where the data come from",
    "file": "the file of the source",
    "training_file": "the file of its training part",
    "rows": "fields, check and format of a row",
    "cases": "function from rows to cases",
    "cases_arguments": "arguments of that function",
    "fields": "fields of a case that prompts may show",
    "description": "system text",
    "doc_to_text": "prompt",
    "doc_to_target": "the reply that earns the full score",
    "doc_to_choice": "two answers to weigh by their probabilities, the one looked for first",
    "chain_of_thought": "system text that asks for reasoning first",
    "wordings": "other texts where an option changes the question",
    "prompt_format": "solver of the same prompt format",
    "generation_kwargs": "decoding",
    "answer": "kind of answer, its labels and its reading",
    "scorer": "scorers by mode, with their arguments",
    "judge": "what a judge is asked about a reply",
    "tags": "values of the tags by which metrics are split",
    "metric_list": "metrics, the headline first",
    "task_options": "options that change what is asked",
    "method_input": "fields that detection methods look at",
    "baseline": "a reply made without knowing the answer",
    "num_fewshot": "worked examples that the task has of its own",
    "order_examples": "function that orders worked examples",
    "inspect_module": "module with the task for Inspect",
    "metadata": "version",
}
"""Every key that a task file may have, beside those of lm-eval that say nothing of how a task is asked or scored."""

_OF_LM_EVAL = ("tag", "task_alias", "class", "output_type", "include", "group", "task_list")
_WITHOUT_EFFECT = {
    "dataset_path": "source",
    "dataset_name": "file",
    "process_docs": "cases",
    "process_results": "scorer",
    "filter_list": "answer and scorer",
    "repeats": "the method self_consistency",
    "fewshot_config": "order_examples",
    "fewshot_split": "training_file",
    "test_split": "file",
}
"""Keys of lm-eval that would be read and have no effect, and the keys that do what they are meant for."""

_METRIC_KEYS = ("metric", "of", "by", "requires", "split_requires", "higher_is_better")
_ROW_TYPES = {"string": str, "array": list, "object": dict, "any": object}
_FORMATS = {"json_lines": json_lines, "json_array": array_lines}
_REQUIRED = object()


def task_from(file: TaskFile, reference: Task | None = None) -> Task:
    """The task that a file defines.

    Args:
        file: the file's keys and values.
        reference: for a user's file, the packaged task that it was derived from.

    Raises:
        UsageError: one line that names the file, the line and the key that is missing, unknown or wrong.
    """
    return _Definition(file, reference).task()


@dataclass
class _Definition:
    """The keys of a task file while a task is made of them."""

    file: TaskFile
    reference: Task | None

    # --- access to keys, and errors ---------------------------------------------------------------

    def fail(self, key: str, reason: object) -> NoReturn:
        raise UsageError(f"{self.file.place(key)}: {key}: {reason}")

    def get(self, key: str, kind: type | tuple[type, ...], expected: str, default: Any = _REQUIRED) -> Any:
        """The value of a key, of the given kind; the default where it is absent or null."""
        value = self.file.values.get(key)
        if value is None:
            if default is _REQUIRED:
                self.fail(key, f"is missing ({KEYS[key]})")
            return default
        if not isinstance(value, kind) or (isinstance(value, bool) and bool not in _kinds(kind)):
            self.fail(key, f"expected {expected}, got {value!r}")
        return value

    def string(self, key: str, default: Any = _REQUIRED) -> Any:
        value = self.get(key, str, "a string", default)
        if isinstance(value, FunctionName):
            self.fail(key, f"expected a string, got !function {value}")
        return value

    def count(self, key: str, default: Any) -> Any:
        value = self.get(key, int, "a number", default)
        if value is not None and value < 0:
            self.fail(key, f"expected a number of at least 0, got {value}")
        return value

    def strings(self, key: str, default: Any = _REQUIRED) -> tuple[str, ...]:
        return self.all_strings(key, self.get(key, list, "a list of strings", default))

    def all_strings(self, key: str, values: Any) -> tuple[str, ...]:
        if not isinstance(values, list | tuple) or not all(isinstance(value, str) for value in values):
            self.fail(key, f"expected a list of strings, got {values!r} (quote True, False, Yes and No)")
        return tuple(values)

    def mapping(self, key: str, default: Any = _REQUIRED, *, known: Iterable[str] | None = None) -> dict[str, Any]:
        found: dict[str, Any] = self.get(key, dict, "a mapping", default)
        for name in found:
            if not isinstance(name, str):
                self.fail(key, f"the key {name!r} is not a string (quote True, False, Yes and No)")
            if known is not None and name not in (names := list(known)):
                self.fail(key, f"unknown key {name!r}{did_you_mean(name, names)}; known: {', '.join(names)}")
        return found

    def load(self, key: str, value: Any = None) -> Any:
        """The object that a `!function` names."""
        try:
            return load_object(self.file.values.get(key) if value is None else value)
        except ValueError as error:
            self.fail(key, error)

    def function(self, key: str, *arguments: Any, **named: Any) -> Any:
        """The function of a key, which must take these arguments."""
        function = self.load(key, self.get(key, object, "!function MODULE.NAME"))
        self.takes(key, function, *arguments, **named)
        return function

    def takes(self, key: str, function: Any, *arguments: Any, **named: Any) -> None:
        """Fail unless `function` can be called with these arguments."""
        if not callable(function):
            self.fail(key, f"expected !function MODULE.NAME, got {function!r}")
        try:
            signature = inspect.signature(function)
        except ValueError:  # a built-in one that has none
            return
        try:
            signature.bind(*arguments, **named)
        except TypeError as error:
            self.fail(key, f"{getattr(function, '__name__', function)}{signature}: {error}")

    # --- the task --------------------------------------------------------------------------------

    def task(self) -> Task:
        self.check_keys()
        name = self.string("task")
        answer = self.answer()
        scoring = {mode: self.scoring(mode, answer) for mode in MODES}
        strict = scoring["strict"]
        options = self.options()
        wordings = self.wordings(options)
        task = Task(
            name=name,
            reference=self.string("reference_task"),
            changed=(),
            version=self.version(),
            about=self.string("about"),
            size=self.count("items", None),
            reader=self.reader(),
            cases=self.cases(),
            fields=self.strings("fields"),
            wordings=wordings,
            questions=self.reference.questions if self.reference else _questions(wordings),
            answer=answer,
            scoring=scoring,
            headline=strict.metrics[0].name,
            decoding=self.decoding(),
            oracle=self.reply("doc_to_target", "{{target}}"),
            baseline=self.reply("baseline", ""),
            shots=self.count("num_fewshot", 0),
            examples=self.function("order_examples", [], Options())
            if "order_examples" in self.file.values
            else lambda cases, options: by_target(cases),
            task_options=options,
            judged=self.judge(answer),
            choices=self.choices(answer),
            subject=self.subject(),
            prompt_format=self.prompt_format(),
            inspect_module=self.string("inspect_module", None) or self.source().name,
            definition={key: value for key, value in self.file.values.items() if key in KEYS},
            path=self.file.path,
        )
        return replace(task, changed=self.changed()) if self.reference else task

    def changed(self) -> tuple[str, ...]:
        """The keys, other than those of the wording, that differ from the reference task's."""
        assert self.reference
        elsewhere = ("task", "about", "items", "metadata", "description", "doc_to_text", "chain_of_thought", "wordings")
        own, packaged = self.file.values, self.reference.definition
        keys = [key for key in KEYS if key not in elsewhere]
        return tuple(key for key in keys if comparable(own.get(key)) != comparable(packaged.get(key)))

    def check_keys(self) -> None:
        for key in self.file.values:
            if key in KEYS or key in _OF_LM_EVAL:
                continue
            if key in _WITHOUT_EFFECT:
                self.fail(key, f"has no effect on a task of halu-tasks; use {_WITHOUT_EFFECT[key]}")
            self.fail(key, f"unknown key{did_you_mean(key, KEYS)}; known: {', '.join(KEYS)}")
        if (asked := self.file.values.get("output_type")) not in (None, "generate_until"):
            self.fail("output_type", f"expected generate_until, got {asked!r}; the option probability weighs labels")

    def version(self) -> int:
        version = self.mapping("metadata", {}).get("version", self.reference.version if self.reference else None)
        if not isinstance(version, int | float) or isinstance(version, bool) or not 0 <= version < 1e6:
            self.fail("metadata", f"version: expected a number, got {version!r}")
        return int(version)

    def source(self) -> Source:
        source = self.load("source", self.get("source", object, "the name of a source or !function MODULE.NAME"))
        if isinstance(source, str):
            if source not in SOURCES:
                self.fail(
                    "source", f"unknown source {source!r}{did_you_mean(source, SOURCES)}; known: {', '.join(SOURCES)}"
                )
            return SOURCES[source]
        if not isinstance(source, Source):
            self.fail("source", f"expected the name of a source or a Source, got {source!r}")
        return source

    def reader(self) -> Reader:
        rows = self.mapping("rows", known=("fields", "check", "format", "columns"))
        source, file = self.source(), self.string("file")
        columns = self.columns(rows.get("columns") or {})
        types = rows.get("fields") or dict.fromkeys(columns, "string")
        if not isinstance(types, dict) or not all(_hashable_in(kind, _ROW_TYPES) for kind in types.values()):
            self.fail("rows", f"fields: expected names with one of {', '.join(_ROW_TYPES)}, got {types!r}")
        if (form := rows.get("format", "json_lines")) not in (*_FORMATS, "table"):
            self.fail("rows", f"format: expected {', '.join((*_FORMATS, 'table'))}, got {form!r}")
        lines = _FORMATS.get(form) or partial(table_lines, columns=columns or dict.fromkeys(types, ()))
        options = [option.name for option in fields(Options)]
        self.check_placeholders("file", file, options, "option")
        training = self.string("training_file", None)
        for name in (_file_name(file, Options()), *([training] if training else [])):
            if name not in [known.name for known in source.files]:
                known = ", ".join(known.name for known in source.files)
                self.fail(
                    "training_file" if name == training else "file",
                    f"source {source.name} has no file {name!r}; it has {known}",
                )
        check = self.load("rows", rows["check"]) if "check" in rows else lambda row: None
        self.takes("rows", check, {})
        row = {name: _ROW_TYPES[kind] for name, kind in types.items()}
        return Reader(source, partial(_file_name, file), row, check, lines, training)

    def columns(self, columns: Any) -> dict[str, tuple[str, ...]]:
        if not isinstance(columns, dict):
            self.fail("rows", f"columns: expected names, each with a list of other names, got {columns!r}")
        return {name: self.all_strings("rows", others or ()) for name, others in columns.items()}

    def cases(self) -> Callable[[Iterable[Row], Options], Iterable[Case]]:
        arguments = self.mapping("cases_arguments", {})
        function = self.function("cases", [], Options(), **arguments)
        return partial(function, **arguments) if arguments else function

    # --- prompts ---------------------------------------------------------------------------------

    def wordings(self, options: Sequence[str]) -> tuple[Wording, ...]:
        first = Wording({}, self.prompt(self.file.values, "doc_to_text"))
        others = [self.other_wording(entry, first, options) for entry in self.get("wordings", list, "a list", [])]
        return (first, *others)

    def other_wording(self, entry: Any, first: Wording, options: Sequence[str]) -> Wording:
        texts = ("description", "doc_to_text", "chain_of_thought")
        if not isinstance(entry, dict) or not isinstance(when := entry.get("when"), dict):
            self.fail("wordings", f"expected a mapping with 'when' and {', '.join(texts)}, got {entry!r}")
        if not when:
            self.fail("wordings", "when: names no option")
        for name, value in when.items():
            if name not in options:
                self.fail("wordings", f"when: {name!r} is not among the task_options")
            self.check_option("wordings", name, value)
        if unknown := sorted(set(entry) - {"when", *texts}):
            self.fail("wordings", f"unknown key {unknown[0]!r}; known: when, {', '.join(texts)}")
        return Wording(when, {**first.prompt, **self.prompt(entry, "wordings")})

    def prompt(self, texts: Mapping[str, Any], key: str) -> dict[str, str]:
        """The texts of a prompt, whose placeholders are checked."""
        prompt: dict[str, str] = {}
        for part, name in {"system": "description", "user": "doc_to_text", "cot": "chain_of_thought"}.items():
            text = texts.get(name)
            at = name if key != "wordings" else key
            if text is None:
                if part == "user" and key != "wordings":
                    self.fail(name, f"is missing ({KEYS[name]})")
                continue
            if not isinstance(text, str) or isinstance(text, FunctionName):
                self.fail(at, f"expected a string, a template over the fields, got {text!r}")
            if part == "user" and (not text.strip() or text != text.rstrip()):
                self.fail(at, "is empty or ends in white space")
            self.check_placeholders(at, text, self.strings("fields"))
            prompt[part] = JinjaText(text)
        return prompt

    def check_placeholders(self, key: str, text: str, known: Sequence[str], what: str = "field") -> None:
        try:
            unknown = sorted(JinjaText(text).placeholders() - set(known))
        except ValueError as error:
            self.fail(key, error)
        if unknown:
            close = did_you_mean(unknown[0], known)
            self.fail(key, f"{{{{{unknown[0]}}}}} is no {what}{close}; {what}s: {', '.join(known)}")

    def reply(self, key: str, default: str) -> Callable[[Item], str]:
        """A reply made from an item: a template over its target, or a function of the item. Items of logs have a target
        and gold, but no fields."""
        value = self.file.values.get(key, default)
        if isinstance(value, FunctionName) or callable(value):
            made: Callable[[Item], str] = self.function(key, None)
            return made
        if not isinstance(value, str):
            self.fail(key, f"expected a string (quoted) or !function MODULE.NAME, got {value!r}")
        self.check_placeholders(key, value, ("target",))
        if value == "{{target}}":
            return lambda item: item.target
        return lambda item: render_jinja(value, {"target": item.target})

    def prompt_format(self) -> str | None:
        name: str | None = self.string("prompt_format", None)
        if name is not None and name not in PROMPT_FORMATS:
            self.fail(
                "prompt_format",
                f"unknown format {name!r}{did_you_mean(name, PROMPT_FORMATS)}; known: {', '.join(PROMPT_FORMATS)}",
            )
        return name

    def decoding(self) -> Decoding:
        given = self.mapping("generation_kwargs", known=("max_gen_toks", "temperature", "top_p", "do_sample", "until"))
        if self.reference and "max_gen_toks" not in given:
            # a derived file that sets another temperature keeps the rest, as its author will expect
            given = {**self.reference.definition["generation_kwargs"], **given}
        tokens, temperature, top_p = given.get("max_gen_toks"), given.get("temperature", 0.0), given.get("top_p")
        if not isinstance(tokens, int) or isinstance(tokens, bool) or tokens < 1:
            self.fail("generation_kwargs", f"max_gen_toks: expected a positive integer, got {tokens!r}")
        for name, value in (("temperature", temperature), ("top_p", 0.0 if top_p is None else top_p)):
            if not isinstance(value, int | float) or isinstance(value, bool) or value < 0:
                self.fail("generation_kwargs", f"{name}: expected a number of at least 0, got {value!r}")
        if given.get("do_sample", temperature > 0) is not (temperature > 0):
            self.fail("generation_kwargs", f"do_sample is {given['do_sample']!r} and temperature is {temperature}")
        if given.get("until") not in (None, []):
            self.fail("generation_kwargs", f"until: expected [], since replies are read whole, got {given['until']!r}")
        return Decoding(tokens, float(temperature), None if top_p is None else float(top_p))

    # --- answers, scores, metrics ----------------------------------------------------------------

    def answer(self) -> AnswerKind:
        answer = self.mapping("answer", known=("kind", "labels", "reading", "target_varies"))
        kinds: dict[str, Callable[[], AnswerKind]] = {
            "label": lambda: self.label(answer),
            "spans": Spans,
            "strings": Strings,
            "judged_text": JudgedText,
        }
        kind = answer.get("kind")
        if not isinstance(kind, str) or kind not in kinds:
            self.fail("answer", f"kind: expected {', '.join(kinds)}, got {kind!r}")
        if kind != "label" and len(answer) > 1:
            self.fail("answer", f"a {kind} has no {', '.join(name for name in answer if name != 'kind')}")
        return kinds[kind]()

    def label(self, answer: Mapping[str, Any]) -> Label:
        given = answer.get("labels")
        labels = self.all_strings("answer", list(given) if isinstance(given, dict) else given)
        names = given if isinstance(given, dict) else {}
        if len(labels) < 2 or len(set(labels)) < len(labels):
            self.fail("answer", f"labels: expected two or more different strings, got {list(labels)}")
        reading = answer.get("reading")
        try:
            read = reading_named(self.load("answer", reading))
        except ValueError as error:
            self.fail("answer", f"reading: {error}")
        self.takes("answer", read, "")
        self.all_strings("answer", list(names.values()))
        if not isinstance(varies := answer.get("target_varies", False), bool):
            self.fail("answer", f"target_varies: expected true or false, got {varies!r}")
        return Label(labels, read, names, varies)

    def scoring(self, mode: str, answer: AnswerKind) -> TaskScorer:
        """The scorer of a mode, with the metrics of `metric_list` that it has, and the shares of replies without an
        answer, which are always reported."""
        scorer = self.scorer(mode, answer)
        known = {metric.name: metric for metric in (*self.scorer("strict", answer).metrics, *scorer.metrics)}
        own = {metric.name: metric for metric in scorer.metrics}
        plain: list[Metric] = []
        split: list[Metric] = []
        for entry in self.metric_entries(known):
            if (base := own.get(entry.of)) is None:
                continue  # the published definition does not have it
            metric = replace(base, name=entry.name, requires_option=entry.requires or base.requires_option)
            plain.append(metric)
            part = replace(metric, requires_option=entry.split_requires or metric.requires_option)
            split += [part.only(entry.by, value, f"{entry.name}_{value}") for value in entry.values]
        if not plain:
            self.fail("metric_list", f"names no metric that the scorer of {mode} has")
        names = {metric.name for metric in plain}
        if "unparsed" not in own:
            self.fail("scorer", f"{mode}: the scorer lacks the metric 'unparsed' (scorers.metrics.share_unparsed)")
        counted = [own["unparsed"], *(answer.outcome_metrics() if mode == "strict" else ())]
        metrics = (*plain, *(metric for metric in counted if metric.name not in names), *split)
        return TaskScorer(scorer.score, metrics, scorer.reference_replies)

    def scorer(self, mode: str, answer: AnswerKind) -> TaskScorer:
        """The scorer of a mode. Its arguments `reading` and `labels`, where not given, are the answer's."""
        specs = self.mapping("scorer", known=MODES)
        if missing := [mode for mode in MODES if specs.get(mode) is None]:
            self.fail("scorer", f"{missing[0]}: is missing")
        spec = specs[mode]
        if isinstance(spec, dict):
            arguments = {str(name): self.load("scorer", value) for name, value in spec.items() if name != "name"}
            spec = spec.get("name")
        else:
            arguments = {}
        try:
            if isinstance(spec, str) and not isinstance(spec, FunctionName):
                return make_scorer(spec, arguments, answer.scorer_arguments())
            made = load_object(spec)(**arguments)
        except Exception as error:  # what a user's function raises is a fault of the file that names it
            self.fail("scorer", f"{mode}: {' '.join(str(error).split()) or type(error).__name__}")
        if not isinstance(made, TaskScorer):
            self.fail("scorer", f"{mode}: expected a function that returns a TaskScorer, got {type(made).__name__}")
        return made

    def metric_entries(self, known: Mapping[str, Metric]) -> list[_MetricEntry]:
        tags = self.mapping("tags", {})
        entries = []
        for given in self.get("metric_list", list, "a list of metrics"):
            if not isinstance(given, dict) or not isinstance(name := given.get("metric"), str):
                self.fail("metric_list", f"expected entries 'metric: NAME', got {given!r}")
            if unknown := sorted(set(given) - set(_METRIC_KEYS)):
                self.fail("metric_list", f"{name}: unknown key {unknown[0]!r}; known: {', '.join(_METRIC_KEYS)}")
            of, by, requires = given.get("of", name), given.get("by"), given.get("requires")
            if not _hashable_in(of, known):
                self.fail(
                    "metric_list",
                    f"unknown metric {of!r}{did_you_mean(str(of), known)}; the scorer has {', '.join(known)}",
                )
            better = known[of].higher_is_better
            if given.get("higher_is_better", better) is not better:
                self.fail("metric_list", f"{name}: higher_is_better is {better} by its definition")
            if by is not None and not _hashable_in(by, tags):
                self.fail(
                    "metric_list", f"{name}: by: expected one of the tags ({', '.join(tags) or 'none'}), got {by!r}"
                )
            split_requires = given.get("split_requires")
            for option in (requires, split_requires):
                if option is not None and option not in [known.name for known in fields(Options)]:
                    self.fail("metric_list", f"{name}: unknown option {option!r}")
            values = self.all_strings("tags", tags[by]) if by else ()
            entries.append(_MetricEntry(name, of, by or "", values, requires, split_requires))
        if not entries:
            self.fail("metric_list", "is empty; the first metric is the headline")
        names = [entry.name for entry in entries]
        if double := [name for name in names if names.count(name) > 1]:
            self.fail("metric_list", f"names {double[0]!r} twice")
        return entries

    def judge(self, answer: AnswerKind) -> JudgeSpec | None:
        judge = self.load("judge") if self.file.values.get("judge") is not None else None
        if judge is not None and not isinstance(judge, JudgeSpec):
            self.fail("judge", f"expected !function MODULE.NAME of a JudgeSpec, got {judge!r}")
        if (judge is None) is isinstance(answer, JudgedText):
            self.fail("judge", "is given with the answer kind judged_text, and only with it")
        return judge

    def choices(self, answer: AnswerKind) -> tuple[str, str] | None:
        if self.file.values.get("doc_to_choice") is None:
            return None
        choices = self.strings("doc_to_choice")
        if not isinstance(answer, Label) or sorted(choices) != sorted(answer.labels) or len(choices) != 2:
            self.fail("doc_to_choice", f"expected the two labels of the answer, got {list(choices)}")
        return choices[0], choices[1]

    # --- options and methods ---------------------------------------------------------------------

    def options(self) -> tuple[str, ...]:
        options = self.strings("task_options", [])
        known = Options.of_some_tasks()
        for name in options:
            if name not in known:
                self.fail(
                    "task_options", f"unknown option {name!r}{did_you_mean(name, known)}; known: {', '.join(known)}"
                )
        return options

    def check_option(self, key: str, name: str, value: Any) -> None:
        try:
            Options(**{name: value})
        except UsageError as error:
            self.fail(key, error)

    def subject(self) -> Subject | None:
        parts = self.mapping("method_input", {}, known=Subject._fields)
        known = self.strings("fields")
        for part, field in parts.items():
            if field not in known and part != "evidence":
                self.fail("method_input", f"{part}: {field!r} is no field; fields: {', '.join(known)}")
        if parts and "text" not in parts:
            self.fail("method_input", "lacks 'text', the field that may hallucinate")
        return Subject(**parts) if parts else None


@dataclass(frozen=True)
class _MetricEntry:
    """An entry of `metric_list`: a metric of the scorer (`of`) under a name, also split by the values of a tag, and the
    options without which it, or its split, is not reported."""

    name: str
    of: str
    by: str
    values: tuple[str, ...]
    requires: str | None
    split_requires: str | None


def _questions(wordings: Iterable[Wording]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(str(wording.prompt["user"]) for wording in wordings))


def _kinds(kind: type | tuple[type, ...]) -> tuple[type, ...]:
    return kind if isinstance(kind, tuple) else (kind,)


def _hashable_in(value: Any, known: Iterable[Any]) -> bool:
    return isinstance(value, str) and value in known


def comparable(value: Any) -> Any:
    """A value as two files can be compared by it: a function by its name, since lm-eval hands over the object."""
    if isinstance(value, dict):
        return {key: comparable(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [comparable(each) for each in value]
    try:
        return load_object(value)
    except ValueError:
        return value


def _file_name(template: str, options: Options) -> str:
    """The name of the file that the options choose."""
    if "{" not in template:
        return template
    return render_jinja(template, {option.name: getattr(options, option.name) for option in fields(Options)})
