"""A history in three languages, written by dulwich: windows, golds, renames, clones that lack objects, packs."""

import os
import re
import shutil
from collections import Counter
from copy import copy
from dataclasses import replace

import pytest
from dulwich.objects import Commit, ShaFile

from repoeval_bench.core.errors import DatasetError, NoDataError, UsageError
from repoeval_bench.dataset.loader import load_benchmark
from repoeval_bench.dataset.pack import Pack
from repoeval_bench.own.history import questions as questions_module
from repoeval_bench.own.history import repository as repository_module
from repoeval_bench.own.history.benchmark import benchmark_of
from repoeval_bench.own.history.changes import edits_of
from repoeval_bench.own.history.questions import CommitOptions, commit_questions
from repoeval_bench.own.history.repository import MissingObjectError, history_of
from repoeval_bench.runs.executors import ProcessPool
from repoeval_bench.runs.runner import evaluate
from support.cases import cases
from support.command import bench, one_sentence, succeed
from support.history import Story, go_file, python_file, script_file

CASES = cases(__file__)

NAMES = [f"item{letter}" for letter in "abcdefgh"]
OPTIONS = CommitOptions(newest=12, per_window=20, per_file=9)
WRITTEN = re.compile(r"written(\d+)")


@pytest.fixture(scope="module")
def story(tmp_path_factory):
    """A story: its commits edit a line each, and each writes its number into it, `written12`."""
    story = Story(tmp_path_factory.mktemp("history") / "shop.git")
    files = {"shop/cart.py": python_file, "price/price.go": go_file, "web/view.ts": script_file}
    others = {"README.md": "shop\n", "LICENSE": "MIT\n", "docs/licences.ts": script_file(["fee"])}
    story.commit("Start the shop", edit={path: make(NAMES) for path, make in files.items()} | others)
    paths = list(files)

    def edit(path, number, row):
        lines = story.files[path].splitlines(keepends=True)
        at = [at for at, line in enumerate(lines) if "=" in line][row]
        lines[at] = lines[at].split("=")[0] + f"= written{number}\n"
        return {path: "".join(lines)}

    for number in range(60):
        path = paths[number % 3]
        row = number // 3 * 2 % 38
        if number == 20:
            story.commit(
                "Move the cart to its folder", edit={"shop/cart.py": None, "cart/cart.py": story.files["shop/cart.py"]}
            )
            paths[0] = "cart/cart.py"
            path = paths[number % 3]
        if number == 30:
            story.commit(
                "Bump the parser from 1 to 2", author="dependabot[bot] <bot@example.org>", edit=edit(path, 900, 39)
            )
            story.commit('Revert "Show the price of an order"', edit={"README.md": "shop again\n"})
            story.commit("Describe the shop for people who visit", edit={"README.md": "shop for all\n"})
        if number == 40:
            before, files = story.ids[-1], dict(story.files)
            side = story.commit("Show the total of a side branch", edit=edit(path, 800, 37))
            merged, story.files = story.files, files
            main = story.commit("Read the README of the shop", parents=[before], edit={"README.md": "main\n"})
            merge = {path: merged[path]}
            story.commit("Merge pull request #7 from ann/side\n\nSide branch", parents=[main, side], edit=merge)
        story.commit(f"Show item number {number} of every order", edit=edit(path, number, row))
    return story


@pytest.fixture
def copied(story, tmp_path):
    """The same story, to be changed."""
    other = copy(story)
    other.folder = shutil.copytree(story.folder, tmp_path / "copied.git")
    return other


@pytest.fixture(scope="module")
def result(story):
    """The questions of the history, and its benchmark."""
    with history_of(story.folder) as history:
        questions = commit_questions(history, OPTIONS)
        return questions, benchmark_of(history, questions)


def test_every_commit_is_a_question_or_counted(result, story):
    questions, _ = result
    assert questions.seen <= len(story.ids)
    assert sum(questions.left_out.values()) + len(questions.tasks) == questions.seen
    assert {"merges", "bots", "reverts", "most of a file", "no code"} <= questions.left_out.keys()
    assert questions.notes == ()


