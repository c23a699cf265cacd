"""Models run on tasks by their harnesses' own commands: a sweep of several, a run of one, and the demo."""
