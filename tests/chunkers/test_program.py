"""`exec:` programs: the protocol in several languages, and every way in which a program can fail."""

import shlex
import shutil
import subprocess
import sys
import textwrap
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from repoeval_bench.chunkers import program
from repoeval_bench.chunkers.fixed import FixedChunker
from repoeval_bench.chunkers.headers import HeadedChunker
from repoeval_bench.chunkers.program import ProgramChunker
from repoeval_bench.chunkers.registry import make_chunker
from repoeval_bench.chunkers.tools.conformance import assert_chunker_conforms
from repoeval_bench.core.errors import ChunkError, OutOfTurnError
from repoeval_bench.core.source import Chunk, SourceFile
from repoeval_bench.core.spans import LineSpan
from repoeval_bench.retrieval.corpus import build_corpus
from support.cases import cases

FILE = SourceFile("repo", "a.py", "ä = '\U0001d4b3'\nb = 1\n\nc = 2\n")

CASES = cases(__file__)


@pytest.fixture
def python(tmp_path):
    """`exec:` command of a Python program with the given body, which sees `request` and prints."""

    def command(body: str, before: str = "") -> str:
        script = tmp_path / "program.py"
        script.write_text(
            textwrap.dedent(before)
            + "import json, sys, time, os\nfor line in sys.stdin:\n    request = json.loads(line)\n"
            + textwrap.indent(textwrap.dedent(body), "    "),
            "utf-8",
        )
        return shlex.join([sys.executable, "-S", "-u", str(script)])  # without site: it starts in half the time

    return command


def cut(command: str, file: SourceFile = FILE) -> list[str]:
    chunker = ProgramChunker(command)
    try:
        return [chunk.text for chunk in chunker.chunk(file)]
    finally:
        chunker.close()


@pytest.mark.parametrize(("unit", "cuts"), CASES["units"])
def test_every_declared_unit_gives_the_same_chunks(python, unit: str, cuts: list) -> None:
    body = f"print(json.dumps({{'unit': {unit!r}, 'chunks': {cuts}}}))"
    assert cut(python(body)) == ["ä = '\U0001d4b3'\n", "b = 1\n\nc = 2\n"]


def test_a_node_program_cuts_as_fixed_does(tmp_path) -> None:
    if shutil.which("node") is None:
        pytest.skip("node is not on the PATH")
    (tmp_path / "fixed.js").write_text(CASES["node"], "utf-8")
    text = "größe = '\U0001d4b3😀'\n\n" * 40
    chunks = cut(f"node {tmp_path / 'fixed.js'} 60", SourceFile("r", "a.py", text))
    assert len(chunks) > 3
    assert "".join(chunks) == text
    ascii_file = SourceFile("r", "b.py", "abc = 1\n\n" * 60)
    assert cut(f"node {tmp_path / 'fixed.js'} 60", ascii_file) == [
        chunk.text for chunk in FixedChunker(max_nws=60).chunk(ascii_file)
    ]


def test_one_process_serves_all_files(python) -> None:
    chunker = ProgramChunker(python("print(json.dumps({'unit': 'lines', 'chunks': [[os.getpid() % 2, 2]]}))"))
    first = [chunk.chunk_id for chunk in chunker.chunk(FILE)]
    process = chunker._talk._process
    for _ in range(20):
        assert [chunk.chunk_id for chunk in chunker.chunk(FILE)] == first
    assert chunker._talk._process is process
    chunker.close()
    assert process.poll() is not None


def test_a_large_file_blocks_neither_side(python) -> None:
    """Both pipes are full at once: the program writes much to stderr before it reads on."""
    big = SourceFile("r", "big.py", "x = 1\n" * 200_000)
    body = "sys.stderr.write('e' * 300_000 + '\\n'); print(json.dumps({'unit': 'lines', 'chunks': [[0, 200_000]]}))"
    assert cut(python(body), big) == [big.text]


