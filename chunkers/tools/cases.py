"""Inputs that break chunkers: the known ones by name, a generator of more, and a small file of each language.

The small files have comments, nesting, decorators and multi-byte characters. They are in samples.txt, each below a line
with its language and name, and last the code of which cases are made.
"""

import random
import re
from pathlib import Path

_TEXT = Path(__file__).with_name("samples.txt").read_text(encoding="utf-8")

SAMPLES: dict[str, tuple[str, str]] = {
    match["language"]: (match["path"], match["text"])
    for match in re.finditer(r"^=== (?P<language>\w+) (?P<path>\S+)\n(?P<text>(?:(?!=== ).*\n)*)", _TEXT, re.MULTILINE)
}
"""language -> name and text of a file in it."""

_, _CODE = SAMPLES.pop("case")

CASES: dict[str, str] = {
    "empty": "",
    "blank lines": "\n\n  \n\t\n",
    "one line": "x = 1\n",
    "no final newline": "def f():\n    return 1",
    "code": _CODE,
    "much code": "\n\n".join(_CODE.replace("one", f"one{index}") for index in range(12)),
    "only comments": "# a comment of some length\n" * 150,
    "multi-byte": "größe = 'müßig'  # 中文 комментарий\n" * 80,
    "combining": "e\u0301 = 'a\u0308o\u0308'  # n\u0303\n" * 80,
    "astral": "x = '\U0001d4b3😀𐍈'  # 🙂\n" * 120,
    "byte order mark": "\ufeffimport os\nx = 1\n",
    "tabs": "class A:\n\tdef f(self):\n\t\tif self:\n\t\t\treturn 1\n" * 50,
    "form feed": "def f():\n    pass\n\f\ndef g():\n    pass\n\x0b\n" * 50,
    "line separators": "a = 'one\u2028two\u2029three\x85four'\nb = 2\x1c\n" * 60,
    "syntax error": "def f(:\n    x = = 1\nclass\n  )\n" * 50,
    "error at the start": ")\n" + _CODE,
    "unclosed": "x = '''never closed\n" + "words in it\n" * 200,
    "Python 2": "print 'two'\nexec 'x' in d\nraise E, 'm'\nprint >>f, `x`\n" * 40,
    "indentation": "if a:\n        x = 1\n    y = 2\n  z = 3\n" * 50,
    "one line of 200 kB": "x = [" + "1234, " * 33_334 + "]\n",
    "10,000 brackets": "[" * 10_000 + "x" + "]" * 10_000 + " = " + "(" * 10_000 + "1" + ")" * 10_000 + "\n",
    "10,000 bracket lines": "x = " + "[\n" * 10_000 + "1" + "]\n" * 10_000,
    "long sum": "x = 1" + " + \\\n    1" * 3_000 + "\n",
    "long string": 'X = """\n' + "a line of words\n" * 300 + '"""\n',
    "long lines": ("y = '" + "z" * 2_000 + "'\n") * 4,
    "NUL": "x = '\x00'\ny = 2\n" * 40,
}

_PIECES = (
    "def f{n}(a):\n    return a\n",
    "class C{n}:\n",
    "    def m{n}(self):\n        pass\n",
    "# note {n}\n",
    "\n",
    "@d{n}\n",
    "x{n} = [\n    1,\n    2,\n]\n",
    '"""doc\n{n}\n"""\n',
    "if a{n}:\n    pass\nelse:\n    b = {n}\n",
    "ä{n} = 'é𝒳'\n",
    "\tx\n",
    "  (\n",
    "}}\n",
    "   \n",
    "\f\n",
    "z{n} = '{long}'\n",
    "lambda: {n}; y = 2\n",
    "try:\n    t{n}()\nexcept E:\n    raise\n",
    "x = (1 +\n     {n}); y = [\n]\n",
    "\\\n",
)


def generated(rng: random.Random) -> str:
    """Return a file of up to 120 pieces of valid and invalid code, sometimes without a final newline."""
    pieces = (
        rng.choice(_PIECES).format(n=index, long="w " * rng.randrange(200)) for index in range(rng.randrange(120))
    )
    text = "".join(pieces)
    return text.rstrip("\n") if rng.random() < 0.2 else text
