"""The environment of what is measured: this machine's, an engine's own, or that of what ran."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gamekit.bench.engine_facts import EngineFacts
from gamekit.bench.launched import ServerStart
from gamekit.findings import Environment
from gamekit.host.capture import Capture


def surroundings(
    engine: EngineFacts | None, capture: Capture, start: ServerStart | None = None
) -> tuple[Environment, dict[str, Any]]:
    """The environment and state of what is measured.

    Of an engine elsewhere only what it told is known: this machine, the client's, is then kept with
    the state. Variables, packages and NCCL are the engine's own where this process started it.
    """
    told: dict[str, Any] = {} if start is None else {"start": start.id}
    if start is not None and start.environment is not None:
        told |= start.environment
    if engine is None:
        return capture.environment.model_copy(update=told), capture.state
    told |= {"engine": engine.engine.name, "engine_version": engine.engine.version}
    if engine.is_local:
        return capture.environment.model_copy(update=told), capture.state
    client = capture.environment.model_dump(exclude_defaults=True)
    return Environment.model_validate(told), {**capture.state, "client_machine": client}


def with_what_ran(environment: Environment, told: Sequence[Mapping[str, Any]]) -> Environment:
    """``environment`` with what the cases of a run told of the processes that they measured."""
    fields = {name: value for one in told for name, value in one.items()}
    return environment.model_copy(update=fields)
