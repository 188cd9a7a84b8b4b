"""Takes the Python lines of a cell that is ``%%compile -h`` and nothing else, gives them with a body.

IPython refuses a cell magic with an empty body before the magic can answer.
"""

from __future__ import annotations

from jitmagic.magic.refusing import call_of_magic

__all__ = ["help_alone"]

_ASKS = frozenset({"-h", "--help"})


def help_alone(lines: list[str]) -> list[str]:
    """An entry of ``input_transformers_post``."""
    line, body = call_of_magic(lines) or ("", "")
    if body or not _ASKS & set(line.split()):
        return lines
    return [f"get_ipython().run_cell_magic('compile', {line!r}, '\\n')\n"]
