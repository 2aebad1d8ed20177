"""`exec:` programs: the protocol in several languages, and every way in which a program can fail."""

import os
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from repoeval_bench.chunkers.fixed import FixedChunker
from repoeval_bench.chunkers.headers import HeadedChunker
from repoeval_bench.chunkers.program import ProgramChunker
from repoeval_bench.chunkers.registry import make_chunker
from repoeval_bench.chunkers.tools.conformance import assert_chunker_conforms
from repoeval_bench.core.errors import ChunkError, OutOfTurnError, SpecError
from repoeval_bench.core.source import Chunk, SourceFile
from repoeval_bench.core.spans import LineSpan
from repoeval_bench.retrieval.corpus import build_corpus

FILE = SourceFile("repo", "a.py", "ä = '\U0001d4b3'\nb = 1\n\nc = 2\n")

NODE = r"""
const lines = require('readline').createInterface({input: process.stdin});
const size = Number(process.argv[2]);
lines.on('line', line => {
  const parts = JSON.parse(line).text.split(/(?<=\n)/);
  const chunks = []; let start = 0, at = 0, filled = 0;
  for (const part of parts) {
    const nws = part.replace(/\s/g, '').length;
    if (nws && filled && filled + nws > size) { chunks.push([start, at]); start = at; filled = 0; }
    filled += nws; at += part.length;
  }
  chunks.push([start, at]);
  console.log(JSON.stringify({unit: 'utf16', chunks}));
});
"""


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


def cut(command: str, file: SourceFile = FILE, time_limit: float = 20) -> list[str]:
    chunker = ProgramChunker(command, time_limit)
    try:
        return [chunk.text for chunk in chunker.chunk(file)]
    finally:
        chunker.close()


@pytest.mark.parametrize(
    ("unit", "cuts"),
    [
        ("lines", [[0, 1], [1, 4]]),
        ("characters", [[0, 8], [8, 21]]),
        ("bytes", [[0, 12], [12, 25]]),
        ("utf16", [[0, 9], [9, 22]]),
    ],
)
def test_every_declared_unit_gives_the_same_chunks(python, unit: str, cuts: list) -> None:
    body = f"print(json.dumps({{'unit': {unit!r}, 'chunks': {cuts}}}))"
    assert cut(python(body)) == ["ä = '\U0001d4b3'\n", "b = 1\n\nc = 2\n"]


def test_a_node_program_cuts_as_fixed_does(tmp_path) -> None:
    if shutil.which("node") is None:
        pytest.skip("node is not on the PATH")
    (tmp_path / "fixed.js").write_text(NODE, "utf-8")
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


NOT_OF_VERSION_2 = [
    (1, {"start": 0, "end": 1}, 'write "version": 2 beside "chunks"'),
    (3, [0, 1], "answered in version 3 of the protocol; write version 1 or 2"),
    (2, {"start": 0, "end": 1, "heading": "x"}, "'heading'; a chunk has start, end, and header or text"),
    (2, {"start": 0, "end": True}, "whose start and end are not whole numbers"),
    (2, {"start": 0}, "whose start and end are not whole numbers"),
    (2, {"start": 0, "end": 1, "header": 3}, "whose header is not a text"),
    (2, {"start": 0, "end": 1, "text": "a\ud800"}, "which is not a line of JSON"),
    (2, {"start": 0, "end": 1, "text": " \n"}, "whose text holds nothing but blanks"),
    (2, {"start": 0, "end": 1, "text": "a", "header": "b"}, "with a header and a text"),
    (2, {"start": 0, "end": 9, "header": "b"}, "outside the file's 4 lines"),
]


