"""Says which module the Python that runs gamekit lacks; needs nothing but Python itself."""

from __future__ import annotations

import sys

from gamekit.bundled import checkout
from gamekit.errors import ModuleMissing


def module_missing(error: BaseException) -> ModuleMissing | None:
    """What ``error`` says is not installed; None where it is no such error.

    A module of gamekit itself that is not found is a fault of gamekit, and none of the Python.
    """
    if not isinstance(error, ModuleNotFoundError) or not error.name:
        return None
    module = error.name.partition(".")[0]
    if module == "gamekit":
        return None
    python, source = sys.executable or "python", checkout()
    return ModuleMissing(
        f"{python} has no module '{module}', which gamekit needs",
        mend=f"install gamekit into that Python: {python} -m pip install {source or 'gamekit'}",
    )
