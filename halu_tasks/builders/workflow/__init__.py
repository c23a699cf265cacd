"""The steps of making a dataset, as `halu-tasks` runs them: build, collect, check its quality, annotate, optimize."""
