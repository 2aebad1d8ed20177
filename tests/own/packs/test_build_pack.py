"""Packs: the same bytes from the same sources, everything left out is counted, nothing is half-written."""

import filecmp
import hashlib
import os
import shutil
from pathlib import Path

import pytest

from repoeval_bench.core.errors import DatasetError, UsageError
from repoeval_bench.dataset.loader import load_benchmark
from repoeval_bench.dataset.pack import Pack
from repoeval_bench.dataset.reading.sampling import PROMPT_TOKENS, tokens_of
from repoeval_bench.own.packs.pack import build_pack
from repoeval_bench.own.packs.request import BuildRequest
from repoeval_bench.protocols.uses import with_used
from support.cases import cases
from support.codebase import CODE, LEFT_OUT, commit, write_code, write_files
from support.scip import document, occurrence

CASES = cases(__file__)


def build(out, *sources, **options):
    return build_pack(BuildRequest.of({"sources": tuple(map(str, sources)), **options}), out)


def functions(n):
    """So many functions that do not resemble each other."""
    return "".join(f"def f_{i}(a):\n    b_{i} = a\n    b_{i} += c_{i}\n    return d_{i}(b_{i})\n" for i in range(n))


@pytest.fixture(scope="module")
def code(tmp_path_factory):
    return write_code(tmp_path_factory.mktemp("sources") / "mixed")


@pytest.fixture(scope="module")
def pack(code, tmp_path_factory):
    return build(tmp_path_factory.mktemp("packs") / "mixed", code)


def test_a_pack_has_the_code_and_counts_what_it_leaves_out(pack):
    (source,) = pack.content.sources
    assert source.files == {"go": 1, "java": 1, "python": 1, "typescript": 1}
    assert source.left_out == LEFT_OUT
    assert Pack.find(str(pack.root)).content == pack.content
    assert pack.content.levels["function"].left_out["short"] > 0
    root = pack.root / "repositories" / "mixed"
    result = {path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()}
    assert result == {*CODE, "LICENSE"}


def test_a_pack_is_a_benchmark(pack, tmp_path):
    benchmark = load_benchmark(pack.root, home=tmp_path)
    assert len(benchmark.tasks) == pack.content.levels["function"].tasks > 0
    assert benchmark.name == "pack-mixed-function-2k-code"
    assert {task.path for task in benchmark.tasks} == set(CODE)
    for task in benchmark.tasks:
        file = benchmark.by_name[task.file]
        assert file.line_text(task.body) == task.ground_truth
        shown = file.text.splitlines()[task.context_start : task.body.start]
        assert task.prompt == "\n".join(shown)
        assert len(tokens_of(task.prompt)) <= PROMPT_TOKENS


def test_functions_are_taken_without_docstring_and_leading_comment(pack, tmp_path):
    tasks = {task.function_name: task for task in load_benchmark(pack.root, home=tmp_path).tasks}
    assert set(tasks) == {
        *("__init__", "record_payment", "total_of", "settle_debts", "undocumented"),
        *("insertByPriority", "drainAll", "retryWithPause"),
        *("FetchOrLoad", "EvictOldest", "Warm"),
        *("countNeighbours", "crowdedCells"),
    }
    assert tasks["record_payment"].prompt.endswith('question.\n        """')
    assert tasks["settle_debts"].prompt.endswith("# The mean is what everyone should have paid.")
    assert tasks["EvictOldest"].prompt.endswith("func EvictOldest(c *Cache) int {")
    assert tasks["EvictOldest"].ground_truth.splitlines()[-1] == "\treturn dropped"
    assert tasks["countNeighbours"].ground_truth.splitlines()[0] == "        int alive = 0;"


def test_same_source_and_seed_give_the_same_bytes(code, pack, tmp_path):
    again = build(tmp_path / "elsewhere", code)
    files = [
        {path.relative_to(folder.root) for path in folder.root.rglob("*") if path.is_file()} for folder in (pack, again)
    ]
    assert files[0] == files[1]
    names = sorted(map(str, files[0]))
    assert filecmp.cmpfiles(pack.root, again.root, names, shallow=False) == (names, [], [])


def test_a_pack_says_what_its_tasks_use(pack, tmp_path):
    benchmark = load_benchmark(pack.root, home=tmp_path)
    used = {task.function_name: {use.definition.name: use.tier for use in task.uses or ()} for task in benchmark.tasks}
    assert used["undocumented"] == dict.fromkeys(("Ledger", "Ledger.record_payment", "settle_debts"), "imported")
    counted = pack.content.levels["function"].uses
    assert counted.tasks == sum(map(bool, used.values()))


