"""The wheel that users install."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.structure.sources import PACKAGES, ROOT


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """Built from this folder, with the build tool of this environment."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir"]
    subprocess.run([*command, folder, ROOT], check=True, capture_output=True)
    (built,) = Path(folder).glob("*.whl")
    return zipfile.ZipFile(built)


def test_it_holds_every_module_of_both_packages(wheel: zipfile.ZipFile) -> None:
    wanted = {
        f"{package}/{path.relative_to(folder).as_posix()}"
        for package, folder in PACKAGES.items()
        for path in folder.rglob("*.py")
    }
    found = set(wheel.namelist())
    assert wanted <= found
    assert {name.split("/")[0] for name in found if ".dist-info" not in name} == set(PACKAGES)