def test_processes_read_the_same_questions(result, story, monkeypatch):
    """Each reads some of the commits, from objects that it opens itself."""
    monkeypatch.setattr("repoeval_bench.own.history.questions._TOGETHER", 16)
    with ProcessPool(2) as pool, history_of(story.folder) as history:
        assert commit_questions(history, OPTIONS, pool.map) == result[0]


def test_windows_follow_each_other_and_have_names_of_their_months(result, times):
    questions, _ = result
    bases = [window.base.time for window in questions.windows]
    assert len(bases) > 1
    assert bases == sorted(bases, reverse=True)
    names = [window.name for window in questions.windows]
    assert len({*names}) == len(names)
    assert all(re.fullmatch(r"shop@\d{4}-\d\d(_\d)?", name) for name in names)
    newest = questions.windows[0].tasks
    assert len(newest) == OPTIONS.newest
    for window, later in zip(questions.windows[1:], questions.windows, strict=False):
        assert all(window.base.time < times[task.change.commit] <= later.base.time for task in window.tasks)


@pytest.fixture(scope="module")
def times(story):
    """Commit -> its time."""
    with history_of(story.folder) as history:
        return {commit.id: commit.time for commit in history.log()}


def test_nothing_that_a_later_commit_wrote_is_searched(result, story):
    questions, benchmark = result
    for window in questions.windows:
        here = {int(number) for file in benchmark.files[window.name] for number in WRITTEN.findall(file.text)}
        later = {int(re.search(r"\d+", task.prompt)[0]) for task in window.tasks if "item number" in task.prompt}
        assert later
        assert here.isdisjoint(later)
        assert max(here - {800, 900}, default=-1) < min(later)


def test_gold_is_the_lines_of_the_base_that_were_changed(result, story):
    questions, benchmark = result
    files = benchmark.by_name
    for task in questions.tasks:
        (exact,) = task.change.exact
        (lines,) = task.places
        (whole,) = task.change.definitions
        assert whole.lines.contains(lines.lines)
        assert lines.lines.contains(exact.lines)
        assert len(exact.lines) == 1
        assert whole.lines.end <= files[task.file].n_lines
        with history_of(story.folder) as history:
            commit = history.commit(task.change.commit)
            (change,) = history.changes_of(commit)
            gone = history.blob(change.before).decode().splitlines()
        assert files[task.file].line_text(exact.lines).rstrip("\n") in gone


def test_a_file_is_one_in_all_windows_also_if_it_moved(result):
    questions, _ = result
    carts = [task for task in questions.tasks if task.path.endswith("cart.py")]
    assert {task.change.file for task in carts} == {"cart/cart.py"}
    assert {task.path for task in carts} == {"cart/cart.py", "shop/cart.py"}
    assert all(number <= OPTIONS.per_file for number in Counter(task.change.file for task in questions.tasks).values())


def test_a_path_that_another_file_had_before_is_not_that_file(tmp_path):
    story = Story(tmp_path / "reused.git")
    draft, program = python_file(NAMES), python_file(NAMES).replace("[1]", "[one]")
    story.commit("Start the shop", edit={"main.py": draft, "next.py": program})
    story.commit("Drop the draft", edit={"main.py": None})
    story.commit("The next program is the main one", edit={"main.py": program, "next.py": None})
    story.commit("Show the first item of every order", edit={"main.py": program.replace("itema[0]", "first")})
    with history_of(story.folder) as history:
        questions = commit_questions(history)
    assert [(task.path, task.change.file) for task in questions.tasks] == [("next.py", "main.py")]


def test_a_side_branch_asks_and_its_merge_does_not(story):
    with history_of(story.folder) as history:
        questions = commit_questions(history)
    prompts = {task.prompt for task in questions.tasks}
    assert "Show the total of a side branch" in prompts
    assert "Side branch" not in prompts


