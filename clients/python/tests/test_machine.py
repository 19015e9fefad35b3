from __future__ import annotations

import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, List, Tuple

from berth_client import BerthError, BorrowError, Client, FileStorage
from berth_client.device import mark_device
from berth_client.environment import NotSentError, WireRequest
from berth_client.errors import UnreachableError
from berth_client.http_sender import HttpSender
from berth_client.machine import MACHINE
from berth_client.servers import _advise


class Files(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = os.path.join(folder.name, "new", "folder")
        self.storage = FileStorage(self.folder)

    def test_keep_texts_by_name(self) -> None:
        self.assertEqual((self.storage.read("a"), self.storage.list("")), (None, []))
        for name in ("count-2", "count-1", "borrow-a%2Fb"):
            self.storage.write(name, f"text of {name} ä")
        self.assertEqual(FileStorage(self.folder).list("count-"), ["count-1", "count-2"])
        self.assertEqual(self.storage.read("borrow-a%2Fb"), "text of borrow-a%2Fb ä")
        self.storage.remove("count-1")
        self.storage.remove("count-1")
        self.assertEqual(self.storage.list("count-"), ["count-2"])

    @unittest.skipIf(os.name == "nt", "Windows has other permissions")
    def test_are_for_the_user_only(self) -> None:
        self.storage.write("count-1", "text")
        file = os.path.join(self.folder, "count-1.json")
        self.assertEqual([os.stat(path).st_mode & 0o777 for path in (self.folder, file)], [0o700, 0o600])

    def test_cannot_leave_the_folder(self) -> None:
        self.storage.write("../outside", "text")
        self.assertEqual(os.listdir(self.folder), [".._outside.json"])

    def test_leave_no_drafts(self) -> None:
        self.storage.write("a", "text")
        old, new = (os.path.join(self.folder, f"a.json.{name}.new") for name in ("1-2", "3-4"))
        for draft in (old, new):
            with open(draft, "w"):
                pass
        os.utime(old, (0, 0))
        with self.assertRaises(UnicodeEncodeError):
            FileStorage(self.folder).write("a", "\ud800")
        self.assertEqual(sorted(os.listdir(self.folder)), ["a.json", "a.json.3-4.new"])

    def test_leave_no_drafts_at_the_end_of_the_program(self) -> None:
        program = (
            "import berth_client, os, threading; written = threading.Event();"
            "os.replace = lambda *_: written.set() or threading.Event().wait();"
            f"write = berth_client.FileStorage({self.folder!r}).write;"
            "threading.Thread(target=write, args=('a', 'text'), daemon=True).start(); written.wait()"
        )
        subprocess.run([sys.executable, "-c", program], check=True)
        self.assertEqual(os.listdir(self.folder), [])

    def test_that_are_damaged_are_not_a_borrow(self) -> None:
        client = Client("http://127.0.0.1:1", "cad", "ada", storage=self.storage, device="this one")
        lent = {"licenseId": 7, "untilMs": 4e12, "proof": {"grant": "", "certificate": "", "nonce": ""}}
        fields = {"product": "cad", "user": "ada", "licenseId": 7, "mark": "", "binding": "", "seenMs": 1}
        fields.update(mark=mark_device("cad", "this one"), asked=None, lent=lent, version=1)
        damaged: List[object] = [[], {}, None, "text", {**fields, "lent": None}, {**fields, "asked": {}}]
        wrong = ([], {}, True, 1e300, float("nan"))
        for name in (*fields, *lent):
            part = lent if name in lent and name != "licenseId" else fields
            changes = [{other: value for other, value in part.items() if other != name}]
            changes += [{**part, name: value} for value in wrong]
            damaged += [{**fields, "lent": one} for one in changes] if part is lent else changes
        texts = ["", "[" * 100_000, *(json.dumps(one) for one in damaged)]
        for content in [*(text.encode() for text in texts), b'"\xff"']:
            self.assertEqual(self.resume(client, content), "borrow_unreadable", content)
        newer = json.dumps({"version": 2}).encode()
        self.assertEqual(self.resume(client, newer), "borrow_unreadable")
        with self.assertRaisesRegex(BorrowError, "stored by a newer version of the client"):
            client.resume()
        whole = {**fields, "lent": {**lent, "proof": None}}
        self.assertEqual(self.resume(client, json.dumps(whole).encode()), "done")

    def resume(self, client: Client, content: bytes) -> str:
        """How it ends."""
        self.storage.write("borrow@cad@x@ada", "")
        with open(os.path.join(self.folder, "borrow@cad@x@ada.json"), "wb") as file:
            file.write(content)
        try:
            client.resume()
            return "done"
        except BerthError as error:
            return error.code


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        assert isinstance(self.server, _Server)
        self.rfile.read(int(self.headers["Content-Length"]))
        self.server.seen.append((self.client_address[1], self.path))
        # It has lent a slot, and says so to nobody.
        if self.path == "/api/v4/register":
            self.server.is_asked.set()
            self.server.ended.wait(30)
            return
        self.send_response(200)
        self.send_header("Content-Length", "2")
        if self.path == "/last":
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(b"{}")
        # A connection that the server closes without saying so.
        if self.path == "/closes":
            self.close_connection = True

    def log_message(self, *_: Any) -> None:
        pass


class _Server(ThreadingHTTPServer):
    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.seen: List[Tuple[int, str]] = []
        self.is_asked = threading.Event()
        self.ended = threading.Event()


class Requests(unittest.TestCase):
    def setUp(self) -> None:
        self.server = _Server()
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)
        self.sender = HttpSender(MACHINE.read_monotonic)
        self.addCleanup(self.close_kept)

    def close_kept(self) -> None:
        for idle in self.sender._idle.values():
            for connection, _ in idle:
                connection.close()

    def send(self, path: str, port: int = 0, timeout: float = 5.0) -> int:
        url = f"http://127.0.0.1:{port or self.server.server_port}{path}"
        return self.sender.send(WireRequest(url, {}, b"{}", timeout)).status

    def test_share_a_connection(self) -> None:
        self.send("/one")
        thread = threading.Thread(target=self.send, args=("/two",))
        thread.start()
        thread.join()
        (first, _), (second, _) = self.server.seen
        self.assertEqual(first, second)

    def test_are_repeated_if_the_server_had_closed_the_connection(self) -> None:
        self.assertEqual([self.send("/closes"), self.send("/next")], [200, 200])
        self.assertEqual([path for _, path in self.server.seen], ["/closes", "/next"])

    def test_get_their_answer_from_a_server_that_keeps_no_connection(self) -> None:
        self.assertEqual([self.send("/last"), self.send("/last")], [200, 200])

    def test_that_got_no_connection_were_not_sent(self) -> None:
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))
            with self.assertRaises(NotSentError):
                self.send("/", unused.getsockname()[1])

    @unittest.skipIf(os.name == "nt", "Windows has other signals")
    def test_return_a_slot_that_the_program_has_not_heard_of_when_it_is_terminated(self) -> None:
        address = f"http://127.0.0.1:{self.server.server_port}"
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            self.server.is_asked.clear()
            self.server.seen.clear()
            code = f"import berth_client; berth_client.acquire({address!r}, 'cad')"
            program = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.DEVNULL)
            self.assertTrue(self.server.is_asked.wait(30))
            program.send_signal(number)
            self.assertEqual(program.wait(30), -number)
            self.assertEqual([path for _, path in self.server.seen][1:], ["/api/v4/unregister"])
        self.server.ended.set()

    def test_say_what_to_do_about_tls(self) -> None:
        port = self.server.server_port
        with self.assertRaisesRegex(UnreachableError, "begin it with http://"):
            Client(f"https://127.0.0.1:{port}", "cad").acquire()
        with socket.create_server(("127.0.0.1", 0)) as closing:
            threading.Thread(target=lambda: closing.accept()[0].close(), daemon=True).start()
            with self.assertRaisesRegex(UnreachableError, "begin its address with https://"):
                Client(f"http://127.0.0.1:{closing.getsockname()[1]}", "cad").acquire()
        for code, advice in ((18, "SSL_CERT_FILE"), (62, "name of the host"), (10, "None")):
            error = NotSentError("no trust")
            error.__cause__ = ssl.SSLCertVerificationError()
            error.__cause__.verify_code = code
            self.assertIn(advice, str(_advise(error, "https://berth")))

    def test_give_up_in_time(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as silent:
            with self.assertRaises(OSError) as caught:
                self.send("/", silent.getsockname()[1], timeout=0.05)
            # Before Python 3.10 it is no `TimeoutError`.
            self.assertRegex(str(caught.exception), "timed out|in time")


class TheMachine(unittest.TestCase):
    def test_has_clocks_that_run(self) -> None:
        before = MACHINE.read_monotonic()
        self.assertGreaterEqual(MACHINE.read_monotonic(), before)
        self.assertGreater(MACHINE.read_wall(), 1_700_000_000)

    def test_has_timers_that_run_and_can_be_cancelled(self) -> None:
        heard: List[str] = []
        fired = MACHINE.create_signal()
        cancel = MACHINE.set_timer(60, lambda: heard.append("cancelled"))
        cancel()
        MACHINE.set_timer(0, fired.set)
        self.assertTrue(fired.wait(30))
        self.assertEqual(heard, [])

    def test_has_a_name_for_its_user(self) -> None:
        self.assertRegex(
            Client("http://127.0.0.1:1", "cad").user, rf"^[^@]+@[^/]+/{os.getpid()}-[0-9a-f]{{8}}$"
        )
