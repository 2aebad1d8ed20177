"""A data set in upstream's exact format, small and written for the tests: two repositories, a few tasks.

`build_mirror(folder)` makes a folder that `--source` takes. Its `repoeval.json` names it `mini` and pins it,
so that it can never pass for RepoEval; `manifest=False` leaves that out (then it must be refused).
"""

import ast
import hashlib
import json
import zipfile
from pathlib import Path

STOCK = '''"""Stock levels of a small warehouse."""

from __future__ import annotations

from dataclasses import dataclass, field

from inventory.errors import OutOfStock, UnknownItem


@dataclass
class Shelf:
    """One shelf: how many of each item lie on it."""

    capacity: int
    items: dict[str, int] = field(default_factory=dict)

    @property
    def used(self) -> int:
        """How many pieces lie on the shelf."""
        return sum(self.items.values())

    def put(self, name: str, count: int = 1) -> int:
        """Put pieces on the shelf; return how many did not fit."""
        room = self.capacity - self.used
        placed = max(0, min(room, count))
        if placed:
            self.items[name] = self.items.get(name, 0) + placed
        return count - placed

    def take(self, name: str, count: int = 1) -> None:
        """Take pieces from the shelf."""
        if name not in self.items:
            raise UnknownItem(name)
        if self.items[name] < count:
            raise OutOfStock(name, self.items[name], count)
        self.items[name] -= count
        if self.items[name] == 0:
            del self.items[name]


def restock(shelves: list[Shelf], name: str, count: int) -> int:
    """Spread a delivery over the shelves, fullest first; return what is left over."""
    left = count
    for shelf in sorted(shelves, key=lambda shelf: shelf.used, reverse=True):
        left = shelf.put(name, left)
        if left == 0:
            break
    return left
'''

ERRORS = '''"""What can go wrong in the warehouse."""


class UnknownItem(KeyError):
    """An item that was never stored."""


class OutOfStock(ValueError):
    """Fewer pieces than were asked for."""

    def __init__(self, name: str, held: int, wanted: int) -> None:
        super().__init__(f"{name}: {held} held, {wanted} wanted")
        self.name = name
        self.missing = wanted - held
'''

PRICING = '''"""Prices with taxes and volume discounts."""

from decimal import ROUND_HALF_UP, Decimal

CENT = Decimal("0.01")
DISCOUNTS = ((100, Decimal("0.15")), (50, Decimal("0.10")), (10, Decimal("0.05")))


def to_cents(amount: Decimal) -> Decimal:
    """Round half up to whole cents, as shops do."""
    return amount.quantize(CENT, rounding=ROUND_HALF_UP)


def discount(count: int) -> Decimal:
    """The share of the price that a volume takes off."""
    for least, share in DISCOUNTS:
        if count >= least:
            return share
    return Decimal(0)


def total(price: Decimal, count: int, tax: Decimal = Decimal("0.19")) -> Decimal:
    """Price of an order: discounted, then taxed, then rounded once."""
    net = price * count * (1 - discount(count))
    gross = net * (1 + tax)
    return to_cents(gross)
'''

TOKENS = '''"""Cutting text into words and counting them. Grüße aus München."""

import re
from collections import Counter

WORD = re.compile(r"\\\\w+")


def words(text):
    """Lower-cased words in order."""
    return [match.group().lower() for match in WORD.finditer(text)]


def bigrams(text):
    """Neighbouring words."""
    tokens = words(text)
    return list(zip(tokens, tokens[1:]))


class Vocabulary:
    """Words and how often they were seen."""

    def __init__(self, least=1):
        self.least = least
        self.counts = Counter()

    def update(self, text):
        """Count the words of a text."""
        self.counts.update(words(text))
        return self

    def __contains__(self, word):
        return self.counts[word.lower()] >= self.least

    def most_common(self, n):
        """The n words seen most often; ties in the order of the alphabet."""
        ranked = sorted(self.counts.items(), key=lambda item: (-item[1], item[0]))
        kept = [word for word, count in ranked if count >= self.least]
        return kept[:n]
'''.replace("\\\\", "\\")

WRAP = '''"""Wrapping paragraphs."""


def wrap(text, width=72):
    """Break a paragraph into lines of at most `width` characters; longer words are alone."""
    lines = []
    line = ""
    for word in text.split():
        if line and len(line) + 1 + len(word) > width:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}".strip()
    if line:
        lines.append(line)
    return lines


def indent(lines, prefix="    "):
    """Put a prefix before every line that is not blank."""
    return [prefix + line if line.strip() else line for line in lines]
'''

SEARCH = '''"""Finding texts by the words they share with a query."""

import math

from textkit.tokens import Vocabulary, words


def score(query, text, vocabulary):
    """Inverse-frequency overlap of a query and a text."""
    shared = set(words(query)) & set(words(text))
    total = sum(vocabulary.counts.values()) or 1
    return sum(math.log(1 + total / (1 + vocabulary.counts[word])) for word in shared)


def search(query, texts, k=5):
    """The k best texts, best first; equal scores keep their order."""
    vocabulary = Vocabulary()
    for text in texts:
        vocabulary.update(text)
    ranked = sorted(texts, key=lambda text: score(query, text, vocabulary), reverse=True)
    return ranked[:k]
'''

