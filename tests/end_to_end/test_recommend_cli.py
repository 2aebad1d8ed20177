"""From a folder of code to an answer: which chunker, how sure that is, and what was left out."""

import gzip
import html
import re
import shlex
import shutil

import pytest

from repoeval_bench.api.stored_runs import verify
from repoeval_bench.core.notices import NOTICES
from repoeval_bench.dataset.loader import load_benchmark
from repoeval_bench.own.history.changes import FileEdit
from repoeval_bench.own.recommend import recommendation
from repoeval_bench.own.recommend.beside import seconds_of_edits
from repoeval_bench.own.recommend.chosen import read_chosen
from repoeval_bench.own.recommend.recommendation import recommend, recommended
from repoeval_bench.report.recommendation import answer_lines
from repoeval_bench.runs.executors import IN_PROCESS
from repoeval_bench.runs.naming import find_runs
from support.codebase import commit, write_modules
from support.command import bench, json_of, one_sentence, succeed
from support.runs import write_rows

BOTH = {"chunkers": ("fixed", "ast"), "retrievers": ("bm25",)}
NARROW = ["--retriever", "bm25", "-c", "fixed", "-c", "ast", "--sizes", "200,400"]


@pytest.fixture(scope="module")
def code(tmp_path_factory):
    """A folder with 36 functions in twelve files, a third of them alike."""
    return write_modules(tmp_path_factory.mktemp("code") / "aisles", 12)


@pytest.fixture(scope="module")
def answered(code, tmp_path_factory):
    """(folder of results, the answer)."""
    out = tmp_path_factory.mktemp("answer")
    written = ("--report", out / "page.html", "--write", out / "chunking.toml")
    return out, json_of("recommend", code, *NARROW, "--out", out, *written, home=out / "home")


@pytest.fixture
def pack(answered):
    """The pack that was made of the folder."""
    (pack,) = (answered[0] / "packs").iterdir()
    return pack


def test_a_folder_becomes_a_pack_and_an_answer(answered):
    """Four candidates by expected loss, the first one chosen; the page and the pack are there."""
    out, result = answered
    candidates = result["candidates"]
    sizes = {(f"{name} at {size}", size) for name in ("fixed", "ast") for size in (200, 400)}
    assert {(candidate["name"], candidate["size"]) for candidate in candidates} == sizes
    assert result["choice"] == candidates[0]
    assert result["language"] == "python"
    assert min(candidate["expected_loss"] for candidate in candidates) == candidates[0]["expected_loss"] >= 0
    assert sum(candidate["probability"] for candidate in candidates) == pytest.approx(1)
    assert [evidence["protocol"] for evidence in result["evidence"]] == ["docstring"]
    assert result["too_few_queries"].keys() <= {"uses"}
    (one,) = result["retrievers"]
    assert [reading["chunks"] for reading in one["readings"]] == [5, 10, 20]
    # A run for each candidate and protocol: what the first chunks show is scored from a stored ranking.
    assert len(result["runs"]) == 2 * len(candidates)
    assert "With docstrings as queries and BM25 as retriever, the top 5 chunks of the choice (" in " ".join(
        result["answer"]
    )
    page = (out / "page.html").read_text()
    assert page.startswith("<!doctype html>")
    head = page[page.index('id="h-answer"') :].partition("</h2>")[0]
    assert result["choice"]["name"].partition(" at ")[0] in head
    assert [path.name[:7] for path in (out / "packs").iterdir()] == ["aisles-"]


def test_its_choice_is_written_without_code_or_names(answered, code):
    out, result = answered
    chosen = read_chosen(out / "chunking.toml")
    assert chosen.spec == result["choice"]["spec"] != chosen.opponent
    assert chosen.expected_loss == pytest.approx(result["choice"]["expected_loss"])
    assert [(one.protocol, one.questions) for one in chosen.evidence] == [
        (one["protocol"], one["queries"]) for one in result["evidence"]
    ]
    assert code.name not in (out / "chunking.toml").read_text()


def test_the_second_time_prints_words_and_the_last_line_goes_on_over_the_same_tasks(code, answered, pack):
    """It finds the same pack and the same runs; the line names the pack, and makes the run of the choice."""
    out, result = answered
    done = succeed("recommend", code, *NARROW, "--out", out, home=out / "home")
    words = " ".join(done.out.split())
    assert all(paragraph in words for paragraph in result["answer"])
    assert f"HTML page: repoeval-bench report --out {out}" in done.out
    assert result["source"] == str(pack)
    program, *words = shlex.split(done.out.splitlines()[-1].partition(": ")[2])
    assert program == "repoeval-bench"
    assert json_of(*words, home=out / "home")["run_id"] == result["evidence"][0]["runs"][result["choice"]["name"]]