@pytest.mark.parametrize("since", [30, "id", "short", "branch"])
def test_since_is_a_date_or_a_commit(story, since):
    with history_of(story.folder) as history:
        commit = history.commit(story.ids[30])
        text = {30: commit.day, "id": commit.id, "short": commit.id[:10], "branch": "master"}[since]
        questions = commit_questions(history, CommitOptions(since=text))
        oldest = history.time_of(text)
        assert all(history.commit(task.change.commit).time > oldest for task in questions.tasks)
        assert bool(questions.tasks) == (since != "branch")


def test_a_tag_wins_over_a_date_and_may_lack_its_commit(copied):
    tags = copied.folder / "refs" / "tags"
    (tags / "20231117").write_text(copied.ids[30] + "\n")
    (tags / "lost").write_text("1" * 40 + "\n")
    with history_of(copied.folder) as history:
        assert history.time_of("20231117") == history.commit(copied.ids[30]).time
        with pytest.raises(UsageError, match="nor a commit that this clone of copied has"):
            history.time_of("lost")


def test_no_more_trees_are_searched_than_asked(result, story):
    with history_of(story.folder) as history:
        (one,) = commit_questions(history, replace(OPTIONS, windows=1)).windows
    assert one.base == result[0].windows[0].base


def test_an_unknown_commit_is_named(story):
    with history_of(story.folder) as history, pytest.raises(UsageError, match="'yesterday' is neither a date nor"):
        commit_questions(history, CommitOptions(since="yesterday"))


def test_a_shallow_clone_is_read_to_its_end(copied, times):
    end = copied.ids[35]
    (copied.folder / "shallow").write_text(end + "\n")
    with history_of(copied.folder) as history:
        questions = commit_questions(history, OPTIONS)
        assert history.commit(end).parents == ()
    assert questions.notes == ("a shallow clone: its history ends at 1 commit; for all: git fetch --unshallow",)
    assert sum(questions.left_out.values()) + len(questions.tasks) == questions.seen
    assert questions.windows
    assert min(times[task.change.commit] for task in questions.tasks) > times[end]


def test_what_a_partial_clone_lacks_is_counted(copied):
    with history_of(copied.folder) as history:
        commit = history.commit(copied.ids[-5])
        (change,) = history.changes_of(commit)
    copied.drop(change.before)
    with history_of(copied.folder) as history:
        with pytest.raises(MissingObjectError):
            history.blob(change.before)
        questions = commit_questions(history, OPTIONS)
        benchmark_of(history, questions)
    assert questions.left_out["not here"] >= 1
    assert "nothing is fetched" in questions.notes[0]
    assert sum(questions.left_out.values()) + len(questions.tasks) == questions.seen


def test_a_base_of_which_a_clone_lacks_code_asks_nothing(tmp_path):
    """A large file that is not searched would make every score too good; a picture is not searched in any case."""
    story = Story(tmp_path / "sized.git")
    text = python_file(NAMES)
    story.commit("Start the shop", edit={"a.py": text, "large.py": text.replace("item", "part"), "a.png": "picture"})
    story.commit("Show the first item of every order", edit={"a.py": text.replace("itema[0]", "first")})
    with history_of(story.folder) as history:
        files = history.files(history.commit(story.ids[0]).tree)
    story.drop(files["a.png"])
    with history_of(story.folder) as history:
        assert len(commit_questions(history).tasks) == 1
    story.drop(files["large.py"])
    with history_of(story.folder) as history:
        questions = commit_questions(history)
        assert (questions.windows, questions.left_out["not here"]) == ((), 1)
        with pytest.raises(NoDataError, match="clone again without --filter"):
            benchmark_of(history, questions)


def edits(story, path, texts):
    """Commit a file again and again, each time with another of the lines of its functions."""
    text = story.files[path]
    for number, name in enumerate(texts):
        text = text.replace(f"order.{name}[{number % 5}]", f"changed{number}", 1)
        story.commit(f"Show the {path} {name} number {number} of orders", edit={path: text})


