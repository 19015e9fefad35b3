from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Mapping, Optional, Sequence

from .timing import read_date_header, read_timestamp

# What to do, by code: those of the server that applications meet, and those of this package.
_ADVICE: Mapping[str, str] = {
    "unreachable": "Check the network and the address of the license server, then try again.",
    "slot_lost": "Stop the work that needs the license. The slot is asked for again by itself.",
    "storage_failed": "Check that the folder exists, can be written, and has space left.",
    "slot_released": "Take a slot with acquire() first, or borrow one with the borrow() of the client.",
    "slot_in_use_here": "Call acquire() once, and share the slot within the program.",
    "no_borrow": "Borrow a slot while the license server can be reached. Where the name of the host changes, "
    'always give a "user".',
    "borrow_ended": "Connect to the license server, and take or borrow a slot again.",
    "borrow_unreadable": "Connect to the license server, and borrow again.",
    "not_proven": "Check the address of the license server, and that it has the certificate of the vendor.",
    "certificate_expired": "Check the clock of this machine. If it is right, ask the administrator to connect "
    "the license server to the vendor.",
    "clock_set_back": "Set the clock of this machine right. If it is, connect to the license server.",
    "floating_not_available": "Wait until somebody returns a slot, or ask the administrator for more slots.",
    "address_limit_reached": "Close another program on this machine that uses a slot.",
    "unknown_product": "Check the product code, or ask the administrator to add the license.",
    "license_not_found": "Check the license id, or leave it out.",
    "license_not_enabled": "Ask the vendor why the license is disabled.",
    "license_not_active": "Ask the administrator to activate the license.",
    "license_start_date_error": "Wait until the license starts.",
    "license_expired": "Renew the license with the vendor.",
    "license_check_overdue": "Ask the administrator to reconnect the license server to the vendor.",
    "server_identity_changed": "Ask the administrator: the license server was moved or copied.",
    "blacklisted": "Ask the administrator, whose rules bar this user, host or address.",
    "invalid_license_feature_code": "Check the code of the feature.",
    "license_feature_expired": "Renew the feature with the vendor.",
    "feature_not_consumption": "Use feature() for a feature with slots.",
    "feature_not_floating": "Use consume() for a feature that counts.",
    "license_not_consumption": "The license does not count consumption: leave the call out.",
    "device_not_found": "There is nothing to return. For a feature, take a slot of the license first.",
    "wrong_store": "Give the address of the server that it was borrowed from or queued for.",
    "slot_of_another_client": "Return the slot with the credentials with which it was taken.",
    "license_borrow_not_allowed": "The license does not allow borrowing: stay connected instead.",
    "borrow_until_not_valid": 'Borrow for a shorter time; "latest_until" is the latest date.',
    "floating_feature_device_not_in_use": "There is nothing to return.",
    "license_not_enough_consumptions": 'Buy more, or wait for the next period; "left" is what is left.',
    "feature_not_enough_consumptions": 'Buy more, or wait for the next period; "left" is what is left.',
    "idempotency_key_reused": "Use a new key for every count.",
    "unauthorized": "Give the client a valid token of the license server.",
    "forbidden": "Give the client a token with the required role.",
    "validation_error": "Correct the field that the message names.",
    "missing_parameters": 'Give "user" and "product".',
    "not_found": "Check the address of the server: there is no Berth at it.",
}

_RETRYABLE = {
    "floating_not_available",
    "address_limit_reached",
    "license_start_date_error",
    "license_check_overdue",
}


class BerthError(Exception):
    """Every error of this package. `code` is stable, `message` says what happened, `advice` what to do."""

    def __init__(
        self, code: str, message: str, advice: Optional[str] = None, is_retryable: bool = False
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.advice = _ADVICE.get(code, "") if advice is None else advice
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
    ) -> None:
        code = str(details.get("code"))
        message = details.get("message") or f'The server refused with "{code}".'
        advice = _ADVICE.get(code, "See the table of errors in the documentation of the server.")
        super().__init__(code, str(message), advice, code in _RETRYABLE)
        self.status = status
        # The whole answer: some codes have further facts, such as `slots`, `left` or `latest_until`.
        self.details = details
        # How many seconds the server asks those to pause who wait for a slot; `None` if it does not say.
        match = re.fullmatch("[1-9][0-9]{0,5}", retry_after or "")
        self.retry_after: Optional[int] = None if match is None else int(match[0])
        self._date = date

    @property
    def next_free_at(self) -> Optional[datetime]:
        """When a slot may become free, by the server's clock; `None` if the server does not say."""
        return read_timestamp(self.details.get("next_free_at"))

    @property
    def next_free_in(self) -> Optional[float]:
        """The same in seconds from now on, whatever the clock of this machine says."""
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
    """The slot is used although it is not held at the moment."""

    def __init__(self, message: str) -> None:
        super().__init__("slot_lost", message, is_retryable=True)


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

    def of_borrow(self, advice: str = _ADVICE["borrow_unreadable"]) -> ProofError:
        """The same about a stored borrow, of which the server knows nothing."""
        return ProofError(self._reason, advice, "The stored borrow")


class StorageError(BerthError):
    """Borrows and queued counts cannot be read or stored at the moment."""

    def __init__(self, reason: object) -> None:
        message = f"The storage of the client cannot be used: {reason}."
        super().__init__("storage_failed", message, is_retryable=True)


class BorrowError(BerthError):
    """A stored borrow cannot be used."""
