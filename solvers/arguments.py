"""Validation of the arguments that users give to solvers and scorers by name, such as `-S samples=5`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar, get_type_hints

from halu_tasks.core.errors import ArgumentError, did_you_mean
from halu_tasks.core.options import wrong_kind

P = ParamSpec("P")
T = TypeVar("T")


def checked(function: Callable[P, T]) -> Callable[P, T]:
    """Make a function raise a one-line ArgumentError for an unknown argument, or one of the wrong type.

    The function's module must postpone the evaluation of annotations.
    """
    annotations = {name: str(each.annotation) for name, each in inspect.signature(function).parameters.items()}

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        for name, value in kwargs.items():
            if name not in annotations:
                problem = f"{function.__name__} has no argument {name!r}{did_you_mean(name, annotations)}"
                raise ArgumentError(f"{problem}; arguments: {', '.join(annotations)}")
            if kind := wrong_kind(value, annotations[name]):
                raise ArgumentError(f"{function.__name__}: argument {name}={value!r} is not {kind}")
        return function(*args, **kwargs)

    # Scout resolves the names of types in this module otherwise, where they do not exist
    call.__annotations__ = get_type_hints(function)
    return call
