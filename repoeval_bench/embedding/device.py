"""The device that a model runs on and the precision it computes in: those of its spec, or under `auto` what is there.

Half precision moves a cosine by up to 1e-4, so it is part of a vector's identity: it is in the embedder's spec, the
cache key and the manifest. Runs of different precisions are never compared.
"""

from __future__ import annotations

import platform
import re
from functools import cache
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator

from repoeval_bench.core.errors import SpecError
from repoeval_bench.core.extras import require
from repoeval_bench.core.spec import Spec

AUTO = "auto"

DEFAULT = "cpu"
"""The CPU also where there is a GPU, so that a run with cached vectors need not load torch to look for one."""


def _known(device: str) -> str:
    if not re.fullmatch(r"cpu|mps|auto|(cuda|xpu)(:\d{1,3})?", device):
        raise ValueError(f"device={device} is not possible; device is cpu, cuda, cuda:1, mps, xpu or auto")
    return device


DeviceName = Annotated[str, AfterValidator(_known)]
"""The name of a device as torch has it, and `auto`."""


@cache
def find_device() -> str:
    """Return what `auto` means in this process: `cuda` or `mps` where torch has one, else `cpu`. It loads torch."""
    require("device=auto", "torch")
    import torch

    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else DEFAULT


def on_device(spec: Spec) -> Spec:
    """Return the spec of a model with the device that `auto` means here; the default device is not named.

    So a run under `auto` on a machine without a GPU is the usual run.
    """
    if spec.params.get("device") != AUTO:
        return spec
    device = find_device()
    others = {name: value for name, value in spec.params.items() if name != "device"}
    return Spec(spec.name, spec.target, others if device == DEFAULT else {**others, "device": device})


def settled(embedder: str) -> str:
    """The embedder's spec with the device that `auto` means here."""
    return str(on_device(Spec.parse(embedder)))


def device_note(spec: str) -> str:
    """The note on what `auto` was taken for, with the spec of what computes."""
    return f"note: device auto is {find_device()} here; vectors are those of {spec}"


Precision = Literal["fp32", "bf16", "fp16"]
"""`bf16` and `fp16` are the model's matrix products in half precision, `fp16` on CUDA only; pooling and scores are in
fp32. `fp32` is the slowest, and the same on every machine except for the last bits."""

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
