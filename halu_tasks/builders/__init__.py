"""Builders: pipelines that make validated benchmarks of a user's own documents."""
