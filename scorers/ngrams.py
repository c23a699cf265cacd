"""SelfCheckGPT's n-grams: how surprising a response is to a model of its samples.

The n-gram variant of SelfCheckGPT (Manakul et al. 2023, arXiv 2303.08896, section 5.3) measures how surprising a
response is to an n-gram model of other samples of it: what a model makes up is seldom repeated in its samples.

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
from itertools import chain
from statistics import fmean
from typing import Literal

_END = re.compile(r"[.!?…।۔؟][\"'”’)\]»]*(?=\s)|[。！？]+[」』”’）]*")


Statistic = Literal["average", "maximum"]


def ngram_scores(
    sentences: Sequence[str], samples: Sequence[str], n: int = 1, statistic: Statistic = "maximum"
) -> tuple[float, list[float | None]] | None:
    """Score a response by an n-gram model of its samples.

    Scores are negative log-probabilities in nats, 0 or more; the higher, the less the samples support the response.

    Args:
        sentences: The sentences of the response, in order.
        samples: Other responses to the same prompt. Without any, the scores only measure how much the response repeats
            itself.
        n: The number of tokens in an n-gram, 1 or more.
        statistic: `average`, the mean over all n-grams, or `maximum`, the mean over sentences of the maximum of each.

    Returns:
        The score of the response, and those of its sentences, None for one without tokens; None if the response has no
        tokens.
    """
    by_sentence = [list(_ngrams(sentence, n)) for sentence in sentences]
    if not any(by_sentence):
        return None
    counts = Counter(ngram for ngrams in by_sentence for ngram in ngrams)
    for sample in samples:
        for sentence in _END.sub(r"\g<0>\n", sample).splitlines():
            counts.update(_ngrams(sentence, n))
    total = math.log(counts.total())
    surprises = [[total - math.log(counts[ngram]) for ngram in ngrams] for ngrams in by_sentence]
    if statistic == "average":
        return fmean(chain.from_iterable(surprises)), [fmean(each) if each else None for each in surprises]
    maxima = [max(each, default=None) for each in surprises]
    return fmean(each for each in maxima if each is not None), maxima


def as_probability(surprise: float) -> float:
    """Map a negative log-probability x >= 0 to 1 - exp(-x), from 0 to below 1 in the same order.

    Metrics that expect a probability, such as ROC-AUC, can then be computed. The result is one minus the geometric mean
    of the n-grams' probabilities. It is not a calibrated probability of a hallucination: with long texts, all results
    are close to 1.
    """
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
    # the start is padded by a mark that differs from all tokens, since these are not empty
    padded = [""] * (n - 1) + tokens(sentence)
    return zip(*(padded[i:] for i in range(n)), strict=False)
