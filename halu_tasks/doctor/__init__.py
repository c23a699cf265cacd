"""Checks before a run: what is installed, the data, the judge and the model. Nothing large is downloaded."""
