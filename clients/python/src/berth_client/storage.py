from __future__ import annotations

import hashlib
from typing import Any, Callable, Optional, Sequence

from .environment import Storage
from .errors import StorageError

# So that names of files stay shorter than 200 letters.
_LONGEST_PART = 60
_KEPT_PART = 27
_PLAIN_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789._-")


class SafeStorage:
    """A storage whose failures are a `StorageError`, whatever it raises itself."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    def read(self, name: str) -> Optional[str]:
        text: Optional[str] = _try(self._storage.read, name)
        return text

    def write(self, name: str, text: str) -> None:
        _try(self._storage.write, name, text)

    def remove(self, name: str) -> None:
        _try(self._storage.remove, name)

    def list(self, prefix: str) -> Sequence[str]:
        names: Sequence[str] = _try(self._storage.list, prefix)
        return names


def _try(work: Callable[..., Any], *arguments: str) -> Any:
    try:
        return work(*arguments)
    except Exception as error:
        raise StorageError(error or type(error).__name__) from error


def name_of(kind: str, product: str, *parts: str) -> str:
    """
    The start of all stored names for a product, and for further parts, which contain no `@`. No product makes
    the start of another one's names.
    """
    return "@".join([kind, encode_part(product), *parts, ""])


# Of stored borrows and counts. Programs with other versions of the client share the folder.
STORED_VERSION = 1


def encode_part(text: str) -> str:
    """Different texts stay different, also where names of files do not tell upper from lower case."""
    encoded = "".join(
        chr(byte) if chr(byte) in _PLAIN_LETTERS else f"%{byte:02x}" for byte in text.encode()
    )
    if len(encoded) <= _LONGEST_PART:
        return encoded
    return f"{encoded[:_KEPT_PART]}~{fingerprint(text)}"


def fingerprint(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]
