"""An encoder without a model, for tests of the code around one."""

from __future__ import annotations

import re

import numpy as np

from repoeval_bench.embedding.text_encoder import NO_USAGE, Limit, Unchecked


class CountingEncoder(Unchecked):
    """A real function of the text (its characters' sums), counting what it is asked for; no vector of it is ever scored."""

    spec = "fake"
    limit = Limit(4, lambda text: [word.start() for word in re.finditer(r"\S+", text)])
    usage = NO_USAGE

    def __init__(self, fail_after=None, **identity):
        self.identity = {"model": "fake", **identity}
        self.asked = []
        self.fail_after = fail_after

    def prompt(self, role):
        return {"query": "ask: "}.get(role, "")

    def count_tokens(self, texts, role):
        return [len(text.split()) for text in texts]

    def encode_batches(self, texts, role, tokens):
        for i, text in enumerate(texts):
            if self.fail_after is not None and i >= self.fail_after:
                raise KeyboardInterrupt
            self.asked.append(text)
            vector = np.array([[1.0, len(text), sum(map(ord, text)) % 97]], dtype=np.float32)
            yield [i], vector / np.linalg.norm(vector)
