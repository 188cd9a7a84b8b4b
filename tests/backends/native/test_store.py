"""The store on disk: what is damaged, foreign or too much is dropped, and nobody notices anything else."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jitmagic.backends.native.store import Store, Stored, current_store
from jitmagic.config import configure

CODE = Stored("kernel", bytes(range(256)) * 4)
LIMIT = 1_000_000


def make(tmp_path: Path, limit_bytes: int = LIMIT) -> Store:
    return Store(tmp_path / "cache" / "kernels", limit_bytes)


def test_what_is_put_is_there_for_the_next_process(tmp_path: Path) -> None:
    assert make(tmp_path).put("a" * 64, CODE)
    assert make(tmp_path).get("a" * 64) == CODE


def test_nothing_is_made_by_looking(tmp_path: Path) -> None:
    assert make(tmp_path).get("a" * 64) is None
    assert not (tmp_path / "cache").exists()


def test_directory_and_files_are_private(tmp_path: Path) -> None:
    store = make(tmp_path)
    store.put("a" * 64, CODE)
    assert stat.S_IMODE(store.directory.stat().st_mode) == 0o700
    assert stat.S_IMODE((store.directory / ("a" * 64)).stat().st_mode) == 0o600


def test_the_key_tells_kernels_apart(tmp_path: Path) -> None:
    store = make(tmp_path)
    keys = {
        store.key("text", "kernel", False),
        store.key("text", "kernel", True),
        store.key("text2", "kernel", False),
        store.key("text", "other", False),
    }
    assert len(keys) == 4
    assert store.key("text", "kernel", False) in keys


@given(place=st.integers(0, 10_000), bit=st.integers(0, 7))
def test_a_flipped_bit_is_found(tmp_path_factory: pytest.TempPathFactory, place: int, bit: int) -> None:
    store = make(tmp_path_factory.mktemp("store"))
    store.put("k", CODE)
    path = store.directory / "k"
    content = bytearray(path.read_bytes())
    content[place % len(content)] ^= 1 << bit
    path.write_bytes(content)
    assert store.get("k") is None
    assert not path.exists()


@pytest.mark.parametrize("kept", [0, 1, 10, 40, 60, 500])
def test_a_cut_file_is_found(tmp_path: Path, kept: int) -> None:
    store = make(tmp_path)
    store.put("k", CODE)
    path = store.directory / "k"
    path.write_bytes(path.read_bytes()[:kept])
    assert store.get("k") is None
    assert store.put("k", CODE)
    assert store.get("k") == CODE


@pytest.mark.parametrize("mode", [0o770, 0o720, 0o702, 0o777])
def test_a_directory_that_others_may_write_is_not_used(tmp_path: Path, mode: int) -> None:
    store = make(tmp_path)
    store.put("k", CODE)
    store.directory.chmod(mode)
    again = make(tmp_path)
    assert again.get("k") is None
    assert not again.put("other", CODE)
    assert not (store.directory / "other").exists()


def test_a_file_that_others_may_write_is_not_used(tmp_path: Path) -> None:
    store = make(tmp_path)
    store.put("k", CODE)
    (store.directory / "k").chmod(0o666)
    assert store.get("k") is None


def test_a_directory_of_another_user_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = make(tmp_path)
    store.put("k", CODE)
    monkeypatch.setattr(os, "getuid", lambda: store.directory.stat().st_uid + 1)
    assert make(tmp_path).get("k") is None


def test_links_are_not_followed(tmp_path: Path) -> None:
    store = make(tmp_path)
    store.put("k", CODE)
    (store.directory / "link").symlink_to(store.directory / "k")
    assert store.get("link") is None
    (tmp_path / "elsewhere").symlink_to(store.directory, target_is_directory=True)
    assert Store(tmp_path / "elsewhere", LIMIT).get("k") is None


def test_the_oldest_go_when_it_is_full(tmp_path: Path) -> None:
    size = len(CODE.object_code)
    store = make(tmp_path, 10 * size)
    for number in range(30):
        assert store.put(f"k{number}", CODE)
        os.utime(store.directory / f"k{number}", ns=(number, number))
        assert store.get("k0") == CODE  # in use, so it stays
    used = sum(file.stat().st_size for file in store.directory.iterdir())
    assert used <= 10 * size
    assert store.get("k29") == CODE
    assert store.get("k1") is None


def test_the_limit_holds_for_what_another_process_left(tmp_path: Path) -> None:
    size = len(CODE.object_code)
    first = make(tmp_path, 100 * size)
    for number in range(20):
        first.put(f"k{number}", CODE)
    make(tmp_path, 5 * size).put("new", CODE)
    assert sum(file.stat().st_size for file in first.directory.iterdir()) <= 5 * size


def test_what_another_process_is_writing_is_left_alone(tmp_path: Path) -> None:
    store = make(tmp_path, 3000)
    store.put("k", CODE)
    (store.directory / ".new-now").write_bytes(bytes(5000))
    (store.directory / ".new-once").write_bytes(bytes(5000))
    os.utime(store.directory / ".new-once", ns=(0, 0))
    assert make(tmp_path, 3000).put("k2", CODE)
    assert sorted(file.name for file in store.directory.iterdir()) == [".new-now", "k", "k2"]


def test_an_object_larger_than_the_limit_is_not_kept(tmp_path: Path) -> None:
    store = make(tmp_path, 100)
    assert not store.put("k", CODE)
    assert store.get("k") is None


def test_a_path_that_cannot_be_a_directory_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file")
    store = make(tmp_path)
    assert store.get("k") is None
    assert not store.put("k", CODE)


def test_a_full_disk_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = make(tmp_path)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    assert not store.put("k", CODE)
    assert list(store.directory.iterdir()) == []


def test_the_settings_in_force_decide(tmp_path: Path) -> None:
    with configure(cache_dir=tmp_path, cache_limit_bytes=123):
        store = current_store()
        assert (store.directory.parent, store.limit_bytes) == (tmp_path, 123)
        assert current_store() is store


def test_processes_share_it(tmp_path: Path) -> None:
    """Several writers and readers of the same few keys only ever see whole entries."""
    program = """
import sys
from pathlib import Path
from jitmagic.backends.native.store import Store, Stored
store = Store(Path(sys.argv[1]), 60_000)
for round in range(300):
    key = f"k{round % 7}"
    code = Stored(key, key.encode() * 4000)
    found = store.get(key)
    assert found in (None, code)
    assert store.put(key, code)
"""
    command = [sys.executable, "-c", program, str(tmp_path / "shared")]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    running = [subprocess.Popen(command, env=env, stderr=subprocess.PIPE) for _ in range(3)]
    assert [process.communicate(timeout=60)[1] for process in running] == [b""] * 3
    assert [process.returncode for process in running] == [0] * 3
    assert all(file.name.startswith("k") for file in (tmp_path / "shared").iterdir())