@pytest.mark.parametrize("days", [1, 200])
def test_a_young_folder_has_its_questions(tmp_path, days):
    """In the oldest base that is read, its files are not there yet."""
    story = Story(tmp_path / "young.git")
    story.commit("Start the shop", edit={"old/a.py": python_file(NAMES)})
    for number in range(6):
        text = story.files["old/a.py"].replace(f"itema{number} =", f"item{number} =")
        story.commit(f"Show item number {number} of every order", edit={"old/a.py": text}, days=days)
    story.commit("Start the web shop", edit={"web/b.py": python_file(NAMES)}, days=days)
    edits(story, "web/b.py", NAMES * 3)
    with history_of(story.folder) as history:
        history.prefix = "web"
        questions = commit_questions(history)
    assert len(questions.tasks) == 24
    assert sum(questions.left_out.values()) + 24 == questions.seen


def test_a_move_before_a_base_is_not_undone_in_it(tmp_path):
    story = Story(tmp_path / "moved.git")
    story.commit("Start the shop", edit={"a.py": python_file(NAMES[:4])})
    story.commit("Show itema zero of every order", edit={"a.py": story.files["a.py"].replace("itema[0]", "first")})
    story.commit("Move the shop", edit={"a.py": None, "b.py": story.files["a.py"]})
    story.commit("Sell more", edit={"b.py": story.files["b.py"] + "\n\n" + python_file(NAMES[4:])})
    edits(story, "b.py", NAMES[4:])
    with history_of(story.folder) as history:
        questions = commit_questions(history)
    assert {task.path for task in questions.tasks} == {"b.py"}
    assert len(questions.tasks) == 4


def test_words_are_asked_once_by_the_newest_commit_that_has_gold(tmp_path):
    story = Story(tmp_path / "same.git")
    text = python_file(NAMES)
    story.commit("Start the shop", edit={"a.py": text})
    for old, new in (("itema[0]", "one"), ("order.one", "order.two"), ("itemb[0]", "one"), ("itemb[1]", "one")):
        text = text.replace(old, new)
        story.commit("Show the first item of every order", edit={"a.py": text})
    with history_of(story.folder) as history:
        questions = commit_questions(history)
    assert [task.change.commit for task in questions.tasks] == story.ids[-1:]
    assert questions.left_out["same subject"] == 2
    with history_of(story.folder) as history:
        history.head = story.ids[2]
        questions = commit_questions(history)
    assert [task.change.commit for task in questions.tasks] == [story.ids[1]]


CLOCKS = {"1970": -18_000, "2100": 28_000, "10000": 3_000_000}


@pytest.mark.parametrize("days", CLOCKS.values(), ids=CLOCKS)
@pytest.mark.parametrize("after", [0, 2])
def test_a_wrong_clock_of_one_commit_hides_nothing(tmp_path, days, after):
    story = Story(tmp_path / "clock.git")
    story.commit("Start the shop", edit={"a.py": python_file(NAMES)})
    edits(story, "a.py", NAMES[:4])
    story.commit("Read the README of the shop", edit={"README.md": "shop\n"}, days=days)
    story.day -= days
    edits(story, "a.py", NAMES[: 4 + after][4:])
    with history_of(story.folder) as history:
        questions = commit_questions(history)
    assert len(questions.tasks) == 4 + after
    assert all(window.base.day.startswith("2020") for window in questions.windows)


def test_the_clock_of_this_machine_may_be_wrong(result, story, monkeypatch):
    for module in (questions_module, repository_module):
        monkeypatch.setattr(module, "time", lambda: 0.0)
    with history_of(story.folder) as history:
        assert commit_questions(history, OPTIONS) == result[0]


def test_a_message_is_read_by_its_encoding(tmp_path):
    story = Story(tmp_path / "encoded.git")
    story.commit("Start the shop", edit={"a.py": python_file(NAMES)})
    story.commit("Größe der Bestellung zeigen", encoding="ISO-8859-1")
    with history_of(story.folder) as history:
        assert history.commit(story.ids[1]).message == "Größe der Bestellung zeigen"


