from __future__ import annotations

import json
import re
import unittest
from datetime import datetime, timezone
from random import Random
from typing import Any, Dict, List, Optional, Tuple

from berth_client import BerthError, Client, ProofError, Slot
from berth_client.device import mark_device
from berth_client.environment import NotSentError, WireAnswer, WireRequest
from berth_client.proof import Expected, Proof, Verifier
from berth_client.signatures import _L, is_signed_by_ed25519

from .signing import (
    SERVER_KEY,
    STRANGER,
    TERMS,
    VENDOR,
    Ed25519Key,
    certify,
    encode,
    grant,
    limits,
    render,
)
from .simulation.machine import START, Answered
from .world_test import WorldTest, tells_store


class AGrant(unittest.TestCase):
    def verify(
        self, granted: str, *certificates: str, feature: Optional[str] = None, now: Optional[float] = START
    ) -> Any:
        proof = Proof(granted, " ".join(certificates), "a-nonce-of-16-letters")
        now_ms = None if now is None else now * 1000
        return Verifier(VENDOR.pem).verify(proof, Expected("cad", "ada", feature), now_ms)

    def test_of_a_server_of_the_vendor_is_accepted(self) -> None:
        self.assertEqual(self.verify(grant(), certify())["license_id"], 7)
        self.assertEqual(self.verify(grant(user="ADA"), certify())["user"], "ADA")

    def test_that_does_not_fit_is_refused(self) -> None:
        other = Ed25519Key(b"o" * 32)
        jwk = {"kty": "OKP", "crv": "Ed25519", "x": encode(other.public)}
        cases: List[Tuple[str, str, str]] = [
            ("another nonce", grant(nonce="other"), certify()),
            ("another product", grant(product="cam"), certify()),
            ("another user", grant(user="bob"), certify()),
            ("another feature", grant(feature="render"), certify()),
            ("another server", grant(hardware_id="other"), certify()),
            ("not for this license", grant(license_id=8), certify()),
            ("not signed by the server", grant(other), certify()),
            ("not signed by the vendor", grant(), certify(STRANGER)),
            ("not signed by the vendor", grant(other), certify(STRANGER, cnf={"jwk": jwk})),
            ("not signed as", grant(typ="JWT"), certify()),
            ("not signed as", certify(), certify()),
            ("has no key", grant(), certify(cnf={"jwk": {"crv": "P-256"}})),
            ("three parts", "", certify()),
            ("does not say valid_until", grant(valid_until="soon"), certify()),
        ]
        for reason, granted, certificate in cases:
            with self.assertRaisesRegex(ProofError, reason):
                self.verify(granted, certificate)

    def test_that_claims_more_than_the_certificate_is_refused(self) -> None:
        cases: Dict[str, List[Dict[str, Any]]] = {
            "floating_users": [
                limits(floating_users=6),
                limits(floating_users="1"),
                render(floating_users=3),
            ],
            "floating_timeout": [limits(floating_timeout=11), limits(floating_timeout=True)],
            "max_borrow_time": [limits(max_borrow_time=49)],
            "max_consumptions": [limits(max_consumptions=101), render(max_consumptions=1)],
            "allow_unlimited_consumptions": [
                limits(allow_unlimited_consumptions=True),
                render(allow_unlimited_consumptions=True),
            ],
            "validity_period": [
                limits(validity_period="2030-02-01T00:00:00.001Z"),
                limits(validity_period=None),
            ],
            "expiry_date": [render(expiry_date="2030-01-21T00:00:00Z"), render(expiry_date=None)],
            "valid_until": [
                {"valid_until": "2030-02-02T00:00:00.001Z"},
                {"borrowed": True, "valid_until": "2030-01-17T12:00:00.001Z"},
            ],
        }
        for name, claims in cases.items():
            for one in claims:
                with self.assertRaisesRegex(ProofError, f"claims more .*: {name}\\.", msg=str(one)):
                    self.verify(grant(**one), certify())

    def test_of_something_that_the_certificate_does_not_name_is_refused(self) -> None:
        cases: List[Tuple[str, Dict[str, Any]]] = [
            ("another product", {"licenses": [{**TERMS, "product": "cam", "ends_at": None}]}),
            ("not for this license", {"licenses": []}),
            ("does not say licenses", {"licenses": None}),
            ("does not name the feature", {"licenses": [{**TERMS, "features": [], "ends_at": None}]}),
        ]
        for reason, certified in cases:
            with self.assertRaisesRegex(ProofError, reason):
                self.verify(grant(), certify(**certified))
        for features in ([{"code": "other"}], [{"code": None}], [{}]):
            with self.assertRaisesRegex(ProofError, "does not name the feature"):
                self.verify(grant(features=features), certify())
        with self.assertRaisesRegex(ProofError, 'does not name the feature "scan"'):
            self.verify(grant(feature="scan", features=[]), certify(), feature="scan")

    def test_may_claim_less(self) -> None:
        for claims in (
            limits(floating_users=0, floating_timeout=1, max_borrow_time=0, max_consumptions=0),
            limits(validity_period="2030-01-31T00:00:00.000Z"),
            render(floating_users=None, expiry_date="2030-01-19T00:00:00.000Z"),
            {"features": []},
            {"borrowed": True, "valid_until": "2030-01-17T12:00:00.000Z"},
        ):
            self.assertEqual(self.verify(grant(**claims), certify())["license_id"], 7)
        unlimited = {
            **TERMS,
            **limits(allow_unlimited_consumptions=True, validity_period=None),
            "ends_at": None,
        }
        for claims in (limits(max_consumptions=999), limits(allow_unlimited_consumptions=True)):
            self.verify(grant(**claims), certify(licenses=[unlimited]))

    def test_needs_a_certificate_that_is_valid_and_if_stored_one_that_was(self) -> None:
        expired = certify(expires_at="2030-01-15T12:00:01.000Z")
        with self.assertRaisesRegex(ProofError, "has expired.*administrator") as caught:
            self.verify(grant(), expired, now=START + 1)
        self.assertEqual(caught.exception.code, "certificate_expired")
        self.assertTrue(caught.exception.is_retryable)
        self.verify(grant(), expired, now=None)
        for now in (START - 5, None):
            with self.assertRaisesRegex(ProofError, "has expired"):
                self.verify(grant(issued_at="2030-01-15T12:00:01.000Z"), expired, now=now)

    def test_may_have_certificates_under_several_keys(self) -> None:
        self.verify(grant(), certify(STRANGER), "damaged", certify())
        with self.assertRaisesRegex(ProofError, "has expired"):
            self.verify(grant(), certify(STRANGER), certify(expires_at="2030-01-01T00:00:00.000Z"))
        with self.assertRaisesRegex(ProofError, "not signed by the vendor"):
            self.verify(grant(), certify(STRANGER), "damaged")
        for keys in ([STRANGER.pem, VENDOR.pem], f"{STRANGER.pem}\n{VENDOR.pem}"):
            proof = Proof(grant(), certify(), "a-nonce-of-16-letters")
            Verifier(keys).verify(proof, Expected("cad", "ada"), START * 1000)

    def test_that_is_nested_too_deep_is_refused(self) -> None:
        nested = encode(b"[" * 100_000)
        for part in (f"{nested}.{nested}.x", f"{grant().split('.')[0]}.{nested}.AAAA"):
            with self.assertRaisesRegex(ProofError, "cannot be read"):
                self.verify(part, certify())
            with self.assertRaises(ProofError):
                self.verify(grant(), part)

    def test_is_refused_with_any_letter_changed(self) -> None:
        granted, certificate = grant(), certify()
        random = Random(3)
        for _ in range(15):
            for text in (granted, certificate):
                place = random.randrange(len(text))
                letter = chr(ord(text[place]) ^ 1 << random.randrange(7))
                altered = text[:place] + letter + text[place + 1 :]
                with self.assertRaises(ProofError, msg=altered):
                    self.verify(*((altered, certificate) if text is granted else (granted, altered)))

    def test_keeps_to_the_vectors_of_rfc_8032(self) -> None:
        key = bytes.fromhex("3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c")
        signature = bytes.fromhex(
            "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
            "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"
        )
        self.assertTrue(is_signed_by_ed25519(key, b"\x72", signature))
        self.assertFalse(is_signed_by_ed25519(key, b"\x73", signature))
        # The same number in another form, which must not count.
        scalar = int.from_bytes(signature[32:], "little") + _L
        self.assertFalse(is_signed_by_ed25519(key, b"\x72", signature[:32] + scalar.to_bytes(32, "little")))

    def test_needs_a_key_of_the_vendor(self) -> None:
        wrong: Any
        nothing = "-----BEGIN PUBLIC KEY-----\nnothing\n-----END PUBLIC KEY-----"
        texts = ("", nothing, "MCowBQYDK2VwAyEA", VENDOR.pem + nothing)
        for wrong in (*texts, [], [VENDOR.pem, nothing], [5], 5):
            with self.assertRaises(BerthError) as caught:
                Client("http://one.test", "cad", vendor_key=wrong)
            self.assertEqual(caught.exception.code, "invalid_option")


