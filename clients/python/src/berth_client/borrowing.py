"""
Borrows, and finds what was borrowed. What is asked for is stored before it is sent, so whenever the program
ends, the next one knows of every slot that the server may have lent.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import Callable, List, Optional, Tuple, Union

from .borrow import Borrow, StoredBorrow, judge_computer, prove_record
from .borrow_file import Asked, BorrowFile, BorrowRecord, Lent, bound_to, file_of, list_files, mark_of
from .duration import Duration, parse_duration
from .errors import BerthError, BorrowError, DeniedError, ProofError, StorageError
from .lease import Account, Lease, ProvenAnswer, SlotRequests, holder_of, license_id_of
from .timing import from_ms, read_timestamp, to_ms, write_timestamp

# A date, for how long, or an ISO date-time with its zone, such as `latest_until` of a refusal.
Until = Union[datetime, Duration]

# Without a zone, it would be another time on each computer.
_ZONED = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{3}(\d{3})?)?)?(Z|[+-]\d\d:\d\d)", re.ASCII)


def borrow_as(
    account: Account,
    requests: SlotRequests,
    until: Optional[Until],
    before_return: Callable[[], object] = lambda: None,
) -> Tuple[Borrow, Lease]:
    """
    For the user and license of the account. `before_return` is called if the slot has to be returned, because
    the borrow cannot be stored or proven, or because an earlier program may have borrowed it.
    """
    mark = mark_of(account)
    asked = Asked(None if until is None else _date_of(account, until))
    file = file_of(account, account.servers.find_store().binding)
    try:
        before = file.read()
    except BorrowError:
        before = None
    record = BorrowRecord(
        product=account.product,
        user=account.user,
        license_id=account.license_id,
        mark=mark,
        binding=file.binding,
        asked=asked,
        lent=None if before is None else before.lent,
        seen_ms=_now_ms(account) if before is None else before.seen_ms,
    )
    file.write(record)
    was_asked = before is not None and before.asked is not None
    return _ask(requests, file, record, was_asked, before_return)


def _ask(
    requests: SlotRequests,
    file: BorrowFile,
    record: BorrowRecord,
    was_asked: bool,
    before_return: Callable[[], object] = lambda: None,
) -> Tuple[Borrow, Lease]:
    """`was_asked`: it was asked for before, and perhaps lent."""
    try:
        proven = _send(requests, file.account, record)
        lent = _read_lent_of(proven)
        seen_ms = _now_ms(file.account)
        complete = replace(record, asked=None, lent=lent, seen_ms=seen_ms)
        file.write(complete)
    except BerthError as error:
        # If it cannot be undone now, what is stored says that something may be lent.
        with suppress(BerthError):
            _undo(file, record, error, was_asked, before_return)
        raise
    return Borrow(file, complete, lent, proven.grant), proven.lease


def _send(requests: SlotRequests, account: Account, record: BorrowRecord) -> ProvenAnswer:
    fields = holder_of(account, record.license_id)
    fields["device_mark"] = record.mark
    if record.asked is not None and record.asked.until is not None:
        fields["borrowed_until"] = record.asked.until
    proven = requests.send("borrow", fields, binding=bound_to(account, record))
    if proven.grant is not None and proven.grant.get("borrowed") is not True:
        raise ProofError("The grant is not for a borrow.")
    if proven.grant is not None and proven.grant.get("device_mark") != record.mark:
        raise ProofError("The grant is for another computer.")
    return proven


def _read_lent_of(proven: ProvenAnswer) -> Lent:
    grant = proven.grant or {}
    ends_at = read_timestamp(grant.get("valid_until") or proven.answer.fields.get("borrowed_until"))
    if ends_at is None:
        raise ProofError("It does not say until when the slot is borrowed.")
    return Lent(grant.get("license_id") or license_id_of(proven.answer), to_ms(ends_at), proven.proof)


def _undo(
    file: BorrowFile,
    record: BorrowRecord,
    error: BerthError,
    was_asked: bool,
    before_return: Callable[[], object],
) -> None:
    """Without an answer, everything stays as it is. A borrow from before stays in any case."""
    if not isinstance(error, (DeniedError, ProofError, StorageError)) or error.code == "wrong_store":
        return
    if record.lent is not None:
        file.write(replace(record, asked=None))
    elif isinstance(error, DeniedError) and not was_asked:
        file.remove()
    else:
        before_return()
        file.give_back(record)


def resume_borrow(account: Account, is_default_user: bool) -> Borrow:
    """Returns the usable borrow that ends last."""
    found, unreadable = list_files(account, is_default_user)
    faults: List[BerthError] = []
    for file, record in sorted(found, key=lambda one: one[1].ends_ms or 0.0, reverse=True):
        try:
            return _open(file, record)
        except BerthError as error:
            faults.append(error)
    message = f'No slot of "{account.product}" is borrowed here by "{account.user}".'
    raise [*faults, *unreadable, BorrowError("no_borrow", message)][0]


def list_borrows(account: Account, is_default_user: bool) -> List[StoredBorrow]:
    found, _ = list_files(account, is_default_user)
    return [StoredBorrow(file, record) for file, record in found]


def _open(file: BorrowFile, record: BorrowRecord) -> Borrow:
    judge_computer(file.account, record.mark)
    if record.asked is not None:
        record = _complete(file, record)
    if record.lent is None:
        raise BorrowError("no_borrow", "The borrow was not completed.")
    grant = prove_record(file.account, record, record.lent)
    borrow = Borrow(file, record, record.lent, grant)
    borrow.check()
    return borrow


def _complete(file: BorrowFile, record: BorrowRecord) -> BorrowRecord:
    """
    Asks once more for what was asked for. A user has one slot, so nothing happens twice. If it fails, what
    was lent before still counts.
    """
    account = replace(file.account, user=record.user)
    asker = replace(file, account=account)
    try:
        return _ask(SlotRequests(account), asker, record, was_asked=True)[0]._record
    except BerthError:
        if record.lent is None:
            raise
        return record


def _now_ms(account: Account) -> float:
    return account.environment.read_wall() * 1000


def _date_of(account: Account, until: Until) -> str:
    zoned = read_timestamp(until) if isinstance(until, str) and _ZONED.fullmatch(until) else until
    try:
        if isinstance(zoned, datetime) and zoned.tzinfo is not None:
            return write_timestamp(zoned)
        if zoned is not None:
            return write_timestamp(from_ms(_now_ms(account) + parse_duration("until", zoned) * 1000))
    except (BerthError, OverflowError) as error:
        raise _refuse_date(until) from error
    raise _refuse_date(until)


def _refuse_date(until: object) -> BerthError:
    advice = (
        'Give a datetime with its zone, a duration such as "2h" or "7d", or an ISO date-time with its zone, '
        'such as "2026-12-24T18:00:00Z".'
    )
    return BerthError("invalid_option", f'"until" is not a date: {until}.', advice)
