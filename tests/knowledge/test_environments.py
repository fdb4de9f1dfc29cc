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


def test_the_new_fields_rank_with_what_they_belong_to() -> None:
    """Driver and NCCL before the links, those before CUDA, the power limit with the clocks."""
    one, other = (
        Environment.model_validate(
            {
                "driver": value,
                "nccl": value,
                "topology": {"GPU0-GPU1": value},
                "iommu": value,
                "cuda": value,
                "power_limit_w": [float(value)],
                "memory_gib": int(value),
                "boot": value,
            }
        )
        for value in ("1", "2")
    )
    found = compare(one, other)
    assert [item.field for item in found.differ] == [
        *("driver", "nccl", "topology.GPU0-GPU1", "iommu", "cuda", "power_limit_w"),
        *("memory_gib", "boot"),
    ]
    assert [item.field for item in found.explains] == [item.field for item in found.differ[:-1]]


def test_pairs_that_changed_alike_are_told_once() -> None:
    """Eight GPUs have 28 pairs: one sentence says that the links of all became slower."""
    pairs = [f"GPU{one}-GPU{other}" for one in range(8) for other in range(one + 1, 8)]
    fast, slow = dict.fromkeys(pairs, "NV18"), dict.fromkeys(pairs, "SYS")
    assert words({"topology": fast}, {"topology": slow}) == (
        "topology.GPU0-GPU1 NV18 → SYS (and 27 pairs more)"
    )
    part = fast | {"GPU0-GPU1": "SYS", "GPU0-GPU2": "PHB"}
    assert words({"topology": fast}, {"topology": part}) == (
        "topology.GPU0-GPU1 NV18 → SYS; topology.GPU0-GPU2 NV18 → PHB"
    )
    told = words({"driver": "1"}, {"driver": "1", "topology": fast, "p2p": fast})
    assert told == "nothing that both recorded differs; unknown before: topology, p2p"


def test_a_variable_that_got_lost_is_a_difference() -> None:
    """Of two captured environments, what only one has was not set or installed in the other."""
    captured = {"python": "3.12"}
    before = captured | {"variables": {"NCCL_ALGO": "Ring"}, "packages": {"torch": "2.11"}}
    assert words(before, captured) == (
        "variables.NCCL_ALGO Ring → not set; packages.torch 2.11 → not installed"
    )
    stated = {"variables": {"NCCL_ALGO": "Ring"}}
    assert "unknown after: variables.NCCL_ALGO" in words(stated, captured)


def test_the_name_of_a_start_is_no_setting() -> None:
    """A variable that is another in every start explains nothing."""
    one, other = ({"variables": {"SGLANG_RUN_ID": name}, "driver": "1"} for name in "ab")
    assert words(one, other) == "nothing that both recorded differs"


def test_variables_of_different_processes_are_not_taken_for_lost() -> None:
    """Those of an engine that gamekit started, and those of the shell beside another, differ."""
    engine = {"python": "3.12", "start": "s1", "variables": {"CUDA_MODULE_LOADING": "AUTO"}}
    assert words(engine, {"python": "3.12"}) == (
        "nothing that both recorded differs; unknown after: start, variables.CUDA_MODULE_LOADING"
    )


def test_gpus_that_are_alike_are_counted_and_an_unknown_one_is_named() -> None:
    """A list over GPUs says once what all have, and unknown where one tells nothing."""
    assert words({"pcie": ["gen 5 x16"] * 8}, {"pcie": ["gen 5 x16"] * 7 + [None]}) == (
        "pcie 8 x gen 5 x16 → " + "gen 5 x16, " * 7 + "unknown"
    )


def test_a_gpu_at_rest_is_not_throttled() -> None:
    """Being idle holds no clock down; other reasons do, and a narrow link is told as well."""

    def after(reasons: list[str], width: int = 16, generation: int = 5) -> Data:
        gpu = {"throttle_reasons": reasons, "pcie_width": width, "pcie_generation": generation}
        return {"state_after": {"gpus": [gpu]}}

    rests = after(["gpu_idle"], generation=1)
    assert differ(after([]), rests) == "nothing that both recorded differs"
    assert differ(rests, after(["gpu_idle", "hw_slowdown"], 8)) == (
        "state.pcie_width 16 → 8; state.throttle_reasons none → hw_slowdown"
    )


def test_of_hundreds_of_differences_the_first_twenty_are_told() -> None:
    """What matters most comes first, and the rest is counted: engines differ in all they set."""
    before = {"driver": "570", "packages": {f"package-{n:02}": "1" for n in range(30)}}
    after = {"driver": "575", "packages": {f"package-{n:02}": "2" for n in range(30)}}
    told = words(before, after)
    assert told.startswith("driver 570 → 575; ")
    assert told.count(" → ") == 20
    assert told.endswith("; and 11 more, all in gamekit compare --json")