REPOSITORIES = {
    "acme_inventory": {
        "inventory/__init__.py": "",
        "inventory/errors.py": ERRORS,
        "inventory/pricing.py": PRICING,
        "inventory/stock.py": STOCK,
    },
    "northwind_textkit": {
        "setup.py": 'from setuptools import setup\n\nsetup(name="textkit", packages=["textkit"])\n',
        "textkit/__init__.py": "from textkit.search import search\nfrom textkit.wrap import wrap\n",
        "textkit/search.py": SEARCH,
        "textkit/tokens.py": TOKENS,
        "textkit/wrap.py": WRAP,
    },
}
"""Repository -> path -> text (LF). The archives hold acme_inventory with CRLF ends, as upstream mostly does."""

LICENCE = "MIT License\n\nCopyright (c) the authors of the tests\n"

CONTEXTS = {
    "function": ("2k_context_codex", "4k_context_codex"),
    "line": ("1k_context_codegen", "2k_context_codegen", "2k_context_codex", "4k_context_codex"),
    "api": ("1k_context_codegen", "2k_context_codegen", "2k_context_codex", "4k_context_codex"),
}

_API = ("self.items.get(", "shelf.put(", "amount.quantize(", "discount(count)", "words(query)", "vocabulary.update(")


def rows(level: str = "function") -> list[dict[str, object]]:
    """The task rows of a level, as upstream writes them."""
    results: list[dict[str, object]] = []
    for repo, files in REPOSITORIES.items():
        for path, text in files.items():
            lines = text.splitlines(keepends=True)
            for start, end, name in _holes(level, text, lines):
                number = sum(1 for row in results if row["metadata"]["fpath_tuple"][0] == repo)  # type: ignore[index]
                results.append(_row(level, repo, path, lines, start, end, name, number))
    return results


def _holes(level: str, text: str, lines: list[str]) -> list[tuple[int, int, str | None]]:
    """(first line, end line, function name) of what is to be written, 0-based and half-open."""
    if level == "function":
        functions = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)]
        return [(_body_start(node), node.end_lineno or 0, node.name) for node in functions]
    if level == "api":
        return [(n, n + 1, None) for n, line in enumerate(lines) if any(call in line for call in _API)]
    return [(n, n + 1, None) for n, line in enumerate(lines) if line.startswith("        ") and n % 3 == 0]


def _body_start(node: ast.FunctionDef) -> int:
    """0-based line after the signature and the docstring."""
    body = node.body[1:] if ast.get_docstring(node) else node.body
    return body[0].lineno - 1


def _row(
    level: str, repo: str, path: str, lines: list[str], start: int, end: int, name: str | None, number: int
) -> dict[str, object]:
    owner, _, project = repo.partition("_")
    metadata: dict[str, object] = {
        "task_id": f"{owner}--{project}/idx" if level == "function" else f"{repo}/{number}",
        "ground_truth": "".join(lines[start:end]),
        "fpath_tuple": [repo, *path.split("/")],
        "context_start_lineno": 0,
    }
    if level == "function":
        metadata |= {"lineno": start, "function_name": name}
    else:
        metadata["ground_truth"] = str(metadata["ground_truth"]).removesuffix("\n")
        metadata["line_no"] = start
    return {"prompt": "".join(lines[:start]).removesuffix("\n"), "metadata": metadata}


def jsonl(task_rows: list[dict[str, object]], end: str = "\r\n") -> bytes:
    """Rows as a task file; CRLF as upstream."""
    return "".join(json.dumps(row) + end for row in task_rows).encode()


def tree_name(level: str) -> str:
    """The archive's name without `.zip`."""
    return "function_level" if level == "function" else "line_and_api_level"


def tree_files() -> dict[str, bytes]:
    """The archive's content by name; the first repository with CRLF ends, one file of it with a BOM."""
    files: dict[str, bytes] = {}
    for repo, texts in REPOSITORIES.items():
        files[f"{repo}/LICENSE"] = LICENCE.encode()
        for path, text in texts.items():
            raw = text.encode()
            files[f"{repo}/{path}"] = raw.replace(b"\n", b"\r\n") if repo == "acme_inventory" else raw
    files["acme_inventory/inventory/stock.py"] = b"\xef\xbb\xbf" + files["acme_inventory/inventory/stock.py"]
    return files


def write_zip(path: Path, files: dict[str, bytes]) -> Path:
    """An archive with fixed dates, so that the same content gives the same bytes."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return path


def write_manifest(folder: Path, name: str = "mini") -> Path:
    """The `repoeval.json` that makes a folder of archives a custom set."""
    pins = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.glob("*.zip"))}
    manifest = folder / "repoeval.json"
    manifest.write_text(json.dumps({"name": name, "sha256": pins, "licences": {"acme_inventory": "MIT"}}))
    return manifest


def build_mirror(
    folder: Path,
    level: str = "function",
    *,
    manifest: bool = True,
    task_rows: list[dict[str, object]] | None = None,
    files: dict[str, bytes] | None = None,
) -> Path:
    """Write `datasets.zip`, the level's tree and `repoeval.json` into a folder; the folder.

    `task_rows` and `files` replace the rows and the tree's content.
    """
    folder.mkdir(parents=True, exist_ok=True)
    raw = jsonl(rows(level) if task_rows is None else task_rows)
    names = [f"{level}_level_completion_{context}.test.jsonl" for context in CONTEXTS[level]]
    write_zip(folder / "datasets.zip", dict.fromkeys(names, raw))
    write_zip(folder / f"{tree_name(level)}.zip", tree_files() if files is None else files)
    if manifest:
        write_manifest(folder)
    return folder
