"""Object code on disk: takes a key, gives the code stored under it, or None.

One file per kernel in a directory that the user owns and nobody else can write. A file is written
under a temporary name and renamed, so that other processes see all of it or nothing; its checksum
is verified when it is read. Nothing that goes wrong here reaches the user's call: an unreadable
entry is one that is not there, and a full disk only means that the next process compiles again.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import stat
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path

import llvmlite.binding as llvm
import numpy as np

from jitmagic.config import current

__all__ = ["Store", "Stored", "current_store"]

_FORMAT = b"jitmagic kernel 1\n"
_DIGEST_BYTES = hashlib.sha256().digest_size
_NEW = ".new-"
_ABANDONED_AFTER_NS = 3_600_000_000_000  # an hour: whoever was writing this is gone
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_KEEP_SHARE = 0.75  # a full store is emptied to this share of its limit, so that not every kernel scans it


@dataclass(frozen=True, slots=True)
class Stored:
    """Object code and the name of the kernel's entry point in it."""

    symbol: str
    object_code: bytes


@cache
def _platform_key() -> str:
    """Everything besides the text that object code depends on: CPU, versions, and our own
    generator.
    """
    own = hashlib.sha256()
    files = ("abi", "approximations", "callees", "codegen", "flags", "intrinsics", "lowering")
    here = Path(__file__)
    loops = ("interrupts", "machine", "rows", "spreading", "stopping", "translate", "words")
    for path in (
        *(here.with_name(f"{name}.py") for name in files),
        *(here.parent.with_name("regions") / f"{name}.py" for name in loops),
    ):
        own.update(path.read_bytes())
    return "\n".join(
        [
            _FORMAT.decode(),
            own.hexdigest(),
            llvm.get_process_triple(),
            llvm.get_host_cpu_name(),
            llvm.get_host_cpu_features().flatten(),
            *(f"{name} {version(name)}" for name in ("numba", "llvmlite")),
            f"numpy {np.__version__}",
            f"{platform.python_implementation()} {platform.python_version()}",
        ]
    )


class Store:
    """A directory of object code, of at most ``limit_bytes``; the oldest entries are dropped."""

    def __init__(self, directory: Path, limit_bytes: int) -> None:
        self.directory = directory
        self.limit_bytes = limit_bytes
        self._used_bytes: int | None = None  # None until the directory was scanned
        self._trusted: bool | None = None

    def key(self, source: str, name: str, fastmath: bool) -> str:
        """The address of a kernel's content: equal keys mean interchangeable object code."""
        text = f"{_platform_key()}\n{name}\nfastmath={fastmath}\n{source}"
        return hashlib.sha256(text.encode()).hexdigest()

    def get(self, key: str) -> Stored | None:
        """What is stored under ``key``; None if nothing is, or if it is damaged or not the user's
        own.
        """
        if not self._is_trusted():
            return None
        path = self.directory / key
        try:
            content = _read_own_file(path)
        except OSError:
            return None
        stored = _decode(content)
        with contextlib.suppress(OSError):
            if stored is None:
                path.unlink()
            else:
                os.utime(path)  # used now: dropped last
        return stored

    def has(self, key: str) -> bool:
        """Whether something is stored under ``key``; it may turn out to be damaged."""
        return self._is_trusted() and (self.directory / key).exists()

    def put(self, key: str, stored: Stored) -> bool:
        """Keep ``stored`` under ``key``; False if that was not possible."""
        content = _encode(stored)
        if len(content) > self.limit_bytes or not self._is_trusted(create=True):
            return False
        try:
            _write_atomically(self.directory / key, content)
            self._account(len(content))
        except OSError:
            return False
        return True

    def clear(self) -> None:
        """Drop every entry; nothing is touched in a directory that is not the user's own."""
        if not self._is_trusted():
            return
        for _, _, path in list(self._entries()):
            with contextlib.suppress(OSError):
                os.unlink(path)
        self._used_bytes = 0

    def _is_trusted(self, create: bool = False) -> bool:
        """Whether the directory is there and only the user can write it."""
        if self._trusted is None or (create and not self._trusted):
            if create:
                with contextlib.suppress(OSError):
                    self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            try:
                self._trusted = _only_user_writes(os.lstat(self.directory), stat.S_ISDIR)
            except FileNotFoundError:
                return False
            except OSError:
                self._trusted = False
        return self._trusted

    def _account(self, added_bytes: int) -> None:
        if self._used_bytes is not None:
            self._used_bytes += added_bytes
        if self._used_bytes is None or self._used_bytes > self.limit_bytes:
            self._used_bytes = self._drop_oldest()

    def _drop_oldest(self) -> int:
        """Scan, drop what is too much, and give the bytes in use."""
        entries = sorted(self._entries())
        used_bytes = sum(size for _, size, _ in entries)
        if used_bytes <= self.limit_bytes:
            return used_bytes
        for _, size, path in entries:
            if used_bytes <= self.limit_bytes * _KEEP_SHARE:
                break
            with contextlib.suppress(OSError):
                os.unlink(path)
            used_bytes -= size
        return used_bytes

    def _entries(self) -> Iterator[tuple[int, int, str]]:
        """Time of last use in ns, size in bytes and path of each file."""
        abandoned_ns = time.time_ns() - _ABANDONED_AFTER_NS
        with os.scandir(self.directory) as files:
            for file in files:
                with contextlib.suppress(OSError):  # dropped by another process meanwhile
                    status = file.stat(follow_symlinks=False)
                    if file.name.startswith(_NEW) and status.st_mtime_ns > abandoned_ns:
                        continue  # being written
                    yield status.st_mtime_ns, status.st_size, file.path


def current_store() -> Store:
    """The store that the settings in force ask for."""
    settings = current()
    return _store(settings.cache_dir, settings.cache_limit_bytes)


@cache
def _store(cache_dir: Path, limit_bytes: int) -> Store:
    return Store(Path(cache_dir) / "kernels", limit_bytes)


def _only_user_writes(status: os.stat_result, is_kind: object) -> bool:
    if not hasattr(os, "getuid"):  # Windows: no such bits to check, so nothing is trusted
        return False
    kind_fits = callable(is_kind) and bool(is_kind(status.st_mode))
    return kind_fits and status.st_uid == os.getuid() and not status.st_mode & _OTHERS_WRITE


def _read_own_file(path: Path) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
    with open(descriptor, "rb") as file:
        if not _only_user_writes(os.fstat(descriptor), stat.S_ISREG):
            return b""
        return file.read()


def _write_atomically(path: Path, content: bytes) -> None:
    descriptor, temporary = tempfile.mkstemp(prefix=_NEW, dir=path.parent)  # mode 0600
    try:
        with open(descriptor, "wb") as file:
            file.write(content)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def _encode(stored: Stored) -> bytes:
    payload = stored.symbol.encode() + b"\n" + stored.object_code
    return _FORMAT + hashlib.sha256(payload).digest() + payload


def _decode(content: bytes) -> Stored | None:
    head = len(_FORMAT) + _DIGEST_BYTES
    payload = content[head:]
    if content[:head] != _FORMAT + hashlib.sha256(payload).digest():
        return None
    symbol, _, object_code = payload.partition(b"\n")
    return Stored(symbol.decode(), object_code)
