"""What may be raised: each of these means that the call must not run."""

from __future__ import annotations

from typing import Optional, Sequence


class Stopped(Exception):
    """A call may not run. `str(error)` is what the model should read.

    Attributes:
        reason: why, in one sentence.
        rule: the rule that decided; ``tripwire explain RULE`` says more.
        evidence: indices of the inputs that prove it, for ``tripwire why``.
        retry_after: seconds to wait before asking again, where waiting helps.
        code: with this code a person allows the call: ``tripwire allow --once CODE``.
        hint: what a person can do about it.
    """

    def __init__(
        self,
        message: str,
        *,
        reason: Optional[str] = None,
        rule: str = "",
        evidence: Sequence[int] = (),
        retry_after: Optional[float] = None,
        code: Optional[str] = None,
        hint: str = "",
    ) -> None:
        super().__init__(message)
        self.reason = message if reason is None else reason
        self.rule = rule
        self.evidence = tuple(evidence)
        self.retry_after = retry_after
        self.code = code
        self.hint = hint

    def __reduce__(self):  # an exception that crosses a process pool keeps what it says
        return _rebuilt, (type(self), str(self), dict(self.__dict__))


def _rebuilt(kind, message, fields):
    error = kind.__new__(kind)
    Exception.__init__(error, message)
    error.__dict__.update(fields)
    return error


class Refused(Stopped):
    """This call may not run; another may, or the same later (`retry_after`)."""


class Held(Stopped):
    """Nothing goes on until a person acts, or has answered about this call (`code`)."""


class GuardFailed(Stopped):
    """The guard cannot do its work (a damaged journal, a full disk): nothing may run."""


class ForkedAway(GuardFailed):
    """The session belongs to the process that was forked; begin another one here."""


class UsageError(ValueError):
    """A wrong argument, or `after` where no single call is open. Nothing was done."""