def test_the_configuration_is_not_opened(copied):
    """A pipe instead of it would be waited for without end."""
    (copied.folder / "config").unlink()
    os.mkfifo(copied.folder / "config")
    with history_of(copied.folder) as history:
        assert commit_questions(history).windows


def test_a_broken_object_ends_in_a_sentence(copied):
    with history_of(copied.folder) as history:
        tree = history.commit(copied.ids[-3]).tree
    file = copied.folder / "objects" / tree[:2] / tree[2:]
    file.chmod(0o644)
    file.write_bytes(b"no object")
    with history_of(copied.folder) as history, pytest.raises(DatasetError, match="clone it again"):
        commit_questions(history)


def test_a_folder_of_a_checkout_has_its_own_questions(story):
    """What changes beside the folder is no change of it."""
    with history_of(story.folder) as history:
        history.prefix = "web"
        questions = commit_questions(history)
        assert {task.path for task in questions.tasks} == {"view.ts"}
        assert history.files(history.commit(history.head).tree).keys() == {"view.ts"}


def test_a_folder_without_history_is_refused(tmp_path):
    with pytest.raises(NoDataError, match="is not in a git repository"), history_of(tmp_path):
        pass
    with pytest.raises(NoDataError, match="is not a folder"), history_of(tmp_path / "none"):
        pass
    story = Story(tmp_path / "one.git")
    story.commit("Start the shop", edit={"a.py": python_file(NAMES)})
    with history_of(story.folder) as history:
        questions = commit_questions(history)
        assert (questions.windows, questions.seen) == ((), 1)
        with pytest.raises(
            NoDataError, match=r"no commit of one gives a query \(1 commit: 1 only new or removed files\)"
        ):
            benchmark_of(history, questions)
        none = commit_questions(history, CommitOptions(since="9999-12-31"))
        with pytest.raises(
            NoDataError, match=r"\(0 commits\); name a repository with more history, or an earlier --since"
        ):
            benchmark_of(history, none)
    for message in ("Write the shop in PHP", "Bump the shop to 2.0", "Open it"):
        story.commit(message, edit={"b.php": f"<?php {message}\n"})
    counts = r"\(4 commits: 1 release, 1 fewer than four words, 1 no code, 1 for other reasons\)"
    says = f"{counts}; not read: 1 .php file; to read them: --extensions .php"
    with history_of(story.folder) as history, pytest.raises(NoDataError, match=says):
        benchmark_of(history, commit_questions(history))


def test_edits_are_the_last_texts_of_one_file(story):
    with history_of(story.folder) as history:
        edits = edits_of(history, 5)
        assert [edit.path for edit in edits] == [
            "web/view.ts",
            "price/price.go",
            "cart/cart.py",
            "web/view.ts",
            "price/price.go",
        ]
        assert "written59" in edits[0].after
        assert "written59" not in edits[0].before
        assert len(edits_of(history)) == 62
        assert edits_of(history, most_chars=len(edits[0].before)) == edits[:1]


def test_no_subject_is_about_a_file_that_nearly_every_commit_changes(tmp_path):
    """Such as a list of patches. A file that is changed alone, as the only one of a library, is asked about."""
    parts = [f"shop/part{number}.py" for number in range(3)]
    for beside, files in ((parts, {*parts}), ([], {"patches.py"})):
        story = Story(tmp_path / f"{len(beside)}.git")
        story.commit("Start the shop", edit={path: python_file(NAMES) for path in [*beside, "patches.py"]})
        for number in range(30):
            edit = {"patches.py": story.files["patches.py"] + f"    yield {number}\n"}
            if beside:
                path = beside[number % 3]
                name = f"{NAMES[number // 5]}{number % 5}"
                edit[path] = story.files[path].replace(f"    {name} = ", f"    {name} = written or ")
            story.commit(f"Show item number {number} of every order", edit=edit)
        with history_of(story.folder) as history:
            tasks = commit_questions(history, CommitOptions(newest=9)).tasks
            assert {task.change.file for task in tasks} == files
            assert {edit.path for edit in edits_of(history)} == files


