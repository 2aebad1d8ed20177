"""The rules of tasks: what is a candidate, and by which rule everything else is left out."""

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repoeval_bench.core.benchmark import AskedCommit
from repoeval_bench.core.definitions import definitions
from repoeval_bench.core.languages import language_of
from repoeval_bench.core.source import SourceFile
from repoeval_bench.core.spans import LineSpan
from repoeval_bench.dataset.reading import sampling
from repoeval_bench.dataset.reading.sampling import (
    PROMPT_TOKENS,
    Distinct,
    Order,
    TaskCandidate,
    part_of,
    prompt_lines,
    take_turns,
    tokens_of,
)
from repoeval_bench.own.packs.candidates import LEFT_OUT, examine
from support.written import benchmark, sources, task


def functions(path, text):
    language = language_of(path, text)
    assert language is not None
    candidates, skipped = examine(SourceFile("r", path, text), language)
    assert set(skipped) <= set(LEFT_OUT)
    return [(one.name, one.target_span.start, one.target_span.end) for one in candidates], dict(skipped)


def body(lines, indent="    "):
    return "".join(f"{indent}x_{i} = {i}\n" for i in range(lines))


INNER = f"    def inner():\n{body(4, ' ' * 8)}"
METHOD = "  int f({}) {{\n    int a = {};\n    a += 1;\n    return a;\n  }}\n"
OVERLOADED = "class A {\n" + METHOD.format("", 0) + METHOD.format("int b", 1) + "}\n"
SCRIPT = "it(() => {{\n  function page() {{\n    const a = {};\n    use(a);\n    return a;\n  }}\n}});\n"
ON_THE_LINE = {"on the signature's line": 1}


@pytest.mark.parametrize(
    ("path", "text", "expected", "skipped"),
    [
        # A body has 3 to 30 lines; blank ones do not count.
        ("a.py", f'def f():\n    """Doc."""\n\n{body(2)}', [], {"short": 1}),
        ("a.py", f'def f():\n    """Doc."""\n\n{body(3)}', [("f", 3, 6)], {}),
        ("a.py", f'def f():\n    """Doc."""\n\n{body(30)}', [("f", 3, 33)], {}),
        ("a.py", f'def f():\n    """Doc."""\n\n{body(31)}', [], {"long": 1}),
        ("a.py", "def f():\n    a = 1\n\n\n    b = 2\n", [], {"short": 1}),
        # A nested function is asked for once.
        ("a.py", f"def outer():\n{INNER}    return inner\n", [("outer", 1, 7)], {"nested": 1}),
        ("a.py", f"def outer():\n{body(31)}{INNER}    return inner\n", [("inner", 33, 37)], {"long": 1}),
        # The second of a name is left out, except in JavaScript.
        ("A.java", OVERLOADED, [("f", 2, 5)], {"overloaded": 1}),
        ("a.js", SCRIPT.format(1) + SCRIPT.format(2), [("page", 2, 5), ("page", 9, 12)], {}),
        ("a.js", "const f = (a) => a.map((b) =>\n  [b,\n  b,\n  b]);\n", [], ON_THE_LINE),
        ("a.c", "int f() { int a = 1;\n  a++;\n  a++;\n  return a;\n}\n", [], ON_THE_LINE),
        ("a.py", f"def f():\n{body(3)}    x = = 1\n", [], {"syntax error": 1}),
        # Prototypes and macros are no candidates.
        ("a.c", "int f(int a);\n#define G(x) \\\n  a(x); \\\n  b(x); \\\n  c(x)\n", [], {}),
    ],
)
def test_candidates_and_what_is_skipped(path, text, expected, skipped):
    assert functions(path, text) == (expected, skipped)


def test_no_file_stays_in_memory():
    """A pack of a large tree needs no more memory than one of a small tree."""
    before = definitions.cache_info()
    examine(SourceFile("r", "a.py", "def f(a):\n    a = 1\n    b = 2\n    return a\n"), language_of("a.py", ""))
    assert definitions.cache_info() == before


