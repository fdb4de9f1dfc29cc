"""The comparison as a page: tables of errors and ceilings, and what they say."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from perf.peers.tools import Reported, Tool
from perf.peers.truth import Truth

Results = Mapping[Tool, tuple[list["Measurement"], ...]]


@dataclass(frozen=True)
class Measurement:
    """One tool at one concurrency: what it said and what was true, or why there is nothing."""

    tool: str
    concurrency: int
    reported: Reported | None = None
    truth: Truth | None = None
    fault: str | None = None

    @property
    def ttft_error_ms(self) -> float:
        """Mean TTFT reported minus true, in ms."""
        reported, truth = self._both
        return reported.ttft_ms - truth.ttft_ms

    @property
    def time_error_percent(self) -> float:
        """Mean time per output token reported against true, in %."""
        reported, truth = self._both
        return 100 * (reported.time_per_token_ms / truth.time_per_token_ms - 1)

    @property
    def load_percent(self) -> float:
        """Requests in flight at the server on average, of those asked for, in %."""
        return 100 * self._both[1].load

    @property
    def load_right(self) -> bool:
        """Whether the load reached is within 1 % of the one asked for."""
        return self.load_percent >= 99

    @property
    def ttft_right(self) -> bool:
        """Whether TTFT is right to 10 ms."""
        return abs(self.ttft_error_ms) <= 10

    @property
    def time_right(self) -> bool:
        """Whether the time per token is right to 1 %."""
        return abs(self.time_error_percent) <= 1

    @property
    def gap_right(self) -> bool | None:
        """Whether the p99 gap is right to 10 %; None where it is not told."""
        reported, truth = self._both
        if reported.gap_p99_ms is None:
            return None
        return abs(reported.gap_p99_ms / truth.gap_p99_ms - 1) <= 0.1

    @property
    def _both(self) -> tuple[Reported, Truth]:
        if self.reported is None or self.truth is None:
            raise ValueError(f"{self.tool} at {self.concurrency} was not measured ({self.fault})")
        return self.reported, self.truth


def report(
    heading: Sequence[str], tools: Sequence[Tool], results: Results, missing: Mapping[str, str]
) -> str:
    """The page in Markdown."""
    lines = [
        "# gamekit's client beside its peers",
        "",
        "Written by `make peers`; do not edit. " + ". ".join(heading) + ".",
        "",
        (
            "Every tool streams from the same scripted server (the engine of `gamekit simulate`),"
            " which has absolute deadlines and keeps a ledger of what it really sent: errors are"
            " against that ledger, so the server's own lateness is in none of them. All processes"
            " of a tool share one core, the server has another. Requests: twice the concurrency,"
            " in a closed loop over OpenAI's chat route."
        ),
        "",
        "## Precision",
        "",
        (
            "TTFT 100 ms, then 2.5 tokens a chunk every 30 ms (12 ms a token). At 1 / 16 / 64 / 200"
            " streams: the mean that a tool reports minus the true mean."
        ),
        "",
        (
            "| tool | version | TTFT error ms | time per token error % | load reached % |"
            " requests lost |"
        ),
        "|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {tool.name} | {tool.version} | {_precision_cells(tool, results, missing)} |"
        for tool in tools
    ]
    lines += [
        "",
        "## Ceiling on one core",
        "",
        (
            "One token every 5 ms a stream, more and more streams: the largest chunk rate"
            " (chunks/s, as sent) up to which each figure holds at every rate tried. *>* where it"
            " held to the end of what was tried; a tool is tried until neither its load nor its"
            " TTFT holds."
        ),
        "",
        (
            "| tool | load within 1 % | TTFT within 10 ms | p99 gap within 10 % |"
            " time per token within 1 % |"
        ),
        "|---|---|---|---|---|",
    ]
    for tool in tools:
        if tool in results and results[tool][1]:
            lines.append(f"| {tool.name} | {_ceiling_cells(results[tool][1])} |")
    lines += ["", "## Who is better at what", "", *_verdicts(results)]
    faults = _faults(results, missing)
    if faults:
        lines += ["", "## What could not be measured", "", *faults]
    lines += ["", "## Each rate", "", *_details(results)]
    return "\n".join(lines) + "\n"


def _precision_cells(tool: Tool, results: Results, missing: Mapping[str, str]) -> str:
    if tool.name in missing:
        return "not installed | | |"
    measured = results[tool][0]

    def row(cell: Callable[[Measurement], str]) -> str:
        return " / ".join("-" if one.fault is not None else cell(one) for one in measured)

    return " | ".join(
        (
            row(lambda one: f"{one.ttft_error_ms:+.2f}"),
            row(lambda one: f"{one.time_error_percent:+.2f}"),
            row(lambda one: f"{one.load_percent:.1f}"),
            row(lambda one: str(max(4, 2 * one.concurrency) - _completed(one))),
        )
    )


def _completed(one: Measurement) -> int:
    return 0 if one.reported is None else one.reported.completed


def _ceiling_cells(ceiling: Sequence[Measurement]) -> str:
    holds: tuple[Callable[[Measurement], bool | None], ...] = (
        lambda one: one.load_right,
        lambda one: one.ttft_right,
        lambda one: one.gap_right,
        lambda one: one.time_right,
    )
    return " | ".join(_ceiling(ceiling, hold) for hold in holds)


def _ceiling(ceiling: Sequence[Measurement], hold: Callable[[Measurement], bool | None]) -> str:
    best = 0.0
    for one in ceiling:
        if one.fault is not None or one.truth is None:
            break
        right = hold(one)
        if right is None:
            return "not told"
        if not right:
            return f"{best:.0f}" if best else f"< {one.truth.chunks_per_s:.0f}"
        best = one.truth.chunks_per_s
    return f"> {best:.0f}"


def _verdicts(results: Results) -> list[str]:
    """One sentence a figure: the best tool at the largest concurrency, whoever that is."""
    last = {
        tool.name: measured[0][-1]
        for tool, measured in results.items()
        if measured[0] and measured[0][-1].fault is None
    }
    if not last:
        return ["Nothing was measured."]
    concurrency = max(one.concurrency for one in last.values())
    figures: tuple[tuple[str, Callable[[Measurement], float], str], ...] = (
        ("TTFT", lambda one: abs(one.ttft_error_ms), "ms"),
        ("time per token", lambda one: abs(one.time_error_percent), "%"),
        ("load", lambda one: abs(100 - one.load_percent), "% short"),
    )
    lines = []
    for what, size, unit in figures:
        order = sorted(last, key=lambda name: size(last[name]))
        told = ", ".join(f"{name} ({size(last[name]):.2f} {unit})" for name in order)
        lines.append(f"- {what} at {concurrency} streams, best first: {told}.")
    for name, measured in ((tool.name, measured[1]) for tool, measured in results.items()):
        reached = [one.truth.chunks_per_s for one in measured if one.fault is None and one.truth]
        if reached:
            lines.append(f"- {name} was tried up to {max(reached):.0f} chunks/s.")
    return lines


def _faults(results: Results, missing: Mapping[str, str]) -> list[str]:
    lines = [f"- {name}: not installed ({why})" for name, why in missing.items()]
    for tool, measured in results.items():
        lines += [
            f"- {tool.name} at {one.concurrency} streams: {one.fault}"
            for part in measured
            for one in part
            if one.fault is not None
        ]
    return lines


def _details(results: Results) -> list[str]:
    lines = [
        (
            "| tool | streams | chunks/s sent | load % | TTFT ms (true) | ms a token (true) |"
            " p99 gap ms (true) | server late p95 ms |"
        ),
        "|---|---|---|---|---|---|---|---|",
    ]
    for tool, measured in results.items():
        for one in (one for part in measured for one in part):
            if one.reported is None or one.truth is None:
                continue
            said, true = one.reported, one.truth
            gap = "not told" if said.gap_p99_ms is None else f"{said.gap_p99_ms:.2f}"
            lines.append(
                f"| {tool.name} | {one.concurrency} | {true.chunks_per_s:.0f} |"
                f" {one.load_percent:.1f} | {said.ttft_ms:.2f} ({true.ttft_ms:.2f}) |"
                f" {said.time_per_token_ms:.3f} ({true.time_per_token_ms:.3f}) |"
                f" {gap} ({true.gap_p99_ms:.2f}) | {true.late_p95_ms:.2f} |"
            )
    return lines
