"""A cell that fails below ``%%compile`` fails as the plain cell whose first line is a comment."""

from __future__ import annotations

import inspect
import itertools
import re
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from jupyter_client.manager import start_new_kernel
from traitlets.config import Config

from tests.magic.failing_cells import FAILING, Failing
from tests.magic.test_kernel import Kernel, Reply

# What differs from session to session.
_DIFFERS = (
    (r"\x1b\[[0-9;]*m", ""),
    (r"<ipython-input-\d+-[0-9a-f]+>|[^\s']*ipykernel_\d+[^\s']*\.py|(?<=\()\d+\.py(?=, line)", "<cell>"),
    (r"0x[0-9a-f]+", "0x"),
    (r"In\[\d+\]", "In[n]"),
    (r"(?m)^ +\d+ (# %%compile -q)?\n", ""),  # the line of the magic is no code
)
_VALUE = re.compile(r"^ {8}\w+ = .*\n(?:       +\S.*\n)*", re.MULTILINE)  # of a variable, below a line of the traceback
_PLAIN, _COMPILED = "# %%compile -q\n", "%%compile -q\n"


def _tidy(text: str) -> str:
    for pattern, by in _DIFFERS:
        text = re.sub(pattern, by, text)
    return text


def _entries(first: TracebackType | None) -> Iterator[TracebackType]:
    while first is not None:
        if "/IPython/" not in first.tb_frame.f_code.co_filename:
            yield first
        first = first.tb_next


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _frames(error: BaseException | None) -> list[tuple[Any, ...]]:
    """Class, text and frames of an exception and of those that it came of."""
    found: list[tuple[Any, ...]] = []
    for each in _chain(error):
        found.append((type(each).__qualname__, _tidy(str(each)), each.__suppress_context__))
        for entry in itertools.islice(_entries(each.__traceback__), 30):
            code = entry.tb_frame.f_code
            variables = code.co_varnames if code.co_flags & 1 else ()
            found.append((code.co_name, code.co_qualname, entry.tb_lineno, variables))
    return found


def _variables(error: BaseException | None) -> list[set[str]]:
    """The names of the local variables of each frame of a function."""
    found = [entry.tb_frame for each in _chain(error) for entry in _entries(each.__traceback__)]
    return [set(frame.f_locals) for frame in found if frame.f_code.co_flags & 1]


def _formatted(error: BaseException | None) -> str:
    """What ``traceback`` prints, without the frames of IPython itself."""
    lines = "".join(traceback.format_exception(error)) if error is not None else ""
    return _tidy(re.sub(r'  File "[^"]*/IPython/[^\n]*\n[^\n]*\n(?: *[\^~]+\n)?', "", lines))


def _in_shell(head: str) -> dict[str, list[dict[str, Any]]]:
    """What every cell and call of the table does, in a shell of its own that shows values, too."""
    InteractiveShell.clear_instance()
    setup = Config()
    setup.HistoryManager.enabled = False
    setup.InteractiveShell.colors = "nocolor"
    setup.InteractiveShell.xmode = "Verbose"
    shell = InteractiveShell.instance(config=setup)
    if head == _COMPILED:
        shell.run_line_magic("load_ext", "jitmagic")
        shell.run_line_magic("config", 'JitMagic.report = "none"')
    try:
        with warnings.catch_warnings():  # as outside of pytest
            warnings.simplefilter("default")
            warnings.showwarning = lambda *said, **more: print(warnings.formatwarning(*said[:4]), file=sys.stderr)
            cells = {name: (head + row.cell, *row.calls) for name, row in FAILING.items()}
            return {name: [_ran(shell, text) for text in texts] for name, texts in cells.items()}
    finally:
        if head == _COMPILED:
            shell.run_line_magic("unload_ext", "jitmagic")
        InteractiveShell.clear_instance()


def _ran(shell: Any, text: str) -> dict[str, Any]:
    with capture_output() as captured:
        result = shell.run_cell(text, store_history=True)
    error = result.error_before_exec or result.error_in_exec
    return {
        "shown": _tidy(captured.stdout),
        "told": _tidy(captured.stderr),
        "frames": _frames(error),
        "formatted": _formatted(error),
        "count": result.execution_count,
        "variables": _variables(error),
    }


def _quick(getmodule: Callable[..., Any]) -> Callable[..., Any]:
    """``inspect.getmodule`` looks through all modules for each frame of a cell; so it does that once a file."""
    known: dict[str, Any] = {}

    def quick(of: Any, filename: str | None = None) -> Any:
        name = getattr(getattr(of, "f_code", of), "co_filename", None)
        if name is None:
            return getmodule(of, filename)
        if name not in known:
            known[name] = getmodule(of, filename)
        return known[name]

    return quick


_Table = dict[str, list[dict[str, Any]]]


