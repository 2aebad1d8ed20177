"""Proxies of completion: every number by hand, or by a plain count of n-grams."""

import random
import re
from collections import Counter
from math import log2

import pytest

from repoeval_bench.core.benchmark import Task
from repoeval_bench.core.errors import MetricError
from repoeval_bench.core.source import SourceFile
from repoeval_bench.core.spans import LineSpan
from repoeval_bench.metrics import BUDGETS, ChunkPlace, Completion, Context, score_ceilings, score_run
from repoeval_bench.metrics.ngrams import tokens_of

# The prompt is line 0 of a.py, lines 1 and 2 are to be written. Names that only they have: helper, total, Known, part.
OWN = SourceFile("r", "a.py", "x = given\ntotal = helper(x, len(given))\nreturn Known.part  # unit\nunit = total\n")
OTHER = SourceFile("r", "b.py", "def helper(y):\n\n    return 'Known'  # note one\nhelper_part = 1\n")


def task(prompt="x = given\n", truth=None, body=(1, 3), path="a.py"):
    truth = "".join(OWN.text.splitlines(keepends=True)[1:3]) if truth is None else truth
    return Task(
        task_id="q",
        repo="r",
        path=path,
        prompt=prompt,
        ground_truth=truth,
        body=LineSpan(*body),
        context_start=0,
        level="function",
    )


def context(chunks, files=(OWN, OTHER), asked=None):
    """Chunks are name -> (file, start, end, nws of a header)."""
    asked = asked or task()
    return Context(
        places={
            name: ChunkPlace(file, LineSpan(start, end), *rest) for name, (file, start, end, *rest) in chunks.items()
        },
        line_nws={file.name: file.line_nws() for file in files},
        completions={"q": Completion(task=asked, file=asked.file, files=tuple(file.name for file in files))},
        sources={file.name: file for file in files},
    )


def scores(ranking, where, *measures):
    run = {"q": [(chunk, -float(at)) for at, chunk in enumerate(ranking)]}
    found = score_run(run, {"q": {}}, measures, where)
    ceilings = score_ceilings({"q": {}}, measures, where, observed=found)
    assert all(found.mean()[name] <= ceilings.mean()[name] for name in measures)
    return [*found.mean().values()], [*ceilings.mean().values()]


CHUNKS = {
    "own": ("r/a.py", 0, 3),
    "below": ("r/a.py", 3, 4),
    "def": ("r/b.py", 0, 2),
    "end": ("r/b.py", 2, 4),
}


def test_identifiers_are_counted_when_their_line_is_read():
    """`own` costs 7 + 26 + 21 = 54 and supplies nothing; `below` is 10 long and has total, `def` 13 and has helper.

    `Known` is in a text in `end`'s first line of 21. `part` is in no line as a word: helper_part is another name.
    """
    budgets = {63: 0, 64: 1 / 4, 76: 1 / 4, 77: 2 / 4, 97: 2 / 4, 98: 3 / 4, 999: 3 / 4}
    names = [f"identifier_recall@{budget}" for budget in budgets]
    assert [sum(OWN.line_nws()[:3]), OWN.line_nws()[3], OTHER.line_nws()[0], OTHER.line_nws()[2]] == [54, 10, 13, 21]
    found, _ = scores(["own", "below", "def", "end"], context(CHUNKS), *names)
    assert found == pytest.approx([*budgets.values()])


def test_the_ceiling_reads_most_new_identifiers_per_nws():
    """Below has one for 10, then def one for 13, then end one for 34, in its first line of 21."""
    budgets = {9: 0, 10: 1 / 4, 22: 1 / 4, 23: 2 / 4, 43: 2 / 4, 44: 3 / 4}
    _, ceilings = scores([], context(CHUNKS), *(f"identifier_recall@{budget}" for budget in budgets))
    assert ceilings == pytest.approx([*budgets.values()])


def test_a_header_costs_and_supplies_nothing():
    chunks = {"def": ("r/b.py", 0, 2, 7)}
    assert scores(["def"], context(chunks), "identifier_recall@19", "identifier_recall@20")[0] == [0, 1 / 4]


