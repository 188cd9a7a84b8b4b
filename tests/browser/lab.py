"""Takes a notebook, gives it open in a real JupyterLab, to run, read, click and photograph.

``LabServer`` is a private Jupyter server (own port, no token, own configuration, settings and data
folders); ``NotebookPage`` is one notebook in one page of Chromium. JavaScript errors after loading
are collected in ``NotebookPage.script_errors``.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import nbformat
from playwright.sync_api import Locator, Page

T = TypeVar("T")

START_SECONDS = 90.0
CELLS_SECONDS = 180.0

# Lab's settings: no news, no checks for updates, the wanted theme, and every cell in the page
# (JupyterLab otherwise removes cells that are out of sight).
SETTINGS: dict[str, dict[str, Any]] = {
    "apputils-extension/notification": {
        "fetchNews": "false",
        "checkForUpdates": False,
        "doNotDisturbMode": True,
    },
    "apputils-extension/themes": {"theme": "JupyterLab Light", "adaptive-theme": False},
    "notebook-extension/tracker": {"windowingMode": "none"},
}

# Notebook panels open in Lab's main area; there is one per page.
PANEL = """[...window.jupyterapp.shell.widgets('main')].find(w => w.content?.widgets && w.context)"""
KERNEL_STATUS = f"""() => {{
  const panel = {PANEL};
  const ready = panel && panel.context.isReady && panel.sessionContext.isReady;
  return ready ? panel.sessionContext.session?.kernel?.status ?? null : null;
}}"""
THEME = "theme => window.jupyterapp.commands.execute('apputils:change-theme', {theme})"
NOTEBOOK = f"() => ({PANEL}).content.model.toJSON()"
TRUSTED = f"() => ({PANEL}).content.model.cells.get(0).trusted"
RUN_ALL = """() => {
  window.ranAll = false;
  const done = () => { window.ranAll = true; };
  window.jupyterapp.commands.execute('notebook:run-all-cells').then(done, done);
}"""


class LabServer:
    """A JupyterLab server on this machine that serves ``folder / "notebooks"``."""

    def __init__(self, folder: Path) -> None:
        self.notebooks = folder / "notebooks"
        self.notebooks.mkdir()
        self._log = folder / "server.log"
        _write_settings(folder / "settings")
        port = _free_port()
        self.url = f"http://127.0.0.1:{port}"
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                _command(self.notebooks, port),
                stdout=log,
                stderr=subprocess.STDOUT,
                env=_environment(folder),
                start_new_session=True,  # so that its kernels can be stopped with it
            )
        wait_until(self._answers, "the Jupyter server", START_SECONDS)

    def log(self) -> str:
        """The last lines that the server wrote."""
        return "\n".join(self._log.read_text(errors="replace").splitlines()[-30:])

    def stop_kernels(self) -> None:
        with urllib.request.urlopen(f"{self.url}/api/sessions", timeout=10) as answer:
            sessions = json.load(answer)
        for session in sessions:
            request = urllib.request.Request(f"{self.url}/api/sessions/{session['id']}", method="DELETE")
            urllib.request.urlopen(request, timeout=20).close()

    def stop(self) -> None:
        """End the server and everything it started; only its own process group is touched."""
        for wanted, grace_seconds in ((signal.SIGTERM, 10), (signal.SIGKILL, 5)):
            try:
                os.killpg(self._process.pid, wanted)
                self._process.wait(grace_seconds)
            except (ProcessLookupError, subprocess.TimeoutExpired):
                continue
            return

    def _answers(self) -> bool:
        if self._process.poll() is not None:
            raise RuntimeError(f"Jupyter ended with {self._process.returncode}:\n{self.log()}")
        try:
            with urllib.request.urlopen(f"{self.url}/api/status", timeout=2) as answer:
                return bool(answer.status == 200)
        except (urllib.error.URLError, OSError):
            return False


class NotebookPage:
    """One notebook, open in JupyterLab; ``page`` is Playwright's, for all the rest."""

    def __init__(self, page: Page, server: LabServer, path: Path) -> None:
        self.page = page
        self.path = path
        self.script_errors: list[str] = []
        page.goto(f"{server.url}/lab/tree/{path.name}?reset", wait_until="domcontentloaded")
        page.wait_for_selector(".jp-Notebook .jp-Cell", timeout=START_SECONDS * 1000)
        page.wait_for_function("() => !!window.jupyterapp", timeout=START_SECONDS * 1000)
        self._wait_idle(START_SECONDS)
        page.evaluate("() => window.jupyterapp.shell.collapseLeft()")  # room for the notebook
        # Registered only now: what Lab throws while it loads itself is not about our notebook.
        page.on("pageerror", lambda error: self.script_errors.append(str(error)))

    def run_all(self, seconds: float = CELLS_SECONDS) -> None:
        """Run every cell; returns when all have run, or one has raised, and the kernel is idle."""
        self.page.evaluate(RUN_ALL)
        self._wait(lambda: bool(self.page.evaluate("() => window.ranAll")), "the cells", seconds)
        self._wait_idle(seconds)

    def cell(self, number: int) -> Locator:
        """One cell, counted from 0 over code and text cells."""
        return self.page.locator(".jp-Notebook .jp-Cell").nth(number)

    def output(self, number: int) -> Locator:
        """What cell ``number`` has put out, as it stands in the page."""
        return self.cell(number).locator(".jp-OutputArea").first

    def text(self) -> str:
        """The text of the whole notebook that a reader sees."""
        return self.page.locator(".jp-Notebook").first.inner_text()

    def outputs(self) -> list[list[dict[str, Any]]]:
        """The outputs of each cell, as the front end holds them; text cells have none."""
        cells = self.page.evaluate(NOTEBOOK)["cells"]
        return [cell.get("outputs", []) for cell in cells]

    def is_trusted(self) -> bool:
        """Whether JupyterLab trusts the outputs of the first cell: only those that it ran itself."""
        return bool(self.page.evaluate(TRUSTED))

    def errors(self) -> list[str]:
        """``Name: message`` of every error that a cell put out."""
        return [
            f"{output['ename']}: {output['evalue']}"
            for outputs in self.outputs()
            for output in outputs
            if output["output_type"] == "error"
        ]

    def set_theme(self, name: str) -> None:
        """``JupyterLab Dark`` or ``JupyterLab Light``."""
        self.page.evaluate(THEME, name)
        light = "true" if name.endswith("Light") else "false"
        self.page.wait_for_selector(f"body[data-jp-theme-light='{light}']", state="attached")
        self.page.locator("#jupyterlab-splash").wait_for(state="detached")

    def screenshot(self, path: Path, locator: Locator | None = None) -> Path:
        """Photograph one element, or all that is in sight."""
        (locator or self.page).screenshot(path=path)
        return path

    def _wait_idle(self, seconds: float) -> None:
        self._wait(self._is_idle, "an idle kernel", seconds)

    def _is_idle(self) -> bool:
        dialogs = self.page.locator(".jp-Dialog")
        if dialogs.count():  # a question would be waited for without end
            raise RuntimeError(f"JupyterLab asks: {dialogs.first.inner_text()}")
        return bool(self.page.evaluate(KERNEL_STATUS) == "idle")

    def _wait(self, condition: Callable[[], bool], what: str, seconds: float) -> None:
        wait_until(condition, what, seconds, pause=lambda s: self.page.wait_for_timeout(s * 1000))


