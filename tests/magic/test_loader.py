"""Loading, settings, unloading without a trace."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from jitmagic import config, events
from jitmagic.magic.loader import load, unload
from jitmagic.magic.magics import JitMagic
from tests.magic.conftest import Notebook
from tests.magic.fakes import engine


def state(shell: Any) -> dict[str, Any]:
    """Everything that the extension touches."""
    manager = shell.magics_manager
    return {
        "cell": "compile" in manager.magics["cell"],
        "line": "jit" in manager.magics["line"],
        "registry": "JitMagic" in manager.registry,  # IPython adds its own when they are used
        "configurables": sum(isinstance(c, JitMagic) for c in shell.configurables),
        "events": {name: len(found) for name, found in shell.events.callbacks.items()},
        "transformers": len(shell.input_transformers_post),
        "matchers": len(shell.Completer.custom_matchers),
        "listeners": len(events._listeners),
        "names": sorted(shell.user_ns),
        "config": config.current(),
    }


def test_unloading_leaves_no_trace(open_notebook: Callable[..., Notebook]) -> None:
    shell = open_notebook(extension=False).shell
    before = state(shell)
    load(shell, engine())
    shell.run_line_magic("config", "JitMagic.entry_limit = 5")
    assert config.current().entry_limit == 5
    assert state(shell) != before
    unload(shell)
    assert state(shell) == before


def test_loading_twice_leaves_one(notebook: Notebook) -> None:
    once = state(notebook.shell)
    load(notebook.shell, engine())
    assert state(notebook.shell) == once


def test_unloading_what_is_not_loaded_does_nothing(open_notebook: Callable[..., Notebook]) -> None:
    shell = open_notebook(extension=False).shell
    before = state(shell)
    unload(shell)
    assert state(shell) == before


def test_functions_stay_when_the_extension_goes(notebook: Notebook) -> None:
    notebook.run("%%compile\ndef f(x): return x + 1")
    unload(notebook.shell)
    assert notebook.run("f(1)").value == 2
    assert "Cell magic `%%compile` not found" in notebook.run("%%compile\n1").err


def test_the_line_form_says_that_it_is_a_cell_magic(notebook: Notebook) -> None:
    assert "cell magic" in notebook.run("%compile").err
    assert notebook.run('eval(compile("1", "a", "eval"))').value == 1


def test_every_setting_is_listed_with_its_value(notebook: Notebook) -> None:
    text = notebook.run("%config JitMagic").out
    for name in ("report", "graph", "progress_after", "entry_limit", "check", "target", "fastmath"):
        assert f"JitMagic.{name}=" in text


def test_settings_reach_the_configuration(notebook: Notebook) -> None:
    notebook.run("%config JitMagic.progress_after = 2.5")
    notebook.run("%config JitMagic.entry_limit = 3")
    assert (config.current().progress_after, config.current().entry_limit) == (2.5, 3)


def test_settings_are_the_defaults_of_the_cell(notebook: Notebook) -> None:
    for setting in ("check = True", "fastmath = True", 'target = "cuda"'):
        notebook.run(f"%config JitMagic.{setting}")
    notebook.run("%%compile --target cpu\ndef f(): pass")
    notebook.run("%%compile\ndef g(): pass")
    f, g = notebook.ns["f"].jit.options, notebook.ns["g"].jit.options
    assert (f["check"], f["fastmath"], f["target"], g["target"]) == (True, True, "cpu", "cuda")


def test_a_profile_sets_them_too(open_notebook: Callable[..., Notebook]) -> None:
    notebook = open_notebook(report="full", entry_limit=4)
    assert config.current().entry_limit == 4
    assert notebook.shell.magics_manager.registry["JitMagic"].report == "full"


def test_a_refused_setting_does_not_break_the_next_load(notebook: Notebook) -> None:
    notebook.run('%config JitMagic.report = "short"')
    notebook.run("%config JitMagic.entry_limit = 9")
    notebook.run("%config JitMagic.progress_after = -1")
    with pytest.warns(UserWarning, match=r"JitMagic\.(report|progress_after) = .* is dropped"):
        magics = load(notebook.shell, engine())
    assert (magics.report, magics.entry_limit) == ("auto", 9)


def test_importing_the_extension_does_not_import_ipython() -> None:
    program = "import sys, jitmagic.magic.extension; print('IPython' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_the_magics_load_where_ipython_lacks_its_newer_parts() -> None:
    """As in IPython 7: no matchers, no test for a final semicolon."""
    program = (
        "import IPython.core.completer as c, IPython.core.displayhook as d\n"
        "del c.context_matcher, d.DisplayHook.semicolon_at_end_of_expression\n"
        "import jitmagic.magic.loader\n"
        "from jitmagic.magic.completion import matcher\nprint(matcher(None))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "None\n"
