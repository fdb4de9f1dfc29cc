"""Reads the setting of a group: environment variables, joined by ``+``, or none."""

from __future__ import annotations

import re
from collections.abc import Mapping

from gamekit.collective.nccl_log import NcclLog
from gamekit.errors import UsageFault
from gamekit.nccl.variables import checked

NONE = "none"
# A value may hold a plus sign of its own, such as 1e+6.
_JOINT = re.compile(r"\+(?=[A-Z][A-Z0-9_]*=)")
_PAIR = re.compile(r"([A-Z][A-Z0-9_]*)=(.+)", re.DOTALL)
_FAMILIES = ("NCCL_", "TORCH_NCCL_", "CUDA_", "GLOO_")
# What one backend alone reads.
_READ_BY = {"nccl": ("NCCL_", "TORCH_NCCL_"), "gloo": ("GLOO_",)}
# These say where NCCL writes what gamekit reads.
_OWN = "NCCL_DEBUG"
# What forces a choice that NCCL makes by itself, and may refuse to make.
PROTOCOLS = "NCCL_PROTO"
ALGORITHMS = "NCCL_ALGO"


def parse_setting(text: str) -> dict[str, str]:
    """The variables of ``NAME=value+NAME=value``, or nothing for ``none``.

    Raises ``UsageFault`` for what is no pair, a name given twice, one that is no setting of a
    communication library, and a value that NCCL is known not to understand.
    """
    if text == NONE:
        return {}
    variables: dict[str, str] = {}
    for part in _JOINT.split(text):
        pair = _PAIR.fullmatch(part)
        if pair is None:
            raise UsageFault(
                f"setting={text}: {part!r} is no NAME=value",
                mend="write setting=NCCL_PROTO=LL+NCCL_MIN_NCHANNELS=8, or none",
            )
        name, value = pair[1], pair[2]
        if name in variables:
            raise UsageFault(f"setting={text} gives {name} twice", mend="keep one")
        if not name.startswith(_FAMILIES):
            raise UsageFault(
                f"setting={text}: {name} is no setting of a communication library",
                mend=f"their names begin with {', '.join(_FAMILIES)}",
            )
        if name.startswith(_OWN):
            raise UsageFault(
                f"setting={text}: gamekit sets {name} itself, to read what NCCL did",
                mend="leave it out",
            )
        variables[name] = value
    # Names that are not known are left to NCCL's log, which says what it took.
    checked({name: value for name, value in variables.items() if name.startswith("NCCL_")})
    return variables


def require_read(variables: Mapping[str, str], backend: str) -> None:
    """Raise ``UsageFault`` for a variable that this backend does not read: it would say nothing."""
    for name in variables:
        reader = next((one for one, begins in _READ_BY.items() if name.startswith(begins)), backend)
        if reader != backend:
            raise UsageFault(
                f"setting={name}={variables[name]}: {backend} does not read {name}",
                mend=f"leave it out, or measure backend={reader}",
            )


def without_forcing(variables: Mapping[str, str]) -> dict[str, str]:
    """The variables without those that force a protocol or an algorithm."""
    return {name: value for name, value in variables.items() if name not in (PROTOCOLS, ALGORITHMS)}


def why_not_forced(variables: Mapping[str, str], unforced: NcclLog) -> str | None:
    """Why what ``variables`` force is not to be measured; None where NCCL allows it.

    ``unforced`` is what NCCL said of the same group without forcing. It takes LL128 by force also
    where its own table has it disabled, since data may arrive torn there (src/graph/tuning.cc
    enables it by default only where it was tested); that is what this is for. Lists with a ``^``
    or with parts for single collectives are left to NCCL.
    """
    for name, allowed in (
        (PROTOCOLS, unforced.protocols_allowed()),
        (ALGORITHMS, unforced.algorithms_allowed()),
    ):
        wanted = variables.get(name)
        if wanted is None or not allowed or wanted.startswith("^") or ":" in wanted:
            continue
        known = {one.casefold() for one in allowed}
        if not any(one.strip().casefold() in known for one in wanted.split(",")):
            return (
                f"{name}={wanted} is not forced: NCCL's own table allows"
                f" {', '.join(allowed)} for an all-reduce here"
            )
    return None


def doubts(variables: Mapping[str, str], taken: Mapping[str, str]) -> list[str]:
    """What NCCL's log does not confirm of a setting; ``taken`` is what it says that it took."""
    found = []
    for name, value in variables.items():
        if not name.startswith("NCCL_"):
            continue  # nobody logs it
        said = taken.get(name)
        if said is None:
            found.append(f"NCCL's log does not say that it took {name}: it may be without effect")
        elif said.casefold() != value.casefold():
            found.append(f"NCCL's log says that it took {name} as {said}, not as {value}")
    return found
