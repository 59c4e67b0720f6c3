"""Every example in the documentation runs, and shows what the page says it shows.

A page is one session: its examples run from top to bottom in one namespace. ```pycon blocks are doctests.
```python blocks are run as they stand, and the ```text block directly after one holds what it prints, the
last line of an uncaught error included (`...` stands for anything). `title="fill.py"` names the file in
messages. A block after a comment `<!-- not run: why -->` is left alone; the probe in how-it-works.md, which
is one, is compared by a test of its own.
"""

import contextlib
import doctest
import io
import re
from pathlib import Path

import pytest

import freshjit

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
FENCE = re.compile(
    r"(?P<skip><!-- not run[^\n]*\n)?^```(?P<kind>pycon|python|text)(?P<info>[^\n]*)\n(?P<body>.*?)^```$",
    re.M | re.S,
)
OPTIONS = doctest.ELLIPSIS | doctest.REPORT_NDIFF


def blocks(text):
    """The fenced blocks of a page, each ```text block with the ```python block before it."""
    found = []
    for match in FENCE.finditer(text):
        kind, line = match["kind"], text.count("\n", 0, match.start("body"))
        if match["skip"]:
            continue
        if kind != "text":
            title = re.search(r'title="([^"]+)"', match["info"])
            found.append([kind, title and title[1], line, match["body"], None, match.end()])
        elif found and found[-1][0] == "python" and not text[found[-1][5] : match.start()].strip():
            found[-1][4] = match["body"]
    return [block[:5] for block in found]


def run_file(code, name, namespace):
    """Run a block as Python would run a file; what it prints, with the last line of an error."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        try:
            exec(compile(code, name, "exec"), namespace)
        except Exception as error:
            kind = type(error)
            module = "" if kind.__module__ == "builtins" else f"{kind.__module__}."
            print(f"{module}{kind.__qualname__}: {error}")
    return printed.getvalue()


def run_page(page):
    """Run the examples of a page and compare what they show; its namespace at the end."""
    namespace = {"__name__": "__main__"}
    checker, parser = doctest.OutputChecker(), doctest.DocTestParser()
    runner = doctest.DocTestRunner(checker, verbose=False, optionflags=OPTIONS)
    for kind, title, line, body, wanted in blocks(page.read_text()):
        place = f"{page.name}:{line + 1}"
        if kind == "pycon":
            test = parser.get_doctest(body, namespace, page.name, str(page), line)
            test.globs = namespace  # not the copy that it made: all blocks are one session
            report = []
            failed = runner.run(test, out=report.append, clear_globs=False).failed
            assert not failed, f"{place}\n{''.join(report)}"
        else:
            printed = run_file(body, title or page.name, namespace)
            wanted = wanted or ""
            assert checker.check_output(wanted, printed, OPTIONS), (
                f"{place}\nwanted:\n{wanted}\ngot:\n{printed}"
            )
    return namespace


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_page(page):
    run_page(page)


def renumbered(code):
    """Generated names (``miss38``, ``v2``) numbered in the order in which they come."""
    names = {}
    return re.sub(r"\b([A-Za-z]+)\d+\b", lambda m: f"{m[1]}_{names.setdefault(m[0], len(names))}", code)


def test_the_probe_in_how_it_works_is_what_is_generated_now():
    page = ROOT / "docs" / "how-it-works.md"
    shown = re.search(r"^```python\n(def run.*?)^```$", page.read_text(), re.M | re.S)[1]
    generated = run_page(page)["program"].probe.source
    assert renumbered(shown.strip()) == renumbered(generated.strip())


@pytest.mark.parametrize("name", [*freshjit.__all__, "map"])
def test_every_public_name_is_documented_with_an_example(name):
    text = getattr(freshjit, name).__doc__
    assert "Example:" in text
    assert ">>>" in text


ERRORS = [n for n in freshjit.__all__ if n.endswith(("Error", "Warning"))]


@pytest.mark.parametrize("name", ERRORS)
def test_every_error_has_a_section_with_code_that_meets_it(name):
    sections = re.split(r"^## ", (ROOT / "docs" / "errors.md").read_text(), flags=re.M)
    section = next(s for s in sections if s.startswith(f"{name}\n"))
    assert "```python" in section
    assert name in section.split("\n", 1)[1]
