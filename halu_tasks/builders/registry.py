"""The registry of pipelines: all pipeline classes in the modules of this package."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from halu_tasks.builders import pipelines as packaged
from halu_tasks.builders.pipeline import Pipeline
from halu_tasks.core.errors import UsageError, did_you_mean
from halu_tasks.core.options import OptionSpec, option_specs


@cache
def pipelines() -> dict[str, type[Pipeline]]:
    """Return the pipelines by name, sorted."""
    for module in pkgutil.iter_modules(packaged.__path__):
        importlib.import_module(f"{packaged.__name__}.{module.name}.pipeline")
    classes = [cls for cls in Pipeline.__subclasses__() if cls.__module__.startswith(f"{packaged.__name__}.")]
    return dict(sorted((cls.name, cls) for cls in classes))


def pipeline_class(name: str) -> type[Pipeline]:
    """Return a pipeline's class by name.

    Raises:
        UsageError: the pipeline does not exist.
    """
    classes = pipelines()
    if name not in classes:
        raise UsageError(f"unknown builder {name!r}{did_you_mean(name, classes)}; builders: {', '.join(classes)}")
    return classes[name]


def pipeline_named(name: str, options: Mapping[str, Any]) -> Pipeline:
    """Create a pipeline by name.

    Args:
        name: name of the pipeline.
        options: the user's options; None stands for the default.

    Raises:
        UsageError: the pipeline or an option does not exist, or a value has the wrong type.
    """
    cls = pipeline_class(name)
    specs = option_specs(cls)
    given = {key: value for key, value in options.items() if value is not None}
    if unknown := sorted(given.keys() - specs.keys()):
        close = did_you_mean(unknown[0], specs)
        raise UsageError(f"{name} has no option {unknown[0]!r}{close}; options: {', '.join(specs)}")
    files = cls.files()
    values = {key: _converted(specs[key], value, is_file=key in files) for key, value in given.items()}
    for key, value in values.items():
        try:
            specs[key].check(value)
        except UsageError as error:
            raise UsageError(f"{name}: {error}") from None
    return cls(**values)


def _converted(spec: OptionSpec, value: Any, *, is_file: bool) -> Any:
    """Convert a value, which YAML may have given another type, to the type of its option where that is clear."""
    accepts = spec.type.accepts if spec.type else ()
    if tuple in accepts:
        parts = value.split(",") if isinstance(value, str) else value
        return tuple(str(part).strip() for part in parts) if isinstance(parts, list | tuple) else value
    if float in accepts:
        return float(value) if isinstance(value, int) and not isinstance(value, bool) else value
    if spec.name == "language" and value is False:
        # YAML reads Norwegian (no) as false
        return "no"
    if str in accepts:
        # a model is either a name or an existing folder
        path = Path(str(value)).expanduser()
        is_path = is_file or (spec.name.endswith("_model") and path.is_dir())
        return str(path.absolute()) if is_path else str(value)
    return value
