"""Every setting of jitmagic in one frozen record; ``configure`` replaces the current one.

``jm.config.entry_limit`` reads a setting, ``jm.configure(entry_limit=64)`` changes it for good, and
``with jm.configure(entry_limit=64):`` for a while.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from types import TracebackType
from typing import Any

from jitmagic.errors import UserError

__all__ = ["Config", "config", "configure", "current"]


def _default_cache_dir() -> Path:
    base = os.environ.get("JITMAGIC_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME")
    return Path(base or Path.home() / ".cache") / "jitmagic"


def _wants_worker() -> bool | None:
    return {"1": True, "0": False}.get(os.environ.get("JITMAGIC_WORKER", ""))


@dataclass(frozen=True, slots=True)
class Config:
    """The settings. Names are settled; each comment gives unit and meaning."""

    entry_limit: int = 32  # live cache entries per function; above it nothing new is compiled
    cache_dir: Path = field(default_factory=_default_cache_dir)  # kernel store on disk
    cache_limit_bytes: int = 512 * 1024 * 1024  # size at which the store drops its oldest kernels
    cache_memory_limit_bytes: int = 256 * 1024 * 1024  # of all entries in the process, above it the least used go
    threads: int = field(default_factory=lambda: os.cpu_count() or 1)  # worker threads of kernels
    background: bool = True  # the code of native entries is compiled in a process of its own
    worker: bool | None = field(default_factory=_wants_worker)  # so are kernels; None: where the extension is loaded
    automatic_dynamic_shapes: bool = True  # a size that changes becomes a symbol
    automatic_dynamic_floats: bool = True  # a float that changes becomes a run-time input
    assume_static_by_default: bool = True  # False: unmarked axes are symbols from the first call
    specialize_int: bool = False  # True: every int is a constant
    allow_ignore_mark_dynamic: bool = False  # True: mark_dynamic is a wish, not a promise
    guard_nn_modules: bool = True  # False: contents of specialised modules are assumed unchanged
    guard_builtin_modules: bool = True  # False: attributes of unspecialised modules of jitmagic.nn are not checked
    allow_rnn: bool = False  # True: jitmagic.nn's RNN, LSTM and GRU are captured with what is around them
    skip_managed_guards: bool = False  # True: no guards on the contents of managed modules
    inline_depth_limit: int = 64  # nested calls that are inlined before a graph break
    unroll_limit: int = 4096  # trips of a Python-level loop that are unrolled before a graph break
    demote: bool = True  # measure compiled against plain code, and leave to plain code what it wins
    progress_after: float = 0.5  # seconds of compiling after which progress is shown


_current = Config()


def current() -> Config:
    """The settings in force."""
    return _current


class _Reader:
    """``jm.config``: attribute reads see the settings in force; writes change them.

    In the package it stands where the module ``jitmagic.config`` stood, so it answers to the module's names as well.
    """

    __slots__ = ()

    current = staticmethod(current)
    Config = Config

    @staticmethod
    def configure(**changes: Any) -> configure:
        return configure(**changes)

    def __getattr__(self, name: str) -> Any:
        try:
            return getattr(_current, name)
        except AttributeError:
            raise AttributeError(_unknown(name)) from None

    def __setattr__(self, name: str, value: object) -> None:
        configure(**{name: value})

    def __dir__(self) -> list[str]:
        return [f.name for f in fields(Config)]

    def __repr__(self) -> str:
        return repr(_current)


def _unknown(name: str) -> str:
    known = ", ".join(f.name for f in fields(Config))
    return f"jitmagic has no setting {name!r}; the settings are: {known}"


class configure:
    """Change settings now; as a context manager, put the old ones back at the end.

    Raises UserError for a name that is not a setting.
    """

    def __init__(self, **changes: Any) -> None:
        global _current
        self._before = _current
        _current = _changed(_current, changes)

    def __enter__(self) -> Config:
        return _current

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        global _current
        _current = self._before


def _changed(base: Config, changes: Mapping[str, Any]) -> Config:
    known = {f.name for f in fields(Config)}
    for name in changes:
        if name not in known:
            raise UserError(_unknown(name))
    return replace(base, **changes)


config = _Reader()
