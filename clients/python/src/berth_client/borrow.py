from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import Optional

from .borrow_file import BorrowFile, BorrowRecord, Lent, bound_to, mark_of
from .errors import BerthError, BorrowError, DeniedError, ProofError
from .forking import Locked
from .held_here import count_returns, end_here
from .lease import Account, holder_of, prove_answer, prove_for
from .proof import Grant, read_instant
from .refusals import ENDS_BY_WAITING
from .timing import from_ms, read_date_header, to_ms, write_timestamp

# A clock may be corrected by this much without being suspicious.
_TOLERATED_MS = 5 * 60_000
_GIVEN_BACK = "The borrow was given back."
_OVER = "The borrow is over: the server does not have it any more."


class StoredBorrow:
    """A borrow as it is stored, whether it can be used or not."""

    def __init__(self, file: BorrowFile, record: BorrowRecord) -> None:
        self._file = file
        self._record = record

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.product!r} for {self.user!r} until {self.until}>"

    @property
    def product(self) -> str:
        return self._record.product

    @property
    def user(self) -> str:
        return self._record.user

    @property
    def license_id(self) -> Optional[int]:
        lent = self._record.lent
        return self._record.license_id if lent is None else lent.license_id

    @property
    def until(self) -> Optional[datetime]:
        """`None` if it was asked for, and the answer is unknown."""
        ends_ms = self._record.ends_ms
        return None if ends_ms is None else from_ms(ends_ms)

    @property
    def store(self) -> str:
        """The server: the public id of its store, or what stands for its addresses."""
        return self._record.binding

    def give_back(self) -> None:
        """
        As that of a `Borrow`; works whatever the clock says. Raises if its server cannot be reached: then it
        stays borrowed.
        """
        end_here(self._file, self._record, self._file.give_back(self._record))


