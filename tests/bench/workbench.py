"""Small knowledge bases and benchmarks for the tests of what runs and records them."""

from __future__ import annotations

import itertools
import json
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

CONFIG = "schema: 1\ntitle: Trial\nplan: plan.md\n"

# A benchmark that needs nothing and yields what its parameters say.
COUNTING = '''"""Yields as many rates as it is told."""

from gamekit.bench.module import Benchmark, Measures, Parameter


def run(context):
    context.tell(concurrency=1, workload="counting")
    for number in range(context["requests"]):
        yield {"decode_rate": context["rate"] + number, "number": number}


BENCHMARK = Benchmark(
    name="counting",
    description="counts",
    measures=[Measures("decode_rate", headline=True)],
    parameters=[
        Parameter("requests", int, 5, "how many", low=0, high=100),
        Parameter("rate", float, 80.0, "the first rate", "tok/s"),
    ],
    run=run,
)
'''


def knowledge_base(folder: Path, benchmarks: Mapping[str, str] | None = None) -> Path:
    """A knowledge base in ``folder`` with benchmark files of the given texts by their names."""
    (folder / "findings").mkdir(parents=True)
    (folder / "gamekit.yaml").write_text(CONFIG, encoding="utf-8")
    for name, text in (benchmarks or {}).items():
        (folder / "benchmarks").mkdir(exist_ok=True)
        (folder / "benchmarks" / f"{name}.py").write_text(text, encoding="utf-8")
    return folder


def series_file(root: Path, *series: Mapping[str, Any], name: str = "series") -> None:
    """Declare series of decode rate by hand: each an id and its match fields."""
    lines = ["schema: 1", "findings:"]
    for one in series:
        lines += [
            f"  - id: {one['id']}",
            "    kind: series",
            f"    title: series {one['id']}",
            "    source: {kind: person, name: somebody, said: '2026-11-01'}",
            f"    metric: {one.get('metric', 'decode_rate')}",
            "    unit: tok/s",
            "    better: higher",
            "    match:",
            *(f"      {key}: {json.dumps(value)}" for key, value in one["match"].items()),
        ]
    (root / "findings" / f"{name}.yaml").write_text("\n".join(lines) + "\n", encoding="utf-8")


def files_below(root: Path) -> dict[str, bytes]:
    """Every file below ``root`` with its bytes."""
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


@contextmanager
def engine(
    answers: Mapping[str, Any],
    events: Sequence[Any] = (),
    *,
    gap_s: float = 0.0,
    breaks_after: int | None = None,
    fails: int | None = None,
    bodies: list[bytes] | None = None,
) -> Iterator[str]:
    """The URL of an engine: GET answers by route, and for every POST the same stream of events.

    A list among the events goes out at once, and a number is a pause in seconds. After
    ``breaks_after`` streams it stops answering, as an engine that died. The stream number ``fails``
    is an error. ``bodies`` collects what was posted.
    """
    numbers = itertools.count(1)  # of several threads each gets its own

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: Any) -> None:
            pass

        def do_GET(self) -> None:
            known = self.path in answers
            body = json.dumps(answers.get(self.path, {})).encode()
            self.send_response(200 if known else 404)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if bodies is not None:
                bodies.append(body)
            number = next(numbers)
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Connection", "close")
            self.end_headers()
            failed = [{"error": {"message": "out of memory", "type": "abort"}}]
            for event in failed if number == fails else events:
                if isinstance(event, float):
                    time.sleep(event)
                    continue
                time.sleep(gap_s)
                together = event if isinstance(event, list) else [event]
                self.wfile.write(
                    b"".join(b"data: %b\n\n" % json.dumps(e).encode() for e in together)
                )
                self.wfile.flush()
            self.wfile.write(b"data: [DONE]\n\n")
            self.close_connection = True
            if number == breaks_after:
                threading.Thread(target=die).start()

    def die() -> None:
        server.shutdown()
        server.server_close()

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        die()
        thread.join()
