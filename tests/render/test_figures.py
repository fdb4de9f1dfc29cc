"""The decision's figures: the same bytes every time, judged by what they were drawn from."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import matplotlib as mpl
import pytest

from gamekit.analysis.charts import Accuracy, Bar, Point, Published, Required, Throughput, Tornado
from gamekit.analysis.derived import missing
from gamekit.analysis.machine_costs import (
    AllReduces,
    Cost,
    ForwardRow,
    LatencyRow,
    SettingEffect,
    Stack,
)
from gamekit.ranges import Range
from gamekit.render import documents
from gamekit.render.document import FigureDocument
from gamekit.render.figures import SCHEMES, Chart, draw, inputs_digest
from gamekit.render.stamp import inputs_of, is_untouched, stamped, with_inputs

from .living import copy_of_repository

COST = Cost("series", Range(1.9, 2.0, 2.1))
POINT = Point("here", Range(1.9, 2.0, 2.1), Range(59, 60, 61), ("one",))
CHARTS: tuple[Chart, ...] = (
    Throughput(
        2,
        Range(32, 33, 34),
        Range(82, 82.5, 83),
        Range.exact(150),
        Range(2.6, 2.7, 2.8),
        (POINT,),
        (Published("theirs (3 steps)", 3, True, (POINT, replace(POINT, rate=Range.exact(99)))),),
    ),
    Throughput(2, Range.exact(33), Range.exact(82), None, Range.exact(2.7), (), ()),
    Accuracy(2, Range.exact(33), (), None, (Required("break-even", missing("so", "1"), ()),)),
    Tornado(
        Range.exact(60),
        Range.exact(82),
        None,
        (Bar("Known", Range(70, 71, 72), None), Bar("Not known", None, None)),
    ),
    Stack(
        "lab",
        "llama-8b",
        (),
        (ForwardRow(1, COST, COST, COST), ForwardRow(8, COST, None, None)),
    ),
    AllReduces(
        "lab",
        2,
        (),
        (LatencyRow(8192, COST, None, None), LatencyRow(57344, COST, COST, COST)),
        (SettingEffect("NCCL_PROTO=LL", "graph", 8192, COST, COST, "slower"),),
    ),
)
FOLDER = "docs/decision"


@pytest.mark.parametrize("chart", CHARTS, ids=lambda chart: type(chart).__name__)
def test_a_figure_is_drawn_the_same_every_time(chart: Chart) -> None:
    """Drawn again the same bytes, well-formed, without date, background or anything fetched."""
    # Below what remembers drawings, which would give the same text whatever is drawn.
    first = draw.__wrapped__(chart, "light")
    assert draw.__wrapped__(chart, "light") == first
    with mpl.rc_context({"svg.hashsalt": None, "font.size": 17, "axes.linewidth": 5}):
        assert draw.__wrapped__(chart, "light") == first
    assert draw(chart, "light") == first
    ET.fromstring(first)  # noqa: S314 - our own text
    assert not re.search(r"<dc:date>|Matplotlib v", first)
    assert not re.search(r"(?:href|src)=\"https?:", first)


def test_another_process_draws_the_same_figures() -> None:
    """The bytes depend on no seed of hashes, nor on what was drawn before."""
    program = (
        "import hashlib\n"
        "from gamekit.render.figures import draw\n"
        "from render.test_figures import CHARTS\n"
        "drawn = ''.join(draw(chart, 'dark') for chart in CHARTS)\n"
        "print(hashlib.sha256(drawn.encode()).hexdigest())\n"
    )
    digests = {
        subprocess.run(
            [sys.executable, "-c", program],
            cwd=Path(__file__).parent.parent,
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for seed in ("1", "2")
    }
    drawn = "".join(draw.__wrapped__(chart, "dark") for chart in CHARTS)
    assert digests == {hashlib.sha256(drawn.encode()).hexdigest()}


def test_a_figure_of_unknown_parts_shows_what_is_known() -> None:
    """An unknown lever is told in the figure, and leaves the others where they are."""
    assert draw(CHARTS[3], "dark") != draw(
        replace(CHARTS[3], bars=CHARTS[3].bars[:1]),  # type: ignore[union-attr]
        "dark",
    )


def test_the_inputs_are_data_scheme_and_drawing() -> None:
    """Another number or another scheme is another digest, the same ones the same."""
    chart = CHARTS[1]
    assert isinstance(chart, Throughput)
    other = replace(chart, baseline=Range.exact(83))
    digests = {inputs_digest(one, scheme) for one in (chart, other) for scheme in SCHEMES}
    assert len(digests) == 4
    assert inputs_digest(replace(other, baseline=Range.exact(82)), "light") in digests


def test_a_figure_by_another_matplotlib_is_the_same_document() -> None:
    """Other bytes drawn from the same inputs are not stale; a hand edit still is seen."""
    document = FigureDocument(f"{FOLDER}/a.svg", CHARTS[1], "light")
    text = document.text
    assert document.is_as(text)
    assert is_untouched(document.path, text)
    digest = inputs_of(text)
    assert digest is not None
    elsewhere = stamped(document.path, with_inputs("<svg><!-- drawn elsewhere --></svg>", digest))
    assert elsewhere != text
    assert document.is_as(elsewhere)
    assert not document.is_as(elsewhere.replace("elsewhere", "by hand"))
    assert not FigureDocument(document.path, CHARTS[1], "dark").is_as(text)


@pytest.fixture(scope="module")
def rendered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of this repository's knowledge base, rendered."""
    root = copy_of_repository(tmp_path_factory.mktemp("base"))
    documents.render(root)
    return root


