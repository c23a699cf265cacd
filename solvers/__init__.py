"""Prompt formats and methods as solvers of Inspect."""
