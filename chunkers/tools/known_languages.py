"""Check before a long run that a chunker knows the languages of the code."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from repoeval_bench.chunkers._adapters import Peer, chunks_of
from repoeval_bench.core.errors import ChunkError, GrammarError, LanguageError
from repoeval_bench.core.languages import language_name
from repoeval_bench.core.parts import Chunker
from repoeval_bench.core.source import SourceFile


def unknown_language(chunker: Chunker, files: Iterable[SourceFile]) -> LanguageError | None:
    """Return the error of a chunker that does not know a language of the files, or None.

    The shortest file of each language is cut, except of Python, which every chunker here knows. Raises GrammarError if
    a grammar is not installed, which says nothing about the chunker. Other failures are ignored here.
    """
    shortest: dict[str, SourceFile] = {}
    for file in files:
        name = language_name(file.path, file.text)
        if name != "python" and file.text.strip() and len(file.text) < len(shortest.setdefault(name, file).text):
            shortest[name] = file
    # An adapter of this package decides by the file's name, before its library is imported.
    by_name = getattr(chunker, "language_in", None) if isinstance(chunker, Peer) else None
    check = by_name or partial(chunks_of, chunker=chunker)
    for file in shortest.values():
        try:
            check(file)
        except GrammarError:
            raise
        except LanguageError as error:
            return error
        except ChunkError:
            continue
    return None
