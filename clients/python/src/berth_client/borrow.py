from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any, Callable, Optional, Tuple, Union

from .duration import Duration, parse_duration
from .environment import name_of
from .errors import BorrowError, ProofError
from .lease import Account, Lease, SlotRequests, holder_of, license_id_of, prove_for, return_slot
from .proof import Grant, Proof, read_instant, to_name
from .timing import from_ms, read_timestamp, to_ms, write_timestamp

# A date, or for how long.
Until = Union[datetime, Duration]

# A clock may be corrected by this much without being suspicious.
_TOLERATED_SET_BACK_MS = 5 * 60_000


@dataclass(frozen=True)
class BorrowRecord:
    """What is stored of a borrow, by milliseconds of the wall clock."""

    product: str
    user: str
    license_id: Optional[int]
    until_ms: float
    # The latest wall clock that this borrow was used with.
    seen_ms: float
    # With the vendor's key: what proves all of this.
    proof: Optional[Proof]


class Borrow:
    """
    A slot that is held without network until a date, stored so that the next start of the program finds it.
    """

    def __init__(self, account: Account, record: BorrowRecord, grant: Optional[Grant]) -> None:
        self._account = account
        self._record = record
        self._grant = grant
        self._is_given_back = False
        # The slot that it was borrowed by, if there is one.
        self._on_end: Callable[[], object] = lambda: None

    @property
    def product(self) -> str:
        return self._record.product

    @property
    def user(self) -> str:
        return self._record.user

    @property
    def license_id(self) -> Optional[int]:
        return self._record.license_id

    @property
    def until(self) -> datetime:
        return from_ms(self._record.until_ms)

    @property
    def grant(self) -> Optional[Grant]:
        """What the server has signed, such as the limits of the license; `None` without `vendor_key`."""
        return self._grant

    @property
    def is_valid(self) -> bool:
        """Whether it may be used now."""
        return self._find_fault() is None

    def check(self) -> None:
        """Raises a `BorrowError` if it may not be used now, and notes the time. Ask every few minutes."""
        fault = self._find_fault()
        if self._is_given_back and fault is not None:
            # Nothing of it is stored any more.
            raise fault
        seen_ms = max(self._record.seen_ms, _now_ms(self._account))
        self._record = replace(self._record, seen_ms=seen_ms)
        try:
            # In any case: a borrow that has ended must not come back with an earlier clock.
            _store(self._account, self._record)
        finally:
            if fault is not None:
                raise fault

    def give_back(self) -> None:
        """
        Gives the slot back before the date, and releases the `Slot` that it was borrowed by. Does the same if
        the borrow was recalled meanwhile. Raises if no server can be reached: then it stays borrowed.
        """
        return_slot(self._account, self._record.license_id)
        self._is_given_back = True
        self._account.storage.remove(name_of("borrow", self._account.product))
        self._on_end()

    def _find_fault(self) -> Optional[BorrowError]:
        if self._is_given_back:
            return BorrowError("borrow_ended", "The borrow was given back.")
        now_ms = _now_ms(self._account)
        if now_ms >= self._record.until_ms:
            return BorrowError("borrow_ended", f"The borrow ended at {write_timestamp(self.until)}.")
        issued_ms = 0 if self._grant is None else read_instant(self._grant, "issued_at")
        earliest_ms = max(self._record.seen_ms, issued_ms)
        if now_ms >= earliest_ms - _TOLERATED_SET_BACK_MS:
            return None
        seen = write_timestamp(from_ms(earliest_ms))
        return BorrowError("clock_set_back", f"The clock was set back: it was {seen} before.")


def borrow_as(
    account: Account, requests: SlotRequests, license_id: Optional[int], until: Optional[Until]
) -> Tuple[Borrow, Lease]:
    fields = holder_of(account, license_id)
    if until is not None:
        fields["borrowed_until"] = _date_of(account, until)
    told = requests.send("borrow", fields)
    ends_at = read_timestamp(
        (told.grant or {}).get("valid_until") or told.answer.fields.get("borrowed_until")
    )
    if ends_at is None:
        raise BorrowError("borrow_unreadable", "The server does not say until when the slot is borrowed.")
    record = BorrowRecord(
        product=account.product,
        user=account.user,
        license_id=(told.grant or {}).get("license_id") or license_id_of(told.answer),
        until_ms=to_ms(ends_at),
        seen_ms=_now_ms(account),
        proof=told.proof,
    )
    _store(account, record)
    return Borrow(account, record, told.grant), told.lease


