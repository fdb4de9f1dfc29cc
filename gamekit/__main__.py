"""Entry point of the console command ``gamekit`` and of ``python -m gamekit``."""

from __future__ import annotations

import json
import sys


def main() -> None:
    """Run the command line of this process and leave with its exit code."""
    try:
        code = _run()
    except KeyboardInterrupt:
        code = 130  # 128 + SIGINT: before and behind what `run` settles by itself
    sys.exit(code)


def _run() -> int:
    try:
        from gamekit.commands.failures import run  # noqa: PLC0415 - Ctrl-C may come meanwhile
    except ModuleNotFoundError as error:  # click, without which nothing can be settled there
        from gamekit.commands.missing import module_missing  # noqa: PLC0415 - seldom needed

        missing = module_missing(error)
        if missing is None:
            raise
        as_json = "--json" in sys.argv
        print(json.dumps(missing.as_dict()) if as_json else missing, file=sys.stderr)
        return missing.exit_code
    return run(sys.argv[1:])


if __name__ == "__main__":
    main()
