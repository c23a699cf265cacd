"""The registry of pipelines: all pipeline classes in the modules of this package."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, get_type_hints

from halu_tasks.builders import pipelines as packaged
from halu_tasks.builders.pipeline import Pipeline
from halu_tasks.errors import UsageError, did_you_mean

_PATHS = ("prompts", "stop_words")
"""Options that hold a path to a file."""
_TYPES = {int: "an integer", float: "a number", bool: "true or false"}
"""Types of options as error messages describe them."""


@cache
def pipelines() -> dict[str, type[Pipeline]]:
    """Return the pipelines by name, sorted."""
    for module in pkgutil.iter_modules(packaged.__path__):
        importlib.import_module(f"{packaged.__name__}.{module.name}.pipeline")
    classes = [kind for kind in Pipeline.__subclasses__() if kind.__module__.startswith(f"{packaged.__name__}.")]
    return dict(sorted((kind.name, kind) for kind in classes))


def pipeline_named(name: str, options: Mapping[str, Any]) -> Pipeline:
    """Create a pipeline by name.

    Args:
        name: name of the pipeline.
        options: the user's options; None stands for the default.

    Raises:
        UsageError: the pipeline or an option does not exist, or a value has the wrong type.
    """
    classes = pipelines()
    if name not in classes:
        raise UsageError(f"unknown builder {name!r}{did_you_mean(name, classes)}; builders: {', '.join(classes)}")
    kind = classes[name]
    given = {key: value for key, value in options.items() if value is not None}
    if unknown := sorted(given.keys() - kind.options().keys()):
        close = did_you_mean(unknown[0], kind.options())
        raise UsageError(f"{name} has no option {unknown[0]!r}{close}; options: {', '.join(kind.options())}")
    types = get_type_hints(kind)
    return kind(**{key: _value(name, key, value, types[key]) for key, value in given.items()})


def _value(name: str, key: str, value: Any, kind: Any) -> Any:
    """Convert a value to the type of its option, or raise UsageError."""
    if kind == tuple[str, ...]:
        listed = value.split(",") if isinstance(value, str) else value
        if isinstance(listed, list | tuple):
            return tuple(str(each).strip() for each in listed)
    elif kind is float and isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    elif key == "language" and value is False:
        # YAML reads Norwegian (no) as false
        return "no"
    elif kind in (str, str | None):
        # a model is either a name or an existing folder
        local = key in _PATHS or (key.endswith("_model") and Path(str(value)).expanduser().is_dir())
        return str(Path(str(value)).expanduser().absolute()) if local else str(value)
    elif kind in (int, bool) and type(value) is kind:
        return value
    expected = "a list of strings" if kind == tuple[str, ...] else _TYPES.get(kind, str(kind))
    raise UsageError(f"{name}: option {key}: expected {expected}, got {value!r}")
