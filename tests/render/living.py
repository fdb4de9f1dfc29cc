"""A copy of the repository's own knowledge base, and runs put into it as a benchmark would."""

from __future__ import annotations

import re
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from gamekit.findings import Engine, Environment, Measurement, Run, RunSource, Subject
from gamekit.quantity import Quantity
from gamekit.store.append import append_run
from gamekit.store.record import RunRecord, failed_findings, utc_text

REPOSITORY = Path(__file__).resolve().parents[2]
PLAN = "eagle-k2finetune-game-plan.md"
BASELINE = Subject(
    target="Kimi-K2.5",
    quantization="INT4",
    speculation="none",
    concurrency=1,
    host="kimi-pcie8",
)
DAY = datetime(2026, 12, 1, 10, 0, tzinfo=UTC)


def copy_of_repository(folder: Path) -> Path:
    """The curated findings and the configuration, without measured runs and what rests on them."""
    shutil.copytree(
        REPOSITORY / "findings",
        folder / "findings",
        ignore=shutil.ignore_patterns("measured", "lab"),
    )
    shutil.copy(REPOSITORY / "gamekit.yaml", folder)
    return folder


def baseline_run(
    samples: list[float],
    *,
    number: int = 1,
    outcome: str = "done",
    stand_in: bool = False,
    environment: Environment | None = None,
    **finding: Any,
) -> RunRecord:
    """A run of the baseline series: adequate unless told otherwise."""
    started = DAY + timedelta(hours=number)
    run_id = f"{started:%Y%m%d-%H%M%S}-serving-decode-{number:06x}"
    run = Run(
        id=run_id,
        benchmark="serving_decode",
        command=["gamekit", "bench", "serving_decode", "--append"],
        gamekit_version="0.1.0",
        started=utc_text(started),
        finished=utc_text(started + timedelta(minutes=1)),
        outcome=outcome,
        reason=None if outcome == "done" else "the connection was cut",
        engine=Engine(name="sglang", version="0.5.15", stand_in=stand_in),
        environment=environment or Environment(engine="sglang", engine_version="0.5.15"),
    )
    if outcome != "done":
        found = failed_findings(
            run, {"decode_rate": "tok/s"}, BASELINE, {"decode_rate": "baseline-decode-rate"}
        )
        return RunRecord(run, found)
    measurement = Measurement(
        id=f"{run_id}.decode_rate",
        kind="measurement",
        title="decode rate, measured by serving_decode",
        source=RunSource(kind="run", run=run_id),
        metric="decode_rate",
        value=Quantity(unit="tok/s", samples=samples),
        subject=BASELINE,
        series="baseline-decode-rate",
        **finding,
    )
    return RunRecord(run, (measurement,))


def put(root: Path, record: RunRecord) -> None:
    """Append the run the way ``gamekit bench --append`` does."""
    append_run(root, record)


def section(plan: str, heading: str) -> str:
    """The text of one section of the plan, by the beginning of its heading."""
    match = re.search(rf"^## {re.escape(heading)}.*?(?=^## |^\[|\Z)", plan, re.M | re.S)
    assert match is not None, f"no section {heading}"
    return match.group()


def row(plan: str, record_id: str) -> str:
    """The row of the table of key numbers that shows ``record_id``."""
    found = [
        line
        for line in section(plan, "Current state").splitlines()
        if line.endswith(f"| [{record_id}] |")
    ]
    assert len(found) == 1, f"{record_id} in {found}"
    return found[0]