@pytest.fixture
def base(rendered: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(rendered, tmp_path / "base"))


def test_figures_lie_beside_their_page_in_two_schemes(rendered: Path) -> None:
    """Every picture that the page shows exists, and every picture that exists is shown."""
    page = (rendered / FOLDER / "index.md").read_text(encoding="utf-8")
    shown = re.findall(r"!\[[^\]]+\]\(([\w-]+\.svg)#only-(light|dark)\)", page)
    assert {name for name, _ in shown} == {path.name for path in (rendered / FOLDER).glob("*.svg")}
    assert len(shown) == 6
    assert all(name.endswith(f"-{scheme}.svg") for name, scheme in shown)


def test_check_tells_edited_and_orphaned_figures(base: Path) -> None:
    """An edited figure is kept until forced, one that nothing draws any more is taken away."""
    edited, orphan = base / FOLDER / "levers-dark.svg", base / FOLDER / "gone-light.svg"
    orphan.write_text(stamped(f"{FOLDER}/gone-light.svg", "<svg/>\n"), "utf-8")
    edited.write_text(edited.read_text(encoding="utf-8").replace("<svg", "<svg ", 1), "utf-8")
    states = {one.path: one.state for one in documents.check(base)}
    assert states == {
        f"{FOLDER}/levers-dark.svg": "edited",
        f"{FOLDER}/gone-light.svg": "orphaned",
    }
    report = documents.render(base)
    assert [one.path for one in report.kept] == [f"{FOLDER}/levers-dark.svg"]
    assert report.removed == [f"{FOLDER}/gone-light.svg"]
    assert not orphan.exists()


def test_a_new_figure_makes_the_drawings_stale(base: Path) -> None:
    """A changed baseline is in every drawing."""
    path = base / "findings" / "baselines.yaml"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("{low: 82, high: 83, range", "{low: 81, high: 83, range"), "utf-8")
    stale = {one.path for one in documents.check(base) if one.path.endswith(".svg")}
    assert len(stale) == 6


def test_without_a_cycle_nothing_is_drawn_over_it(base: Path) -> None:
    """Where nobody knows the cycle, what rests on it goes, and the page says why it is gone."""
    config = base / "gamekit.yaml"
    text = config.read_text(encoding="utf-8")
    assert "cycle_time: calibrated-cycle" in text
    unknown = text.replace("cycle_time: calibrated-cycle", "cycle_time: cycle-time-three-steps")
    config.write_text(unknown, "utf-8")
    report = documents.render(base)
    assert {path for path in report.removed if path.endswith(".svg")} == {
        f"{FOLDER}/{name}-{scheme}.svg" for name in ("throughput", "accuracy") for scheme in SCHEMES
    }
    page = (base / FOLDER / "index.md").read_text(encoding="utf-8")
    assert "It cannot be drawn" in page
    assert "unknown because" in page
