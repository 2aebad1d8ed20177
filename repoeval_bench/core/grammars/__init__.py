"""The grammars, one file for each family of languages: what the nodes of a syntax tree mean."""

from collections.abc import Mapping

from repoeval_bench.core.grammars.c import CPP, C
from repoeval_bench.core.grammars.csharp import CSHARP
from repoeval_bench.core.grammars.further import FURTHER_GRAMMARS
from repoeval_bench.core.grammars.go import GO
from repoeval_bench.core.grammars.grammar import Grammar
from repoeval_bench.core.grammars.java import JAVA
from repoeval_bench.core.grammars.javascript import JAVASCRIPT, TYPESCRIPT
from repoeval_bench.core.grammars.python import PYTHON
from repoeval_bench.core.grammars.rust import RUST

GRAMMARS: Mapping[str, Grammar] = {
    "python": PYTHON,
    "javascript": JAVASCRIPT,
    "typescript": TYPESCRIPT,
    "tsx": TYPESCRIPT,
    "java": JAVA,
    "go": GO,
    "rust": RUST,
    "c": C,
    "cpp": CPP,
    "csharp": CSHARP,
    **FURTHER_GRAMMARS,
}
"""Name of a language -> its grammar."""
