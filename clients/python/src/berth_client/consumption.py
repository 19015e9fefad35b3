from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, Mapping, Optional

from .duration import Duration, parse_duration
from .errors import UnreachableError
from .lease import Account
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


@dataclass(frozen=True)
class Counter:
    """What counts are for. A key counts once for the license and, if the application names one, the user."""

    account: Account
    # `None` if the application has not named one: the next start of the program would be another one.
    user: Optional[str]
    license_id: Optional[int]

    def describe(self, count: int, feature: Optional[str], key: Optional[str]) -> Count:
        body: Dict[str, Any] = {"product": self.account.product, "consumptions": count}
        for name, value in (("user", self.user), ("license_id", self.license_id), ("feature", feature)):
            if value is not None:
                body[name] = value
        path = "add_consumption" if feature is None else "add_feature_consumption"
        return Count(self.account.environment.create_id() if key is None else key, path, body)


def send_count(account: Account, count: Count, binding: Optional[str] = None) -> Total:
    headers = {"Idempotency-Key": count.key}
    fields = account.servers.post(count.path, count.body, headers, binding=binding).fields
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
