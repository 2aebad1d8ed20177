"""A language is one file behind one interface: the rest of the room names none."""

import ast
import inspect
from pathlib import Path

import pytest
from tree_sitter import Language

from repoeval_bench.core.languages import LANGUAGES
from repoeval_bench.core.syntax import bare_grammar
from repoeval_bench.own.references import languages
from repoeval_bench.own.references.language_rules import LanguageRules
from repoeval_bench.own.references.languages import RULES

ROOM = Path(inspect.getfile(LanguageRules)).parent
NAMES = {*LANGUAGES, *(language.family for language in LANGUAGES.values())}


def test_each_family_has_rules_in_a_file_of_its_own():
    assert {*RULES, "python"} == {language.family for language in LANGUAGES.values()}
    folder = Path(inspect.getfile(languages)).parent
    files = {Path(inspect.getfile(type(rules))) for rules in RULES.values()}
    assert files == {path for path in folder.glob("*.py") if path.name != "__init__.py"}


def test_no_branch_asks_for_a_language_by_its_name():
    """Neither by the name of a family nor by the ending of a path, outside of the languages' own files."""
    endings = {ending for name, language in LANGUAGES.items() if name != "python" for ending in language.endings}
    named = [
        f"{path.name}:{node.lineno} {node.value}"
        for path in ROOM.glob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Constant) and node.value in (NAMES | endings)
    ]
    # What reads Python says whose grammar it takes.
    assert [use.partition(":")[0] for use in named] == ["python_nodes.py"], named


@pytest.mark.parametrize("family", sorted(RULES))
def test_a_language_names_nodes_of_its_own_grammars(family):
    """A kind that no grammar has is a slip of the pen, or was renamed in a grammar's new version."""
    grammars = [Language(bare_grammar(language)) for language in LANGUAGES.values() if language.family == family]
    nodes = RULES[family].nodes
    known = {grammar.node_kind_for_id(kind) for grammar in grammars for kind in range(grammar.node_kind_count)}
    assert frozenset().union(*nodes.values()) <= known
    forms = RULES[family].forms
    kinds = {*forms.names, *forms.binds, *forms.scopes, *forms.within, *forms.sealed, *forms.closed}
    assert kinds <= known | {"ERROR"}
    fields_known = {
        grammar.field_name_for_id(name) for grammar in grammars for name in range(1, grammar.field_count + 1)
    }
    lines = [form for lines in forms.binds.values() for form in lines]
    named = {form.parts for form in lines} | {part for parts in forms.within.values() for part in parts}
    named |= {form.since for form in lines} - {"start", "name", "end"}
    named = {part.lstrip("!") for part in named if not part.startswith(("<", ">", "="))} - {""}
    assert named <= fields_known
    assert {part for parts in forms.closed.values() for part in parts} <= known | fields_known
