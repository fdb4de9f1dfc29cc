"""Throughput, latency and goodput of an engine under a load that is kept up, or that arrives.

What a sample is: a repetition, a load with a ramp and a drain of its own. Of what belongs to a
request (TTFT, time per output token, latency, accept length) it is the mean over those that were in
flight mostly within the steady state: requests of one load share the engine's steps and queues, so
that thousands of them tell less of another load than five repetitions do. How they spread is told
by percentiles.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from gamekit import event_loop
from gamekit.bench.context import Context
from gamekit.bench.gaps import gap_percentile, tell_gaps
from gamekit.bench.load_judgement import (
    RATES,
    describe_load,
    judge_client,
    judge_concurrency,
    judge_counters,
    judge_failures,
    judge_phases,
)
from gamekit.bench.module import (
    ERROR,
    Benchmark,
    Measures,
    Needs,
    Parameter,
    Replicate,
    Value,
)
from gamekit.bench.serving import (
    API,
    INPUT_IDS,
    PROMPTS,
    TEMPERATURE,
    answer_row,
    chunk_interval_ms,
    judge_answers,
    judge_cache,
    judge_speculation,
    measure_client,
    request_maker,
    tell_output_length,
)
from gamekit.bench.waves import means
from gamekit.errors import UsageFault
from gamekit.load.arrivals import arrival_times
from gamekit.load.figures import Limits, chunk_gaps_within, load_figures
from gamekit.load.percentiles import percentiles
from gamekit.load.phases import (
    Phases,
    closed_phases,
    mean_in_flight,
    open_phases,
    share_within,
)
from gamekit.load.sending import closed_loop, open_loop
from gamekit.load.sent import LoadRun, SentRequest
from gamekit.streaming.client import StreamClient
from gamekit.streaming.requests import StreamRequest

PER_REQUEST = (
    "ttft",
    "time_per_output_token",
    "decode_rate",
    "request_latency",
    "accept_length",
    "client_queueing_delay",
)
_DEFAULT_CONCURRENCY = 8
# Of a slot of a closed loop: the first is the ramp.
_REQUESTS_A_SLOT = 8
_OPEN_REQUESTS = 100

SendLoad = Callable[[int], LoadRun]


def run(context: Context) -> Iterator[Replicate]:
    """Put the load on the engine as often as asked for; a repetition is a sample."""
    make = request_maker(context)
    send = _load(context, make)
    limits = Limits(
        context["ttft_limit"], context["time_per_output_token_limit"], context["latency_limit"]
    )
    if context["warmup"]:
        context.progress("serving_load: warming up")
        _warm_up(context.engine.url, [make(number) for number in range(context["warmup"])])
    notices: Counter[str] = Counter()
    runs: list[tuple[LoadRun, Phases]] = []
    answers: list[dict[str, Any]] = []
    rows: list[dict[str, Any]] = []
    gaps: list[float] = []
    for repetition in range(context["repeats"]):
        context.progress(f"serving_load: repetition {repetition + 1} of {context['repeats']}")
        load = send(repetition)
        phases = (
            open_phases(load.requests)
            if load.concurrency is None
            else closed_phases(load.requests, load.concurrency)
        )
        runs.append((load, phases))
        steps = context.subject.steps
        told = [answer_row(request.record, notices, steps) for request in load.requests]
        parts = [
            _request_row(repetition, request, phases, answer)
            for request, answer in zip(load.requests, told, strict=True)
        ]
        answers += told
        rows += parts
        steady_gaps = chunk_gaps_within(load.requests, phases.measured)
        gaps += steady_gaps
        yield Replicate(
            {
                **_repetition_row(repetition, load, phases, limits),
                **means(parts, PER_REQUEST),
                "chunk_gap_p99": gap_percentile(steady_gaps, 99),
            },
            parts,
        )
    for notice, times in notices.items():
        context.warn(f"{times} of {len(answers)} requests: {notice}")
    tell_gaps(context, gaps)
    _tell(context, runs, answers, rows, notices, limits)
    interval_ms = chunk_interval_ms(answers)
    floor = measure_client(context, answers, interval_ms, _floor_concurrency(runs))
    judge_client(context, runs, interval_ms, floor)


def _check(parameters: Mapping[str, Value]) -> None:
    """Raise ``UsageFault`` for what says two different loads, or two ends."""
    concurrency, rate = parameters["concurrency"], parameters["rate"]
    requests, duration = parameters["requests"], parameters["duration"]
    if concurrency is not None and rate is not None:
        raise UsageFault(
            f"concurrency={concurrency} and rate={rate} are two different loads",
            mend="give one: concurrency keeps so many in flight, rate lets so many arrive a second",
        )
    if requests is not None and duration is not None:
        raise UsageFault(
            f"requests={requests} and duration={duration} both say when to end",
            mend="give one of them",
        )


def _load(context: Context, make: Callable[[int], StreamRequest]) -> SendLoad:
    """How repetition ``n`` is sent; tells the subject."""
    concurrency, rate = context["concurrency"], context["rate"]
    requests, duration = context["requests"], context["duration"]
    url, warm, seed = context.engine.url, context["warmup"], context["seed"]

    def make_next(number: int) -> StreamRequest:
        """Every repetition goes through the prompts from the same one on."""
        return make(warm + number)

    if rate is not None:
        if requests is None and duration is None:
            requests = _OPEN_REQUESTS
        times = [
            arrival_times(
                rate, context["arrivals"], seed + number, requests=requests, duration_s=duration
            )
            for number in range(context["repeats"])
        ]
        if not all(times):
            raise UsageFault(
                f"at rate={rate} nothing arrives within duration={duration}",
                mend="give a longer duration",
            )
        return lambda number: open_loop(url, make_next, times[number])
    if context["arrivals"] != "poisson":
        raise UsageFault(
            f"arrivals={context['arrivals']} without a rate: a closed loop has no arrivals",
            mend="give a rate, or leave it out",
        )
    slots = concurrency or _DEFAULT_CONCURRENCY
    context.tell(concurrency=slots)
    if requests is None and duration is None:
        requests = _REQUESTS_A_SLOT * slots
    return lambda _: closed_loop(url, make_next, slots, requests=requests, duration_s=duration)


def _warm_up(url: str, requests: Sequence[StreamRequest]) -> None:
    async def send(_: object) -> None:
        async with StreamClient(url) as client:
            await client.streams(requests)

    event_loop.run(send)


def _repetition_row(
    repetition: int, load: LoadRun, phases: Phases, limits: Limits
) -> dict[str, Any]:
    figures = load_figures(load.requests, phases.measured, limits)
    return {
        "repetition": repetition + 1,
        "output_throughput": figures.output_throughput,
        "request_rate": figures.request_rate,
        "goodput": figures.goodput,
        "goodput_share": figures.goodput_share,
        "failure_share": figures.failure_share,
        "in_flight": mean_in_flight(load.requests, phases.measured),
        "steady_s": (phases.measured[1] - phases.measured[0]) / 1000,
    }


def _request_row(
    repetition: int, request: SentRequest, phases: Phases, answer: dict[str, Any]
) -> dict[str, Any]:
    """Of every request the raw times, in ms; of those of the steady state also its figures."""
    row: dict[str, Any] = {
        "repetition": repetition + 1,
        "phase": _phase(request, phases),
        "scheduled_ms": request.scheduled_ms,
        "sent_ms": request.sent_ms,
        "ended_ms": request.ended_ms,
    }
    if request.failed:
        return _rounded({**row, ERROR: answer[ERROR]})
    row |= {
        "first_token_ms": request.record.first_token_ms,
        **{name: answer[name] for name in _KEPT},
    }
    if row["phase"] == "steady":
        row |= {
            **{name: answer[name] for name in PER_REQUEST if name in answer},
            "ttft": request.ttft_ms,
            "request_latency": request.latency_ms,
            "client_queueing_delay": request.queueing_ms,
        }
    return _rounded(row)


def _rounded(row: dict[str, Any]) -> dict[str, Any]:
    """To a ten-thousandth of a unit: no clock tells more, and there are many requests."""
    return {name: round(x, 4) if isinstance(x, float) else x for name, x in row.items()}


# Of an answer's sample, beside the figures: what they can be computed from again.
_KEPT = (
    "last_token_ms",
    "output_tokens",
    "input_tokens",
    "cached_tokens",
    "chunks",
    "longest_gap",
    "first_chunk_tokens",
    "verify_count",
)


def _phase(request: SentRequest, phases: Phases) -> str:
    """The phase in which a request mostly was in flight."""
    if phases.steady is None:
        return "steady"  # the run has a flaw for it
    if share_within(request.sent_ms, request.ended_ms, phases.steady) >= 0.5:
        return "steady"
    middle = (request.sent_ms + request.ended_ms) / 2
    return "ramp" if middle < phases.steady[0] else "drain"


def _tell(
    context: Context,
    runs: Sequence[tuple[LoadRun, Phases]],
    answers: Sequence[dict[str, Any]],
    rows: Sequence[dict[str, Any]],
    notices: Counter[str],
    limits: Limits,
) -> None:
    context.fact("repetitions", [describe_load(load, phases) for load, phases in runs])
    counted = [row for row in rows if not row.get(ERROR)]
    samples = {
        metric: [row[metric] for row in counted if row.get(metric) is not None]
        for metric in PER_REQUEST
    }
    context.fact(
        "percentiles", {metric: percentiles(seen) for metric, seen in samples.items() if seen}
    )
    for metric in ("decode_rate", "time_per_output_token", "output_throughput"):
        if all(answer.get("output_tokens") is None for answer in answers):
            context.not_known(metric, "; ".join(notices) or "no answer told its tokens")
    if limits.given and any(answer.get("output_tokens") is None for answer in answers):
        why = "an answer told no token count, and its time per output token has a limit"
        for metric in ("goodput", "goodput_share"):
            context.not_known(metric, why)
    judge_answers(context, answers)
    judge_speculation(context, answers, *RATES, "decode_rate", "time_per_output_token")
    judge_cache(context, answers, "ttft", "request_latency", *RATES)
    tell_output_length(context, answers)
    judge_failures(context, [request for load, _ in runs for request in load.requests])
    judge_phases(context, runs)
    judge_concurrency(context, runs)
    judge_counters(context, [load for load, _ in runs])


def _floor_concurrency(runs: Sequence[tuple[LoadRun, Phases]]) -> int:
    """That of the run; of an open loop the mean in flight, as far as the floor goes."""
    seen = [
        load.concurrency or mean_in_flight(load.requests, phases.measured) or 1.0
        for load, phases in runs
    ]
    return min(max(1, round(max(seen))), 1000)


def _limit(of: str) -> Parameter:
    return Parameter(
        f"{of}_limit",
        float,
        None,
        "for goodput",
        "ms",
        low=0,
        high=1e7,
        of_metrics=("goodput", "goodput_share"),
    )


BENCHMARK = Benchmark(
    name="serving_load",
    description="throughput, latency and goodput under a closed loop or at an arrival rate",
    needs=Needs.SERVER,
    measures=[
        Measures(
            "output_throughput",
            headline=True,
            convention="output tokens of the steady state over its length",
        ),
        Measures(
            "ttft",
            headline=True,
            convention="since the arrival in an open loop, since the sending in a closed one",
        ),
        Measures("time_per_output_token", headline=True),
        Measures("decode_rate"),
        Measures(
            "chunk_gap_p99",
            convention="of all gaps between chunks of one answer in the steady state, 100 or more",
        ),
        Measures(
            "request_latency",
            headline=True,
            convention="to the last token, counted from where TTFT is",
        ),
        Measures("request_rate", convention="requests that did not fail, in the steady state"),
        Measures("goodput", convention="requests within all limits given, in the steady state"),
        Measures("goodput_share", convention="of all requests, failed ones included"),
        Measures(
            "accept_length",
            convention="1 + correct drafts/verify count: bonus token in, prefill token out",
        ),
        Measures(
            "client_queueing_delay",
            convention="from the arrival, or the end of the request before, until the sending",
        ),
    ],
    parameters=[
        Parameter(
            "concurrency",
            int,
            None,
            "requests kept in flight",
            low=1,
            high=1000,
            default_text=f"{_DEFAULT_CONCURRENCY} without a rate",
        ),
        Parameter(
            "rate", float, None, "requests that arrive", "requests/s", low=1e-3, high=100_000
        ),
        Parameter("arrivals", str, "poisson", "how they arrive", choices=("poisson", "uniform")),
        Parameter("seed", int, 1, "of the arrivals", low=0, high=1_000_000, effort=True),
        Parameter(
            "requests",
            int,
            None,
            "requests of one repetition",
            low=1,
            high=100_000,
            effort=True,
            default_text=f"{_REQUESTS_A_SLOT} a slot, {_OPEN_REQUESTS} at a rate",
        ),
        Parameter(
            "duration",
            float,
            None,
            "instead: how long requests are sent for",
            "s",
            low=0.1,
            high=86_400,
            effort=True,
        ),
        Parameter(
            "repeats",
            int,
            5,
            "loads one after another, each a sample",
            low=1,
            high=1000,
            effort=True,
        ),
        Parameter(
            "warmup", int, 1, "requests before them, not measured", low=0, high=1000, effort=True
        ),
        Parameter(
            "max_tokens",
            int,
            128,
            "tokens asked for",
            "tokens",
            low=2,
            high=1_000_000,
            tells="output_tokens",
        ),
        _limit("ttft"),
        _limit("time_per_output_token"),
        _limit("latency"),
        TEMPERATURE,
        API,
        PROMPTS,
        INPUT_IDS,
    ],
    check=_check,
    run=run,
)
