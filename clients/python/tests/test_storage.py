from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import unittest
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Dict, List
from unittest import mock

from berth_client import BerthError, Client, FileStorage, ProofError, StorageError, device
from berth_client.device import find_device, find_machine_id, mark_device
from berth_client.proof import _read_signed
from berth_client.servers import describe_addresses, read_url
from berth_client.storage import encode_part

from .signing import encode
from .simulation.machine import MemoryStorage
from .world_test import WorldTest

_SHARED = Path(__file__).parents[2] / "vectors.json"


class SharedVectors(unittest.TestCase):
    """What the clients of all languages make of the same texts."""

    def setUp(self) -> None:
        self.vectors: Dict[str, List[Dict[str, Any]]] = json.loads(_SHARED.read_text("utf-8"))

    def test_of_marks(self) -> None:
        for one in self.vectors["marks"]:
            self.assertEqual(mark_device(one["product"], one["identifier"]), one["mark"])

    def test_of_addresses(self) -> None:
        for one in self.vectors["bindings"]:
            urls = [read_url(address) for address in one["addresses"]]
            self.assertEqual(describe_addresses(urls), one["binding"], one["addresses"])

    def test_of_parts_of_names(self) -> None:
        for one in self.vectors["parts"]:
            self.assertEqual(encode_part(one["text"]), one["encoded"])

    def test_of_headers_of_grants(self) -> None:
        for one in self.vectors["headers"]:
            text = ".".join(encode(part) for part in (one["header"].encode(), b"{}", b"signature"))
            with nullcontext() if one["is_grant"] else self.assertRaises(ProofError, msg=one["header"]):
                _read_signed(text, "EdDSA", "berth-grant+jwt")


class AMachineId(unittest.TestCase):
    def test_is_of_the_first_file_that_says_something(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            files = [os.path.join(folder, name) for name in ("one", "two")]
            find = find_machine_id.__wrapped__
            with mock.patch.object(device, "_ID_FILES", files), mock.patch.object(sys, "platform", "linux"):
                self.assertIsNone(find())
                for text in ("", "uninitialized\n"):
                    Path(files[0]).write_text(text)
                    self.assertIsNone(find())
                Path(files[1]).write_text("5F3A\n")
                self.assertEqual(find(), "5f3a")
                Path(files[0]).write_text("7B\n")
                self.assertEqual(find(), "7b")


class ADevice(WorldTest):
    def test_without_an_identifier_gets_one_that_is_stored(self) -> None:
        self.assertEqual(find_device(self.machine, self.machine.disk), "ws-7")
        self.machine.machine_id = None
        storage = MemoryStorage()
        made = find_device(self.machine, storage)
        self.assertEqual(storage.texts, {"device": made})
        self.assertEqual(find_device(self.machine, storage), made)


class Storing(unittest.TestCase):
    def test_without_a_home_fails_when_it_is_needed_and_not_before(self) -> None:
        """As in a container that runs under a number that nobody knows."""
        program = (
            "import pwd\n"
            "def nobody(_): raise KeyError\n"
            "pwd.getpwuid = nobody\n"
            "import berth_client\n"
            "client = berth_client.Client('http://127.0.0.1:1', 'cad')\n"
            "for work in (client.resume, client.borrows, client.open_queue().add):\n"
            "    try: work()\n"
            "    except berth_client.StorageError as error: print(error.code)\n"
        )
        unset = ("HOME", "XDG_STATE_HOME", "USERPROFILE")
        environment = {name: value for name, value in os.environ.items() if name not in unset}
        told = subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
        )
        self.assertEqual(told.stdout.split(), ["storage_failed"] * 3, told.stderr)

    def test_without_a_home_works_in_a_folder_that_is_named(self) -> None:
        for patch in (
            mock.patch.object(Path, "home", side_effect=RuntimeError),
            mock.patch.object(sys, "platform", "linux"),
            mock.patch.dict(os.environ, {"XDG_STATE_HOME": "/named"}),
        ):
            patch.start()
            self.addCleanup(patch.stop)
        self.assertEqual(FileStorage().folder, Path("/named/berth-client"))

    def test_that_fails_is_an_error_of_ours(self) -> None:
        with tempfile.NamedTemporaryFile() as file:
            client = Client("http://127.0.0.1:1", "cad", storage=FileStorage(os.path.join(file.name, "no")))
            for work in (client.resume, client.borrows, client.open_queue().add, client.open_queue().list):
                with self.assertRaises(StorageError) as caught:
                    work()
                self.assertIsInstance(caught.exception, BerthError)
                self.assertIn("folder", caught.exception.advice)


class Names(unittest.TestCase):
    def test_differ_where_texts_do_and_are_short(self) -> None:
        texts = ["cad", "CAD", "c@d", "c%40d", "çad", "a" * 60, "a" * 61, "a" * 62, "Ä" * 256]
        names = [encode_part(text) for text in texts]
        self.assertEqual(len({name.lower() for name in names}), len(texts))
        for name in names:
            self.assertRegex(name, "^[a-z0-9._%~-]{1,60}$")

    def test_are_files_that_are_found_again(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            storage = FileStorage(folder)
            name = f"borrow@{encode_part('Ä' * 256)}@{'S' * 43}@{encode_part('u' * 300)}"
            storage.write(name, "text")
            self.assertEqual(storage.list("borrow@"), [name])
            self.assertTrue(all(len(file) < 200 for file in os.listdir(folder)))
