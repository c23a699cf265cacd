"""Detection methods: solvers that make several model calls for an item."""
