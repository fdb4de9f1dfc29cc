"""How hypothesis runs here: without deadlines, and the same examples in every CI run."""

from __future__ import annotations

import gc
import os

from hypothesis import settings

# A deadline measures the machine, not the code: a busy one would fail a right test.
settings.register_profile("gamekit", deadline=None)
# New examples are for developers; a change that has nothing to do with them must not turn red.
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "gamekit")


def pytest_collection_finish() -> None:
    """What was imported stays to the end: spare each full collection of garbage to walk it."""
    gc.collect()
    gc.freeze()
