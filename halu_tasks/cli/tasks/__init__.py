"""Commands about tasks and their data."""
