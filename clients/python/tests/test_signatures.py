from __future__ import annotations

import base64
import json
import os
import unittest
from hashlib import sha1, sha256, sha512
from pathlib import Path
from typing import Any, Callable, Iterator, Tuple

from berth_client.signatures import _L, _P, is_signed_by_ed25519, is_signed_by_rsa, read_rsa_key

from .signing import SERVER_KEY, VENDOR

_TEXT = b"what is signed"
_SHA256 = "3031300d060960864801650304020105000420"
# A checkout of https://github.com/C2SP/wycheproof.
_WYCHEPROOF = os.environ.get("BERTH_WYCHEPROOF")


def _pad(info: str, digest: bytes, filler: bytes = b"\xff", kind: bytes = b"\1", after: bytes = b"") -> bytes:
    tail = b"\0" + bytes.fromhex(info) + digest + after
    return (b"\0" + kind + filler * 126)[: 128 - len(tail)] + tail


class AnRsaSignature(unittest.TestCase):
    key = (VENDOR.modulus, 65537)

    def test_is_accepted_as_it_was_made(self) -> None:
        right = _pad(_SHA256, sha256(_TEXT).digest())
        self.assertEqual(VENDOR.sign_block(right), VENDOR.sign(_TEXT))
        self.assertTrue(is_signed_by_rsa(self.key, _TEXT, VENDOR.sign(_TEXT)))

    def test_with_another_padding_is_refused(self) -> None:
        digest = sha256(_TEXT).digest()
        blocks = {
            "no NULL": _pad("302f300b0609608648016503040201" + "0420", digest),
            "a long length": _pad("308131300d060960864801650304020105000420", digest),
            "an indefinite length": _pad("3080300d060960864801650304020105000420", digest, after=b"\0\0"),
            "no algorithm": _pad("", digest),
            "the algorithm of SHA-1": _pad("3021300906052b0e03021a05000414", sha1(_TEXT).digest()),
            "SHA-512": _pad("3051300d060960864801650304020305000440", sha512(_TEXT).digest()),
            "another digest": _pad(_SHA256, sha256(b"").digest()),
            "something after the digest": _pad(_SHA256, digest, after=b"\0"),
            "short padding": b"\0\1\xff\0" + bytes.fromhex(_SHA256) + digest + b"\0" * (128 - 4 - 51),
            "zeros as padding": _pad(_SHA256, digest, filler=b"\0"),
            "the padding of encryption": _pad(_SHA256, digest, kind=b"\2"),
        }
        for name, block in blocks.items():
            with self.subTest(name):
                self.assertFalse(is_signed_by_rsa(self.key, _TEXT, VENDOR.sign_block(block)))

    def test_in_another_encoding_is_refused(self) -> None:
        right = VENDOR.sign(_TEXT)
        numbers = [number.to_bytes(128, "big") for number in (0, 1, VENDOR.modulus - 1, VENDOR.modulus)]
        for signature in (b"", right[1:], right[:-1], b"\0" + right, right + b"\0", *numbers):
            with self.subTest(signature.hex()):
                self.assertFalse(is_signed_by_rsa(self.key, _TEXT, signature))

    def test_is_smaller_than_the_modulus(self) -> None:
        for text in (b"%d" % number for number in range(1000)):
            number = int.from_bytes(VENDOR.sign(text), "big") + VENDOR.modulus
            if number < 2**1024:
                return self.assertFalse(is_signed_by_rsa(self.key, text, number.to_bytes(128, "big")))
        self.fail("All signatures are too large.")


class AnEd25519Signature(unittest.TestCase):
    def test_in_another_encoding_is_refused(self) -> None:
        right = SERVER_KEY.sign(_TEXT)
        self.assertTrue(is_signed_by_ed25519(SERVER_KEY.public, _TEXT, right))
        point, scalar = right[:32], int.from_bytes(right[32:], "little")
        scalars = [scalar + times * _L for times in (1, 2, 8, 15)] + [0, _L, _L - scalar]
        wrong = [point + number.to_bytes(32, "little") for number in scalars]
        flipped = point[:31] + bytes([point[31] ^ 0x80]) + right[32:]
        wrong += [flipped, b"", point, right[:-1], right + b"\0", right[32:] + point, b"\0" * 64, b"\xff" * 64]
        for signature in wrong:
            with self.subTest(signature.hex()):
                self.assertFalse(is_signed_by_ed25519(SERVER_KEY.public, _TEXT, signature))

    def test_under_a_key_that_is_no_point_is_refused(self) -> None:
        for number in (2, _P, _P + 1, 2**255 - 1, 1 | 1 << 255):
            key = number.to_bytes(32, "little")
            # With the neutral element and 0, everything would be signed by a key that counts as neutral.
            self.assertFalse(is_signed_by_ed25519(key, _TEXT, (1).to_bytes(32, "little") + b"\0" * 32))


def _read_vectors(name: str) -> Iterator[Tuple[Any, Any]]:
    groups = json.loads(Path(str(_WYCHEPROOF), "testvectors_v1", name).read_text())["testGroups"]
    return ((group, vector) for group in groups for vector in group["tests"])


@unittest.skipIf(_WYCHEPROOF is None, "BERTH_WYCHEPROOF does not name a checkout of Wycheproof")
class WycheproofSays(unittest.TestCase):
    def _compare(self, name: str, is_signed: Callable[[Any, bytes, bytes], bool]) -> None:
        for group, vector in _read_vectors(name):
            with self.subTest(name, id=vector["tcId"], comment=vector["comment"]):
                signed = is_signed(group, bytes.fromhex(vector["msg"]), bytes.fromhex(vector["sig"]))
                # What is "acceptable" only to old programs is refused.
                self.assertEqual(signed, vector["result"] == "valid")

    def test_the_same_of_ed25519(self) -> None:
        def is_signed(group: Any, text: bytes, signature: bytes) -> bool:
            return is_signed_by_ed25519(bytes.fromhex(group["publicKey"]["pk"]), text, signature)

        self._compare("ed25519_test.json", is_signed)

    def test_the_same_of_rsa(self) -> None:
        def is_signed(group: Any, text: bytes, signature: bytes) -> bool:
            key = read_rsa_key(base64.b64encode(bytes.fromhex(group["publicKeyDer"])).decode())
            return is_signed_by_rsa(key, text, signature)

        for size in (2048, 3072, 4096):
            self._compare(f"rsa_signature_{size}_sha256_test.json", is_signed)
