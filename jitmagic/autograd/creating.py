"""Takes a function, gives it over a NumPy whose new arrays are recorded: what a program writes into them has history.

A plain array does not know what is written into it: after ``out = np.zeros(3)`` and ``out[0] = x`` no gradient could
flow. So functions that are differentiated by running them see, in place of ``np``, ``np.zeros`` and the like, what
makes stand-ins of the new arrays. Their code is the same; only the lookup of global names is ours. Only arrays that
nobody else can have are taken: a second way to one memory would lose what was recorded. Functions of ``math`` and calls
of ``float``, ``complex`` and ``np.float64`` give numbers with a history.
"""

from __future__ import annotations

import builtins
import dis
import functools
import itertools
import math
import sys
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from jitmagic.autograd.called import CALL, with_calls_named
from jitmagic.autograd.dispatch import call_function
from jitmagic.autograd.numbers import MATH, check_texts, conversion, makes_numbers
from jitmagic.autograd.recorded import Recorded, is_smooth, needs_gradient, raw
from jitmagic.autograd.vectorized import recording_vectorize
from jitmagic.ops import lookup

__all__ = ["Creating"]

LIBRARIES = sys.stdlib_module_names | {"jitmagic", "numpy", "scipy"}
DISPATCHED = type(np.stack)
FUNCTIONS = (types.BuiltinFunctionType, types.FunctionType, DISPATCHED)


class Creating:
    """One run, whose stand-ins are of class ``kind``."""

    def __init__(self, kind: Any) -> None:
        self._kind = kind
        self._seen: dict[int, tuple[Any, Any]] = {}  # what stands for an object, by its id; the object is kept alive
        self._scopes: dict[int, _Scope] = {}
        self._builtins = {**vars(builtins), "__import__": self._import}

    def function(self, function: Any) -> Any:
        """The same function, method, partial or callable object, over this NumPy."""
        if isinstance(function, functools.partial):
            return functools.partial(self.function(function.func), *function.args, **function.keywords)
        if isinstance(function, types.MethodType):
            return types.MethodType(self.function(function.__func__), function.__self__)
        if isinstance(function, types.FunctionType):
            return self.seen(function)
        call = getattr(type(function), "__call__", None)  # noqa: B004 - it is the method that is wanted
        return self.seen(call).__get__(function) if isinstance(call, types.FunctionType) else function

    def seen(self, value: Any) -> Any:
        """What the program sees in place of ``value``."""
        make = self._maker(value)
        if make is None:
            return value
        known = self._seen.get(id(value))
        if known is None:
            known = self._seen[id(value)] = (value, make(value))
        return known[1]

    def _maker(self, value: Any) -> Callable[[Any], Any] | None:
        """What makes the stand-in of a module or function; None for what is seen as it is."""
        kind = type(value)
        if kind is np.vectorize:
            return self._vectorized
        if value is np.vectorize:
            return self._vectorizing
        if kind is types.ModuleType:
            return self._module if value is np or value is math else None
        if kind in FUNCTIONS and value in MATH:
            return self._on_numbers
        if value is np.fromiter or value is np.ndenumerate:
            return self._with_items
        if kind is types.FunctionType and _may_be_moved(value):
            return self._moved
        return self._kept if kind in FUNCTIONS and _home(value) == "numpy" else None

    def _module(self, module: Any) -> Any:
        return _Module(self, module)

    def _on_numbers(self, function: Any) -> Any:
        return MATH[function](self._kind)

    def _vectorized(self, given: Any) -> Any:
        """What ``np.vectorize`` made elsewhere."""
        made = object.__new__(self.seen(np.vectorize))
        made.__dict__ = given.__dict__
        return made

    def _vectorizing(self, given: Any) -> Any:
        return recording_vectorize(self._kind, self.function)

    def called(self, value: Any) -> Any:
        """What the program calls where it says ``value(...)``, which it may also see as a value."""
        return conversion(self._kind, value) if makes_numbers(value) else self.seen(value)

    def _moved(self, function: types.FunctionType) -> types.FunctionType:
        """The function over our names; what hangs on it is shared."""
        names = function.__globals__
        scope = self._scopes.setdefault(id(names), _Scope(names, self, self._builtins))
        cells = function.__closure__ and tuple(map(self._cell, function.__closure__))
        code = self._code(function, scope)
        made = types.FunctionType(code, scope, function.__name__, function.__defaults__, cells)
        made.__kwdefaults__, made.__dict__ = function.__kwdefaults__, function.__dict__
        made.__qualname__, made.__doc__, made.__module__ = function.__qualname__, function.__doc__, function.__module__
        return made

    def _code(self, function: types.FunctionType, scope: _Scope) -> types.CodeType:
        """The code of the function, which looks classes of numbers up under names of their own where it calls them."""
        cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))

        def value(name: str) -> Any:
            cell = cells.get(name)
            return scope.plain(name) if cell is None else _content(cell)

        return with_calls_named(
            function.__code__,
            lambda name: makes_numbers(value(name)),
            lambda owner, name: _is_numpy(value(owner)) and makes_numbers(getattr(np, name, None)),
        )

    def _cell(self, cell: types.CellType) -> types.CellType:
        """A cell of a closure; a new one for a function or NumPy, which nobody assigns again."""
        value = _content(cell)
        if value is not np and value is not math and type(value) not in FUNCTIONS:
            return cell
        known = self._seen.get(id(cell))
        if known is None:  # before the contents: a recursive function is in a cell of its own
            known = self._seen[id(cell)] = (cell, types.CellType(value))
            known[1].cell_contents = self.seen(value)
        made: types.CellType = known[1]
        return made

    def _import(self, *args: Any, **kwargs: Any) -> Any:
        return self.seen(builtins.__import__(*args, **kwargs))

    def _kept(self, function: Any) -> Any:
        """The function of NumPy; a new array that it gives is kept as a stand-in."""

        @functools.wraps(function, updated=())
        def call(*args: Any, **kwargs: Any) -> Any:
            check_texts(function, args)
            if self._is_recorded(function, args, kwargs):
                return call_function(self._kind, function, args, kwargs)
            found = function(*args, **kwargs)
            if type(found) is np.ndarray and is_smooth(found) and sys.getrefcount(found) == ALONE and _owns(found):
                return self._kind._made(found)
            return found

        return call

    def _is_recorded(self, function: Any, args: Any, kwargs: Any) -> bool:
        """Whether numbers of ours are among the arguments, perhaps in lists, which many functions do not look into."""
        return lookup(function) is not None and kwargs.get("dtype") is not object and needs_gradient((args, kwargs))

    def _with_items(self, function: Any) -> Any:
        return {np.fromiter: self._from_iterator, np.ndenumerate: _enumerated}[function]

    def _from_iterator(self, iter: Iterable[Any], dtype: Any, count: int = -1, **options: Any) -> Any:
        items = list(itertools.islice(iter, count) if count >= 0 else iter)
        found = np.fromiter(raw(items), dtype, count, **options)
        if needs_gradient(items):
            return call_function(self._kind, np.array, (items,), {"dtype": found.dtype})
        return self._kind._made(found) if is_smooth(found) else found


