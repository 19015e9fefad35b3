from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Callable, Dict, Mapping, Optional, Tuple

from .environment import Environment, Storage
from .errors import BerthError, DeniedError, ProofError
from .proof import Expected, Grant, Proof, Verifier, longest_ms, read_instant
from .refusals import NOT_HELD
from .servers import Answer, Servers
from .timing import SteadyClock, read_timestamp


@dataclass(frozen=True)
class Lease:
    """What an answer to register says about the slot. Times are in seconds."""

    sent_at: float
    # How long the server keeps the slot at least, counted from `sent_at`.
    lasts: float
    # When to renew it, counted from `sent_at`.
    renew_after: float
    # `None` if it is not borrowed.
    borrowed_until: Optional[datetime]


@dataclass(frozen=True)
class Margin:
    """How much earlier the client stops than the server could lend the slot again."""

    fixed: float
    # The part of the time by which the client's clock may be too slow.
    share: float


# The clocks of client and server may differ in speed by 1 %, a hundred times what ordinary clocks do. The two
# seconds are for what the clock needs to notice that the machine slept, and for work that has just begun.
MARGIN = Margin(fixed=2.0, share=0.01)

# The share is of at most a day: longer times are those of borrows.
_LONGEST_SHARED = 86_400.0
# If the server does not say it: two more renewals can fail before the slot ends.
_RENEW_SHARE = 1 / 3
# How much earlier than planned a renewal may be, so that clients that start together do not stay together.
_JITTER = 0.2


def safe_until(lease: Lease, margin: Margin) -> float:
    """The end counts from when the request was sent: the server cannot have decided before."""
    return lease.sent_at + lease.lasts - margin.fixed - min(lease.lasts, _LONGEST_SHARED) * margin.share


def renew_at(lease: Lease, renew_every: float, random: Callable[[], float]) -> float:
    """As the server says, or earlier if the application wants that."""
    return lease.sent_at + min(lease.renew_after, renew_every) * (1 - random() * _JITTER)


def read_lease(answer: Answer) -> Lease:
    fields = answer.fields
    timeout = _read_seconds(fields.get("floating_timeout"), 60.0)
    lasts = _read_seconds(fields.get("slot_ends_in_seconds"), 1.0) or timeout or 0.0
    planned = min(timeout or lasts, lasts) * _RENEW_SHARE
    renew_after = _read_seconds(fields.get("renew_in_seconds"), 1.0) or planned
    return Lease(answer.sent_at, lasts, renew_after, _read_borrow(fields))


def _read_seconds(value: object, unit: float) -> Optional[float]:
    """`None`, and never 0, if it is not a positive number."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return value * unit if is_number and value > 0 else None  # type: ignore[operator]


def _read_borrow(fields: Mapping[str, Any]) -> Optional[datetime]:
    return read_timestamp(fields.get("borrowed_until")) if fields.get("is_borrowed") is True else None


@dataclass(frozen=True)
class Account:
    """Who asks for what, and everything needed to ask."""

    environment: Environment
    clock: SteadyClock
    servers: Servers
    # Where borrows and queued counts are kept.
    storage: Storage
    product: str
    user: str
    # Tells this program from others of the user; `None` to return the slot for all of them.
    instance: Optional[str] = None
    license_id: Optional[int] = None
    user_info: Optional[str] = None
    # What stands for the computer, if the application says it.
    device: Optional[str] = None
    # `None`: servers are trusted without proof.
    verifier: Optional[Verifier] = None
    margin: Margin = MARGIN
    # The longest time between renewals that the application wants, in seconds.
    renew_every: float = math.inf


def target_of(account: Account, license_id: Optional[int]) -> Dict[str, Any]:
    """The fields that every request has. A client that has got a license stays with it."""
    fields: Dict[str, Any] = {"product": account.product, "user": account.user}
    if account.instance is not None:
        fields["instance"] = account.instance
    if license_id is not None:
        fields["license_id"] = license_id
    return fields


def holder_of(account: Account, license_id: Optional[int]) -> Dict[str, Any]:
    """The fields of register and borrow."""
    fields = target_of(account, license_id)
    hostname = account.environment.host.hostname
    if hostname is not None:
        fields["os_hostname"] = hostname
    if account.user_info is not None:
        fields["user_info"] = account.user_info
    return fields


def return_slot(
    account: Account,
    license_id: Optional[int],
    timeout: Optional[float] = None,
    binding: Optional[str] = None,
) -> None:
    """Does nothing if the slot is gone: it has ended, or an operator has taken it back."""
    try:
        account.servers.post("unregister", target_of(account, license_id), None, timeout, binding)
    except DeniedError as error:
        if error.code not in NOT_HELD:
            raise


def license_id_of(answer: Answer) -> Optional[int]:
    license_id = answer.fields.get("license_id")
    return license_id if isinstance(license_id, int) else None


# Returning a slot takes no longer, even if no server answers.
LONGEST_RELEASE = 2.0

# A grant costs the server more than the renewal itself, so most renewals come without one. They are accepted
# from the server that was proven last. After so many renewals it must prove itself again.
_RENEWALS_PER_GRANT = 192
_LONGEST_WITHOUT_GRANT = 86_400.0

_NO_GRANT = "It has sent no grant: it does not sign grants."
_NO_CERTIFICATE = (
    "It has no certificate of the vendor, so its grant proves only that it is the same server as before, "
    "not that the vendor has licensed it."
)
_GET_CERTIFICATE = (
    "Ask the administrator to connect the license server to the vendor, or to install a certificate of the "
    'vendor with "berth identity certify".'
)


@dataclass(frozen=True)
class ProvenAnswer:
    """An answer about a slot, with its proof if the application has the vendor's key."""

    answer: Answer
    lease: Lease
    grant: Optional[Grant] = None
    proof: Optional[Proof] = None


