"""Every Python block of the docs runs as it is written; the blocks of one page follow one another. `<!-- not run: REASON -->` on the
line above leaves one out. The doctests of the module run as well."""

import doctest
import pathlib
import re

import pytest

import tripwire

ROOT = pathlib.Path(__file__).parents[3]
PAGES = [ROOT / "README.md", ROOT / "bindings/python/README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"(?:^[ \t]*<!--(?P<comment>[^\n]*?)-->[ \t]*\n)?^```python[ \t]*\n(?P<text>.*?)^```[ \t]*$", re.MULTILINE | re.DOTALL)
# A reason shorter than this says nothing.
REASON_LETTERS_MIN = 12


def blocks(text):
    """The blocks of a page that run, each with the number of its first line."""
    for found in BLOCK.finditer(text):
        word, _, reason = (found["comment"] or "").strip().partition(":")
        if word == "not run" and len(reason.strip()) >= REASON_LETTERS_MIN:
            continue
        if word:
            raise ValueError(f"`{word}: {reason.strip()}` is not `not run: REASON`")
        yield text.count("\n", 0, found.start("text")) + 1, found["text"]


def run(text, name):
    namespace = {"__name__": "docs"}
    for line, source in blocks(text):
        # Empty lines in front: a traceback names the line of the page.
        exec(compile("\n" * (line - 1) + source, name, "exec"), namespace)
    return namespace


WITH_BLOCKS = [page for page in PAGES if page.is_file() and BLOCK.search(page.read_text())]


@pytest.mark.parametrize("page", WITH_BLOCKS, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_python_of_the_page_runs(page):
    run(page.read_text(), str(page))


def test_pages_with_python_are_found():
    names = {str(page.relative_to(ROOT)) for page in WITH_BLOCKS}
    assert {"bindings/python/README.md", "docs/start/framework.md", "docs/guide/python.md"} <= names


def test_a_block_that_does_not_hold_is_found_at_its_line():
    with pytest.raises(NameError) as caught:
        run("# A page\n\n```python\nname = 1\n```\n\ntext\n\n```python\nname += 1\nmissing(name)\n```\n", "page.md")
    assert caught.traceback[-1].lineno + 1 == 11


def test_only_a_reason_leaves_a_block_out():
    page = "<!-- {} -->\n```python\nmissing()\n```\n"
    run(page.format("not run: needs a key of a real provider"), "page.md")
    for comment in ("not run:", "not run: no", "later"):
        with pytest.raises(ValueError):
            run(page.format(comment), "page.md")
    run("```text\nmissing()\n```\n\n```sh\nmissing\n```\n", "page.md")


def test_the_doctests_of_the_module_hold():
    tried = doctest.testmod(tripwire)
    assert tried.attempted > 0 and tried.failed == 0