@pytest.mark.parametrize("name", ["संख्या", "cafe\u0301", "ÄΣσ字", "$x·y", "_\u0907\u0928\u094d\u092a\u0941\u091f"])
@pytest.mark.parametrize("path", ["a.js", "a.py"])
def test_a_name_with_marks_is_one_word(path, name):
    """As the syntax tree has it: not its letters alone, and a prompt that has it supplies it."""
    if path == "a.py":
        name = name.lstrip("$")
    truth, shown = SourceFile("r", path, f"x = 1\ny({name})\n"), SourceFile("r", "b.py", f"# the {name}\n")
    where = {"b": ("r/b.py", 0, 1)}
    for prompt, expected in (("x = 1\n", 1 / 2), (f"x = {name}\n", 0)):
        asked = Task(
            task_id="q",
            repo="r",
            path=path,
            prompt=prompt,
            ground_truth=f"y({name})\n",
            body=LineSpan(1, 2),
            context_start=0,
            level="function",
        )
        assert scores(["b"], context(where, (truth, shown), asked), "identifier_recall@99")[0] == [expected]
    assert tokens_of(f"{name}+1 \u0301") == [name, "+", "1", "\u0301"]


def test_nothing_to_supply_scores_0():
    where = context(CHUNKS, asked=task(prompt="total helper Known part given x"))
    assert scores(["below", "def"], where, "identifier_recall@12000") == ([0], [0])
    where = context(CHUNKS, asked=task(truth="", body=(1, 1)))
    assert scores(["below"], where, "identifier_recall@500", "ngram_bits@500") == ([0, 0], [0, 0])


def test_a_ceiling_of_bits_may_fall():
    """The chunk with a new n-gram is read on where that costs bits; a ranking that stops is above it."""
    files = (SourceFile("r", "a.py", "f(1)\nf(1)\ng\n"), SourceFile("r", "c.py", "g\n" + "z\n" * 60))
    asked = Task(
        task_id="q",
        repo="r",
        path="a.py",
        prompt="f(1)\n",
        ground_truth="f(1)\ng\n",
        body=LineSpan(1, 3),
        context_start=0,
        level="function",
    )
    _, ceilings = scores([], context({"c": ("r/c.py", 0, 61)}, files, asked), "ngram_bits@1", "ngram_bits@61")
    assert ceilings[0] > ceilings[1]


def test_bits_by_hand():
    """Prompt `x = 1`, to be written `y = 1`, read `y = 2`; 4 tokens each, the end of the line is one of them."""
    files = (SourceFile("r", "a.py", "x = 1\ny = 1\n"), SourceFile("r", "b.py", "y = 2\n"))
    where = context(
        {"b": ("r/b.py", 0, 1)},
        files,
        Task(
            task_id="q",
            repo="r",
            path="a.py",
            prompt="x = 1\n",
            ground_truth="y = 1\n",
            body=LineSpan(1, 2),
            context_start=0,
            level="function",
        ),
    )
    base = 2**-16
    # From the prompt alone: y was never seen, nor what follows it or the end of the line.
    equals = (1 / 4 + base) / 2
    one = (1 + (1 / 4 + base) / 2) / 2  # after `=`
    end = (1 + (1 + (1 / 4 + base) / 2) / 2) / 2  # after `1`, then after `= 1`
    before = -sum(map(log2, (base / 2, equals, one, end))) / 4
    # From both: `=` follows y, but after `y =` it is 2 that came.
    y = (1 / 8 + base) / 2
    equals = (1 + (2 / 8 + base) / 2) / 2
    one = (0 + (1 / 2 + (1 / 8 + base) / 2) / 2) / 2
    end = (1 + (1 + (2 / 8 + base) / 2) / 2) / 2
    after = -sum(map(log2, (y, equals, one, end))) / 4
    found, ceilings = scores(["b"], where, "ngram_bits@2", "ngram_bits@3", "ngram_bits@250")
    assert found == pytest.approx([0, before - after, before - after])
    assert ceilings == pytest.approx(found)


