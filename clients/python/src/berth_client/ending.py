from __future__ import annotations

from typing import TypeVar

_E = TypeVar("_E", bound="Ending")


class Ending:
    """Ends with a `with` block, or with `async with`: then the event loop goes on meanwhile."""

    def _finish(self) -> object:
        raise NotImplementedError

    def __enter__(self: _E) -> _E:
        return self

    def __exit__(self, *_: object) -> None:
        self._finish()

    async def __aenter__(self: _E) -> _E:
        return self

    async def __aexit__(self, *_: object) -> None:
        import asyncio

        await asyncio.get_running_loop().run_in_executor(None, self._finish)
