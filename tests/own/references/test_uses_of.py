"""The one public function of the room: files, a path and lines in, definitions out."""

import pytest

from repoeval_bench import LineSpan, uses_of
from repoeval_bench.core.errors import DatasetError, UsageError
from repoeval_bench.core.uses import CodeDefinition

FILES = {
    "shop/goods.py": "class Item:\n    def price(self):\n        return 1\n",
    "till.py": "from shop.goods import Item\n\n\ndef pay(item: Item):\n    return item.price()\n",
    "bin/run.go": "package main\n\nfunc help() {}\n\nfunc main() {\n\thelp()\n}\n",
    "notes.txt": "Item\n",
    "deep.py": f"x: {'list[' * 1500}int{']' * 1500}\nx.y\n",
}


def test_the_definitions_that_lines_use_have_their_path_lines_kind_and_name():
    expected = CodeDefinition("shop/goods.py", LineSpan(1, 2), "Item.price", "method")
    assert uses_of(FILES, "till.py", LineSpan(4, 5)) == (expected,)
    assert uses_of(FILES, "bin/run.go", LineSpan(5, 6)) == (
        CodeDefinition("bin/run.go", LineSpan(2, 3), "help", "function"),
    )


WRONG = {
    "no such file": ("other.py", LineSpan(0, 1), UsageError, "other.py with lines 0 to 1 is not in these files"),
    "lines behind its end": ("till.py", LineSpan(4, 9), UsageError, "till.py with lines 4 to 9"),
    "no code": ("notes.txt", LineSpan(0, 1), UsageError, "notes.txt is in no language that is read"),
    "too deep": ("deep.py", LineSpan(1, 2), DatasetError, "deep.py cannot be read"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_cannot_be_read_is_said(case):
    path, lines, error, message = WRONG[case]
    with pytest.raises(error, match=message):
        uses_of(FILES, path, lines)
