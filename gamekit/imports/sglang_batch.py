"""Reads the JSON lines of sglang's bench_one_batch_server."""

from __future__ import annotations

from gamekit.imports.figures import Field, Figure, Taken
from gamekit.imports.given import Fields, Given

NAME = "sglang bench_one_batch_server"
_NEEDED = ("batch_size", "input_len", "output_len", "latency", "output_throughput", "last_ttft")
# Of times that are written with four digits behind the point, and of what releases may count.
_ROUNDING_S, _APART = 1e-4, 0.05
_FIGURES = frozenset({*_NEEDED, "acc_length"})


def recognises(given: Given) -> str | None:
    """Why the file is none of this tool's, or None."""
    if not given.objects:
        return "its lines are no JSON objects"
    for fields in given.objects:
        for name in _NEEDED:
            if name not in fields.data:
                return f"line {fields.line} has no {name}"
    return None


def parse(given: Given) -> Taken:
    """The figures of each line, which is one batch sent at once. Raises ``UsageFault``."""
    figures = [figure for fields in given.objects for figure in _figures(fields)]
    aside = {
        f"line {fields.line}": {n: v for n, v in fields.data.items() if n not in _FIGURES}
        for fields in given.objects
    }
    return Taken(
        NAME,
        tuple(figures),
        aside=aside,
        left_out=("last_gen_throughput: is of the server's last log tick, whatever that spans",)
        if any(
            fields.data.get("last_gen_throughput") not in (None, -1.0) for fields in given.objects
        )
        else (),
    )


def _figures(fields: Fields) -> list[Figure]:
    batch, latency, first = (
        fields.count("batch_size"),
        fields.number("latency"),
        fields.number("last_ttft"),
    )
    rate, tokens = fields.number("output_throughput"), fields.count("output_len")
    if not batch or not latency or first is None or rate is None or not tokens:
        name = next(name for name in _NEEDED if not fields.data.get(name))
        raise fields.wrong(name, "no result")
    if tokens > 1:  # the rate of one token is none, and not taken
        _agrees(fields, rate, batch * tokens, latency - first)
    subject: dict[str, Field] = {"concurrency": batch, "output_tokens": tokens, "api": "sglang"}
    if (length := fields.count("input_len")) is not None:
        subject["input_tokens"] = length
    found = [
        _figure(
            fields,
            subject,
            "latency",
            "request_latency",
            latency * 1e3,
            "until the whole batch ended",
        )
    ]
    if batch == 1:
        found.append(
            _figure(fields, subject, "last_ttft", "ttft", first * 1e3, "by the client", joins=True)
        )
    decode = "output tokens, the first of each included, over latency - last ttft"
    metric = "decode_rate" if batch == 1 else "output_throughput"
    if tokens > 1:
        found.append(_figure(fields, subject, "output_throughput", metric, rate, decode))
    accepted = fields.data.get("acc_length")
    # -1 where the server tells none.
    if accepted not in (None, -1, -1.0) and (accept := fields.number("acc_length")):
        convention = (
            "the server's value since the flush before the batch, as of its last log tick; with the"
            " bonus token, without that of the prefill"
        )
        found.append(_figure(fields, subject, "acc_length", "accept_length", accept, convention))
    return found


def _agrees(fields: Fields, rate: float, tokens: int, seconds: float) -> None:
    """Raise ``UsageFault`` where the rate is not that of so many tokens in so many seconds."""
    if seconds <= 0:
        raise fields.wrong("last_ttft", "not before the end of the batch, its latency")
    low, high = (tokens / max(seconds + off, 1e-9) for off in (_ROUNDING_S, -_ROUNDING_S))
    if not low * (1 - _APART) <= rate <= high * (1 + _APART):
        raise fields.wrong(
            "output_throughput", f"not {tokens} tokens in {seconds:.4g} s, latency - last_ttft"
        )


def _figure(
    fields: Fields,
    subject: dict[str, Field],
    name: str,
    metric: str,
    value: float,
    convention: str,
    *,
    joins: bool = False,
) -> Figure:
    return Figure(
        key=f"{fields.line}.{metric}",
        place=name,
        metric=metric,
        value=value,
        convention=convention,
        line=fields.line,
        subject=subject,
        joins=joins,
    )
