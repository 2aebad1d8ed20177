"""Names that docstrings and comments mention exist: modules, their members, members of classes, and files."""

import ast
import re
from collections import defaultdict
from importlib import import_module
from pathlib import Path
from pkgutil import resolve_name

import pytest

from support.leaves import is_of_a_lost_leaf

ROOT = Path(__file__).resolve().parents[1]
FILES = [
    path
    for path in sorted([*(ROOT / "repoeval_bench").rglob("*.py"), *(ROOT / "chunkers").rglob("*.py")])
    if (ROOT / "repoeval_bench" / "chunkers") not in path.parents
]
TESTS = sorted([*(ROOT / "tests").rglob("*.py"), *(ROOT / "scripts").glob("*.py")])
PACKAGES = {path.parent.name for path in FILES if path.name == "__init__.py"}
COMMENT = re.compile(r"(?:^|\s)# .*")
DOTTED = re.compile(
    r"`([A-Za-z_]\w*(?:\.\w+)+)(?:\(\))?`|(?<![\w`/.])((?:repoeval_bench|chunkers)(?:\.\w+)+)(?![\w`/])"
)
PATHS = re.compile(
    r"(?<![\w/.\-<])((?:docs|tests|scripts|repoeval_bench|chunkers|data)/[\w/.\-]+\.(?:py|md|csv|json|yaml))"
)


def module_of(path):
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@pytest.fixture(scope="module")
def words(nodes):
    """The comments and docstrings of the package, each with its file and line."""
    listed = []
    for path in FILES:
        name, lines = path.relative_to(ROOT), path.read_text("utf-8").splitlines()
        listed += [(name, at, match[0]) for at, line in enumerate(lines, 1) if (match := COMMENT.search(line))]
        alone = [node.value for node in nodes[path] if isinstance(node, ast.Expr)]
        listed += [(name, node.lineno, str(node.value)) for node in alone if isinstance(node, ast.Constant)]
    return listed


@pytest.fixture(scope="module")
def nodes():
    """File -> its nodes, the module first."""
    return {path: list(ast.walk(ast.parse(path.read_text("utf-8")))) for path in [*FILES, *TESTS]}


@pytest.fixture(scope="module")
def modules():
    """Last part of a module's name -> the modules of that name, packages included."""
    known = defaultdict(list)
    for path in FILES:
        known[module_of(path).rpartition(".")[2]].append(module_of(path))
    return known


@pytest.fixture(scope="module")
def classes(nodes):
    """Name of a class -> the modules that define one."""
    known = defaultdict(list)
    for path in FILES:
        for node in nodes[path][0].body:
            if isinstance(node, ast.ClassDef):
                known[node.name].append(module_of(path))
    return known


def exists(full):
    try:
        return resolve_name(full) is not None
    except (ImportError, AttributeError):
        return False


def has(owner, name):
    """A class has a member, a field without a default included."""
    return hasattr(owner, name) or any(name in vars(base).get("__annotations__", {}) for base in owner.__mro__)


def is_known(name, modules, classes):
    """A dotted name exists, or does not name what is ours: an example, a file, somebody else's module."""
    first, *rest = name.split(".")
    if name.endswith((".json", ".yaml", ".css")):
        return True
    if first in {"repoeval_bench", "chunkers"}:
        return exists(name) or is_of_a_lost_leaf(name)
    if first in classes:
        return any(has(getattr(import_module(module), first), rest[0]) for module in classes[first])
    if first in modules and (first in PACKAGES or rest[0][0].isupper()):
        return any(exists(".".join([module, *rest])) for module in modules[first])
    return True


def test_every_dotted_name_exists(words, modules, classes):
    unknown = {
        f"{path}:{line}: {name}"
        for path, line, text in words
        for pair in DOTTED.findall(text)
        for name in [pair[0] or pair[1]]
        if not is_known(name, modules, classes)
    }
    assert unknown == set()


OPENERS = re.compile(r"(What|Whether|How|Where|Which|Who|When|Why)\b")
"""A docstring says what the thing is or does: it begins with a noun or a verb, and never with a formula."""
GONE = re.compile(
    "alike|anew|arms?|Arm|asked|Chosen|crowd|each|edition|elsewhere|few_gold|found|hole|leak|made|notify|silent|"
    "Standings?|tell|told|told_apart|untold|wanted"
)
"""Names that were hard to follow, and what stands for them now is a word of the field."""


def test_docstrings_begin_with_a_noun_or_a_verb(nodes):
    result = {
        f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', 1)}: {text.splitlines()[0]}"
        for path in FILES
        for node in nodes[path]
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef))
        if (text := ast.get_docstring(node) or "")
        if OPENERS.match(text) or (isinstance(node, ast.FunctionDef) and not re.match("[A-Z`]", text))
    }
    assert result == set()


def test_names_that_went_stay_gone(nodes):
    result = {
        f"{path.relative_to(ROOT)}:{node.lineno}: {name}"
        for path, of_file in nodes.items()
        for node in of_file
        for field in ("id", "arg", "attr", "name")
        if isinstance(name := getattr(node, field, None), str) and GONE.fullmatch(name)
    }
    assert result == set()


def test_a_class_name_means_one_thing(classes):
    """Beside private classes, which only their own file names."""
    assert {name: modules for name, modules in classes.items() if len(modules) > 1 and not name.startswith("_")} == {}


def test_every_file_exists(words):
    missing = {
        f"{path}:{line}: {name}"
        for path, line, text in words
        for name in PATHS.findall(text)
        if not (ROOT / name).exists()
    }
    assert missing == set()
