"""Proves grants with the vendor's public key: vendor → server → grant. `docs/grants.md` says every step."""

from __future__ import annotations

import base64
import json
import math
import re
import unicodedata
from dataclasses import dataclass
from typing import Any, List, Mapping, Optional, Sequence, Tuple, Union

from .errors import BerthError, ProofError
from .signatures import is_signed_by_ed25519, is_signed_by_rsa, read_rsa_key
from .timing import read_timestamp, to_ms

# What a server of the vendor has signed; `docs/grants.md` lists the claims.
Grant = Mapping[str, Any]


@dataclass(frozen=True)
class Proof:
    """What proves a slot. It can be stored."""

    grant: str
    # The vendor's word for the server. While the vendor changes the key: under each of the keys, with spaces.
    certificate: str
    nonce: str


@dataclass(frozen=True)
class Expected:
    """What the application has asked for."""

    product: str
    user: str
    # `None`: the slot of the license itself.
    feature: Optional[str] = None


class Verifier:
    def __init__(self, keys: Union[str, Sequence[str]]) -> None:
        """One or several keys as PEM, as `berth cloud public-key` prints them."""
        try:
            texts = [keys] if isinstance(keys, str) else list(keys)
            self._keys = [read_rsa_key(encoded) for text in texts for encoded in _split_pem(text)]
            if not self._keys:
                raise ValueError("No key")
        except (ValueError, IndexError, TypeError) as error:
            advice = 'Give the public key that "berth cloud public-key" prints, as PEM, or a list of keys.'
            raise BerthError("invalid_option", '"vendor_key" is not an RSA public key.', advice) from error

    def verify(self, proof: Proof, expected: Expected, now_ms: Optional[float]) -> Grant:
        """
        Raises a `ProofError` if anything does not fit. Whether the slot has ended is for the caller to judge.
        `now_ms` is `None` for what was stored: then the certificate must have been valid at that time.
        """
        fault: Optional[ProofError] = None
        for text in proof.certificate.split():
            try:
                server = self._read_certificate(text)
            except ProofError as error:
                # Perhaps the one under the vendor's other key is good. What is wrong with that says more.
                fault = fault or error
                continue
            try:
                return _judge(server, proof, expected, now_ms)
            except ProofError as error:
                fault = error
        raise fault or ProofError("There is no certificate.")

    def _read_certificate(self, text: str) -> Grant:
        server, signed, signature = _read_signed(text, "RS256", "berth-server+jwt")
        if any(is_signed_by_rsa(key, signed, signature) for key in self._keys):
            return server
        raise ProofError("The certificate of the server is not signed by the vendor.")


def _split_pem(text: str) -> List[str]:
    """What is between the lines that begin and end a key."""
    parts = re.split(r"-----[A-Z ]+-----", text)
    return [encoded for encoded in (re.sub(r"\s", "", part) for part in parts) if encoded]


def _judge(server: Grant, proof: Proof, expected: Expected, now_ms: Optional[float]) -> Grant:
    claims, signed, signature = _read_signed(proof.grant, "EdDSA", "berth-grant+jwt")
    if not is_signed_by_ed25519(_read_server_key(server), signed, signature):
        raise ProofError("The grant is not signed by the server of the certificate.")
    wanted = {"nonce": proof.nonce, "product": expected.product, "feature": expected.feature}
    for name, value in wanted.items():
        if name not in claims or claims[name] != value:
            raise ProofError(f"The grant is for another {name}.")
    if to_name(claims.get("user")) != to_name(expected.user):
        raise ProofError("The grant is for another user.")
    if claims.get("hardware_id") != server.get("hardware_id"):
        raise ProofError("The grant is of another server.")
    issued_ms = read_instant(claims, "issued_at")
    if read_instant(server, "expires_at") <= max(issued_ms, now_ms or issued_ms):
        raise ProofError.of_expired_certificate()
    _judge_claims(claims, _find_license(server, claims.get("license_id")))
    return claims


def _find_license(server: Grant, license_id: object) -> Grant:
    for certified in _list_of(server, "licenses"):
        if type(license_id) is int and certified.get("license_id") == license_id:
            return certified
    raise ProofError("The certificate is not for this license.")


