"""What the texts of the entry and of its steps have in common, and how texts are put together."""

from __future__ import annotations

import re
import textwrap

__all__ = ["ERRSTATE_HOLDS", "OTHER_ENTRY", "put"]

OTHER_ENTRY = 1  # what steps give where np.errstate is not what the entry is for; no object has this address

# Whether np.errstate is what the words of a check ERRSTATE at ``at`` ask for; ``found`` is memory of its own.
ERRSTATE_HOLDS = """
holds = PyContextVar_Get(load_int64(table, {H_ERRSTATE}), 0, found) == 0
if holds:
    o = load_int64(found, 0)
    holds = o == load_int64(at, 16)
    if not holds and o != 0:
        handling = load_int64(o, {VALUE})
        no_callback = load_int64(handling, 16) == load_int64(table, {H_NONE})
        holds = np.int64(load_int32(handling, 0)) == load_int64(at, 24)
        holds = holds and no_callback == (load_int64(at, 32) != 0)
    if o != 0:
        Py_DecRef(o)
"""


def put(text: str, **parts: str) -> str:
    """``text`` with each ``{NAME}`` that has a line to itself replaced by lines, indented as it is."""

    def lines(found: re.Match[str]) -> str:
        return textwrap.indent(parts[found[2]].strip("\n"), found[1])

    return re.sub(rf"^( *){{({'|'.join(parts)})}}$", lines, text, flags=re.MULTILINE)
