"""Reads the JSON lines of sglang's bench_serving."""

from __future__ import annotations

from gamekit.imports.counted import completed_of
from gamekit.imports.figures import Field, Figure, Taken
from gamekit.imports.given import Fields, Given, is_infinite
from gamekit.imports.sglang_engine import is_stand_in, subject_of

NAME = "sglang bench_serving"
_NEEDED = ("backend", "dataset_name", "completed", "mean_ttft_ms", "mean_tpot_ms", "duration")
_SERVER = "over the whole run, its beginning and end and all prefills included"
_LIFETIME = (
    "the server's value since its start or last flush, other requests included; with the bonus"
    " token, without that of the prefill"
)
# Field, metric, convention, and whether it is defined as gamekit's own is.
_FIGURES = (
    ("mean_ttft_ms", "ttft", "mean over requests, by the client", True),
    (
        "mean_tpot_ms",
        "time_per_output_token",
        "mean over requests of (latency - ttft)/(output tokens - 1)",
        True,
    ),
    ("mean_e2e_latency_ms", "request_latency", "mean over requests, by the client", True),
    ("request_throughput", "request_rate", f"completed requests {_SERVER}", False),
    ("output_throughput", "output_throughput", f"output tokens {_SERVER}", False),
    (
        "accept_length",
        "accept_length",
        _LIFETIME,
        False,
    ),
)
# Counts chunks, which hold several tokens under speculation; gaps between chunks likewise.
_NEVER = {
    "max_output_tokens_per_s": "counts chunks, not tokens",
    "mean_itl_ms": "is of tokens by its Python client, and of chunks by its Rust client",
}


def recognises(given: Given) -> str | None:
    """Why the file is none of this tool's, or None."""
    if not given.objects:
        return "its lines are no JSON objects"
    for fields in given.objects:
        missing = [name for name in _NEEDED if name not in fields.data]
        if missing or "model_id" in fields.data:
            return f"line {fields.line} has no {missing[0]}" if missing else "it has a model_id"
    return None


def parse(given: Given) -> Taken:
    """The figures of each line, which is one run of the tool. Raises ``UsageFault``."""
    figures: list[Figure] = []
    left_out: list[str] = []
    aside: dict[str, object] = {}
    infos = [fields.inner("server_info") for fields in given.objects]
    for fields, info in zip(given.objects, infos, strict=True):
        figures += _figures(fields, info, left_out)
        taken = {name for name, *_ in _FIGURES}
        aside[f"line {fields.line}"] = {n: v for n, v in fields.data.items() if n not in taken}
    versions = {info.text("version") for info in infos}
    engines = {info.text("engine") or "sglang" for info in infos if info.data}
    environment = {}
    if len(engines) == 1:
        environment["engine"] = engines.pop()
        if len(versions) == 1 and (version := versions.pop()):
            environment["engine_version"] = version
    return Taken(
        NAME,
        tuple(figures),
        environment=environment,
        aside=aside,
        left_out=tuple(dict.fromkeys(left_out)),
        stand_in=any(is_stand_in(info.data.get("served_model_name")) for info in infos),
    )


def _figures(fields: Fields, info: Fields, left_out: list[str]) -> list[Figure]:
    completed = completed_of(fields)
    firm, hints = subject_of(info.data)
    firm |= _workload(fields)
    found = []
    # An engine without a tokenizer streams nothing that the tool sees: it writes 0, and the prefill
    # is in its time per output token.
    unseen = fields.number("mean_ttft_ms") == 0
    if unseen:
        left_out.append("mean_ttft_ms and mean_tpot_ms: the tool saw no first token and wrote 0")
    for name, metric, convention, joins in _FIGURES:
        value = fields.number(name)
        if value is None or value == 0 or (unseen and metric in ("ttft", "time_per_output_token")):
            continue
        # Of these the requests are the samples; the others are one value a run.
        count = completed if name.startswith("mean_") else None
        found.append(
            Figure(
                key=f"{fields.line}.{metric}",
                place=name,
                metric=metric,
                value=value,
                convention=convention,
                line=fields.line,
                subject=firm,
                hints=hints,
                parameters=_rate(fields),
                count=count,
                joins=joins,
            )
        )
    left_out += [f"{name}: {why}" for name, why in _NEVER.items() if fields.data.get(name)]
    return found


def _workload(fields: Fields) -> dict[str, Field]:
    told: dict[str, Field] = {}
    backend, dataset = fields.text("backend"), fields.text("dataset_name")
    if dataset:
        told["workload"] = dataset
    if backend:
        told["api"] = "sglang" if backend in ("sglang", "sglang-native") else "openai"
    if dataset and dataset.startswith("random") and fields.number("random_range_ratio") == 1:
        for name, field in (
            ("input_tokens", "random_input_len"),
            ("output_tokens", "random_output_len"),
        ):
            if (count := fields.count(field)) is not None:
                told[name] = count
    if is_infinite(fields.data.get("request_rate")) and (most := fields.count("max_concurrency")):
        told["concurrency"] = most
    return told


def _rate(fields: Fields) -> dict[str, Field]:
    if is_infinite(fields.data.get("request_rate")):
        return {}
    rate = fields.number("request_rate")
    return {} if rate is None else {"request_rate": rate}
