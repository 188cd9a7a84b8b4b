"""In a real kernel: replies, streams, payloads, tracebacks, pickling, completion."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import start_new_kernel

LOAD = (
    "import os; os.environ['NO_COLOR'] = '1'\n"
    "from jitmagic.magic.loader import load as _load\nfrom tests.magic.fakes import *\n"
    "from tests.magic.fakes import compiled, kernel, recompiled, engine as _engine\n"
    "_load(get_ipython(), _engine())\nget_ipython().colors = 'nocolor'"
)


@dataclass
class Reply:
    """What the kernel said to one cell."""

    status: str
    content: dict[str, Any]
    outputs: list[tuple[str, Any]] = field(default_factory=list)

    def texts(self) -> list[str]:
        """Kind and text of each output, in order."""
        return [f"{kind}: {_text(kind, content)}" for kind, content in self.outputs]

    @property
    def traceback(self) -> str:
        lines = next(content["traceback"] for kind, content in self.outputs if kind == "error")
        return re.sub(r"\x1b\[[0-9;]*m", "", "\n".join(lines))


def _text(kind: str, content: dict[str, Any]) -> str:
    if kind == "stream":
        return str(content["text"]).strip()
    return str(content["data"]["text/plain"]) if "data" in content else str(content["ename"])


def _goes_on(outputs: list[tuple[str, Any]], content: dict[str, Any]) -> bool:
    """A stream comes in pieces when it likes, in the middle of a line as well: put them together."""
    if not outputs or outputs[-1][0] != "stream" or outputs[-1][1]["name"] != content["name"]:
        return False
    outputs[-1][1]["text"] += content["text"]
    return True


class Kernel:
    """A running kernel."""

    def __init__(self, client: BlockingKernelClient) -> None:
        self.client = client

    def run(self, cell: str) -> Reply:
        outputs: list[tuple[str, Any]] = []

        def keep(message: dict[str, Any]) -> None:
            kind = message["header"]["msg_type"]
            if kind == "stream" and _goes_on(outputs, message["content"]):
                return
            if kind in ("stream", "display_data", "execute_result", "error", "update_display_data"):
                outputs.append((kind, message["content"]))

        reply = self.client.execute_interactive(cell, timeout=60, output_hook=keep)
        return Reply(reply["content"]["status"], reply["content"], outputs)


@pytest.fixture(scope="module")
def kernel() -> Iterator[Kernel]:
    manager, client = start_new_kernel(kernel_name="python3")
    try:
        started = Kernel(client)
        assert started.run(LOAD).status == "ok"
        yield started
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


FAILING = {
    "error": "def f(x):\n    y = x\n    return 1 / y\n\nf(0)",
    "method": "class C:\n    def m(self):\n        raise KeyError('k')\nC().m()",
    "syntax": "x = 1\ny = = 2",
    "syntax at run time": "eval('1 +')",
    "await": "import asyncio\nasync def f():\n    await asyncio.sleep(0)\n    raise LookupError('x')\nawait f()",
    "interrupt": "def f():\n    raise KeyboardInterrupt\nf()",
}


@pytest.mark.parametrize("name", FAILING)
def test_errors_are_those_of_the_plain_cell(name: str, kernel: Kernel) -> None:
    """Status (so that Run All stops), name, text and traceback with the same lines of the cell."""
    plain = kernel.run("# %%compile -q\n" + FAILING[name])
    compiled = kernel.run("%%compile -q\n" + FAILING[name])
    assert (compiled.status, plain.status) == ("error", "error")
    assert compiled.content["ename"] == plain.content["ename"]
    differs = r"In\[\d+\]|\d+\.py|(?m:^ +1 (# %%compile -q)?\n)"  # the line of the magic is no code
    tidy = (re.sub(differs, "", r.content["evalue"] + r.traceback) for r in (compiled, plain))
    assert next(tidy) == next(tidy)
    assert kernel.run("1 + 1").texts() == ["execute_result: 2"]


def test_the_line_of_the_gutter_is_kept_for_later_calls(kernel: Kernel) -> None:
    number = kernel.run("%%compile\n\ndef late(x):\n    return 1 / x").content["execution_count"]
    reply = kernel.run("late(0)")
    assert f"Cell In[{number}], line 4, in late(x)" in reply.traceback


def test_prints_then_the_value_then_the_card(kernel: Kernel) -> None:
    reply = kernel.run("%%compile\ndef f(): pass\nprint('print')\ncompiled(f)\n'value'")
    assert reply.texts() == [
        "stream: print",
        "execute_result: 'value'",
        "display_data: card of f (auto, fold)",
    ]
    assert "text/html" in reply.outputs[-1][1]["data"]


def test_progress_has_one_place_that_ends_as_the_card(kernel: Kernel) -> None:
    reply = kernel.run(
        "%%compile\nimport tests.magic.fakes as fakes\ndef f(): pass\nfor _ in range(3): fakes.kernel(f, 0.3)"
    )
    assert reply.texts() == [
        "display_data: compiling f: 2 kernels, 0.6 s so far",
        "update_display_data: compiling f: 3 kernels, 0.9 s so far",
        "update_display_data: card of f (auto, fold)",
    ]
    assert len({content["transient"]["display_id"] for _, content in reply.outputs}) == 1


def test_captured_progress_does_not_swallow_the_card(kernel: Kernel) -> None:
    reply = kernel.run(
        "%%compile\nimport tests.magic.fakes as fakes\nfrom IPython.utils.capture import capture_output\n"
        "def f(): pass\nwith capture_output():\n    fakes.kernel(f, 3.0)"
    )
    assert reply.texts() == ["display_data: card of f (auto, fold)"]


def test_await_at_top_level(kernel: Kernel) -> None:
    reply = kernel.run("%%compile\nimport asyncio\nasync def f():\n    await asyncio.sleep(0)\n    return 6\nawait f()")
    assert reply.texts() == ["execute_result: 6"]


def test_a_usage_error_stops_run_all(kernel: Kernel) -> None:
    reply = kernel.run("%%compile nope\ndef f(): pass")
    assert (reply.status, reply.content["ename"]) == ("error", "UsageError")


def test_a_quotation_that_does_not_end_is_a_usage_error(kernel: Kernel) -> None:
    reply = kernel.run("%%compile 'unclosed\ndef f(): pass")
    assert (reply.status, reply.content["ename"]) == ("error", "UsageError")
    assert "No closing quotation" in reply.content["evalue"]


def test_functions_are_pickled_by_reference(kernel: Kernel) -> None:
    kernel.run("%%compile\ndef f(x): return x + 1\nclass C:\n    def m(self): return 2")
    reply = kernel.run(
        "import pickle\n"
        "pickle.loads(pickle.dumps(f)) is f, f.__module__, pickle.loads(pickle.dumps(C().m))(), "
        "'__main__' in repr(pickle.dumps(f))"
    )
    assert reply.texts() == ["execute_result: (True, '__main__', 2, True)"]


def test_doctests_of_the_notebook_run(kernel: Kernel) -> None:
    kernel.run("%%compile\ndef add(x):\n    '''\n    >>> add(1)\n    2\n    '''\n    return x + 1")
    reply = kernel.run("import doctest\ndoctest.run_docstring_examples(add, globals())\ndoctest.testmod().failed")
    assert reply.texts() == ["execute_result: 0"]


def test_source_and_help_on_request(kernel: Kernel) -> None:
    kernel.run("%%compile\ndef shown(x):\n    'Shows.'\n    return x  # as written")
    (payload,) = kernel.run("shown??").content["payload"]
    assert "return x  # as written" in payload["data"]["text/plain"]
    (payload,) = kernel.run("%%compile?").content["payload"]
    assert "--fullgraph" in payload["data"]["text/plain"]


def test_help_is_paged(kernel: Kernel) -> None:
    (payload,) = kernel.run("%%compile -h\nx = 1").content["payload"]
    assert "--fullgraph" in payload["data"]["text/plain"]


def test_completion_through_the_kernel(kernel: Kernel) -> None:
    text = "%%compile --gr\ndef f(): pass"
    reply = kernel.client.complete(text, len("%%compile --gr"), reply=True, timeout=30)["content"]
    assert reply["matches"] == ["--graph"]
    assert text[reply["cursor_start"] : reply["cursor_end"]] == "--gr"


def test_numba_finds_the_source_of_the_cell(kernel: Kernel) -> None:
    """Its typing errors quote the line, where plain cells say "source missing"."""
    reply = kernel.run("%%compile\nimport numba\n@numba.njit\ndef f(x):\n    return x.nothing\nf(1)")
    assert reply.content["ename"] == "TypingError"
    assert "return x.nothing" in reply.content["evalue"]


def test_the_notebook_survives_an_unload(kernel: Kernel) -> None:
    kernel.run("%%compile\ndef stays(x): return x + 1")
    kernel.run("from jitmagic.magic.loader import unload as _unload\n_unload(get_ipython())")
    assert kernel.run("stays(1)").texts() == ["execute_result: 2"]
    assert kernel.run("%%compile\n1").status == "error"
    assert kernel.run(LOAD).status == "ok"
    assert kernel.run("%%compile\n1").texts() == ["execute_result: 1"]
