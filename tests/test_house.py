"""The rules of the house that neither ruff nor import-linter knows (docs/architecture.md)."""

import ast
import re
import tomllib
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import grimp
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
    unexplained = [
        f"{path}:{node.lineno} {node.name}"
        for path, (lines, nodes) in parsed.items()
        for node in nodes
        if isinstance(node, ast.FunctionDef) and node.end_lineno - node.lineno >= MOST_LINES_OF_FUNCTION
        if not any("onger than 60 lines: " in line for line in lines[node.lineno - 2 : node.lineno])
    ]
    assert unexplained == []


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
    assert len(names) <= 16, names


@pytest.mark.parametrize("typing", [False, True], ids=["run time", "with typing"])
def test_no_modules_import_each_other_in_a_circle(typing):
    graph = grimp.build_graph("repoeval_bench", exclude_type_checking_imports=not typing, cache_dir=None)
    edges = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    try:
        TopologicalSorter(edges).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(reversed(error.args[1])))


def test_no_room_names_a_room_above_it_in_a_string(parsed):
    """An import by name is an import: what it names is held to the layers too.

    The table of the package's public names is not.
    """
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    layers = settings["tool"]["importlinter"]["contracts"][0]["layers"]
    height = {room.strip(): -at for at, layer in enumerate(layers) for room in layer.split("|")}
    upward = []
    tables = {Path("repoeval_bench/__init__.py")}
    for path, (_, nodes) in ((path, nodes) for path, nodes in parsed.items() if path not in tables):
        room = path.parts[path.parts[0] == "repoeval_bench"].removesuffix(".py")
        for node in nodes:
            text = node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
            named = re.fullmatch(r"repoeval_bench\.(\w+)[\w.]*(:\w+)?", text)
            if named and room in height and height.get(named[1], -99) > height[room]:
                upward.append(f"{path}:{node.lineno} {text}")
    assert upward == []


def _is_positional(node):
    decorators = [ast.unparse(decorator) for decorator in node.decorator_list]
    return any("dataclass" in item and "kw_only=True" not in item for item in decorators)


def _is_named_tuple(node):
    return any("NamedTuple" in ast.unparse(base) for base in node.bases)


def _positional_fields(node):
    """The fields before `KW_ONLY` that a constructor takes."""
    result = []
    for statement in node.body:
        if isinstance(statement, ast.AnnAssign):
            declared = ast.unparse(statement)
            if "KW_ONLY" in declared:
                break
            if "ClassVar" not in declared and "init=False" not in declared:
                result.append(statement)
    return result