@dataclass
class _Proven:
    """What was proven last."""

    server: str
    lease: Lease
    # How long slots of the license last: no answer without proof extends the slot by more.
    timeout: float
    # How many renewals followed without proof.
    renewals: int = 0


class SlotRequests:
    """
    Sends requests for one slot. With the vendor's key, only a server that has proven itself may extend it,
    and it must prove itself again from time to time.
    """

    def __init__(self, account: Account, feature: Optional[str] = None) -> None:
        self._account = account
        self._feature = feature
        self._proven: Optional[_Proven] = None

    def send(
        self,
        path: str,
        fields: Mapping[str, Any],
        headers: Optional[Mapping[str, str]] = None,
        in_doubt: bool = False,
        binding: Optional[str] = None,
        wait: float = 0,
    ) -> ProvenAnswer:
        """
        `in_doubt`: the answer has to be proven, even if no grant is due. `binding`: only servers with that
        store are asked. `wait`: as for `Servers.post`.
        """
        servers = self._account.servers
        if self._account.verifier is None:
            answer = servers.post(path, fields, headers, binding=binding, wait=wait)
            return ProvenAnswer(answer, read_lease(answer))
        proven = self._proven
        if proven is not None and path != "borrow" and not in_doubt and not self._is_grant_due(proven):
            answer = servers.post(path, fields, headers)
            if answer.server == proven.server:
                return _extend(proven, answer)
        nonce = self._account.environment.create_id()
        answer = servers.post(path, {**fields, "nonce": nonce}, headers, binding=binding, wait=wait)
        try:
            return self._prove(answer, nonce)
        except ProofError:
            if proven is not None:
                proven.renewals = _RENEWALS_PER_GRANT
            elif path == "register":
                self.give_back(fields)
            raise

    def give_back(self, fields: Mapping[str, Any], timeout: Optional[float] = None) -> None:
        """A slot that cannot be used is not kept, if the server is a real one and has lent it after all."""
        with suppress(BerthError):
            self._account.servers.post("unregister", fields, timeout=timeout)

    def _is_grant_due(self, proven: _Proven) -> bool:
        proven_for = self._account.clock.read() - proven.lease.sent_at
        return (
            proven.renewals + 1 >= _RENEWALS_PER_GRANT
            or proven_for + proven.lease.renew_after > _LONGEST_WITHOUT_GRANT
        )

    def _prove(self, answer: Answer, nonce: str) -> ProvenAnswer:
        claims, proof = prove_answer(self._account, answer, nonce, self._feature)
        lasts_ms = read_instant(claims, "valid_until") - read_instant(claims, "issued_at")
        # As long as the license allows, and no longer, whatever the server says.
        lasts = min(lasts_ms, longest_ms(claims["limits"], claims.get("borrowed") is True)) / 1000
        lease = replace(read_lease(answer), lasts=lasts)
        timeout = _read_seconds((claims.get("limits") or {}).get("floating_timeout"), 60.0)
        self._proven = _Proven(answer.server, lease, timeout or lasts)
        return ProvenAnswer(answer, lease, claims, proof)


def prove_answer(
    account: Account, answer: Answer, nonce: str, feature: Optional[str] = None, is_now: bool = True
) -> Tuple[Grant, Proof]:
    """`is_now`: see `prove_for`."""
    fields = answer.fields
    grant, certificate = fields.get("grant"), fields.get("certificate")
    if not isinstance(grant, str):
        raise ProofError(_NO_GRANT, "Ask the administrator to upgrade the license server.")
    if not isinstance(certificate, str):
        raise ProofError(_NO_CERTIFICATE, _GET_CERTIFICATE, is_retryable=True)
    others = fields.get("other_certificates")
    certificates = [certificate, *(others if isinstance(others, list) else [])]
    proof = Proof(grant, " ".join(text for text in certificates if isinstance(text, str)), nonce)
    return prove_for(account, proof, feature, is_now), proof


def prove_for(account: Account, proof: Proof, feature: Optional[str], is_now: bool) -> Grant:
    """`is_now`: the certificate must be valid now. Otherwise, it must have been when the grant was issued."""
    if account.verifier is None:
        raise ProofError("There is no key to prove it with.")
    now_ms = account.environment.read_wall() * 1000 if is_now else None
    return account.verifier.verify(proof, Expected(account.product, account.user, feature), now_ms)


def _extend(proven: _Proven, answer: Answer) -> ProvenAnswer:
    """
    An answer without proof of the server that has proven itself. It cannot extend the slot beyond a timeout
    from now, nor delay the next renewals. A borrow ends when its grant says.
    """
    stated = read_lease(answer)
    proven_for = proven.lease.sent_at + proven.lease.lasts - stated.sent_at
    lasts = min(stated.lasts, max(proven.timeout, proven_for))
    renew_after = min(stated.renew_after, proven.timeout * _RENEW_SHARE)
    proven.renewals += 1
    return ProvenAnswer(answer, replace(stated, lasts=lasts, renew_after=renew_after))
