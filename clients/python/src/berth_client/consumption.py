from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from threading import RLock
from typing import Any, Callable, Literal, Mapping, Optional, Sequence, Tuple, overload

from .duration import Duration, parse_duration
from .environment import Signal, name_of
from .errors import BerthError, DeniedError, StorageError, UnreachableError
from .events import Listeners, Remove
from .lease import Account, target_of
from .timing import back_off

_LONGEST_RETRY_PAUSE = 5.0


@dataclass(frozen=True)
class Total:
    """The state after a count."""

    total: int
    # Meaningless if `is_unlimited`.
    max: int
    is_unlimited: bool


@dataclass(frozen=True)
class Count:
    """A count as it is sent. It has to be repeated exactly: a key belongs to all of its fields."""

    key: str
    path: str
    body: Mapping[str, Any]


def describe_count(account: Account, count: int, feature: Optional[str], key: Optional[str]) -> Count:
    body = {**target_of(account, account.license_id), "consumptions": count}
    if feature is not None:
        body["feature"] = feature
    path = "add_consumption" if feature is None else "add_feature_consumption"
    return Count(account.environment.create_id() if key is None else key, path, body)


def send_count(account: Account, count: Count) -> Total:
    fields = account.servers.post(count.path, count.body, {"Idempotency-Key": count.key}).fields
    return Total(
        total=int(fields["total_consumptions"]),
        max=int(fields.get("max_consumptions", 0)),
        is_unlimited=fields.get("allow_unlimited_consumptions") is True,
    )


def count_now(account: Account, count: Count, retry_for: Duration) -> Total:
    """Repeats the count under its key while no server answers."""
    environment = account.environment
    deadline = account.clock.read() + parse_duration("retry_for", retry_for)
    failures = 0
    while True:
        try:
            return send_count(account, count)
        except UnreachableError:
            if account.clock.read() >= deadline:
                raise
        environment.create_signal().wait(back_off(failures, _LONGEST_RETRY_PAUSE, environment.random))
        failures += 1


@dataclass(frozen=True)
class QueuedCount(Count):
    """A count that waits in the queue."""

    # When it was first sent without an answer, by milliseconds of the wall clock; `None` if it never was.
    tried_at_ms: Optional[float] = None

    @property
    def feature(self) -> Optional[str]:
        feature = self.body.get("feature")
        return feature if isinstance(feature, str) else None


def _write_count(count: QueuedCount) -> str:
    body = dict(count.body)
    return json.dumps({"key": count.key, "path": count.path, "body": body, "triedAtMs": count.tried_at_ms})


def _read_count(text: Optional[str]) -> Optional[QueuedCount]:
    """
    `None` if another program has sent it meanwhile, or if the file is damaged: nobody knows what it was.
    """
    try:
        fields = json.loads(text or "")
        return QueuedCount(fields["key"], fields["path"], fields["body"], fields["triedAtMs"])
    except (KeyError, TypeError, ValueError):
        return None


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
    """The queue waits: no server answers, the license cannot be used, or files cannot. Told once."""

    error: BerthError


@dataclass(frozen=True)
class Uncertain:
    """
    It may have been counted, and the server no longer remembers its key. It stays until `settle` is called.
    """

    count: QueuedCount


# These concern the count itself. All other refusals may change, so the count waits.
_FINAL = {
    "license_not_enough_consumptions",
    "feature_not_enough_consumptions",
    "license_not_consumption",
    "feature_not_consumption",
    "invalid_license_feature_code",
    "idempotency_key_reused",
    "validation_error",
}

# Servers remember a key for a day; an hour is left for clocks that differ.
_KEY_LASTS_MS = 23 * 3_600_000
_LONGEST_QUEUE_PAUSE = 60.0


class CountQueue:
    """
    Counts are stored first and sent in order, each under its own key, so each counts once, whatever happens
    to the program, the network or the server. Programs may share a queue.
    """

    def __init__(self, account: Account) -> None:
        self._account = account
        self._events = Listeners(account.environment.report_error)
        self._prefix = name_of("count", account.product)
        self._lock = RLock()
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
        described = describe_count(self._account, count, feature, key)
        self._store(
            self._next_name(described.key), QueuedCount(described.key, described.path, described.body)
        )
        if self._failures == 0:
            self._schedule(0)

    def list(self) -> Sequence[QueuedCount]:
        """The counts that wait, oldest first."""
        return [count for _, count in self._read_all()]

    def flush(self) -> bool:
        """Sends what waits now. Returns whether the queue is empty."""
        self._wait_for_round()
        self._cancel_timer()
        self._run()
        return len(self._read_all()) == 0

    def settle(self, key: str, *, was_counted: bool) -> None:
        """Says whether an uncertain count was counted. If not, it is sent under a new key."""
        for name, count in self._read_all():
            if count.key == key:
                if not was_counted:
                    self.add(int(count.body["consumptions"]), feature=count.feature)
                self._account.storage.remove(name)

    def close(self) -> None:
        """Stops sending. What is stored is sent by the next queue."""
        with self._lock:
            self._is_closed = True
            self._cancel_timer()
        self._wait_for_round()

    def __enter__(self) -> CountQueue:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

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
            self._block(StorageError(error))
        finally:
            with self._lock:
                self._underway = None
            ours.set()
        self._events.deliver()

    def _send_all(self) -> None:
        seen = set()
        while True:
            names = [name for name in self._account.storage.list(self._prefix) if name not in seen]
            if not names:
                # Nothing holds up the next count, even if one that is uncertain stays.
                self._failures = 0
                self._is_blocked = False
                return
            for name in names:
                if self._is_closed or not self._send_one(name):
                    return
            seen.update(names)

    def _send_one(self, name: str) -> bool:
        """Whether the next one may be sent."""
        storage = self._account.storage
        stored = _read_count(storage.read(name))
        if stored is None or not self._is_ours(stored):
            return True
        now_ms = self._account.environment.read_wall() * 1000
        count = stored if stored.tried_at_ms is not None else replace(stored, tried_at_ms=now_ms)
        if now_ms - (count.tried_at_ms or 0) > _KEY_LASTS_MS:
            self._events.announce("uncertain", Uncertain(count))
            return True
        # Before it is sent: afterwards, nobody knows whether it was.
        if stored.tried_at_ms is None:
            self._store(name, count)
        try:
            total = send_count(self._account, count)
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
        if isinstance(error, DeniedError) and error.code in _FINAL:
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

    def _read_all(self) -> Sequence[Tuple[str, QueuedCount]]:
        storage = self._account.storage
        counts = ((name, _read_count(storage.read(name))) for name in storage.list(self._prefix))
        return [(name, count) for name, count in counts if count is not None and self._is_ours(count)]

    def _is_ours(self, count: QueuedCount) -> bool:
        """The name of another product may begin like ours."""
        return count.body.get("product") == self._account.product

    def _store(self, name: str, count: QueuedCount) -> None:
        self._account.storage.write(name, _write_count(count))

    def _next_name(self, key: str) -> str:
        """Sorted by time, and by the order of the calls within a millisecond."""
        with self._lock:
            self._added += 1
            added = self._added % 1_000_000
        at_ms = int(self._account.environment.read_wall() * 1000)
        return f"{self._prefix}{at_ms:015}-{added:06}-{re.sub(r'[^A-Za-z0-9_-]', '_', key)[:64]}"


def _was_not_counted(error: Exception) -> bool:
    """Then it can wait as long as it has to: nothing has counted it yet."""
    return isinstance(error, UnreachableError) and not any(one.may_have_arrived for one in error.attempts)