def write_index(path, *occurrences):
    """A SCIP index of (path, (line, start, end), symbol, whether it is defined there)."""
    path.write_bytes(b"".join(document(name, occurrence(*rest)) for name, *rest in occurrences))
    return str(path)


TYPED = {
    "prices.ts": "export class Rate { of(a: number) { return a; } }\nexport class Tax { of(a: number) { return a; } }\n",
    "shop.ts": "export function pay(a: any) {\n  let b = a.of(1);\n  b += 1;\n  return b;\n}\n",
}


def test_an_index_says_what_names_cannot(tmp_path):
    pytest.importorskip("google.protobuf")
    other = TYPED["shop.ts"].replace("1;", "27 * a;").replace("b", "total")
    sources = [write_files(tmp_path / "one", TYPED), write_files(tmp_path / "two", TYPED | {"shop.ts": other})]
    index = write_index(
        tmp_path / "i.scip", ("prices.ts", (1, 19, 21), "s Tax#of", 1), ("shop.ts", (1, 12, 14), "s Tax#of", 0)
    )
    packs = [build(tmp_path / name, *sources, scip=(str(index),)) for name in ("pack", "again")]
    used = {task.repo: task.uses for task in load_benchmark(packs[0].root, home=tmp_path).tasks}
    assert [(use.definition.name, use.tier) for use in used["one"]] == [("Tax.of", "resolved")]
    assert used["two"] == ()
    one, two = (source.model_dump() for source in packs[0].content.sources)
    assert one["scip_sha256"] == hashlib.sha256(Path(index).read_bytes()).hexdigest()
    assert "scip_sha256" not in two
    assert packs[0].content == packs[1].content


def test_without_protobuf_the_extra_is_named(tmp_path, monkeypatch):
    def missing(name):
        if name.startswith("google"):
            raise ModuleNotFoundError(name)
        return True

    monkeypatch.setattr("repoeval_bench.core.extras.find_spec", missing)
    index = write_index(tmp_path / "i.scip", ("a.ts", (0, 1, 2), "s", 1))
    with pytest.raises(UsageError, match="--scip needs google.protobuf; run "):
        build(tmp_path / "p", write_files(tmp_path / "code", TYPED), scip=(str(index),))


def test_an_index_of_other_code_is_refused(tmp_path):
    pytest.importorskip("google.protobuf")
    folder = write_files(tmp_path / "code", TYPED)
    index = write_index(tmp_path / "i.scip", ("elsewhere.ts", (0, 1, 2), "s X#", 1))
    with pytest.raises(DatasetError, match="leads no name of code to a definition"):
        build(tmp_path / "p", folder, scip=(str(index),))
    assert not (tmp_path / "p").exists()


@pytest.mark.parametrize(("sources", "options", "parts"), CASES["asked"])
def test_all_that_is_asked_wrongly_is_said_at_once(tmp_path, sources, options, parts):
    with pytest.raises(UsageError) as raised:
        build(tmp_path / "p", *sources, **options)
    assert [part for part in parts if part not in str(raised.value)] == []
    assert not list(tmp_path.iterdir())


def test_names_are_left_alone_where_asked(code, tmp_path):
    pack = build(tmp_path / "p", code, resolve="no")
    assert not [*pack.root.glob("tasks/*.tsv")]
    assert all(level.uses is None for level in pack.content.levels.values())
    with pytest.raises(DatasetError, match="data build --resolve names"):
        with_used(load_benchmark(pack.root, home=tmp_path))


def test_a_table_of_names_that_is_not_utf_8_is_refused(code, tmp_path):
    pack = build(tmp_path / "p", code)
    (table,) = pack.root.glob("tasks/*.tsv")
    table.write_bytes(b"\xff")
    with pytest.raises(DatasetError, match=r"uses\.tsv cannot be read"):
        load_benchmark(pack.root, home=tmp_path)


def test_another_seed_draws_others(code, tmp_path):
    few = [build(tmp_path / str(seed), code, tasks=3, seed=seed) for seed in (1, 2)]
    drawn = [{task.task_id: task.prompt for task in load_benchmark(item.root, home=tmp_path).tasks} for item in few]
    assert drawn[0] != drawn[1]
    assert len(drawn[0]) == len(drawn[1]) == 3


def test_tasks_are_spread_over_repositories_and_files(code, tmp_path):
    single = write_files(tmp_path / "single", {"a.py": functions(5)})
    pack = build(tmp_path / "pack", code, single, tasks=8)
    tasks = load_benchmark(pack.root, home=tmp_path).tasks
    assert [task.repo for task in tasks].count("single") == 4
    assert {task.path for task in tasks if task.repo == "mixed"} == set(CODE)


