"""How surprising a response is to an n-gram model of other samples of it (SelfCheckGPT, Manakul et al. 2023, arXiv
2303.08896, the n-gram variant): what a model makes up, its samples seldom repeat.

The model counts the n-grams of the samples and of the response itself. Counting the response is what smooths the
model: every n-gram of it has been seen once at least. The probability of an n-gram is its share of all n-grams, as in
the authors' package (selfcheckgpt 0.1, `modeling_ngram.py`): for n above 1 it is that of the n tokens together, not
that of the last given those before. Each sentence begins with n - 1 marks of its begin, so that a sentence has as many
n-grams as tokens.

The authors divide texts by spaCy's English model. Here a token is a number, a run of letters, one Chinese or Japanese
character, or one other character that is no space, in compatibility form and without case, so "don't" is three tokens
where spaCy has two ("do", "n't"). The sentences of the response are given; those of a sample end with their line or at
a mark that ends a sentence, an abbreviation's full stop too, which matters for n above 1 alone.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from statistics import fmean
from typing import NamedTuple

_BEGIN = ""
"""The mark of a sentence's begin; no token is empty."""

_END = re.compile(r"[.!?…।۔؟][\"'”’)\]»]*(?=\s)|[。！？]+[」』”’）]*")


class NgramScores(NamedTuple):
    """Negative log-probabilities (in nats, 0 or more; higher is less supported by the samples).

    Attributes:
        average: over all tokens of the response.
        maximum: the mean of the sentences' maxima.
        sentence_average: of each sentence, over its tokens; None for a sentence without any.
        sentence_maximum: of each sentence, of its most surprising token; None for a sentence without any.
    """

    average: float
    maximum: float
    sentence_average: tuple[float | None, ...]
    sentence_maximum: tuple[float | None, ...]


def ngram_scores(
    sentences: Sequence[str], samples: Sequence[str], n: int = 1, *, smoothing: float = 0.0
) -> NgramScores | None:
    """The scores of a response by its sentences, or None where it has no token.

    Args:
        sentences: the response, in order.
        samples: other responses to the same prompt; without any, the scores only tell how the response repeats
            itself.
        n: tokens in an n-gram, 1 or more.
        smoothing: what is added to the count of each n-gram and of one that was not seen; the package adds 0.

    Raises:
        ValueError: `n` below 1, or `smoothing` below 0.
    """
    if n < 1 or smoothing < 0:
        raise ValueError(f"n must be 1 or more and smoothing 0 or more, found {n} and {smoothing}")
    own = [list(_ngrams(sentence, n)) for sentence in sentences]
    if not any(own):
        return None
    counts = Counter(ngram for ngrams in own for ngram in ngrams)
    for sample in samples:
        for sentence in _END.sub(r"\g<0>\n", sample).splitlines():
            counts.update(_ngrams(sentence, n))
    whole = math.log(counts.total() + smoothing * (len(counts) + 1))
    surprises = [[whole - math.log(counts[ngram] + smoothing) for ngram in ngrams] for ngrams in own]
    maxima = [max(found) for found in surprises if found]
    return NgramScores(
        fmean(surprise for found in surprises for surprise in found),
        fmean(maxima),
        tuple(fmean(found) if found else None for found in surprises),
        tuple(max(found, default=None) for found in surprises),
    )


def as_probability(surprise: float) -> float:
    """A negative log-probability x >= 0 as a number from 0 up to 1 in the same order, 1 - exp(-x), for what reads a
    fact `probability`, such as an area under a curve. It is one minus the (geometric mean) probability of the
    n-grams, and no calibrated probability of a hallucination: long texts bring all of it near 1.

    Raises:
        ValueError: x is below 0 or not a number.
    """
    if not surprise >= 0:
        raise ValueError(f"a negative log-probability is 0 or more, found {surprise}")
    return min(-math.expm1(-surprise), math.nextafter(1.0, 0.0))


def tokens(text: str) -> list[str]:
    """The tokens of a text."""
    return _token().findall(unicodedata.normalize("NFKC", text).casefold())


@cache
def _token() -> re.Pattern[str]:
    # vowel signs and other marks are part of a word, but no letters to a regular expression; so are joiners
    marks = "".join(chr(code) for code in range(0x10000) if unicodedata.category(chr(code))[0] == "M")
    by_character = "\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
    letter = rf"[^\W\d_{by_character}]|[{marks}\u200c\u200d]"
    return re.compile(rf"\d+(?:[.,]\d+)*|[{by_character}][{marks}]*|(?:{letter})+|\S")


def _ngrams(sentence: str, n: int) -> Iterator[tuple[str, ...]]:
    padded = [_BEGIN] * (n - 1) + tokens(sentence)
    return zip(*(padded[i:] for i in range(n)), strict=False)
