"""The id of a run made here: two requests with one id write the same files."""

import json

from repoeval_bench import evaluate, load_benchmark
from support.runs import read_text

OPTIONS = [
    {},
    {"retriever": "bm25:k1=2.0"},
    {"retriever": "jaccard"},
    {"k": 30},
    {"measures": ("mrr",)},
    {"measures": ("mrr", "recall@5")},
    {"measures": ("recall@5", "mrr")},
    {"protocol": "body"},
    {"protocol": "context+relevance=iou:0.3"},
    {"protocol": "context+query=tail:2"},
    {"protocol": "context+scope=pooled"},
    {"retriever": "grep:around=lines:2"},
    {"retriever": "grep:around=definition"},
    {"chunker": "fixed:max_nws=300,header=path"},
    {"chunker": "fixed:max_nws=301"},
    {"skip_errors": True},
    {"allow_sparse_qrels": True},
    {"data": {"limit": 4}},
    {"data": {"limit": 5}},
    {"data": {"repos": ("first",)}},
]


def content(folder):
    """The files of a run, without its times."""
    files = {path.name: read_text(path) for path in sorted(folder.iterdir()) if path.name != "timings.jsonl"}
    manifest = json.loads(files["manifest.json"])
    files["manifest.json"] = json.dumps(manifest | {"created": ""})
    return files


def test_two_requests_with_one_id_write_the_same_files(mirror, tmp_path):
    """Every option that can change a number, each alone: whatever changes a file changes the id."""
    home = tmp_path / "home"
    first = load_benchmark(mirror, home=home).tasks[0].repo
    stored = {}
    for number, options in enumerate(OPTIONS):
        data = dict(options.get("data", {}))
        if "repos" in data:
            data["repos"] = [first]
        more = {"chunker": "fixed:max_nws=300", "retriever": "bm25"} | {k: v for k, v in options.items() if k != "data"}
        run = evaluate(
            load_benchmark(mirror, home=home, **data), more.pop("chunker"), out=tmp_path / str(number), **more
        )
        assert stored.setdefault(run.run_id, content(run.folder)) == content(run.folder), options
    assert len(stored) >= len(OPTIONS) - 1
