"""Questions from documents: the query is a paragraph without its links, the gold what they name.

An experiment: most packages have few such paragraphs. A document is one of `DOCUMENTS` outside of tests that lists no
changes. A link is a role of Sphinx (`:func:`), or a name in backticks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from repoeval_bench.core.benchmark import Benchmark
from repoeval_bench.core.languages import language_of
from repoeval_bench.core.progress import progress
from repoeval_bench.core.source import SourceFile
from repoeval_bench.core.uses import CodeDefinition
from repoeval_bench.dataset.asking import masked_identifiers, with_questions
from repoeval_bench.dataset.build.code import MAX_LINE, is_test
from repoeval_bench.dataset.documented import LEAST
from repoeval_bench.references.resolver import Resolver

LEVEL = "prose"
"""The level of tasks that are such questions."""

_CHANGES = re.compile(
    r"(?<![a-z])(?:change(?:s|d|log|logs)?|history|news|release(?:s|notes)?|what.?s.?new|upgrad(?:e|es|ing)"
    r"|migrat(?:e|es|ing|ion|ions))(?![a-z])",
    re.IGNORECASE,
)
_ITEM = re.compile(r"\A\s*(?:[-*+•]|\d+[.)]|#\.)\s")
_NO_PROSE = re.compile(r"\s*(?:\.\. |>>>|\||\+[-=]|#+ |:\w+:(?!`))")
_UNDERLINE = re.compile(r"\s*([^\w\s])\1\1+\s*")
_FENCE = re.compile(r"\s*(?P<run>(?P<mark>[`~])(?P=mark){2,})(?P<info>(?:(?!(?P=mark)).)*)")
_CODE_BLOCK = re.compile(
    r"\s*\.\.(?:\s*+$|\s++(?:(?:[\w-]*code(?:-\w+)?|doctest|test(?:setup|cleanup|output)|parsed-literal|prompt|raw|math)::"
    r"|(?![_\[|]|\S+::)))"
)
"""The line above a body of reStructuredText that is code, or a comment."""

# Each of these takes time in proportion to the text, whatever it is: no part can begin inside of another.
_ADDRESS = re.compile(r"<?https?://[^\s>)]*>?|(?<=\])\((?:[^()\s]|\([^()\s]*\))*\)")
_LINK = re.compile(r"(?::(?:\w+:)?(?P<role>\w+):)?(?<!`)(?P<ticks>`{1,2})(?!`)(?P<text>[^`\n]+)(?P=ticks)(?!`)")
_TARGET = re.compile(r"(?<!\s)\s*<([^<>]+)>$")
_ROLES = {None, "func", "function", "meth", "class", "exc", "obj", "any", "attr"}
_NAME = re.compile(r"[~!.]*(?P<name>[^\W\d]\w*(?:(?:\.|::|#)[^\W\d]\w*)*)(?P<call>\(\))?")


class _Paragraph(NamedTuple):
    """A paragraph: its location as `path::line`, its text, and the definitions that it links, each with its link."""

    location: str
    text: str
    links: tuple[tuple[str, CodeDefinition], ...]

    @property
    def named(self) -> tuple[CodeDefinition, ...]:
        """The definitions that it links."""
        return tuple(dict.fromkeys(definition for _, definition in self.links))

    def question(self, masked: Sequence[CodeDefinition]) -> str:
        """The text without markup, without the links to what is `masked` and its name."""
        gone = {link for link, definition in self.links if definition in masked}
        text = _LINK.sub(lambda match: " " if match[0] in gone else _shown(match), self.text)
        return masked_identifiers(_ADDRESS.sub("", text), masked)


_COMPOUND = re.compile(r"[^\W_]_+[^\W_]|[a-z0-9][A-Z]")
"""Two words in one name: snake_case or camelCase."""


def _is_compound(name: str) -> bool:
    """Return whether a name has at least 6 characters and is made of two words or more."""
    return len(name) >= 6 and _COMPOUND.search(name) is not None


def questions_of_prose(benchmark: Benchmark, *, named: bool = False) -> Benchmark:
    """The benchmark with a question for each paragraph that links a definition of the code; see `with_questions`."""
    if benchmark.tasks and benchmark.tasks[0].level == LEVEL:
        return benchmark
    return with_questions(
        benchmark,
        LEVEL,
        lambda repo: _paragraphs_of(benchmark.files[repo], benchmark.documents.get(repo, ())),
        least=LEAST,
        named=named,
        nothing=f"protocol prose has no question: no paragraph of the documents of {{}} links a definition and has "
        f"{LEAST} words or more left; name code with its documents, such as sdist:NAME==VERSION",
    )


@lru_cache(maxsize=128)  # a comparison asks once for every chunker
def _paragraphs_of(
    files: tuple[SourceFile, ...], documents: tuple[SourceFile, ...]
) -> tuple[Sequence[_Paragraph], ...]:
    """The paragraphs of each document that link a definition outside of tests."""
    code = [file for file in files if not is_test(file.path)]
    result = []
    with Resolver(code) as resolver:
        # One file of each language, as a reader finds the definitions of all files of a family.
        names = _Names(resolver, {language_of(file.path, file.text): file.path for file in code}.values())
        for document in progress(documents, desc="read documents", unit="files"):
            linking = []
            is_prose = not is_test(document.path) and not _CHANGES.search(document.path.rpartition("/")[2])
            for line, text in _paragraphs(document) if is_prose else ():
                linked = ((match[0], names.of(match)) for match in _LINK.finditer(text))
                if links := tuple((link, definition) for link, definition in linked if definition):
                    linking.append(_Paragraph(f"{document.path}::{line}", text, links))
            result.append(linking)
    return tuple(result)


def _paragraphs(document: SourceFile) -> Iterator[tuple[int, str]]:
    """Yield (line from 1, text) of each paragraph or item of a list; headings, code, tables and directives are none."""
    without_code = _markdown if document.path.lower().endswith(".md") else _restructured
    lines: list[str] = []
    for number, read in enumerate([*without_code(document.text), ""]):
        line = read if len(read) <= MAX_LINE else ""
        if lines and (not line.strip() or _ITEM.match(line)):
            if not _NO_PROSE.match(lines[0]):
                yield number - len(lines) + 1, _ITEM.sub("", "\n".join(lines))
            lines = []
        if _UNDERLINE.fullmatch(line):
            lines = []
        elif line.strip():
            lines.append(line)


def _markdown(text: str) -> Iterator[str]:
    """The lines of a text in Markdown; those of fenced or indented code and of comments are empty."""
    before, *commented = text.split("<!--")
    pieces = [before]
    for part in commented:
        comment, end, after = part.partition("-->")
        pieces.append("\n" * comment.count("\n") + after if end else part)
    fence = ""
    is_after_blank, is_in_list = True, False
    for line in "".join(pieces).split("\n"):
        fence_match = _FENCE.fullmatch(line)
        is_code = is_after_blank and not is_in_list and line.startswith(("    ", "\t"))
        if fence or fence_match or is_code:
            if fence and fence_match and fence_match["run"].startswith(fence) and not fence_match["info"].strip():
                fence = ""
            elif fence_match and not fence and not is_code:
                fence = fence_match["run"]
            yield ""
            continue
        if _ITEM.match(line) or line.startswith(("!!!", "???")):  # an admonition's text is indented as a list's
            is_in_list = True
        elif is_after_blank and line and not line[0].isspace():
            is_in_list = False
        is_after_blank = not line.strip()
        yield line


def _restructured(text: str) -> Iterator[str]:
    """The lines of a text in reStructuredText; those of literal blocks, code and comments are empty."""
    left: int | None = None  # the column of the text above a body that is indented further and no prose
    for line in text.split("\n"):
        own = _ITEM.sub("", line).lstrip()
        if not own:
            yield line
        elif left is not None and len(line) - len(line.lstrip()) > left:
            yield ""
        else:
            is_literal = line.rstrip().endswith("::") and not own.startswith(".. ")
            left = len(line) - len(own) if is_literal or _CODE_BLOCK.match(line) else None
            yield line


def _shown(link: re.Match[str]) -> str:
    """The visible text of a link: the title of a role, or the last part of its name if the role begins with `~`."""
    title = _TARGET.sub("", link["text"]) if link["role"] else link["text"]
    return title.rpartition(".")[2] if title.startswith("~") else title


class _Names:
    """The definitions of a repository by what documents call them."""

    def __init__(self, resolver: Resolver, paths: Iterable[str]) -> None:
        self._readers = [(path, reader) for path in paths if (reader := resolver.definitions.reader(path))]

    def of(self, link: re.Match[str]) -> CodeDefinition | None:
        """Return the only function, method or class that a link can mean; a bare single word can mean a class only.

        The parts before the name must be those of its folders, its file, and the classes around it, in order.
        """
        title = _TARGET.search(link["text"]) if link["role"] else None
        target = _NAME.fullmatch(title[1] if title else link["text"])
        if target is None or link["role"] not in _ROLES:
            return None
        *leading, own = re.split(r"\.|::|#", target["name"])
        is_word = not (link["role"] or leading or target["call"] or _is_compound(own))
        kinds = {"class"} if is_word else {"function", "method", "class"}
        matches = {
            definition
            for path, reader in self._readers
            for definition in reader.named(path, own)
            if definition.kind in kinds and _leads(leading, definition)
        }
        return matches.pop() if len(matches) == 1 else None


def _leads(leading: Sequence[str], definition: CodeDefinition) -> bool:
    """Return whether these names are, in their order, among the folders, file and classes around a definition."""
    around = iter([*definition.file.rpartition(".")[0].split("/"), *definition.name.split(".")[:-1]])
    return all(name in around for name in leading)
