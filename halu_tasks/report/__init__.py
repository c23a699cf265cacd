"""Results beside each other: one page that anybody can read, and the table behind it."""
