"""A small repository in four languages, written for the tests, with everything that a pack leaves out beside it."""

import subprocess
from collections.abc import Mapping
from pathlib import Path

LEDGER_PY = '''"""A ledger of payments, kept in memory."""

import math
from collections import defaultdict


class Ledger:
    """Payments by person."""

    def __init__(self):
        self.payments = defaultdict(list)
        self.closed = False
        self.currency = "EUR"

    def record_payment(self, person, amount):
        """Add a payment of one person, and refuse amounts that are not positive.

        The second paragraph is not part of the question.
        """
        if self.closed or amount <= 0:
            raise ValueError(f"cannot record {amount}")
        self.payments[person].append(amount)
        return len(self.payments[person])

    def total_of(self, person):
        """Sum."""
        paid = self.payments.get(person, [])
        total = math.fsum(paid)
        return round(total, 2)


def settle_debts(ledger, people):
    """Say who owes whom, so that everyone has paid the same in the end."""
    # The mean is what everyone should have paid.
    share = sum(ledger.total_of(each) for each in people) / len(people)
    debts = []
    for each in people:
        missing = share - ledger.total_of(each)
        if missing > 0:
            debts.append((each, missing))
    return sorted(debts, key=lambda pair: -pair[1])


def undocumented(values, least):
    kept = [value for value in values if value >= least]
    ledger = Ledger()
    for index, value in enumerate(kept):
        ledger.record_payment(str(index), value)
    return settle_debts(ledger, [str(index) for index in range(len(kept))])
'''

QUEUE_TS = """import { setTimeout } from "node:timers";

/** A job that waits for its turn in the queue. */
export interface Job {
  priority: number;
  run(): Promise<void>;
}

export class JobQueue {
  private waiting: Job[] = [];

  /** Put a job behind all that are at least as urgent as it is. */
  insertByPriority(job: Job): number {
    let position = this.waiting.length;
    while (position > 0 && this.waiting[position - 1].priority < job.priority) {
      position -= 1;
    }
    this.waiting.splice(position, 0, job);
    return position;
  }

  /** Run jobs one after the other until none is left to run. */
  async drainAll(limit: number): Promise<number> {
    let finished = 0;
    while (this.waiting.length > 0 && finished < limit) {
      const next = this.waiting.shift();
      await next?.run();
      finished += 1;
    }
    return finished;
  }
}

// Gives up after a few attempts, and waits longer each time.
export async function retryWithPause(queue: JobQueue, job: Job, attempts: number): Promise<boolean> {
  for (let attempt = 0; attempt < attempts; attempt += 1) {
    queue.insertByPriority(job);
    const done = await queue.drainAll(1);
    if (done === 1) return true;
    await new Promise((resolve) => setTimeout(resolve, 2 ** attempt));
  }
  return false;
}
"""

CACHE_GO = """package cache

import (
	"errors"
	"sync"
)

// Cache keeps the values that were used last.
type Cache struct {
	mutex   sync.Mutex
	order   []string
	content map[string][]byte
	room    int
}

// FetchOrLoad gives the value of a key, and loads it where the cache does not have it.
func (c *Cache) FetchOrLoad(key string, load func(string) ([]byte, error)) ([]byte, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if value, ok := c.content[key]; ok {
		return value, nil
	}
	value, err := load(key)
	if err != nil {
		return nil, errors.Join(errors.New("cannot load "+key), err)
	}
	c.content[key] = value
	return value, nil
}

// EvictOldest drops the entries that were not used for longest until all fit.
func EvictOldest(c *Cache) int {
	dropped := 0
	for len(c.order) > c.room {
		delete(c.content, c.order[0])
		c.order = c.order[1:]
		dropped++
	}
	return dropped
}

func Warm(c *Cache, keys []string) int {
	loaded := 0
	for _, key := range keys {
		if _, err := c.FetchOrLoad(key, nil); err == nil {
			loaded++
		}
	}
	return loaded + EvictOldest(c)
}
"""

GRID_JAVA = """package maps;

import java.util.ArrayList;
import java.util.List;

public class Grid {
    private final int[][] cells;

    public Grid(int width, int height) {
        cells = new int[height][width];
    }

    /**
     * Counts the neighbours of a cell that are alive, the corners included.
     *
     * @param row the row of the cell
     */
    public int countNeighbours(int row, int column) {
        int alive = 0;
        for (int y = Math.max(0, row - 1); y <= Math.min(cells.length - 1, row + 1); y++) {
            for (int x = Math.max(0, column - 1); x <= Math.min(cells[0].length - 1, column + 1); x++) {
                alive += (y == row && x == column) ? 0 : cells[y][x];
            }
        }
        return alive;
    }

    public List<int[]> crowdedCells(int least) {
        List<int[]> found = new ArrayList<>();
        for (int row = 0; row < cells.length; row++) {
            for (int column = 0; column < cells[row].length; column++) {
                if (countNeighbours(row, column) >= least) {
                    found.add(new int[] {row, column});
                }
            }
        }
        return found;
    }
}
"""

