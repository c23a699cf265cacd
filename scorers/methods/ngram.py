"""The n-gram variant of SelfCheckGPT (Manakul et al. 2023, arXiv 2303.08896, section 5.3).

It measures how surprising a response is to an n-gram model of other samples of it: what a model makes up is seldom
repeated in its samples.

The n-gram model counts the n-grams of the samples and of the response itself. Counting the response smooths the model,
since each of its n-grams has then been seen at least once. The probability of an n-gram is its share of all n-grams, as
in the authors' package (selfcheckgpt 0.1, `modeling_ngram.py`): for n above 1, this is the probability of the n tokens
together and not that of the last one given the others. Each sentence is padded at its start with n - 1 marks, so it has
as many n-grams as tokens.

The authors tokenize texts with spaCy's English model. Here a token is a number, a run of letters, a Chinese or Japanese
character, or any other character except white space, in compatibility form (NFKC) and without case. "don't" is
therefore three tokens instead of spaCy's two ("do", "n't"). The sentences of the response are given; sentences of a
sample end at line ends and at punctuation, including the full stops of abbreviations, which matters only for n above 1.
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
"""The mark that pads the start of a sentence, which differs from all tokens since these are not empty."""

_END = re.compile(r"[.!?…।۔؟][\"'”’)\]»]*(?=\s)|[。！？]+[」』”’）]*")


class NgramScores(NamedTuple):
    """Negative log-probabilities in nats, 0 or more; the higher, the less the samples support the response.

    Attributes:
        average: The mean over all n-grams of the response.
        maximum: The mean over its sentences of the maximum of each.
        sentence_average: The mean over the n-grams of each sentence; None for a sentence without tokens.
        sentence_maximum: The maximum of each sentence; None for a sentence without tokens.
    """

    average: float
    maximum: float
    sentence_average: tuple[float | None, ...]
    sentence_maximum: tuple[float | None, ...]


def ngram_scores(
    sentences: Sequence[str], samples: Sequence[str], n: int = 1, *, smoothing: float = 0.0
) -> NgramScores | None:
    """Score a response by an n-gram model of its samples.

    Args:
        sentences: The sentences of the response, in order.
        samples: Other responses to the same prompt. Without any, the scores only measure how much the response repeats
            itself.
        n: The number of tokens in an n-gram, 1 or more.
        smoothing: The number added to the count of each n-gram, and the count of an unseen one; the authors' package
            has 0.

    Returns:
        The scores; None if the response has no tokens.

    Raises:
        ValueError: `n` is less than 1, or `smoothing` less than 0.
    """
    if n < 1 or smoothing < 0:
        raise ValueError(f"n must be 1 or more and smoothing 0 or more, got {n} and {smoothing}")
    by_sentence = [list(_ngrams(sentence, n)) for sentence in sentences]
    if not any(by_sentence):
        return None
    counts = Counter(ngram for ngrams in by_sentence for ngram in ngrams)
    for sample in samples:
        for sentence in _END.sub(r"\g<0>\n", sample).splitlines():
            counts.update(_ngrams(sentence, n))
    total = math.log(counts.total() + smoothing * (len(counts) + 1))
    surprises = [[total - math.log(counts[ngram] + smoothing) for ngram in ngrams] for ngrams in by_sentence]
    maxima = [max(of_sentence) for of_sentence in surprises if of_sentence]
    return NgramScores(
        fmean(surprise for of_sentence in surprises for surprise in of_sentence),
        fmean(maxima),
        tuple(fmean(of_sentence) if of_sentence else None for of_sentence in surprises),
        tuple(max(of_sentence, default=None) for of_sentence in surprises),
    )


def as_probability(surprise: float) -> float:
    """Map a negative log-probability x >= 0 to 1 - exp(-x), from 0 to below 1 in the same order.

    Metrics that expect a probability, such as ROC-AUC, can then be computed. The result is one minus the geometric mean
    of the n-grams' probabilities. It is not a calibrated probability of a hallucination: with long texts, all results
    are close to 1.

    Raises:
        ValueError: x is negative or NaN.
    """
    if not surprise >= 0:
        raise ValueError(f"expected a negative log-probability, which is 0 or more, got {surprise}")
    return min(-math.expm1(-surprise), math.nextafter(1.0, 0.0))


def tokens(text: str) -> list[str]:
    """Split a text into tokens."""
    return _token().findall(unicodedata.normalize("NFKC", text).casefold())


@cache
def _token() -> re.Pattern[str]:
    # vowel signs, other marks and joiners are parts of words, but not letters to regular expressions
    marks = "".join(chr(code) for code in range(0x10000) if unicodedata.category(chr(code))[0] == "M")
    by_character = "\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
    letter = rf"[^\W\d_{by_character}]|[{marks}\u200c\u200d]"
    return re.compile(rf"\d+(?:[.,]\d+)*|[{by_character}][{marks}]*|(?:{letter})+|\S")


def _ngrams(sentence: str, n: int) -> Iterator[tuple[str, ...]]:
    padded = [_BEGIN] * (n - 1) + tokens(sentence)
    return zip(*(padded[i:] for i in range(n)), strict=False)