def test_braces_are_not_part_of_a_body():
    for path, text in {
        "a.go": "package p\n\nfunc f() int {\n\ta := 1\n\ta++\n\treturn a\n}\n",
        "a.rs": "fn f() -> i32\n{\n    let a = 1;\n    a += 1;\n    a\n}\n",
        "a.ts": "export const f = async (): Promise<number> => {\n  // why\n  let a = 1;\n  a += 1;\n  return a;\n};\n",
        "a.cs": "class A {\n  /// <summary>Doc.</summary>\n  int F() {\n    int a = 1;\n    a++;\n    return a;\n  }\n}\n",
    }.items():
        ((_, start, end),), _ = functions(path, text)
        lines = text.splitlines()
        assert lines[end].strip().startswith("}"), path
        assert lines[start].strip().startswith(("a := 1", "let a = 1", "int a = 1")), path


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("getHTTPResponse", ["get", "HTTPR", "esponse"]),
        ("snake_case_2024", ["snake", "_", "case", "_", "202", "4"]),
        ("a +=  b;\n\tc", ["a", "+", "=", "  ", "b", ";", "\n\t", "c"]),
    ],
)
def test_tokens_are_parts_of_names_signs_digits_and_line_ends(text, tokens):
    assert tokens_of(text) == tokens


def test_a_prompt_reaches_back_2000_tokens_of_whole_lines():
    file = SourceFile("r", "a.py", "".join(f"a{i % 10} = b\n" for i in range(3000)))
    shown = prompt_lines(file, 2500)
    assert shown.end == 2500
    count = len(tokens_of("\n" + file.line_text(shown).rstrip()))
    assert PROMPT_TOKENS - 5 <= count <= PROMPT_TOKENS
    assert prompt_lines(file, 10) == LineSpan(0, 10)


def test_a_prompt_has_at_least_a_line():
    file = SourceFile("r", "a.py", "x = 1\n" + "a + " * 3000 + "a\n" + "y = 2\n")
    assert prompt_lines(file, 2) == LineSpan(1, 2)


def candidates(path, n):
    return [TaskCandidate(path, LineSpan(i, i + 1), "") for i in range(1, n + 1)]


def test_the_order_takes_files_in_turns_and_holds_only_its_room():
    order = Order(0, "r", room=10)
    for n in range(50):
        order.add(candidates(f"{n}.py", 30))
    taken = list(order)
    assert len({package.path for package in taken}) == len(taken) == 10
    small = Order(0, "r", room=100)
    small.add(candidates("a.py", 3))
    small.add(candidates("b.py", 40))
    firsts = [task.path for task in small][:6]
    assert firsts.count("a.py") == 3


def test_the_order_depends_on_the_seed_and_not_on_when_files_come():
    def taken(seed, paths):
        order = Order(seed, "r", room=5)
        for path in paths:
            order.add(candidates(path, 3))
        return list(order)

    paths = [f"{n}.py" for n in range(30)]
    assert taken(1, paths) == taken(1, paths[::-1])
    assert taken(1, paths) != taken(2, paths)


def test_repositories_take_turns():
    turns = take_turns([candidates("a", 3), candidates("b", 1)])
    assert [position for position, _ in turns] == [0, 1, 0, 0]


def request_for(repos):
    """A benchmark of these files, repository -> path -> number of tasks."""
    tasks = [
        task(task_id=f"{repo}/{path}{i}", repo=repo, path=path, body=LineSpan(i, i + 1))
        for repo, files in repos.items()
        for path, n in files.items()
        for i in range(n)
    ]
    return benchmark({repo: sources(dict.fromkeys(paths, "x\n" * 60), repo) for repo, paths in repos.items()}, tasks)


