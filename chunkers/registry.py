"""How a chunker is named and found: built in, `py:module:Class`, `exec:COMMAND`, or by entry point.

The table below is all there is to a built-in chunker's name. A third party adds one with an entry point in
the group `repoeval_bench.chunkers`. Options are the keyword parameters of the class or function named, their
values read by the parameter's annotation.
"""

from __future__ import annotations

import inspect
import os
import sys
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, cast, get_args

from repoeval_bench.chunkers._adapters import NamedChunker
from repoeval_bench.core.errors import BenchError, SpecError
from repoeval_bench.core.spec import Spec, format_spec, nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from repoeval_bench.core.parts import Chunker

GROUP = "repoeval_bench.chunkers"

BUILT_IN = {
    "ast": "repoeval_bench.chunkers.ast:AstChunker",
    "functions": "repoeval_bench.chunkers.functions:FunctionsChunker",
    "fixed": "repoeval_bench.chunkers.fixed:FixedChunker",
    "fixed-tokens": "repoeval_bench.chunkers.fixed_tokens:FixedTokensChunker",
    "window": "repoeval_bench.chunkers.window:WindowChunker",
    "recursive": "repoeval_bench.chunkers.recursive:RecursiveChunker",
    "file": "repoeval_bench.chunkers.file:FileChunker",
    "chonkie": "repoeval_bench.chunkers.chonkie:ChonkieChunker",
}
"""Always there."""

PEERS = {
    "astchunk": "repoeval_bench.chunkers.astchunk:AstchunkChunker",
    "langchain": "repoeval_bench.chunkers.langchain:LangchainChunker",
    "llama-index": "repoeval_bench.chunkers.llama_index:LlamaIndexChunker",
}
"""Other people's code, there where its extra is installed."""

_TABLE = {**BUILT_IN, **PEERS}


class Available(NamedTuple):
    """One chunker that can be named: its options with their defaults, and one line on what it does."""

    name: str
    options: dict[str, object]
    meaning: str


def make_chunker(spec: str | Spec) -> Chunker:
    """Build the chunker that a spec names; SpecError where the name, an option or a value is impossible.

    What comes from outside (`py:`, entry points) prints the spec it was asked for, with every parameter.
    """
    parsed = Spec.parse(spec) if isinstance(spec, str) else spec
    if parsed.name == "exec":
        from repoeval_bench.chunkers.program import ProgramChunker

        return ProgramChunker(parsed.target)
    if parsed.name == "py":
        factory = _named(parsed.target, str(parsed))
        params = _values(f"py:{parsed.target}", factory, parsed.params)
        return _plug_in(factory, params, format_spec("py", _in_full(factory, params), parsed.target))
    if parsed.target:
        raise SpecError(f"spec {str(parsed)!r}: {parsed.target!r} is not key=value")
    if parsed.name in _TABLE:
        # `header` is no chunker's own: one kind of header has to mean the same for all of them.
        own = {key: value for key, value in parsed.params.items() if key != "header"}
        factory = _load(_TABLE[parsed.name])
        chunker = cast("Chunker", factory(**_values(parsed.name, factory, own)))
        kind = parsed.params.get("header", "none")
        if kind == "none":
            return chunker
        from repoeval_bench.chunkers.headed import HeadedChunker

        return HeadedChunker(chunker, kind)
    plug_ins = _plug_ins()
    if parsed.name not in plug_ins:
        raise SpecError(nearest("chunker", parsed.name, [*_TABLE, *plug_ins, "py", "exec"]))
    try:
        factory = plug_ins[parsed.name].load()
    except Exception as error:
        raise SpecError(
            f"plug-in {parsed.name!r} cannot be imported ({type(error).__name__}: {error}); mend or remove its package"
        ) from error
    params = _values(parsed.name, factory, parsed.params)
    return _plug_in(factory, params, format_spec(parsed.name, _in_full(factory, params)))


def available() -> list[Available]:
    """Every chunker that can be named, built-in ones first, then plug-ins, then the two open forms.

    A plug-in that cannot be imported is listed with the reason.
    """
    rows = [_row(name, partial(_load, target)) for name, target in _TABLE.items()]
    rows += [_row(name, plug_in.load) for name, plug_in in sorted(_plug_ins().items())]
    rows.append(Available("py:MODULE:CLASS", {}, "Any class or function of a Python module that can be imported."))
    rows.append(Available("exec:COMMAND", {}, "Any program that reads and writes JSON lines; see docs/chunkers.md."))
    return rows


