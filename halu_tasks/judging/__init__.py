"""Asking models that judge replies."""

COSTS = "judge_costs.sqlite3"
"""The file in the folder of a command's results, in which costs are recorded."""
