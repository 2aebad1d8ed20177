"""Find all mistakes in requests at once, as far as that needs neither data nor a model."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from repoeval_bench.chunkers.registry import make_chunker
from repoeval_bench.chunkers.tools.sizes import resize
from repoeval_bench.core.errors import UsageError, all_mistakes, nearest
from repoeval_bench.core.parts import Chunker
from repoeval_bench.dataset import shipped
from repoeval_bench.dataset.reading.code import check_extensions
from repoeval_bench.dataset.repoeval import repository_name
from repoeval_bench.protocols.protocol import CHOICES, Protocol, check_choice, check_questions, check_scored
from repoeval_bench.protocols.qrels import relevance_rule
from repoeval_bench.protocols.queries import query_policy
from repoeval_bench.retrieval.registry import choose_retriever
from repoeval_bench.runs.parts import choose_measures, chunker_under
from repoeval_bench.runs.request import PACK, DataRequest, RunRequest, by_setting


@dataclass(frozen=True, slots=True)
class Problem:
    """A message, the field that it is about, and which of the field's values if it has several."""

    option: str
    value: str | None
    sentence: str


class Problems:
    """Collects usage errors: `with problems.about(option):` around a check catches them, `check` raises all as one."""

    def __init__(self) -> None:
        self.mistakes: list[Problem] = []

    @contextmanager
    def about(self, option: str, value: str | None = None, *, where: str = "") -> Iterator[None]:
        """Collect the usage error of a block as a mistake in this option; the message begins with `where`."""
        try:
            yield
        except UsageError as error:
            self.mistakes.append(Problem(option, value, f"{where}: {error}" if where else str(error)))

    def check(self) -> None:
        """Raise one UsageError with all mistakes, if there are any."""
        if self.mistakes:
            raise UsageError(all_mistakes(problem.sentence for problem in self.mistakes))


def check_requests(requests: Sequence[RunRequest], problems: Problems, *, loaded: bool = False) -> None:
    """Collect the mistakes in requests that run together; `loaded`: their data is loaded, and needs no check."""
    for setting, members in by_setting(requests).items():
        protocol = check_setting(setting, problems)
        if not loaded:
            check_data(setting, {setting.protocol: protocol} if protocol else {}, problems)
        _check_chunkers(members, protocol, problems)


def check_setting(request: RunRequest, problems: Problems) -> Protocol | None:
    """Collect the mistakes in fields other than data and chunker; return the protocol, None if it is invalid."""
    protocol = _check_protocol(request, problems)
    _check_ranking(request, problems)
    with problems.about("match_size"):
        if request.match_size is not None:
            make_chunker(request.match_size)
            _check_cut(protocol, "match_size", request.match_size)
    return protocol


def check_data(request: DataRequest, protocols: Mapping[str, Protocol], problems: Problems) -> None:
    """Collect the mistakes in the choice of data; `protocols` is text -> protocol, of those that score it."""
    from repoeval_bench.dataset.assembly import check_tests
    from repoeval_bench.dataset.loader import check_source, task_set_at
    from repoeval_bench.dataset.reading.plain import code_folders, only_of_code, without_tasks

    with problems.about("level"):
        task_set = task_set_at(request.source, request.level, request.context, request.tokenizer)
        with problems.about("source"):
            check_source(request.source, task_set)
    with problems.about("tests"):
        check_tests(request.tests)
    with problems.about("extensions"):
        check_extensions(request.extensions or ())
        if request.extensions and not code_folders(request.source):
            raise only_of_code(request.source)
    with problems.about("questions"):
        if request.questions and not Path(request.questions).is_file():
            lacks = "is not a file" if Path(request.questions).exists() else "does not exist"
            raise UsageError(f"the file of queries {request.questions} {lacks}; name another")
    with problems.about("source"):
        scores_tasks = any(protocol.tasks == "completion" for protocol in protocols.values())
        if scores_tasks and not request.questions and code_folders(request.source):
            raise without_tasks(request.source)
    for text, protocol in protocols.items():
        with problems.about("protocol", text):
            check_questions(protocol, questions=bool(request.questions))
        with problems.about("protocol", text):
            check_scored(protocol, map(repository_name, request.repos or ()), request.level)


