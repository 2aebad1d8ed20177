"""The option `language`: the language in which a file is cut, and the names that libraries have for languages."""

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Annotated, Literal

from repoeval_bench.core.errors import OR_SKIP, LanguageError
from repoeval_bench.core.extras import install_command
from repoeval_bench.core.fields import Doc
from repoeval_bench.core.languages import FURTHER, LANGUAGES, Language, language_name, language_of
from repoeval_bench.core.source import SourceFile
from repoeval_bench.core.syntax import TreeParser

_ALL: Mapping[str, Language] = {**LANGUAGES, **FURTHER}

if TYPE_CHECKING:
    LanguageName = str
else:
    LanguageName = Annotated[Literal[("auto", *_ALL)], Doc("auto: by the file's name; or a language")]
    """The option `language`: `auto`, or the name of one language for every file."""


def resolve_language(file: SourceFile, name: str = "auto") -> Language:
    """Return the language of that name, or the file's for `auto`; a LanguageError if it is not known."""
    if name != "auto":
        return _ALL[name]
    language = language_of(file.path, file.text)
    if language is None:
        further = FURTHER.get(language_name(file.path))
        way_out = (
            f"run {install_command(further.extra)}" if further else "take a chunker that needs none, such as fixed"
        )
        raise LanguageError(
            f"{file.name}: no grammar is here for files that end in {PurePosixPath(file.path).suffix!r}; "
            f"{way_out}{OR_SKIP}"
        )
    return language


@cache
def library_parser(language: str) -> TreeParser:
    """Return a parser of tree-sitter-language-pack's grammar, shared by all sizes and libraries."""
    return TreeParser(import_module("tree_sitter_language_pack").get_language(language))


SAME_NAMES: Mapping[str, str] = {name: name for name in LANGUAGES}
"""For libraries that know the ten languages under the same names."""

PACK_NAMES: Mapping[str, str] = {
    **SAME_NAMES,
    **{name: language.module.rpartition(".")[2] for name, language in FURTHER.items()},
}
"""For libraries on tree-sitter-language-pack: its name of each language."""
