"""The device that a model runs on and the precision it computes in.

A precision is in the embedder's spec, the cache key and the manifest. Runs of different precisions are never compared.
"""

import platform
import re
from functools import cache
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator

from repoeval_bench.core.errors import SpecError

# The CPU also where there is a GPU, so that a run with cached vectors need not load torch to look for one.
DEFAULT = "cpu"


def _known(device: str) -> str:
    if not re.fullmatch(r"cpu|mps|(cuda|xpu)(:\d{1,3})?", device):
        raise ValueError(f"device={device} is not possible; device is cpu, cuda, cuda:1, mps or xpu")
    return device


DeviceName = Annotated[str, AfterValidator(_known)]
"""The name of a device as torch has it."""

# Half precision moves a cosine by up to 1e-4, so it is part of a vector's identity.
Precision = Literal["fp32", "bf16", "fp16"]
"""`bf16` and `fp16` are the model's matrix products in half precision, `fp16` on CUDA only; pooling and scores are in
fp32. `fp32` is the slowest, and the same on every machine except for the last bits."""

_CPUINFO = Path("/proc/cpuinfo")
_X86 = frozenset({"x86_64", "AMD64"})
_FLAGS = frozenset({"avx512_bf16", "amx_bf16"})


def choose_precision(name: str, device: str) -> Precision:
    """Return what `auto` means on a torch device such as `cpu` or `cuda:0`, or the given precision, if possible."""
    # torch is not asked: a run whose vectors are cached never loads it.
    on_cuda = device.partition(":")[0] == "cuda"
    if name == "auto":
        if on_cuda:
            # Every such device has fp16, and its 11 bits stay nearer to fp32 than the 8 of bf16.
            return "fp16"
        return "bf16" if device == "cpu" and cpu_has_bf16() else "fp32"
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
