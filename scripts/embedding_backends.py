"""Would another library run the bundled model faster? torch, OpenVINO and ONNX Runtime on the same batches, in turns.

pip install openvino==2026.4.1 onnx==1.23.2 onnxscript==0.7.2 onnxruntime==1.31.1
python scripts/embedding_backends.py --source SOURCE
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from bench_embedding import ours, sample

from repoeval_bench.dataset.loader import load_benchmark
from repoeval_bench.embedding import models
from repoeval_bench.embedding.encoder import SentenceTransformerEncoder
from repoeval_bench.embedding.loading import load_model

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from repoeval_bench.embedding.models import ModelFiles

INPUTS = ("input_ids", "attention_mask", "token_type_ids")
ROUNDS = 5


class Bare(torch.nn.Module):
    """The transformer with its mean pooling, as the other libraries take it."""

    def __init__(self, files: ModelFiles) -> None:
        super().__init__()
        self.transformer = load_model("SentenceTransformer", files)[0].auto_model
        self.eval()

    def forward(self, input_ids: Any, attention_mask: Any, token_type_ids: Any) -> Any:
        """Return (rows, dim) sums over the tokens that are read; the encoder scales them to length 1."""
        hidden = self.transformer(input_ids, attention_mask, token_type_ids).last_hidden_state
        return (hidden * attention_mask.unsqueeze(-1).to(hidden.dtype)).sum(1)


class OtherBackend(SentenceTransformerEncoder):
    """The encoder with its batches and its thread per core, and the forward pass by another library."""

    def __init__(self, files: ModelFiles, run: Callable[[Mapping[str, Any]], NDArray[np.float32]]) -> None:
        super().__init__(files)
        self._run = run

    def _forward(self, features: dict[str, Any]) -> NDArray[np.float32]:
        return self._run({name: features[name].numpy() for name in INPUTS})


def example() -> tuple[torch.Tensor, ...]:
    """Return inputs of the model's shape, (4 rows, 256 tokens)."""
    return tuple(torch.full((4, 256), value) for value in (100, 1, 0))


def openvino(files: ModelFiles, precision: str) -> SentenceTransformerEncoder:
    """Return an encoder by OpenVINO with one stream a core."""
    import openvino as ov

    streams = str(torch.get_num_threads())
    model = ov.convert_model(Bare(files), example_input=dict(zip(INPUTS, example(), strict=True)))
    options = {"INFERENCE_PRECISION_HINT": precision, "NUM_STREAMS": streams, "INFERENCE_NUM_THREADS": streams}
    compiled = ov.Core().compile_model(model, "CPU", options)
    # Every batch has its own request: threads that share one would get each other's vectors.
    return OtherBackend(
        files, lambda inputs: np.array(next(iter(compiled.create_infer_request().infer(inputs).values())))
    )


def onnxruntime(files: ModelFiles) -> SentenceTransformerEncoder:
    """Return an encoder by ONNX Runtime in fp32, one thread a batch; its CPU kernels have no bf16."""
    import onnxruntime as ort

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        axes = {0: torch.export.Dim("rows"), 1: torch.export.Dim("tokens")}
        torch.onnx.export(
            Bare(files),
            example(),
            str(path),
            input_names=INPUTS,
            dynamic_shapes=(axes,) * 3,
            dynamo=True,
            verbose=False,
        )
        options = ort.SessionOptions()
        options.intra_op_num_threads = 1
        session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return OtherBackend(files, lambda inputs: session.run(None, dict(inputs))[0])


def main() -> None:
    """Print each library's preparation, its best processor and wall time, and its least cosine to torch in fp32."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", default="auto")
    texts = sample(load_benchmark(parser.parse_args().source))
    fp32, fast = models.locate("minilm:precision=fp32"), models.locate("minilm")
    makers: dict[str, Callable[[], SentenceTransformerEncoder]] = {
        "torch fp32": lambda: SentenceTransformerEncoder(fp32),
        f"torch {fast.precision} (ours)": lambda: SentenceTransformerEncoder(fast),
        "openvino f32": lambda: openvino(fp32, "f32"),
        "openvino bf16": lambda: openvino(fp32, "bf16"),
        "onnxruntime fp32": lambda: onnxruntime(fp32),
    }
    encoders, prepared, vectors = {}, {}, {}
    for name, make in makers.items():
        started = time.perf_counter()
        encoders[name] = make()
        vectors[name] = ours(encoders[name], texts)
        prepared[name] = time.perf_counter() - started
    best = dict.fromkeys(makers, (np.inf, np.inf))
    for _ in range(ROUNDS):
        for name, encoder in encoders.items():
            wall, processor = time.perf_counter(), time.process_time()
            ours(encoder, texts)
            spent = time.process_time() - processor, time.perf_counter() - wall
            best[name] = min(best[name][0], spent[0]), min(best[name][1], spent[1])
    print(f"{len(texts)} chunks of ast, fixed and chonkie; the best of {ROUNDS} rounds in turns")
    for name, (processor_s, wall_s) in best.items():
        cosine = float((vectors[name] * vectors["torch fp32"]).sum(axis=1).min())
        print(
            f"  {name:18} processor {processor_s:6.2f} s   wall {wall_s:6.2f} s   least cosine {cosine:.6f}   "
            f"with loading and the first pass {prepared[name]:6.1f} s"
        )


if __name__ == "__main__":
    main()
