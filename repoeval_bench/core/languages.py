"""The languages: one row each, with file names, the grammar's package and comments. Nothing is parsed here.

The ending of a file's name decides its language. `.h` belongs to several: it is Objective-C, which is not read, or C++
if the text shows it, else C. Files of the `LANGUAGES` are read wherever code is. Those of a `FURTHER` language are read
where it has more files than all of these. They, and files with any other ending, are also read where a user asks.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

from repoeval_bench.core.extras import is_installed


@dataclass(frozen=True, slots=True, kw_only=True)
class Language:
    """One language. `endings` are those of file names, lower-cased, with the dot.

    `module` and `function` give its tree-sitter grammar. `doc_comments` are the beginnings of comments that document
    the code below them.
    """

    name: str
    endings: tuple[str, ...]
    module: str
    function: str = "language"
    line_comment: str = "//"
    doc_comments: tuple[str, ...] = ("/**",)

    @property
    def family(self) -> str:
        """The name that languages share if their files use each other's definitions."""
        return _FAMILIES.get(self.name, self.name)

    @property
    def installed(self) -> bool:
        """Return whether the grammar's package is installed, as in every complete installation."""
        return _is_here(self.module)

    @property
    def package(self) -> str:
        """The name under which the grammar's package is installed."""
        return self.module.partition(".")[0].replace("_", "-")

    @property
    def extra(self) -> str:
        """The extra of this project that installs the grammar; "" for one that the base has."""
        return "languages" if self.name in FURTHER else ""


_is_here = cache(is_installed)  # every file of a further language asks
_FAMILIES = {"typescript": "javascript", "tsx": "javascript", "cpp": "c"}

_DOXYGEN = ("/**", "/*!", "///", "//!")


def _language(name: str, endings: str, *, grammar: str = "", modules: str = "tree_sitter_", **facts: Any) -> Language:
    """A language by what the names of modules of grammars begin with, and its grammar's own name if it is another."""
    return Language(name=name, endings=tuple(endings.split()), module=modules + (grammar or name), **facts)


LANGUAGES: Mapping[str, Language] = {
    language.name: language
    for language in (
        _language("python", ".py .pyi .pyw", line_comment="#", doc_comments=()),
        _language("javascript", ".js .jsx .mjs .cjs"),
        _language("typescript", ".ts .mts .cts", function="language_typescript"),
        _language("tsx", ".tsx", grammar="typescript", function="language_tsx"),
        _language("java", ".java"),
        _language("go", ".go", doc_comments=("//", "/*")),
        _language("rust", ".rs", doc_comments=("///", "/**")),
        _language("c", ".c .h", doc_comments=_DOXYGEN),
        _language("cpp", ".cpp .cc .cxx .c++ .hpp .hh .hxx .h++ .ipp .inl .tpp", doc_comments=_DOXYGEN),
        _language("csharp", ".cs", grammar="c_sharp", doc_comments=("///", "/**")),
    )
}
"""name -> language, of the ten that every part knows."""

# A language whose grammar is one of tree-sitter-language-pack's.
_packed = partial(_language, modules="tree_sitter_language_pack.bindings.", doc_comments=())

FURTHER: Mapping[str, Language] = {
    language.name: language
    for language in (
        _packed("ruby", ".rb .rake", line_comment="#"),
        _packed("php", ".php"),
        _packed("kotlin", ".kt .kts"),
        _packed("scala", ".scala .sc"),
        _packed("swift", ".swift"),
        _packed("elixir", ".ex .exs", line_comment="#"),
        _packed("shell", ".sh .bash", grammar="bash", line_comment="#"),
        _packed("haskell", ".hs", line_comment="--"),
        _packed("lua", ".lua", line_comment="--"),
        _packed("zig", ".zig"),
    )
}
"""name -> language, of those that are read beside the ten, and have no function tasks.

Their grammars are in the extra `languages`.
"""

_BY_ENDING = {ending: language for language in LANGUAGES.values() for ending in language.endings}
_FURTHER_BY_ENDING = {ending: language for language in FURTHER.values() for ending in language.endings}

ENDINGS = tuple(_BY_ENDING)
"""Endings of the files that are read wherever code is."""

FURTHER_ENDINGS = tuple(_FURTHER_BY_ENDING)
"""Endings of the files of the further languages."""

# They are no code, but names are resolved by them.
MODULE_FILES = ("go.mod", "package.json", "tsconfig.json", "jsconfig.json")
"""Files that name modules."""

# Signs of C++ that no C header has: a standard header without .h, and words that begin a line in C++ alone.
# `__cplusplus` is no sign, as C headers guard `extern "C"` with it.
_CPP = re.compile(
    r"^[ \t]*(?:"
    r"#[ \t]*include[ \t]*<\w+>"
    r"|template[ \t]*<"
    r"|(?:inline[ \t]+)?namespace\b"
    r"|class[ \t]+\w+[ \t]*(?:final\b|[{:;]|$)"
    r"|using[ \t]+\w"
    r"|(?:public|private|protected)[ \t]*:"
    r")|\bstd::\w",
    re.MULTILINE,
)


# Lines of Objective-C alone: the end of an interface, a declaration ahead, and the import of a header.
_OBJECTIVE_C = re.compile(
    r"^[ \t]*(?:"
    r"@end\b[ \t]*(?:/[/*].*)?$"
    r"|@(?:class|protocol)[ \t]+\w[\w, \t]*;"
    r"|#[ \t]*import[ \t]*[<\"][^>\"\n]+\.h[>\"]"
    r")",
    re.MULTILINE,
)


def ending_of(path: str) -> str:
    """The ending of a file's name in lower case, with the dot: `.rb`; "" for a name without one, such as `bin/go`."""
    _, dot, ending = path.rpartition("/")[2].rpartition(".")
    return dot and dot + ending.lower()


def language_of(path: str, text: str = "") -> Language | None:
    """The language of a file by the ending of its name, in upper or lower case; None if it is not known.

    A further language is known where its grammar is installed. `text` matters for `.h` alone: none if one of its lines
    is Objective-C only, C++ if one is C++ only, else C, as without a text.
    """
    ending = ending_of(path)
    if ending == ".h" and _OBJECTIVE_C.search(text):
        return None
    if ending == ".h" and _CPP.search(text):
        return LANGUAGES["cpp"]
    further = _FURTHER_BY_ENDING.get(ending)
    return further if further and further.installed else _BY_ENDING.get(ending)


def language_name(path: str, text: str = "") -> str:
    """The name of a file's language; its ending without the dot where no language of that ending is known."""
    ending = ending_of(path)
    known = language_of(path, text) or _FURTHER_BY_ENDING.get(ending)
    return known.name if known else ending[1:]
