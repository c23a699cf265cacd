"""The errors a user can mend: each message is one line that says what, where, and what to do."""

import difflib
import sys
from collections.abc import Iterable
from types import TracebackType

from halu_tasks.credentials import redacted

LM_EVAL = ("lm_eval", "lm-eval", "lm-evaluate", "lm_eval/__main__.py")
"""The programs of lm-eval, by the ends of their paths."""


class HaluTasksError(Exception):
    """Base of the package's own errors. The command line prints the message and exits with 2. Credentials in the
    message, such as those in a server's address, are not told."""

    def __init__(self, message: object = "") -> None:
        super().__init__(redacted(str(message)))


class UsageError(HaluTasksError, ValueError):
    """An option or name that the package does not know."""


class ArgumentError(HaluTasksError, TypeError):
    """An argument that a solver or scorer has not, or a value of the wrong kind. No ValueError: Inspect takes that for
    a scorer that cannot be loaded, and hides the message."""


class DataError(HaluTasksError, ValueError):
    """Data that is missing, damaged, or not what its file name promises."""


class ForeignError(DataError):
    """A result that is none of this package's."""


class ModelError(HaluTasksError, RuntimeError):
    """A model that gives no answer: its server cannot be reached, refuses the key, or does not know the model."""


class JudgeError(HaluTasksError, RuntimeError):
    """A judge that cannot be reached, or that failed more often than allowed."""


def did_you_mean(name: str, known: Iterable[str], prefix: str = "") -> str:
    """What to say behind a name that is not `known`: ` (did you mean 'x'?)`, or nothing if none is like it. `prefix`
    is what all names begin with where the user writes them."""
    by_fold = {own.casefold(): own for own in known}
    found = difflib.get_close_matches(name.casefold(), by_fold, n=1)
    return f" (did you mean {prefix + by_fold[found[0]]!r}?)" if found else ""


def tell_in_one_line(*programs: str) -> None:
    """Where one of `programs` (ends of its path) is what the user started, let an error of this package
    end it with its message alone; a traceback would bury the line that says what to do. Programs of the
    user's own keep their tracebacks."""
    if not sys.argv[0].replace("\\", "/").endswith(programs):
        return
    others = sys.excepthook
    if getattr(others, "tells_in_one_line", False):
        return

    def tell(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
        if isinstance(error, HaluTasksError):
            print(f"halu-tasks: {error}", file=sys.stderr)
        else:
            others(kind, error, traceback)

    tell.tells_in_one_line = True  # type: ignore[attr-defined]
    sys.excepthook = tell
