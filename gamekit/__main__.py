"""Entry point of the console command ``gamekit`` and of ``python -m gamekit``."""

from __future__ import annotations

import sys

from gamekit.commands.failures import run


def main() -> None:
    """Run the command line of this process and leave with its exit code."""
    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
