"""Takes one kernel of the loop IR, gives its text for ``numba.cuda``: a thread walks over elements, a grid apart.

    def kernel(a0, o0):                          # pointwise: one element per turn
        n0 = o0.shape[0]
        t = cuda.grid(1)
        while t < n0: ...

A fold over the whole space leaves one partial result per thread, in the array that the host made for them; a fold
over some axes gives each thread the elements of the axes that are kept.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from jitmagic.backends.loops.ir import (
    Access,
    Apply,
    Cast,
    Fold,
    Index,
    Kernel,
    Literal,
    Load,
    Scalar,
    Statement,
    Store,
)
from jitmagic.backends.loops.recipes import Recipe
from jitmagic.backends.numba_cpu.expressions import cast_text, literal_text, typed
from jitmagic.backends.numba_cpu.text import Text

__all__ = ["emit", "on_device", "parameters"]

# NumPy's functions in words that the device knows
UFUNCS = {
    **{n: f"math.{n}(a)" for n in ("exp", "expm1", "log", "log1p", "log2", "log10", "sin", "cos", "tan")},
    **{n: f"math.{n}(a)" for n in ("sinh", "cosh", "tanh")},
    **{f"arc{n}": f"math.a{n}(a)" for n in ("sin", "cos", "tan", "sinh", "cosh", "tanh")},
    "arctan2": "math.atan2(a, b)",
    "hypot": "math.hypot(a, b)",
    "power": "a ** b",
    "exp2": "2.0 ** a",
    "maximum": "a if (a >= b) | (a != a) else b",
    "minimum": "a if (a <= b) | (a != a) else b",
}
CALLS = {"abs": "abs", "copysign": "math.copysign", "sqrt": "math.sqrt"}
CALLS |= {n: f"math.{n}" for n in ("isfinite", "isinf", "isnan")}
REFUSED = (ast.FloorDiv, ast.Mod, ast.LShift, ast.RShift, ast.Pow)  # NumPy defines what processors do not
MERGES = {
    "sum": "{acc} + {value}",
    "mean": "{acc} + {value}",
    "prod": "{acc} * {value}",
    "max": "{value} if ({value} > {acc}) | ({value} != {value}) else {acc}",
    "min": "{value} if ({value} < {acc}) | ({value} != {value}) else {acc}",
    "any": "{acc} | {value}",
    "all": "{acc} & {value}",
}


def on_device(found: Recipe) -> Recipe | None:
    """The recipe in the device's words; None if NumPy has to compute it."""
    if found.kind == "cast":
        return found if found.dtypes[0].kind != "f" or found.result.kind in "fb" else None
    expression = found.expression
    if found.kind == "strided":
        name = "" if found.ufunc is None else found.ufunc.__name__
        if name not in UFUNCS or found.result.kind != "f" or any(d.kind != "f" for d in found.dtypes):
            return None
        return replace(found, kind="apply", expression=UFUNCS[name], ufunc=None, flags=0)
    nodes = list(ast.walk(ast.parse(expression, mode="eval")))
    calls = [n.func for n in nodes if isinstance(n, ast.Call)]
    known = all(isinstance(f, ast.Name) and f.id in CALLS for f in calls)
    return found if known and not any(isinstance(n, REFUSED) for n in nodes) else None


def parameters(kernel: Kernel) -> list[str]:
    """The names of what a kernel is called with, in order."""
    return [o.name for o in kernel.operands if o.kind != "loop"]


def emit(kernel: Kernel) -> str:
    """The text of ``def kernel(...)`` over the names ``cuda``, ``math`` and ``np``."""
    emitter = Emitter(kernel)
    emitter.write()
    return str(emitter.text)


