"""chonkie's spans on the file."""

from dataclasses import dataclass

import pytest

import repoeval_bench.chunkers.chonkie
from repoeval_bench.chunkers.chonkie import ChonkieChunker
from repoeval_bench.chunkers.tools.cases import SAMPLES
from repoeval_bench.core.errors import ChunkError
from repoeval_bench.core.source import SourceFile

TEXT = "ä = 'é𝒳中'\n\n\ndef f():\n    return 'ü'\n" * 30
FILE = SourceFile("r", "a.py", TEXT)


@pytest.mark.parametrize("kind", ["code", "recursive", "sentence", "token", "fast"])
def test_chunks_are_slices_that_cover_every_character_but_blanks(kind: str) -> None:
    chunks = ChonkieChunker(kind=kind, chunk_size=120).chunk(FILE)
    assert len(chunks) > 3
    assert all(chunk.text == TEXT[chunk.chars.start : chunk.chars.end] for chunk in chunks)
    assert "".join("".join(chunk.text for chunk in chunks).split()) == "".join(TEXT.split())


@pytest.mark.parametrize("language", SAMPLES)
def test_a_file_is_cut_by_its_own_grammar(language: str) -> None:
    path, text = SAMPLES[language]
    chunks = ChonkieChunker(chunk_size=200).chunk(SourceFile("r", path, text))
    assert chunks == ChonkieChunker(chunk_size=200, language=language).chunk(SourceFile("r", path, text))
    assert len(chunks) > 1


def test_kinds_without_a_grammar_ask_for_no_language() -> None:
    notes = SourceFile("r", "notes.txt", TEXT)
    with pytest.raises(ChunkError, match="chonkie does not know txt"):
        ChonkieChunker().chunk(notes)
    assert all(ChonkieChunker(kind=kind).chunk(notes) for kind in ("token", "recursive", "sentence", "fast"))


@dataclass
class Piece:
    text: str
    start_index: int
    end_index: int


class Rewrites:
    def chunk(self, text: str) -> list[Piece]:
        return [Piece(text.upper(), 0, len(text))]


class Fails:
    def chunk(self, text: str) -> list[Piece]:
        raise RecursionError("maximum recursion depth exceeded")


@pytest.mark.parametrize(("library", "part"), [(Rewrites, "not in the file"), (Fails, "failed with RecursionError")])
def test_a_text_that_is_not_a_slice_and_a_failure_name_the_file(monkeypatch, library: type, part: str) -> None:
    monkeypatch.setattr(repoeval_bench.chunkers.chonkie, "_library", lambda *_: library())
    with pytest.raises(ChunkError, match=part) as caught:
        ChonkieChunker().chunk(FILE)
    assert "r/a.py" in str(caught.value)
