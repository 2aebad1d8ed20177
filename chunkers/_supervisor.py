"""Run a program, and end it with all processes that it started: `_supervisor.py CHANNEL PARENT COMMAND ARGUMENT…`.

It is a process of its own, because Linux gives orphans to the nearest ancestor that asks for them: the caller could not
tell them from its own children. It imports little, so that it starts quickly.

`CHANNEL` is a socket, on which it writes a line: 0, or the error number for which the program cannot be started. It
ends the program's descendants when the program ends, when the socket's other end is closed, or when the process
`PARENT` is gone, as after kill -9. Then it exits with the program's exit code (128 and the signal's number after a
signal).
"""

from __future__ import annotations

import ctypes
import os
import select
import sys
import time

# Written out, because importing `signal` takes as long as starting Python.
_SIGKILL, _SIGPIPE, _SIGXFSZ = 9, 13, 25
_PR_SET_CHILD_SUBREAPER = 36

_SECONDS_AT_MOST = 10.0
"""Longest wait for processes that cannot be ended, such as those of another user."""

_SECONDS_BETWEEN = 0.05
"""Pause between two checks that the program has ended, if the system does not notify."""


def main(channel: int, parent: int, command: list[str]) -> None:
    """Start the program, wait for its end or the caller's, and leave none of its processes behind."""
    os.set_inheritable(channel, False)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        # Python ignores these two signals; the program gets their default handling back.
        program = os.posix_spawnp(command[0], command, os.environ, setpgroup=0, setsigdef=[_SIGPIPE, _SIGXFSZ])
    except OSError as error:
        os.write(channel, b"%d\n" % (error.errno or 1))
        return
    # This process closes its copies of the streams, so that the caller sees when the program closes them.
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(nothing, stream)
    os.write(channel, b"0\n")
    # A fork of the caller may hold the channel open.
    caller = [channel, *(_end_of(parent) if os.getppid() == parent else [])]
    ended = _end_of(program)
    code, has_children = None, True
    while code is None and has_children:
        ready, _, _ = select.select([*caller, *ended], [], [], 1 if ended else _SECONDS_BETWEEN)
        code, has_children = _reap(program)
        if any(end in ready for end in caller):
            break
    code = _end_descendants(program, code)
    os._exit(code)


def _end_of(pid: int) -> list[int]:
    """Return a descriptor that becomes readable when a process ends; none if the system offers none."""
    try:
        return [os.pidfd_open(pid)]
    except (AttributeError, OSError):  # not Linux, or one of before 2019
        return []


def _reap(program: int) -> tuple[int | None, bool]:
    """Collect ended children: return the program's exit code if it ended, and whether children are left."""
    code = None
    try:
        while (ended := os.waitpid(-1, os.WNOHANG)) != (0, 0):
            if ended[0] == program:
                result = os.waitstatus_to_exitcode(ended[1])
                code = result if result >= 0 else 128 - result
    except ChildProcessError:
        return code, False
    return code, True


def _end_descendants(program: int, code: int | None) -> int:
    """End all descendants, level by level (orphans become this process's children); return the exit code."""
    if code is None or sys.platform != "linux":
        _kill(-program)
    deadline = time.monotonic() + _SECONDS_AT_MOST
    has_children = True
    while has_children and time.monotonic() < deadline:
        # The system does not reuse a child's number before `_reap` has collected it.
        for child in _children():
            _kill(child)
        ended, has_children = _reap(program)
        code = ended if code is None else code
        time.sleep(0.002 if has_children else 0)
    return 128 + _SIGKILL if code is None else code


def _kill(pid: int) -> None:
    """End a process, or with a negative number a group; skip one that is gone or may not be ended."""
    try:
        os.kill(pid, _SIGKILL)
    except (ProcessLookupError, PermissionError):
        return


def _children() -> list[int]:
    """Return this process's children, the program's orphans included; none if the system is not Linux."""
    here = str(os.getpid()).encode()
    children = []
    for name in os.listdir("/proc") if sys.platform == "linux" else ():  # noqa: PTH208 - `pathlib` imports much
        try:
            with open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123 - the same
                stat = file.read()
        except OSError:  # it is not a process's, or the process is gone
            continue
        # After the command's name, which may hold anything: state, parent.
        if name.isdecimal() and stat.rpartition(b")")[2].split()[1] == here:
            children.append(int(name))
    return children


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
