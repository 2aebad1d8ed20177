"""A chunker in another language, used for a real evaluation through `exec:`."""

from __future__ import annotations

import json
import shlex
import sys

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
    program = "exec:" + shlex.join([sys.executable, str(tmp_path / "headed.py")])
    specs = (f"{program} header", f"{program} text", "file:header=path", "file")
    chosen = [part for spec in specs for part in ("--chunker", spec)]
    done = evaluate(*chosen, "--retriever", "bm25", "--json")
    assert done.code == 0, done.err
    as_header, as_text, ours, bare = (run["micro"] for run in json.loads(done.out))
    assert as_header == as_text == ours
    assert ours != bare