class ASlotWithProof(WorldTest):
    """A server that signs what it lends, unless it is a fake."""

    def setUp(self) -> None:
        super().setUp()
        self.is_fake = False
        self.expires_at = "2030-03-01T00:00:00.000Z"
        self.nonces = 0
        self.paths: List[str] = []
        self.machine._network = self.lend
        self.machine.create_id = lambda: f"nonce-{self.nonces:010}"  # type: ignore[method-assign]
        self.client = Client("http://one.test", "cad", "ada", vendor_key=VENDOR.pem, environment=self.machine)

    def lend(self, request: WireRequest, done: Answered) -> None:
        if self.is_down.get("one"):
            return done(NotSentError("refused"))
        if tells_store(request, done):
            return
        body = json.loads(request.body)
        self.paths.append(request.url.rsplit("/", 1)[1])
        fields: Dict[str, Any] = {"license_id": 7, "slot_ends_in_seconds": 600, "renew_in_seconds": 200}
        if "nonce" in body:
            self.nonces += 1
            key = Ed25519Key(b"f" * 32) if self.is_fake else SERVER_KEY
            is_borrow = request.url.endswith("borrow")
            until = "2030-01-17T12:00:00.000Z"
            days: Dict[str, Any] = {"borrowed": True, "valid_until": until} if is_borrow else {}
            fields.update({"borrowed_until": until} if is_borrow else {})
            mark = {"device_mark": body.get("device_mark")}
            fields.update(grant=grant(key, nonce=body["nonce"], **days, **mark))
            fields.update(certificate=certify(expires_at=self.expires_at))
        done(WireAnswer(200, json.dumps(fields), None))

    def test_asks_for_a_new_grant_once_in_192_renewals(self) -> None:
        slots: List[Slot] = []
        self.play(lambda: slots.append(self.client.acquire()))
        self.assertEqual((slots[0].grant or {})["license_id"], 7)
        self.world.run(191.5 * 180)
        self.assertEqual((len(self.paths), self.nonces), (192, 1))
        self.world.run(192.5 * 180)
        self.assertEqual((len(self.paths), self.nonces), (193, 2))
        self.assertTrue(slots[0].is_held)

    def test_is_not_renewed_by_a_fake_server(self) -> None:
        slots: List[Slot] = []
        events: List[str] = []

        def work() -> None:
            slot = self.client.acquire()
            slot.on("denied", lambda event: events.append(event.error.code))
            slot.on("lost", lambda event: events.append(event.reason))
            slots.append(slot)

        self.play(work)
        self.is_fake = True
        self.world.run(35_500)
        self.assertEqual(events, ["not_proven", "ended"])
        self.assertFalse(slots[0].is_held)

    def test_is_not_taken_from_a_fake_server(self) -> None:
        self.is_fake = True

        def work() -> None:
            with self.assertRaises(ProofError):
                self.client.acquire(wait="5m")

        self.play(work)
        # If it is a real one after all, nobody should miss the slot.
        self.assertEqual(self.paths, ["register", "unregister"])

    def test_waits_for_a_certificate_that_has_not_expired(self) -> None:
        self.expires_at = "2030-01-01T00:00:00.000Z"
        waits: List[str] = []
        slots: List[Slot] = []

        def work() -> None:
            slots.append(self.client.acquire("5m", on_wait=lambda waiting: waits.append(waiting.error.code)))

        self.play(work)
        self.assertEqual((waits[0], slots), ("certificate_expired", []))
        self.expires_at = "2030-03-01T00:00:00.000Z"
        self.world.run(60)
        self.assertTrue(slots[0].is_held)

    def test_needs_a_server_that_signs(self) -> None:
        fields = {"license_id": 7, "floating_timeout": 10}
        self.machine._network = lambda _, done: done(WireAnswer(200, json.dumps(fields), None))

        def work() -> None:
            with self.assertRaisesRegex(ProofError, "does not sign grants. .*upgrade"):
                self.client.acquire()

        self.play(work)

    def test_is_borrowed_with_its_proof(self) -> None:
        self.play(lambda: self.client.borrow())
        self.is_down["one"] = True
        self.play(lambda: self.assertTrue(self.client.resume().is_valid))
        [name] = self.machine.storage.texts
        stored = json.loads(self.machine.storage.texts[name])

        def resume_as(code: str, lent: Optional[Dict[str, Any]] = None, **changes: Any) -> None:
            changed = {**stored, **changes, "lent": {**stored["lent"], **(lent or {})}}
            self.machine.storage.texts[name] = json.dumps(changed)
            with self.assertRaises(BerthError) as caught:
                self.client.resume()
            self.assertEqual(caught.exception.code, code)
            self.assertNotIn("server cannot", caught.exception.message)

        def work() -> None:
            resume_as("not_proven", lent={"proof": None})
            resume_as("not_proven", user="ADA", lent={"licenseId": 8})
            resume_as("not_proven", lent={"untilMs": stored["lent"]["untilMs"] + 1})
            resume_as("not_proven", lent={"proof": {**stored["lent"]["proof"], "nonce": "other"}})
            resume_as("not_proven", mark="of another computer")
            resume_as("no_borrow", user="bob")
            self.machine.machine_id = "another computer"
            resume_as("not_proven", mark=mark_device("cad", "another computer"))
            self.machine.machine_id = "ws-7"
            self.machine.set_wall_clock(-10 * 86_400)
            resume_as("clock_set_back", seenMs=0)

        self.play(work)

    def test_that_is_borrowed_says_what_its_grant_says(self) -> None:
        self.play(lambda: self.client.borrow())
        other = Client("http://one.test", "cad", "ADA", vendor_key=VENDOR.pem, environment=self.machine)
        stored = self.machine.storage.texts

        def name_user(user: str) -> None:
            as_user = lambda text: re.sub('"(ada|ADA)"', f'"{user}"', text)
            stored.update({name: as_user(text) for name, text in stored.items()})

        def work() -> None:
            name_user("ADA")
            borrow = other.resume()
            self.assertEqual((borrow.user, borrow.license_id), ("ada", 7))
            self.assertEqual(borrow.until, datetime(2030, 1, 17, 12, tzinfo=timezone.utc))
            name_user("bob")
            bob = Client("http://one.test", "cad", "bob", vendor_key=VENDOR.pem, environment=self.machine)
            with self.assertRaisesRegex(ProofError, "^The stored borrow .*another user") as caught:
                bob.resume()
            self.assertNotIn("address", str(caught.exception))

        self.play(work)
