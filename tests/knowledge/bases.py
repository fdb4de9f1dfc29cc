"""Small knowledge bases, written as YAML text and read by the real reader."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gamekit.knowledge import Knowledge, build
from gamekit.store.load import Base, read_findings
from gamekit.store.root import Config
from gamekit.strict_yaml import parse_yaml, write_yaml

Data = dict[str, Any]
ENGINE = {"name": "sglang", "version": "0.5.6", "stand_in": False}
STAND_IN = {"name": "gamekit", "version": "1", "stand_in": True}
# Five samples of which the interval is narrow: adequate.
STEADY = [-0.2, -0.1, 0.0, 0.1, 0.2]


def from_messages(*messages: str) -> Data:
    return {"kind": "investigation", "messages": list(messages)}


def said(day: str, name: str = "Ann") -> Data:
    return {"kind": "person", "name": name, "said": day}


def published(read: str = "2026-11-29") -> Data:
    return {"kind": "publication", "title": "A model card", "read": read}


def finding(kind: str, name: str, /, **fields: Any) -> Data:
    return {
        "id": name,
        "kind": kind,
        "title": f"Title of {name}",
        "source": from_messages("1"),
        **fields,
    }


def series(name: str, **fields: Any) -> Data:
    return finding(
        "series",
        name,
        **{"metric": "decode_rate", "unit": "tok/s", "better": "higher", "match": {}, **fields},
    )


def measurement(name: str, value: Any = None, **fields: Any) -> Data:
    """A measurement; a number as ``value`` is the stated figure, a list the samples."""
    if isinstance(value, list):
        value = {"samples": value, "unit": "tok/s"}
    elif not isinstance(value, dict):
        value = {"value": value, "unit": "tok/s"}
    return finding("measurement", name, **{"metric": "decode_rate", "value": value, **fields})


def claim(name: str, formula: str, unit: str = "1", **fields: Any) -> Data:
    return finding(
        "claim", name, statement=f"What {name} says.", formula=formula, unit=unit, **fields
    )


def review(name: str, verdict: str, of: list[str], **fields: Any) -> Data:
    return finding(
        "review",
        name,
        **{
            "verdict": verdict,
            "of": of,
            "reason": f"Reason of {name}.",
            "author": "Ann",
            "source": said("2027-01-01"),
            **fields,
        },
    )


def approach(name: str, work: list[str], **fields: Any) -> Data:
    return finding(
        "approach",
        name,
        **{
            "label": name.upper(),
            "state": "proposed",
            "why": "Why not.",
            "work": {item: f"Do {item}." for item in work},
            "effort": {"unknown": "nobody said"},
            "confidence": {"unknown": "nobody said"},
            **fields,
        },
    )


def run(
    name: str,
    started: str,
    *findings: Data,
    engine: Data | None = ENGINE,
    environment: Data | None = None,
    **fields: Any,
) -> Data:
    """A run file; its findings get the run as their source."""
    head = {
        "id": name,
        "benchmark": "serving_decode",
        "command": ["gamekit", "bench"],
        "gamekit_version": "0.1.0",
        "started": started,
        "finished": started,
        "outcome": "done",
        "environment": environment or {},
        **fields,
    }
    if engine is not None:
        head["engine"] = engine
    source = {"kind": "run", "run": name}
    return {"run": head, "findings": [{**item, "source": source} for item in findings]}


def steady(name: str, rate: float, in_series: str | None = "rate", **fields: Any) -> Data:
    """A measurement that is adequate when a run of a real engine has it."""
    more = {} if in_series is None else {"series": in_series}
    return measurement(name, [rate + step for step in STEADY], **more, **fields)


def base(*parts: Data, config: Data | None = None, root: Path | None = None) -> Base:
    """A base of findings (in one curated file, in this order) and run files."""
    curated = [part for part in parts if "run" not in part]
    files = [("findings/all.yaml", {"schema": 1, "findings": curated})]
    files += [
        (f"findings/measured/{part['run']['id']}.yaml", {"schema": 1, **part})
        for part in parts
        if "run" in part
    ]
    topics, records, runs = [], {}, {}
    for file, data in files:
        topic, found = read_findings(parse_yaml(write_yaml(data).encode(), file), file)
        topics.append(topic)
        records.update((record.id, record) for record in found)
        if topic.run is not None:
            runs[topic.run.id] = topic.run
    settings = Config.model_validate(
        {"schema": 1, "title": "A plan", "plan": "plan.md", **(config or {})}
    )
    return Base(root or Path(), settings, tuple(topics), records, runs)


def known(*parts: Data, **options: Any) -> Knowledge:
    return build(base(*parts, **options))
