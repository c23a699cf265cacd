"""Errors that users can fix themselves: each message is one line that says what is wrong, where, and what to do."""

import difflib
import re
import sys
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from importlib.metadata import requires
from importlib.util import find_spec
from types import TracebackType

from halu_tasks.core.credentials import printable

REFUSED = (400, 413, 422, 451)
"""The HTTP statuses by which a server refuses a request that it would refuse again."""
# statuses that mean this only where the server says so: 403 is mostly about a key, and 500 passes
_REFUSED_IF = {
    403: re.compile(r"\bmoderation\b|\bcontent[ _-]?(?:filter|policy)", re.IGNORECASE),
    500: re.compile(r"\bcontext[ _-]?(?:length|size|window)\b", re.IGNORECASE),
}
LM_EVAL = ("lm_eval", "lm-eval", "lm-evaluate", "lm_eval/__main__.py")
"""The programs of lm-eval, by the ends of their paths."""


def is_refused(status: int | None, message: str) -> bool:
    """Return whether a server refuses a request that it would refuse again.

    Args:
        status: The HTTP status of the response, if there is one.
        message: What the server says.
    """
    return status in REFUSED or (status in _REFUSED_IF and bool(_REFUSED_IF[status].search(message)))


class HaluTasksError(Exception):
    """Base class of the package's errors.

    The command line prints the message and exits with `exit_status`. The message is without credentials, such as
    those in a server's address, and without control characters.
    """

    exit_status = 2

    def __init__(self, message: object = "") -> None:
        super().__init__(printable(str(message)))


class UsageError(HaluTasksError, ValueError):
    """An unknown option or name."""


class ArgumentError(HaluTasksError, TypeError):
    """An argument that a solver or scorer does not accept, or a value of the wrong type.

    Not a ValueError: Inspect reports a ValueError as a scorer that cannot be loaded, and hides the message.
    """


class DataError(HaluTasksError, ValueError):
    """Data that is missing, damaged, or not what its file name suggests."""


class ModelError(HaluTasksError, RuntimeError):
    """A model that does not answer: its server is unreachable, rejects the key, or does not know the model."""


class RejectedError(ModelError):
    """A model whose server rejects what a task asks, and would reject it again."""


class RunInterrupted(HaluTasksError, RuntimeError):
    """A run that was interrupted from the keyboard, and that the same command continues."""

    exit_status = 130


class JudgeError(HaluTasksError, RuntimeError):
    """A judge that cannot be reached, or that failed more often than is allowed."""


class BudgetError(JudgeError):
    """A judge that cannot be asked again, because it might then cost more than is allowed."""


@contextmanager
def file_errors(place: object, advice: str = "") -> Iterator[None]:
    """Turn what the operating system reports on a file or folder into one line that names it.

    Args:
        place: The file or folder, as the message names it.
        advice: How the message ends.

    Raises:
        DataError: Instead of any OSError.
    """
    try:
        yield
    except OSError as error:
        raise DataError(f"{place}: {error.strerror or error}{advice}") from None


def did_you_mean(name: str, names: Iterable[str], prefix: str = "") -> str:
    """Suggest the closest valid name, as a suffix to an error message.

    Args:
        name: The unknown name.
        names: The valid names.
        prefix: What users put before every name, such as `--`.

    Returns:
        ` (did you mean 'x'?)`, or an empty string if no valid name is similar.
    """
    by_fold = {candidate.casefold(): candidate for candidate in names}
    matches = difflib.get_close_matches(name.casefold(), by_fold, n=1)
    return f" (did you mean {prefix + by_fold[matches[0]]!r}?)" if matches else ""


def unknown(what: str, name: object, names: Collection[str], prefix: str = "") -> str:
    """Describe an unknown name, with the closest valid one and all valid ones; users put `prefix` before each."""
    close, listed = did_you_mean(str(name), names, prefix), ", ".join(prefix + each for each in names) or "none"
    return f"unknown {what} {prefix + str(name) if prefix else name!r}{close}; known: {listed}"


def install_excepthook(*programs: str, note: str = "") -> None:
    """Print this package's errors without a traceback if one of `programs` is running.

    A traceback would bury the line that says what to do. Users' own programs keep their tracebacks.

    Args:
        *programs: Endings of the path in `sys.argv[0]`.
        note: What is printed after the traceback of any other error.
    """
    if not sys.argv[0].replace("\\", "/").endswith(programs):
        return
    previous_hook = sys.excepthook

    def print_message(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
        if isinstance(error, HaluTasksError):
            print(f"halu-tasks: {error}", file=sys.stderr)
            return
        previous_hook(kind, error, traceback)
        if note and issubclass(kind, Exception):
            print(f"halu-tasks: {note}", file=sys.stderr)

    sys.excepthook = print_message


EXTRAS = {
    "build": ("bm25s", "datasketch", "sklearn"),
    "cluster": ("ray",),
    "embeddings": ("sentence_transformers",),
    "hf": ("torch", "transformers"),
    "knowledge": ("bm25s",),
    "nli": ("torch", "transformers"),
    "openai": ("openai",),
    "scout": ("inspect_scout",),
    "xlsx": ("openpyxl",),
}
"""Extra to the modules by which it is known to be installed."""


def missing_modules(extra: str) -> list[str]:
    """Return the modules of an extra that are not installed."""
    return [module for module in EXTRAS[extra] if find_spec(module) is None]


def install_hint(extra: str) -> str:
    """Return the command that installs the packages of an extra; this package itself may be on no index."""
    listed = (one.partition("; extra == ") for one in requires("halu-tasks") or ())
    return " ".join(["pip install", *(f'"{package}"' for package, _, of in listed if of[1:-1] == extra)])


def require_extra(extra: str, purpose: str) -> None:
    """Check that an extra is installed.

    Args:
        extra: The extra's name.
        purpose: What needs it, as the beginning of a sentence.

    Raises:
        UsageError: One of its modules is missing.
    """
    if missing := missing_modules(extra):
        raise UsageError(f"{purpose} requires {' and '.join(missing)}: {install_hint(extra)}")
