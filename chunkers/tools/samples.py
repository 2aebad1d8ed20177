"""A small file of each language, for the conformance suite: comments, nesting, decorators, text of several bytes.

They are in samples.txt, each below a line with its language and name.
"""

from __future__ import annotations

import re
from pathlib import Path

_TEXT = Path(__file__).with_name("samples.txt").read_text(encoding="utf-8")

SAMPLES: dict[str, tuple[str, str]] = {
    found["language"]: (found["path"], found["text"])
    for found in re.finditer(r"^=== (?P<language>\w+) (?P<path>\S+)\n(?P<text>(?:(?!=== ).*\n)*)", _TEXT, re.MULTILINE)
}
"""language -> name and text of a file in it."""