class Borrow(StoredBorrow, Locked):
    """
    A slot that is held without network until a date, stored so that the next start of the program finds it.
    """

    def __init__(self, file: BorrowFile, record: BorrowRecord, lent: Lent, grant: Optional[Grant]) -> None:
        StoredBorrow.__init__(self, file, record)
        Locked.__init__(self)
        self._account = replace(file.account, user=record.user)
        self._lent = lent
        self._grant = grant
        self._returns = count_returns(file)
        self._is_missing = False

    @property
    def user(self) -> str:
        """Case may differ from how it was asked for."""
        return self._record.user if self._grant is None else str(self._grant["user"])

    @property
    def until(self) -> datetime:
        return from_ms(self._ends_ms)

    @property
    def grant(self) -> Optional[Grant]:
        """What the server has signed, such as the limits of the license; `None` without `vendor_key`."""
        return self._grant

    @property
    def is_valid(self) -> bool:
        """Whether it may be used now."""
        return self._find_fault() is None

    def check(self) -> None:
        """
        Raises a `BorrowError` if it may not be used now, and notes the time. Ask every few minutes. If the
        clock was set back, the server that has lent it is asked.
        """
        self._read_again()
        fault = self._find_fault()
        if fault is not None and fault.code == "clock_set_back":
            self._note(self._settle(fault))
            return
        try:
            # In any case: a borrow that has ended must not come back with an earlier clock.
            self._note(max(self._record.seen_ms, self._now_ms))
        finally:
            if fault is not None:
                raise fault

    def give_back(self) -> None:
        """
        Gives the slot back before the date, and releases the `Slot` of this program that it was borrowed by.
        Does the same if the borrow was recalled meanwhile. Raises if its server cannot be reached: then it
        stays borrowed.
        """
        with self._lock:
            was_returned = self._file.give_back(self._record)
        end_here(self._file, self._record, was_returned)

    @property
    def _is_given_back(self) -> bool:
        """By this object, by another one for the same borrow, or by another program."""
        return self._is_missing or count_returns(self._file) != self._returns

    @property
    def _now_ms(self) -> float:
        return self._account.environment.read_wall() * 1000

    @property
    def _ends_ms(self) -> float:
        ends_ms = self._record.ends_ms
        return self._lent.until_ms if ends_ms is None else ends_ms

    def _find_fault(self) -> Optional[BorrowError]:
        if self._is_given_back:
            return BorrowError("borrow_ended", _GIVEN_BACK)
        if self._now_ms >= self._ends_ms:
            return BorrowError("borrow_ended", f"The borrow ended at {write_timestamp(self.until)}.")
        issued_ms = 0 if self._grant is None else read_instant(self._grant, "issued_at")
        earliest_ms = max(self._record.seen_ms, issued_ms)
        if self._now_ms >= earliest_ms - _TOLERATED_MS:
            return None
        seen = write_timestamp(from_ms(earliest_ms))
        return BorrowError("clock_set_back", f"The clock was set back: it was {seen} before.")

    def _read_again(self) -> None:
        """Another program may have given it back, or have borrowed again."""
        stored = None
        if not self._is_given_back:
            try:
                stored = self._file.read()
            except BorrowError:
                # What is damaged is written again.
                stored = self._record
        if stored is None:
            self._is_missing = True
            raise BorrowError("borrow_ended", _GIVEN_BACK)
        if stored.lent is not None and stored.lent != self._lent:
            self._grant = prove_record(self._account, stored, stored.lent)
            self._lent = stored.lent
        self._record = stored

    def _note(self, seen_ms: float) -> None:
        # Another thread may give it back meanwhile, and then nothing is stored any more.
        with self._lock:
            if self._is_given_back:
                raise BorrowError("borrow_ended", _GIVEN_BACK)
            self._record = replace(self._record, seen_ms=seen_ms)
            self._file.write(self._record)

    def _settle(self, doubt: BorrowError) -> float:
        """The time that counts from now on. Raises if that is still in doubt, or if the borrow is over."""
        try:
            told_ms = self._ask_time() if self._grant is None else self._ask_for_grant()
        except DeniedError as error:
            # A server that has no slot for this user has no borrow, either.
            raise (BorrowError("borrow_ended", _OVER) if error.code in ENDS_BY_WAITING else doubt) from error
        except BorrowError:
            raise
        except BerthError as error:
            raise doubt from error
        if told_ms is None or abs(told_ms - self._now_ms) > _TOLERATED_MS:
            raise doubt
        # What is not signed ends the doubt, and no more.
        return self._now_ms if self._grant is None else told_ms

    def _ask_time(self) -> Optional[float]:
        store = self._account.servers.find_store(bound_to(self._account, self._record), is_fresh=True)
        date = read_date_header(store.date)
        return None if date is None else to_ms(date)

    def _ask_for_grant(self) -> float:
        """Raises a `BorrowError` if the server says that the borrow is over."""
        nonce = self._account.environment.create_id()
        fields = holder_of(self._account, self._lent.license_id)
        fields.update(nonce=nonce, device_mark=self._record.mark)
        binding = bound_to(self._account, self._record)
        answer = self._account.servers.post("register", fields, binding=binding)
        # This clock cannot tell whether the certificate has expired.
        grant, _ = prove_answer(self._account, answer, nonce, is_now=False)
        if grant.get("borrowed") is not True:
            # Asking for the grant has taken a slot.
            with suppress(BerthError):
                self.give_back()
            raise BorrowError("borrow_ended", _OVER)
        # A renewal shortly before the end makes it later.
        if read_instant(grant, "valid_until") < self._lent.until_ms:
            raise BorrowError("borrow_ended", _OVER)
        return read_instant(grant, "issued_at")


def judge_computer(account: Account, mark: object) -> None:
    if mark != mark_of(account):
        advice = "Connect to the license server, and borrow on this computer, too."
        raise ProofError("It was borrowed on another computer.").of_borrow(advice)


def prove_record(account: Account, record: BorrowRecord, lent: Lent) -> Optional[Grant]:
    """What was signed; `None` without the vendor's key. Raises a `ProofError`."""
    if account.verifier is None:
        return None
    try:
        if lent.proof is None:
            raise ProofError("It was stored without a grant.")
        grant = prove_for(replace(account, user=record.user), lent.proof, None, is_now=False)
        if grant.get("borrowed") is not True:
            raise ProofError("The grant is not for a borrow.")
        if (lent.license_id, lent.until_ms) != (grant["license_id"], read_instant(grant, "valid_until")):
            raise ProofError("It does not match its signed grant.")
    except ProofError as error:
        raise error.of_borrow() from error
    judge_computer(account, grant.get("device_mark"))
    return grant
