"""The curated findings, loaded once."""

from __future__ import annotations

import shutil
from collections.abc import Mapping

import pytest

from gamekit.knowledge import Knowledge, build
from gamekit.store.load import Record, load

from .curated import ROOT, curated_files


@pytest.fixture(scope="module")
def knowledge(tmp_path_factory: pytest.TempPathFactory) -> Knowledge:
    # The curated files alone: runs that were appended since would move the conclusions.
    root = tmp_path_factory.mktemp("curated")
    (root / "findings").mkdir()
    shutil.copy(ROOT / "gamekit.yaml", root)
    for path in curated_files():
        shutil.copy(path, root / "findings")
    return build(load(root))


@pytest.fixture(scope="module")
def curated(knowledge: Knowledge) -> Mapping[str, Record]:
    return knowledge.base.records
