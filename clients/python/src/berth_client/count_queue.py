from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from typing import Any, Callable, Dict, Iterator, Literal, Optional, Sequence, Tuple, overload

from .consumption import Count, Counter, Total, send_count
from .ending import Ending
from .environment import Signal
from .errors import BerthError, DeniedError, StorageError, UnreachableError
from .events import Listeners, Remove
from .forking import Locked
from .lease import Account
from .refusals import REFUSES_COUNT
from .servers import is_of_addresses
from .storage import STORED_VERSION, name_of
from .timing import back_off


@dataclass(frozen=True)
class QueuedCount(Count):
    """A count that waits in the queue."""

    # When it was first sent without an answer, by milliseconds of the wall clock; `None` if it never was.
    tried_at_ms: Optional[float] = None
    # Which server it is for: the public id of its store, or what stands for its addresses.
    binding: str = ""

    @property
    def feature(self) -> Optional[str]:
        feature = self.body.get("feature")
        return feature if isinstance(feature, str) else None


def _write_count(count: QueuedCount) -> str:
    fields = {"key": count.key, "path": count.path, "body": dict(count.body), "triedAtMs": count.tried_at_ms}
    return json.dumps({"version": STORED_VERSION, **fields})


def _read_count(name: str, text: Optional[str]) -> Optional[QueuedCount]:
    """
    `None` if another program has sent it meanwhile, if the file is damaged, or for a newer client to send.
    """
    try:
        fields = json.loads(text or "")
        key, path, body, tried_at_ms = (fields[name] for name in ("key", "path", "body", "triedAtMs"))
        is_whole = (
            type(fields["version"]) is int
            and fields["version"] == STORED_VERSION
            and isinstance(key, str)
            and path in ("add_consumption", "add_feature_consumption")
            and isinstance(body, dict)
            and (tried_at_ms is None or type(tried_at_ms) in (int, float))
        )
    except (KeyError, TypeError, ValueError, RecursionError):
        return None
    return QueuedCount(key, path, body, tried_at_ms, _binding_of(name)) if is_whole else None


def _binding_of(name: str) -> str:
    return name.rpartition("@")[0].rpartition("@")[2]


def _rest_of(name: str) -> str:
    """The name without its server."""
    return name.rpartition("@")[2]


@dataclass(frozen=True)
class Sent:
    count: QueuedCount
    total: Total


@dataclass(frozen=True)
class Refused:
    """The server refuses this count for good. It is no longer in the queue."""

    count: QueuedCount
    error: DeniedError


@dataclass(frozen=True)
class Blocked:
    """The queue waits: no server answers, the license cannot be used, or files cannot. Announced once."""

    error: BerthError


@dataclass(frozen=True)
class Uncertain:
    """
    It may have been counted, and the server no longer remembers its key. It stays until `settle` is called.
    """

    count: QueuedCount


# Servers remember a key for a day; an hour is left for clocks that differ.
_KEY_LASTS_MS = 23 * 3_600_000
_LONGEST_QUEUE_PAUSE = 60.0
_QUEUE_EVENTS = ("sent", "refused", "blocked", "uncertain")