CODE = {
    "ledger/ledger.py": LEDGER_PY,
    "web/src/queue.ts": QUEUE_TS,
    "cache/cache.go": CACHE_GO,
    "maps/Grid.java": GRID_JAVA,
}
"""Path -> text of what is taken."""

LICENCE = "MIT License\n\nCopyright (c) the authors of the tests\n"

ASIDE: dict[str, bytes] = {
    "LICENSE": LICENCE.encode(),
    "README.md": b"# A repository\n",
    ".hidden/tool.py": b"x = 1\n",
    "node_modules/left/index.js": b"module.exports = 1;\n",
    "proto/ledger_pb2.py": b"x = 1\n",
    "proto/stubs.go": b"// Code generated by stubber. DO NOT EDIT.\n\npackage proto\n",
    "web/dist/queue.js": b"export const a = 1;\n",
    "web/dist/queue.d.ts": b"export declare const a: number;\n",
    "web/app.js": b"const a=1;" * 40 + b"\n",
    "ledger/old.py": "# caf\u00e9\n".encode("latin-1"),
    "ledger/big.py": b"x = 1  # a line of a large file of data\n" * 40_000,
}
"""Path -> bytes of what is not."""

LEFT_OUT = {
    "hidden": 1,
    "vendored": 1,
    "too large": 1,
    "not text": 1,
    "generated": 4,
    "minified": 1,
    "unknown language": 1,
}
"""Reason -> how many of `ASIDE` are counted under it."""


def write_code(folder: Path, aside: bool = True, **more: bytes | str) -> Path:
    """Write the repository into a folder; the folder. `more` are further files, their paths with `__` for `/`."""
    files: dict[str, bytes | str] = {**CODE, **(ASIDE if aside else {})}
    return write_files(folder, files | {name.replace("__", "/"): content for name, content in more.items()})


def write_files(folder: Path, files: Mapping[str, bytes | str]) -> Path:
    """Write files, path -> content, into a folder; the folder."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


def write_modules(folder: Path, number: int) -> Path:
    """Write so many modules, in each two functions and a caller of those of the next: tasks that use definitions."""
    folder.mkdir()
    for i in range(number):
        after = (i + 1) % number
        lines = [f"from part_{after} import gather_{after}, weigh_{after}", "", ""]
        for name, verb, sign in (("gather", "Collect", "+"), ("weigh", "Judge", "*")):
            lines += [
                f"def {name}_{i}(items, limit={i + 3}):",
                f'    """{verb} the items of shelf {i} up to a limit, the {name} of aisle {i % 7}."""',
                f"    total_{i} = {i}",
                f"    for position, item in enumerate(items[:limit + {i}]):",
                f"        total_{i} = total_{i} {sign} len(item) {sign} position",
                f"        if total_{i} > {100 + 13 * i}:",
                f'            raise ValueError(f"shelf {i} is full at {{position}}")',
                f"    return total_{i}",
                *("", ""),
            ]
        lines += [
            f"def report_{i}(boxes):",
            f'    """Print what the boxes of branch {i} hold, heaviest first, for clerk {i % 5}."""',
            f"    count_{i} = gather_{after}(boxes)",
            f"    weight_{i} = weigh_{after}(boxes, limit=count_{i})",
            f'    print("branch {i}", count_{i}, weight_{i})',
            f"    return count_{i}, weight_{i}",
        ]
        (folder / f"part_{i}.py").write_text("\n".join(lines) + "\n")
    return folder


def git(folder: Path, *arguments: str) -> str:
    """Return what git prints in a folder, with an identity and without the user's settings."""
    who = ("-c", "user.name=tests", "-c", "user.email=tests@example.org", "-c", "commit.gpgsign=false")
    done = subprocess.run(["git", "-C", str(folder), *who, *arguments], check=True, capture_output=True, text=True)
    return done.stdout


def commit(folder: Path) -> str:
    """Make a folder a checkout with everything committed; the commit's id."""
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "First")
    return git(folder, "rev-parse", "HEAD").strip()
