"""
Both signatures that occur in proofs, because Python's library has none: RSASSA-PKCS1-v1_5 with SHA-256
(RFC 8017) and Ed25519 (RFC 8032). Only public values are used, so the time that this takes tells nothing.
"""

from __future__ import annotations

import base64
import hashlib
from typing import Optional, Tuple

# Modulus and exponent.
RsaKey = Tuple[int, int]

_RSA_OID = bytes.fromhex("06092a864886f70d0101010500")
_SHA256_PREFIX = bytes.fromhex("3031300d060960864801650304020105000420")


def read_rsa_key(encoded: str) -> RsaKey:
    """
    Of a SubjectPublicKeyInfo: an algorithm, and a bit string with modulus and exponent. Raises a `ValueError`
    or an `IndexError` if it is none.
    """
    info, _ = _read_der(base64.b64decode(encoded, validate=True), 0x30)
    algorithm, rest = _read_der(info, 0x30)
    bits, _ = _read_der(rest, 0x03)
    numbers, _ = _read_der(bits[1:], 0x30)
    modulus, rest = _read_der(numbers, 0x02)
    exponent, _ = _read_der(rest, 0x02)
    if algorithm != _RSA_OID:
        raise ValueError("Not an RSA key")
    return int.from_bytes(modulus, "big"), int.from_bytes(exponent, "big")


def _read_der(data: bytes, tag: int) -> Tuple[bytes, bytes]:
    """The content of the first value, and what follows it."""
    length, start = data[1], 2
    if length > 0x80:
        start += length - 0x80
        length = int.from_bytes(data[2:start], "big")
    if data[0] != tag or length == 0x80 or len(data) < start + length:
        raise ValueError("Not DER")
    return data[start : start + length], data[start + length :]


def is_signed_by_rsa(key: RsaKey, signed: bytes, signature: bytes) -> bool:
    modulus, exponent = key
    size = (modulus.bit_length() + 7) // 8
    number = int.from_bytes(signature, "big")
    if len(signature) != size or number >= modulus:
        return False
    digest = _SHA256_PREFIX + hashlib.sha256(signed).digest()
    padded = b"\x00\x01" + b"\xff" * (size - len(digest) - 3) + b"\x00" + digest
    return pow(number, exponent, modulus).to_bytes(size, "big") == padded


_P = 2**255 - 19
_L = 2**252 + 27742317777372353535851937790883648493
_D = -121665 * pow(121666, _P - 2, _P) % _P
_ROOT = pow(2, (_P - 1) // 4, _P)
# X, Y, Z and T with x = X/Z, y = Y/Z, x·y = T/Z.
_Point = Tuple[int, int, int, int]


def is_signed_by_ed25519(key: bytes, signed: bytes, signature: bytes) -> bool:
    point = _read_point(key)
    scalar = int.from_bytes(signature[32:], "little")
    if point is None or len(signature) != 64 or scalar >= _L:
        return False
    digest = hashlib.sha512(signature[:32] + key + signed).digest()
    hashed = int.from_bytes(digest, "little") % _L
    negated = (-point[0] % _P, point[1], 1, -point[3] % _P)
    return _write_point(_add(_multiply(scalar, _BASE), _multiply(hashed, negated))) == signature[:32]


def _add(one: _Point, two: _Point) -> _Point:
    a = (one[1] - one[0]) * (two[1] - two[0])
    b = (one[1] + one[0]) * (two[1] + two[0])
    c = 2 * one[3] * two[3] * _D
    d = 2 * one[2] * two[2]
    e, f, g, h = (b - a) % _P, (d - c) % _P, (d + c) % _P, (b + a) % _P
    return e * f % _P, g * h % _P, f * g % _P, e * h % _P


def _multiply(scalar: int, point: _Point) -> _Point:
    product: _Point = (0, 1, 1, 0)
    while scalar > 0:
        if scalar & 1:
            product = _add(product, point)
        point = _add(point, point)
        scalar >>= 1
    return product


def _read_point(encoded: bytes) -> Optional[_Point]:
    number = int.from_bytes(encoded, "little")
    sign, y = number >> 255, number & (2**255 - 1)
    if len(encoded) != 32 or y >= _P:
        return None
    square = (y * y - 1) * pow(_D * y * y + 1, _P - 2, _P) % _P
    x = pow(square, (_P + 3) // 8, _P)
    if x * x % _P != square:
        x = x * _ROOT % _P
    if x * x % _P != square or (x == 0 and sign == 1):
        return None
    x = _P - x if x & 1 != sign else x
    return x, y, 1, x * y % _P


def _write_point(point: _Point) -> bytes:
    inverse = pow(point[2], _P - 2, _P)
    x, y = point[0] * inverse % _P, point[1] * inverse % _P
    return (y | (x & 1) << 255).to_bytes(32, "little")


_BASE_Y = 4 * pow(5, _P - 2, _P) % _P
_BASE: _Point = _read_point(_BASE_Y.to_bytes(32, "little")) or (0, 1, 1, 0)
