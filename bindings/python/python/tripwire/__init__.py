"""tripwire: a deterministic guard for LLM agents, in process.

>>> from tripwire import guard
>>> with guard(budget="5usd", profile="balanced") as g:
...     call = g.before("Bash", {"cmd": "pytest"})             # raises tripwire.Refused or tripwire.Held
...     result = call.after("2 passed", exit_code=0)
>>> result.stop is None
True

`guard` begins a journaled session: the same format and the same locks as the command `tripwire`, which shows and controls it.
`Engine` is the pure decision function, `observe` the facts of one call.
"""

from ._errors import ForkedAway, GuardFailed, Held, Refused, Stopped, UsageError
from ._guard import Call, Guard, Result, guard
from ._native import Decision, Engine, __version__, observe

__all__ = [
    "Call",
    "Decision",
    "Engine",
    "ForkedAway",
    "Guard",
    "GuardFailed",
    "Held",
    "Refused",
    "Result",
    "Stopped",
    "UsageError",
    "__version__",
    "guard",
    "observe",
]