class CountQueue(Locked, Ending):
    """
    Counts are stored first and sent in order, each under its own key, so each counts once, whatever happens
    to the program, the network or the server. Programs may share a queue. A count is sent to the server that
    it was queued for, and to no other; before the first contact, to the first one that answers.
    """

    def __init__(self, account: Account, counter: Callable[[], Counter]) -> None:
        super().__init__()
        self._account = account
        self._counter = counter
        subject = f'counts of "{account.product}"'
        self._events = Listeners(_QUEUE_EVENTS, subject, account.environment.report_error)
        self._prefix = name_of("count", account.product)
        # The server of this queue; `None` before the first contact.
        self._binding: Optional[str] = None
        # Set when the round that is under way is over.
        self._underway: Optional[Signal] = None
        self._is_closed = False
        self._is_blocked = False
        self._failures = 0
        self._added = 0
        self._cancel_timer: Callable[[], None] = lambda: None
        self._schedule(0)

    @overload
    def on(self, name: Literal["sent"], listener: Callable[[Sent], object]) -> Remove: ...
    @overload
    def on(self, name: Literal["refused"], listener: Callable[[Refused], object]) -> Remove: ...
    @overload
    def on(self, name: Literal["blocked"], listener: Callable[[Blocked], object]) -> Remove: ...
    @overload
    def on(self, name: Literal["uncertain"], listener: Callable[[Uncertain], object]) -> Remove: ...
    def on(self, name: str, listener: Callable[[Any], object]) -> Remove:
        """Returns a function that removes the listener."""
        return self._events.on(name, listener)

    def add(self, count: int = 1, *, feature: Optional[str] = None, key: Optional[str] = None) -> None:
        """Returns when the count is stored: it will be sent even if the program ends."""
        described = self._counter().describe(count, feature, key)
        binding = self._binding or self._account.servers.addresses
        self._add(QueuedCount(described.key, described.path, described.body, None, binding))

    def list(self) -> Sequence[QueuedCount]:
        """The counts that wait, oldest first. Before the first contact, also those that may be for others."""
        return [count for _, count in self._read_own()]

    def list_others(self) -> Sequence[QueuedCount]:
        """The counts of this product that lie here for another server, oldest first. `binding` says which."""
        own = {name for name, _ in self._read_own()}
        return [count for name, count in self._read_all() if name not in own]

    def flush(self) -> bool:
        """Sends what waits now. Returns whether the queue is empty."""
        self._wait_for_round()
        self._cancel_timer()
        self._run()
        return len(self._read_own()) == 0

    def settle(self, key: str, *, was_counted: bool) -> None:
        """Says whether an uncertain count was counted. If not, it is sent under a new key."""
        for name, count in self._read_all():
            if count.key == key:
                if not was_counted:
                    self._add(replace(count, key=self._account.environment.create_id(), tried_at_ms=None))
                self._account.storage.remove(name)

    def close(self) -> None:
        """Stops sending. What is stored is sent by the next queue."""
        with self._lock:
            self._is_closed = True
            self._cancel_timer()
        self._wait_for_round()

    def __repr__(self) -> str:
        return f"<CountQueue of {self._account.product!r}>"

    def _finish(self) -> None:
        self.close()

    def _begin_in_child(self) -> None:
        """The parent goes on with what is under way. What both send has one key, so it counts once."""
        super()._begin_in_child()
        self._underway = None
        self._failures = 0
        self._cancel_timer = lambda: None

    def _schedule(self, delay: float) -> None:
        with self._lock:
            self._cancel_timer()
            if not self._is_closed:
                self._cancel_timer = self._account.environment.set_timer(delay, self._run)

    def _wait_for_round(self) -> None:
        underway = self._underway
        if underway is not None:
            underway.wait()

    def _run(self) -> None:
        """One round at a time. A thread that comes second waits for the round that is under way."""
        with self._lock:
            underway = self._underway
            ours = self._account.environment.create_signal() if underway is None else None
            self._underway = underway or ours
        if ours is None:
            self._wait_for_round()
            return
        try:
            self._send_all()
        except Exception as error:
            self._block(error if isinstance(error, BerthError) else StorageError(error))
        finally:
            with self._lock:
                self._underway = None
            ours.set()
        self._events.deliver()

    def _send_all(self) -> None:
        seen = set()
        while True:
            if self._binding is not None:
                self._take_over(self._binding)
            names = [name for name, _ in self._read_own() if name not in seen]
            if not names:
                # Nothing blocks the next count, even if an uncertain one stays.
                self._failures = 0
                self._is_blocked = False
                return
            if self._binding is None:
                self._binding = self._account.servers.find_store().binding
                continue
            for name in names:
                if self._is_closed or not self._send_one(name, self._binding):
                    return
            seen.update(names)

    def _take_over(self, binding: str) -> None:
        """
        Gives counts from before the first contact to the server. Those that were tried stay: a server without
        an id may have counted them. A program may end in between, so there may be two of the same name.
        """
        addresses = self._account.servers.addresses
        if binding == addresses:
            return
        storage = self._account.storage
        given = {_rest_of(name) for name in storage.list(self._prefix) if _binding_of(name) != addresses}
        for name, count in list(self._read_each()):
            is_given = _rest_of(name) in given
            if count.binding != addresses or (count.tried_at_ms is not None and not is_given):
                continue
            if not is_given:
                self._store(name_of("count", self._account.product, binding) + _rest_of(name), count)
            storage.remove(name)

    def _send_one(self, name: str, binding: str) -> bool:
        """Whether the next one may be sent."""
        storage = self._account.storage
        stored = _read_count(name, storage.read(name))
        if stored is None or stored.binding != binding:
            return True
        now_ms = self._account.environment.read_wall() * 1000
        count = stored if stored.tried_at_ms is not None else replace(stored, tried_at_ms=now_ms)
        if now_ms - (count.tried_at_ms or 0) > _KEY_LASTS_MS:
            self._events.announce("uncertain", Uncertain(count))
            return True
        # Stored before it is sent: after a crash, it may have been counted.
        if stored.tried_at_ms is None:
            self._store(name, count)
        try:
            total = send_count(self._account, count, binding)
        except Exception as error:
            if stored.tried_at_ms is None and _was_not_counted(error):
                self._store(name, stored)
            return self._accept_error(name, count, error)
        storage.remove(name)
        self._failures = 0
        self._is_blocked = False
        self._events.announce("sent", Sent(count, total))
        return True

    def _accept_error(self, name: str, count: QueuedCount, error: Exception) -> bool:
        if isinstance(error, DeniedError) and error.code in REFUSES_COUNT:
            self._account.storage.remove(name)
            self._events.announce("refused", Refused(count, error))
            return True
        if not isinstance(error, (DeniedError, UnreachableError)):
            raise error
        self._block(error)
        return False

    def _block(self, error: BerthError) -> None:
        self._schedule(back_off(self._failures, _LONGEST_QUEUE_PAUSE, self._account.environment.random))
        self._failures += 1
        if not self._is_blocked:
            self._events.announce("blocked", Blocked(error))
        self._is_blocked = True

    def _read_own(self) -> Sequence[Tuple[str, QueuedCount]]:
        return [(name, count) for name, count in self._read_all() if self._is_own(count.binding)]

    def _is_own(self, binding: str) -> bool:
        if self._binding is not None:
            return binding == self._binding
        # No server has answered yet, so it may be any of them.
        return binding == self._account.servers.addresses or not is_of_addresses(binding)

    def _read_all(self) -> Sequence[Tuple[str, QueuedCount]]:
        """By age, and each once: see `_take_over`."""
        counts: Dict[str, Tuple[str, QueuedCount]] = {}
        for name, count in self._read_each():
            if _rest_of(name) not in counts or not is_of_addresses(count.binding):
                counts[_rest_of(name)] = (name, count)
        return [counts[rest] for rest in sorted(counts)]

    def _read_each(self) -> Iterator[Tuple[str, QueuedCount]]:
        storage = self._account.storage
        for name in storage.list(self._prefix):
            count = _read_count(name, storage.read(name))
            if count is not None and count.body.get("product") == self._account.product:
                yield name, count

    def _add(self, count: QueuedCount) -> None:
        self._store(self._next_name(count), count)
        if self._failures == 0:
            self._schedule(0)

    def _store(self, name: str, count: QueuedCount) -> None:
        self._account.storage.write(name, _write_count(count))

    def _next_name(self, count: QueuedCount) -> str:
        """Sorted by time, and by the order of the calls within a millisecond."""
        with self._lock:
            self._added += 1
            added = self._added % 1_000_000
        at_ms = int(self._account.environment.read_wall() * 1000)
        key = re.sub(r"[^A-Za-z0-9_-]", "_", count.key)[:48]
        return name_of("count", self._account.product, count.binding) + f"{at_ms:015}-{added:06}-{key}"


def _was_not_counted(error: Exception) -> bool:
    """Whether no server has counted it. Then it can wait as long as it has to."""
    if isinstance(error, DeniedError):
        return error.code == "wrong_store"
    return isinstance(error, UnreachableError) and not any(one.may_have_arrived for one in error.attempts)