@dataclass(slots=True)
class Emitter:
    """One kernel on its way to text."""

    kernel: Kernel
    text: Text = field(default_factory=Text)

    def write(self) -> None:
        kernel, text = self.kernel, self.text
        text.open(f"def kernel({', '.join(parameters(kernel))}):")
        for axis, (name, source) in enumerate(kernel.extent):
            text.add(f"n{axis} = {name}.shape[{source}]")
        kept = [a for a in range(kernel.ndim) if a not in kernel.reduced] if kernel.shape != "R" else []
        text.add("t = cuda.grid(1)")
        if not kernel.shape:
            self.walk(range(kernel.ndim))
            self.body()
            self.step()
        elif kernel.shape == "R":
            self.whole()
        else:
            self.by_axis(kept)

    def walk(self, axes: Any) -> None:
        """Over the elements of some axes, the last one fastest."""
        axes, text = list(axes), self.text
        text.open(f"while t < {' * '.join(f'n{a}' for a in axes) or '1'}:")
        text.add("rest = t")
        for axis in reversed(axes):
            text.add(f"i{axis} = rest % n{axis}")
            text.add(f"rest //= n{axis}")

    def step(self) -> None:
        self.text.add("t += cuda.gridsize(1)")
        self.text.close()

    def folds(self) -> list[Fold]:
        return [s for s in self.kernel.body if isinstance(s, Fold)]

    def whole(self) -> None:
        """One partial result per thread; each of them has an element."""
        text, folds = self.text, self.folds()
        self.start()
        text.add("mine = t")
        self.walk(range(self.kernel.ndim))
        self.body()
        text.add("is_first = False")
        self.step()
        for k, fold in enumerate(folds):
            text.add(f"{fold.access.operand}[mine] = acc{k}")

    def by_axis(self, kept: list[int]) -> None:
        text, kernel = self.text, self.kernel
        self.walk(kept)
        self.start()
        for axis in kernel.reduced:
            text.open(f"for i{axis} in range(n{axis}):")
        self.body()
        text.add("is_first = False")
        text.close(len(kernel.reduced))
        count = " * ".join(f"n{a}" for a in kernel.reduced)
        for k, fold in enumerate(self.folds()):
            value = typed(f"acc{k} / np.float64({count})", fold.value.dtype) if fold.kind == "mean" else f"acc{k}"
            text.add(f"{self.place(fold.access)} = {value}")
        self.step()

    def start(self) -> None:
        self.text.add("is_first = True")
        for k, fold in enumerate(self.folds()):
            one = fold.kind in ("prod", "all")
            dtype = fold.value.dtype
            self.text.add(f"acc{k} = {repr(one) if dtype.kind == 'b' else typed('1' if one else '0', dtype)}")
            if dtype.name == "float64":
                self.text.add(f"acc{k} = np.float64(acc{k})")

    def body(self) -> None:
        merged = 0
        for statement in self.kernel.body:
            if isinstance(statement, Fold):
                self.merge(statement, f"acc{merged}")
                merged += 1
            else:
                self.statement(statement)

    def merge(self, fold: Fold, acc: str) -> None:
        value, dtype = str(fold.value), fold.value.dtype
        merged = typed(MERGES[fold.kind].format(acc=acc, value=value), dtype)
        if fold.kind in ("max", "min"):
            merged = f"{value} if is_first else {merged}"
        self.text.add(f"{acc} = {merged}")

    def statement(self, statement: Statement) -> None:
        if isinstance(statement, Store):
            self.text.add(f"{self.place(statement.access)} = {statement.value}")
            return
        text = self.place(statement.access) if isinstance(statement, Load) else _TEXTS[type(statement)](statement)
        self.text.add(f"{statement.out} = {text}")  # type: ignore[union-attr]  # folds are merged elsewhere

    def place(self, access: Access) -> str:
        """An element, as a subscript: ``numba.cuda`` knows the strides."""
        parts = [_index_text(access.operand, axis, index) for axis, index in enumerate(access.axes)]
        return f"{access.operand}[{', '.join(parts)}]"


def _index_text(operand: str, axis: int, index: Index) -> str:
    start = str(index.start)
    if index.start < 0:
        start = f"max({operand}.shape[{axis}] - {-index.start}, 0)"
    if index.space is None:
        return start
    run = f"i{index.space}" if index.step == 1 else f"{index.step} * i{index.space}"
    return run if index.start == 0 else f"{start} + {run}"


def apply_text(statement: Apply) -> str:
    """The expression over the names of its arguments, in the dtype of the result."""
    names = dict(zip("abcdefgh", map(str, statement.arguments), strict=False))
    dtype = statement.arguments[0].dtype

    class Rename(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.AST:
            return ast.parse(names.get(node.id) or CALLS.get(node.id, node.id), mode="eval").body

        def visit_Constant(self, node: ast.Constant) -> ast.AST:
            plain = dtype.name == "float64" or dtype.kind == "b"
            return node if plain else ast.parse(f"np.{dtype.name}({node.value!r})", mode="eval").body

    tree = ast.parse(statement.expression, mode="eval").body
    calls = {n.func.value.id for n in ast.walk(tree) if _is_math(n)}  # type: ignore[attr-defined]  # _is_math looked
    names |= {name: name for name in calls}
    return typed(ast.unparse(Rename().visit(tree)), statement.out.dtype)


def _is_math(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name)


def _scalar_text(statement: Scalar) -> str:
    dtype = statement.out.dtype
    return f"{statement.operand} != 0" if dtype.kind == "b" else typed(statement.operand, dtype)


_TEXTS: dict[type, Callable[[Any], str]] = {
    Scalar: _scalar_text,
    Literal: literal_text,
    Cast: cast_text,
    Apply: apply_text,
}
