"""Every conformance test runs without measurements: what is slower stays compiled, so that counts are what they are."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import jitmagic as jm


@pytest.fixture(autouse=True)
def _no_demotion() -> Iterator[None]:
    with jm.configure(demote=False):
        yield
