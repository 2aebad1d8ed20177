"""A real HTTP server on 127.0.0.1 that serves files, and fails in the ways that are asked for."""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

JSON_INDEX = "application/vnd.pypi.simple.v1+json"
"""Media type of a package index's page in JSON, which says when files were uploaded."""


@dataclass
class Site:
    """The files of the server and its faults.

    `breaks` and `stalls` are bytes of the body after which the next answers with an archive end or fall
    silent, one entry per answer. `requests` logs the paths that were asked for.
    """

    files: dict[str, bytes] = field(default_factory=dict)
    breaks: list[int] = field(default_factory=list)
    stalls: list[int] = field(default_factory=list)
    status: int | None = None
    requests: list[str] = field(default_factory=list)
    url: str = ""
    closing: threading.Event = field(default_factory=threading.Event)


@contextmanager
def serve(site: Site) -> Iterator[Site]:
    """Run the site until the block ends; `site.url` is its address."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *args: object) -> None:
            """Nothing on standard error."""

        def do_GET(self) -> None:
            site.requests.append(self.path)
            content = site.files.get(self.path.lstrip("/"))
            if site.status is not None or content is None:
                self.send_response(site.status or 404)
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            if self.path.endswith("/"):  # a page of a package index
                self.send_header("Content-Type", JSON_INDEX if content.startswith(b"{") else "text/html")
            self.end_headers()
            with suppress(ConnectionError):  # the client may have left; that is its part of the test
                self.send(content)

        def send(self, body: bytes) -> None:
            faulty = self.path.endswith(".zip")
            if faulty and site.breaks:
                self.wfile.write(body[: site.breaks.pop(0)])
                self.wfile.flush()
                self.close_connection = True
                return
            if faulty and site.stalls:
                self.wfile.write(body[: site.stalls.pop(0)])
                self.wfile.flush()
                site.closing.wait(5)
                self.close_connection = True
                return
            self.wfile.write(body)

    with listening(Handler, site.closing) as port:
        site.url = f"http://127.0.0.1:{port}"
        yield site


@contextmanager
def listening(handler: type[BaseHTTPRequestHandler], closing: threading.Event) -> Iterator[int]:
    """Serve on a port of 127.0.0.1 until the block ends, which sets `closing` for answers that wait."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *args: object) -> None:
            """A client that leaves is part of the tests; anything else is printed as usual."""
            if not isinstance(sys.exc_info()[1], ConnectionError):
                super().handle_error(*args)  # type: ignore[arg-type]

    server = Server(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        closing.set()
        server.shutdown()
        server.server_close()
        thread.join(10)
