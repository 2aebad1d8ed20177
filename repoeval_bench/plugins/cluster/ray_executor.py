"""Jobs on a Ray cluster: a task for each run, and actors that hold the embedding model.

A job sends texts without a vector to an actor, on its own machine if there is one, and stores the answers in its
machine's vector cache. A task or an actor whose process or machine is lost is started again. Only this file imports
Ray.
"""

import os
import shutil
import socket
import sys
import tempfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, chdir, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from repoeval_bench.core.cores import usable_cores
from repoeval_bench.core.errors import BenchError, ChunkError, EmbeddingError, in_one_line
from repoeval_bench.core.extras import require
from repoeval_bench.core.parts import Embedder, Role
from repoeval_bench.embedding.encoder import SentenceTransformerEncoder
from repoeval_bench.embedding.registry import TextEncoder
from repoeval_bench.plugins.cluster.object_store import ObjectStore
from repoeval_bench.plugins.cluster.shared_cache import SharedVectorCache
from repoeval_bench.runs.jobs import Finished, Job
from repoeval_bench.runs.parts import make_embedder, vectors_folder

# Size of Ray's object store if Ray is started here: requests, texts and vectors pass through it, and none stays.
STORE_BYTES = 128 * 2**20

TEXTS = 2048
"""Texts that are sent to an actor at once."""

# Jobs that Ray gets ahead for each core: enough to keep it busy, few enough for the caller's memory.
AHEAD = 4

_SECONDS_TO_ANSWER = 10

# Attempts at a run whose worker is lost each time, as when the system ends it for lack of memory.
TRIES = 10


class RayCluster:
    """Run jobs as Ray tasks; a context that ends every process that it started.

    Without an `address` Ray is started on this machine, on all its cores. Its dashboard, its logs and its usage
    statistics are off. There is an actor for each GPU, and one for each machine without a GPU.
    `store` is a URL at which vectors are shared.
    """

    def __init__(self, address: str | None = None, *, home: Path | None = None, store: str | None = None) -> None:
        require("--executor ray", "ray")
        self._store = store
        self._address = address
        self._home = home.resolve() if home else None
        self._folder = ""
        # Workers of a cluster that runs already are in folders of its own.
        self._job_folder = None if address else Path.cwd()
        self._actors: list[Any] = []
        self._placed: Placed | None = None

    def __enter__(self) -> Self:
        import ray

        os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
        quiet = {"log_to_driver": False, "logging_level": "ERROR", "include_dashboard": False}
        self._folder = tempfile.mkdtemp(prefix="ray-")
        # Ray lets workers look for modules in the current folder, which may be code to chunk.
        with ExitStack() as undo, _absolute_script(), chdir(self._folder):
            undo.callback(shutil.rmtree, self._folder, ignore_errors=True)
            if self._address is None:
                size = {"num_cpus": usable_cores(), "object_store_memory": STORE_BYTES}
                ray.init("local", _temp_dir=self._folder, **size, **quiet)
            else:
                del quiet["include_dashboard"]
                try:
                    _check_answers(self._address)
                    ray.init(address=self._address, **quiet)
                except (OSError, RuntimeError, ValueError) as error:
                    reason = str(error).strip().partition("\n")[0]
                    message = f"no Ray cluster answers at {self._address!r} ({reason}); start one there"
                    raise BenchError(message) from error
            undo.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        import ray

        self._actors = []
        ray.shutdown()
        shutil.rmtree(self._folder, ignore_errors=True)

    def map(self, jobs: Sequence[Job]) -> Iterator[Finished]:
        """Yield the result of each job, in their order; a job whose worker is lost too often has that as its error."""
        import ray

        # While a task waits for an actor, Ray gives its core to another one.
        run = ray.remote(num_cpus=1, max_retries=TRIES - 1)(_run)
        if self._placed is None and any(job.needs_model for job in jobs):
            self._placed = self._start_actors()
        ahead = AHEAD * max(1, int(ray.cluster_resources().get("CPU", 1)))
        running: dict[Any, int] = {}
        done: dict[int, Finished] = {}
        n_started = 0
        try:
            for index in range(len(jobs)):
                while index not in done:
                    while n_started < len(jobs) and len(running) < ahead:
                        running[run.remote(jobs[n_started], self._placed, self._job_folder)] = n_started
                        n_started += 1
                    for reference in ray.wait(list(running))[0]:
                        done[running.pop(reference)] = _result(reference)
                yield done.pop(index)
        finally:
            for reference in running:  # the caller has stopped iterating
                ray.cancel(reference)

    def _start_actors(self) -> "Placed":
        """Start the actors, each on its machine; called when the first job needs a model."""
        import ray
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        actor = ray.remote(max_restarts=-1, max_task_retries=-1)(ModelActor)
        names: list[tuple[str, str]] = []
        for node in ray.nodes():
            if not node["Alive"] or not node["Resources"].get("CPU"):
                continue
            gpus = int(node["Resources"].get("GPU", 0))
            for number in range(gpus or 1):
                name = f"embedder-{node['NodeID']}-{number}"
                near = NodeAffinitySchedulingStrategy(node["NodeID"], soft=not gpus)
                self._actors.append(
                    actor.options(name=name, num_cpus=0, num_gpus=min(gpus, 1), scheduling_strategy=near).remote(
                        self._home, self._store, self._job_folder
                    )
                )
                names.append((node["NodeID"], name))
        return Placed(tuple(names))


