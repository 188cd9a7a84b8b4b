"""Surroundings of these tests: the compiled code of native entries is at hand from the start."""

from __future__ import annotations

import pytest

from jitmagic.runtime.native.code import prepare


@pytest.fixture(autouse=True, scope="session")
def native_code() -> None:
    assert prepare(), "this build of CPython or NumPy has another layout than the native entry knows"