def _judge_claims(claims: Grant, certified: Grant) -> None:
    """A grant may claim less than the vendor has certified, and never more."""
    if certified.get("product") != claims["product"]:
        raise ProofError("The certificate is for another product.")
    limits, ours = _fields_of(claims, "limits"), _fields_of(certified, "limits")
    for name in ("floating_users", "floating_timeout", "max_borrow_time"):
        _judge_amount(limits, ours, name)
    _judge_consumption(limits, ours)
    _judge_end(limits.get("validity_period"), ours.get("validity_period"), "validity_period")
    _judge_end(claims.get("valid_until"), certified.get("ends_at"), "valid_until")
    lent_for_ms = read_instant(claims, "valid_until") - read_instant(claims, "issued_at")
    if claims.get("borrowed") is True and lent_for_ms > longest_ms(ours, is_borrowed=True):
        raise _claims_more("valid_until")
    features = {feature.get("code"): feature for feature in _list_of(certified, "features")}
    if claims["feature"] is not None:
        _find_feature(features, claims["feature"])
    for feature in _list_of(claims, "features"):
        known = _find_feature(features, feature.get("code"))
        _judge_amount(feature, known, "floating_users")
        _judge_consumption(feature, known)
        _judge_end(feature.get("expiry_date"), known.get("expiry_date"), "expiry_date")


def _find_feature(features: Mapping[object, Grant], code: object) -> Grant:
    if isinstance(code, str) and code in features:
        return features[code]
    raise ProofError(f'The certificate does not name the feature "{code}".')


def longest_ms(limits: Grant, is_borrowed: bool) -> float:
    """How long a slot can last without a renewal. A borrowed one lasts as long as others at least."""
    timeout_ms = _amount_of(limits, "floating_timeout") * 60_000
    return max(timeout_ms, _amount_of(limits, "max_borrow_time") * 3_600_000) if is_borrowed else timeout_ms


def _judge_consumption(claims: Grant, certified: Grant) -> None:
    if certified.get("allow_unlimited_consumptions") is True:
        return
    if claims.get("allow_unlimited_consumptions") not in (None, False):
        raise _claims_more("allow_unlimited_consumptions")
    _judge_amount(claims, certified, "max_consumptions")


def _judge_amount(claims: Grant, certified: Grant, name: str) -> None:
    # Not `>`: a value that is not a number must fail, too.
    if not _amount_of(claims, name) <= _amount_of(certified, name):
        raise _claims_more(name)


def _amount_of(fields: Grant, name: str) -> float:
    """What is not there, such as the slots of a feature that counts, is nothing."""
    value = fields.get(name)
    if value is None:
        return 0
    return value if type(value) in (int, float) else math.nan


def _judge_end(claimed: object, certified: object, name: str) -> None:
    """`None` is never."""
    if certified is None:
        return
    if claimed is None or read_instant({name: claimed}, name) > read_instant({name: certified}, name):
        raise _claims_more(name)


def _claims_more(name: str) -> ProofError:
    return ProofError(f"The grant claims more than the vendor has certified: {name}.")


def _fields_of(fields: Grant, name: str) -> Grant:
    value = fields.get(name)
    if isinstance(value, dict):
        return value
    raise ProofError(f"It does not say {name}.")


def _list_of(fields: Grant, name: str) -> Sequence[Grant]:
    value = fields.get(name)
    if isinstance(value, list) and all(isinstance(one, dict) for one in value):
        return value
    raise ProofError(f"It does not say {name}.")


def to_name(user: object) -> str:
    """Servers keep the spelling of a user's first request, where case does not matter to them."""
    return unicodedata.normalize("NFC", str(user)).strip().lower()


def read_instant(claims: Grant, name: str) -> int:
    """In milliseconds."""
    moment = read_timestamp(claims.get(name))
    if moment is None:
        raise ProofError(f"It does not say {name}.")
    return to_ms(moment)


def _read_signed(text: str, alg: str, typ: str) -> Tuple[Grant, bytes, bytes]:
    """
    The claims of a compact JWS, what is signed, and how. The algorithm is given, and never taken from the
    text.
    """
    parts = text.split(".")
    if len(parts) != 3:
        raise ProofError("It does not have three parts.")
    try:
        header, claims = (json.loads(_read_base64(part)) for part in parts[:2])
        signature = _read_base64(parts[2])
    except (ValueError, RecursionError) as error:
        # The latter by JSON that is nested too deep.
        raise ProofError("It cannot be read.") from error
    if not isinstance(header, dict) or header.get("alg") != alg or header.get("typ") != typ:
        raise ProofError(f"It is not signed as {typ}.")
    if "crit" in header:
        # It names what a reader must understand, and there is nothing of this kind yet.
        raise ProofError("It needs a newer version of the client.")
    if not isinstance(claims, dict):
        raise ProofError("It has no claims.")
    return claims, f"{parts[0]}.{parts[1]}".encode(), signature


def _read_base64(text: str) -> bytes:
    """Several texts may mean the same bytes, and only one of them was signed."""
    decoded = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    if base64.urlsafe_b64encode(decoded).decode().rstrip("=") != text:
        raise ValueError("Not the Base64 that was signed")
    return decoded


def _read_server_key(server: Grant) -> bytes:
    try:
        jwk = server["cnf"]["jwk"]
        if jwk["crv"] == "Ed25519":
            return _read_base64(jwk["x"])
    except (KeyError, TypeError, ValueError):
        pass
    raise ProofError("The certificate has no key.")
