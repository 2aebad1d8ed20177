"""A check, before a long run, that a chunker knows the languages of some code."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from repoeval_bench.chunkers._adapters import Peer, chunks_of
from repoeval_bench.core.errors import ChunkError, GrammarError, LanguageError
from repoeval_bench.core.languages import language_of
from repoeval_bench.core.parts import Chunker
from repoeval_bench.core.source import SourceFile


def unknown_language(chunker: Chunker, files: Iterable[SourceFile]) -> LanguageError | None:
    """Return the error of a chunker that does not know the language of a file: one file of each is cut, the shortest.

    Python is not tried: every chunker here knows it. Raises GrammarError where a grammar is not installed, which says
    nothing about the chunker. Other failures show when the files are cut.
    """
    shortest: dict[str, SourceFile] = {}
    for file in files:
        language = language_of(file.path, file.text)
        name = language.name if language else ""
        if name != "python" and file.text.strip() and len(file.text) < len(shortest.setdefault(name, file).text):
            shortest[name] = file
    # An adapter of this package knows by the file's name, before its library is imported.
    by_name = getattr(chunker, "language_in", None) if isinstance(chunker, Peer) else None
    read = by_name or partial(chunks_of, chunker=chunker)
    for file in shortest.values():
        try:
            read(file)
        except GrammarError:
            raise
        except LanguageError as error:
            return error
        except ChunkError:
            continue
    return None
