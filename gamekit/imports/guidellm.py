"""Reads the JSON report of guidellm."""

from __future__ import annotations

from datetime import UTC, datetime

from gamekit.imports.figures import Field, Figure, Taken
from gamekit.imports.given import Fields, Given
from gamekit.imports.sglang_engine import is_stand_in

NAME = "guidellm"
_WHOLE = "over the whole run, its beginning and end and all prefills included"
# Their time_per_output_token_ms is a request's whole time over its tokens, and no such thing here.
_FIGURES = (
    ("time_to_first_token_ms", "ttft", 1.0, "mean over requests, by the client", True),
    (
        "inter_token_latency_ms",
        "time_per_output_token",
        1.0,
        "(last - first token)/(output tokens - 1), over all tokens",
        True,
    ),
    ("request_latency", "request_latency", 1e3, "mean over requests, by the client", True),
    ("requests_per_second", "request_rate", 1.0, f"completed requests {_WHOLE}", False),
    ("output_tokens_per_second", "output_throughput", 1.0, f"output tokens {_WHOLE}", False),
)


def recognises(given: Given) -> str | None:
    """Why the file is none of this tool's, or None."""
    if given.whole is None:
        return "it is no JSON object"
    if not isinstance(given.whole.data.get("benchmarks"), list):
        return "it has no list of benchmarks"
    version = given.whole.data.get("metadata")
    named = isinstance(version, dict) and "guidellm_version" in version
    return None if named else "its metadata has no guidellm_version"


def parse(given: Given) -> Taken:
    """The figures of each benchmark of the report. Raises ``UsageFault``."""
    if given.whole is None:
        raise given.fault(1, "it is no JSON object", "import the file as its tool wrote it")
    benchmarks = given.whole.each("benchmarks")
    figures: list[Figure] = []
    for number, benchmark in enumerate(benchmarks, start=1):
        figures += _figures(benchmark, number)
    starts = [benchmark.number("start_time") for benchmark in benchmarks]
    first = min((start for start in starts if start is not None), default=None)
    targets = {one.inner("config").inner("backend").text("model") for one in benchmarks}
    config = given.whole.inner("config")
    return Taken(
        NAME,
        tuple(figures),
        version=given.whole.inner("metadata").text("guidellm_version"),
        measured=None if first is None or first > 4e9 else _utc(first),
        aside={
            "metadata": given.whole.data.get("metadata"),
            "config": config.data,
            **{f"benchmark {at}": _rest(one) for at, one in enumerate(benchmarks, start=1)},
        },
        left_out=("time_per_output_token_ms: is a request's whole time over its tokens",),
        stand_in=any(map(is_stand_in, targets)),
    )


def _figures(benchmark: Fields, number: int) -> list[Figure]:
    metrics = benchmark.inner("metrics")
    totals = metrics.inner("request_totals")
    completed, sent = totals.count("successful"), totals.count("total")
    if not completed:
        raise benchmark.missing("metrics.request_totals.successful")
    if sent is not None and completed > sent:
        raise totals.wrong("successful", f"more than total, {sent}")
    config = benchmark.inner("config")
    subject, parameters = _subject(config)
    confidence = config.number("confidence")
    found = []
    for name, metric, factor, convention, joins in _FIGURES:
        told = metrics.inner(name).inner("successful")
        value = told.number("mean")
        if value is None:
            continue
        # Its interval only where the requests are the samples, not tokens of the same few requests.
        sampled = joins and confidence == 0.95 and told.count("count") == completed
        interval = _interval(told.inner("mean_ci"), value, factor) if sampled else None
        found.append(
            Figure(
                key=f"{number}.{metric}",
                place=f"{told.inside}mean",
                metric=metric,
                value=value * factor,
                convention=convention,
                line=1,
                subject=subject,
                parameters=parameters,
                count=completed if joins else None,
                interval=interval,
                joins=joins,
            )
        )
    return found


def _interval(ends: Fields, value: float, factor: float) -> tuple[float, float, str] | None:
    low, high = ends.data.get("lower"), ends.number("upper")
    # Of few requests it may reach below 0, where no time lies: it is none then.
    if high is None or not isinstance(low, int | float) or not 0 < low <= value <= high:
        return None
    return (low * factor, high * factor, "confidence")


def _subject(config: Fields) -> tuple[dict[str, Field], dict[str, Field]]:
    subject: dict[str, Field] = {"api": "openai"}
    if target := config.inner("backend").text("model"):
        subject["target"] = target
    strategy = config.inner("strategy")
    kind = strategy.text("type_")
    if kind == "synchronous":
        subject["concurrency"] = 1
    elif kind == "concurrent" and (streams := strategy.count("streams")):
        subject["concurrency"] = streams
    rate = strategy.number("rate")
    return subject, {} if rate is None else {"request_rate": rate}


def _rest(benchmark: Fields) -> dict[str, object]:
    """Without single requests, and of each metric only what is of requests that ended well."""
    rest = {n: v for n, v in benchmark.data.items() if n not in ("requests", "metrics")}
    taken = {name for name, *_ in _FIGURES}
    metrics = benchmark.inner("metrics").data
    rest["metrics"] = {
        name: value.get("successful")
        for name, value in metrics.items()
        if isinstance(value, dict) and name not in taken
    }
    return rest


def _utc(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
