"""Which computer this is: a borrow that is copied to another one is of no use there."""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import sys
from functools import lru_cache
from typing import Optional

from .environment import Environment, Storage

# What JavaScript trims, so that both clients make the same mark.
_WHITE_SPACE = (
    "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)
_STORED_NAME = "device"
# Until it is set up, a machine says this.
_NO_IDS = ("", "uninitialized")
_ID_FILES = ("/etc/machine-id", "/var/lib/dbus/machine-id")
_TIMEOUT = 10.0


def mark_device(product: str, identifier: str) -> str:
    """What stands for the computer. It does not reveal the identifier, and each product has its own."""
    key = f"berth device mark\n{product}".encode()
    digest = hmac.new(key, _tidy_id(identifier).encode(), hashlib.sha256).digest()
    return base64.urlsafe_b64encode(digest).decode().rstrip("=")


def find_device(environment: Environment, storage: Storage) -> str:
    """
    Where the system has no identifier, as in a container, one is made up and stored. It lasts as long as the
    storage, and is copied with it.
    """
    known = environment.machine_id or storage.read(_STORED_NAME)
    if known:
        return known
    storage.write(_STORED_NAME, environment.create_id())
    # Another program may have been faster.
    return storage.read(_STORED_NAME) or ""


@lru_cache(maxsize=None)
def find_machine_id() -> Optional[str]:
    try:
        identifier = _tidy_id(_read_machine_id())
    except Exception:
        # Whatever the reason, the program must work.
        return None
    return None if identifier in _NO_IDS else identifier


def _tidy_id(identifier: str) -> str:
    return identifier.strip(_WHITE_SPACE).lower()


def _read_machine_id() -> str:
    if sys.platform == "win32":
        import winreg

        path, access = r"SOFTWARE\Microsoft\Cryptography", winreg.KEY_READ | winreg.KEY_WOW64_64KEY
        with winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, path, 0, access) as key:
            return str(winreg.QueryValueEx(key, "MachineGuid")[0])
    if sys.platform == "darwin":
        import subprocess

        command = ["/usr/sbin/ioreg", "-rd1", "-c", "IOPlatformExpertDevice"]
        result = subprocess.run(command, capture_output=True, check=True, text=True, timeout=_TIMEOUT)
        match = re.search(r'"IOPlatformUUID" = "([^"]+)"', result.stdout)
        return "" if match is None else match[1]
    for file in _ID_FILES:
        try:
            with open(file, encoding="utf-8") as lines:
                identifier = lines.read(1000)
        except (OSError, ValueError):
            continue
        if _tidy_id(identifier) not in _NO_IDS:
            return identifier
    return ""
