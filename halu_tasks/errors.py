"""The errors a user can mend: each message is one line that says what, where, and what to do."""


class HaluTasksError(Exception):
    """Base of the package's own errors. The command line prints the message and exits with 2."""


class UsageError(HaluTasksError, ValueError):
    """An option or name that the package does not know."""


class DataError(HaluTasksError, ValueError):
    """Data that is missing, damaged, or not what its file name promises."""


class JudgeError(HaluTasksError, RuntimeError):
    """A judge that cannot be reached, or that failed more often than allowed."""
