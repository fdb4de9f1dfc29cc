"""What is wrong with a load, or to be known of it: in words, as flaws and warnings of the case."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean, median
from typing import Any

from gamekit.bench.client_limit import busy_fraction, client_limit
from gamekit.bench.context import Context
from gamekit.bench.floor import RunFloor
from gamekit.load.figures import Limits, is_good, load_figures
from gamekit.load.percentiles import percentiles
from gamekit.load.phases import (
    Phases,
    Window,
    backlog_grew,
    backlogs_grew,
    mean_in_flight,
)
from gamekit.load.sent import LoadRun, SentRequest
from gamekit.load.server_view import ServerView
from gamekit.nearest_rank import quantile

RATES = ("output_throughput", "request_rate", "goodput", "goodput_share")
_LEAST_CONCURRENCY = 0.95
# Of the median TTFT: so much of it may be the client's own, but never less than the clock is good.
_LATEST = 0.05
_LATEST_MS = 1.0


def describe_load(run: LoadRun, phases: Phases) -> dict[str, Any]:
    """A repetition as a fact: its phases with their rates, and how many requests were in flight."""
    failed = [one for one in run.requests if one.failed]
    told: dict[str, Any] = {
        "requests": len(run.requests),
        "failed": len(failed),
        "steady_state": phases.too_short or "reached",
        "queueing_delay": percentiles([one.queueing_ms for one in run.requests]),
    }
    if failed:
        kinds = [str(one.record.failure.kind) for one in failed if one.record.failure is not None]
        told["failures"] = {kind: kinds.count(kind) for kind in dict.fromkeys(kinds)}
    windows = {"ramp": phases.ramp, "steady": phases.measured, "drain": phases.drain}
    for name, window in windows.items():
        told[name] = _describe_phase(run, window)
    if run.concurrency is None:
        told["steady"]["arrival_rate"] = _arrival_rate(run, phases.measured)
    server = _server_concurrency(run.server, phases.measured)
    if server is not None:
        told["server_in_flight"] = server
    if run.server.generated is not None:
        told["server_generated_tokens"] = run.server.generated.value
    return told


def _describe_phase(run: LoadRun, window: Window) -> dict[str, Any]:
    figures = load_figures(run.requests, window)
    return {
        "begins_s": round(window[0] / 1000, 4),
        "seconds": round((window[1] - window[0]) / 1000, 4),
        "output_throughput": _rounded(figures.output_throughput),
        "request_rate": _rounded(figures.request_rate),
        "in_flight": _rounded(mean_in_flight(run.requests, window)),
    }


def _arrival_rate(run: LoadRun, window: Window) -> float | None:
    """The arrivals drawn, in requests/s: by chance more or less than the rate asked for."""
    arrived = sum(window[0] <= one.scheduled_ms <= window[1] for one in run.requests)
    seconds = (window[1] - window[0]) / 1000
    return round(arrived / seconds, 4) if seconds > 0 else None


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def _server_concurrency(server: ServerView, window: Window) -> dict[str, Any] | None:
    numbers = [number for at, number in server.running if window[0] <= at <= window[1]]
    if not numbers or server.running_source is None:
        return None
    waited = [number for at, number in server.waiting if window[0] <= at <= window[1]]
    return {
        "source": server.running_source,
        "looks": len(numbers),
        "mean": round(fmean(numbers), 3),
        "max": max(numbers),
        "waiting": round(fmean(waited), 3) if waited else None,
    }


def judge_failures(context: Context, requests: Sequence[SentRequest]) -> None:
    """Failed requests are in no rate; that there were any is a fact and a flaw.

    Those that did not fail and missed a limit are in no goodput: which limit it was is a fact.
    """
    _tell_missed(context, [one for one in requests if not one.failed])
    failed = [one for one in requests if one.failed]
    share = len(failed) / len(requests)
    context.fact("failed_requests", {"failed": len(failed), "share": round(share, 6)})
    if failed:
        context.flaw(
            f"{len(failed)} of {len(requests)} requests failed ({share:.2%}): what they took of the"
            " server, the others did not have"
        )


def _tell_missed(context: Context, requests: Sequence[SentRequest]) -> None:
    """How many requests missed each limit of the goodput, ramp and drain included."""
    limits = {
        "ttft_limit": Limits(ttft_ms=context["ttft_limit"]),
        "time_per_output_token_limit": Limits(
            time_per_output_token_ms=context["time_per_output_token_limit"]
        ),
        "latency_limit": Limits(latency_ms=context["latency_limit"]),
    }
    missed = {
        name: sum(is_good(one, limit) is False for one in requests)
        for name, limit in limits.items()
        if limit.given
    }
    if not missed:
        return
    context.fact("missed_limits", {**missed, "requests": len(requests)})
    for name, count in missed.items():
        if count:
            context.warn(
                f"{count} of {len(requests)} requests missed {name}={context[name]:g} (ms)"
            )


def judge_phases(context: Context, runs: Sequence[tuple[LoadRun, Phases]]) -> None:
    """Without a steady state a rate is one of ramp and drain as well."""
    short = [phases.too_short for _, phases in runs if phases.too_short is not None]
    if short:
        context.flaw(f"no steady state in {len(short)} of {len(runs)} repetitions: {short[0]}")
    loads = [run.requests for run, _ in runs if run.concurrency is None]
    alone = [grew for load in loads if (grew := backlog_grew(load)) is not None]
    grew = alone[0] if alone else backlogs_grew(loads)
    if grew is not None:
        context.flaw(
            "the server did not keep up with the arrivals: the requests in flight grew from"
            f" {grew[0]} to {grew[1]}"
        )


def judge_concurrency(context: Context, runs: Sequence[tuple[LoadRun, Phases]]) -> None:
    """How many requests the server ran at once: where it tells, by its own word."""
    seen = [mean_in_flight(run.requests, phases.measured) for run, phases in runs]
    client = [one for one in seen if one is not None]
    told = [_server_concurrency(run.server, phases.measured) for run, phases in runs]
    server = [one for one in told if one is not None]
    if not client:
        return
    fact: dict[str, Any] = {"client": round(fmean(client), 3)}
    if server:
        fact |= {
            "server": round(fmean(one["mean"] for one in server), 3),
            "server_source": server[0]["source"],
        }
    context.fact("concurrency_reached", fact)
    queued = [one["waiting"] for one in server if one["waiting"] is not None]
    # By its queue alone: of requests that run, short ones are over before the gauge is set again.
    if queued and fmean(queued) > (1 - _LEAST_CONCURRENCY) * fact["client"] + 0.5:
        context.warn(
            f"the server ran {fact['server']:.4g} requests at once on average, by its"
            f" {fact['server_source']}, and {fact['client']:.4g} were in flight: the others waited"
            " in its queue"
        )


def judge_counters(context: Context, runs: Sequence[LoadRun]) -> None:
    """The server's own count of tokens against the client's: each repetition by itself.

    Where all is over nothing is in flight, so that only requests that failed leave room: the server
    may have generated up to all of their tokens.
    """
    for run in runs:
        counted = run.server.generated
        if counted is None:
            continue
        if counted.value is None:
            context.warn(f"the server's count of tokens is not known: {counted.why}")
            continue
        if any(not one.failed and one.record.completion_tokens is None for one in run.requests):
            continue
        least = sum(one.record.completion_tokens or 0 for one in run.requests if not one.failed)
        most = least + sum(one.record.requested_tokens or 0 for one in run.requests if one.failed)
        if least <= counted.value <= most:
            continue
        off = counted.value - (most if counted.value > most else least)
        why = "others use this server" if off > 0 else "the client counted what was not generated"
        said = (
            f"the server counted {counted.value:.0f} generated tokens and the client"
            f" {least} ({off / max(least, 1):+.1%}): {why}, or the counts mean different things"
        )
        context.warn(said)
        context.flaw(said)


def judge_client(
    context: Context,
    runs: Sequence[tuple[LoadRun, Phases]],
    interval_ms: float | None,
    floor: RunFloor,
) -> None:
    """A client that could not keep up is what was measured, not the engine."""
    loads = [run for run, _ in runs]
    waits = [one.receiving.wait_max_ms for one in loads if one.receiving.wait_max_ms is not None]
    sources = {one.record.time_source for run in loads for one in run.requests}
    context.fact(
        "client",
        {
            "time_sources": sorted(sources),
            "busy_fraction": round(max(busy_fraction(one.lag, one.receiving) for one in loads), 4),
            "lag_max_ms": round(max(one.lag.max_ms for one in loads), 3),
            "wait_max_ms": round(max(waits), 3) if waits else None,
        },
    )
    limits = [_client_limit(run, phases, interval_ms, floor) for run, phases in runs]
    why = next((limit for limit in limits if limit is not None), None)
    if why is not None:
        limited = len(limits) - limits.count(None)
        context.flaw(f"the client limited the run ({limited} of {len(runs)} repetitions): {why}")


def _client_limit(
    run: LoadRun, phases: Phases, interval_ms: float | None, floor: RunFloor
) -> str | None:
    in_flight = mean_in_flight(run.requests, phases.measured)
    reached = None
    if run.concurrency is not None and phases.steady is not None and in_flight is not None:
        # All slots are busy by definition: what is missing is the client's time between requests.
        reached = in_flight / run.concurrency
    rate = None
    if interval_ms is not None and in_flight is not None:
        rate = 1000 * in_flight / interval_ms
    return _sent_late(run) or client_limit(
        run.lag,
        run.receiving,
        chunk_interval_ms=interval_ms,
        achieved_load=reached,
        chunks_per_s=rate,
        floor=floor,
    )


def _sent_late(run: LoadRun) -> str | None:
    """Whether arrivals waited in the client for so long that it shows in TTFT."""
    ttft = [one.ttft_ms for one in run.requests if one.ttft_ms is not None]
    if run.concurrency is not None or not ttft:
        return None
    late = quantile([one.queueing_ms for one in run.requests], 0.95)
    if late <= max(_LATEST_MS, _LATEST * median(ttft)):
        return None
    return f"one request in 20 was sent {late:.2f} ms after its arrival, or later"