@pytest.fixture(scope="module")
def built(story, tmp_path_factory):
    """The pack of all questions, and what is said of it."""
    here = tmp_path_factory.mktemp("packed")
    return here / "pack", succeed("data", "build", story.folder, "--commits", "-o", here / "pack", home=here / "home")


def test_a_pack_has_the_same_questions_and_is_scored_by_each_gold(result, built, tmp_path):
    questions, benchmark = result
    folder, answer = built
    assert "left out: " in answer.out
    assert re.search(r", so they count like [\d.]+ files and [\d.]+ authors with equal numbers\n", answer.err)
    assert answer.out.endswith(f"choose a chunker on this pack: repoeval-bench recommend {folder}\n")
    level = Pack.find(str(folder)).content.levels["commits"]
    loaded = load_benchmark(folder)
    assert len(loaded.tasks) == level.tasks
    assert f" · {len(questions.tasks)} queries in {len(questions.windows)} periods · " in benchmark.label
    assert [*benchmark.today] == [questions.windows[0].name]
    assert sum(level.left_out.values()) + level.tasks == level.candidates
    succeed("data", "verify", "--source", folder)
    for gold in ("lines", "exact", "definitions"):
        run = evaluate(
            benchmark,
            "fixed",
            protocol=f"commits+gold={gold}" if gold != "lines" else "commits",
            retriever="bm25",
            out=tmp_path / "runs",
        )
        assert run.scores.clustered_by == "source file"
        assert {str(cluster) for cluster in run.scores.clusters} == {
            f"shop/{task.change.file}" for task in questions.tasks
        }
        assert {"age_days", "words", "lines_changed", "is_insertion"} <= run.scores.facts.keys()


def test_loaded_questions_are_those_that_were_made(story, built):
    with history_of(story.folder) as history:
        expected = commit_questions(history)
        benchmark = benchmark_of(history, expected)
    loaded = load_benchmark(built[0])
    assert loaded.tasks == expected.tasks
    assert loaded.fingerprint == benchmark.fingerprint
    assert {"docs/licences.ts"} < {file.path for file in loaded.files[expected.windows[0].name]}
    assert {repo: [file.text for file in files] for repo, files in loaded.files.items()} == {
        repo: [file.text for file in files] for repo, files in benchmark.files.items()
    }


@pytest.mark.parametrize(("arguments", "sentence"), CASES["options that do not fit"])
def test_options_that_do_not_fit_are_refused(story, tmp_path, arguments, sentence):
    assert sentence in one_sentence(bench("data", "build", story.folder, *arguments, "-o", tmp_path / "pack"), 2)


def test_protocols_and_packs_that_do_not_fit_are_refused(built, tmp_path):
    words = ("-c", "fixed", "--retriever", "bm25")
    assert "choose protocol commits" in one_sentence(bench("eval", "--source", built[0], *words), 2)
    code = tmp_path / "code"
    code.mkdir()
    (code / "a.py").write_text(python_file(NAMES))
    refused = bench("eval", "--source", code, "--protocol", "commits", *words)
    assert "data build CHECKOUT --commits" in one_sentence(refused, 2)


def test_a_commit_may_have_no_message(tmp_path):
    story = Story(tmp_path / "silent.git")
    end = story.commit("Start the shop", edit={"a.py": python_file(NAMES)})
    raw = story.repo[end.encode()].as_raw_string().partition(b"\n\n")[0] + b"\n"
    commit = ShaFile.from_raw_string(Commit.type_num, raw)
    story.repo.object_store.add_object(commit)
    with history_of(story.folder) as history:
        assert history.commit(commit.id.decode()).message == ""
