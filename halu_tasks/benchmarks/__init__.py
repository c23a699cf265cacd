"""One module a benchmark: its rows, its cases and its tasks, without either harness."""
