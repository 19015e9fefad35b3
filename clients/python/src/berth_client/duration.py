from __future__ import annotations

import math
import re
from datetime import timedelta
from typing import Union

from .errors import BerthError

# Seconds, a `timedelta`, or a text such as `90s`, `5m`, `2h` or `7d`.
Duration = Union[float, str, timedelta]

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}
_TEXT = re.compile(r"(\d{1,9})\s?(ms|s|m|h|d)", re.ASCII)


def parse_duration(name: str, value: Duration) -> float:
    """In seconds."""
    seconds = _read(value)
    if math.isfinite(seconds) and seconds >= 0:
        return seconds
    raise BerthError(
        "invalid_option",
        f'"{name}" is not a duration: {value}.',
        'Give seconds as a number, a timedelta, or a text such as "90s", "5m", "2h" or "7d".',
    )


def _read(value: Duration) -> float:
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, (int, float)):
        return float(value)
    match = _TEXT.fullmatch(str(value).strip())
    return math.nan if match is None else int(match[1]) * _UNITS[match[2]]
