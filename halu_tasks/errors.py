"""The errors a user can mend: each message is one line that says what, where, and what to do."""

import sys
from types import TracebackType


class HaluTasksError(Exception):
    """Base of the package's own errors. The command line prints the message and exits with 2."""


class UsageError(HaluTasksError, ValueError):
    """An option or name that the package does not know."""


class DataError(HaluTasksError, ValueError):
    """Data that is missing, damaged, or not what its file name promises."""


class ModelError(HaluTasksError, RuntimeError):
    """A model that gives no answer: its server cannot be reached, refuses the key, or does not know the model."""


class JudgeError(HaluTasksError, RuntimeError):
    """A judge that cannot be reached, or that failed more often than allowed."""


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
