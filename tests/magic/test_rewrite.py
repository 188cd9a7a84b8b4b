"""The cell's AST and code: which functions are found, and that nothing else changes."""

from __future__ import annotations

import ast
import inspect
from typing import Any

import pytest

from jitmagic.magic.rewrite import bind, find_functions, mark, needs_await, select

NESTED = """
def top(): pass
async def later(): pass
class A:
    def m(self):
        def inner(): pass
        class Hidden:
            def n(self): pass
    async def am(self): pass
    if True:
        def under_if(self): pass
    class B:
        def n(self): pass
for i in (1,):
    with open as o:
        def deep(): pass
try:
    def tried(): pass
except E:
    def handled(): pass
match 1:
    case 1:
        def matched(): pass
"""


def test_functions_are_found_in_order_without_nested_and_async_ones() -> None:
    names = [d.name for d in find_functions(ast.parse(NESTED))]
    expected = ["top", "A.m", "A.under_if", "A.B.n", "deep", "tried", "handled", "matched"]
    assert names == expected


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ((), ["f", "A.m", "A.B.n"]),
        (("f",), ["f"]),
        (("A.m",), ["A.m"]),
        (("A",), ["A.m", "A.B.n"]),
        (("A.B", "f"), ["f", "A.B.n"]),
    ],
)
def test_names_choose_functions_methods_and_classes(names: Any, expected: list[str]) -> None:
    tree = ast.parse("def f(): pass\nclass A:\n def m(s): pass\n class B:\n  def n(s): pass")
    assert [d.name for d in select(find_functions(tree), names)] == expected


def test_a_name_that_chooses_nothing_is_a_key_error() -> None:
    with pytest.raises(KeyError, match="fo"):
        select(find_functions(ast.parse("def f(): pass")), ["fo"])


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("yield 1", True),
        ("x = yield from y", True),
        ("def g(): yield 1", False),
        ("return [a for a in b]", False),
        ("def g(a=(yield)): pass", True),
    ],
)
def test_generators_are_told_from_functions_that_contain_one(body: str, expected: bool) -> None:
    (definition,) = find_functions(ast.parse(f"def f():\n    {body}"))
    assert definition.is_generator is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("await x", True),
        ("y = [await x for x in z]", True),
        ("[x async for x in z]", True),
        ("(x async for x in z)", True),
        ("(x for x in await z)", True),
        ("async for x in y: pass", True),
        ("async with x: pass", True),
        ("if a:\n    await b", True),
        ("async def f():\n    await x", False),
        ("async def f(a=await x): pass", True),
        ("@(await d)\ndef f(): pass", True),
        ("class C(await b): pass", True),
    ],
)
def test_top_level_await_is_seen_where_python_sees_it(text: str, expected: bool) -> None:
    """Never less often than the compiler does: a coroutine that nobody awaits would not run."""
    code = compile(text, "cell", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    assert bool(code.co_flags & inspect.CO_COROUTINE) <= expected
    assert needs_await(ast.parse(text)) is expected


def test_decorators_are_listed_by_name_without_arguments() -> None:
    tree = ast.parse("@a.b(1)\n@c\n@d[0]\n@(lambda f: f)\ndef f(): pass")
    assert find_functions(tree)[0].decorators == ("a.b", "c")


def test_the_mark_is_replaced_in_nested_code_and_leaves_lines_alone() -> None:
    text = "class A:\n    class B:\n        @property\n        def f(self):\n            return 'm'\n"
    tree = ast.parse(text)
    mark(find_functions(tree)[0], "m0")
    seen = []
    code = bind(compile(tree, "cell", "exec"), {"m0": lambda f: seen.append(f) or f})
    namespace: dict[str, Any] = {}
    exec(code, namespace)
    assert namespace["A"].B().f == "m"
    (function,) = seen
    plain: dict[str, Any] = {}
    exec(compile(text, "cell", "exec"), plain)
    assert function.__code__ == plain["A"].B.f.fget.__code__
    assert list(function.__code__.co_positions()) == list(plain["A"].B.f.fget.__code__.co_positions())


def test_code_without_marks_is_the_same_object() -> None:
    code = compile("def f(): return 'm'", "cell", "exec")
    assert bind(code, {"other": print}) is code
