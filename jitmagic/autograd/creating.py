"""Takes a function, gives it over a NumPy whose new arrays are recorded: what a program writes into them has history.

A plain array does not know what is written into it: after ``out = np.zeros(3)`` and ``out[0] = x`` no gradient could
flow. So functions that are differentiated by running them see, in place of ``np``, ``np.zeros`` and the like, what
makes stand-ins of the new arrays. Their code is the same; only the lookup of global names is ours. Only arrays that
nobody else can have are taken: a second way to one memory would lose what was recorded.
"""

from __future__ import annotations

import builtins
import dis
import functools
import itertools
import sys
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from jitmagic.autograd.dispatch import call_function
from jitmagic.autograd.recorded import Recorded, is_smooth, needs_gradient, raw
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
        make: Callable[[Any], Any] | None = None
        if value is np:
            make = lambda module: _NumPy(self)  # noqa: E731 - one of four ways to make it
        elif value is np.fromiter or value is np.ndenumerate:
            make = self._with_items
        elif type(value) is types.FunctionType and _may_be_moved(value):
            make = self._moved
        elif type(value) in FUNCTIONS and _home(value) == "numpy":
            make = self._kept
        if make is None:
            return value
        known = self._seen.get(id(value))
        if known is None:
            known = self._seen[id(value)] = (value, make(value))
        return known[1]

    def _moved(self, function: types.FunctionType) -> types.FunctionType:
        """The function over our names; what hangs on it is shared."""
        names = function.__globals__
        scope = self._scopes.setdefault(id(names), _Scope(names, self, self._builtins))
        cells = function.__closure__ and tuple(map(self._cell, function.__closure__))
        made = types.FunctionType(function.__code__, scope, function.__name__, function.__defaults__, cells)
        made.__kwdefaults__, made.__dict__ = function.__kwdefaults__, function.__dict__
        made.__qualname__, made.__doc__, made.__module__ = function.__qualname__, function.__doc__, function.__module__
        return made

    def _cell(self, cell: types.CellType) -> types.CellType:
        """A cell of a closure; a new one for a function or NumPy, which nobody assigns again."""
        try:
            value = cell.cell_contents
        except ValueError:  # nothing was assigned yet
            return cell
        if value is not np and type(value) not in FUNCTIONS:
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


class _NumPy:
    """``np``, whose functions keep the arrays they make."""

    def __init__(self, creating: Creating) -> None:
        object.__setattr__(self, "_creating", creating)

    def __getattr__(self, name: str) -> Any:
        return self._creating.seen(getattr(np, name))

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(np, name, value)

    def __repr__(self) -> str:
        return repr(np)


class _Scope(dict[str, Any]):
    """Global names as the program sees them. Python finds those with underscores by themselves."""

    def __init__(self, names: dict[str, Any], creating: Creating, builtin: dict[str, Any]) -> None:
        super().__init__({name: value for name, value in names.items() if name.startswith("__")})
        super().__setitem__("__builtins__", builtin)
        self._names, self._seen = names, creating.seen

    def __getitem__(self, name: str) -> Any:
        return self._seen(self._names[name])