def test_near_duplicates_are_drawn_once(tmp_path):
    body = "".join(f"    total_{i} = first_{i} + second_{i}\n" for i in range(6))
    text = f"def one(a):\n{body}    return a\n\n\ndef two(a):\n{body}    return a + 1\n"
    counted = build(tmp_path / "p", write_files(tmp_path / "twins", {"a.py": text})).content.levels["function"]
    assert (counted.candidates, counted.tasks, counted.left_out["near-duplicate, when drawn"]) == (2, 1, 1)


def test_one_language_only(code, tmp_path):
    pack = build(tmp_path / "go", code, languages=("go",), name="gopher")
    assert list(pack.content.languages) == ["go"]
    assert pack.content.name == "gopher"
    assert pack.content.sources[0].left_out["other language"] > 0


def test_what_git_ignores_is_left_out(tmp_path):
    folder = write_code(tmp_path / "checkout", aside=False)
    (folder / ".gitignore").write_text("ignored/\n")
    head = commit(folder)
    (folder / "ignored").mkdir()
    (folder / "ignored" / "x.py").write_text("x = 1\n")
    clean = build(tmp_path / "clean", folder).content.sources[0].model_dump()
    assert (clean["kind"], clean["commit"]) == ("git", head)
    assert clean["left_out"]["ignored by git"] == 1


def test_links_and_odd_names(tmp_path):
    folder = write_code(tmp_path / "odd", aside=False)
    (tmp_path / "secret.py").write_text("password = 1\n")
    (folder / "out.py").symlink_to(tmp_path / "secret.py")
    (folder / "loop").symlink_to(folder)
    text = "def f(a, b, c):\n    total = a + b\n    total += c\n    return total * 2\n"
    odd = {"with blank.py", 'it\'s "quoted".py', "Ünï-код.py", "línea 線.py"}
    for name in (*odd, "bell\a.py", os.fsdecode(b"\xff.py")):
        (folder / name).write_text(text)
    pack = build(tmp_path / "pack", folder)
    assert pack.content.sources[0].left_out == {"link": 2, "unusable name": 2}
    assert odd < {path.name for path in pack.root.rglob("*.py")}
    assert "password" not in "".join(path.read_text() for path in pack.root.rglob("*.py"))
    load_benchmark(pack.root, home=tmp_path)


@pytest.mark.parametrize("case", CASES["without tasks"])
def test_a_source_without_tasks_is_one_sentence_and_leaves_nothing(tmp_path, case):
    texts, says, *times = CASES["without tasks"][case]
    folder = tmp_path / "source"
    folder.mkdir()
    write_files(folder, {name: text.encode("latin-1") * sum(times or [1]) for name, text in texts.items()})
    with pytest.raises(DatasetError) as raised:
        build(tmp_path / "packs" / "p", folder)
    assert says in str(raised.value)
    assert not list((tmp_path / "packs").iterdir())


def test_a_folder_that_exists_is_not_written_into(code, tmp_path):
    (tmp_path / "p").mkdir()
    (tmp_path / "p" / "precious").write_text("x")
    with pytest.raises(UsageError):
        build(tmp_path / "p", code)
    assert [path.name for path in (tmp_path / "p").iterdir()] == ["precious"]