@pytest.mark.parametrize(
    ("body", "parts"),
    [
        ("sys.stderr.write('out of cheese\\n'); sys.exit(3)", ["exit code 3", "out of cheese"]),
        (
            "sys.stderr.write('    throw x;\\n\\nError [NOT_FOUND]: Cannot find package\\n    at f (a.mjs:1)\\n  code: 1\\n}\\n'); sys.exit(1)",
            ["standard error ends with: Error [NOT_FOUND]: Cannot find package | code: 1 | }"],
        ),
        (
            "sys.stderr.write('AError: a\\n' + 'b\\n' * 300 + 'the disk is full\\n'); sys.exit(3)",
            ["standard error ends with: AError: a | b", " … ", "the disk is full"],
        ),
        ("print('hello')", ["'hello'", "not a line of JSON"]),
        ("print('[1, 2]')", ['without "chunks"']),
        ("print(json.dumps({'chunks': []}))", ["unknown unit 'None'", "choose from"]),
        ("print(json.dumps({'unit': 'lines', 'chunks': [[0, 5]]}))", ["[0, 5)", "outside the file's 4 lines"]),
        ("print(json.dumps({'unit': 'lines', 'chunks': [[-1, 2]]}))", ["[-1, 2)", "outside"]),
        ("print(json.dumps({'unit': 'lines', 'chunks': [[2, 2]]}))", ["[2, 2)", "empty"]),
        ("print(json.dumps({'unit': 'lines', 'chunks': [[2, 4], [0, 2]]}))", ["after a chunk that starts later"]),
        ("print(json.dumps({'unit': 'lines', 'chunks': ['all']}))", ["all", "not a pair of whole numbers"]),
        ("print(json.dumps({'unit': 'bytes', 'chunks': [[1, 5]]}))", ["[1, 5)", "cuts a character in two"]),
        ("print(json.dumps({'error': 'no such grammar'}))", ["reported: no such grammar"]),
        ("os.close(1); time.sleep(60)", ["closed its output before it answered"]),
        ("os.kill(os.getpid(), 9)", ["ended with exit code 137 "]),
        ("print(json.dumps({'unit': 'x' * 5_000_000, 'chunks': []}))", ["unknown unit"]),
        ("print('[' * 100_000)", ["which is not a line of JSON"]),
        ("time.sleep(60)", ["gave no answer within 0.5 s"]),
        *(
            (f"print(json.dumps({ {'version': version, 'unit': 'lines', 'chunks': [chunk]} }))", [part])
            for version, chunk, part in NOT_OF_VERSION_2
        ),
    ],
)
def test_a_program_that_misbehaves_is_named_with_the_file_and_its_last_words(python, body: str, parts: list) -> None:
    """In short, however much it says, and as shells name the signal that ended it."""
    with pytest.raises(ChunkError) as caught:
        cut(python(body), time_limit=0.5 if "sleep" in body else 20)
    message = str(caught.value)
    assert "repo/a.py" in message
    assert "\n" not in message
    assert len(message) < 500
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
    ("spec", "says"),
    [
        ("no-such-program-here --size 3", "cannot be started: 'no-such-program-here' is not a program on the PATH"),
        ("", "has no command"),
        ("   ", "has no command"),
        ("'unclosed", "close the quotes"),
    ],
)
def test_a_command_that_is_none_is_refused(spec: str, says: str) -> None:
    with pytest.raises(SpecError, match=says):
        make_chunker(f"exec:{spec}")


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


V2 = """
chunks = [[0, 1], {"start": 1, "end": 2, "header": "# é\\n"}, {"start": 2, "end": 4, "text": "see é: c"}]
print(json.dumps({"version": 2, "unit": "lines", "chunks": chunks}))
"""


def test_version_2_gives_headers_and_texts_and_moves_no_span(python) -> None:
    """The chunks of the same spans in version 1, with what is embedded beside them."""
    second = ProgramChunker(python(V2))
    headed = second.chunk(FILE)
    second.close()
    first = [replace(chunk, header="", rewritten="") for chunk in headed]
    assert first == [Chunk.cut(FILE, FILE.chars_of(LineSpan(*ends))) for ends in ((0, 1), (1, 2), (2, 4))]
    assert [chunk.embed_text for chunk in headed] == ["ä = '\U0001d4b3'\n", "# é\nb = 1\n", "see é: c"]
    assert [chunk.added_nws for chunk in headed] == [0, 2, 3]


def test_version_1_may_be_named_and_a_program_of_version_2_conforms(python) -> None:
    assert cut(python("print(json.dumps({'version': 1, 'unit': 'lines', 'chunks': [[0, 4]]}))")) == [FILE.text]
    body = """
    n = len(request['text'].splitlines())
    whole = {'start': 0, 'end': n, 'text': request['path'] + request['text'].upper()}
    print(json.dumps({'version': 2, 'unit': 'lines', 'chunks': [whole]}))
    """
    chunker = make_chunker(f"exec:{python(body)}")
    assert_chunker_conforms(chunker, examples=5)
    chunker.close()


def test_a_header_of_the_run_replaces_headers_and_stands_before_rewritten_texts(python) -> None:
    headed = HeadedChunker(ProgramChunker(python(V2)), "path").chunk(FILE)
    assert [chunk.embed_text for chunk in headed][1:] == ["# a.py\nb = 1\n", "# a.py\nsee é: c"]


def numbered(python, body):
    """A chunker that cuts as its program is told, and 30 files of four lines."""
    files = [SourceFile("r", f"f{i}.py", f"a = {i}\nb = {i}\nc = {i}\nd = {i}\n") for i in range(30)]
    return ProgramChunker(python(body, before="import threading\n"), 20), files


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
        OutOfTurnError, match=r"wrote \d+ lines for \d+ files, so its answers may belong to other files"
    ):
        build_corpus({"r": files}, HeadedChunker(chunker, "path"), skip_errors=skip_errors)


