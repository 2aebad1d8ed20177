"""The precision that a model computes in: fp32, or a half precision that the processor supports.

Half precision moves a cosine by up to 1e-4, so it is part of a vector's identity. It is in the embedder's spec, the
cache key and the manifest. Runs of different precisions are never compared.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Literal, get_args

from repoeval_bench.core.errors import SpecError
from repoeval_bench.core.spec import nearest

Precision = Literal["fp32", "bf16", "fp16"]

AUTO = "auto"

MEANINGS: Mapping[str, str] = {
    AUTO: "bf16 on a CPU that has instructions for it, fp16 on CUDA, else fp32",
    "fp32": "single precision throughout: the slowest, and the same on every machine except for the last bits",
    "bf16": "the model's matrix products in bfloat16; pooling and scores in fp32",
    "fp16": "the same in half precision, on CUDA only",
}

_CPUINFO = Path("/proc/cpuinfo")
_X86 = frozenset({"x86_64", "AMD64"})
_FLAGS = frozenset({"avx512_bf16", "amx_bf16"})


def choose_precision(name: str, device: str) -> Precision:
    """Return what `auto` means on a torch device such as `cpu` or `cuda:0`, or the precision given, if it is possible.

    torch is not asked: a run whose vectors are cached never loads it.
    """
    on_cuda = device.partition(":")[0] == "cuda"
    if name == AUTO:
        if on_cuda:
            # Every such device has fp16, and its 11 bits stay nearer to fp32 than the 8 of bf16.
            return "fp16"
        return "bf16" if device == "cpu" and cpu_has_bf16() else "fp32"
    if name not in get_args(Precision):
        raise SpecError(nearest("precision", name, MEANINGS))
    if name == "fp16" and not on_cuda:
        raise SpecError(f"precision=fp16 runs on CUDA only, not on device={device}; choose auto, fp32 or bf16")
    return name  # type: ignore[return-value]


@cache
def cpu_has_bf16() -> bool:
    """Return whether the CPU multiplies bfloat16 (AVX512-BF16 or AMX-BF16); False where that cannot be read."""
    if platform.machine() not in _X86 or not _CPUINFO.is_file():
        return False
    with _CPUINFO.open(encoding="utf-8", errors="replace") as lines:
        flags = next((line for line in lines if line.startswith("flags")), "")
    return not _FLAGS.isdisjoint(flags.split())