def test_a_run_of_a_recommendation_is_verified_from_its_pack(answered, pack):
    """It is found beside the run; where another source is named, the message says where the pack is."""
    out, _ = answered
    succeed("verify", "latest", "--out", out, home=out / "home")
    message = one_sentence(bench("verify", "latest", "--out", out, "--source", out, home=out / "home"), 2)
    assert message.endswith(f"name its folder with --source, such as {pack}")


def test_what_does_not_fit_into_the_time_is_named(answered, caplog, pack):
    """Nothing begins after the limit; the answer rests on what was finished, the middle size first."""
    out, _ = answered
    ticks = iter([0.0, 1.0, 31.0, 61.0, 61.0, 61.0])
    arguments = BOTH | {"sizes": (200, 400), "protocols": ("body",), "out": out}
    result = recommend(load_benchmark(pack), **arguments, time_limit=1.0, clock=lambda: next(ticks))
    (late,) = result.skipped
    assert all(part in late for part in ("protocol body with bm25", "fixed at 200", "ast at 200"))
    assert {result.candidates[label].size for label in result.evidence[0].means} == {400}
    assert "2 of 4 runs: protocol body with bm25, size 400" in caplog.messages
    (so_far,) = [line for line in caplog.messages if line.startswith("best so far: ")]
    assert so_far == f"best so far: {result.choice.label} (protocol body with bm25, 2 runs)"


@pytest.mark.parametrize(("edits", "left"), [(0.0, [72, 36]), (9.0, [81, 45, 9])])
def test_the_time_that_is_left_follows_the_tasks_of_each_protocol(answered, caplog, pack, monkeypatch, edits, left):
    """Protocol `docstring` asks 36 questions here, `body` 24: a run of it takes 1.5 times as long. Edits are last.

    In the very first runs trees are parsed for all of them, so that their time is no measure.
    """
    monkeypatch.setattr(recommendation, "seconds_of_edits", lambda *_: edits)
    out, _ = answered
    ticks = iter([0.0, 24.0, 48.0, 84.0, 120.0])
    arguments = BOTH | {"sizes": (200, 400), "protocols": ("body", "docstring"), "out": out}
    recommend(load_benchmark(pack), **arguments, clock=lambda: next(ticks))
    said = [re.search(r"about (\d+) s left(.*)", line) for line in caplog.messages if " of 8 runs: " in line]
    assert [int(match[1]) for match in said if match] == left
    assert [match[2] for match in said if match] == ["", "", " to measure edits"][: len(left)]


def test_the_time_of_edits_grows_with_their_characters():
    small = FileEdit("a.py", "one = 1\n" * 500, "one = 2\n" * 500)
    times = [
        seconds_of_edits(["fixed"], edits, IN_PROCESS)
        for edits in ([small], [small] * 4 + [FileEdit("b.py", "\n" * 500_000, small.after)], [])
    ]
    assert times[2] == 0.0
    assert 0 < 5 * times[0] < times[1]


def with_tests(code, folder):
    """The project with a test beside it that could ask under both protocols."""
    folder.mkdir()
    for path in code.glob("*.py"):
        (folder / path.name).write_text(path.read_text())
    (folder / "tests").mkdir()
    doc = '    """The words of a check that only this test has."""\n'
    body = "".join(f"    value_{n} = {n}\n" for n in range(9))
    (folder / "tests" / "test_it.py").write_text(f"def check_it():\n{doc}{body}    return value_1\n")
    return folder


@pytest.mark.parametrize(
    ("tests", "searched", "asks"), [("out", False, False), ("index", True, False), ("all", True, True)]
)
def test_tests_are_searched_and_ask_only_where_that_is_requested(code, tmp_path, tests, searched, asks):
    project = with_tests(code, tmp_path / "project")
    words = ["recommend", project, *NARROW, "--for", "search", "--out", tmp_path / "out", "--tests", tests]
    result = json_of(*words, home=tmp_path / "home")
    assert (result["tests"], result["test_files"]) == (tests, 0 if asks else 1)
    run = find_runs(result["runs"], tmp_path / "out")[0]
    assert any("test_it.py" in str(names) for names in run.scores.gold_files) is asks
    assert (b"test_it.py" in gzip.decompress((run.folder / "chunks.jsonl.gz").read_bytes())) is searched


