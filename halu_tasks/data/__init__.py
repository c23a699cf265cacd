"""Data: from the name of a source or file to validated rows."""
