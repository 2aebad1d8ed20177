"""The id of a run made here: each field of its request is part of it, and two requests with one id write the same files."""

import json

from repoeval_bench import evaluate, load_benchmark
from repoeval_bench.runs.request import DataRequest, RunRequest
from support.cases import cases
from support.runs import read_text

OPTIONS = cases(__file__)
NO_PART = {"embedder", "allow_sparse_qrels", "pack"}
"""The first counts only where vectors are needed, the second decides whether there is a run, the third names the data."""


def test_every_field_is_tried_here():
    """A new field needs a row in `run_ids.yaml`, or a reason above."""
    tried = {field for options in OPTIONS for field in options} - {"data"}
    assert tried | NO_PART == RunRequest.model_fields.keys() - DataRequest.model_fields.keys()


def content(folder):
    """The files of a run, without its times."""
    files = {path.name: read_text(path) for path in sorted(folder.iterdir()) if path.name != "timings.jsonl"}
    manifest = json.loads(files["manifest.json"])
    files["manifest.json"] = json.dumps(manifest | {"created": ""})
    return files


def test_two_requests_with_one_id_write_the_same_files(mirror, tmp_path):
    """Every field that can change a number, each alone: whatever changes a file changes the id."""
    usual = {"chunker": "fixed:max_nws=300", "retriever": "bm25", "allow_sparse_qrels": True}
    stored = {}
    for number, options in enumerate([{}, {"allow_sparse_qrels": False}, *OPTIONS]):
        benchmark = load_benchmark(mirror, home=tmp_path / "home", **options.get("data", {}))
        fields = {name: tuple(value) if isinstance(value, list) else value for name, value in options.items()}
        fields.pop("data", None)
        run = evaluate(benchmark, out=tmp_path / str(number), **usual | fields)
        assert stored.setdefault(run.run_id, content(run.folder)) == content(run.folder), options
    assert len(stored) == len(OPTIONS) + 1
