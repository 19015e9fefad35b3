"""What happens to a slot while it is kept, and who hears of it. Times are in seconds."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from threading import RLock
from typing import Any, Callable, Deque, Dict, List, Literal, Optional, Tuple, Union, overload

from .errors import BerthError, DeniedError, ProofError, UnreachableError

Listener = Callable[[Any], object]


class Listeners:
    """
    Listeners by the name of the event. Events are announced under the lock of those who announce them, and
    delivered outside: one after the other, in the order in which they happened, by whichever thread is free.
    """

    def __init__(self, report_error: Callable[[BaseException], None]) -> None:
        self._report_error = report_error
        self._lock = RLock()
        self._by_name: Dict[str, List[Listener]] = {}
        self._pending: Deque[Tuple[str, object]] = deque()
        self._is_delivering = False

    def on(self, name: str, listener: Listener) -> Callable[[], None]:
        """Returns a function that removes the listener."""
        with self._lock:
            self._by_name[name] = [*self._by_name.get(name, []), listener]

        def remove() -> None:
            with self._lock:
                self._by_name[name] = [other for other in self._by_name[name] if other is not listener]

        return remove

    def announce(self, name: str, event: object) -> None:
        self._pending.append((name, event))

    def deliver(self) -> None:
        with self._lock:
            if self._is_delivering:
                return
            self._is_delivering = True
        while True:
            with self._lock:
                if not self._pending:
                    self._is_delivering = False
                    return
                name, event = self._pending.popleft()
                listeners = self._by_name.get(name, [])
            for listener in listeners:
                self._call(listener, event)

    def _call(self, listener: Listener, event: object) -> None:
        """An error in a listener must not stop the renewals."""
        try:
            listener(event)
        except Exception as error:
            self._report_error(error)


# `ended`: it could not be renewed in time, or the machine slept. `taken`: the server says that the slot is no
# longer this user's. `license`: of a feature, because the slot of the license was lost.
LossReason = Literal["ended", "taken", "license"]


@dataclass(frozen=True)
class Unreachable:
    """No server answers. The slot can be used until it is lost."""

    error: UnreachableError
    held_for: float


@dataclass(frozen=True)
class Reachable:
    """A server answers again, before the slot was lost."""

    held_for: float


@dataclass(frozen=True)
class Denied:
    """The server refuses to renew the slot, or to lend it again after a loss. Once for each reason."""

    error: Union[DeniedError, ProofError]
    held_for: float


@dataclass(frozen=True)
class Lost:
    """Stop using the slot now: the server may lend it to another user."""

    reason: LossReason
    error: Optional[BerthError]


@dataclass(frozen=True)
class Restored:
    """The slot is held again after it was lost."""

    held_for: float


Remove = Callable[[], None]


class Announcing:
    """Listeners are called on a thread of this package, one event after the other."""

    _events: Listeners

    @overload
    def on(self, name: Literal["unreachable"], listener: Callable[[Unreachable], object]) -> Remove: ...
    @overload
    def on(self, name: Literal["reachable"], listener: Callable[[Reachable], object]) -> Remove: ...
    @overload
    def on(self, name: Literal["denied"], listener: Callable[[Denied], object]) -> Remove: ...
    @overload
    def on(self, name: Literal["lost"], listener: Callable[[Lost], object]) -> Remove: ...
    @overload
    def on(self, name: Literal["restored"], listener: Callable[[Restored], object]) -> Remove: ...
    def on(self, name: str, listener: Callable[[Any], object]) -> Remove:
        """Returns a function that removes the listener."""
        return self._events.on(name, listener)
