"""Comparing results in a report: an HTML page for everybody, and the table behind it."""
