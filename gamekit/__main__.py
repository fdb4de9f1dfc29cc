"""Entry point of the console command ``gamekit`` and of ``python -m gamekit``."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line of this process and leave with its exit code."""
    try:
        from gamekit.commands.failures import run  # noqa: PLC0415 - Ctrl-C may come meanwhile

        code = run(sys.argv[1:])
    except KeyboardInterrupt:
        code = 130  # 128 + SIGINT: before and behind what `run` settles by itself
    sys.exit(code)


if __name__ == "__main__":
    main()