def test_code_without_tasks_is_not_told_to_run_the_command_that_reads_it(tmp_path):
    skipped: list[str] = []
    (tmp_path / "a.rb").write_text("puts 1\n")
    assert recommendation.suitable(load_benchmark(str(tmp_path)), "both", skipped) == {}
    assert skipped[0] == f"uses: no function of {tmp_path.name} can be a task"


def test_only_so_many_tasks_are_asked(answered, pack):
    """A part of each protocol's tasks, spread over the files and the same each time; the others are named."""
    out, _ = answered
    arguments = BOTH | {"sizes": (200,), "tasks": 8, "out": out}
    result = recommend(load_benchmark(pack), protocols=("docstring", "body"), **arguments)
    (line,) = result.skipped
    assert line.startswith("28 of 36 queries of docstring and 16 of 24 queries of body; ")
    assert line.endswith(", and --tasks 36 draws more")
    assert result.few == {"docstring": 8, "body": 8}
    for run in find_runs(result.runs, out):
        assert len(run.scores) == 8
        assert len(set(run.scores.gold_files)) == 8
        every = run.metrics.dataset.part.sample.of
        asks = "queries" if run.metrics.protocol == "docstring" else "tasks"
        assert run.metrics.dataset.label.startswith(f"pack-aisles-function-2k-code · 8 of {every} {asks}")
        assert verify(run, str(pack)).differences == ()
    assert recommend(load_benchmark(pack), protocols=("docstring", "body"), **arguments).runs == result.runs


@pytest.mark.parametrize(
    ("words", "sentences"),
    [
        (["-c", "fixed", "--sizes", "200"], ["there is nothing to choose from"]),
        (["-c", "file", "--sizes", "200,400"], ["file is the same at each of these sizes; name another chunker"]),
        (["--sizes", "0"], ["--sizes: a number of 1 or more was expected (it is 0)"]),
        (["--queries", "none.jsonl"], ["the file of queries none.jsonl does not exist"]),
        (["--queries", "files.jsonl"], ["whole files answer at least half of the queries in files.jsonl"]),
        (["--retriever", "nope", "--executor", "lcal"], ["'nope'", "'lcal'"]),
    ],
)
def test_mistakes_are_told_all_at_once_and_nothing_is_left(code, tmp_path, words, sentences):
    words = [*(() if "--retriever" in words else ("--retriever", "bm25")), *words, "--out", tmp_path / "out"]
    write_rows(tmp_path / "files.jsonl", [{"query": "made", "places": [{"file": "part_0.py"}]}])
    done = bench("recommend", code, *words, home=tmp_path / "home", cwd=tmp_path)
    assert done.code == 2
    assert all(sentence in done.err for sentence in sentences)
    assert not list(tmp_path.glob("out/*/manifest.json"))


def test_questions_of_a_file_are_answered(code, tmp_path):
    """They are asked of the pack that is made of the folder."""
    arguments = tmp_path / "questions.jsonl"
    names = [line[4:].split("(")[0] for line in (code / "part_0.py").read_text().splitlines() if line[:4] == "def "]
    rows = [{"query": name, "file": "part_0.py", "start_line": 1, "end_line": 3} for name in names]
    write_rows(arguments, rows)
    done = succeed(
        "recommend", code, *NARROW, "--queries", arguments, "--out", tmp_path / "out", home=tmp_path / "home"
    )
    printed = " ".join(done.out.split())
    assert printed.startswith("Use ast:header=stem with chunks of up to ")
    assert "it has 3 queries of questions; a choice needs at least 20." in printed


def test_report_shows_the_answer_until_runs_are_compared(code, answered, tmp_path):
    """Page, terminal and JSON have one choice, loss and line to paste; without its record the runs are compared."""
    out, _ = answered
    stored = tmp_path / "out"
    shutil.copytree(out, stored)
    result = json_of("recommend", code, *NARROW, "--out", stored, home=out / "home")
    page = tmp_path / "page.html"

    def head():
        succeed("report", "-o", page, "--out", stored, home=out / "home")
        text = re.sub(r'<wbr>|<span class="whole">([^<]*)</span>', r"\1", html.unescape(page.read_text()))
        return text[text.index('id="h-answer"') : text.index("</section>")]

    shown = head()
    assert all(line in shown for line in result["answer"])
    assert result["setups"][0]["code"] in shown
    assert all(f"{one['protocol']} bm25" in shown for one in result["evidence"])
    record = (stored / "recommended.json").read_text()
    (stored / "recommended.json").write_text("{}")
    assert recommended(stored) is None
    (stored / "recommended.json").write_text(record)
    succeed("compare", *result["runs"][:2], "--out", stored, home=out / "home")
    assert result["answer"][0] not in head()


