"""The Python to paste for a chunker makes the chunks that were measured."""

import importlib.util
from pathlib import Path

import pytest

import repoeval_bench
from repoeval_bench.chunkers.registry import CHUNKERS, make_chunker, of_size, snippet_of
from repoeval_bench.core.languages import LANGUAGES
from repoeval_bench.core.source import SourceFile
from support.cases import cases

OWN_CODE = sorted((Path(repoeval_bench.__file__).parent / "core").glob("*.py"))[:6]
SPECS = cases(__file__)["specs"]
PACKAGES = {"LangChain": "langchain_text_splitters", "LlamaIndex": "llama_index"}
OTHERS = {
    "javascript": "function f(a) {\n  return a + 1;\n}\n\nclass A {\n  b() {\n    return 2;\n  }\n}\n" * 12,
    "rust": "fn f(a: i32) -> i32 {\n    a + 1\n}\n\nstruct A {\n    b: i32,\n}\n\n" * 12,
    "csharp": "class A {\n    int B() {\n        return 2;\n    }\n}\n\n" * 20,
}


def cut(spec: str, files: list[SourceFile], language: str) -> None:
    snippet = snippet_of(make_chunker(spec).spec, language)
    assert snippet.framework == SPECS[spec]
    package = PACKAGES.get(snippet.framework, snippet.framework.replace("-", "_"))
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    names: dict[str, object] = {}
    exec(snippet.imports, names)
    pasted = eval(snippet.code, names)
    for file in files:
        if snippet.use:
            names |= {"chunker": pasted, "text": file.text, "path": file.path}
            exec(snippet.use, names)
            texts = names["chunks"]
        elif hasattr(pasted, "split_text"):
            texts = pasted.split_text(file.text)
        else:
            texts = [chunk.text for chunk in pasted.chunk(file.text)]
        measured = [chunk.embed_text.strip() for chunk in make_chunker(spec).chunk(file)]
        assert [text.strip() for text in texts if text.strip()] == measured, (spec, file.path)


@pytest.mark.parametrize("spec", SPECS)
def test_a_pasted_snippet_gives_the_chunks_that_were_measured(spec: str) -> None:
    cut(spec, [SourceFile("r", path.name, path.read_text()) for path in OWN_CODE], "python")


@pytest.mark.parametrize("language", OTHERS)
@pytest.mark.parametrize("spec", ["chonkie:chunk_size=200", "langchain:chunk_size=200", "llama-index:max_chars=200"])
def test_so_it_does_in_other_languages(spec: str, language: str, monkeypatch: pytest.MonkeyPatch) -> None:
    framework = {"chonkie": "chonkie", "langchain": "LangChain", "llama-index": "LlamaIndex"}[spec.partition(":")[0]]
    monkeypatch.setitem(SPECS, spec, framework)
    cut(spec, [SourceFile("r", f"a{LANGUAGES[language].endings[0]}", OTHERS[language])], language)


def test_what_no_framework_can_say_is_made_by_this_tool() -> None:
    headed = snippet_of("langchain:chunk_size=300,header=path", "python")
    assert headed.framework == "repoeval-bench"
    assert snippet_of('exec:node "cut it.js"', "python").code == ('make_chunker("exec:node \\"cut it.js\\"")')


@pytest.mark.parametrize("name", [row.name for row in CHUNKERS if row.pasted])
def test_a_framework_that_is_not_installed_is_named_at_a_size(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("repoeval_bench.core.extras.find_spec", lambda _: None)
    small, large = (snippet_of(of_size(name, size), "rust").code for size in (500, 2000))
    assert small != large
    assert "rust" in small.lower()
