"""What a paper says of a run: only facts of its manifest, and a BibTeX entry for each citation."""

import json
import re
import shutil
import tomllib
from pathlib import Path

import pytest
import yaml

from repoeval_bench.report.citation import citation, references
from repoeval_bench.report.paper import paper_table
from repoeval_bench.runs.records import Manifest
from repoeval_bench.runs.view import RunView
from support.command import bench, one_sentence
from support.runs import config, edit, set_config, write_run

CHECKOUT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def runs(mirror, tmp_path_factory):
    """Two runs under the protocol of the paper that is cited for it."""
    here = tmp_path_factory.mktemp("cited")
    specs = ("-c", "fixed:max_nws=400", "-c", "ast:max_nws=400", "--protocol", "linemap", "--retriever", "bm25")
    done = bench("eval", *specs, "--source", mirror, "--out", here / "runs", home=here / "home")
    assert done.code == 0, done.err
    return here / "runs"


def manifest(runs, name):
    (folder,) = runs.glob(f"{name}*/manifest.json")
    return json.loads(folder.read_text())


def plain(text):
    """LaTeX without its escapes, and where a line may be broken."""
    return re.sub(r"\\([_#%&$])", r"\1", text.replace(r"\allowbreak{}", ""))


def test_the_paragraph_states_what_the_manifests_say(runs):
    """Data, fingerprint, chunkers, retriever, protocol, measures, test and versions."""
    done = bench("cite", "ast", "fixed", "--out", runs)
    assert done.code == 0, done.err
    text = plain(done.out.partition("@misc")[0])
    stored = manifest(runs, "ast")
    config, counts = stored["config"], stored["counts"]
    for fact in (
        f"fingerprint {stored['dataset']['fingerprint']}",
        f"{stored['dataset']['tasks']} of {stored['dataset']['whole_tasks']} tasks",
        config["chunker"],
        manifest(runs, "fixed")["config"]["chunker"],
        config["retriever"],
        f"to a depth of {config['k']}",
        f"{counts['chunks']:,} chunks of {counts['files']:,} files",
        r"protocol is linemap \cite{cast}",
        f"relevance {config['protocol']['relevance']}",
        ", ".join(config["measures"]),
        "Means are over repositories",
        "sign",
        "Holm",
        f"repoeval-bench {stored['versions']['repoeval-bench']}",
        f"numpy {stored['versions']['numpy']}",
    ):
        assert fact in text, fact
    assert "torch" not in text  # nothing was embedded


def test_every_citation_has_its_entry_and_every_entry_is_cited(runs):
    """A BibTeX run finds nothing missing; braces are balanced."""
    text, _, entries = bench("cite", "ast", "--out", runs).out.partition("\n@")
    assert set(re.findall(r"\\cite\{([^}]*)\}", text)) == set(re.findall(r"(?:^|@)misc\{([^,]*),", entries))
    assert entries.count("{") == entries.count("}")
    assert manifest(runs, "ast")["code"]["commit"] is None or manifest(runs, "ast")["code"]["commit"][:12] in entries


def changed(run, **fields):
    """The run's manifest with other fields."""
    return Manifest.model_validate_json(json.dumps(json.loads((run.folder / "manifest.json").read_text()) | fields))


def test_runs_of_several_states_are_each_stated(tmp_path):
    """Versions, commits, uncommitted changes and days of every run; once where they are the same."""
    run = write_run(tmp_path / "made", {"ndcg@10": [0.5, 1.0]})
    old = {"repoeval-bench": "0.1.0", "numpy": "1.26.4", "platform": "Linux x86_64"}
    new = old | {"numpy": "2.4.6"}
    first = changed(run, code={"commit": "a" * 40, "dirty": True}, versions=old, created="2025-12-31T00:00:00+00:00")
    second = changed(run, code={"commit": "b" * 40, "dirty": False}, versions=new)
    text = citation([first, second, first])
    assert "The runs are of 2 states of code and packages." in text
    assert "Run 1, 3: numbers from repoeval-bench 0.1.0" in text
    assert "(commit aaaaaaaaaaaa, with uncommitted changes) on Linux x86\\_64, with numpy 1.26.4." in text
    assert "Run 2: numbers from repoeval-bench 0.1.0 \\cite{repoeval-bench} (commit bbbbbbbbbbbb) on" in text
    assert "with numpy 2.4.6." in text
    assert "All numbers are from" not in text
    assert (
        "note = {commit aaaaaaaaaaaa, with uncommitted changes; commit bbbbbbbbbbbb; runs of 2025-12-31, 2026-01-01}"
        in text
    )
    assert "year = {2026}" in text
    same = citation([first, first])
    assert "All numbers are from repoeval-bench 0.1.0" in same
    assert "states of code" not in same


COMPLETION = {
    "base": "made",
    "model": "openai:coder,base_url=http://127.0.0.1:8080/v1",
    "identity": {"model": "coder-1b", "temperature": 0},
    "context": "retrieved",
    "budget": 2000,
    "fragments": 10,
    "layout": "b956ed30",
    "ending": "hole 1",
    "measures": ["exact_match", "edit_similarity", "identifier_f1"],
    "cut_off": 3,
}