def test_the_answer_without_a_model_comes_before_a_text_is_embedded(answered, pack, tmp_path, monkeypatch, caplog):
    """It is stored too, so whoever ends the command then has lost nothing; the second try has both retrievers."""
    arguments = BOTH | {"retrievers": ("dense", "bm25"), "embedder": "hash", "sizes": (200, 400), "home": tmp_path}
    arguments |= {"protocols": ("docstring", "body"), "out": tmp_path / "out"}
    caplog.set_level("INFO", NOTICES.name)

    def end(*_, **__):
        raise KeyboardInterrupt

    benchmark = load_benchmark(pack)
    with monkeypatch.context() as patch:
        patch.setattr("repoeval_bench.runs.runner.embed", end)
        with pytest.raises(KeyboardInterrupt):
            recommend(benchmark, **arguments)
    start = caplog.messages.index("The answer by BM25; 8 runs by the embedding model will follow:")
    use, *_ = said = caplog.messages[start + 1 :]
    assert use.startswith("Use ")
    assert any(line.startswith("    chunker = ") for line in said)
    stored = recommended(tmp_path / "out")
    assert answer_lines(stored)[0] == use
    assert [one.retriever for one in stored.evidence] == ["bm25", "bm25"]
    whole = recommend(benchmark, **arguments)
    # The time left is not known while texts of another protocol are still to be embedded.
    by_model = [line for line in caplog.messages if " with dense" in line and " runs: " in line]
    assert [" left" in line for line in by_model] == [False, False, True, False]
    assert recommended(tmp_path / "out") == whole
    assert {run for one in stored.evidence for run in one.runs.values()} < set(whole.runs)


FEW = "def gather(items):\n    total = 0\n    for item in items:\n        total += len(item)\n    return total\n"


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"a.py": "LIMIT = 3\n", "b.py": "x = 1\n", "c.ts": "const x = 1\n" * 9}, "no query to compare them by"),
        ({"a.py": FEW, **{f"{i}.ipynb": "{}" for i in range(42)}}, "This covers 1 of 43 files: 42 notebooks were not"),
    ],
)
def test_where_nothing_can_be_measured_the_default_is_the_answer(tmp_path, files, said):
    """With its expected loss on other repositories, lines to paste, and what would make it sharper."""
    code = tmp_path / "checkout" / "code"
    code.mkdir(parents=True)
    for name, text in files.items():
        (code / name).write_text(text)
    first = commit(code.parent)
    words = ["recommend", code, *NARROW, "--out", tmp_path / "out"]
    done = succeed(*words, "--write", tmp_path / "chunking.toml", home=tmp_path)
    chosen = read_chosen(tmp_path / "chunking.toml")
    assert (chosen.commit, chosen.tests) == (first, "out")
    assert f"gate {tmp_path / 'chunking.toml'} --source {code} " in done.err
    assert re.fullmatch(r"ast:max_nws=\d+", chosen.opponent)
    printed = " ".join(done.out.split())
    assert printed.startswith("Use ast:header=stem with chunks of up to ")
    assert said in printed
    assert "Expected loss: " in printed
    assert 'make_chunker("ast:max_nws=' in printed
    record = json_of(*words, home=tmp_path)
    assert record["choice"] is None
    assert record["default"]["label"].startswith("ast:header=stem at ")
    assert 0 < record["default"]["expected_loss"] < 0.05


@pytest.mark.parametrize("source", ["https://github.com/owner/project", "https://example.org/project-1.0.tar.gz"])
def test_an_address_is_to_be_cloned_or_downloaded_first(tmp_path, source):
    message = one_sentence(bench("recommend", source, "--out", tmp_path / "out", home=tmp_path, cwd=tmp_path), 2)
    assert message.endswith("clone it with git or download it, and name the folder or archive")
    assert not (tmp_path / "out" / "packs").exists()
