"""Certificates for the connections to the servers."""

from __future__ import annotations

import os
import ssl
from typing import Optional, Sequence, Union

from .environment import Tls
from .errors import BerthError

# Of a file.
PathText = Union[str, "os.PathLike[str]"]

_PEM = "-----BEGIN"


def read_tls(
    ca: Optional[PathText], cert: Optional[PathText], key: Optional[PathText], urls: Sequence[str]
) -> Optional[Tls]:
    """`None` if the application gives no certificates."""
    given = {name: value for name, value in (("ca", ca), ("cert", cert), ("key", key)) if value is not None}
    if not given:
        return None
    names = " and ".join(f'"{name}"' for name in given)
    texts = {name: _read_text(name, value) for name, value in given.items()}
    if (cert is None) != (key is None):
        raise _refuse(f"There is {names}, but not the other half.", 'Give both "cert" and "key", or neither.')
    plain = next((url for url in urls if not url.startswith("https:")), None)
    if plain is not None:
        raise _refuse(f"{names} cannot be used without TLS.", f"Write the address {plain} with https://.")
    tls = Tls(**texts)
    try:
        create_context(tls)
    except (OSError, ValueError) as error:
        advice = 'Give "ca" as PEM or as a file, "cert" and "key" as files. The key has no password.'
        raise _refuse(f"The certificates cannot be used: {error}.", advice) from error
    return tls


def create_context(tls: Optional[Tls]) -> ssl.SSLContext:
    """Files are read again for every connection, because certificates are renewed while programs run."""
    if tls is None or tls.ca is None:
        context = ssl.create_default_context()
    elif _PEM in tls.ca:
        context = ssl.create_default_context(cadata=tls.ca)
    else:
        context = ssl.create_default_context(cafile=_check_file("ca", tls.ca))
    if tls is not None and tls.cert is not None and tls.key is not None:
        cert, key = _check_file("cert", tls.cert), _check_file("key", tls.key)
        # Without a password, Python would ask for one on the terminal.
        context.load_cert_chain(cert, key, password="")
    return context


def _check_file(name: str, file: str) -> str:
    """Python's own errors do not name the file."""
    try:
        with open(file, "rb"):
            return file
    except OSError as error:
        raise OSError(f'the file of "{name}" cannot be read ({error.strerror})') from error


def _read_text(name: str, value: PathText) -> str:
    text = os.fspath(value) if isinstance(value, (str, os.PathLike)) else ""
    if not isinstance(text, str) or text.strip() == "":
        raise _refuse(f'"{name}" is empty, or not a text.', "Give the name of a file.")
    if _PEM in text and name != "ca":
        raise _refuse(f'"{name}" is PEM, which Python reads only from files.', "Give the name of a file.")
    return text


def _refuse(message: str, advice: str) -> BerthError:
    return BerthError("invalid_option", message, advice)