def resume_borrow(account: Account, is_default_user: bool) -> Optional[Borrow]:
    """
    The borrow of an earlier start of the program, checked; `None` if there is none. `is_default_user`: it may
    have been borrowed by a slot, whose user was named after the program.
    """
    text = account.storage.read(name_of("borrow", account.product))
    if text is None:
        return None
    record = _read_record(text)
    _judge_owner(account, record, is_default_user)
    grant = None
    if account.verifier is not None:
        try:
            grant = _prove_record(replace(account, user=record.user), record)
        except ProofError as error:
            raise error.of_borrow() from error
        record = replace(record, user=str(grant["user"]))
    borrow = Borrow(replace(account, user=record.user, license_id=record.license_id), record, grant)
    borrow.check()
    return borrow


def _judge_owner(account: Account, record: BorrowRecord, is_default_user: bool) -> None:
    if record.product != account.product:
        raise ProofError(f'It is of another product, "{record.product}".').of_borrow()
    ours, stored = to_name(account.user), to_name(record.user)
    if stored != ours and not (is_default_user and stored.startswith(f"{ours}/")):
        reason = f'It is of another user, "{record.user}", and this is "{account.user}".'
        raise ProofError(reason).of_borrow(
            'Give "user": the one who has borrowed it. Where the name of the host changes, always give one.'
        )


def _prove_record(owner: Account, record: BorrowRecord) -> Grant:
    if record.proof is None:
        raise ProofError("It was stored without a grant.")
    grant = prove_for(owner, record.proof, None, is_stored=True)
    if grant.get("borrowed") is not True:
        raise ProofError("The grant is not for a borrow.")
    if (record.license_id, record.until_ms) != (grant["license_id"], read_instant(grant, "valid_until")):
        raise ProofError("It says something else than its grant.")
    return grant


def _now_ms(account: Account) -> float:
    return account.environment.read_wall() * 1000


def _date_of(account: Account, until: Until) -> str:
    if isinstance(until, datetime):
        return write_timestamp(until)
    return write_timestamp(from_ms(_now_ms(account) + parse_duration("until", until) * 1000))


def _store(account: Account, record: BorrowRecord) -> None:
    fields = {
        "product": record.product,
        "user": record.user,
        "licenseId": record.license_id,
        "untilMs": record.until_ms,
        "seenMs": record.seen_ms,
        "proof": None if record.proof is None else asdict(record.proof),
    }
    account.storage.write(name_of("borrow", account.product), json.dumps(fields))


def _read_record(text: str) -> BorrowRecord:
    try:
        fields = json.loads(text)
        license_id, proof = fields["licenseId"], fields["proof"]
        return BorrowRecord(
            product=_read_as(str, fields["product"]),
            user=_read_as(str, fields["user"]),
            license_id=None if license_id is None else _read_as(int, license_id),
            until_ms=_read_ms(fields["untilMs"]),
            seen_ms=_read_ms(fields["seenMs"]),
            proof=None if proof is None else _read_proof(proof),
        )
    except (KeyError, TypeError, ValueError, OverflowError, RecursionError) as error:
        raise BorrowError("borrow_unreadable", "The stored borrow cannot be read.") from error


def _read_proof(fields: Any) -> Proof:
    certificates = _read_as(list, fields["certificates"])
    return Proof(
        _read_as(str, fields["grant"]),
        tuple(_read_as(str, text) for text in certificates),
        _read_as(str, fields["nonce"]),
    )


def _read_as(kind: type, value: Any) -> Any:
    if type(value) is kind:
        return value
    raise TypeError(value)


def _read_ms(value: Any) -> Any:
    # This raises if it is no date.
    from_ms(value)
    return value if type(value) is float else _read_as(int, value)
