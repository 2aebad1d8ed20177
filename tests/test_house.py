"""The rules of the house that neither ruff nor import-linter knows (docs/architecture.md)."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
ROOMS = ROOT / "repoeval_bench"
FILES = [
    path
    for path in sorted([*ROOMS.rglob("*.py"), *(ROOT / "chunkers").rglob("*.py")])
    if (ROOMS / "chunkers") not in path.parents
]
MOST_LINES, MOST_LINES_OF_FUNCTION, MOST_POSITIONAL = 640, 60, 4


@pytest.fixture(scope="module")
def parsed():
    """Path -> its lines and nodes."""
    texts = {path.relative_to(ROOT): path.read_text("utf-8") for path in FILES}
    return {path: (text.splitlines(), list(ast.walk(ast.parse(text)))) for path, text in texts.items()}


def test_files_are_short(parsed):
    assert {str(path): len(lines) for path, (lines, _) in parsed.items() if len(lines) > MOST_LINES} == {}


def test_a_long_function_says_why(parsed):
    """The reason is a comment, above the function or in its first line."""
    silent = [
        f"{path}:{node.lineno} {node.name}"
        for path, (lines, nodes) in parsed.items()
        for node in nodes
        if isinstance(node, ast.FunctionDef) and node.end_lineno - node.lineno >= MOST_LINES_OF_FUNCTION
        if not any("onger than 60 lines: " in line for line in lines[node.lineno - 2 : node.lineno])
    ]
    assert silent == []


def test_a_record_of_many_fields_is_made_by_keywords(parsed):
    many = [
        f"{path}:{node.lineno} {node.name}"
        for path, (_, nodes) in parsed.items()
        for node in nodes
        if isinstance(node, ast.ClassDef) and (_is_positional(node) or _is_named_tuple(node))
        if len(_positional_fields(node)) > MOST_POSITIONAL
    ]
    assert many == []


def test_the_root_has_few_names():
    names = {path.stem for path in (ROOT / "repoeval_bench").iterdir() if not path.name.startswith(("__", "."))}
    assert len(names) <= 15, names


def _is_positional(node):
    made = [ast.unparse(each) for each in node.decorator_list]
    return any("dataclass" in each and "kw_only=True" not in each for each in made)


def _is_named_tuple(node):
    return any("NamedTuple" in ast.unparse(base) for base in node.bases)


def _positional_fields(node):
    """The fields before `KW_ONLY` that a constructor takes."""
    found = []
    for each in node.body:
        if isinstance(each, ast.AnnAssign):
            declared = ast.unparse(each)
            if "KW_ONLY" in declared:
                break
            if "ClassVar" not in declared and "init=False" not in declared:
                found.append(each)
    return found
