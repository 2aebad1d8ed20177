"""An encoder without a model, for tests of the code around one."""

import re
from types import MappingProxyType

import numpy as np

from repoeval_bench.embedding.registry import Limit


def _interrupt():
    raise KeyboardInterrupt


class CountingEncoder:
    """A real function of the text (its characters' sums), counting what it is asked for, by itself and by pass.

    It reads so many words; no vector of it is ever scored. At `fail_after` texts it is interrupted, or calls `fail`.
    """

    spec = "fake"

    def __init__(
        self, fail_after=None, reads=4, prompts=MappingProxyType({"query": "ask: "}), fail=_interrupt, **identity
    ):
        self.identity = {"model": "fake", **identity}
        self.limit = Limit(reads, lambda text: [word.start() for word in re.finditer(r"\S+", text)])
        self.prompts = prompts
        self.encoded, self.passes = [], []
        self.fail_after, self.fail = fail_after, fail

    def prompt(self, role):
        return self.prompts.get(role, "")

    def count_tokens(self, texts, role):
        return [len(text.split()) for text in texts]

    def encode_batches(self, texts, role, tokens):
        self.passes.append([self.prompt(role) + text for text in texts])
        for i, text in enumerate(texts):
            if self.fail_after is not None and i >= self.fail_after:
                self.fail()
            self.encoded.append(text)
            vector = np.array([[1.0, len(text), sum(map(ord, text)) % 97]], dtype=np.float32)
            yield [i], vector / np.linalg.norm(vector)