def test_blank_files_are_not_sent_and_blank_chunks_are_dropped(python) -> None:
    assert cut("false", SourceFile("r", "a.py", " \n")) == []
    assert cut(python("print(json.dumps({'unit': 'lines', 'chunks': [[0, 2], [2, 3], [3, 4]]}))"))[1:] == ["c = 2\n"]


MISBEHAVES = [
    *CASES["misbehaves"],
    *(
        (f"print(json.dumps({{'unit': 'lines', 'chunks': [{chunk}]}}))", [part])
        for chunk, part in CASES["no_chunk"].items()
    ),
]


@pytest.mark.parametrize(("body", "parts"), MISBEHAVES)
def test_a_program_that_misbehaves_is_named_with_the_file_and_its_last_words(
    python, monkeypatch, body: str, parts: list
) -> None:
    """In short, however much it says, and as shells name the signal that ended it."""
    monkeypatch.setattr(program, "TIME_LIMIT", 0.5 if "sleep" in body else 20)
    with pytest.raises(ChunkError) as caught:
        cut(python(body))
    message = str(caught.value)
    assert "repo/a.py" in message
    assert "\n" not in message
    assert len(message) < 600
    for part in parts:
        assert part in message


def test_after_a_failure_the_next_file_has_a_fresh_program(python) -> None:
    body = "assert request['path'] != 'bad.py', 'bad file'\nprint(json.dumps({'unit': 'lines', 'chunks': [[0, 4]]}))"
    chunker = ProgramChunker(python(body))
    with pytest.raises(ChunkError, match="bad file"):
        chunker.chunk(SourceFile("repo", "bad.py", FILE.text))
    assert [chunk.text for chunk in chunker.chunk(FILE)] == [FILE.text]
    chunker.close()


@pytest.mark.parametrize(
    ("command", "says"),
    [("false", "exit code 1 .* is empty"), ("sh -c 'echo no cheese >&2; exit 7'", "exit code 7 .* with: no cheese")],
)
def test_a_program_that_ends_before_it_is_asked_is_named_with_its_exit_status(command: str, says: str) -> None:
    """That its output has ended is not taken for a line that nobody asked for, however soon it ends."""
    chunker = make_chunker(f"exec:{command}")
    for _ in range(6):
        with pytest.raises(ChunkError, match=f"ended with {says}"):
            chunker.chunk(FILE)


OBJECTS = """
chunks = [[0, 1], {"start": 1, "end": 2, "header": "# é\\n"}, {"start": 2, "end": 4, "text": "see é: c"}]
print(json.dumps({"unit": "lines", "chunks": chunks}))
"""


def test_chunks_may_have_headers_and_texts_which_move_no_span(python) -> None:
    chunker = ProgramChunker(python(OBJECTS))
    headed = chunker.chunk(FILE)
    chunker.close()
    plain = [replace(chunk, header="", rewritten="") for chunk in headed]
    assert plain == [Chunk.cut(FILE, FILE.chars_of(LineSpan(*ends))) for ends in ((0, 1), (1, 2), (2, 4))]
    assert [chunk.embed_text for chunk in headed] == ["ä = '\U0001d4b3'\n", "# é\nb = 1\n", "see é: c"]
    assert [chunk.added_nws for chunk in headed] == [0, 2, 3]


def test_a_program_with_texts_of_its_own_conforms(python) -> None:
    body = """
    n = len(request['text'].splitlines())
    whole = {'start': 0, 'end': n, 'text': request['path'] + request['text'].upper()}
    print(json.dumps({'unit': 'lines', 'chunks': [whole]}))
    """
    chunker = make_chunker(f"exec:{python(body)}")
    assert_chunker_conforms(chunker, examples=5)
    chunker.close()


def test_a_header_of_the_run_replaces_headers_and_stands_before_rewritten_texts(python) -> None:
    headed = HeadedChunker(ProgramChunker(python(OBJECTS)), "path").chunk(FILE)
    assert [chunk.embed_text for chunk in headed][1:] == ["# a.py\nb = 1\n", "# a.py\nsee é: c"]


