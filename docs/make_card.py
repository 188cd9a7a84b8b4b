"""Takes a notebook, gives the picture of one of its cards: ``docs/card.png``, shown in the README.

    python docs/make_card.py [NOTEBOOK] [--card N]

The notebook is run, the HTML of the card is laid out by Chromium as in JupyterLab, and the picture is
made as sharp as fits into ``LIMIT_BYTES``.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from playwright.sync_api import sync_playwright

DOCS = Path(__file__).parent
LIMIT_BYTES = 150_000
SCALES = (2.0, 1.5, 1.0)  # device pixels per CSS pixel, sharpest first
MARK = 'class="jitmagic-report"'

# JupyterLab's own font, size and table rules for HTML output (its light theme).
PAGE = """<!doctype html><meta charset="utf-8"><style>
body {{ margin: 0; background: #fff; }}
main {{ width: 760px; padding: 14px 18px; font: 13px/1.4 "DejaVu Sans", sans-serif; color: #212121; }}
pre, code {{ font: 12px/1.35 "DejaVu Sans Mono", monospace; }}
table {{ border-collapse: collapse; font-size: 12px; }}
td, th {{ padding: 4px 8px; }}
img {{ max-width: 100%; }}
</style><main>{card}</main>"""


def cards(path: Path) -> list[str]:
    """The HTML of every card that the notebook shows in a fresh run."""
    os.environ["JUPYTER_PREFER_ENV_PATH"] = "1"
    notebook = nbformat.read(path, as_version=4)
    place = {"metadata": {"path": str(path.parent)}}
    quiet = ["--log-level=40"]  # ipykernel else warns that it talks over local TCP
    NotebookClient(notebook, kernel_name="python3", extra_arguments=quiet, resources=place).execute()
    shown = (
        output.get("data", {}).get("text/html", "") for cell in notebook.cells for output in cell.get("outputs", [])
    )
    return [html for html in shown if MARK in html]


def pictures(card: str) -> dict[float, bytes]:
    """The card as PNG at each scale."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        taken = {}
        for scale in SCALES:
            page = browser.new_page(device_scale_factor=scale)
            page.set_content(PAGE.format(card=card))
            taken[scale] = page.locator("main").screenshot()
            page.close()
        browser.close()
    return taken


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    default = DOCS.parent / "examples/quickstart.ipynb"
    parser.add_argument("notebook", type=Path, nargs="?", default=default)
    parser.add_argument("--card", type=int, help="which card, from 0; else the first with something to learn")
    arguments = parser.parse_args()

    found = cards(arguments.notebook)
    if not found:
        sys.exit(f"{arguments.notebook}: no output contains {MARK}")
    open_cards = [html for html in found if "<details open" in html]
    card = (open_cards or found)[0] if arguments.card is None else found[arguments.card]
    for scale, picture in pictures(card).items():
        if len(picture) < LIMIT_BYTES:
            (DOCS / "card.png").write_bytes(picture)
            print(f"docs/card.png: {len(picture) // 1000} kB at scale {scale:g}")
            return 0
    sys.exit(f"the card does not fit into {LIMIT_BYTES // 1000} kB: choose another with --card")


if __name__ == "__main__":
    sys.exit(main())
