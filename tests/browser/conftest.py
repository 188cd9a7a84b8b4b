"""Fixtures that open notebooks in JupyterLab and Chromium; says whether browser tests can run.

Without Chromium they are reported as not run, by one skip that says why. With
``JITMAGIC_REQUIRE_BROWSER=1``, as in continuous integration, its absence is a failure.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:  # without the lab extra these tests are not run, but must be collected
    from playwright.sync_api import Browser

    from tests.browser.lab import LabServer, NotebookPage

CHROMIUM = shutil.which("chromium")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-sync",
]
REQUIRED = os.environ.get("JITMAGIC_REQUIRE_BROWSER") == "1"


def missing() -> str | None:
    """What the browser tests lack, or None."""
    if CHROMIUM is None:
        return "Chromium is not installed (on Debian: apt-get install chromium)"
    for package in ("jupyterlab", "playwright"):
        if importlib.util.find_spec(package) is None:
            return f"{package} is not installed (pip install -e '.[test,lab]')"
    return None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """One process runs all browser tests; where they cannot run, one of them stays to say so."""
    here = [item for item in items if item.get_closest_marker("browser")]
    for item in here:
        item.add_marker(pytest.mark.xdist_group("browser"))
    if here and missing() and not REQUIRED:
        here[0].add_marker(pytest.mark.skip(f"{len(here)} browser tests not run: {missing()}"))
        config.hook.pytest_deselected(items=here[1:])
        items[:] = [item for item in items if item not in here[1:]]


@pytest.fixture(scope="session")
def lab_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabServer]:
    if lack := missing():
        pytest.fail(f"browser tests are required, but {lack}")
    from tests.browser.lab import LabServer

    server = LabServer(tmp_path_factory.mktemp("lab"))
    yield server
    server.stop()


@pytest.fixture(scope="module")
def chromium(lab_server: LabServer) -> Iterator[Browser]:
    """One browser for a module.

    Not for the session: Playwright keeps an event loop running as long as it lives, and tests that
    start a loop of their own (nbclient) would fail after it in the same process.
    """
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def open_notebook(
    lab_server: LabServer, chromium: Browser, request: pytest.FixtureRequest
) -> Iterator[Callable[[Path | list[str]], NotebookPage]]:
    """``open_notebook(path)`` opens a copy; ``open_notebook([cell, cell])`` makes the notebook.

    At the end of the test its page is closed and its kernel stopped.
    """
    yield from _opener(lab_server, chromium, request.node.name)


@pytest.fixture(scope="module")
def open_for_module(
    lab_server: LabServer, chromium: Browser, request: pytest.FixtureRequest
) -> Iterator[Callable[[Path | list[str]], NotebookPage]]:
    """The same for a notebook that all tests of a module look at."""
    yield from _opener(lab_server, chromium, Path(request.node.name).stem)


def _opener(
    lab_server: LabServer, chromium: Browser, name: str
) -> Iterator[Callable[[Path | list[str]], NotebookPage]]:
    from tests.browser.lab import NotebookPage, write_notebook

    pages = []

    def open_one(notebook: Path | list[str]) -> NotebookPage:
        path = lab_server.notebooks / f"{name}-{len(pages)}.ipynb"
        if isinstance(notebook, Path):
            shutil.copy(notebook, path)
        else:
            write_notebook(path, notebook)
        context = chromium.new_context(viewport={"width": 1200, "height": 1000})
        pages.append(context)
        return NotebookPage(context.new_page(), lab_server, path)

    yield open_one
    for context in pages:
        context.close()
    lab_server.stop_kernels()
