"""The documents of a knowledge base: each one's path and text, as its findings ask for it."""

from __future__ import annotations

import posixpath
from collections.abc import Callable
from typing import Any

from gamekit.bundled import layers
from gamekit.findings.schema import SCHEMA_FILE, json_schema
from gamekit.knowledge import Knowledge, build
from gamekit.render import markdown
from gamekit.render.decision import Decision
from gamekit.render.document import AnyDocument, Document
from gamekit.render.environment import Templates
from gamekit.render.links import SITE_FOLDER, Links
from gamekit.render.machine_section import MachineSection
from gamekit.render.markdown import Markdown
from gamekit.render.model_section import ModelSection
from gamekit.render.plan import PlanContent
from gamekit.render.site import SiteContent, front_matter, is_claim, is_measurement, pretty
from gamekit.render.stamp import stamped
from gamekit.render.topics import FINDINGS_PAGES, page_of
from gamekit.render.view import View, newest_date
from gamekit.store.load import Base, Topic
from gamekit.store.root import FINDINGS_FOLDER

PLAN_PAGE = f"{SITE_FOLDER}/plan/index.md"
HISTORY_PAGE = f"{SITE_FOLDER}/history/index.md"
DECISION_PAGE = f"{SITE_FOLDER}/decision/index.md"
MACHINE_PAGE = f"{SITE_FOLDER}/machine/index.md"
BENCHMARKS_PAGE = f"{SITE_FOLDER}/benchmarks/index.md"
FINDINGS_INDEX = f"{FINDINGS_PAGES}/index.md"
LLMS_FILE = "llms.txt"

GENERATED_FOLDERS = tuple(
    page.rsplit("/", 1)[0]
    for page in (
        PLAN_PAGE,
        FINDINGS_INDEX,
        HISTORY_PAGE,
        BENCHMARKS_PAGE,
        DECISION_PAGE,
        MACHINE_PAGE,
    )
)


def rendered_documents(base: Base) -> tuple[list[AnyDocument], list[str]]:
    """Every document of ``base``, and warnings about them (a section over its size budget).

    Raises ``KnowledgeErrors`` for what is wrong with the knowledge, ``TemplateFault`` for a
    template.
    """
    rendering = _Rendering(build(base), Templates(layers(base.root, "templates")))
    return rendering.documents(), rendering.warnings


class _Rendering:
    def __init__(self, knowledge: Knowledge, templates: Templates) -> None:
        self._knowledge = knowledge
        self._templates = templates
        self._decision = Decision(knowledge)
        self.warnings: list[str] = []

    def documents(self) -> list[AnyDocument]:
        config = self._knowledge.config
        plan = self._page(config.plan, "plan.md.j2", committed=True, budgets=True)
        pages: list[AnyDocument] = [
            plan,
            self._page(LLMS_FILE, "llms.txt.j2", committed=True),
            Document(
                f"{FINDINGS_FOLDER}/{SCHEMA_FILE}",
                stamped(SCHEMA_FILE, json_schema()),
                committed=True,
            ),
            self._page(PLAN_PAGE, "plan.md.j2"),
            self._page(FINDINGS_INDEX, "site/findings.md.j2"),
            self._page(HISTORY_PAGE, "site/history.md.j2"),
            self._page(BENCHMARKS_PAGE, "site/benchmarks.md.j2"),
            self._page(DECISION_PAGE, "site/decision.md.j2"),
            self._page(MACHINE_PAGE, "site/machine.md.j2"),
            *self._decision.figures(posixpath.dirname(DECISION_PAGE)),
            *MachineSection(self._knowledge).figures(posixpath.dirname(MACHINE_PAGE)),
        ]
        return pages + self._topic_pages()

    def _topic_pages(self) -> list[AnyDocument]:
        topics: dict[str, list[Topic]] = {}
        for topic in self._knowledge.base.topics:
            topics.setdefault(page_of(topic), []).append(topic)
        pages: list[AnyDocument] = []
        for path, shown in topics.items():
            template = "site/runs.md.j2" if shown[0].run is not None else "site/topic.md.j2"
            pages.append(self._page(path, template, shown={topic.file for topic in shown}))
        return pages

    def _page(
        self,
        path: str,
        template: str,
        *,
        committed: bool = False,
        budgets: bool = False,
        shown: set[str] | None = None,
    ) -> Document:
        view = View(self._knowledge, Links(path))
        context = _context(view)
        context["decision"] = self._decision
        context["shown"] = shown or set()
        sizes: dict[str, int] = {}
        context["section"] = self._sections(context, sizes)
        text = self._templates.render(template, context)
        if budgets:
            self._weigh(len(text.encode()) - len(view.definitions().encode()), sizes)
        return Document(path, stamped(path, text), committed)

    def _sections(
        self, context: dict[str, Any], sizes: dict[str, int]
    ) -> Callable[[str], Markdown]:
        def section(name: str) -> Markdown:
            text = self._templates.render(f"plan/{name}.md.j2", context)
            sizes[name] = len(text.encode())
            return Markdown(text)

        return section

    def _weigh(self, total: int, sizes: dict[str, int]) -> None:
        budgets = self._knowledge.config.budgets
        if total > budgets.total:
            self.warnings.append(
                f"the plan has {total} bytes, and its budget is {budgets.total}; "
                "move what is not needed to act on it to the site"
            )
        for name, size in sizes.items():
            budget = budgets.sections.get(name)
            if budget is not None and size > budget:
                self.warnings.append(
                    f"section {name} of the plan has {size} bytes, and its budget is {budget}"
                )


def _context(view: View) -> dict[str, Any]:
    knowledge = view.knowledge
    plan, site = PlanContent(view), SiteContent(view)

    def date() -> str:
        return newest_date(view.dated(), knowledge.base.runs) or ""

    return {
        "config": knowledge.config,
        "plan": plan,
        "model_section": ModelSection(knowledge),
        "machine": MachineSection(knowledge),
        "site": site,
        "date": date,
        "finding": view.finding,
        "of_kind": view.of_kind,
        "ident": view.ident,
        "name": view.name,
        "figure": view.figure,
        "figure_text": view.figure_text,
        "linked": view.linked,
        "rounded": view.rounded,
        "why_no_figure": view.why_no_figure,
        "mention": view.mention,
        "definitions": view.definitions,
        "idents": lambda ids: Markdown(", ".join(view.ident(name) for name in ids)),
        "names": lambda ids: Markdown("; ".join(view.name(name) for name in ids)),
        "mentions": lambda ids: Markdown("; ".join(view.mention(name) for name in ids)),
        "line": view.line,
        "cell": view.cell,
        "text": view.text,
        "code": markdown.code,
        "block": markdown.block,
        "anchor": markdown.anchor,
        "address": markdown.address,
        "linked_ids": view.linked_ids,
        "standing": view.standing,
        "grade": view.grade_name,
        "grade_why": view.grade_why,
        "source": view.source,
        "subject": view.subject,
        "topic_link": lambda topic: markdown.link(
            markdown.inline(topic.title), view.links.to_topic(topic)
        ),
        "front_matter": front_matter,
        "is_measurement": is_measurement,
        "is_claim": is_claim,
        "is_unknown": lambda value: hasattr(value, "unknown"),
        "pretty": pretty,
        "series_view": knowledge.series,
        "knowledge_standing": knowledge.standing,
    }
