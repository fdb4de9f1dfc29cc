"""The variables that NCCL reads, and which values each can have."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from gamekit.errors import UsageFault

# How far apart two devices may be for direct access: by name, or by the number of older releases.
_LEVELS = ("LOC", "NVL", "PIX", "PXB", "PHB", "SYS")
_ALGORITHMS = ("tree", "ring", "collnetdirect", "collnetchain", "nvls", "nvlstree", "pat")
_PROTOCOLS = ("ll", "ll128", "simple")
_COLLECTIVES = ("allgather", "allreduce", "broadcast", "reduce", "reducescatter")
_SUBSYSTEMS = (
    *("init", "coll", "p2p", "shm", "net", "graph", "tuning", "env", "alloc", "call", "proxy"),
    *("nvls", "bootstrap", "reg", "profile", "ras", "all"),
)
_NAME = re.compile(r"NCCL_[A-Z0-9_]+")
# NCCL reads numbers by strtoll with base 0 and ignores what follows: of "4M" it would take 4.
_NUMBER = re.compile(r"-?(0[xX][0-9a-fA-F]+|[1-9][0-9]*|0)")

Judge = Callable[[str], str | None]


def _number(low: int, high: int | None = None, step: int = 1) -> Judge:
    between = f"{low} to {high}" if high is not None else f"{low} or more"
    words = f"a whole number, {between}{f', a multiple of {step}' if step > 1 else ''}"

    def judge(value: str) -> str | None:
        if not _NUMBER.fullmatch(value):
            return words
        number = int(value, 0)
        fits = low <= number and (high is None or number <= high) and number % step == 0
        return None if fits else words

    return judge


def _one_of(*values: str, any_case: bool = False) -> Judge:
    def judge(value: str) -> str | None:
        return None if (value.upper() if any_case else value) in values else _alternatives(values)

    return judge


def _alternatives(values: tuple[str, ...]) -> str:
    return f"{', '.join(values[:-1])} or {values[-1]}"


def _listed(known: tuple[str, ...], *, per_collective: bool = False) -> Judge:
    """A list with commas; ``^`` excludes; ``collective:list;collective:list`` where it is read."""
    words = f"a list of {_alternatives(known)}, which a ^ in front excludes"

    def judge(value: str) -> str | None:
        for part in value.split(";") if per_collective else [value]:
            collective, colon, names = part.rpartition(":")
            if colon and (not per_collective or collective.lower() not in _COLLECTIVES):
                return f"{words}, each with one of {_alternatives(_COLLECTIVES)}"
            names = names.removeprefix("^")
            if not all(name.lower() in known for name in names.split(",")):
                return words
        return None

    return judge


def _anything(value: str) -> str | None:  # noqa: ARG001 - one judge of many
    return None


_FLAG = _one_of("0", "1")
_LEVEL = _one_of(*_LEVELS, *map(str, range(6)))
_CHANNELS = _number(1, 64)
_BYTES = _number(1)

# As documented by NVIDIA for NCCL 2.18 to 2.28 ("Environment Variables" of the user guide).
KNOWN: Mapping[str, Judge] = {
    "NCCL_P2P_DISABLE": _FLAG,
    "NCCL_P2P_LEVEL": _LEVEL,
    "NCCL_P2P_DIRECT_DISABLE": _FLAG,
    "NCCL_SHM_DISABLE": _FLAG,
    "NCCL_SHM_USE_CUDA_MEMCPY": _FLAG,
    "NCCL_ALGO": _listed(_ALGORITHMS, per_collective=True),
    "NCCL_PROTO": _listed(_PROTOCOLS, per_collective=True),
    "NCCL_MIN_NCHANNELS": _CHANNELS,
    "NCCL_MAX_NCHANNELS": _CHANNELS,
    "NCCL_MIN_P2P_NCHANNELS": _CHANNELS,
    "NCCL_MAX_P2P_NCHANNELS": _CHANNELS,
    "NCCL_MIN_CTAS": _CHANNELS,
    "NCCL_MAX_CTAS": _CHANNELS,
    "NCCL_NTHREADS": _number(64, 512, step=32),
    "NCCL_BUFFSIZE": _BYTES,
    "NCCL_LL_BUFFSIZE": _BYTES,
    "NCCL_LL128_BUFFSIZE": _BYTES,
    "NCCL_P2P_NET_CHUNKSIZE": _BYTES,
    "NCCL_P2P_PCI_CHUNKSIZE": _BYTES,
    "NCCL_P2P_NVL_CHUNKSIZE": _BYTES,
    "NCCL_CUMEM_ENABLE": _FLAG,
    "NCCL_CUMEM_HOST_ENABLE": _FLAG,
    "NCCL_NVLS_ENABLE": _one_of("0", "1", "2"),
    "NCCL_GRAPH_MIXING_SUPPORT": _FLAG,
    "NCCL_GRAPH_REGISTER": _FLAG,
    "NCCL_LOCAL_REGISTER": _FLAG,
    "NCCL_LAUNCH_MODE": _one_of("PARALLEL", "GROUP"),
    "NCCL_CGA_CLUSTER_SIZE": _number(0, 8),
    "NCCL_COLLNET_ENABLE": _FLAG,
    "NCCL_COMM_BLOCKING": _FLAG,
    "NCCL_CHECK_POINTERS": _FLAG,
    "NCCL_IGNORE_CPU_AFFINITY": _FLAG,
    "NCCL_IGNORE_DISABLED_P2P": _FLAG,
    "NCCL_PXN_DISABLE": _FLAG,
    "NCCL_CROSS_NIC": _one_of("0", "1", "2"),
    "NCCL_NET_GDR_LEVEL": _LEVEL,
    "NCCL_NET_GDR_READ": _FLAG,
    "NCCL_DMABUF_ENABLE": _FLAG,
    "NCCL_IB_DISABLE": _FLAG,
    "NCCL_IB_TIMEOUT": _number(1, 31),
    "NCCL_IB_RETRY_CNT": _number(0, 7),
    "NCCL_SOCKET_FAMILY": _one_of("AF_INET", "AF_INET6"),
    "NCCL_SOCKET_NTHREADS": _number(1, 16),
    "NCCL_NSOCKS_PERTHREAD": _number(1, 16),
    "NCCL_DEBUG": _one_of("VERSION", "WARN", "INFO", "ABORT", "TRACE", any_case=True),
    "NCCL_DEBUG_SUBSYS": _listed(_SUBSYSTEMS),
    "NCCL_DEBUG_FILE": _anything,
    "NCCL_SOCKET_IFNAME": _anything,
    "NCCL_IB_HCA": _anything,
    "NCCL_NET": _anything,
    "NCCL_NET_PLUGIN": _anything,
    "NCCL_TUNER_PLUGIN": _anything,
    "NCCL_TOPO_FILE": _anything,
    "NCCL_TOPO_DUMP_FILE": _anything,
    "NCCL_GRAPH_FILE": _anything,
    "NCCL_GRAPH_DUMP_FILE": _anything,
}


def checked(values: Mapping[str, str]) -> list[str]:
    """Judge names and values; the warnings, one for each name that NCCL is not known to read.

    Raises ``UsageFault`` for a name that is not ``NCCL_*``, a value that NCCL would not understand
    (NCCL itself mostly ignores it), and a least number of channels above the greatest.
    """
    warnings = []
    for name, value in values.items():
        if not _NAME.fullmatch(name):
            raise UsageFault(f"{name} is no variable of NCCL", mend="its variables are NCCL_*")
        if not value or not value.isprintable():
            raise UsageFault(f"{name}: {value!r} is no value", mend="one line of text")
        judge = KNOWN.get(name)
        if judge is None:
            warnings.append(f"{name} is not among the variables that NCCL is known to read")
        elif wanted := judge(value):
            raise UsageFault(f"{name}: NCCL does not understand {value!r}", mend=f"it is {wanted}")
    for what in ("NCHANNELS", "P2P_NCHANNELS", "CTAS"):
        least, most = values.get(f"NCCL_MIN_{what}"), values.get(f"NCCL_MAX_{what}")
        if least and most and int(least, 0) > int(most, 0):
            raise UsageFault(
                f"NCCL_MIN_{what} is {least}, above NCCL_MAX_{what}, {most}",
                mend="give the greater number to the latter",
            )
    return warnings
