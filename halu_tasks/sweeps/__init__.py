"""Sweeps: several models on several tasks, each run by its harness's own command."""
