"""The languages whose words are known."""

LANGUAGES = ("en", "eu", "zh", "tr", "ar", "hi", "es")
"""The codes in the names of lexicons; `eu` is other European languages. A later one's phrases replace an earlier one's.

Models answer in their own language whatever that of the question, so every question is read in all of them.
"""
