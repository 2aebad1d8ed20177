"""Print which share of a new version of some code is embedded again, a JSON line for each chunker.

`python scripts/churn.py pypi:NAME==OLD pypi:NAME==NEW -c ast -c fixed`: each version is a folder, an archive, or a
package. Files that a chunker fails on are skipped and counted. A text that only moved costs nothing.
"""

import argparse
import json
from collections import Counter
from collections.abc import Sequence
from itertools import compress
from typing import Any

from repoeval_bench.chunkers.registry import make_chunker
from repoeval_bench.core.languages import language_name
from repoeval_bench.core.source import SourceFile, count_nws
from repoeval_bench.dataset.assembly import fingerprint
from repoeval_bench.dataset.reading.plain import read_code
from repoeval_bench.retrieval.corpus import build_corpus

Code = tuple[str, Sequence[SourceFile]]


def churn(spec: str, old: Code, new: Code) -> dict[str, Any]:
    """Count the distinct texts of the new files that the old ones lack, with their characters."""
    chunker = make_chunker(spec)
    before, after = (build_corpus({"": files}, chunker, skip_errors=True) for _, files in (old, new))
    known, texts = {chunk.embed_text for chunk in before}, [*dict.fromkeys(chunk.embed_text for chunk in after)]
    again = [text not in known for text in texts]
    sizes = [count_nws(text) for text in texts]
    return {
        **{
            role: {"name": name, "fingerprint": fingerprint((), {"": files}), "language": most_used(files)}
            for role, (name, files) in (("old", old), ("new", new))
        },
        "spec": chunker.spec,
        "texts": len(texts),
        "new_texts": sum(again),
        "nws": sum(sizes),
        "new_nws": sum(compress(sizes, again)),
        "skipped": [before.skipped, after.skipped],
    }


def most_used(files: Sequence[SourceFile]) -> str:
    """Return the language that most characters are of."""
    sizes: Counter[str] = Counter()
    for file in files:
        sizes[language_name(file.path, file.text)] += len(file.text)
    return max(sizes, key=lambda name: (sizes[name], name))


def main() -> None:
    """Read both versions once, and print a line for each chunker."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("-c", "--chunker", action="append", default=[])
    arguments = parser.parse_args()
    old, new = read_code(arguments.old), read_code(arguments.new)
    for spec in arguments.chunker or ["ast"]:
        print(json.dumps(churn(spec, old, new), ensure_ascii=False))


if __name__ == "__main__":
    main()
