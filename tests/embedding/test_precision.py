"""The choice of a precision; two are never taken for one."""

import pytest

from repoeval_bench.core.errors import UsageError
from repoeval_bench.embedding import models
from repoeval_bench.embedding.models import choose_precision, cpu_has_bf16
from repoeval_bench.runs.problems import Problems, check_setting
from repoeval_bench.runs.request import RunRequest
from support.cases import cases

CASES = cases(__file__)


@pytest.fixture
def cpu(tmp_path, monkeypatch):
    """Has the system list these flags of the processor, or none."""

    def has(flags, machine="x86_64"):
        path = tmp_path / ("cpuinfo" if flags else "absent")
        if flags:
            path.write_text(f"processor\t: 0\nflags\t\t: fpu avx2 avx512f {flags}\nprocessor\t: 1\n")
        monkeypatch.setattr(models, "_CPUINFO", path)
        monkeypatch.setattr(models.platform, "machine", lambda: machine)
        cpu_has_bf16.cache_clear()

    yield has
    cpu_has_bf16.cache_clear()


@pytest.mark.parametrize(("flags", "machine", "expected"), CASES["processors"])
def test_auto_is_bf16_where_the_cpu_has_it(cpu, flags, machine, expected):
    """The processor's flags decide on a CPU; auto is fp16 on any CUDA device and fp32 elsewhere; others can be named."""
    cpu(flags, machine)
    assert [choose_precision(name, "cpu") for name in ("auto", "fp32")] == [expected, "fp32"]
    assert choose_precision("auto", "mps") == "fp32"
    assert [choose_precision(name, "cuda:1") for name in ("auto", "bf16", "fp32")] == ["fp16", "bf16", "fp32"]


def test_the_spec_names_the_precision_that_is_used():
    """The choice of auto is in spec and identity, so that the spec rebuilds the embedder on another machine."""
    files = models.locate("minilm")
    resolved = choose_precision("auto", "cpu")
    assert (files.spec, files.identity["precision"]) == (f"minilm:precision={resolved}", resolved)
    assert models.locate(files.spec) == files


def test_a_device_of_an_embedder_without_a_model_is_refused():
    """It computes nothing on one."""
    result = Problems()
    check_setting(RunRequest(embedder="hash:device=cuda"), result)
    with pytest.raises(UsageError, match="device"):
        result.check()
