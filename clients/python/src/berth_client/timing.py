from __future__ import annotations

from datetime import datetime, timedelta, timezone
from email.utils import parsedate_to_datetime
from typing import Callable, Optional

from .environment import Environment
from .forking import Locked

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_MS = timedelta(milliseconds=1)
_FIRST = 0.5
_DOUBLINGS = 10
# How far the wall clock may run ahead of the monotonic clock before that counts as sleep. Readings of the two
# are never from exactly the same moment.
_NOTICED_SLEEP = 0.5


def read_timestamp(value: object) -> Optional[datetime]:
    """`None` if it is not a date."""
    if not isinstance(value, str):
        return None
    try:
        # Before Python 3.11, `Z` is not understood.
        moment = datetime.fromisoformat(value[:-1] + "+00:00" if value.endswith("Z") else value)
    except ValueError:
        return None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=timezone.utc)


def write_timestamp(moment: datetime) -> str:
    utc = moment.astimezone(timezone.utc)
    return utc.strftime("%Y-%m-%dT%H:%M:%S.") + f"{utc.microsecond // 1000:03}Z"


def read_date_header(value: Optional[str]) -> Optional[datetime]:
    if value is None:
        return None
    try:
        return parsedate_to_datetime(value)
    except (TypeError, ValueError):
        return read_timestamp(value)


def to_ms(moment: datetime) -> int:
    return (moment - _EPOCH) // _MS


def from_ms(millis: float) -> datetime:
    return _EPOCH + timedelta(milliseconds=millis)


def back_off(failures: int, longest: float, random: Callable[[], float]) -> float:
    """How many seconds to wait after failures: longer each time, with jitter."""
    full: float = min(longest, _FIRST * 2 ** min(failures, _DOUBLINGS))
    return full * (0.5 + random() / 2)


class SteadyClock(Locked):
    """
    A clock that goes on while the machine sleeps. The monotonic clock may stand still then, so the wall clock
    is compared with it. A wall clock that is set ahead looks like sleep: the slot is lost and asked for
    again. The opposite mistake would keep a slot too long. A wall clock that is set back changes nothing.
    """

    def __init__(self, environment: Environment) -> None:
        super().__init__()
        self._environment = environment
        self._lead = environment.read_wall() - environment.read_monotonic()
        self._slept = 0.0

    @property
    def slept(self) -> float:
        """How long the machine has slept, as far as the last reading noticed."""
        return self._slept

    def read(self) -> float:
        with self._lock:
            monotonic = self._environment.read_monotonic()
            lead = self._environment.read_wall() - monotonic
            slept = lead - self._lead
            if slept < 0 or slept > _NOTICED_SLEEP:
                self._lead = lead
            if slept > _NOTICED_SLEEP:
                self._slept += slept
            return monotonic + self._slept
