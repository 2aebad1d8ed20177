"""Questions from documents: a paragraph that links definitions asks for them, in its words without the links' texts.

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
from repoeval_bench.core.uses import Definition as Linked
from repoeval_bench.dataset.asking import masked_identifiers, with_asked
from repoeval_bench.dataset.build.code import is_test
from repoeval_bench.dataset.documented import LEAST
from repoeval_bench.references.resolver import Resolver, is_compound

LEVEL = "prose"
"""The level of tasks that are such questions."""

_CHANGES = re.compile(r"change|history|news|release|whats.?new|upgrad|migrat", re.IGNORECASE)
_ITEM = re.compile(r"\A\s*(?:[-*+•]|\d+[.)]|#\.)\s")
_NO_PROSE = re.compile(r"\s*(?:\.\. |>>>|\||\+[-=]|#+ |:\w+:(?!`))")
_UNDERLINE = re.compile(r"\s*([^\w\s])\1+\s*")
_FENCE = re.compile(r"\s*(```|~~~)")
_ADDRESS = re.compile(r"<?https?://[^\s>)]*>?|(?<=\])\([^)\s]*\)")
_LINK = re.compile(r"(?::(?:\w+:)?(?P<role>\w+):)?(?P<ticks>`+)(?P<text>[^`\n]+)(?P=ticks)")
_ROLES = {None, "func", "function", "meth", "class", "exc", "obj", "any", "attr"}
_NAME = re.compile(r"[~!.]*(?P<name>[^\W\d]\w*(?:(?:\.|::|#)[^\W\d]\w*)*)(?P<call>\(\))?")


class _Paragraph(NamedTuple):
    """A paragraph: its place as `path::line`, its text, and the definitions that it links, each with its link."""

    place: str
    text: str
    links: tuple[tuple[str, Linked], ...]

    @property
    def named(self) -> tuple[Linked, ...]:
        """The definitions that it links."""
        return tuple(dict.fromkeys(definition for _, definition in self.links))

    def question(self, masked: Sequence[Linked]) -> str:
        """The text without markup, without the links to what is `masked` and its name."""
        gone = {link for link, definition in self.links if definition in masked}
        text = _LINK.sub(lambda match: " " if match[0] in gone else _shown(match), self.text)
        return masked_identifiers(_ADDRESS.sub("", text), masked)


def questions_of_prose(benchmark: Benchmark, *, named: bool = False) -> Benchmark:
    """The benchmark with a question for each paragraph that links a definition of the code; see `with_asked`."""
    if benchmark.tasks and benchmark.tasks[0].level == LEVEL:
        return benchmark
    return with_asked(
        benchmark,
        LEVEL,
        lambda repo: _paragraphs_of(benchmark.files[repo], benchmark.documents.get(repo, ())),
        least=LEAST,
        named=named,
        nothing=f"no paragraph of the documents of {{}} links a definition and has {LEAST} words or more left, so "
        "protocol prose asks nothing; name code with its documents, such as sdist:NAME==VERSION",
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
            for line, text in _paragraphs(document.text) if is_prose else ():
                linked = ((match[0], names.of(match)) for match in _LINK.finditer(text))
                if links := tuple((link, definition) for link, definition in linked if definition):
                    linking.append(_Paragraph(f"{document.path}::{line}", text, links))
            result.append(linking)
    return tuple(result)


def _paragraphs(text: str) -> Iterator[tuple[int, str]]:
    """(line from 1, text) of each paragraph or item of a list; code, tables and directives are none."""
    lines: list[str] = []
    fence = ""
    for number, line in enumerate([*text.splitlines(), ""]):
        opened = _FENCE.match(line)
        if lines and (not line.strip() or opened or _ITEM.match(line)):
            if not _NO_PROSE.match(lines[0]) and not _UNDERLINE.fullmatch(lines[-1]):
                yield number - len(lines) + 1, _ITEM.sub("", "\n".join(lines))
            lines = []
        if opened and fence in ("", opened[1]):
            fence = "" if fence else opened[1]
        elif line.strip() and not fence:
            lines.append(line)


def _shown(link: re.Match[str]) -> str:
    """The visible text of a link: the title of a role, or the last part of its name if the role begins with `~`."""
    title = re.sub(r"\s*<[^<>]*>$", "", link["text"]) if link["role"] else link["text"]
    return title.rpartition(".")[2] if title.startswith("~") else title


class _Names:
    """The definitions of a repository by what documents call them."""

    def __init__(self, resolver: Resolver, paths: Iterable[str]) -> None:
        self._readers = [(path, reader) for path in paths if (reader := resolver.definitions.reader(path))]

    def of(self, link: re.Match[str]) -> Linked | None:
        """The only function, method or class that a link can mean; a bare word of one part, such as `get`, is a class.

        A name has its own and any that lead to it: of folders, of its file, and of the classes around it, in order.
        """
        title = re.search(r"<([^<>]+)>$", link["text"]) if link["role"] else None
        target = _NAME.fullmatch(title[1] if title else link["text"])
        if target is None or link["role"] not in _ROLES:
            return None
        *leading, own = re.split(r"\.|::|#", target["name"])
        is_word = not (link["role"] or leading or target["call"] or is_compound(own))
        kinds = {"class"} if is_word else {"function", "method", "class"}
        matches = {
            definition
            for path, reader in self._readers
            for definition in reader.named(path, own)
            if definition.kind in kinds and _leads(leading, definition)
        }
        return matches.pop() if len(matches) == 1 else None


def _leads(leading: Sequence[str], definition: Linked) -> bool:
    """Return whether these names are, in their order, among the folders, file and classes around a definition."""
    around = iter([*definition.file.rpartition(".")[0].split("/"), *definition.name.split(".")[:-1]])
    return all(name in around for name in leading)
