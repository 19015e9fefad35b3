"""Stored borrows: a file for each server, product and user."""

from __future__ import annotations

import json
import unicodedata
from dataclasses import dataclass, replace
from typing import Any, List, Optional, Tuple

from .device import find_device, mark_device
from .errors import BorrowError
from .lease import Account, return_slot
from .proof import Proof, to_name
from .storage import STORED_VERSION, encode_part, name_of
from .timing import from_ms, read_timestamp, to_ms


@dataclass(frozen=True)
class Asked:
    """A request whose answer was not stored: the server may have carried it out."""

    # As it was sent; `None`: as long as the license allows.
    until: Optional[str]


@dataclass(frozen=True)
class Lent:
    license_id: Optional[int]
    # By milliseconds of the wall clock.
    until_ms: float
    # With the vendor's key: what proves all of this.
    proof: Optional[Proof]


@dataclass(frozen=True)
class BorrowRecord:
    product: str
    user: str
    # The license that was asked for; `None`: any.
    license_id: Optional[int]
    # Stands for the computer on which it was borrowed.
    mark: str
    # The public id of the server's store, or what stands for its addresses.
    binding: str
    # `None` if the answer to the last request is stored.
    asked: Optional[Asked]
    # `None` if nothing is known to be lent.
    lent: Optional[Lent]
    # The latest time that this borrow was used at, by milliseconds of the wall clock.
    seen_ms: float

    @property
    def ends_ms(self) -> Optional[float]:
        """The server may have carried out an unanswered request that makes it shorter."""
        if self.lent is None:
            return None
        asked = None if self.asked is None else read_timestamp(self.asked.until)
        return self.lent.until_ms if asked is None else min(self.lent.until_ms, to_ms(asked))


@dataclass(frozen=True)
class BorrowFile:
    account: Account
    name: str

    @property
    def binding(self) -> str:
        return self.name.split("@")[2]

    def read(self) -> Optional[BorrowRecord]:
        """Raises a `BorrowError` if it is damaged."""
        text = self.account.storage.read(self.name)
        return None if text is None else _read_record(text)

    def write(self, record: BorrowRecord) -> None:
        self.account.storage.write(self.name, json.dumps(_describe_record(record)))

    def remove(self) -> None:
        self.account.storage.remove(self.name)

    def give_back(self, record: BorrowRecord) -> bool:
        """
        Returns the slot to the server that has lent it, and forgets it. If another program has returned it,
        the user may have a new slot, which must stay: then `False`.
        """
        if self.account.storage.read(self.name) is None:
            return False
        account = replace(self.account, user=record.user, instance=None)
        license_id = record.license_id if record.lent is None else record.lent.license_id
        return_slot(account, license_id, binding=bound_to(account, record))
        self.remove()
        return True


def bound_to(account: Account, record: BorrowRecord) -> Optional[str]:
    """
    Which server may hear of it. Under the same addresses a server may have got an id meanwhile, and is still
    the one that has lent it: then `None`, any.
    """
    return None if record.binding == account.servers.addresses else record.binding


def file_of(account: Account, binding: str) -> BorrowFile:
    user = encode_part(unicodedata.normalize("NFC", account.user).strip())
    return BorrowFile(account, name_of("borrow", account.product, binding) + user)


def mark_of(account: Account) -> str:
    device = account.device or find_device(account.environment, account.storage)
    return mark_device(account.product, device)


Found = List[Tuple[BorrowFile, BorrowRecord]]


def list_files(account: Account, is_default_user: bool) -> Tuple[Found, List[BorrowError]]:
    """
    What is stored for the user, and an error for each file that cannot be read. `is_default_user`: also what
    a program of the same person on this machine has borrowed by its slot.
    """
    found: Found = []
    unreadable: List[BorrowError] = []
    ours = to_name(account.user)
    for name in account.storage.list(name_of("borrow", account.product)):
        file = BorrowFile(account, name)
        try:
            record = file.read()
        except BorrowError as error:
            unreadable.append(error)
            continue
        user = "" if record is None else to_name(record.user)
        if record is not None and (user == ours or (is_default_user and user.startswith(f"{ours}/"))):
            found.append((file, record))
    return found, unreadable


def _describe_record(record: BorrowRecord) -> Any:
    lent = record.lent
    proof = None if lent is None or lent.proof is None else vars(lent.proof)
    return {
        "version": STORED_VERSION,
        "product": record.product,
        "user": record.user,
        "licenseId": record.license_id,
        "mark": record.mark,
        "binding": record.binding,
        "asked": None if record.asked is None else {"until": record.asked.until},
        "lent": None
        if lent is None
        else {"licenseId": lent.license_id, "untilMs": lent.until_ms, "proof": proof},
        "seenMs": record.seen_ms,
    }


def _read_record(text: str) -> BorrowRecord:
    try:
        fields = json.loads(text)
        version = _read_as(int, fields["version"])
        if version > STORED_VERSION:
            raise BorrowError("borrow_unreadable", "The borrow was stored by a newer version of the client.")
        if version < STORED_VERSION:
            raise ValueError("Of no version")
        asked, lent = fields["asked"], fields["lent"]
        if asked is None and lent is None:
            raise ValueError("Neither asked for nor lent")
        return BorrowRecord(
            product=_read_as(str, fields["product"]),
            user=_read_as(str, fields["user"]),
            license_id=_read_license_id(fields["licenseId"]),
            mark=_read_as(str, fields["mark"]),
            binding=_read_as(str, fields["binding"]),
            asked=None if asked is None else Asked(_read_date(asked["until"])),
            lent=None if lent is None else _read_lent(lent),
            seen_ms=_read_ms(fields["seenMs"]),
        )
    except (KeyError, TypeError, ValueError, OverflowError, RecursionError) as error:
        raise BorrowError("borrow_unreadable", "The stored borrow cannot be read.") from error


def _read_lent(fields: Any) -> Lent:
    proof = fields["proof"]
    if proof is not None:
        proof = Proof(*(_read_as(str, proof[name]) for name in ("grant", "certificate", "nonce")))
    return Lent(_read_license_id(fields["licenseId"]), _read_ms(fields["untilMs"]), proof)


def _read_license_id(value: Any) -> Optional[int]:
    return None if value is None else int(_read_as(int, value))


def _read_date(value: Any) -> Optional[str]:
    if value is not None and read_timestamp(value) is None:
        raise ValueError("Not a date")
    return None if value is None else str(value)


def _read_as(kind: type, value: Any) -> Any:
    if type(value) is kind:
        return value
    raise TypeError(value)


def _read_ms(value: Any) -> Any:
    # Raises if it is not a date.
    from_ms(value)
    return value if type(value) is float else _read_as(int, value)
