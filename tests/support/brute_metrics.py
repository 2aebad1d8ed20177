"""The formulas once more, as slowly and literally as they are written: nothing here is shared with the package.

`ids` is a ranking, `gains` is id -> gain, `k` a cutoff or None.
"""

import math
from itertools import permutations


def err(ids, gains, k=None):
    top = max(gains.values(), default=0)
    total = 0.0
    for i in range(1, len(ids[:k]) + 1):

        def stops(j):
            g = gains.get(ids[j - 1], 0)
            return (2**g - 1) / 2**top

        reached = 1.0
        for j in range(1, i):
            reached *= 1 - stops(j)
        total += reached * stops(i) / i
    return total


def ideal(gains):
    return sorted(gains, key=lambda i: gains[i], reverse=True)


def nerr(ids, gains, k=None):
    best = err(ideal(gains), gains, k)
    return err(ids, gains, k) / best if best else 0.0


def rbp(ids, gains, p, k=None):
    return (1 - p) * sum(p ** (i - 1) for i, d in enumerate(ids[:k], 1) if gains.get(d, 0) > 0)


def ndcg(ids, gains, k=None, exponential=False):
    def dcg(order):
        total = 0.0
        for i, d in enumerate(order[:k], 1):
            g = gains.get(d, 0)
            total += ((2**g - 1) if exponential else g) / math.log2(i + 1)
        return total

    best = dcg(ideal(gains))
    return dcg(ids) / best if best else 0.0


def precision(ids, gains, k):
    return sum(gains.get(d, 0) > 0 for d in ids[:k]) / k


def recall(ids, gains, k=None):
    relevant = [d for d in gains if gains[d] > 0]
    return sum(d in relevant for d in ids[:k]) / len(relevant) if relevant else 0.0


def f1(ids, gains, k):
    p, r = precision(ids, gains, k), recall(ids, gains, k)
    return 2 / (1 / p + 1 / r) if p and r else 0.0


def weighted_recall(ids, gains, k=None):
    return sum(gains.get(d, 0) for d in ids[:k]) / sum(gains.values()) if any(gains.values()) else 0.0


def recall_auc(ids, gains, k):
    return sum(recall(ids, gains, i) for i in range(1, k + 1)) / k


def read_lines(chunks, nws, budget):
    """Distinct (file, line) read before the first line that does not fit; chunks are (file, start, end, header)."""
    left, seen = budget, set()
    for file, start, end, header in chunks:
        if header > left:
            return seen
        left -= header
        for line in range(start, end):
            if nws[file][line] == 0:
                continue
            if nws[file][line] > left:
                return seen
            left -= nws[file][line]
            seen.add((file, line))
    return seen


def lines_of(places):
    """Every (file, line) of some places, which are (file, start, end)."""
    return {(file, line) for file, start, end in places for line in range(start, end)}


def gold_lines(gold, nws):
    return {(file, line) for file, line in lines_of(gold) if nws[file][line] > 0}


def gain(chunk, gold, nws, rule):
    """The gain that a relevance rule gives a chunk (file, start, end) for a gold of any number of places."""
    held, target = lines_of([chunk]), lines_of(gold)
    shared, filled = held & target, {(file, line) for file in nws for line, n in enumerate(nws[file]) if n > 0}
    of_chunk = len(shared & filled) / len(held & filled) if held & filled else 0.0
    of_gold = len(shared & filled) / len(target & filled) if target & filled else 0.0
    kind, _, value = rule.partition(":")
    if not shared:
        return 0.0
    if rule == "graded:iou":
        return len(shared) / len(held | target)
    if rule == "graded:levels":
        return 2.0 if of_chunk >= 0.5 or of_gold >= 0.5 else 1.0
    if kind == "overlap":
        return 1.0
    assert kind == "iou"
    return float(len(shared) / len(held | target) >= float(value))


def line_recall(chunks, gold, nws, budget):
    target = gold_lines(gold, nws)
    return len(read_lines(chunks, nws, budget) & target) / len(target) if target else 0.0


def line_precision(chunks, gold, nws, budget):
    seen = read_lines(chunks, nws, budget)
    return len(seen & gold_lines(gold, nws)) / len(seen) if seen else 0.0


def line_iou(chunks, gold, nws, budget):
    seen, target = read_lines(chunks, nws, budget), gold_lines(gold, nws)
    return len(seen & target) / len(seen | target) if seen | target else 0.0


def line_rprec(chunks, gold, nws):
    return line_recall(chunks, gold, nws, sum(nws[f][line] for f, line in gold_lines(gold, nws)))


def line_recall_auc(chunks, gold, nws):
    budgets = [0, 250, 500, 1000, 1500, 3000, 6000, 12000]
    values = [0.0] + [line_recall(chunks, gold, nws, b) for b in budgets[1:]]
    area = 0.0
    for i in range(1, len(budgets)):
        area += (budgets[i] - budgets[i - 1]) * (values[i] + values[i - 1]) / 2
    return area / 12000


def best_line_recall(chunks, gold, nws, budget):
    """The best line_recall of any order of the chunks: for a handful of them only."""
    return max((line_recall(order, gold, nws, budget) for order in permutations(chunks)), default=0.0)
