"""The native part of the package; use what `tripwire` itself exports."""

import os
from typing import Any, Dict, List, Mapping, Optional, Tuple, Union

__version__: str

class Engine:
    """The decision function over one stream of events: the same decisions as ``tripwire decide``."""

    def __init__(
        self, policy: Union[None, str, "os.PathLike[str]", Mapping[str, Any]] = None, *, profile: Optional[str] = None
    ) -> None: ...
    def step(self, event: Union[str, Mapping[str, Any]]) -> Decision:
        """Take one event in and decide."""

class Decision:
    """What the engine decided, and why."""

    @property
    def allowed(self) -> bool: ...
    @property
    def reason(self) -> str: ...
    @property
    def rule(self) -> str: ...
    @property
    def evidence(self) -> List[int]: ...
    @property
    def retry_after_ms(self) -> Optional[int]: ...
    @property
    def effects(self) -> List[Any]: ...
    @property
    def findings(self) -> List[Dict[str, Any]]: ...
    def json(self, run_id: str = "decide") -> str:
        """The line that ``tripwire decide`` prints."""

def observe(
    tool: str,
    args: Union[None, str, Mapping[str, Any]] = None,
    output: Optional[str] = None,
    *,
    error: Optional[bool] = None,
    exit_code: Optional[int] = None,
) -> Dict[str, Any]:
    """The facts of a call with its result, as the event that `Engine.step` takes."""

class NativeStop:
    held: bool
    reason: str
    rule: str
    evidence: List[int]
    retry_after_ms: Optional[int]
    code: Optional[str]
    message: str
    hint: str

_After = Tuple[Optional[str], Optional[NativeStop], List[str]]

class NativeSession:
    def __init__(
        self,
        workspace: Optional[str] = None,
        session: Optional[str] = None,
        budget: Optional[str] = None,
        profile: Optional[str] = None,
        role: Optional[str] = None,
        settings: Optional[Dict[str, str]] = None,
    ) -> None: ...
    def before(
        self, tool: str, args: str, agent: Optional[str] = None, turn: Optional[str] = None
    ) -> Tuple[Optional[str], Optional[str], Optional[NativeStop], List[str]]: ...
    def after(
        self,
        call: str,
        output: str,
        error: Optional[bool] = None,
        exit_code: Optional[int] = None,
        duration_ms: Optional[int] = None,
    ) -> _After: ...
    def no_result(self, call: str) -> _After: ...
    def usage(
        self,
        model: str,
        tokens: Tuple[int, int, int, int, int],
        context: Optional[int] = None,
        agent: Optional[str] = None,
    ) -> _After: ...
    def child(self, name: str, parent: Optional[str] = None) -> Tuple[Optional[str], Optional[NativeStop]]: ...
    def status(self) -> str: ...
    def close(self) -> None: ...
    def id(self) -> str: ...