@pytest.fixture(scope="module")
def tables() -> Iterator[tuple[_Table, _Table]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(inspect, "getmodule", _quick(inspect.getmodule))
        yield _in_shell(_PLAIN), _in_shell(_COMPILED)


@pytest.mark.parametrize("name", FAILING)
def test_it_fails_as_the_plain_cell(name: str, tables: tuple[_Table, _Table]) -> None:
    """Display, streams, frames, names and execution count; a frame may lack a variable that only the graph knew."""
    for plain, compiled in zip(tables[0][name], tables[1][name], strict=True):
        expected, found = plain.pop("variables"), compiled.pop("variables")
        if any(f != e for e, f in zip(expected, found, strict=False)):
            for each in (plain, compiled):
                each["shown"] = _VALUE.sub("", each["shown"])
        assert compiled == plain
        assert all(f <= e for e, f in zip(expected, found, strict=False))


@pytest.fixture(scope="module")
def kernels() -> Iterator[Callable[[str, Failing], list[Reply]]]:
    """Runs a row in the kernel that belongs to the magic line."""
    started = {head: start_new_kernel(kernel_name="python3") for head in (_PLAIN, _COMPILED)}
    load = "import os; os.environ['NO_COLOR'] = '1'; get_ipython().colors = 'nocolor'\n"
    opened = {head: Kernel(client) for head, (_, client) in started.items()}
    opened[_PLAIN].run(load)
    opened[_COMPILED].run(load + "%load_ext jitmagic\n%config JitMagic.report = 'none'")
    try:
        yield lambda head, row: [opened[head].run(text) for text in (head + row.cell, *row.calls)]
    finally:
        for manager, client in started.values():
            client.stop_channels()
            manager.shutdown_kernel(now=True)


@pytest.mark.parametrize("name", FAILING)
def test_it_fails_so_in_a_kernel(name: str, kernels: Callable[[str, Failing], list[Reply]]) -> None:
    """Status, count, name, text and traceback of the reply; what is printed and told; and the kernel lives on."""
    plain, compiled = (kernels(head, FAILING[name]) for head in (_PLAIN, _COMPILED))
    for expected, found in zip(plain, compiled, strict=True):
        assert _told(found) == _told(expected)
    alive = (kernels(head, Failing("6 * 7")) for head in (_PLAIN, _COMPILED))
    assert [reply[0].texts() for reply in alive] == [["execute_result: 42"]] * 2


def _told(reply: Reply) -> list[Any]:
    content = reply.content
    error = [_tidy(str(content.get(key, ""))) for key in ("ename", "evalue")]
    lines = _tidy("\n".join(content.get("traceback", ())))
    said = re.sub(r"\nstream: ", "\n", "\n".join(reply.texts()))  # a stream comes in pieces when it likes
    return [reply.status, content["execution_count"], *error, lines, _tidy(said)]


def test_a_refused_break_is_shown_at_its_cell() -> None:
    """With ``--fullgraph``: the number and the line of the cell, not the file name that was made up for it."""
    InteractiveShell.clear_instance()
    shell = InteractiveShell.instance()
    shell.run_line_magic("load_ext", "jitmagic")
    try:
        text = "%%compile -q --fullgraph\ndef f(a):\n    b = a + 1\n    b.dumps()\n    return b\n"
        with capture_output():
            shell.run_cell(text, store_history=True)
            result = shell.run_cell("import numpy as np; f(np.ones(3))", store_history=True)
        assert "f has one at Cell In[1], line 4: " in str(result.error_in_exec)
    finally:
        shell.run_line_magic("unload_ext", "jitmagic")
        InteractiveShell.clear_instance()


MAGICS = {
    "alone": "%%compile -q\n",
    "time above": "%%time\n%%compile -q\n",
    "time below": "%%compile -q\n%%time\n",
    "prun above": "%%prun -q\n%%compile -q\n",
    "prun below": "%%compile -q\n%%prun -q\n",
    "blank lines above": "\n  \n%%compile -q\n",
    "blank lines below": "%%compile -q\n\n\n",
    "blank lines between": "%%time\n\n%%compile -q\n\n",
}


_FAILS = "import numpy as np\ndef f(a):\n    return a[9]\nf(np.ones(3))\n"


@pytest.mark.parametrize("name", MAGICS)
def test_other_magics_and_blank_lines_leave_the_lines_of_the_cell(name: str) -> None:
    """The frames shown are those of the user's statements, with the numbers at which they stand in the cell."""
    InteractiveShell.clear_instance()
    shell = InteractiveShell.instance()
    shell.run_line_magic("load_ext", "jitmagic")
    head = MAGICS[name]
    above = head.count("\n")
    try:
        with capture_output() as captured:
            result = shell.run_cell(head + _FAILS)
            later = shell.run_cell("f(np.ones(4))")
        with capture_output():
            plain = shell.run_cell(head.replace("%%compile -q\n", "") + _FAILS)
    finally:
        shell.run_line_magic("unload_ext", "jitmagic")
        InteractiveShell.clear_instance()
    shown = re.findall(r"^-+> (\d+) +(.*)", _tidy(captured.stdout), re.MULTILINE)
    expected = [
        (above + 4, "f(np.ones(3))"),
        (above + 3, "return a[9]"),
        (1, "f(np.ones(4))"),
        (above + 3, "return a[9]"),
    ]
    assert [(int(line), text) for line, text in shown] == expected
    assert type(later.error_in_exec) is IndexError
    assert type(result.error_in_exec) is type(plain.error_in_exec)  # the %%time of IPython 8.12 keeps it for itself
    assert "%%" not in captured.stdout
    assert "Error retrieving" not in captured.stdout