def test_what_misleads_costs_bits():
    files = (SourceFile("r", "a.py", "f(1)\nf(1)\n"), SourceFile("r", "b.py", "f(2)\n" * 9))
    asked = Task(
        task_id="q",
        repo="r",
        path="a.py",
        prompt="f(1)\n",
        ground_truth="f(1)\n",
        body=LineSpan(1, 2),
        context_start=0,
        level="function",
    )
    (found,), _ = scores(["b"], context({"b": ("r/b.py", 0, 9)}, files, asked), "ngram_bits@250")
    assert found < 0


def plain_bits(texts, truth, history):
    """By counts of tuples: `texts` are lists of tokens, of which none follows another."""
    seen, followed = Counter(), Counter()
    for text in texts:
        for k in range(1, 7):
            for at in range(k, len(text) + 1):
                seen[tuple(text[at - k : at])] += 1
                followed[tuple(text[at - k : at - 1])] += 1
    context, spent = [*history, *truth], 0.0
    for at in range(len(history), len(context)):
        p = 2.0**-16
        for k in range(1, min(6, at + 1) + 1):
            before = tuple(context[at - k + 1 : at])
            if followed[before]:
                p = (seen[*before, context[at]] / followed[before] + p) / 2
        spent -= log2(p)
    return spent / len(truth)


def plain_tokens(lines):
    word = r"[\w$][\w$\u0301]*"
    return [token for line in lines if line.strip() for token in [*re.findall(rf"{word}|[^\w$\s]", line), "\n"]]


@pytest.mark.parametrize("seed", range(8))
def test_bits_are_those_of_a_plain_count(seed):
    rng = random.Random(seed)

    def lines(n):
        return [
            " ".join(rng.choices(["a", "b", "A", "f(", ")", "$x", "=", "e\u0301"], k=rng.randint(0, 7)))
            for _ in range(n)
        ]

    texts = {"r/a.py": lines(36), "r/b.py": lines(36)}
    own, start = texts["r/a.py"], rng.randint(0, 8)
    files = tuple(SourceFile("r", name[2:], "".join(f"{line}\n" for line in text)) for name, text in texts.items())
    asked = Task(
        task_id="q",
        repo="r",
        path="a.py",
        prompt="\n".join(own[start:12]),
        ground_truth="\n".join(own[12:16]),
        body=LineSpan(12, 16),
        context_start=start,
        level="function",
    )
    chunks = {f"c{i}": (f"r/{'ab'[i % 2]}.py", 4 * (i // 2), 4 * (i // 2) + rng.randint(1, 7)) for i in range(14)}
    ranking = rng.sample(sorted(chunks), 9)
    budgets = (11, 60, 250)
    found, _ = scores(ranking, context(chunks, files, asked), *(f"ngram_bits@{budget}" for budget in budgets))
    prompt, truth = plain_tokens(own[start:12]), plain_tokens(own[12:16])
    for budget, bits in zip(budgets, found, strict=True):
        read, spent, last, seen = [], 0, ("", 0), set()
        for file, line in ((file, line) for file, first, end in map(chunks.get, ranking) for line in range(first, end)):
            text = texts[file][line]
            spent += len("".join(text.split()))
            if spent > budget:
                break
            if not text.strip() or (file, line) in seen or (file == "r/a.py" and start <= line < 16):
                continue
            seen.add((file, line))
            if file != last[0] or line < last[1] or any(map(str.strip, texts[file][last[1] + 1 : line])):
                read.append([])
            read[-1] += plain_tokens([text])
            last = file, line
        expected = plain_bits([prompt], truth, prompt) - plain_bits([prompt, *read], truth, prompt)
        assert bits == pytest.approx(expected, abs=1e-9), budget


def test_a_budget_between_the_usual_ones_is_read_alone():
    where = context(CHUNKS)
    names = [f"ngram_bits@{budget}" for budget in (*BUDGETS, 20, 13_000)]
    found, _ = scores(["below", "def", "end"], where, *names)
    assert found[0] == found[-1] != found[-2]


def test_code_in_an_unknown_language_has_no_identifiers():
    files = (SourceFile("r", "a.txt", OWN.text),)
    where = context({"own": ("r/a.txt", 3, 4)}, files, task(path="a.txt"))
    with pytest.raises(MetricError, match=r"r/a.txt is in no language whose identifiers are known"):
        scores(["own"], where, "identifier_recall@500")
    assert scores(["own"], where, "ngram_bits@500")[0][0] > 0
