"""Takes the text after ``%%compile``, gives the options of that cell; ``%%compile -h`` is made from the same rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from IPython.core import magic_arguments as _arguments
from IPython.core.error import UsageError
from IPython.core.magic_arguments import MagicArgumentParser

__all__ = [
    "DYNAMIC",
    "GRAPHS",
    "REPORTS",
    "TARGETS",
    "CellOptions",
    "compile_arguments",
    "read_options",
]

REPORTS = ("auto", "full", "line", "none")
GRAPHS = ("fold", "open", "widget", "text", "none")
TARGETS = ("cpu", "cuda")
DYNAMIC = {"auto": None, "always": True, "never": False}

# IPython gives these no types.
_argument: Any = _arguments.argument
_magic_arguments: Any = _arguments.magic_arguments
_F = TypeVar("_F", bound=Callable[..., Any])

# Flags and keywords of each argument, in the order of the help page.
_ARGUMENTS: tuple[tuple[tuple[str, ...], dict[str, Any]], ...] = (
    (
        ("names",),
        {
            "nargs": "*",
            "metavar": "NAME",
            "help": "compile only these functions, methods or classes",
        },
    ),
    (
        ("--backend",),
        {"metavar": "NAME", "help": "numba (default), eager, aot_eager, or a registered one"},
    ),
    (("--target",), {"choices": TARGETS, "metavar": "WHERE", "help": "cpu or cuda"}),
    (
        ("--dynamic",),
        {
            "choices": tuple(DYNAMIC),
            "default": "auto",
            "metavar": "WHEN",
            "help": "sizes in guards: auto (symbols once they change), always, never",
        },
    ),
    (
        ("--fullgraph", "--strict"),
        {"action": "store_true", "help": "a graph break is an error, at its own line"},
    ),
    (
        ("--fastmath",),
        {"action": "store_true", "help": "allow results that differ in the last bits"},
    ),
    (
        ("--check",),
        {"action": "store_true", "help": "run plain NumPy as well and compare every result"},
    ),
    (
        ("--time",),
        {"action": "store_true", "help": "time compiled and plain on copies of the arguments of the first call"},
    ),
    (
        ("--explain",),
        {"action": "store_true", "help": "trace and report in full, build no kernels"},
    ),
    (
        ("-r", "--report"),
        {"choices": REPORTS, "metavar": "KIND", "help": "auto, full, line or none"},
    ),
    (
        ("-g", "--graph"),
        {"choices": GRAPHS, "metavar": "KIND", "help": "fold, open, widget, text or none"},
    ),
    (
        ("-q", "--quiet"),
        {"action": "store_true", "help": "report only breaks, recompiles and failures"},
    ),
    (("-o", "--out"), {"metavar": "VAR", "default": "", "help": "put the report object into VAR"}),
    (("-h", "--help"), {"action": "store_true", "help": "show this page and run nothing"}),
)


@dataclass(frozen=True, slots=True)
class CellOptions:
    """The options of one cell. ``None`` means: not given, so the session's setting counts."""

    names: tuple[str, ...] = ()
    backend: str = "numba"
    target: str | None = None
    dynamic: bool | None = None
    fullgraph: bool = False
    fastmath: bool = False
    check: bool = False
    time: bool = False
    explain: bool = False
    report: str | None = None
    graph: str | None = None
    quiet: bool = False
    out: str = ""
    help: bool = False


def compile_arguments(magic: _F) -> _F:
    """Decorate the magic's method with all its arguments; its docstring becomes the help page."""
    for flags, keywords in reversed(_ARGUMENTS):
        magic = _argument(*flags, **keywords)(magic)
    decorated: _F = _magic_arguments("%compile")(magic)
    return decorated


def read_options(parser: MagicArgumentParser, line: str) -> CellOptions:
    """Parse the line; UsageError says what is wrong with it."""
    try:
        given = dict(vars(parser.parse_argstring(line)))  # type: ignore[no-untyped-call]  # IPython gives no types
    except (UsageError, ValueError) as error:  # ValueError: a quotation that does not end
        raise UsageError(f"%%compile: {error} (%%compile -h lists the options)") from None
    given["names"] = tuple(given["names"])
    given["dynamic"] = DYNAMIC[given["dynamic"]]
    if given["out"] and not given["out"].isidentifier():
        raise UsageError(f"%%compile -o: {given['out']!r} is not a variable name")
    return CellOptions(**_explained(given))


def _explained(given: dict[str, Any]) -> dict[str, Any]:
    if given["explain"] and given["backend"] not in (None, "eager"):
        raise UsageError("%%compile: --explain compiles nothing, so leave --backend out")
    chosen = "eager" if given["explain"] else given["backend"] or "numba"
    report = given["report"] or ("full" if given["explain"] else None)
    return given | {"backend": chosen, "report": report}
