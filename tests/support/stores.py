"""Stores at a URL that fail: fsspec's memory and local file systems, wrapped."""

import random
import time
from typing import Any

import fsspec
from fsspec.implementations.local import LocalFileSystem
from fsspec.implementations.memory import MemoryFileSystem


class Weather:
    """The faults of a store: the share of calls that fail, that take a moment, and of writes that keep a part only."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Do as told from now on."""
        self.rng = random.Random(1)
        self.failing = self.delaying = self.truncating = 0.0
        self.failures = self.delays = 0

    def strike(self) -> None:
        """Take a moment, and fail, as often as asked."""
        if self.rng.random() < self.delaying:
            self.delays += 1
            time.sleep(self.rng.uniform(0.001, 0.01))
        if self.rng.random() < self.failing:
            self.failures += 1
            raise OSError("503 slow down")

    def cut(self, content: bytes) -> bytes:
        """The content, or a part of it, as often as asked."""
        if self.rng.random() < self.truncating:
            self.failures += 1
            return content[: len(content) // 2]
        return content


WEATHER = Weather()


class _Unsteady:
    @classmethod
    def _strip_protocol(cls, path: Any) -> Any:
        return super()._strip_protocol(str(path).replace(f"{cls.protocol}://", cls.wrapped))  # type: ignore[misc,attr-defined]

    def pipe_file(self, path: str, value: bytes, **options: Any) -> Any:
        WEATHER.strike()
        return super().pipe_file(path, WEATHER.cut(value), **options)  # type: ignore[misc]

    def cat_file(self, path: str, *arguments: Any, **options: Any) -> Any:
        WEATHER.strike()
        return super().cat_file(path, *arguments, **options)  # type: ignore[misc]

    def ls(self, path: str, *arguments: Any, **options: Any) -> Any:
        WEATHER.strike()
        return super().ls(path, *arguments, **options)  # type: ignore[misc]

    def info(self, path: Any, **options: Any) -> Any:
        if isinstance(path, str):  # else the local file system asks itself while it lists a folder
            WEATHER.strike()
        return super().info(path, **options)  # type: ignore[misc]


class UnsteadyMemory(_Unsteady, MemoryFileSystem):
    protocol = "unsteady-memory"
    wrapped = "memory://"


class UnsteadyLocal(_Unsteady, LocalFileSystem):
    protocol = "unsteady-local"
    wrapped = ""


for system in (UnsteadyMemory, UnsteadyLocal):
    fsspec.register_implementation(system.protocol, system, clobber=True)
