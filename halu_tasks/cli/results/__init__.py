"""Commands that make, compare and report results."""