def wait_until(
    condition: Callable[[], T],
    what: str,
    seconds: float,
    pause: Callable[[float], None] = time.sleep,
) -> T:
    """Ask until ``condition`` gives something true; TimeoutError after ``seconds``."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := condition():
            return found
        pause(0.2)
    raise TimeoutError(f"waited {seconds:g} s for {what}")


def write_notebook(path: Path, cells: list[str]) -> Path:
    """A notebook of these code cells."""
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(source) for source in cells],
        metadata={"kernelspec": {"name": "python3", "display_name": "Python 3"}},
    )
    nbformat.write(notebook, path)
    return path


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _command(root: Path, port: int) -> list[str]:
    options = {
        "ServerApp.ip": "127.0.0.1",
        "ServerApp.port": port,
        "ServerApp.port_retries": 0,
        "ServerApp.root_dir": root,
        "ServerApp.password": "",
        "ServerApp.disable_check_xsrf": True,
        "IdentityProvider.token": "",
        "LabApp.news_url": None,
        "LabApp.expose_app_in_browser": True,  # gives window.jupyterapp
    }
    flags = [f"--{name}={value}" for name, value in options.items()]
    return [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", *flags]


def _environment(folder: Path) -> dict[str, str]:
    """Nothing of the user's leaks in: every folder that Jupyter knows lies under ``folder``."""
    places = {
        "JUPYTER_CONFIG_DIR": "config",
        "JUPYTER_DATA_DIR": "data",
        "JUPYTER_RUNTIME_DIR": "runtime",
        "JUPYTERLAB_SETTINGS_DIR": "settings",
        "JUPYTERLAB_WORKSPACES_DIR": "workspaces",
        "IPYTHONDIR": "ipython",
    }
    for name in places.values():
        (folder / name).mkdir(parents=True, exist_ok=True)
    return {
        **os.environ,
        **{variable: str(folder / name) for variable, name in places.items()},
        "JUPYTER_PREFER_ENV_PATH": "1",  # the kernel is that of the environment under test
    }


def _write_settings(folder: Path) -> None:
    for plugin, values in SETTINGS.items():
        path = folder / "@jupyterlab" / f"{plugin}.jupyterlab-settings"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(values))
