"""Every conformance test runs without measurements: what is slower stays compiled, so that counts are what they are."""

from __future__ import annotations

from collections.abc import Iterator
from weakref import WeakSet

import pytest

import jitmagic as jm
from jitmagic.nn import dynamic


@pytest.fixture(autouse=True)
def _no_demotion() -> Iterator[None]:
    with jm.configure(demote=False):
        yield


@pytest.fixture(autouse=True)
def _no_class_is_dynamic(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hook on one layer marks its class for the process: counts must not depend on the tests before."""
    monkeypatch.setattr(dynamic, "_marked", WeakSet())
