"""What happens to a slot while it is kept, and who hears of it. Times are in seconds."""

from __future__ import annotations

import logging
from collections import deque
from dataclasses import dataclass
from typing import Any, Callable, Deque, Dict, List, Literal, Optional, Sequence, Tuple, Union, overload

from .errors import BerthError, DeniedError, ProofError, UnreachableError
from .forking import Locked

Listener = Callable[[Any], object]

LOG = logging.getLogger("berth")
# Without this, Python prints warnings of programs that have not set up their log.
LOG.addHandler(logging.NullHandler())

# Everything else is a warning.
_LEVELS = {"reachable": logging.INFO, "restored": logging.INFO, "sent": logging.DEBUG}
SLOT_EVENTS = ("unreachable", "reachable", "denied", "lost", "restored")


class Listeners(Locked):
    """
    Listeners by the name of the event. Events are announced under the lock of those who announce them, and
    delivered outside: one after the other, in the order in which they happened, by whichever thread is free.
    """

    def __init__(
        self, names: Sequence[str], subject: str, report_error: Callable[[BaseException], None]
    ) -> None:
        """`subject`: what the events are about, for the log."""
        super().__init__()
        self._names = names
        self._subject = subject
        self._report_error = report_error
        self._by_name: Dict[str, List[Listener]] = {}
        self._pending: Deque[Tuple[str, object]] = deque()
        self._is_delivering = False

    def on(self, name: str, listener: Listener) -> Callable[[], None]:
        """Returns a function that removes the listener."""
        if name not in self._names:
            advice = f"The events are {', '.join(self._names)}."
            raise BerthError("invalid_option", f'There is no event "{name}".', advice)
        if not callable(listener):
            advice = f'Give the function to call: on("{name}", lambda event: …).'
            raise BerthError("invalid_option", f'The listener for "{name}" is not a function.', advice)
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
            LOG.log(_LEVELS.get(name, logging.WARNING), "%s: %s", self._subject, _describe_event(name, event))
            for listener in listeners:
                self._call(listener, event)

    def _begin_in_child(self) -> None:
        """The parent delivers what is announced."""
        super()._begin_in_child()
        self._pending = deque()
        self._is_delivering = False

    def _call(self, listener: Listener, event: object) -> None:
        """An error in a listener must not stop the renewals."""
        try:
            listener(event)
        except Exception as error:
            self._report_error(error)


def _describe_event(name: str, event: object) -> str:
    reason, error = getattr(event, "reason", None), getattr(event, "error", None)
    return f"{name}{f' ({reason})' if reason else ''}{f'. {error}' if error else ''}"


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
    """A server answers again after `unreachable`, whatever its answer is."""

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
