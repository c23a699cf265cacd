"""Near duplicates by embeddings, of a sentence-transformers model of random weights built on the spot. Needs the
extras `models` and `embeddings`."""

from pathlib import Path

import pytest

from halu_tasks.builders.duplicates import duplicate_filter
from halu_tasks.core.errors import UsageError

pytestmark = pytest.mark.models
pytest.importorskip("torch", reason="needs the extra `models`")
pytest.importorskip("sentence_transformers", reason="needs the extra `embeddings`")

WORDS = ["which", "river", "flows", "through", "town", "how", "many", "people", "live", "in", "the", "capital", "?"]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A folder with a one-layer Bert over a few words, whose embedding is the mean of its tokens'."""
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
    from transformers import BertConfig, BertModel, BertTokenizerFast

    folder = tmp_path_factory.mktemp("tiny-bert")
    (folder / "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]))
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(WORDS) + 5, hidden_size=32, intermediate_size=32, num_hidden_layers=1, num_attention_heads=2
    )
    BertModel(config).save_pretrained(folder / "bert")
    BertTokenizerFast(str(folder / "vocab.txt")).save_pretrained(folder / "bert")
    bert = Transformer(str(folder / "bert"))
    SentenceTransformer(modules=[bert, Pooling(32)], device="cpu").save(str(folder / "model"))
    return str(folder / "model")


def test_what_is_near_in_meaning_is_found_outside_of_its_group(model: str) -> None:
    near = duplicate_filter(99.99, model)
    first, second = "which river flows through the town ?", "how many people live in the capital ?"
    assert near("a", first, "one") is None
    assert near("b", second, "two") is None
    assert near("c", first.upper(), "one") == "a"  # equal
    assert near("d", second.upper(), "") == "b"
    assert near("e", first, "two") == "a"
    near = duplicate_filter(1, model)
    assert near("a", first, "one") is None and near("b", second, "one") is None


def test_the_similarity_decides(model: str) -> None:
    near = duplicate_filter(1, model)
    assert [near(str(place), text, "") for place, text in enumerate(["which river ?", "which town ?"])] == [None, "0"]


def test_a_model_that_is_none_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"embeddings .*none"):
        duplicate_filter(90, str(tmp_path / "none"))
