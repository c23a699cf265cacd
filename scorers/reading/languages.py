"""The languages whose words are known."""

LANGUAGES = ("en", "zh", "tr", "ar", "hi")
"""Languages with a lexicon of their own of the words that all questions need."""
