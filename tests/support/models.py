"""Tiny real models, built on the spot from a configuration: their weights are random, their scores mean nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

WORDS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "def", "return", "class", "self", "x", "=", "(", ")", ":", "line", "port")


def tiny_cross_encoder(folder: Path, *, outputs: int = 1, seed: int = 0) -> Path:
    """A BERT of two layers that reads 64 tokens and scores pairs; saved as sentence-transformers loads it."""
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, unk_token="[UNK]", pad_token="[PAD]", cls_token="[CLS]", sep_token="[SEP]",
        model_max_length=64,
    ).save_pretrained(folder)  # fmt: skip
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        config = BertConfig(
            vocab_size=len(WORDS), hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32,
            max_position_embeddings=64, num_labels=outputs, pad_token_id=0, initializer_range=1.0,
        )  # fmt: skip
        BertForSequenceClassification(config).save_pretrained(folder)
    return folder