def _row(name: str, load: Callable[[], Callable[..., object]]) -> Available:
    try:
        factory = load()
    except Exception as error:  # noqa: BLE001 - a broken plug-in must not hide the others; its row says so
        return Available(name, {}, f"cannot be imported: {type(error).__name__}: {error}")
    options = {key: parameter.default for key, parameter in _parameters(factory).items()}
    meaning = (inspect.getdoc(factory) or "no description").partition("\n")[0]
    return Available(name, options, meaning)


class _EntryPoint(NamedTuple):
    """A plug-in's name in the installed packages' metadata; importing it waits for `load`."""

    name: str
    load: Callable[[], Callable[..., object]]


def _plug_ins() -> dict[str, _EntryPoint]:
    from importlib.metadata import entry_points  # reads every installed package: only when a name is not ours

    return {point.name: _EntryPoint(point.name, point.load) for point in entry_points(group=GROUP)}


def _load(target: str) -> Callable[..., object]:
    module, _, attribute = target.partition(":")
    return cast("Callable[..., object]", getattr(import_module(module), attribute))


def _named(target: str, spec: str) -> Callable[..., object]:
    """The class or function that `py:module:Class` names; the working folder is searched too, as python -m does."""
    module_name, _, attribute = target.partition(":")
    if os.getcwd() not in sys.path and "" not in sys.path:  # noqa: PTH109 - sys.path holds strings
        sys.path.append(os.getcwd())  # noqa: PTH109
    try:
        module = import_module(module_name)
    except Exception as error:
        raise SpecError(
            f"spec {spec!r}: module {module_name!r} cannot be imported ({type(error).__name__}: {error}); "
            "run from the folder that holds it, or install it"
        ) from error
    factory = getattr(module, attribute, None)
    if not callable(factory):
        names = [name for name, value in vars(module).items() if inspect.isclass(value)]
        raise SpecError(f"spec {spec!r}: {nearest(f'class of {module_name}', attribute, names)}")
    return cast("Callable[..., object]", factory)


def _parameters(factory: Callable[..., object]) -> dict[str, inspect.Parameter]:
    """The options of a factory: its parameters that can be given by name, annotations resolved."""
    keyword = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    signature = inspect.signature(factory, eval_str=True)
    return {name: found for name, found in signature.parameters.items() if found.kind in keyword}


def _values(name: str, factory: Callable[..., object], given: Mapping[str, str]) -> dict[str, object]:
    """The given options with their values read; SpecError for an unknown one or a value of the wrong type."""
    known = _parameters(factory)
    values: dict[str, object] = {}
    for key, text in given.items():
        if key not in known:
            if not known:
                raise SpecError(f"{name} takes no options, not even {key}={text}")
            raise SpecError(f"{name}: {nearest('option', key, known)}")
        values[key] = _read(name, key, text, known[key])
    missing = [key for key, found in known.items() if found.default is found.empty and key not in values]
    if missing:
        raise SpecError(f"{name} needs {missing[0]}; write {name}:{missing[0]}=VALUE")
    return values


def _read(name: str, key: str, text: str, parameter: inspect.Parameter) -> object:
    kind = parameter.annotation
    if kind is parameter.empty and parameter.default is not parameter.empty:
        kind = type(parameter.default)
    if type(None) in (members := get_args(kind)):
        if text.lower() == "none":
            return None
        (kind,) = [member for member in members if member is not type(None)] if len(members) == 2 else [str]
    if kind is bool:
        if text.lower() not in ("true", "false"):
            raise SpecError(f"{name}: {key}={text} is no truth value; write {key}=true or {key}=false")
        return text.lower() == "true"
    if kind in (int, float):
        try:
            return kind(text)
        except ValueError as error:
            what = "whole number" if kind is int else "number"
            raise SpecError(f"{name}: {key}={text} is no {what}; write {key}=1500, say") from error
    return text


def _in_full(factory: Callable[..., object], given: Mapping[str, object]) -> dict[str, object]:
    """Every option with its value, given or default, in the order of the signature."""
    return {key: given.get(key, found.default) for key, found in _parameters(factory).items()}


def _plug_in(factory: Callable[..., Any], params: Mapping[str, object], spec: str) -> Chunker:
    """A third party's chunker; the spec is ours, so that no parameter can be missing from it."""
    try:
        inner = factory(**params)
    except BenchError:
        raise
    except Exception as error:
        raise SpecError(f"{spec} cannot be built: {type(error).__name__}: {error}") from error
    if not callable(getattr(inner, "chunk", None)):
        raise SpecError(f"{spec} has no method chunk(file); see docs/chunkers.md for what a chunker is")
    return NamedChunker(inner, spec)
