"""The cost of a speculative cycle: its time by the client, and by the engine's own clock.

What a sample is: a request, or the means of a wave of several that are sent at one moment. The
cycle time is (last chunk - first chunk)/verify count, so that neither the prefill nor how many
drafts were accepted plays a part.

The engine's own time (``gamekit.bench.engine_cycle``) is a cross-check of the client's, by another
clock and another count: of whole cycles too, draft and verify and all between them. **Neither is a
split of a cycle into verify and draft.** They may differ by a few per cent where a cycle takes
longer as the context grows: the engine's leaves the first 40 cycles or more of a request out.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from statistics import median
from typing import Any

from gamekit.bench.context import Context
from gamekit.bench.engine_cycle import EngineCycle, EngineCycleWatch
from gamekit.bench.module import Benchmark, Measures, Needs, Parameter, Replicate, Sample
from gamekit.bench.serving import (
    API,
    INPUT_IDS,
    PROMPTS,
    TEMPERATURE,
    chunk_interval_ms,
    judge_answers,
    measure_client,
    tell_output_length,
)
from gamekit.bench.waves import CONCURRENCY, REQUESTS, WARMUP, Waves, judge_waves, replicate
from gamekit.errors import NotApplicable

_METRICS = ("cycle_time", "accept_length", "decode_rate", "engine_cycle_time")
# Below this an engine speculates for nothing, and something is wired wrongly.
_LEAST_ACCEPT_LENGTH = 1.05
# Between the client's cycle and the engine's: less than that is the growth of the context and the
# rounding of the log.
_LARGEST_DIFFERENCE = 0.05


def run(context: Context) -> Iterator[Sample | Replicate]:
    """Send requests one after another, or waves of them; each is one sample."""
    _refuse(context)
    watch = EngineCycleWatch(context.engine, context["concurrency"])
    waves = Waves(context, watch.begin)
    told: list[EngineCycle] = []
    for rows in waves:
        cycle = watch.end()
        if cycle is not None:
            told.append(cycle)
        # The engine has one time for all requests of a wave.
        yield replicate([{**row, **_engine_columns(cycle)} for row in rows], _METRICS)
    waves.warn()
    samples, notices = waves.rows, waves.notices
    context.fact("identifies", _identifies(context))
    _judge_verifies(context, samples, notices)
    judge_answers(context, samples)
    tell_output_length(context, samples)
    _judge_acceptance(context, samples)
    _judge_engine(context, samples, told, can_tell=watch.tells)
    interval_ms = chunk_interval_ms(samples)
    floor = measure_client(context, samples, interval_ms, context["concurrency"])
    judge_waves(context, waves.sent, interval_ms, floor)


def _refuse(context: Context) -> None:
    """Raise ``NotApplicable`` where it is known that there is no cycle, or nobody counts them."""
    url = context.engine.url
    if context.subject.speculation == "none":
        raise NotApplicable(
            f"the engine at {url} does not speculate: there is no speculative cycle to measure",
            mend="start it with a drafter, or measure it with serving_decode",
        )
    if (context["api"] or context.engine.api) == "openai":
        raise NotApplicable(
            f"OpenAI's route of {url} tells no count of verifies, and the time of a cycle rests on"
            " it",
            mend="measure an sglang engine over its native route: --set api=sglang",
        )


def _engine_columns(cycle: EngineCycle | None) -> dict[str, Any]:
    return {
        "engine_cycle_time": None if cycle is None else cycle.cycle_ms,
        "engine_ticks": None if cycle is None else cycle.ticks,
    }


def _identifies(context: Context) -> str:
    """What a sweep of such runs can tell, and what it cannot."""
    if context.subject.topk in (1, None):
        chain = "" if context.subject.topk == 1 else "where topk is 1, "
        return (
            f"{chain}the width of a verify is steps + 1: sweeps of accept length and of steps give"
            " the sum verify + draft + overhead and its slope per step, and no split of it; the"
            " engine's own times here are of whole cycles too; a split takes a profiler or CUDA"
            " events"
        )
    return (
        "the sum verify + draft + overhead of this tree of drafts; the engine's own times here are"
        " of whole cycles too; a split takes a profiler or CUDA events"
    )


def _judge_verifies(
    context: Context, samples: Sequence[dict[str, Any]], notices: Counter[str]
) -> None:
    """Say why there is no figure where no answer gave one."""
    said = "; ".join(notices)
    if all(sample.get("verify_count") is None for sample in samples):
        why = "no answer told a count of verifies: the engine does not speculate, or hides it"
        context.not_known("cycle_time", why)
        context.not_known("accept_length", why)
    elif all(sample.get("cycle_time") is None for sample in samples):
        context.not_known("cycle_time", said or "no answer took any time to decode")
    if all(sample.get("decode_rate") is None for sample in samples):
        context.not_known("decode_rate", said or "no answer took any time to decode")


def _judge_acceptance(context: Context, samples: Sequence[dict[str, Any]]) -> None:
    lengths = [one["accept_length"] for one in samples if one.get("accept_length") is not None]
    if not lengths or context.subject.acceptance == "imposed":
        return
    if median(lengths) < _LEAST_ACCEPT_LENGTH:
        context.warn(
            f"an accept length of {median(lengths):.3g} is a wiring fault until shown otherwise:"
            " EAGLE where the drafter needs EAGLE3, wrong captured layers, no d2t, another chat"
            " template, or a quantization that the drafter inherits"
        )


def _judge_engine(
    context: Context,
    samples: Sequence[dict[str, Any]],
    told: Sequence[EngineCycle],
    *,
    can_tell: bool,
) -> None:
    """The engine's own account, beside the client's."""
    if not told:
        context.not_known(
            "engine_cycle_time",
            "the engine told its time only with idle time in it, or while not all requests ran:"
            " raise max_tokens"
            if can_tell
            else "the engine tells none of its times: sglang does with SGLANG_RECORD_STEP_TIME=1,"
            " and in the log of --launch once a request has enough cycles",
        )
        return
    own = median(one.cycle_ms for one in told)
    fact: dict[str, Any] = {
        "sources": sorted({one.source for one in told}),
        "ticks": sum(one.ticks for one in told),
    }
    client = [one["cycle_time"] for one in samples if one.get("cycle_time") is not None]
    if client:
        fact["over_client"] = round(own / median(client), 4)
        if abs(own / median(client) - 1) > _LARGEST_DIFFERENCE:
            context.warn(
                f"by the engine's own clock a cycle takes {own:.4g} ms, and by the client's"
                f" {median(client):.4g} ms: find out why before you use either"
            )
    context.fact("engine_cycle", fact)


BENCHMARK = Benchmark(
    name="speculation_cycle",
    description="time of a speculative cycle, by the client and by the engine's own clock",
    needs=Needs.SERVER,
    measures=[
        Measures(
            "cycle_time",
            headline=True,
            convention="(last chunk - first chunk)/verify count, over one request",
        ),
        Measures(
            "accept_length",
            convention="1 + correct drafts/verify count: bonus token in, prefill token out",
        ),
        Measures("decode_rate"),
        Measures(
            "engine_cycle_time",
            convention="whole cycles by the engine's clock, median over the ticks of one request",
        ),
    ],
    parameters=[
        REQUESTS,
        # The engine tells of itself every 40 cycles, and the first tick spans the idle time before.
        # 512 decoded tokens are 160 cycles at an accept length of 3.2: at least 4 ticks, of which 3
        # count; one counts up to an accept length of 6.4.
        Parameter(
            "max_tokens",
            int,
            513,
            "tokens asked for",
            "tokens",
            low=2,
            high=1_000_000,
            tells="output_tokens",
        ),
        CONCURRENCY,
        WARMUP,
        TEMPERATURE,
        API,
        PROMPTS,
        INPUT_IDS,
    ],
    run=run,
)
