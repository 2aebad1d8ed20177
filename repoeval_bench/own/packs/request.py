"""The request of a pack: the options of `data build`."""

from pathlib import Path
from typing import Annotated, Literal

from annotated_types import Ge, Len

from repoeval_bench.core.errors import UsageError, all_mistakes, nearest
from repoeval_bench.core.extras import require
from repoeval_bench.core.fields import Doc
from repoeval_bench.core.languages import LANGUAGES
from repoeval_bench.dataset.reading.code import check_extensions
from repoeval_bench.runs.request import Flag, Request


class BuildRequest(Request):
    """Options of a build."""

    sources: Annotated[tuple[str, ...], Len(1), Doc("Folders, archives, `pypi:NAME==VERSION` or `npm:NAME@VERSION`.")]
    tasks: Annotated[int, Ge(1), Doc("Draw at most this many tasks.")] = 400
    seed: Annotated[int, Doc("Seed of the draw of tasks.")] = 0
    languages: Annotated[
        tuple[str, ...], Flag("Only this language; may be repeated.", "NAME", spelled="--language")
    ] = ()
    extensions: Annotated[
        tuple[str, ...] | None,
        Flag(
            "Read files with these endings too, such as .rb,.proto; they are searched, and give no tasks.",
            ".ENDING,…",
            words=True,
        ),
    ] = None
    name: Annotated[str, Doc("The pack's name; that of its sources by default.")] = ""
    resolve: Annotated[Literal["names", "no"], Doc("Find the definitions that tasks use, for protocol uses.")] = "names"
    scip: Annotated[
        tuple[str, ...],
        Flag("A SCIP index, which resolves names before the rules do; one for each source, in order.", "FILE"),
    ] = ()
    ask_tests: Annotated[bool, Doc("Make tasks of functions of tests too.")] = True

    def check(self) -> None:
        """A UsageError with everything that is wrong."""
        check_extensions(self.extensions or ())
        wrong = [nearest("language", language, LANGUAGES) for language in self.languages if language not in LANGUAGES]
        if self.scip and self.resolve == "no":
            wrong.append("an index is named, and no name is resolved; leave out --scip or --resolve no")
        if len(self.scip) > len(self.sources):
            wrong.append(
                f"{len(self.scip)} indexes are named for {len(self.sources)} sources; give one for each, in order"
            )
        wrong += [f"{index} is not a file; name a SCIP index file" for index in self.scip if not Path(index).is_file()]
        if wrong:
            raise UsageError(all_mistakes(wrong))
        if self.scip:
            require("--scip", "google.protobuf")
