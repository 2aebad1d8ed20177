"""What a paper says of a run: only facts of its manifest, and a BibTeX entry for each citation."""

import json
import re
import shutil
import tomllib
from pathlib import Path

import pytest
import yaml

from repoeval_bench.report.citation import ENTRIES, citation
from repoeval_bench.runs.view import RunView
from support.command import bench, one_sentence
from support.minirepo import build_mirror
from support.runs import write_run

CHECKOUT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Two runs under the protocol of the paper that is cited for it."""
    here = tmp_path_factory.mktemp("cited")
    mirror = build_mirror(here / "mirror")
    specs = ("-c", "fixed:max_nws=400", "-c", "ast:max_nws=400", "--protocol", "linemap", "--retriever", "bm25")
    done = bench("eval", *specs, "--source", mirror, "--out", here / "runs", home=here / "home")
    assert done.code == 0, done.err
    return here / "runs"


def manifest(runs, name):
    (folder,) = runs.glob(f"{name}*/manifest.json")
    return json.loads(folder.read_text())


def plain(text):
    """LaTeX without its escapes."""
    return re.sub(r"\\([_#%&$])", r"\1", text)


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
    assert "log.jsonl, judged by gold.jsonl" in text
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
    for title, authors, year, number in ENTRIES.values():
        assert cited[number]["title"] == re.sub(r"[{}]", "", title)
        assert (cited[number]["year"], len(cited[number]["authors"])) == (int(year), authors.count(" and ") + 1)
