"""Everything that the client needs from its surroundings. Tests simulate it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Callable, Mapping, Optional, Protocol, Sequence


class NotSentError(Exception):
    """The request has certainly not reached the server, because there was no connection."""


@dataclass(frozen=True)
class Tls:
    """Certificates for the connections to the servers."""

    # PEM, or the name of a file.
    ca: Optional[str] = None
    # Names of files.
    cert: Optional[str] = None
    key: Optional[str] = None


@dataclass(frozen=True)
class WireRequest:
    url: str
    # They have the token.
    headers: Mapping[str, str] = field(repr=False)
    body: bytes
    # Seconds.
    timeout: float
    method: str = "POST"
    tls: Optional[Tls] = None


@dataclass(frozen=True)
class WireAnswer:
    status: int
    text: str
    # The value of `Date`, if there is one.
    date: Optional[str]
    # The value of `Retry-After`, if there is one.
    retry_after: Optional[str] = None
    # The value of `Preference-Applied`, if there is one.
    applied: Optional[str] = None


@dataclass(frozen=True)
class Host:
    # `None` if it cannot be found out.
    hostname: Optional[str]
    os_user: Optional[str]


class Storage(Protocol):
    """Small texts by name. A text that was written is still there after a crash."""

    def read(self, name: str) -> Optional[str]: ...

    def write(self, name: str, text: str) -> None: ...

    def remove(self, name: str) -> None:
        """Does nothing if there is no such text."""

    def list(self, prefix: str) -> Sequence[str]:
        """The names that start with the prefix, sorted."""


class Signal(Protocol):
    """What `threading.Event` does."""

    def is_set(self) -> bool: ...

    def set(self) -> None: ...

    def wait(self, timeout: Optional[float] = None) -> bool: ...


class ExitGuard(Protocol):
    def release_in_time(self, seconds: float) -> None:
        """Returns the slot, as far as there is time."""


class Environment(Protocol):
    @property
    def storage(self) -> Storage:
        """Where borrows and queued counts are kept."""

    @property
    def host(self) -> Host: ...

    @property
    def machine_id(self) -> Optional[str]:
        """What identifies the computer to its operating system; `None` if there is nothing."""

    @property
    def process_id(self) -> int:
        """Changes when the process is forked: what was before belongs to the parent."""

    def read_monotonic(self) -> float:
        """Seconds. Never set, but on some systems it stands still while the machine sleeps."""

    def read_wall(self) -> float:
        """Seconds since 1970. May be set at any time."""

    def random(self) -> float:
        """In [0, 1)."""

    def create_id(self) -> str:
        """128 random bits as text, different every time."""

    def create_signal(self) -> Signal: ...

    def set_timer(self, delay: float, work: Callable[[], None]) -> Callable[[], None]:
        """
        Returns a function that cancels the timer. `work` runs on a thread of its own, which may block, and
        which does not keep the program running.
        """

    def send(self, request: WireRequest) -> WireAnswer:
        """Raises if no answer arrives in time, and a `NotSentError` if the request did not even leave."""

    def guard_exit(self, guard: ExitGuard) -> Callable[[], None]:
        """Calls the guard when the program ends. Returns a function that takes the guard back."""

    def report_error(self, error: BaseException) -> None:
        """Reports an error that a listener of the application has raised."""
