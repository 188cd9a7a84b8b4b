"""Takes the code of a function, gives code with the same parameters that calls a compiled frame.

The code holds its frame through a weak reference: code objects take no part in garbage collection, so a strong one
would keep every compiled function alive that is reachable from itself (a recursive closure, for example).
"""

from __future__ import annotations

import ast
import importlib
import uuid
import weakref
from collections.abc import Callable, Iterator
from types import CodeType
from typing import Any

from jitmagic.ops.quiet import Quiet
from jitmagic.runtime.layout import Layout
from jitmagic.runtime.tracebacks import hide_ours

__all__ = ["Link", "Target", "link_in", "linked", "make_byway", "make_trampoline"]


class Target:
    """What a trampoline calls: ``run`` takes every parameter by position, ``plain`` is the plain function.

    Frames derive from it.
    """

    __slots__ = ("__weakref__", "plain", "run")

    plain: Any
    run: Any


class Link(weakref.ref[Target]):
    """The weak reference inside a trampoline.

    It is pickled as its ``token``: a function that is sent elsewhere by value makes a new frame there, and both find
    each other by the token (see ``linked``).
    """

    __slots__ = ("__weakref__", "dead", "known", "nothing", "token")

    token: str
    known: bytes  # how compiled code knows a native entry: two words that no object has, until there is such code
    dead: Any  # what compiled code calls when the target is gone
    nothing: None  # what it finds then in place of the target

    def __new__(cls, target: Target, token: str = "") -> Link:
        return super().__new__(cls, target)

    def __init__(self, target: Target, token: str = "") -> None:
        super().__init__(target)  # type: ignore[call-arg]  # typeshed knows only __new__
        self.token = token or uuid.uuid4().hex
        self.dead, self.nothing, self.known = _target_died, None, bytes(16)

    @property
    def door(self) -> Callable[..., Any]:
        """A builtin that calls ``self().run``; a function where builtins cannot be made."""
        made: Callable[..., Any] = importlib.import_module("jitmagic.runtime.native.door").make_door(self)
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return _revive, (self.token,)

    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other


def _target_died(*values: Any) -> Any:
    raise ReferenceError("the compiled function was deleted, but something still calls its code")


class _Waiting(Target):
    """Stands for the frame of a function that is being unpickled."""

    __slots__ = ("link",)

    link: Link


_revived: dict[str, _Waiting] = {}  # emptied by ``linked`` as soon as the handle of the function is unpickled


def _never_arrived(*values: Any) -> Any:
    raise ReferenceError("a compiled function was sent without its attributes; send the plain one: f.jit.plain")


def _revive(token: str) -> Link:
    waiting = _Waiting()
    waiting.run = waiting.plain = _never_arrived
    waiting.link = Link(waiting, token)
    _revived[token] = waiting
    return waiting.link


def linked(token: str) -> Target | None:
    """The target of the trampoline that was unpickled with ``token``; its ``run`` and ``plain`` are to be filled in."""
    return _revived.pop(token, None)


def link_in(code: CodeType) -> Link | None:
    """The link of a trampoline; None if ``code`` is none."""
    for constant in code.co_consts:
        found = getattr(constant, "__self__", constant)  # a door belongs to its link
        if type(found) is Link:
            return found
    return None


def make_trampoline(code: CodeType, link: Link, door: Callable[..., Any] | None = None) -> CodeType:
    """Code with the parameters, names, flags and free variables of ``code`` that calls ``link().run``.

    With ``door`` it calls that, which does the same faster. An exception leaves it with the traceback that the plain
    function would have given.
    """
    template = _TEMPLATE if door is None else _TEMPLATE.replace("().run(", "(")
    return _filled(template, code, {"\0link": door or link})


def make_byway(code: CodeType, link: Link, left: Iterator[tuple[()]]) -> CodeType:
    """The same, but as long as ``left`` has more it calls ``link().plain``, with nothing in between."""
    return _filled(_BYWAY, code, {"\0link": link, "\0left": left})


def _filled(template: str, code: CodeType, constants: dict[str, Any]) -> CodeType:
    layout = Layout.of(code)
    values = ", ".join(layout.names)
    tree = ast.parse(template.format(values=values, call=layout.call()))
    outer = tree.body[0]
    assert isinstance(outer, ast.FunctionDef)
    inner = outer.body[0]
    assert isinstance(inner, ast.FunctionDef)
    inner.args = _arguments(layout)
    _name_free(outer, inner, code.co_freevars)
    for node in ast.walk(tree):
        if "lineno" in node._attributes:
            node.lineno = node.end_lineno = 1  # type: ignore[attr-defined]  # every node with the field has it
            node.col_offset = node.end_col_offset = 0  # type: ignore[attr-defined]  # the same
    with Quiet():  # it warns of texts that are called; others stand in their place afterwards
        module = compile(tree, code.co_filename, "exec", dont_inherit=True)
    made = _code_in(_code_in(module))
    constants = {**constants, "\0hide": hide_ours}
    return made.replace(
        co_consts=tuple(constants.get(c, c) if isinstance(c, str) else c for c in made.co_consts),
        co_name=code.co_name,
        co_qualname=code.co_qualname,
        co_varnames=code.co_varnames,
        co_nlocals=code.co_nlocals,
        co_firstlineno=code.co_firstlineno,
        co_flags=made.co_flags | (code.co_flags & _KEPT_FLAGS),
    )


_KEPT_FLAGS = 0x1FF0000 & ~0x1FFF  # the flags of __future__ imports
# The callables are constants: a variable for them would be seen among those of the function.
_TEMPLATE = """
def outer():
    def inner():
        try:
            return "\\0link"().run({values})
        except BaseException:
            "\\0hide"()
            raise
"""
# A loop counts down faster than arithmetic does, and needs no variable where each item is taken apart into none
_BYWAY = """
def outer():
    def inner():
        try:
            for () in "\\0left":
                return "\\0link"().plain({call})
            return "\\0link"().run({values})
        except BaseException:
            "\\0hide"()
            raise
"""


def _arguments(layout: Layout) -> ast.arguments:
    """Parameters without defaults: those of the function object count."""

    def arg(name: str) -> ast.arg:
        return ast.arg(name, lineno=1, col_offset=0)

    return ast.arguments(
        posonlyargs=[arg(n) for n in layout.positional_only],
        args=[arg(n) for n in layout.positional],
        vararg=arg(layout.star) if layout.star else None,
        kwonlyargs=[arg(n) for n in layout.keyword_only],
        kw_defaults=[None] * len(layout.keyword_only),
        kwarg=arg(layout.double_star) if layout.double_star else None,
        defaults=[],
    )


def _name_free(outer: ast.FunctionDef, inner: ast.FunctionDef, names: tuple[str, ...]) -> None:
    """Make ``names`` the free variables of ``inner``, in the order (sorted) that every compiler gives them."""
    for name in names:
        outer.body[:0] = ast.parse(f"{name} = None").body
        inner.body[:0] = ast.parse(f"if 0: {name}").body  # compiled to nothing, but it makes the name a free one


def _code_in(code: CodeType) -> CodeType:
    return next(c for c in code.co_consts if isinstance(c, CodeType))
