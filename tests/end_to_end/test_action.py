"""The composite action, run as GitHub runs it: every `run` step with bash, its inputs, outputs and variables.

`uses` steps (setup-python, cache) are left out. The comment goes to a server on 127.0.0.1 that speaks GitHub's API.
"""

import json
import os
import re
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import parse_qs, urlsplit

import pytest
import yaml

from repoeval_bench.analysis.gates import ChosenSetting
from repoeval_bench.own.recommend.chosen import dump_chosen
from support.command import python
from support.history import Story, python_file
from support.server import listening

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))

OWN = """
from repoeval_bench.core.source import Chunk
from repoeval_bench.core.spans import CharSpan

class Whole:
    def chunk(self, file):
        return [Chunk.cut(file, CharSpan(0, len(file.text)))] if file.text.strip() else []
"""


@pytest.fixture
def github():
    """Comments of a pull request: listed by pages, written and replaced with a token. `status` refuses all writing."""
    github = SimpleNamespace(comments=[], status=None)

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *args):
            """Nothing on standard error."""

        def answer(self, code, content):
            body = json.dumps(content).encode()
            self.send_response(code)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_GET(self):
            assert urlsplit(self.path).path == "/repos/me/mine/issues/7/comments"
            queried = {name: int(values[0]) for name, values in parse_qs(urlsplit(self.path).query).items()}
            start = (queried["page"] - 1) * queried["per_page"]
            self.answer(200, github.comments[start : start + queried["per_page"]])

        def write(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["body"]
            if self.headers["Authorization"] != "Bearer secret" or github.status:
                self.answer(github.status or 401, {"message": "no"})
                return
            if self.command == "POST":
                assert self.path == "/repos/me/mine/issues/7/comments"
                github.comments.append({"id": 1000 + len(github.comments)})
                result = github.comments[-1]
            else:
                (result,) = [
                    comment for comment in github.comments if self.path.endswith(f"/issues/comments/{comment['id']}")
                ]
            result["body"] = body
            self.answer(201, result | {"html_url": f"{github.url}/{result['id']}"})

        do_POST = do_PATCH = write

    with listening(Handler, threading.Event()) as port:
        github.url = f"http://127.0.0.1:{port}"
        yield github


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """A virtual environment in which the base wheel's requirements are met and the project is not installed."""
    pytest.importorskip("hatchling", reason="hatchling builds the wheel; it comes with the extra 'dev'")
    folder = tmp_path_factory.mktemp("python")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    (site,) = folder.glob("lib/python*/site-packages")
    known = [path for path in sys.path if path.endswith("site-packages")]
    (site / "dependencies.pth").write_text("".join(f"{path}\n" for path in known), "utf-8")
    return folder


class Runner:
    """What runs a composite action: expressions, conditions, variables, files for outputs and summaries."""

    def __init__(self, temp, environment, github, inputs):
        self.temp = temp
        self.summary = temp / "summary"
        self.environment = environment
        self.values = {"github.token": "secret", "github.run_id": "1", "github.run_attempt": "1"}
        self.values |= {"github.event.pull_request.number": "7", "runner.temp": str(temp)}
        for name, field in ACTION["inputs"].items():
            assert name in inputs or not field.get("required"), name
            self.values[f"inputs.{name}"] = inputs.get(name, self.filled(field.get("default", "")))
        assert inputs.keys() <= ACTION["inputs"].keys()
        self.variables = {
            **{name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "GITHUB_TOKEN")},
            "PATH": f"{environment / 'bin'}{os.pathsep}{os.environ['PATH']}",
            "PIP_NO_DEPS": "1",  # they are there already, as a warm cache has them
            "PIP_NO_BUILD_ISOLATION": "0",  # pip reads it as the value of build isolation
            "GITHUB_ACTION_PATH": str(ROOT),
            "GITHUB_API_URL": github.url,
            "GITHUB_REPOSITORY": "me/mine",
            "RUNNER_TEMP": str(temp),
            "GITHUB_STEP_SUMMARY": str(self.summary),
        }

    def value(self, expression):
        """The value of an expression: names, texts, ==, !=, && and ||, as far as the action uses them."""
        operators = {"||": lambda a, b: a or b, "&&": lambda a, b: a and b}
        operators |= {"==": lambda a, b: "true" if a == b else "", "!=": lambda a, b: "true" if a != b else ""}
        for operator, decide in operators.items():
            first, result, rest = expression.partition(operator)
            if result:
                return decide(self.value(first), self.value(rest))
        word = expression.strip()
        return word[1:-1] if word.startswith("'") else self.values[word]

    def filled(self, text):
        return re.sub(r"\$\{\{(.*?)\}\}", lambda match: self.value(match[1]), text)

    def run(self, cwd):
        """Run the steps in order; (exit code of the first that fails, or 0; everything that was printed)."""
        printed = ""
        for number, step in enumerate(ACTION["runs"]["steps"]):
            if not self.value(step.get("if", "'true'")):
                continue
            if "uses" in step:
                assert re.fullmatch(r"actions/[a-z-]+@[0-9a-f]{40}", step["uses"])
                for given in step["with"].values():
                    self.filled(given)
                continue
            assert step["shell"] == "bash"
            output = self.temp / f"output-{number}"
            output.touch()
            variables = {name: self.filled(text) for name, text in step.get("env", {}).items()}
            # Installing is done once for all tests.
            installed = self.environment / "installed"
            if step["name"] == "Install" and installed.exists():
                continue
            (self.temp / "step.sh").write_text(step["run"], "utf-8")
            done = subprocess.run(
                ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(self.temp / "step.sh")],
                cwd=cwd,
                env=self.variables | variables | {"GITHUB_OUTPUT": str(output)},
                capture_output=True,
                text=True,
                timeout=300,
                check=False,
            )
            printed += done.stdout + done.stderr
            for line in output.read_text("utf-8").splitlines():
                name, _, value = line.partition("=")
                self.values[f"steps.{step['id']}.outputs.{name}"] = value
            if done.returncode:
                return done.returncode, printed
            if step["name"] == "Install":
                installed.touch()
        return 0, printed


