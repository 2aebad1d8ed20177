"""Tiny real models, built on the spot from a configuration: their weights are random, their scores mean nothing."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from transformers import BertConfig, PreTrainedTokenizerFast

WORDS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "def", "return", "class", "self", "x", "=", "(", ")", ":", "line", "port")


def tiny_cross_encoder(folder: Path, *, outputs: int = 1, seed: int = 0) -> Path:
    """A BERT of two layers that reads 64 tokens and scores pairs; saved as sentence-transformers loads it."""
    import torch
    from transformers import BertForSequenceClassification

    tiny_tokenizer().save_pretrained(folder)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        BertForSequenceClassification(_config(num_labels=outputs)).save_pretrained(folder)
    return folder


def tiny_encoder(folder: Path) -> Path:
    """The same BERT without a head, its tokens' mean a text's vector."""
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
    from transformers import BertModel

    bert = folder / "bert"
    tiny_tokenizer().save_pretrained(bert)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        BertModel(_config(), add_pooling_layer=False).save_pretrained(bert)
        SentenceTransformer(modules=[Transformer(str(bert)), Pooling(16)], device="cpu").save_pretrained(str(folder))
    shutil.rmtree(bert)
    return folder


def tiny_tokenizer() -> PreTrainedTokenizerFast:
    """Of whole words."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    names = {"unk_token": "[UNK]", "pad_token": "[PAD]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=64, **names)


def _config(**more: int) -> BertConfig:
    from transformers import BertConfig

    layers = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    rest = {"max_position_embeddings": 64, "pad_token_id": 0, "initializer_range": 1.0}
    return BertConfig(vocab_size=len(WORDS), **layers, **rest, **more)
