"""The device that a model runs on: the one that a spec names, or under `auto` the one that is there."""

from __future__ import annotations

import re
from functools import cache
from typing import Annotated

from pydantic import AfterValidator

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
