"""Templates: escaped by default, strict about fields, sandboxed, overridden file by file."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from gamekit.errors import TemplateFault, UsageFault
from gamekit.render.environment import Templates
from gamekit.render.markdown import Markdown


def _templates(tmp_path, **sources: str) -> Templates:
    for name, source in sources.items():
        (tmp_path / f"{name}.md.j2").write_text(source, encoding="utf-8")
    return Templates([tmp_path])


def test_values_are_escaped_by_default(tmp_path):
    """A template that prints a text without any filter shows it literally."""
    templates = _templates(tmp_path, page="{{ text }}")
    shown = templates.render("page.md.j2", {"text": "a | `b` <script> {{ 7*7 }}"})
    assert shown == "a \\| \\`b\\` &#60;script> {{ 7\\*7 }}\n"


def test_markdown_passes_through_macros_and_blocks(tmp_path):
    """What is Markdown already is escaped neither directly nor through a macro or a set block."""
    source = (
        "{% macro twice(x) %}{{ x }} {{ x }}{% endmacro %}"
        "{% set kept %}{{ twice(bold) }}{% endset %}{{ kept }} {{ twice('a_') }}"
    )
    shown = _templates(tmp_path, page=source).render("page.md.j2", {"bold": Markdown("**b**")})
    assert shown == "**b** **b** a\\_ a\\_\n"


def test_joining_escapes_each_text(tmp_path):
    """The join filter escapes texts and keeps Markdown."""
    templates = _templates(tmp_path, page="{{ items | join('; ') }}")
    assert templates.render("page.md.j2", {"items": [Markdown("**b**"), "*a*"]}) == (
        "**b**; \\*a\\*\n"
    )


def test_missing_field_names_template_line_and_finding(tmp_path):
    """A field that a finding does not have is an error with template, line and the finding's id."""
    templates = _templates(tmp_path, page="one\ntwo\n{{ finding.colour }}\n")
    with pytest.raises(TemplateFault) as caught:
        templates.render("page.md.j2", {"finding": SimpleNamespace(id="baseline")})
    fault = caught.value
    assert (fault.file, fault.line) == ("templates/page.md.j2", 3)
    assert "finding baseline has no field colour" in str(fault)


def test_missing_field_in_an_included_template_names_that_template(tmp_path):
    """The error names the template that the fault is in, not the one that was asked for."""
    templates = _templates(tmp_path, page="{% include 'part.md.j2' %}", part="x\n{{ nothing }}")
    with pytest.raises(TemplateFault) as caught:
        templates.render("page.md.j2", {})
    assert (caught.value.file, caught.value.line) == ("templates/part.md.j2", 2)


def test_syntax_error_names_template_and_line(tmp_path):
    """A template that cannot be parsed is one error with its line."""
    with pytest.raises(TemplateFault, match=r"templates/page\.md\.j2:2"):
        _templates(tmp_path, page="ok\n{% if %}\n").render("page.md.j2", {})


def test_missing_template_is_named(tmp_path):
    """Asking for a template that no folder has names it."""
    with pytest.raises(TemplateFault, match=r"absent\.md\.j2"):
        _templates(tmp_path).render("absent.md.j2", {})


def test_null_is_refused(tmp_path):
    """A template that prints a null field fails instead of writing None."""
    with pytest.raises(TemplateFault, match="null"):
        _templates(tmp_path, page="{{ x }}").render("page.md.j2", {"x": None})


def test_concatenation_is_refused(tmp_path):
    """The operator that joins text and markup without our escaping is not available."""
    with pytest.raises(TemplateFault, match="not available"):
        _templates(tmp_path, page="{{ 'a' ~ x }}").render("page.md.j2", {"x": "b"})


@pytest.mark.parametrize(
    "source", ["{{ ''.__class__.__mro__ }}", "{{ items.append(1) }}", "{{ f.__globals__ }}"]
)
def test_templates_are_sandboxed(tmp_path, source):
    """A template reaches no internals and changes nothing it was given."""
    context = {"items": [], "f": test_templates_are_sandboxed}
    with pytest.raises(TemplateFault):
        _templates(tmp_path, page=source).render("page.md.j2", context)
    assert context["items"] == []


def test_own_template_replaces_the_packaged_one_alone(tmp_path):
    """A template in the first folder hides its namesake in the second, and no other."""
    own, packaged = tmp_path / "own", tmp_path / "packaged"
    for folder in (own, packaged):
        folder.mkdir()
    (packaged / "a.md.j2").write_text("packaged a")
    (packaged / "b.md.j2").write_text("packaged b")
    (own / "a.md.j2").write_text("own a")
    templates = Templates([own, packaged])
    assert templates.render("a.md.j2", {}) == "own a\n"
    assert templates.render("b.md.j2", {}) == "packaged b\n"


def test_blank_lines_are_settled_outside_code(tmp_path):
    """Runs of blank lines become one, except inside a fenced block."""
    shown = _templates(tmp_path, page="a\n\n\n\nb  \n```\nc\n\n\nd\n```\n").render("page.md.j2", {})
    assert shown == "a\n\nb\n```\nc\n\n\nd\n```\n"


def test_a_template_that_changed_is_compiled_again(tmp_path):
    """The same file with another text is another template, also one that another includes."""
    sources = {"page": "{% include 'part.md.j2' %} {{ x }}", "part": "one"}
    assert _templates(tmp_path, **sources).render("page.md.j2", {"x": 1}) == "one 1\n"
    sources["part"] = "two"
    assert _templates(tmp_path, **sources).render("page.md.j2", {"x": 1}) == "two 1\n"
    sources["page"] = "{{ x }} {% include 'part.md.j2' %}"
    assert _templates(tmp_path, **sources).render("page.md.j2", {"x": 1}) == "1 two\n"
    (tmp_path / "part.md.j2").write_text("{% if %}", encoding="utf-8")
    with pytest.raises(TemplateFault, match=r"templates/part\.md\.j2:1"):
        Templates([tmp_path]).render("page.md.j2", {"x": 1})


def test_templates_of_one_name_and_text_in_two_folders_are_told_apart(tmp_path):
    """A fault names the template of its own base, whichever was compiled first."""
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        with pytest.raises(TemplateFault) as caught:
            _templates(tmp_path / name, page="x\n\n{{ nothing }}").render("page.md.j2", {})
        assert (caught.value.file, caught.value.line) == ("templates/page.md.j2", 3)


@pytest.mark.parametrize("fault", ["{{ nothing }}", "{{ fail() }}", "{{ empty }}", "{{ 1 // 0 }}"])
def test_a_fault_in_a_template_compiled_before_has_its_line(tmp_path, fault, monkeypatch):
    """The second environment compiles nothing, and tells the same file and line as the first."""

    def fail():
        raise UsageFault("it failed", mend="do not")

    def compiled_again(*_given, **_named):
        raise AssertionError

    faults = []
    for number in range(2):
        templates = _templates(
            tmp_path, page="one\n{% include 'part.md.j2' %}", part=f"{{# a #}}\n\n\n{fault}\n"
        )
        if number:
            monkeypatch.setattr("jinja2.Environment.compile", compiled_again)
        with pytest.raises(TemplateFault) as caught:
            templates.render("page.md.j2", {"fail": fail, "empty": None})
        faults.append((caught.value.file, caught.value.line, caught.value.message))
    assert faults[0][:2] == ("templates/part.md.j2", 4)
    assert faults[1] == faults[0]