def _check_protocol(request: RunRequest, problems: Problems) -> Protocol | None:
    protocol: Protocol | None = None
    choices: dict[str, str | None] = {}
    for choice in CHOICES:
        with problems.about(choice):
            check_choice(choice, getattr(request, choice))
            choices[choice] = getattr(request, choice)
    with problems.about("protocol", request.protocol):
        protocol = Protocol.parse(request.protocol).override(**choices)
    with problems.about("query"):
        query_policy(protocol.query if protocol else request.query or "full")
    with problems.about("relevance"):
        relevance_rule(protocol.relevance if protocol else request.relevance or "overlap")
    with problems.about("pack"):
        if request.pack != PACK and not shipped.edition_of(request.pack):
            raise UsageError(nearest("pack", request.pack, [*shipped.editions(), PACK]))
    return protocol


def _check_ranking(request: RunRequest, problems: Problems) -> None:
    from repoeval_bench.embedding.choice import choose_embedder
    from repoeval_bench.embedding.registry import EMBEDDERS

    for name in request.measures:
        with problems.about("measures", name):
            choose_measures([name], request.k)
    if not request.measures:
        with problems.about("k"):
            choose_measures(None, request.k)
    retriever = None
    with problems.about("retriever", request.retriever):
        retriever = choose_retriever(request.retriever)
        retriever.check_installed()
    with problems.about("embedder", request.embedder):
        embedder, _ = choose_embedder(request.embedder)
        if retriever and retriever.vectors:
            EMBEDDERS.choose(embedder).check_installed()


def _check_chunkers(members: Sequence[RunRequest], protocol: Protocol | None, problems: Problems) -> None:
    chunkers: list[Chunker] = []
    for request in members:
        if request.chunker is None and protocol is None:
            continue  # an unknown protocol may need no chunker
        with problems.about("chunker", request.chunker):
            chunkers.append(chunker_under(protocol or Protocol.parse(RunRequest().protocol), request.chunker))
    with problems.about("chunker"):
        check_distinct(chunkers)


def check_distinct(chunkers: Iterable[Chunker]) -> None:
    """Raise a UsageError if a chunker is named twice, in any spelling."""
    if repeated := sorted(spec for spec, n in Counter(chunker.spec for chunker in chunkers).items() if n > 1):
        raise UsageError(f"{', '.join(repeated)} is named twice; name each chunker once")


def _check_cut(protocol: Protocol | None, option: str, value: object) -> None:
    """Raise a UsageError for an option of chunkers under a protocol whose documents are fixed."""
    if protocol and protocol.documents == "windows":
        raise UsageError(
            f"protocol {protocol.name} fixes its documents, so {option} {value} changes nothing; leave it out, or "
            "choose another protocol"
        )


def at_sizes(requests: Sequence[RunRequest], sizes: Sequence[int], problems: Problems) -> list[RunRequest]:
    """Return each request at each nominal size of its chunker; unchanged without sizes, or if the chunker has none."""
    if not sizes:
        return list(requests)
    setting = requests[0]
    with problems.about("sizes"):
        if setting.match_size:
            raise UsageError("--match-size sets the size of every chunker, so leave out --sizes, or the other")
        _check_cut(Protocol.parse(setting.protocol), "--sizes", ",".join(map(str, sizes)))
        if min(sizes) < 1:
            raise UsageError(f"--sizes {min(sizes)}: give whole numbers above 0, such as --sizes 500,1000")
    resized_requests = []
    for request in requests:
        resized = [request]  # stays if the chunker has no size, which is reported here or with the chunkers
        with problems.about("chunker", request.chunker):
            if request.chunker is not None:
                distinct = dict.fromkeys(size for size in sizes if size > 0)
                resized = [request.model_copy(update={"chunker": resize(request.chunker, size)}) for size in distinct]
        resized_requests += resized
    return resized_requests
