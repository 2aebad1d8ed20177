"""`exec:` programs: the protocol in several languages, and every way in which a program can fail."""

from __future__ import annotations

import resource
import shlex
import shutil
import sys
import textwrap
import time
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

# Windows of two lines, counted as escaped newlines of the JSON text.
SHELL = r"""
while IFS= read -r line; do
  printf '%s\n' "$line" | awk '{ gsub(/\\\\/, ""); n = gsub(/\\n/, ""); s = ""
    for (i = 0; i < n; i += 2) s = s (i ? "," : "") "[" i "," (i + 2 < n ? i + 2 : n) "]"
    print "{\"unit\":\"lines\",\"chunks\":[" s "]}" }'
done
"""

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
        return shlex.join([sys.executable, "-u", str(script)])

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


def test_a_shell_program_is_a_chunker(tmp_path) -> None:
    if shutil.which("awk") is None:
        pytest.skip("awk is not on the PATH")
    (tmp_path / "pairs.sh").write_text(SHELL, "utf-8")
    spec = f"exec:sh {tmp_path / 'pairs.sh'}"
    chunker = make_chunker(spec)
    text = 'a = "\\n"\n' * 5
    for _ in range(2):
        assert [chunk.text for chunk in chunker.chunk(SourceFile("r", "a.py", text))] == [
            'a = "\\n"\n' * 2,
            'a = "\\n"\n' * 2,
            'a = "\\n"\n',
        ]
    assert chunker.spec == spec
    chunker.close()


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


@pytest.mark.parametrize(
    ("body", "parts"),
    [
        ("sys.stderr.write('out of cheese\\n'); sys.exit(3)", ["exit code 3", "out of cheese"]),
        (
            "sys.stderr.write('    throw x;\\n\\nError [NOT_FOUND]: Cannot find package\\n    at f (a.mjs:1)\\n  code: 1\\n}\\n')",
            ["standard error ends with: Error [NOT_FOUND]: Cannot find package | code: 1 | }"],
        ),
        (
            "sys.stderr.write('AError: a\\n' + 'b\\n' * 300 + 'the disk is full\\n'); sys.exit(3)",
            ["standard error ends with: AError: a | b", " … ", "the disk is full"],
        ),
        ("print('hello')", ["'hello'", "not a line of JSON"]),
        ("print('[1, 2]')", ['without "chunks"']),
        ("print(json.dumps({'chunks': []}))", ["unknown unit 'None'", "choose from"]),
        ("print(json.dumps({'unit': 'line', 'chunks': []}))", ["unknown unit 'line'", "did you mean 'lines'"]),
        ("print(json.dumps({'unit': 'lines', 'chunks': [[0, 5]]}))", ["[0, 5)", "outside the file's 4 lines"]),
        ("print(json.dumps({'unit': 'lines', 'chunks': [[-1, 2]]}))", ["[-1, 2)", "outside"]),
        ("print(json.dumps({'unit': 'lines', 'chunks': [[2, 2]]}))", ["[2, 2)", "empty"]),
        ("print(json.dumps({'unit': 'lines', 'chunks': [[2, 4], [0, 2]]}))", ["after a chunk that starts later"]),
        ("print(json.dumps({'unit': 'lines', 'chunks': ['all']}))", ["all", "not a pair of whole numbers"]),
        ("print(json.dumps({'unit': 'bytes', 'chunks': [[1, 5]]}))", ["[1, 5)", "cuts a character in two"]),
        ("print(json.dumps({'error': 'no such grammar'}))", ["reported: no such grammar"]),
    ],
)
def test_a_program_that_misbehaves_is_named_with_the_file_and_its_last_words(python, body: str, parts: list) -> None:
    with pytest.raises(ChunkError) as caught:
        cut(python(body))
    message = str(caught.value)
    assert "repo/a.py" in message
    assert "\n" not in message
    for part in parts:
        assert part in message


def test_a_program_that_hangs_is_ended_after_the_time_limit(python) -> None:
    start = time.monotonic()
    with pytest.raises(ChunkError, match=r"gave no answer within 0\.5 s"):
        cut(python("time.sleep(60)"), time_limit=0.5)
    assert time.monotonic() - start < 10


def test_after_a_failure_the_next_file_has_a_fresh_program(python) -> None:
    body = "assert request['path'] != 'bad.py', 'bad file'\nprint(json.dumps({'unit': 'lines', 'chunks': [[0, 4]]}))"
    chunker = ProgramChunker(python(body))
    with pytest.raises(ChunkError, match="bad file"):
        chunker.chunk(SourceFile("repo", "bad.py", FILE.text))
    assert [chunk.text for chunk in chunker.chunk(FILE)] == [FILE.text]
    chunker.close()


