"""The base that every other package may import: items, options, prompts, files, errors and credentials."""
