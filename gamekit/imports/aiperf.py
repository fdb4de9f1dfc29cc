"""Reads the JSON that aiperf exports (profile_export_aiperf.json)."""

from __future__ import annotations

from gamekit.imports.figures import Field, Figure, Taken
from gamekit.imports.given import Fields, Given
from gamekit.imports.sglang_engine import is_stand_in

NAME = "aiperf"
_WHOLE = "over the whole run, its beginning and end and all prefills included"
# Field, metric, its units here and the factor to that of the metric, convention, whether it joins.
_FIGURES = (
    (
        "time_to_first_token",
        "ttft",
        {"ms": 1.0, "sec": 1e3},
        "mean over requests, by the client",
        True,
    ),
    (
        "inter_token_latency",
        "time_per_output_token",
        {"ms": 1.0, "sec": 1e3},
        "mean over requests of (latency - ttft)/(output tokens - 1)",
        True,
    ),
    (
        "output_token_throughput_per_user",
        "decode_rate",
        {"tokens/sec/user": 1.0},
        "mean over requests of (output tokens - 1)/(latency - ttft)",
        True,
    ),
    ("request_latency", "request_latency", {"ms": 1.0, "sec": 1e3}, "mean over requests", True),
    ("request_throughput", "request_rate", {"requests/sec": 1.0}, f"requests {_WHOLE}", False),
    (
        "output_token_throughput",
        "output_throughput",
        {"tokens/sec": 1.0},
        f"output tokens {_WHOLE}",
        False,
    ),
)


def recognises(given: Given) -> str | None:
    """Why the file is none of this tool's, or None."""
    if given.whole is None:
        return "it is no JSON object"
    data = given.whole.data
    if "aiperf_version" not in data and "input_config" not in data:
        return "it has neither aiperf_version nor input_config"
    return None if isinstance(data.get("request_latency"), dict) else "it has no request_latency"


def parse(given: Given) -> Taken:
    """The figures of the file. Raises ``UsageFault`` also for a unit that is not known."""
    fields = given.whole
    if fields is None:
        raise given.fault(1, "it is no JSON object", "import the file as its tool wrote it")
    subject = _subject(fields)
    figures = []
    for name, metric, units, convention, joins in _FIGURES:
        told = fields.inner(name)
        value = told.number("avg")
        if value is None:
            continue
        unit = told.text("unit")
        if unit not in units:
            raise told.wrong("unit", f"not {' or '.join(units)}")
        figures.append(
            Figure(
                key=metric,
                place=f"{name}.avg",
                metric=metric,
                value=value * units[unit],
                convention=convention,
                line=1,
                subject=subject,
                count=(told.count("count") or _completed(fields)) if joins else None,
                joins=joins,
            )
        )
    taken = {name for name, *_ in _FIGURES}
    rest = {n: v for n, v in fields.data.items() if n not in taken and n != "warmup_metrics"}
    left_out = ["inter_chunk_latency: is of chunks, which hold several tokens under speculation"]
    if fields.data.get("was_cancelled") is True:
        left_out.append("the run was cancelled: its figures are of what had been done")
    return Taken(
        NAME,
        tuple(figures),
        version=fields.text("aiperf_version"),
        aside=rest,
        left_out=tuple(left_out),
        stand_in=is_stand_in(subject.get("target")),
    )


def _completed(fields: Fields) -> int | None:
    return fields.inner("request_count").count("avg") or None


def _subject(fields: Fields) -> dict[str, Field]:
    config = fields.inner("input_config")
    subject: dict[str, Field] = {"api": "openai"}
    models = config.data.get("models")
    # Since 0.13 the models are objects; before, names below the endpoint.
    if isinstance(models, dict):
        names = [one.text("name") for one in config.inner("models").each("items")]
    else:
        told = config.inner("endpoint").data.get("model_names")
        names = [one for one in told if isinstance(one, str)] if isinstance(told, list) else []
    if len(names) == 1 and names[0]:
        subject["target"] = names[0]
    if isinstance(config.data.get("phases"), list):
        phases = [one for one in config.each("phases") if one.text("kind") == "profiling"]
    else:
        phases = [config.inner("loadgen")]
    closed = len(phases) == 1 and phases[0].text("type") in (None, "concurrency")
    if closed and (concurrency := phases[0].count("concurrency")):
        subject["concurrency"] = concurrency
    return subject