def test_a_program_that_is_not_there_is_named() -> None:
    with pytest.raises(SpecError, match=r"cannot be started: 'no-such-program-here' is not a program on the PATH"):
        make_chunker("exec:no-such-program-here --size 3")


@pytest.mark.parametrize(
    ("command", "says"),
    [("false", "exit code 1 .* is empty"), ("sh -c 'echo no cheese >&2; exit 7'", "exit code 7 .* with: no cheese")],
)
def test_a_program_that_ends_before_it_is_asked_is_named_with_its_exit_status(command: str, says: str) -> None:
    """That its output has ended is not taken for a line that nobody asked for, however soon it ends."""
    chunker = make_chunker(f"exec:{command}")
    for _ in range(20):
        with pytest.raises(ChunkError, match=f"ended with {says}"):
            chunker.chunk(FILE)


@pytest.mark.parametrize("spec", ["exec:", "exec:   ", "exec:'unclosed"])
def test_a_command_that_is_none_is_refused(spec: str) -> None:
    with pytest.raises(SpecError):
        make_chunker(spec)


def test_a_program_can_pass_the_conformance_suite(python) -> None:
    body = "n = len(request['text'].splitlines())\nprint(json.dumps({'unit': 'lines', 'chunks': [[0, n]]}))"
    chunker = make_chunker(f"exec:{python(body)}")
    assert_chunker_conforms(chunker, examples=5)
    chunker.close()


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


@pytest.mark.parametrize(
    ("version", "chunk", "part"),
    [
        (1, {"start": 0, "end": 1}, 'write "version": 2 beside "chunks"'),
        (3, [0, 1], "answered in version 3 of the protocol; write version 1 or 2"),
        ("2", [0, 1], "answered in version 2 of the protocol"),
        (
            2,
            {"start": 0, "end": 1, "heading": "x"},
            "a chunk with 'heading'; a chunk has start, end, and header or text",
        ),
        (2, {"start": 0, "end": True}, "whose start and end are not whole numbers"),
        (2, {"start": 0}, "whose start and end are not whole numbers"),
        (2, {"start": 0, "end": 1, "header": 3}, "whose header is not a text"),
        (2, {"start": 0, "end": 1, "text": None}, "whose text is not a text"),
        (2, {"start": 0, "end": 1, "text": "a\ud800"}, "which is not a line of JSON"),
        (2, {"start": 0, "end": 1, "text": " \n"}, "whose text holds nothing but blanks"),
        (2, {"start": 0, "end": 1, "text": "a", "header": "b"}, "with a header and a text"),
        (2, {"start": 0, "end": 9, "header": "b"}, "outside the file's 4 lines"),
    ],
)
def test_what_version_2_does_not_allow_is_one_sentence(python, version, chunk, part: str) -> None:
    with pytest.raises(ChunkError) as caught:
        cut(python(f"print(json.dumps({ {'version': version, 'unit': 'lines', 'chunks': [chunk]} }))"))
    assert part in str(caught.value)
    assert "\n" not in str(caught.value)


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


def test_what_a_program_started_ends_with_it(python, tmp_path) -> None:
    """Children that ignore their parent's end are ended too."""
    pid = tmp_path / "pid"
    child = "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])"
    body = f"child = {child}; open({str(pid)!r}, 'w').write(str(child.pid)); {ANSWER}"
    chunker = ProgramChunker(python(body, before="import subprocess\n"), 20)
    chunker.chunk(FILE)
    chunker.close()
    deadline = time.monotonic() + 5
    while alive(int(pid.read_text())) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not alive(int(pid.read_text()))


def alive(pid):
    """Whether a process runs; one that has ended and that nobody has asked for is none."""
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False


def test_a_strange_unit_is_named_in_short(python) -> None:
    """A text of millions of characters is neither compared nor printed."""
    with pytest.raises(ChunkError, match="unknown unit") as error:
        cut(python("print(json.dumps({'unit': 'x' * 5_000_000, 'chunks': []}))"))
    assert len(str(error.value)) < 500


def test_an_answer_nested_without_end_is_not_an_answer(python) -> None:
    """The one reader of JSON reads answers too."""
    with pytest.raises(ChunkError, match="which is not a line of JSON"):
        cut(python("print('[' * 100_000)"))