@pytest.fixture
def act(tmp_path, environment, github, mirror):
    """Run the action over the mini benchmark in a folder with a chunker and gate files of the user's."""
    pytest.importorskip("pip", reason="the action's first step is a pip install")
    work = tmp_path / "work"
    work.mkdir()
    (work / "mine.py").write_text(OWN, "utf-8")
    (work / "low.yaml").write_text("gates:\n  - {measure: ndcg@10, at_least: 0.01}\n", "utf-8")
    (work / "high.yaml").write_text("gates:\n  - {measure: precision@10, at_least: 0.999}\n", "utf-8")

    def call(**inputs):
        temp = tmp_path / f"temp-{len(list(tmp_path.iterdir()))}"
        temp.mkdir()
        given = {"source": str(mirror), **{name.replace("_", "-"): value for name, value in inputs.items()}}
        runner = Runner(temp, environment, github, given)
        code, printed = runner.run(work)
        return code, printed, runner

    return call


def test_the_action_installs_compares_comments_and_gates(act, github):
    """One comment with verdict, table and gates; a second run replaces it, and fails after that where a gate does."""
    github.comments = [{"id": number, "body": f"comment {number}"} for number in range(130)]
    code, printed, runner = act(chunker="py:mine:Whole", gates="low.yaml")
    assert code == 0, printed
    (body,) = [comment["body"] for comment in github.comments[130:]]
    mark, text = body.split("\n", 1)
    assert re.fullmatch(r"<!-- repoeval-bench [0-9a-f]{16} -->", mark)
    assert text == runner.summary.read_text("utf-8")
    assert "protocol context" in text
    assert "| measure | run | mean | minus" in text
    assert "### the gate passed" in text
    results = Path(runner.values["steps.evaluate.outputs.results"])
    assert len(list(results.glob("*/*/manifest.json"))) == 2
    code, printed, runner = act(chunker="py:mine:Whole", gates="high.yaml")
    assert code == 1, printed
    assert "replaced the comment" in printed
    assert len(github.comments) == 131
    assert "### 1 of 1 gate failed" in github.comments[130]["body"]
    assert "FAILED" in runner.summary.read_text("utf-8")


@pytest.mark.parametrize(("status", "code", "said"), [(403, 0, "::warning::the token may not"), (500, 1, "::error::")])
def test_a_token_that_may_not_write_is_a_warning_and_any_other_failure_an_error(github, tmp_path, status, code, said):
    github.status = status
    (tmp_path / "comment.md").write_text("text")
    variables = {
        "GITHUB_API_URL": github.url,
        "GITHUB_REPOSITORY": "me/mine",
        "PULL_REQUEST": "7",
        "GITHUB_TOKEN": "secret",
    }
    done = python(ROOT / "scripts" / "comment_on_pull_request.py", tmp_path / "comment.md", "--name", "a", **variables)
    assert (done.code, done.err) == (code, "")
    assert done.out.startswith(said)


def test_a_chunker_is_compared_with_itself_on_another_branch(act, github, tmp_path):
    """The same spec in two folders: two runs, named by their folders."""
    (tmp_path / "main").mkdir()
    (tmp_path / "main" / "mine.py").write_text(OWN, "utf-8")
    code, printed, _ = act(chunker="py:mine:Whole", baseline="py:mine:Whole", baseline_directory=str(tmp_path / "main"))
    assert code == 0, printed
    assert "not significant" in github.comments[0]["body"]


def test_a_chunker_that_does_not_exist_ends_the_action_with_one_sentence(act, github, tmp_path):
    """Inputs are data: none of them is run."""
    for chunker, sentence in {"asst": "did you mean 'ast'", "$(touch pwned); touch pwned": "has no name"}.items():
        code, printed, _ = act(chunker=chunker)
        assert code == 2
        assert sentence in printed
        assert "Traceback" not in printed
    assert github.comments == []
    assert not (tmp_path / "work" / "pwned").exists()


def test_a_chosen_setting_is_tested_alone(act, github, tmp_path):
    """Without a chunker nothing else is run; the summary has the answer."""
    story = Story(tmp_path / "shop")
    story.commit("Start the shop", edit={"a.py": python_file(["cart"])})
    chosen = ChosenSetting(
        spec="ast:max_nws=500",
        opponent="fixed:max_nws=500",
        retriever="bm25",
        expected_loss=0.01,
        date="2020-01-01",
        tool="t",
    )
    (tmp_path / "shop" / "chunking.toml").write_text(dump_chosen(chosen), "utf-8")
    code, printed, runner = act(chosen="chunking.toml", working_directory=str(tmp_path / "shop"))
    assert code == 0, printed
    assert "Too little to judge" in runner.summary.read_text("utf-8")
    assert github.comments == []


def test_the_light_install_names_no_extra_and_the_docs_name_every_input():
    """Without `extras` the wheel is installed bare; its requirements hold no torch (test_extras.py)."""
    (install,) = [step["run"] for step in ACTION["runs"]["steps"] if step.get("name") == "Install"]
    assert '"$GITHUB_ACTION_PATH${EXTRAS:+[$EXTRAS]}"' in install
    assert ACTION["inputs"]["extras"]["default"] == ""
    page = (ROOT / "docs" / "ci.md").read_text("utf-8")
    assert all(f"`{name}`" in page for name in [*ACTION["inputs"], *ACTION["outputs"]])
