"""The bridges in docs/examples/bridges, where npm has installed their packages: `npm install` in a copy of the folder.

REPOEVAL_BRIDGES names that folder; without it, and without node, these tests are skipped.
"""

import json
import os
import shutil
from itertools import pairwise
from pathlib import Path

import pytest

from repoeval_bench.chunkers.registry import make_chunker
from repoeval_bench.chunkers.tools.cases import SAMPLES
from repoeval_bench.chunkers.tools.conformance import broken_promises
from repoeval_bench.core.errors import ChunkError
from repoeval_bench.core.source import SourceFile

OURS = Path(__file__).parents[2] / "docs" / "examples" / "bridges"
INSTALLED = Path(os.environ.get("REPOEVAL_BRIDGES", OURS))
CODE = "import os\n\nX = '\U0001d4b3'\n\n\nclass A:\n" + "".join(
    f"    def m{i}(self):\n        return 'ä{i}'\n\n" for i in range(40)
)


def needs(package):
    """Skips a test with the reason where node, or an npm package, is not installed."""
    return pytest.mark.skipif(
        shutil.which("node") is None or not (INSTALLED / "node_modules" / package).is_dir(),
        reason=f"{package} is not installed: npm install in a copy of {OURS.name}/, and REPOEVAL_BRIDGES=FOLDER",
    )


@pytest.fixture
def bridge(tmp_path):
    """A chunker of the bridge as it is in this checkout, beside the packages that are installed."""
    built = []
    for path in OURS.glob("*.*js*"):
        shutil.copy(path, tmp_path / path.name)
    (tmp_path / "node_modules").symlink_to(INSTALLED / "node_modules")

    def make(words):
        built.append(make_chunker(f"exec:node {tmp_path}/{words}"))
        return built[-1]

    yield make
    for chunker in built:
        chunker.close()


def test_every_package_is_pinned():
    expected = json.loads((OURS / "package.json").read_text("utf-8"))["dependencies"]
    assert all(version[0].isdigit() for version in expected.values()), expected
    for path in OURS.glob("*.mjs"):
        imported = [line.split("'")[1] for line in path.read_text("utf-8").splitlines() if " from '" in line]
        assert all(name.startswith(("node:", "./")) or name in expected for name in imported)


@pytest.mark.slow
@needs("@langchain/textsplitters")
class TestLangChain:
    @pytest.mark.parametrize("language", sorted(SAMPLES.keys() - {"csharp"}))
    def test_langchain_cuts_every_language_that_it_has_and_loses_nothing(self, bridge, language):
        path, text = SAMPLES[language]
        broken = broken_promises(bridge("langchain.mjs --size 200 --overlap 0"), SourceFile("r", path, text))
        assert broken.keys() <= {"line ends"}

    def test_langchain_overlaps_as_it_does_by_itself(self, bridge):
        chunks = bridge("langchain.mjs --size 200 --overlap 80").chunk(SourceFile("r", "a.py", CODE))
        assert any(b.chars.start < a.chars.end for a, b in pairwise(chunks))
        assert all(len(chunk.text) <= 200 for chunk in chunks)

    def test_a_language_that_it_lacks_is_refused(self, bridge):
        with pytest.raises(ChunkError, match=r"no separators for files that end in \.cs"):
            bridge("langchain.mjs").chunk(SourceFile("r", "a.cs", "class A {}"))


@pytest.mark.slow
@needs("@zilliz/claude-context-core")
class TestClaudeContext:
    def test_claude_context_gives_definitions_with_what_it_embeds_and_leaves_out_what_is_between(self, bridge):
        result = bridge("claude-context.mjs").chunk(SourceFile("r", "a.py", CODE))
        assert result[0].text.startswith("class A:")
        assert sum("def m7(" in chunk.text for chunk in result) == 2
        assert not any("import os" in chunk.text for chunk in result)
        assert result[1].embed_text.endswith(result[1].text)
        assert result[1].added_nws > 0

    def test_a_file_that_its_parser_refuses_is_refused_unless_its_own_way_out_is_asked_for(self, bridge):
        large = SourceFile("r", "large.py", "def f():\n    return 1\n\n\n" * 1_600)
        with pytest.raises(ChunkError, match="claude-context takes its text splitter"):
            bridge("claude-context.mjs").chunk(large)
        chunks = bridge("claude-context.mjs --fallback").chunk(large)
        assert max(len(chunk.text) for chunk in chunks) <= 1_000
