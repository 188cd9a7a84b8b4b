"""States in files: .npz and .safetensors, without pickle."""

from __future__ import annotations

import io
import pickle
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jitmagic import nn
from jitmagic.errors import UserError


def net() -> nn.Module:
    return nn.Sequential(nn.Conv2d(1, 2, 3, dtype=np.float32), nn.BatchNorm2d(2), nn.Linear(3, 2)).requires_grad_()


def same_states(one: Any, other: Any) -> None:
    assert list(one) == list(other)
    for name in one:
        a, b = np.asarray(one[name]), other[name]
        assert (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes()), name


def test_an_npz_gives_back_names_order_dtypes_and_bytes(tmp_path: Path) -> None:
    layer = net()
    nn.save(layer, tmp_path / "net.npz")
    found = nn.load(tmp_path / "net.npz")
    same_states(layer.state_dict(), found)
    assert found["1.num_batches_tracked"].shape == ()
    assert net().load_state_dict(found) == ([], [])
    assert list(tmp_path.iterdir()) == [tmp_path / "net.npz"]


def test_every_name_can_be_saved(tmp_path: Path) -> None:
    state = {"file": np.ones(2), "self": np.zeros(1), "a/b": np.arange(3), "arr_0": np.array(1.5)}
    nn.save(state, str(tmp_path / "names.npz"))
    same_states(state, nn.load(tmp_path / "names.npz"))
    with np.load(tmp_path / "names.npz", allow_pickle=False) as plain:
        assert set(plain.files) == set(state)


def test_safetensors_gives_back_what_was_saved(tmp_path: Path) -> None:
    pytest.importorskip("safetensors", reason="the package safetensors is not installed")
    layer = net()
    nn.save(layer, tmp_path / "net.safetensors")
    found = nn.load(tmp_path / "net.safetensors")
    same_states(layer.state_dict(), {name: found[name] for name in layer.state_dict()})


def test_without_safetensors_the_error_says_what_to_install(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setitem(sys.modules, "safetensors.numpy", None)
    with pytest.raises(UserError, match=r"jitmagic\[safetensors\]"):
        nn.save(net(), tmp_path / "net.safetensors")
    assert not list(tmp_path.iterdir())


def test_objects_are_refused_and_the_old_file_stays(tmp_path: Path) -> None:
    path = tmp_path / "state.npz"
    nn.save({"a": np.ones(1)}, path)
    with pytest.raises(UserError, match="b is no array of numbers"):
        nn.save({"a": np.zeros(1), "b": {"c": 1}}, path)
    assert nn.load(path)["a"][0] == 1.0
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_with_pickles_is_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "bad.npz", a=np.array([{"b": 1}], dtype=object))
    with pytest.raises(UserError, match="never unpickles"):
        nn.load(tmp_path / "bad.npz")


@pytest.mark.parametrize("kind", ["text", "pickle", "npy", "cut off", "empty", "changed"])
def test_a_damaged_file_is_named(tmp_path: Path, kind: str) -> None:
    path, whole = tmp_path / "net.npz", tmp_path / "whole.npz"
    nn.save(net(), whole)
    content = bytearray(whole.read_bytes())
    content[len(content) // 3] ^= 255
    contents = {"text": b"hello", "pickle": pickle.dumps({"a": 1}), "npy": _npy(), "empty": b"",
                "cut off": whole.read_bytes()[:200], "changed": bytes(content)}  # fmt: skip
    path.write_bytes(contents[kind])
    with pytest.raises(UserError, match=r"net\.npz (is no npz file|is damaged)"):
        nn.load(path)


def _npy() -> bytes:
    file = io.BytesIO()
    np.save(file, np.ones(3))
    return file.getvalue()


def test_a_damaged_safetensors_file_is_named(tmp_path: Path) -> None:
    pytest.importorskip("safetensors", reason="the package safetensors is not installed")
    (tmp_path / "net.safetensors").write_bytes(b"hello, this is none")
    with pytest.raises(UserError, match=r"net\.safetensors is no safetensors file"):
        nn.load(tmp_path / "net.safetensors")


def test_what_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"missing\.npz"):
        nn.load(tmp_path / "missing.npz")
    with pytest.raises(FileNotFoundError, match=r"no such folder: .*nowhere"):
        nn.save(net(), tmp_path / "nowhere" / "net.npz")


def test_other_endings_and_lazy_parameters_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"neither in \.npz nor in \.safetensors"):
        nn.save(net(), tmp_path / "net.pt")
    with pytest.raises(UserError, match=r"neither in \.npz"):
        nn.load(tmp_path / "net.pkl")
    with pytest.raises(UserError, match="weight has no array yet"):
        nn.save(nn.LazyLinear(3), tmp_path / "net.npz")
