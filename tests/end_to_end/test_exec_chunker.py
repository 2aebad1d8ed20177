"""A chunker in another language, used for a real evaluation through `exec:`."""

from __future__ import annotations

import json
import shutil
import sys

import pytest

# `fixed` in shell and awk: whole lines up to $1 non-whitespace characters, from one JSON line to another.
PROGRAM = r"""
while IFS= read -r line; do
  printf '%s\n' "$line" | awk -v limit="$1" '{
    sub(/.*"text": "/, ""); sub(/"}$/, "")
    gsub(/\\\\/, "b"); gsub(/\\"/, "q"); gsub(/\\[tfr]/, " ")
    gsub(/\\u[0-9a-f][0-9a-f][0-9a-f][0-9a-f]/, "u")
    n = split($0, part, /\\n/); if (part[n] == "") n--
    start = 0; filled = 0; s = ""
    for (i = 1; i <= n; i++) {
      size = gsub(/[^ ]/, "", part[i])
      if (size && filled && filled + size > limit) { s = s "[" start "," i - 1 "],"; start = i - 1; filled = 0 }
      filled += size
    }
    print "{\"unit\": \"lines\", \"chunks\": [" s "[" start "," n "]]}" }'
done
"""


def test_a_shell_program_scores_what_the_same_chunker_in_python_scores(evaluate, tmp_path):
    """Same spans, same vectors, same metrics to the last digit; only the run's name differs."""
    if shutil.which("awk") is None or shutil.which("sh") is None:
        pytest.skip("sh and awk are not on the PATH: they run the chunker of this test")
    (tmp_path / "fixed.sh").write_text(PROGRAM, "utf-8")
    spec = f"exec:sh {tmp_path / 'fixed.sh'} 400"
    done = evaluate("--chunker", spec, "--chunker", "fixed:max_nws=400", "--json")
    assert done.code == 0, done.err
    shell, ours = json.loads(done.out)
    assert shell["chunker"] == spec
    assert shell["micro"] == ours["micro"]
    assert shell["per_repo"] == ours["per_repo"]


def test_a_program_that_dies_stops_the_run_in_one_sentence_with_its_last_words(evaluate, tmp_path):
    """The file, the command, the exit code and standard error; with skip_errors it is counted instead."""
    (tmp_path / "dies.sh").write_text("read -r line\necho 'out of cheese' >&2\nexit 3\n", "utf-8")
    done = evaluate("--chunker", f"exec:sh {tmp_path / 'dies.sh'}")
    assert done.code == 1
    assert "Traceback" not in done.err
    assert "exit code 3" in done.err
    assert "out of cheese" in done.err


# Each file as a chunk, with the header of `file:header=path`, as a header and as part of the text to embed.
HEADED = """
import json, sys
for line in sys.stdin:
    file = json.loads(line)
    chunk = {"start": 0, "end": len(file["text"])}
    header = "# " + file["path"] + "\\n"
    chunk |= {"header": header} if sys.argv[1] == "header" else {"text": header + file["text"]}
    print(json.dumps({"version": 2, "unit": "characters", "chunks": [chunk]}), flush=True)
"""


def test_a_program_that_gives_headers_scores_what_the_same_headers_score(evaluate, tmp_path):
    """Same embedded texts, same charge for them, same metrics to the last digit: given as a header or as a text."""
    (tmp_path / "headed.py").write_text(HEADED, "utf-8")
    program = f"exec:{sys.executable} {tmp_path / 'headed.py'}"
    specs = (f"{program} header", f"{program} text", "file:header=path", "file")
    chosen = [part for spec in specs for part in ("--chunker", spec)]
    done = evaluate(*chosen, "--retriever", "bm25", "--json")
    assert done.code == 0, done.err
    as_header, as_text, ours, bare = (run["micro"] for run in json.loads(done.out))
    assert as_header == as_text == ours
    assert ours != bare
