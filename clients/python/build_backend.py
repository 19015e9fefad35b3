"""
Builds the wheel, without any package and without network: `python3 build_backend.py` writes it to `dist/`.
The same functions are what pip and `python -m build` call (PEP 517).
"""

from __future__ import annotations

import ast
import base64
import gzip
import hashlib
import io
import os
import re
import tarfile
import zipfile
from pathlib import Path
from typing import Any, Dict, Iterator, List, Mapping, Optional, Set, Union

_ROOT = Path(__file__).resolve().parent
_PACKAGE = _ROOT / "src" / "berth_client"
# The same sources give the same file. Earlier dates do not exist in a zip.
_DATE = (1980, 1, 1, 0, 0, 0)
_WHEEL = "Wheel-Version: 1.0\nGenerator: berth-client\nRoot-Is-Purelib: true\nTag: py3-none-any\n"

Settings = Optional[Mapping[str, Any]]


def build_wheel(folder: str, settings: Settings = None, metadata_folder: Optional[str] = None) -> str:
    project = _read_project()
    name = f"{_stem(project)}-py3-none-any.whl"
    info = f"{_stem(project)}.dist-info"
    module = _Bundle().write(project["description"])
    files = {"berth_client/__init__.py": module.encode(), "berth_client/py.typed": b""}
    files[f"{info}/METADATA"] = _describe(project).encode()
    files[f"{info}/WHEEL"] = _WHEEL.encode()
    files[f"{info}/licenses/LICENSE"] = (_ROOT / "LICENSE").read_bytes()
    files[f"{info}/RECORD"] = _list_digests(files, f"{info}/RECORD").encode()
    with zipfile.ZipFile(os.path.join(folder, name), "w", zipfile.ZIP_DEFLATED) as wheel:
        for path, content in files.items():
            entry = zipfile.ZipInfo(path, _DATE)
            entry.external_attr = 0o100644 << 16
            wheel.writestr(entry, content, zipfile.ZIP_DEFLATED, 9)
    return name


def build_sdist(folder: str, settings: Settings = None) -> str:
    project = _read_project()
    stem = _stem(project)
    own = [_ROOT / file for file in ("pyproject.toml", "build_backend.py", "README.md", "LICENSE")]
    files = {path.relative_to(_ROOT).as_posix(): path.read_bytes() for path in [*own, *_list_sources()]}
    # Neither archive nor compression has a time or an owner: the same sources give the same file.
    with open(os.path.join(folder, f"{stem}.tar.gz"), "wb") as file:
        with gzip.GzipFile("", "wb", 9, file, 0) as packed, tarfile.open(fileobj=packed, mode="w") as archive:
            for path, content in {"PKG-INFO": _describe(project).encode(), **files}.items():
                entry = tarfile.TarInfo(f"{stem}/{path}")
                entry.size = len(content)
                archive.addfile(entry, io.BytesIO(content))
    return f"{stem}.tar.gz"


class _Bundle:
    """All modules as one, in the order in which they need each other: it compresses to two thirds."""

    def __init__(self) -> None:
        self._imports: Set[str] = set()
        self._bodies: Dict[str, str] = {}
        self._owners: Dict[str, str] = {}
        self._public = set(re.findall('"(.+)"', (_PACKAGE / "__init__.py").read_text("utf-8")))

    def write(self, title: str) -> str:
        self._add("__init__")
        first, *others = sorted(self._imports)
        return "\n".join([f'"""{title}."""', first, *others, *self._bodies.values(), ""])

    def _add(self, module: str) -> None:
        source = (_PACKAGE / f"{module}.py").read_text("utf-8")
        lines = source.split("\n")
        unwanted = {number for number, line in enumerate(lines, 1) if line.lstrip().startswith("#")}
        tree = ast.parse(source)
        unwanted.update(_find_inner_notes(tree, self._public))
        for node in tree.body:
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                unwanted.update(range(node.lineno, (node.end_lineno or 0) + 1))
                self._follow(node)
            else:
                self._claim(node, module)
        self._bodies[module] = "\n".join(
            line for number, line in enumerate(lines, 1) if number not in unwanted
        )

    def _follow(self, node: Union[ast.Import, ast.ImportFrom]) -> None:
        if not isinstance(node, ast.ImportFrom) or node.level == 0:
            self._imports.add(ast.unparse(node))
        elif node.module not in self._bodies:
            self._add(str(node.module))

    def _claim(self, node: ast.stmt, module: str) -> None:
        """A name belongs to one module."""
        targets = getattr(node, "targets", [getattr(node, "target", node)])
        for name in (getattr(target, "id", getattr(target, "name", None)) for target in targets):
            if name is not None and self._owners.setdefault(name, module) != module:
                raise ValueError(f"{name} is defined in {self._owners[name]} and in {module}.")


def _find_inner_notes(parent: ast.AST, public: Set[str]) -> Iterator[int]:
    """The lines of docstrings that are not for applications. A body needs something, so some stay."""
    for node in ast.iter_child_nodes(parent):
        name = getattr(node, "name", None)
        if name is None:
            first = getattr(parent, "body", [None])[0]
            is_note = isinstance(node, ast.Expr) and node is first and isinstance(node.value, ast.Constant)
            if is_note and (isinstance(parent, ast.Module) or len(getattr(parent, "body")) > 1):
                yield from range(node.lineno, (node.end_lineno or 0) + 1)
        elif name not in public:
            yield from _find_inner_notes(node, public)
        elif isinstance(node, ast.ClassDef):
            for inner in node.body:
                if getattr(inner, "name", "").startswith("_"):
                    yield from _find_inner_notes(inner, public)


def _list_sources() -> List[Path]:
    return sorted(path for path in _PACKAGE.iterdir() if path.suffix == ".py" or path.name == "py.typed")


def _read_project() -> Dict[str, str]:
    """The texts of the table, and the version. Python can read TOML only since 3.11."""
    text = (_ROOT / "pyproject.toml").read_text("utf-8")
    table = text.split("[project]\n")[1].split("\n[")[0]
    project = dict(re.findall(r'^([\w-]+) = "(.*)"$', table, re.MULTILINE))
    module = (_PACKAGE / "__init__.py").read_text("utf-8")
    return {**project, "version": re.findall('^__version__ = "(.*)"$', module, re.MULTILINE)[0]}


def _stem(project: Mapping[str, str]) -> str:
    return f"{project['name'].replace('-', '_')}-{project['version']}"


def _describe(project: Mapping[str, str]) -> str:
    fields = {
        "Metadata-Version": "2.4",
        "Name": project["name"],
        "Version": project["version"],
        "Summary": project["description"],
        "Requires-Python": project["requires-python"],
        "License-Expression": project["license"],
        "License-File": "LICENSE",
        "Classifier": "Typing :: Typed",
        "Description-Content-Type": "text/markdown",
    }
    head = "".join(f"{name}: {value}\n" for name, value in fields.items())
    return f"{head}\n{project['description']}: `with berth_client.acquire(server, product) as slot:`\n"


def _list_digests(files: Mapping[str, bytes], own_path: str) -> str:
    lines = []
    for path, content in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")
        lines.append(f"{path},sha256={digest},{len(content)}\n")
    return "".join(lines) + f"{own_path},,\n"


if __name__ == "__main__":
    target = _ROOT / "dist"
    target.mkdir(exist_ok=True)
    print(target / build_wheel(str(target)))