def test_a_completed_run_names_its_model_its_context_and_its_measures(tmp_path):
    """In the paragraph and in the caption of the table; a server's address is in neither."""
    measures = ["ndcg@10", *COMPLETION["measures"]]
    run = write_run(tmp_path / "made", {name: [0.5, 1.0] for name in measures})
    run = edit(run, "manifest.json", completion=COMPLETION, config=config(measures=["ndcg@10"]))
    text = plain(citation([run.manifest]))
    assert (
        "A language model completes the tasks of this run: openai:coder, context retrieved, up to 10 fragments in 2,000 "
        "tokens by our own count, in RepoCoder's layout \\cite{repoeval} (version b956ed30). 3 answers ended at the "
        "limit of tokens."
    ) in text
    assert "The measures are ndcg@10, exact_match, edit_similarity, identifier_f1." in text
    assert "127.0.0.1" not in text
    title, notes = " ".join(paper_table([run], [], measures).title), paper_table([run], [], measures).notes
    assert "completed by openai:coder, context retrieved, up to 10 fragments in 2,000 tokens" in title
    assert not notes
    retrieved = write_run(tmp_path / "plain", {name: [0.5, 1.0] for name in measures})
    retrieved = set_config(retrieved, measures=["ndcg@10"])
    both = plain(citation([retrieved.manifest, run.manifest]))
    assert "are ndcg@10; some runs are also scored by exact_match, edit_similarity, identifier_f1." in both
    table = paper_table([retrieved, run], [], ["ndcg@10"])
    assert table.notes == ("b is completed by openai:coder, context retrieved, up to 10 fragments in 2,000 tokens",)


def test_what_is_asked_and_what_is_left_out_is_said_per_protocol(tmp_path):
    """Docstrings ask questions, and functions are left out; under `uses` tasks are."""
    run = write_run(tmp_path / "made", {"ndcg@10": [0.5, 1.0]}, counts={"tasks_unscored": 15})
    run = set_config(run, protocol={"name": "docstring", "gold": "places", "tasks": "docstring"})
    text = citation([run.manifest])
    assert "2 questions, each the first paragraph of a function's docstring" in text
    assert "left out: 15 documented functions whose docstring begins with under 5 words or shares a line" in text
    assert "tasks" not in text
    run = set_config(run, protocol={"name": "uses", "gold": "uses"})
    assert "left out: 15 tasks that use no definition that their prompt does not show." in citation([run.manifest])


def test_nothing_but_the_manifest_is_read(runs, tmp_path):
    """A folder with the manifest alone is cited alike."""
    (folder,) = runs.glob("ast*")
    (tmp_path / folder.name).mkdir()
    shutil.copy(folder / "manifest.json", tmp_path / folder.name)
    assert bench("cite", tmp_path / folder.name).out == bench("cite", folder).out


def test_a_name_cannot_become_tex(runs, tmp_path):
    """A chunker's spec is printed letter for letter."""
    (folder,) = runs.glob("ast*")
    shutil.copytree(folder, tmp_path / "run")
    path = tmp_path / "run" / "manifest.json"
    content = json.loads(path.read_text())
    content["config"]["chunker"] = r"exec:cut \input{/etc/passwd} $x$"
    path.write_text(json.dumps(content))
    text = citation([RunView(tmp_path / "run").manifest])
    assert r"\input" not in text
    assert r"\textbackslash{}input\{/etc/passwd\} \$x\$" in text


def test_an_imported_run_says_what_it_was_made_of(tmp_path):
    """It has a log and a gold file, and no chunker of ours."""
    run = write_run(tmp_path / "theirs", {"ndcg@10": [0.5, 1.0]}, imported=True)
    text = bench("cite", run.folder).out
    assert "log.jsonl, made outside of repoeval-bench and judged against gold.jsonl, which names" in text
    assert "torch" not in text
    assert "chonkie" not in text
    assert "Chunks are made" not in text


def test_runs_of_two_questions_are_not_cited_together(runs, tmp_path):
    """One paragraph is about one protocol and one set of data."""
    other = write_run(tmp_path / "other", {"ndcg@10": [0.5, 1.0]})
    (folder,) = runs.glob("ast*")
    assert "cannot be compared" in one_sentence(bench("cite", folder, other.folder), 2)


def test_the_citation_file_is_complete():
    """CITATION.cff has what its format requires, the package's version and licence, and every paper that is cited."""
    content = yaml.safe_load((CHECKOUT / "CITATION.cff").read_text())
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"]
    assert content["cff-version"] == "1.2.0"
    assert (content["version"], content["license"], content["type"]) == (
        project["version"],
        project["license"],
        "software",
    )
    assert all(content[key] for key in ("message", "title", "abstract", "authors", "keywords"))
    cited = {each["journal"].removeprefix("arXiv:"): each for each in content["references"]}
    for entry in references().values():
        fields = dict(re.findall(r"^  (\w+) = \{(.*)\},$", entry, re.MULTILINE))
        title, authors, year, number = (fields[name] for name in ("title", "author", "year", "eprint"))
        assert cited[number]["title"] == re.sub(r"[{}]", "", title)
        assert (cited[number]["year"], len(cited[number]["authors"])) == (int(year), authors.count(" and ") + 1)
