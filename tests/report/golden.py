"""Takes a name and a text, compares with the stored text; JITMAGIC_UPDATE_GOLDEN=1 stores it."""

from __future__ import annotations

import os
from pathlib import Path

FOLDER = Path(__file__).parent.parent / "golden" / "report"


def assert_golden(name: str, text: str) -> None:
    """Fail with a hint if ``text`` is not what ``tests/golden/report/<name>`` holds."""
    path = FOLDER / name
    if os.environ.get("JITMAGIC_UPDATE_GOLDEN") == "1":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n", encoding="utf-8")
    assert path.exists(), f"{path} is missing: run with JITMAGIC_UPDATE_GOLDEN=1 and read the result"
    assert text + "\n" == path.read_text(encoding="utf-8"), (
        f"{name} changed; if that is wanted, run with JITMAGIC_UPDATE_GOLDEN=1 and read the diff"
    )
