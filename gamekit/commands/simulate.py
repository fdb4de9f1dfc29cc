"""``gamekit simulate``: runs the stand-in engine."""

from __future__ import annotations

import click

from gamekit.commands.options import Number, Whole
from gamekit.commands.terminal import say


@click.command("simulate")
@click.option(
    "--port",
    type=Whole(0, 65535),
    default=30000,
    show_default=True,
    help="Port to listen on; 0 takes a free one and says which.",
)
@click.option(
    "--prefill-ms", type=Number(), default=400.0, show_default=True, help="Time to the first token."
)
@click.option(
    "--cycle-ms",
    type=Number(),
    default=33.3,
    show_default=True,
    help="Time of one cycle; without speculation, of one token.",
)
@click.option(
    "--accept-len",
    type=Number(),
    default=2.0,
    show_default=True,
    help="Tokens of a cycle on average, 1 to steps + 1; plays no part without --steps.",
)
@click.option("--steps", type=Whole(), help="Draft steps of a cycle; without it, no speculation.")
def command(
    port: int, prefill_ms: float, cycle_ms: float, accept_len: float, steps: int | None
) -> None:
    """Run a stand-in engine with exact, known timing.

    It speaks sglang's and OpenAI's routes, to this machine only. What is measured on it is recorded
    as simulated and never mixes with the rest. A fractional accept length is spread over the cycles
    by a fixed sequence. It runs until it is interrupted.
    """
    from gamekit.stand_in.config import SimulatorConfig
    from gamekit.stand_in.engine import run

    config = SimulatorConfig(prefill_ms, cycle_ms, accept_len, steps)

    def ready(bound: int) -> None:
        say(f"http://127.0.0.1:{bound}: decode rate {config.decode_rate:.4g} tok/s")
        say("stop it with Ctrl-C", "dim")

    run(config, "127.0.0.1", port, ready)
