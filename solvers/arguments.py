"""Arguments of solvers and scorers, which a user gives by name: `-S samples=5`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from halu_tasks.errors import ArgumentError, did_you_mean
from halu_tasks.options import wrong_kind

P = ParamSpec("P")
T = TypeVar("T")


def checked(function: Callable[P, T]) -> Callable[P, T]:
    """Have a function refuse an argument that it has not, or a value of another type, in one line, with an
    ArgumentError. Its annotations have to be postponed."""
    known = {name: str(own.annotation) for name, own in inspect.signature(function).parameters.items()}

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        for name, value in kwargs.items():
            if name not in known:
                told = f"{function.__name__} has no argument {name!r}{did_you_mean(name, known)}"
                raise ArgumentError(f"{told}; arguments: {', '.join(known)}")
            if kind := wrong_kind(value, known[name]):
                raise ArgumentError(f"{function.__name__}: argument {name}={value!r} is not {kind}")
        return function(*args, **kwargs)

    return call
