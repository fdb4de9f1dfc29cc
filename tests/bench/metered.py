"""An engine that meters itself: sglang's stream, and a `/metrics` that tests bend as they need."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

TOTAL = "sglang:generation_tokens_total"


@dataclass
class Metered:
    """What it does: ``at_once`` requests run, the others wait; every n-th fails in mid-stream.

    ``unasked`` tokens are counted with each request beside its own, and the counter begins anew
    after ``reset_after`` requests. A ``stale`` one's gauge of running requests stays at 0.
    """

    at_once: int = 100
    fails_each: int = 0
    unasked: int = 0
    reset_after: int = 0
    gap_s: float = 0.005
    url: str = ""
    served: int = 0
    tokens: int = 0
    running: int = 0
    waiting: int = 0
    stale: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)

    def exposition(self) -> str:
        """Its metrics, as two engines would tell them, the other one idle."""
        labels = '{model_name="lab/tiny",engine="%d"}'
        lines = [f"# TYPE {TOTAL} counter"]
        for engine, tokens, running, waiting in (
            (0, self.tokens, 0 if self.stale else self.running, self.waiting),
            (1, 1000, 0, 0),
        ):
            lines.append(f"{TOTAL}{labels % engine} {float(tokens)}")
            lines.append(f"sglang:generation_tokens_created{labels % engine} 1.7e+09")
            lines.append(f"sglang:num_running_reqs{labels % engine} {float(running)}")
            lines.append(f"sglang:num_queue_reqs{labels % engine} {float(waiting)}")
        return "\n".join(lines) + "\n"


@contextmanager
def metered(engine: Metered) -> Iterator[str]:
    """The URL of such an engine."""
    slots = threading.Semaphore(engine.at_once)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: Any) -> None:
            pass

        def do_GET(self) -> None:
            answers = {
                "/server_info": json.dumps(
                    {"model_path": "lab/tiny", "version": "0.5.23", "speculative_algorithm": None}
                ),
                "/metrics": engine.exposition(),
            }
            body = answers.get(self.path, "{}").encode()
            self.send_response(200 if self.path in answers else 404)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            tokens = asked["sampling_params"]["max_new_tokens"]
            with engine.lock:
                engine.waiting += 1
            with slots:
                with engine.lock:
                    engine.waiting -= 1
                    engine.running += 1
                    engine.served += 1
                    number = engine.served
                try:
                    self._stream(number, tokens)
                finally:
                    with engine.lock:
                        engine.running -= 1

        def _stream(self, number: int, tokens: int) -> None:
            fails = engine.fails_each and number % engine.fails_each == 0
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Connection", "close")
            self.end_headers()
            for count in range(1, tokens + 1):
                time.sleep(engine.gap_s)
                finish = {"type": "length"} if count == tokens else None
                meta = {"completion_tokens": count, "prompt_tokens": 9, "finish_reason": finish}
                event: dict[str, Any] = {"text": "x" * count, "meta_info": meta}
                if fails and count == 3:
                    event = {"error": {"message": "out of memory", "type": "abort"}}
                self.wfile.write(b"data: " + json.dumps(event).encode() + b"\n\n")
                self.wfile.flush()
                if "error" in event:
                    break
            with engine.lock:
                engine.tokens += count + engine.unasked
                if number == engine.reset_after:
                    engine.tokens = 0
            self.wfile.write(b"data: [DONE]\n\n")
            self.close_connection = True

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    engine.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield engine.url
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
