"""The chain in use and its host: what the roles in ``gamekit.yaml`` stand for."""

from __future__ import annotations

from dataclasses import dataclass

from gamekit.findings import Measurement, Model, Series
from gamekit.knowledge import Knowledge
from gamekit.store.load import Record
from gamekit.store.root import ModelRoles


@dataclass(frozen=True)
class Chain:
    """The speculation in use, as far as the findings say.

    ``steps`` are its draft steps, ``drafter`` the name of its drafter, ``host`` the machine.
    ``target`` is the target's record. Each is None where nobody said.
    """

    roles: ModelRoles
    steps: int | None
    drafter: str | None
    host: str | None
    target: Record | None


@dataclass(frozen=True)
class Cycle:
    """The finding that stands for the time of a cycle of some number of steps.

    ``is_measured``: it is that chain's own. Otherwise it is the cycle of the chain in use, taken as
    unchanged, which favours a longer chain. ``series`` would hold the chain's own, where declared.
    """

    id: str
    is_measured: bool
    series: str | None


def chain_in_use(knowledge: Knowledge) -> Chain | None:
    """The chain that the roles describe; None for a knowledge base without a model."""
    roles = knowledge.config.model
    if roles is None:
        return None
    steps, drafter, host = (
        subject_field(knowledge, roles.accept_length, field)
        for field in ("steps", "drafter", "host")
    )
    return Chain(
        roles,
        steps if isinstance(steps, int) else None,
        drafter if isinstance(drafter, str) else None,
        host if isinstance(host, str) else None,
        None if roles.target_model is None else knowledge.record(roles.target_model),
    )


def cycle_at(knowledge: Knowledge, chain: Chain, steps: int) -> Cycle:
    """What stands for the cycle of ``steps`` draft steps on this host.

    That of a series of metric ``cycle_time`` that matches target, host and steps, where it has a
    figure; otherwise the cycle of the chain in use.
    """
    if steps == chain.steps:
        return Cycle(chain.roles.cycle_time, True, None)
    declared = None
    for record in knowledge.of_kind("series"):
        series = record.finding
        assert isinstance(series, Series)  # noqa: S101 - asked for by kind
        if series.metric != "cycle_time" or record.run is not None:
            continue
        wanted = {"steps": steps, "host": chain.host, "target": target_name(chain)}
        if any(getattr(series.match, field) != value for field, value in wanted.items()):
            continue
        if knowledge.series(record.id).current is not None:
            return Cycle(record.id, True, record.id)
        declared = declared or record.id
    return Cycle(chain.roles.cycle_time, False, declared)


def target_name(chain: Chain) -> str | None:
    """The target as subjects name it."""
    model = None if chain.target is None else chain.target.finding
    return model.name if isinstance(model, Model) else None


def subject_field(knowledge: Knowledge, name: str, field: str) -> object:
    """A field of the subject of ``name``: as its series asks for it, else as it was measured."""
    finding = knowledge.record(name).finding
    if isinstance(finding, Series):
        asked: object = getattr(finding.match, field)
        current = knowledge.series(name).current
        if asked is not None or current is None:
            return asked
        finding = current.finding
    return getattr(finding.subject, field) if isinstance(finding, Measurement) else None
