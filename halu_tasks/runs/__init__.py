"""Models run on tasks by their harnesses' own commands: models × tasks × methods, and the demo."""
