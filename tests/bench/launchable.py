"""Commands of engines for the tests of ``--launch``: the stand-in, and scripted ones."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

# Serves as sglang does: its own arguments as server_info, the log lines of one that captured.
SCRIPTED = '''"""A scripted engine: python engine.py --port N [--steps N] [--dies-after N].

--step-times A,B,... are the seconds that it notes of itself with each request.
"""

import argparse
import json
import mmap
import os
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

given = argparse.ArgumentParser()
given.add_argument("--port", type=int)
given.add_argument("--steps", type=int)
given.add_argument("--context-length", default="")
given.add_argument("--load-format", default="auto")
given.add_argument("--dies-after", type=int, default=10**9)
given.add_argument("--capture", default="target verify,draft decode,draft extend")
given.add_argument("--cuda-graph", default="True")
given.add_argument("--api-key")
given.add_argument("--step-times")
given.add_argument("--loads", type=argparse.FileType("rb"))
options = given.parse_args()
served = 0
library = options.loads and mmap.mmap(options.loads.fileno(), 0, access=mmap.ACCESS_READ)
info = {"model_path": "tiny", "version": "1", "load_format": options.load_format,
        "speculative_algorithm": None,
        "internal_states": [{"memory_usage": {"weight": 0.27, "kvcache": 26.5, "graph": 0.07}}]}
if options.steps is not None:
    info |= {"speculative_algorithm": "EAGLE3", "speculative_num_steps": options.steps,
             "speculative_eagle_topk": 1, "speculative_num_draft_tokens": options.steps + 1,
             "speculative_draft_model_path": "small"}
noted = []
if options.step_times is not None:
    info["internal_states"][0]["step_time_dict"] = {"1": noted}
for name in filter(None, options.capture.split(",")):
    print(f"[t] Capture {name} CUDA graph begin. backend=full, bs=[1]", flush=True)
    print(f"[t] Capture {name} CUDA graph end. elapsed=1.50 s, mem usage=0.07 GB", flush=True)
print("[t] max_total_num_tokens=9, chunked_prefill_size=8, max_running_requests=1", flush=True)
print("my key is", options.api_key, flush=True)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def reply(self, status, value):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        answers = {"/health": {}, "/server_info": info, "/v1/models": {"data": [{"id": "tiny"}]}}
        known = self.path in answers
        self.reply(200 if known else 404, answers.get(self.path, {}))

    def do_POST(self):
        global served
        self.rfile.read(int(self.headers["Content-Length"]))
        served += 1
        if served > options.dies_after:
            print("RuntimeError: the card fell off the bus", flush=True)
            os._exit(3)
        print("[t] Prefill batch, #new-seq: 1, #running-req: 0, #queue-req: 0")
        for rate in (3.5, 100.0):
            print("[t] Decode batch, #running-req: 1, #token: 9, accept len: 2.00,"
                  f" cuda graph: {options.cuda_graph}, gen throughput (token/s): {rate},"
                  " #queue-req: 0", flush=True)
        noted.extend(map(float, filter(None, (options.step_times or "").split(","))))
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        for tokens in (1, 3, 5):
            meta = {"id": "r", "prompt_tokens": 3, "completion_tokens": tokens, "cached_tokens": 0,
                    "finish_reason": {"type": "length"} if tokens == 5 else None}
            if tokens == 5 and options.steps is not None:
                meta |= {"spec_verify_ct": 2, "spec_num_correct_drafts": 2}
            event = {"text": "x" * tokens, "meta_info": meta}
            time.sleep(0.002)
            self.wfile.write(b"data: " + json.dumps(event).encode() + b"\\n\\n")
            self.wfile.flush()
        self.wfile.write(b"data: [DONE]\\n\\n")
        self.close_connection = True


ThreadingHTTPServer(("127.0.0.1", options.port), Handler).serve_forever()
'''


def simulate(arguments: str = "--prefill-ms 5 --cycle-ms 2") -> str:
    """The command of a stand-in engine."""
    return f"{shlex.quote(sys.executable)} -m gamekit simulate {arguments}"


def script(folder: Path, text: str = SCRIPTED, name: str = "engine.py") -> str:
    """The command of an engine with that text, written into ``folder``."""
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return shlex.join([sys.executable, str(file)])