def test_a_part_is_spread_over_repositories_and_files():
    """A repository with one task has it asked; each file is asked once before one is twice; the order stays."""
    whole = request_for({"big": {f"{n}.py": 50 for n in range(9)}, "small": {"one.py": 1}, "none": {"empty.py": 0}})
    part = part_of(whole, 19)
    assert len(part.tasks) == 19
    assert [item for item in whole.tasks if item in part.tasks] == list(part.tasks)
    per_file = [sum(task.path == f"{n}.py" for task in part.tasks) for n in range(9)]
    assert per_file == [2] * 9
    assert sorted(part.files) == ["big", "small"]
    assert len(part.files["big"]) == 9
    assert part.fingerprint != whole.fingerprint
    assert (part.whole_tasks, part_of(whole, 19)) == (whole.whole_tasks, part)
    assert part_of(whole, 19, seed=1).tasks != part.tasks
    assert part_of(whole, len(whole.tasks)) is whole


def test_a_part_has_only_so_many_tasks_of_a_file_spread_over_it():
    """Beside it the other files keep theirs, in their order; without a file above the limit nothing is drawn."""
    whole = request_for({"r": {"long.py": 47, "short.py": 3}, "other": {"long.py": 5}})
    part = part_of(whole, 1000, per_file=5)
    assert [item for item in whole.tasks if item in part.tasks] == list(part.tasks)
    kept = [(item.repo, item.path, item.body.start) for item in part.tasks]
    assert kept[:5] == [("r", "long.py", line) for line in (0, 9, 18, 28, 37)]
    assert [name for _, name, _ in kept[5:]] == ["short.py"] * 3 + ["long.py"] * 5
    assert (part.sample.of, part.sample.per_file) == (55, 5)
    assert part_of(whole, 1000, per_file=47) is whole


def test_a_file_of_a_history_is_one_file_in_all_windows():
    facts = {"age_days": 1, "lines_changed": 1, "is_insertion": False, "exact": (), "definitions": ()}
    changed = AskedCommit(commit="c", date="2024-01-01", subject="s", author=1, file="new.py", **facts)
    whole = request_for({"r@1": {"old.py": 9}, "r@2": {"new.py": 9}})
    tasks = tuple(replace(item, change=changed) for item in whole.tasks)
    assert len(part_of(replace(whole, tasks=tasks), 1000, per_file=6).tasks) == 6


def resemble(one, other):
    one, other = set(pairwise(one)), set(pairwise(other))
    return len(one & other) >= 0.8 * len(one | other)


@given(st.lists(st.lists(st.sampled_from("abc"), max_size=9), max_size=12))
def test_what_resembles_nothing_admitted_before_is_admitted(texts):
    distinct, admitted = Distinct(), []
    for text in texts:
        expected = not any(resemble(text, other) for other in admitted)
        assert distinct.admits(text) == expected
        admitted += [text] if expected else []


def test_few_texts_are_compared(monkeypatch):
    """Lines that differ in a number share most pairs of tokens, and are compared where they share a rare one."""
    compared = []
    similar = sampling._are_similar
    monkeypatch.setattr(sampling, "_are_similar", lambda *pairs: compared.append(1) or similar(*pairs))
    distinct = Distinct()
    assert all(distinct.admits(tokens_of(f"if (x > {number}) {{")) for number in range(100, 500))
    assert len(compared) < 800


def test_a_prompt_reads_no_more_of_a_longer_file(monkeypatch):
    """Lines within 2,000 tokens of the target, each once."""
    read = []
    real = sampling._TOKEN

    class Counting:
        @staticmethod
        def finditer(text):
            read.append(text)
            return real.finditer(text)

    monkeypatch.setattr(sampling, "_TOKEN", Counting)
    for n_lines in (3_000, 30_000):
        prompt_lines(SourceFile("r", "long.py", "a = b\n" * n_lines), n_lines - 1)
    assert len(read) == 2 * (PROMPT_TOKENS // 4 + 1)
