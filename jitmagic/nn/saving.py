"""Takes a state dict and a path, writes ``.npz`` or ``.safetensors``; and reads them. Never pickle.

safetensors (https://github.com/huggingface/safetensors) is a length of 8 bytes, a JSON header and the plain bytes; the
package ``safetensors`` reads and writes it, and is needed only for files with that ending.
"""

from __future__ import annotations

import errno
import importlib
import os
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from jitmagic.errors import UserError
from jitmagic.nn.module import Module
from jitmagic.nn.parameter import array_of, is_uninitialized
from jitmagic.nn.states import plain

__all__ = ["load", "save"]

ENDINGS = (".npz", ".safetensors")


def save(obj: Module | Mapping[str, Any], path: str | os.PathLike[str]) -> None:
    """Write the state of a module, or a state dict, under its dotted names.

    The ending of ``path`` tells the format. A file that is there is replaced only when the new one is complete. Raises
    UserError for another ending, for values that are no arrays of numbers, and for parameters without an array.
    """
    target = Path(path)
    write = {".npz": _write_npz, ".safetensors": _write_safetensors}[_ending(target)]
    state = obj.state_dict() if isinstance(obj, Module) else obj
    arrays = {name: _checked(name, value) for name, value in state.items()}
    if not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "there is no such folder", str(target.parent))
    beside = target.with_name(f".{target.stem}.{os.getpid()}{target.suffix}")
    try:
        write(beside, arrays)
        os.replace(beside, target)
    finally:
        beside.unlink(missing_ok=True)


def load(path: str | os.PathLike[str]) -> dict[str, np.ndarray[Any, Any]]:
    """The state dict in a file: new arrays by name, for ``load_state_dict``.

    Raises UserError for another ending and for a file that is none, is damaged or holds objects; OSError where it
    cannot be read.
    """
    source = Path(path)
    return _read_npz(source) if _ending(source) == ".npz" else _read_safetensors(source)


def _ending(path: Path) -> str:
    if path.suffix not in ENDINGS:
        raise UserError(f"{path.name!r} ends neither in .npz nor in .safetensors: the ending tells the format")
    return path.suffix


def _checked(name: str, value: Any) -> np.ndarray[Any, Any]:
    value = array_of(value)
    if is_uninitialized(value):
        raise UserError(f"the parameter {name} has no array yet: call its lazy module once, then save")
    array = np.asarray(plain(value))
    if array.dtype.hasobject:
        raise UserError(f"{name} is no array of numbers but {type(value).__name__}: it would have to be pickled")
    return array


def _write_npz(path: Path, arrays: dict[str, Any]) -> None:
    """As ``np.savez``, which takes names as keywords and so not ``file``."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)


def _write_safetensors(path: Path, arrays: dict[str, Any]) -> None:
    _safetensors().save_file({name: np.asarray(a, order="C") for name, a in arrays.items()}, path)


def _read_npz(path: Path) -> dict[str, np.ndarray[Any, Any]]:
    with open(path, "rb") as file:
        if not zipfile.is_zipfile(file):
            raise UserError(f"{path.name} is no npz file, or it is damaged: an npz file is a zip archive of arrays")
        file.seek(0)
        try:
            with np.load(file, allow_pickle=False) as found:
                return {name: found[name] for name in found.files}
        except (ValueError, EOFError, zipfile.BadZipFile) as error:
            if "allow_pickle" in str(error):
                raise UserError(f"{path.name} holds Python objects, which jitmagic never unpickles") from None
            raise UserError(f"{path.name} is damaged: {error}") from error


def _read_safetensors(path: Path) -> dict[str, np.ndarray[Any, Any]]:
    package = _safetensors()
    with open(path, "rb"):  # its own error does not name the file
        pass
    try:
        return dict(package.load_file(path))
    except Exception as error:  # of the package, for what it cannot read
        raise UserError(f"{path.name} is no safetensors file, or it is damaged: {error}") from error


def _safetensors() -> Any:
    try:
        return importlib.import_module("safetensors.numpy")
    except ImportError:
        raise UserError(
            "files that end in .safetensors need the package safetensors: pip install 'jitmagic[safetensors]', "
            "or use .npz"
        ) from None
