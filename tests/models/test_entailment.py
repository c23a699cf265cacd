"""Whether two sentences say the same, by a DeBERTa of random weights built on the spot. Needs the extra `models`."""

import asyncio
import json
from collections import Counter
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from halu_tasks.builders.documents import Document
from halu_tasks.builders.pipelines.refact_edits import same_meaning
from halu_tasks.builders.pipelines.refact_pipeline import RefactPipeline
from halu_tasks.core.errors import UsageError

pytestmark = pytest.mark.models
pytest.importorskip("torch", reason="needs the extra `models`")
pytest.importorskip("transformers", reason="needs the extra `models`")

WORDS = ["water", "steam", "ice", "fire", "ash", "smoke"]
LABELS = {0: "contradiction", 1: "ENTAILMENT", 2: "neutral"}


def made(folder: Path, labels: dict[int, str] = LABELS, always: str | None = None) -> str:
    """A one-layer model of natural-language inference; with `always`, one that finds the same whatever it reads."""
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import DebertaV2Config, DebertaV2ForSequenceClassification, PreTrainedTokenizerFast

    special = ["[PAD]", "[CLS]", "[SEP]", "[UNK]"]
    own = Tokenizer(models.WordLevel({word: at for at, word in enumerate([*special, *WORDS])}, unk_token="[UNK]"))
    own.pre_tokenizer = pre_tokenizers.Whitespace()
    own.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=own, pad_token="[PAD]", cls_token="[CLS]", sep_token="[SEP]", unk_token="[UNK]",
        model_max_length=24,
    )  # fmt: skip
    tokenizer.save_pretrained(folder)
    torch.manual_seed(1)
    config = DebertaV2Config(
        vocab_size=len(tokenizer), hidden_size=32, intermediate_size=32, num_hidden_layers=1, num_attention_heads=2,
        max_position_embeddings=64, type_vocab_size=2, pooler_hidden_size=32, initializer_range=2.0, id2label=labels,
        label2id={label: number for number, label in labels.items()}, num_labels=len(labels),
    )  # fmt: skip
    model = DebertaV2ForSequenceClassification(config)
    if always:
        with torch.no_grad():
            model.classifier.weight.zero_()
            model.classifier.bias.copy_(torch.tensor([float(label == always) for label in labels.values()]))
    model.save_pretrained(folder)
    return str(folder)


def test_two_sentences_say_the_same_where_each_entails_the_other(tmp_path: Path) -> None:
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    folder = made(tmp_path)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForSequenceClassification.from_pretrained(folder).eval()

    def entails(one: str, other: str) -> bool:
        with torch.inference_mode():
            return int(model(**tokenizer(one, other, return_tensors="pt")).logits.argmax()) == 1

    pairs = [(a, f"{b} {a}") for a, b in permutations(WORDS, 2)]

    async def judged() -> list[Any]:
        return await asyncio.gather(*(same_meaning(folder, one, other) for one, other in pairs))

    expected = [entails(one, other) + entails(other, one) for one, other in pairs]
    assert set(Counter(expected)) == {0, 1, 2}, "the pairs are to show all there can be"
    assert [verdict.value for verdict in asyncio.run(judged())] == ["yes" if n == 2 else "no" for n in expected]


def test_what_is_longer_than_the_model_reads_is_uncertain(tmp_path: Path) -> None:
    folder = made(tmp_path, always="neutral")
    assert asyncio.run(same_meaning(folder, "ice", "ice " * 20)).value == "no"
    verdict = asyncio.run(same_meaning(folder, "ice", "ice " * 30))
    assert verdict.value == "uncertain" and "24 tokens" in verdict.reason


def test_a_model_that_cannot_serve_is_named_with_what_to_do(tmp_path: Path) -> None:
    other = made(tmp_path / "stars", {0: "1 star", 1: "2 stars", 2: "not_entailment"})
    for model, said in (
        (str(tmp_path / "nowhere"), "cannot be loaded; name a folder with -T nli_model=PATH, or .* -T nli_model=judge"),
        ("no-such/model@main", "cannot be loaded"),
        (other, "has the labels 1 star, 2 stars, not_entailment instead of 'entailment'"),
    ):
        with pytest.raises(UsageError, match=said):
            asyncio.run(same_meaning(model, "ice", "fire"))


@pytest.mark.parametrize(("always", "passes"), [("ENTAILMENT", False), ("neutral", True), ("contradiction", True)])
def test_the_pipeline_drops_replacements_that_the_model_finds_equivalent(
    always: str, passes: bool, tmp_path: Path
) -> None:
    pipeline = RefactPipeline(nli_model=made(tmp_path, always=always), kinds=("swap",))
    replies = iter([["Water turns into steam at the boil."], ["steam"], [], ["smoke"], [{"verdict": "yes"}] * 3])

    async def ask(prompt: str, role: str, *, draw: int = 0, draws: int = 1) -> str:
        return json.dumps(next(replies))

    document = Document("1", "Water turns into steam at the boil. Try it.", {"question": "What becomes of water?"})
    (draft,) = asyncio.run(pipeline.drafts(document, ask))
    assert next(replies, None) is None, "the verifier is asked nothing about equivalence"
    assert bool(draft.row) == passes and "equivalent" in draft.checks
    assert [failure.reason for failure in draft.faults] == ([] if passes else ["same meaning"])
    assert pipeline.settings["nli_model"] == str(tmp_path)
