"""Takes the Python text of one kernel, gives its machine code; from the store when it is there.

Numba is imported only when something has to be compiled. It is used as a code generator: its
ahead-of-time mode emits an object without any absolute address, which goes to the store and to our
own linker, so that code is freed with its kernel (Numba's own engine never frees any).
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import linecache
import os
import sys
import threading
import time
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from jitmagic.backends.native.abi import Address
from jitmagic.backends.native.link import link
from jitmagic.backends.native.store import Store, Stored, current_store
from jitmagic.errors import InternalError

__all__ = ["Kernel", "compile_kernel", "is_at_hand", "load_kernel"]

_CODE_GENERATOR = "jitmagic.backends.native.codegen"


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class Kernel:
    """A compiled kernel. Its code is freed after the last reference to ``address``, when the next kernel is linked."""

    name: str
    address: Address
    source: str
    elapsed_ns: int  # from text to address
    cached: bool  # no compiler ran for it in this process


_live: weakref.WeakValueDictionary[str, Kernel] = weakref.WeakValueDictionary()
_lock = threading.RLock()

if hasattr(os, "register_at_fork"):  # nobody forks in the middle of a compile
    os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release)


Generate = Callable[[str, str, bool], Stored]  # (source, name, fastmath) -> object code


def compile_kernel(
    source: str,
    name: str,
    *,
    fastmath: bool = False,
    store: Store | None = None,
    generate: Generate | None = None,
) -> Kernel:
    """Compile ``def <name>(args, lo, hi): ...``, text whose globals are ``intrinsics.NAMESPACE``.

    The same text gives the same live kernel. ``fastmath`` allows contraction and reassociation. ``generate`` stands
    in for Numba; names of kernels that it makes must be its own.
    Raises InternalError, with Numba's message, for text that does not compile.
    """
    start_ns = time.perf_counter_ns()
    store = current_store() if store is None else store
    key = store.key(source, name, fastmath)
    with _lock:
        known = _live.get(key)
        if known is None:
            known = _live[key] = _load(store, key, source, name, fastmath, start_ns, generate or _generate)
        return known


def load_kernel(source: str, name: str, *, fastmath: bool = False, store: Store | None = None) -> Kernel | None:
    """As ``compile_kernel``, if that needs no compiler: None where the kernel is not at hand yet."""
    start_ns = time.perf_counter_ns()
    store = current_store() if store is None else store
    key = store.key(source, name, fastmath)
    with _lock:
        known = _live.get(key)
        if known is None:
            code = _link_stored(store.get(key))
            if code is None:
                return None
            known = _live[key] = _kernel(name, source, code, start_ns, cached=True)
        return known


def is_at_hand(source: str, fastmath: bool, name: str = "kernel") -> bool:
    """Whether ``compile_kernel`` needs no compiler for this text."""
    store = current_store()
    key = store.key(source, name, fastmath)
    return key in _live or store.has(key)


def _load(store: Store, key: str, source: str, name: str, fastmath: bool, start_ns: int, generate: Generate) -> Kernel:
    stored = store.get(key)
    code = _link_stored(stored)
    cached = code is not None
    if code is None:
        stored = generate(source, name, fastmath)
        code = link(stored.object_code, stored.symbol)
        store.put(key, stored)
    return _kernel(name, source, code, start_ns, cached)


def _kernel(name: str, source: str, code: Address, start_ns: int, cached: bool) -> Kernel:
    return Kernel(name, code, source, time.perf_counter_ns() - start_ns, cached)


def _link_stored(stored: Stored | None) -> Address | None:
    """A stored object that does not link (made by another linker, say) is rebuilt, not reported."""
    if stored is None:
        return None
    try:
        return link(stored.object_code, stored.symbol)
    except InternalError:
        return None


def _code_generator() -> Any:
    """The module that imports Numba: only on a cold compile, and in a thread of its own.

    An interrupt reaches the main thread only. In the middle of the import it would leave Numba half loaded, and no
    later compile of this process could use it.
    """
    if _CODE_GENERATOR not in sys.modules:
        loading = threading.Thread(target=_load_code_generator, name="jitmagic-codegen", daemon=True)
        loading.start()
        loading.join()
    return importlib.import_module(_CODE_GENERATOR)  # raises what went wrong


def _load_code_generator() -> None:
    with contextlib.suppress(Exception):
        importlib.import_module(_CODE_GENERATOR)


def _generate(source: str, name: str, fastmath: bool) -> Stored:
    codegen = _code_generator()
    filename = f"<jitmagic kernel {name} {hashlib.sha256(source.encode()).hexdigest()[:12]}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
    try:
        stored: Stored = codegen.generate(source, name, filename, fastmath)
    finally:
        linecache.cache.pop(filename, None)  # Numba has looked at it; the kernel keeps its own text
    return stored