@contextmanager
def _absolute_script() -> Iterator[None]:
    """Name the script that runs by its absolute path."""
    # Ray learns from it in which folder workers look for modules.
    named = sys.argv[:1]
    sys.argv[:1] = [str(Path(name).absolute()) for name in named]
    try:
        yield
    finally:
        sys.argv[:1] = named


def _check_answers(address: str) -> None:
    """Raise an OSError if nothing listens at `host:port`."""
    # Ray itself would wait ten minutes.
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if port.isdecimal():
        socket.create_connection((host, int(port)), timeout=_SECONDS_TO_ANSWER).close()


def _run(job: Job, placed: "Placed | None", folder: Path | None) -> Finished:
    _go_to(folder)
    return job(placed)


def _go_to(folder: Path | None) -> None:
    """Change to the folder of the command, from which a worker on its machine reads relative paths."""
    if folder is not None:
        os.chdir(folder)


def _result(reference: Any) -> Finished:
    import ray

    try:
        finished: Finished = ray.get(reference)
    except ray.exceptions.RayTaskError as error:  # it was not begun: a job's own errors are part of its result
        wrong = f"its machine cannot begin it ({in_one_line(error.cause)}); install the same there"
    except ray.exceptions.RayError as error:
        reason = str(error).strip().partition("\n")[0]
        wrong = f"its worker was lost {TRIES} times, the last time so: {reason}; give it more memory"
    else:
        return finished
    return Finished(error=ChunkError(wrong))


@dataclass(frozen=True, slots=True)
class Placed:
    """The actors by (node's id, name). A worker always asks the same one, of its own node if there is one."""

    names: tuple[tuple[str, str], ...]

    def __call__(self, encoder: TextEncoder) -> TextEncoder:
        """Return the encoder itself, or for one that would load a model, an encoder that asks an actor."""
        if not isinstance(encoder, SentenceTransformerEncoder):
            return encoder
        import ray

        context = ray.get_runtime_context()
        here = [name for node, name in self.names if node == context.get_node_id()]
        names = here or [name for _, name in self.names]
        actor = names[zlib.crc32(context.get_worker_id().encode()) % len(names)]
        return ActorEncoder(encoder, ray.get_actor(actor))


class ActorEncoder:
    """An encoder whose tokenizer is here, and whose model is in an actor."""

    def __init__(self, encoder: SentenceTransformerEncoder, actor: Any) -> None:
        self._encoder, self._actor = encoder, actor
        self.spec, self.identity, self.limit = encoder.spec, encoder.identity, encoder.limit
        self.prompt, self.count_tokens = encoder.prompt, encoder.count_tokens
        self._checked = False

    def encode_batches(
        self, texts: Sequence[str], role: Role, tokens: Sequence[int]
    ) -> Iterator[tuple[list[int], NDArray[np.float32]]]:
        """Yield (positions in `texts`, float32 (len(positions), dim) unit rows), the longest texts first.

        An EmbeddingError if the actor's machine would compute other vectors than this one.
        """
        import ray

        if not self._checked:
            identity: Mapping[str, Any] = ray.get(self._actor.identity.remote(self.spec))
            if identity != dict(self.identity):
                raise EmbeddingError(
                    f"machines of the cluster compute {self.spec} differently ({dict(self.identity)} here, {identity} "
                    "where the model is); name the embedder with precision=fp32"
                )
            self._checked = True
        order = sorted(range(len(texts)), key=lambda index: -tokens[index])
        for start in range(0, len(order), TEXTS):
            indices = order[start : start + TEXTS]
            vectors = ray.get(self._actor.encode.remote(self.spec, [texts[index] for index in indices], role))
            yield indices, np.asarray(vectors, dtype=np.float32)


class ModelActor:
    """An actor that loads each requested model once, and reads through its machine's vector cache."""

    def __init__(self, home: Path | None, store: str | None, folder: Path | None) -> None:
        _go_to(folder)
        self._home = home
        self._shared = SharedVectorCache(vectors_folder(home), ObjectStore(store)) if store else None
        self._embedders: dict[str, Embedder] = {}

    def identity(self, spec: str) -> dict[str, Any]:
        """Return what determines a vector besides prompt and text."""
        return dict(self._embedder(spec).identity)

    def encode(self, spec: str, texts: list[str], role: Role) -> NDArray[np.float32]:
        """Embed texts; float32 (n, dim), in their order."""
        vectors = self._embedder(spec).encode(texts, role)
        if self._shared is not None:
            self._shared.flush()
        return vectors

    def _embedder(self, spec: str) -> Embedder:
        if spec not in self._embedders:
            self._embedders[spec] = make_embedder(spec, home=self._home, cache=self._shared)
        return self._embedders[spec]
