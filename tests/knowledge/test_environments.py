"""What differs between two environments, the strongest known cause first."""

from __future__ import annotations

from gamekit.findings import Environment
from gamekit.knowledge import compare

from .bases import Data, known, run, series, steady


def words(before: Data, after: Data) -> str:
    one, other = Environment.model_validate(before), Environment.model_validate(after)
    return compare(one, other).in_words()


def test_what_is_known_to_matter_comes_first() -> None:
    """Driver, NCCL and engine stand before torch, the kernel, Python, boot and start."""
    names = ("boot", "driver", "engine_version", "kernel", "python", "start")
    packages = ("nvidia-nccl-cu12", "torch")
    one, other = (
        Environment.model_validate(
            {**dict.fromkeys(names, value), "packages": dict.fromkeys(packages, value)}
        )
        for value in ("1", "2")
    )
    assert [item.field for item in compare(one, other).differ] == [
        *("driver", "packages.nvidia-nccl-cu12", "engine_version", "packages.torch", "kernel"),
        *("python", "boot", "start"),
    ]


def test_a_variable_of_nccl_counts_as_nccl() -> None:
    """Settings of NCCL rank with NCCL, and explain a shift; Python's version does not."""
    found = compare(
        Environment.model_validate({"python": "3.11", "variables": {"NCCL_ALGO": "Ring"}}),
        Environment.model_validate({"python": "3.12", "variables": {"NCCL_ALGO": "Tree"}}),
    )
    assert [item.field for item in found.explains] == ["variables.NCCL_ALGO"]
    assert [item.field for item in found.differ] == ["variables.NCCL_ALGO", "python"]


def test_another_boot_alone_is_said_to_be_all_that_was_recorded() -> None:
    """The boot is no cause: that nothing else differs is what a reader has to know."""
    same = {"driver": "570"}
    assert words({**same, "boot": "b1"}, {**same, "boot": "b2"}) == (
        "nothing recorded differs but the boot (boot b1 → b2)"
    )
    assert words({"boot": "b1", "start": "s1"}, {"boot": "b2", "start": "s2"}) == (
        "nothing recorded differs but the boot and the start (boot b1 → b2, start s1 → s2)"
    )


def states(clock: float, load: float, reason: str = "none") -> Data:
    gpus = [{"sm_clock_mhz": 1980.0}, {"sm_clock_mhz": clock, "throttle_reasons": reason}]
    return {"state_before": {"load_average": [load, 1, 1]}, "state_after": {"gpus": gpus}}


def differ(before: Data, after: Data) -> str:
    knowledge = known(
        series("rate"),
        run("r1", "2026-12-01T00:00:00Z", steady("m1", 90), **before),
        run("r2", "2026-12-02T00:00:00Z", steady("m2", 60), **after),
    )
    shifted = knowledge.series("rate").shifted
    assert shifted is not None
    assert shifted.environments == knowledge.environments_differ("m1", "m2")
    return shifted.environments.in_words()


def test_clocks_throttling_and_load_of_two_runs_are_told() -> None:
    """The slowest GPU after each run, its reasons, and the load that each run found."""
    assert differ(states(1965, 0.5), states(1200, 9, "power cap")) == (
        "state.sm_clock_mhz 1965 → 1200; state.throttle_reasons none → power cap;"
        " state.load_average 0.5 → 9"
    )


def test_states_that_only_fluctuate_are_not_told() -> None:
    """A clock that moves by 2 %, and a load of 0.5 against 1.5, are no difference."""
    assert differ(states(1965, 0.5), states(1930, 1.5)) == "nothing that both recorded differs"