def numbered(python, body):
    """A chunker that cuts as its program is told, and 30 files of four lines."""
    files = [SourceFile("r", f"f{i}.py", f"a = {i}\nb = {i}\nc = {i}\nd = {i}\n") for i in range(30)]
    return ProgramChunker(python(body, before="import threading\n")), files


ANSWER = "print(json.dumps({'unit': 'lines', 'chunks': [[0, 2], [2, 4]]}), flush=True)"


@pytest.mark.parametrize(
    "body",
    [
        f"{ANSWER}\nif request['path'] == 'f3.py': {ANSWER}",
        # The second answer comes when the next file has been sent, so that no early look can find it.
        f"{ANSWER}\nif request['path'] == 'f3.py': sys.stdin.readline(); {ANSWER}; {ANSWER}",
        f"{ANSWER}\nif request['path'] == 'f29.py': time.sleep(0.3); {ANSWER}",
    ],
)
@pytest.mark.parametrize("skip_errors", [False, True])
def test_a_program_that_answers_twice_ends_the_run(python, body, skip_errors) -> None:
    """Every later answer would be another file's: nothing of the program is kept, also where failures are skipped."""
    chunker, files = numbered(python, body)
    with pytest.raises(
        OutOfTurnError, match=r"wrote more than \d+ lines for \d+ files, so its answers may belong to other files"
    ):
        build_corpus({"r": files}, HeadedChunker(chunker, "path"), skip_errors=skip_errors)


def test_endless_lines_are_not_held_either(python) -> None:
    """One answer is taken, the rest waits in the pipe; the run ends when it is counted."""
    chunker, files = numbered(python, f"while True: {ANSWER}")
    with pytest.raises(OutOfTurnError, match="may belong to other files"):
        build_corpus({"r": files}, chunker)


STARTS = """
import os, subprocess, sys, time
def start():
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    with open(os.environ["STARTED"], "a") as file:
        file.write(f"{child.pid}\\n")
"""


@pytest.fixture
def started(tmp_path, monkeypatch):
    """Return the ids of the processes that programs have noted."""
    notes = tmp_path / "started"
    monkeypatch.setenv("STARTED", str(notes))
    return lambda: [int(line) for line in notes.read_text().splitlines()] if notes.exists() else []


def wait_for(condition, seconds=8.0):
    deadline = time.monotonic() + seconds
    while not (value := condition()) and time.monotonic() < deadline:
        time.sleep(0.01)
    return value


@pytest.mark.parametrize("then", [ANSWER, "sys.exit(3)", "sys.stdin.close(); time.sleep(60)"])
def test_the_process_group_of_a_program_ends_with_it(python, started, monkeypatch, then) -> None:
    """Whether the program answers, ends or hangs."""
    # What the program started holds its output open, so that one that has ended is waited for, too.
    monkeypatch.setattr(program, "TIME_LIMIT", 20 if then == ANSWER else 0.7)
    chunker = ProgramChunker(python(f"start(); {then}", before=STARTS))
    with suppress(ChunkError):
        chunker.chunk(FILE)
    chunker.close()
    assert started()
    assert wait_for(lambda: not any(map(alive, started())))


def test_a_program_ends_with_the_python_that_started_it(python, started) -> None:
    caller = f"""
from repoeval_bench.chunkers.program import ProgramChunker
from repoeval_bench.core.source import SourceFile
chunker = ProgramChunker({python(f"start(); {ANSWER}; time.sleep(600)", before=STARTS)!r})
chunker.chunk(SourceFile("r", "a.py", "a = 1\\n" * 4))
"""
    subprocess.run([sys.executable, "-c", caller], check=True)
    assert started()
    assert wait_for(lambda: not any(map(alive, started())))


def alive(pid):
    """Return whether a process runs; one that has ended and that nobody has asked for is none."""
    if sys.platform != "linux":
        return not subprocess.run(["ps", "-p", str(pid)], capture_output=True, check=False).returncode
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
