"""A repository's history that a test writes with dulwich, commit by commit, into a bare repository."""

from pathlib import Path

from dulwich.index import commit_tree
from dulwich.objects import Blob, Commit
from dulwich.repo import Repo

DAY = 86_400
BEGIN = 1_600_000_000


class Story:
    """A branch in the making: `files` is its tree, and each commit comes a day after the one before."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.repo = Repo.init_bare(str(folder), mkdir=True)
        self.files: dict[str, str] = {}
        self.ids: list[str] = []
        self.day = 0

    def commit(
        self, message: str, *, edit=None, author="Ann <ann@example.org>", parents=None, days=1, encoding=""
    ) -> str:
        """Commit `files`, changed by `edit`, a mapping of path to text (None: removed), days after the one before."""
        for path, text in (edit or {}).items():
            if text is None:
                del self.files[path]
            else:
                self.files[path] = text
        self.day += days
        blobs = []
        for path, text in self.files.items():
            blob = Blob.from_string(text.encode())
            self.repo.object_store.add_object(blob)
            blobs.append((path.encode(), blob.id, 0o100644))
        commit = Commit()
        commit.tree = commit_tree(self.repo.object_store, blobs)
        commit.parents = [one.encode() for one in (self.ids[-1:] if parents is None else parents)]
        commit.author = commit.committer = author.encode()
        commit.author_time = commit.commit_time = BEGIN + self.day * DAY
        commit.author_timezone = commit.commit_timezone = 0
        commit.message = message.encode(encoding or "utf-8")
        if encoding:
            commit.encoding = encoding.encode()
        self.repo.object_store.add_object(commit)
        self.repo.refs[b"refs/heads/master"] = commit.id
        self.ids.append(commit.id.decode())
        return self.ids[-1]

    def drop(self, object_id: str) -> None:
        """Take an object away, as in a partial clone."""
        (self.folder / "objects" / object_id[:2] / object_id[2:]).unlink()


def python_file(names, mark="") -> str:
    """Functions of six lines, of which each line is like no other."""
    return "\n\n".join(
        f"def {name}(order):\n" + "".join(f"    {name}{i} = order.{name}[{i}]{mark}\n" for i in range(5))
        for name in names
    )


def go_file(names) -> str:
    return "package price\n\n" + "\n".join(
        f"func {name}(order Order) int {{\n" + "".join(f"\t{name}{i} := order.{name}({i})\n" for i in range(5)) + "}\n"
        for name in names
    )


def script_file(names) -> str:
    return "\n".join(
        f"export function {name}(view: View) {{\n"
        + "".join(f"  const {name}{i} = view.{name}({i});\n" for i in range(5))
        + "}\n"
        for name in names
    )


NAMES = [f"item{letter}" for letter in "abcdefgh"]


def checkout(folder, commits):
    """A checkout of six files and their tests, of which each commit edits one line of a file."""
    folder.mkdir()
    story = Story(folder / ".git")
    paths = [f"shop/part{number}.py" for number in range(6)]
    first = {path: python_file([f"{name}{number}" for name in NAMES]) for number, path in enumerate(paths)}
    tests = {f"tests/test_part{number}.py": python_file([f"tested{number}"]) for number in range(6)}
    story.commit("Start the shop", edit=first | tests)
    for number in range(commits):
        path = paths[number % 6]
        lines = story.files[path].splitlines(keepends=True)
        at = [at for at, line in enumerate(lines) if "=" in line][number // 6 * 2]
        name = lines[at].split("=")[0].strip()
        lines[at] = lines[at].split("=")[0] + f"= written{number}\n"
        story.commit(f"Show {name} of every order", edit={path: "".join(lines)})
    for path, text in story.files.items():
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_text(text)
    return folder
