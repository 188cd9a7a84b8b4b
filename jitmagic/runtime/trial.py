"""Takes the times of the first calls of an entry, compiled and plain, gives the verdict which of them stays.

No call is made twice: now and then one call is served by the plain function, which is always right. Everything is
decided by call numbers and durations, so equal durations give equal decisions.
"""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["Trial"]

_ROUNDS = 3  # plain calls at most, before the verdict ...
_SHORT_ROUNDS = 8  # ... of calls as short as that: Python needs some to get up to speed, and noise is larger
_SHORT_NS = 200_000
_BRIEF_ROUNDS = 40  # where neither is clearly faster: both take a fraction of the time once caches are warm
_BRIEF_NS = 20_000
_WARM_UP = 1  # compiled calls that are not counted: caches are cold
_CLEAR = 2.0  # at this ratio one plain call that is not short is enough
_TOLERANCE = 1.03  # rows of the design: at most 3 % ...
_TOLERANCE_NS = 150  # ... or 150 ns above the plain call


@dataclass(slots=True)
class Trial:
    """``wants_plain`` says which one serves the next call; ``verdict`` is "", "keep" or "demote".

    The order of calls is: warm-up, compiled, plain, compiled, plain, ... and it ends with the first plain call that
    took more than twice the compiled time, or after three of each (eight, if they are short; forty, if they are brief
    and within a factor of two); the smallest times are compared.
    """

    handicap: float = 1.0  # compiled times count so many times: above 1 for what is not expected to win
    compiled: list[int] = field(default_factory=list)
    plain: list[int] = field(default_factory=list)
    skipped: int = 0
    verdict: str = ""

    @property
    def wants_plain(self) -> bool:
        return not self.verdict and len(self.compiled) > len(self.plain)

    def add_compiled(self, elapsed_ns: int) -> None:
        if self.skipped < _WARM_UP:
            self.skipped += 1
        else:
            self.compiled.append(elapsed_ns)
            self._decide()

    def add_plain(self, elapsed_ns: int) -> None:
        """Also for plain calls that ran for another reason: while a kernel was being compiled, after a bail."""
        self.plain.append(elapsed_ns)
        self._decide()

    @property
    def compiled_ns(self) -> int:
        return min(self.compiled, default=0)

    @property
    def plain_ns(self) -> int:
        return min(self.plain, default=0)

    def _decide(self) -> None:
        if not self.compiled or not self.plain:
            return
        is_short = self.plain_ns < _SHORT_NS
        compiled_ns = self.compiled_ns * self.handicap
        rounds = _SHORT_ROUNDS if is_short else _ROUNDS
        if len(self.plain) >= rounds and self.plain_ns < _BRIEF_NS and self._are_close(compiled_ns):
            rounds = _BRIEF_ROUNDS
        if not is_short and self.plain_ns > _CLEAR * self.compiled_ns:
            self.verdict = "keep"
        elif len(self.plain) >= rounds and len(self.compiled) >= rounds:
            slower = compiled_ns > self.plain_ns * _TOLERANCE and compiled_ns > self.plain_ns + _TOLERANCE_NS
            self.verdict = "demote" if slower else "keep"

    def _are_close(self, compiled_ns: float) -> bool:
        return compiled_ns < _CLEAR * self.plain_ns and self.plain_ns < _CLEAR * compiled_ns
