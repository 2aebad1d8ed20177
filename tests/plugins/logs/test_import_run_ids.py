"""The id of an imported run depends on all that decides its numbers, so that no import replaces another one's run."""

import itertools

import pytest

from plugins.logs.made_logs import log_row
from repoeval_bench.plugins.logs.import_log import import_run
from support.runs import read_text, write_rows

PLACES = [("a", "r/a.py", 0, 2), ("b", "r/a.py", 2, 4), ("c", "s/b.py", 0, 4)]
CHUNKS = [dict(zip(("chunk_id", "file", "start_line", "end_line"), row, strict=True)) for row in PLACES]
MORE = {"chunk_id": "d", "file": "r/a.py", "start_line": 1, "end_line": 3}


@pytest.fixture
def inputs(tmp_path):
    """Files for every option."""
    topk = [{"rank": n, "score": -float(n), **chunk} for n, chunk in enumerate(CHUNKS[:2], start=1)]
    where = {"file": "r/a.py", "start_line": 1, "end_line": 3}
    gold = [{"query_id": f"q{i}", **where} for i in range(2)]
    named = [row | {"repository": f"r{i}", "conversation": "c"} for i, row in enumerate(gold)]
    for name, text in {"src": "one\ntwo\nthree\nfour\n", "wider": "one\ntwo  2\nthree\nfour\n"}.items():
        (tmp_path / name / "r").mkdir(parents=True)
        (tmp_path / name / "r" / "a.py").write_text(text)
    tables = {
        "log": [log_row(f"q{i}", topk) for i in range(2)],
        "gold": gold,
        "named": named,
        "corpus": CHUNKS,
        "more": [*CHUNKS, MORE],
        "chunks": [{"query_id": f"q{i}", "chunk_id": c} for i in range(2) for c in "acx"],
        "chunks_named": [{"query_id": f"q{i}", "chunk_id": "a", "repository": f"r{i}"} for i in range(2)],
        "little": [{"query_id": "q0", "chunk_id": c} for c in "acxyz"],
    }
    paths = {name: write_rows(tmp_path / f"{name}.jsonl", rows) for name, rows in tables.items()}
    (tmp_path / "run.trec").write_text("q0 Q0 a 1 1 s\nq1 Q0 b 1 1 s\n")
    return paths | {name: tmp_path / name for name in ("src", "wider")} | {"run": tmp_path / "run.trec"}


OPTIONS = {
    "corpus": (None, "corpus", "more"),
    "files": (None, "src", "wider"),
    "measures": ((), ("mrr",), ("mrr", "recall@5"), ("recall@5", "mrr")),
}


def content(folder):
    """The files of a run, without its names and times."""
    files = {path.name: read_text(path) for path in sorted(folder.iterdir()) if path.name != "manifest.json"}
    return {name: text.replace(folder.name, "ID") for name, text in files.items()}


@pytest.mark.parametrize("gold", [("gold", "named"), ("chunks", "chunks_named", "little")])
def test_two_imports_with_one_id_have_the_same_files(inputs, tmp_path, gold):
    """Every value of each option, alone and with a corpus and sources: whatever changes a file changes the id."""
    stored = {}
    grid = [
        base | {option: value}
        for base in ({}, {"corpus": "corpus", "files": "src"})
        for option, values in OPTIONS.items()
        for value in values
    ]
    for number, (name, options) in enumerate(itertools.product(gold, grid)):
        given = {key: inputs.get(value, value) if isinstance(value, str) else value for key, value in options.items()}
        run = import_run(inputs["log"], inputs[name], tmp_path / str(number), created="2026-01-01", **given)
        assert stored.setdefault(run.run_id, content(run.folder)) == content(run.folder), options
    assert len(stored) > (20 if gold[0] == "gold" else 8)


def test_the_depth_of_a_trec_run_is_in_its_id(inputs, tmp_path):
    ids = {
        import_run(inputs["run"], inputs["chunks"], tmp_path, created="2026-01-01", depth=depth).run_id
        for depth in (None, 1, 5, 9)
    }
    assert len(ids) == 3
