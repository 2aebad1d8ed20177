"""The example of headers in docs/chunkers.md, as a user would copy it."""

import re

from repoeval_bench.chunkers.registry import make_chunker
from repoeval_bench.chunkers.tools.conformance import assert_chunker_conforms
from repoeval_bench.core.source import SourceFile
from support.plug_ins import DOCS


def test_the_headers_in_the_docs_conform_and_embed_what_they_say(tmp_path, monkeypatch):
    blocks = re.findall(r"^```python\n(.*?)^```", (DOCS / "chunkers.md").read_text("utf-8"), re.DOTALL | re.MULTILINE)
    (example,) = [block for block in blocks if "class WithPath" in block]
    (tmp_path / "headers_of_the_docs.py").write_text(example, "utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    file = SourceFile("r", "src/a.py", "A = 1\n")
    for name, embedded in {"WithPath": "# src/a.py\nA = 1\n", "InLowerCase": "a = 1\n"}.items():
        chunker = make_chunker(f"py:headers_of_the_docs:{name}")
        assert_chunker_conforms(chunker, examples=0)
        assert [chunk.embed_text for chunk in chunker.chunk(file)] == [embedded]
