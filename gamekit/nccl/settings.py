"""Values for NCCL out of the findings: those of a setting that names them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gamekit.errors import UsageFault
from gamekit.findings import Finding, Setting, Unknown

COMPONENT = "NCCL"


def nccl_settings(findings: Iterable[Finding]) -> list[Setting]:
    """The settings that NCCL reads, in the order given."""
    return [one for one in findings if isinstance(one, Setting) and is_nccl(one)]


def is_nccl(setting: Setting) -> bool:
    """Whether NCCL is what reads the setting."""
    return setting.component.upper() == COMPONENT


def values_of(finding: Finding, also: Mapping[str, str]) -> dict[str, str]:
    """The values that the setting ``finding`` names, those of ``also`` in their place.

    Raises ``UsageFault`` for a finding that is no setting of NCCL, and for a variable whose value
    is unknown and that ``also`` does not give.
    """
    if not isinstance(finding, Setting) or not is_nccl(finding):
        raise UsageFault(
            f"{finding.id} is no setting of NCCL",
            finding=finding.id,
            mend="see: gamekit nccl show",
        )
    if isinstance(finding.variables, Unknown):
        if also:
            return dict(also)
        names = " ".join(f"--set {name}=VALUE" for name in finding.candidates)
        raise UsageFault(
            f"its variables are unknown: {finding.variables.unknown}",
            finding=finding.id,
            mend=f"give those to set, such as {names or '--set NAME=VALUE'}",
        )
    values = {}
    for name, value in {**finding.variables, **also}.items():
        if isinstance(value, Unknown):
            raise UsageFault(
                f"the value of {name} is unknown: {value.unknown}",
                finding=finding.id,
                mend=f"--set {name}=VALUE",
            )
        values[name] = value
    return values