def test_output_without_a_line_end_is_not_held(python) -> None:
    """A program that writes and writes is stopped at the limit; its memory, ours and the pipe stay small."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(ChunkError, match="wrote more than 67,108,864 bytes without a line end"):
        cut(python("while True: sys.stdout.write('x' * 1_000_000)"))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 400_000  # KiB


def test_endless_lines_are_not_held_either(python) -> None:
    """One answer is taken, the rest waits in the pipe; the run ends when it is counted."""
    chunker, files = numbered(python, f"while True: {ANSWER}")
    with pytest.raises(OutOfTurnError, match="may belong to other files"):
        build_corpus({"r": files}, chunker)


LINUX = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells whose descendant an orphan is")
STARTS = """
import os, signal, subprocess, sys, time
WAYS = {
    "child": {},
    "deaf child": {"preexec_fn": lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)},
    "session": {"start_new_session": True},
    "group": {"process_group": 0},
}
def start(way):
    if way == "daemon":  # two forks and a session, as services do it
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                note(os.getpid())
                time.sleep(600)
            os._exit(0)
        time.sleep(0.2)
    else:
        note(subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], **WAYS[way]).pid)
def note(pid):
    with open(os.environ["STARTED"], "a") as file:
        file.write(f"{pid}\\n")
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


@pytest.mark.parametrize(
    ("way", "then"),
    [
        *(("child", then) for then in (ANSWER, "sys.exit(3)", "sys.stdin.close(); time.sleep(60)")),
        ("deaf child", ANSWER),
        *(pytest.param(way, ANSWER, marks=LINUX) for way in ("session", "group", "daemon")),
        pytest.param("daemon", "sys.stdin.close(); time.sleep(60)", marks=LINUX),
    ],
)
def test_what_a_program_started_ends_with_it(python, started, way, then) -> None:
    """However it was started, and whether the program answers, ends or hangs."""
    chunker = ProgramChunker(python(f"start({way!r}); {then}", before=STARTS), 0.7 if "sleep" in then else 20)
    with suppress(ChunkError):
        chunker.chunk(FILE)
    chunker.close()
    assert started()
    assert wait_for(lambda: not any(map(alive, started())))


@pytest.mark.parametrize("forks", [False, True])
@pytest.mark.parametrize("way", ["child", pytest.param("daemon", marks=LINUX)])
def test_after_kill_9_of_the_caller_nothing_is_left(python, started, way, forks) -> None:
    """Also where a fork of the caller lives on, and holds open what the caller had open."""
    if forks and sys.platform != "linux":
        pytest.skip("only Linux tells of the end of a process that is no child")
    command = python(f"note(os.getpid()); start({way!r}); {ANSWER}", before=STARTS)
    caller = f"""
import os, time
from repoeval_bench.chunkers.program import ProgramChunker
from repoeval_bench.core.source import SourceFile
chunker = ProgramChunker({command!r})
chunker.chunk(SourceFile("r", "a.py", "a = 1\\n" * 4))
if {forks} and os.fork() == 0:
    time.sleep(600)
print(os.getpid(), flush=True)
time.sleep(600)
"""
    with subprocess.Popen([sys.executable, "-c", caller], stdout=subprocess.PIPE, process_group=0) as process:
        try:
            assert process.stdout.readline()
            assert len(started()) == 2
            assert all(map(alive, started()))
            process.kill()
            assert wait_for(lambda: not any(map(alive, started())))
        finally:
            os.killpg(process.pid, signal.SIGKILL)


def test_other_children_of_the_caller_are_left_alone(python) -> None:
    """Children, and orphans of them, that were started before the program or while it runs, in a caller that is used as a library."""
    sleeper = [sys.executable, "-c", "import time; time.sleep(600)"]
    chunker = ProgramChunker(python(ANSWER))
    with subprocess.Popen(sleeper) as before:
        chunker.chunk(FILE)
        with subprocess.Popen(sleeper, start_new_session=True) as during:
            chunker.close()
            assert (before.poll(), during.poll()) == (None, None)
            during.kill()
        before.kill()


def test_a_fork_of_the_caller_does_not_end_the_program(python) -> None:
    """The end of a fork puts in order what is its own."""
    chunker = ProgramChunker(python("print(json.dumps({'unit': 'lines', 'chunks': [[os.getpid() % 2, 2]]}))"))
    first = chunker.chunk(FILE)
    talk = chunker._talk
    pid = os.fork()
    if pid == 0:
        talk._end()
        os._exit(0)
    os.waitpid(pid, 0)
    assert chunker.chunk(FILE) == first
    chunker.close()


def test_a_program_that_the_system_cannot_start_is_named_with_the_reason(tmp_path) -> None:
    """A file that may be run and is no program."""
    program = tmp_path / "program"
    program.write_bytes(b"\x7fELF, or so it says")
    program.chmod(0o755)
    with pytest.raises(ChunkError, match=r"cannot be started \(Exec format error\)"):
        cut(str(program))


def alive(pid):
    """Return whether a process runs; one that has ended and that nobody has asked for is none."""
    if sys.platform != "linux":
        return not subprocess.run(["ps", "-p", str(pid)], capture_output=True, check=False).returncode
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