def test_an_interrupted_build_leaves_nothing(code, tmp_path, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("repoeval_bench.own.packs.pack.dump_tasks", interrupted)
    with pytest.raises(KeyboardInterrupt):
        build(tmp_path / "p", code)
    assert not list(tmp_path.iterdir())


def test_packs_inside_a_source_are_left_out(tmp_path):
    folder = write_code(tmp_path / "code", aside=False)
    first = build(folder / "packs" / "one", folder)
    second = build(tmp_path / "two", folder)
    assert second.content.sources[0].files == first.content.sources[0].files
    assert second.content.sources[0].left_out == {"pack": 1}


def test_names_of_a_repository_that_is_too_large_are_not_resolved(code, tmp_path, monkeypatch, notices):
    monkeypatch.setattr("repoeval_bench.dataset.uses_table.MOST_CODE", 1000)
    pack = build(tmp_path / "p", code)
    assert any(line.startswith("note: mixed has 0 MB of code; names are resolved up to") for line in notices)
    for counted in pack.content.levels.values():
        assert counted.uses is not None
        assert counted.uses.unread == counted.tasks
        assert counted.uses.tasks == 0


def test_a_file_is_read_once_for_all_candidates_in_it(tmp_path, monkeypatch):
    """A file with many candidates took the square of its length, and more so where few of them were distinct."""
    folder = write_files(tmp_path / "code", {"a.py": functions(300)})
    read = []
    monkeypatch.setattr("repoeval_bench.own.packs.pack.decode", lambda raw: read.append(raw) or raw.decode())
    pack = build(tmp_path / "p", folder, resolve="no")
    assert pack.content.levels["function"].candidates == 300
    assert len(read) == 1


def test_tasks_in_code_that_is_nested_too_deeply_are_counted_as_unread(code, tmp_path, monkeypatch, notices):
    monkeypatch.setattr("repoeval_bench.own.references.python_names.names_of", too_deep)
    pack = build(tmp_path / "p", code)
    unread = sum(level.uses.unread for level in pack.content.levels.values())
    assert unread > 0
    assert any(line.startswith(f"note: protocol uses skips {unread} unread tasks of mixed, ") for line in notices)


def too_deep(*_):
    raise RecursionError


LONG = {
    "calls.py": "def f(a):\n    b = 1\n    c = (a\n" + "        .b()\n" * 30_000 + "    )\n    return b, c\n",
    "sum.py": "def f(a):\n    b = 1\n    c = (a\n"
    + ("        + a" + " + a" * 19 + "\n") * 5_000
    + "    )\n    return b, c\n",
    "sum.ts": "function f(a: number) {\n  let b = 1;\n  b = a" + " + a\n" * 100_000 + ";\n  return b;\n}\n",
    "ifs.ts": "function f(a: number) {\n  let b = 1;\n"
    + "if (a > 1) {\n" * 10_000
    + "b = a;\n"
    + "}\n" * 10_000
    + "  return b;\n}\n",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", LONG)
def test_long_and_deep_code_is_read_or_counted(name, code, tmp_path):
    """What is nested more deeply than its parser goes is unread, and the rest of the source is as without it."""
    folder = tmp_path / "mixed"
    shutil.copytree(code, folder)
    before = build(tmp_path / "before", folder)
    (folder / name).write_text(LONG[name])
    after = build(tmp_path / "after", folder)
    assert sum(after.content.sources[0].files.values()) == sum(before.content.sources[0].files.values()) + 1
    read, expected = after.content.levels["function"], before.content.levels["function"]
    assert (read.tasks, read.uses) == (expected.tasks, expected.uses) or read.uses.unread


def test_few_tasks_are_said(code, tmp_path, notices):
    build(tmp_path / "p", code)
    assert any("13 tasks: fewer than 20 are too few to choose a chunker by" in line for line in notices)


def test_tests_give_tasks_where_nothing_else_does_and_are_read_once(tmp_path, notices):
    code = write_files(tmp_path / "shop", {"app.py": "PRICE = 3\n", "tests/test_app.py": functions(4)})
    packs = [build(tmp_path / name, code, ask_tests=name == "all") for name in ("all", "out")]
    assert [pack.content for pack in packs] == [packs[0].content] * 2
    assert packs[0].content.levels["function"].tasks == 4
    assert len([line for line in notices if line.startswith("shop: ")]) == len(packs)


@pytest.mark.parametrize("damage", [b"schema: 7\n", b"\xff\xfe", b"- a\n- b\n", b"a: [\n"])
def test_a_damaged_manifest_is_one_sentence(tmp_path, damage):
    (tmp_path / "pack.yaml").write_bytes(damage)
    with pytest.raises(DatasetError, match="build the pack again"):
        load_benchmark(tmp_path, home=tmp_path)


def test_options_that_a_pack_does_not_have(pack, tmp_path):
    with pytest.raises(UsageError, match="context 2k only"):
        load_benchmark(pack.root, context="4k", home=tmp_path)
    with pytest.raises(UsageError, match="tokenizer code only"):
        load_benchmark(pack.root, tokenizer="codegen", home=tmp_path)
    with pytest.raises(UsageError, match="no task of level class"):
        load_benchmark(pack.root, level="class", home=tmp_path)


def test_a_pack_names_the_code_that_is_not_read(tmp_path):
    """Notebooks and files of unknown languages, the most first; documents, data and tests beside code are not named."""
    code = tmp_path / "code"
    (code / "tests").mkdir(parents=True)
    for name in ("a.ipynb", "b.ipynb", "main.kt", "README.md", "data.json", "logo.svg", "tests/run.sh", "PriceTest.kt"):
        (code / name).write_text("{}\n")
    for name in ("a.py", "b.py"):
        (code / name).write_text("def gather(items):\n    total = len(items)\n    print(total)\n    return total\n")
    build_pack(BuildRequest(sources=(str(code),)), tmp_path / "pack")
    pack = Pack.find(str(tmp_path / "pack"))
    assert list(pack.unread.items()) == [("notebook", 2), (".kt file", 1)]
    (code / "main.kt").unlink()
    for path in code.glob("*.ipynb"):
        path.unlink()
    build_pack(BuildRequest(sources=(str(code),)), tmp_path / "plain")
    assert not Pack.find(str(tmp_path / "plain")).unread
    assert "  unread: {}" not in (tmp_path / "plain" / "pack.yaml").read_text()
