"""What a vendor and a server sign, and with which keys."""

from __future__ import annotations

import base64
import hashlib
import json
from math import gcd, prod
from random import Random
from typing import Any, Dict

from berth_client.signatures import _BASE, _L, _multiply, _write_point


def encode(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).decode().rstrip("=")


def _join(header: Dict[str, Any], claims: Dict[str, Any]) -> str:
    return ".".join(encode(json.dumps(part).encode()) for part in (header, claims))


class Ed25519Key:
    """Signs as RFC 8032 says."""

    def __init__(self, secret: bytes) -> None:
        digest = hashlib.sha512(secret).digest()
        self._scalar = int.from_bytes(digest[:32], "little") & (2**254 - 8) | 2**254
        self._prefix = digest[32:]
        self.public = _write_point(_multiply(self._scalar, _BASE))

    def sign(self, text: bytes) -> bytes:
        nonce = int.from_bytes(hashlib.sha512(self._prefix + text).digest(), "little") % _L
        point = _write_point(_multiply(nonce, _BASE))
        hashed = int.from_bytes(hashlib.sha512(point + self.public + text).digest(), "little")
        return point + ((nonce + hashed * self._scalar) % _L).to_bytes(32, "little")


class RsaKey:
    """A small one: these tests are not about its strength."""

    def __init__(self, seed: int) -> None:
        random = Random(seed)
        p, q = (_find_prime(random) for _ in range(2))
        self.modulus = p * q
        self._private = pow(65537, -1, (p - 1) * (q - 1))

    @property
    def pem(self) -> str:
        def der(tag: int, content: bytes) -> bytes:
            length = len(content)
            return bytes([tag, length] if length < 128 else [tag, 0x82, *length.to_bytes(2, "big")]) + content

        numbers = der(0x02, b"\0" + self.modulus.to_bytes(128, "big")) + der(0x02, b"\1\0\1")
        algorithm = der(0x30, bytes.fromhex("06092a864886f70d0101010500"))
        info = der(0x30, algorithm + der(0x03, b"\0" + der(0x30, numbers)))
        body = base64.encodebytes(info).decode()
        return f"-----BEGIN PUBLIC KEY-----\n{body}-----END PUBLIC KEY-----\n"

    def sign(self, text: bytes) -> bytes:
        digest = bytes.fromhex("3031300d060960864801650304020105000420") + hashlib.sha256(text).digest()
        return self.sign_block(b"\0\1" + b"\xff" * (125 - len(digest)) + b"\0" + digest)

    def sign_block(self, block: bytes) -> bytes:
        """Signs what only a holder of the key can: any padding, however wrong."""
        return pow(int.from_bytes(block, "big"), self._private, self.modulus).to_bytes(128, "big")


# Rules out most candidates before the slow test.
_SMALL_ODD_NUMBERS = prod(range(3, 1000, 2))


def _find_prime(random: Random) -> int:
    while True:
        candidate = random.getrandbits(512) | 3 << 510 | 1
        if gcd(candidate, _SMALL_ODD_NUMBERS) > 1 or (candidate - 1) % 65537 == 0:
            continue
        if pow(2, candidate - 1, candidate) == 1:
            return candidate


VENDOR = RsaKey(1)
STRANGER = RsaKey(2)
SERVER_KEY = Ed25519Key(b"s" * 32)
TERMS: Dict[str, Any] = {
    "license_id": 7,
    "product": "cad",
    "limits": {
        "floating_users": 5,
        "floating_timeout": 10,
        "max_borrow_time": 48,
        "validity_period": "2030-02-01T00:00:00.000Z",
        "max_consumptions": 100,
        "allow_unlimited_consumptions": False,
    },
    "features": [
        {
            "code": "render",
            "max_consumptions": 0,
            "allow_unlimited_consumptions": False,
            "floating_users": 2,
            "expiry_date": "2030-01-20T00:00:00.000Z",
        },
        {
            "code": "export",
            "max_consumptions": 50,
            "allow_unlimited_consumptions": False,
            "floating_users": None,
            "expiry_date": None,
        },
    ],
}
VALID: Dict[str, Any] = {
    **TERMS,
    "user": "ada",
    "feature": None,
    "borrowed": False,
    "issued_at": "2030-01-15T12:00:00.000Z",
    "valid_until": "2030-01-15T12:10:00.000Z",
    "hardware_id": "hw",
    "nonce": "a-nonce-of-16-letters",
}


def certify(vendor: RsaKey = VENDOR, **changes: Any) -> str:
    claims = {
        "hardware_id": "hw",
        "licenses": [{**TERMS, "ends_at": "2030-02-02T00:00:00.000Z"}],
        "cnf": {"jwk": {"kty": "OKP", "crv": "Ed25519", "x": encode(SERVER_KEY.public)}},
        "expires_at": "2030-03-01T00:00:00.000Z",
        **changes,
    }
    signed = _join({"alg": "RS256", "typ": "berth-server+jwt"}, claims)
    return f"{signed}.{encode(vendor.sign(signed.encode()))}"


def limits(**changes: Any) -> Dict[str, Any]:
    return {"limits": {**TERMS["limits"], **changes}}


def render(**changes: Any) -> Dict[str, Any]:
    return {"features": [{**TERMS["features"][0], **changes}]}


def grant(key: Ed25519Key = SERVER_KEY, typ: str = "berth-grant+jwt", **changes: Any) -> str:
    signed = _join({"alg": "EdDSA", "typ": typ}, {**VALID, **changes})
    return f"{signed}.{encode(key.sign(signed.encode()))}"
