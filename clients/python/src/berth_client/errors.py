from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, Mapping, Optional, Sequence

from .refusals import ADVICE, RETRYABLE
from .timing import read_date_header, read_timestamp


class BerthError(Exception):
    """Every error of this package. `code` is stable, `message` says what happened, `advice` what to do."""

    def __init__(
        self, code: str, message: str, advice: Optional[str] = None, is_retryable: bool = False
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.advice = ADVICE.get(code, "") if advice is None else advice
        # Whether the same call may succeed later without any change.
        self.is_retryable = is_retryable

    def __str__(self) -> str:
        return f"{self.message} {self.advice}".rstrip()


class DeniedError(BerthError):
    """A server has answered, and refused. `code` is one of the server's."""

    def __init__(
        self,
        status: int,
        details: Mapping[str, Any],
        date: Optional[str] = None,
        retry_after: Optional[str] = None,
        applied: Optional[str] = None,
    ) -> None:
        code = str(details.get("code"))
        message = details.get("message") or f'The server refused with "{code}".'
        advice = ADVICE.get(code, "See the table of errors in the documentation of the server.")
        super().__init__(code, str(message), advice, code in RETRYABLE)
        self.status = status
        # The whole answer: some codes have further facts, such as `slots`, `left` or `latest_until`.
        self.details = details
        # How many seconds the server asks clients to wait before they ask again; `None` if it does not say.
        match = re.fullmatch("[1-9][0-9]{0,5}", retry_after or "")
        self.retry_after: Optional[int] = None if match is None else int(match[0])
        # Whether the client waited in the server's line.
        self.has_waited = applied == "wait"
        self._date = date

    @property
    def next_free_at(self) -> Optional[datetime]:
        """When a slot may become free, by the server's clock; `None` if the server does not say."""
        return read_timestamp(self.details.get("next_free_at"))

    @property
    def next_free_in(self) -> Optional[float]:
        """The seconds until `next_free_at`, whatever the clock of this machine says."""
        free_at = self.next_free_at
        answered_at = read_date_header(self._date)
        if free_at is None or answered_at is None:
            return None
        return max(0.0, (free_at - answered_at).total_seconds())


@dataclass(frozen=True)
class FailedAttempt:
    """A server that gave no answer, and why."""

    server: str
    reason: str
    # Whether the server may have carried out the request all the same.
    may_have_arrived: bool


class UnreachableError(BerthError):
    """No server has answered. Whether the request was carried out is unknown; repeating it is safe."""

    def __init__(
        self, attempts: Sequence[FailedAttempt], advice: Optional[str] = None, message: Optional[str] = None
    ) -> None:
        tried = (
            ", ".join(f"{attempt.server} ({attempt.reason})" for attempt in attempts) or "no time was left"
        )
        message = message or f"No license server answered: {tried}."
        super().__init__("unreachable", message, advice, is_retryable=True)
        self.attempts = tuple(attempts)


class SlotLostError(BerthError):
    """The slot is used although it is not held: at the moment, or for good (`slot_released`)."""

    def __init__(self, code: Literal["slot_lost", "slot_released"]) -> None:
        is_lost = code == "slot_lost"
        message = "The slot is not held at the moment." if is_lost else "The slot was released."
        super().__init__(code, message, is_retryable=is_lost)


class ProofError(BerthError):
    """A server cannot prove what it says, or a stored borrow was changed."""

    def __init__(
        self,
        reason: str,
        advice: Optional[str] = None,
        who: str = "The license server",
        code: str = "not_proven",
        is_retryable: bool = False,
    ) -> None:
        super().__init__(code, f"{who} cannot be trusted. {reason}", advice, is_retryable)
        self._reason = reason

    @classmethod
    def of_expired_certificate(cls) -> ProofError:
        return cls("Its certificate has expired.", code="certificate_expired", is_retryable=True)

    def of_borrow(self, advice: str = ADVICE["borrow_unreadable"]) -> ProofError:
        """The error for a stored borrow, which no server was asked about."""
        return ProofError(self._reason, advice, "The stored borrow")


class StorageError(BerthError):
    """Borrows and queued counts cannot be read or stored at the moment."""

    def __init__(self, reason: object) -> None:
        message = f"The storage of the client cannot be used: {reason}."
        super().__init__("storage_failed", message, is_retryable=True)


class BorrowError(BerthError):
    """A stored borrow cannot be used."""