ALONE = 2  # what counts as a reference to an object that one name has: the name, and the question


def _owns(array: np.ndarray[Any, Any]) -> bool:
    """Whether no other array has the memory of ``array``, which may be a view of one that nobody else has."""
    base = array.base
    if base is None:
        return array.flags.owndata and array.flags.writeable
    return type(base) is np.ndarray and sys.getrefcount(base) == ALONE + 1 and _owns(base)


def _is_numpy(value: Any) -> bool:
    return value is np or (isinstance(value, _Module) and value._module is np)


def _content(cell: types.CellType) -> Any:
    """What a variable of a closure is; None before it is assigned."""
    try:
        return cell.cell_contents
    except ValueError:
        return None


def _enumerated(arr: Any) -> Iterator[Any]:
    """As ``np.ndenumerate``."""
    if not isinstance(arr, Recorded):
        return np.ndenumerate(arr)
    tensor: Any = arr
    return ((place, tensor[place]) for place in np.ndindex(tensor.shape))


def _may_be_moved(function: types.FunctionType) -> bool:
    """Whether it is the user's, and assigns no global name: those would not arrive."""
    return _home(function) not in LIBRARIES and not _assigns_globals(function.__code__)


@functools.lru_cache(maxsize=1024)
def _assigns_globals(code: types.CodeType) -> bool:
    inner = (each for each in code.co_consts if isinstance(each, types.CodeType))
    assigns = any(each.opname in ("STORE_GLOBAL", "DELETE_GLOBAL") for each in dis.get_instructions(code))
    return assigns or "globals" in code.co_names or any(map(_assigns_globals, inner))


def _home(function: Any) -> str:
    """The package of a function; of one that Python made, that of the names it sees."""
    names = getattr(function, "__globals__", {"__name__": getattr(function, "__module__", None)})
    return str(names.get("__name__")).partition(".")[0]


class _Module:
    """A module whose functions keep the history of what they are called with."""

    def __init__(self, creating: Creating, module: types.ModuleType) -> None:
        object.__setattr__(self, "_creating", creating)
        object.__setattr__(self, "_module", module)

    def __getattr__(self, name: str) -> Any:
        if name.endswith(CALL):
            return self._creating.called(getattr(self._module, name.removesuffix(CALL)))
        return self._creating.seen(getattr(self._module, name))

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._module, name, value)

    def __repr__(self) -> str:
        return repr(self._module)


class _Scope(dict[str, Any]):
    """Global names as the program sees them. Python finds those with underscores by themselves."""

    def __init__(self, names: dict[str, Any], creating: Creating, builtin: dict[str, Any]) -> None:
        super().__init__({name: value for name, value in names.items() if name.startswith("__")})
        super().__setitem__("__builtins__", builtin)
        self._names, self._creating = names, creating

    def __getitem__(self, name: str) -> Any:
        if name.endswith(CALL):
            return self._creating.called(self.plain(name.removesuffix(CALL)))
        return self._creating.seen(self._names[name])

    def plain(self, name: str) -> Any:
        """What the name means without us; None if nothing."""
        try:
            return self._names[name]
        except KeyError:
            return vars(builtins).get(name)
