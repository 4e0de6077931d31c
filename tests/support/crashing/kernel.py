"""Linux tells us of every system call of a process that changes something, before it happens (seccomp's notifications).

Unlike patched functions of Python, that sees what Arrow and DuckDB write, in whatever thread, and costs no start of a process.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import platform
import select
import struct
import time
from typing import NamedTuple

_ALLOW, _NOTIFY = 0x7FFF0000, 0x7FC00000
_RECEIVE, _SEND = 0xC0502100, 0xC0182101
_NEW_LISTENER, _WAIT_KILLABLE = 8, 32
_NO_NEW_PRIVILEGES, _SET_FILTER, _GO_ON = 38, 1, 1
_PIDFD_OPEN, _PIDFD_GETFD = 434, 438
_CREATES = os.O_CREAT | os.O_TRUNC
_HERE = 0xFFFFFF9C  # AT_FDCWD

# Where the file is named: by a descriptor, by a path, by a folder and a path, or by the second of two such.
_X86 = {
    "write": (1, "fd"), "pwrite64": (18, "fd"), "writev": (20, "fd"), "pwritev": (296, "fd"), "sendto": (44, "fd"),
    "fsync": (74, "fd"), "fdatasync": (75, "fd"), "ftruncate": (77, "fd"), "copy_file_range": (326, "fd 2"),
    "fchmod": (91, "fd"), "truncate": (76, "path"), "chmod": (90, "path"), "unlink": (87, "path"), "rmdir": (84, "path"),
    "mkdir": (83, "path"), "rename": (82, "path 1"), "link": (86, "path 1"), "symlink": (88, "path 1"),
    "open": (2, "path"), "openat": (257, "at"), "mkdirat": (258, "at"), "unlinkat": (263, "at"), "fchmodat": (268, "at"),
    "renameat": (264, "at 2"), "linkat": (265, "at 2"), "renameat2": (316, "at 2"),
}  # fmt: skip
_ARM = {
    "write": (64, "fd"), "pwrite64": (68, "fd"), "writev": (66, "fd"), "pwritev": (70, "fd"), "sendto": (206, "fd"),
    "fsync": (82, "fd"), "fdatasync": (83, "fd"), "ftruncate": (46, "fd"), "copy_file_range": (285, "fd 2"),
    "fchmod": (52, "fd"), "truncate": (45, "path"), "openat": (56, "at"), "mkdirat": (34, "at"), "unlinkat": (35, "at"),
    "fchmodat": (53, "at"), "renameat": (38, "at 2"), "linkat": (37, "at 2"), "renameat2": (276, "at 2"),
}  # fmt: skip
_CALLS = {"x86_64": _X86, "aarch64": _ARM}.get(platform.machine(), {})
_NAMES = {number: (name, where) for name, (number, where) in _CALLS.items()}


class Call(NamedTuple):
    """A system call that is about to happen."""

    id: int
    name: str
    path: str


class _Instruction(ctypes.Structure):
    _fields_ = (
        ("code", ctypes.c_ushort),
        ("yes", ctypes.c_ubyte),
        ("no", ctypes.c_ubyte),
        ("k", ctypes.c_uint),
    )


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.POINTER(_Instruction)))


def next_descriptor() -> int:
    """The number that the next descriptor of this process will have."""
    found = os.dup(0)
    os.close(found)
    return found


def tell_parent_of_calls() -> None:
    """Have every call of this process from now on wait for whoever listens; its listener is the next descriptor."""
    load, equal, some, end = 0x20, 0x15, 0x45, 0x06
    lines = [(load, 0, 0, 0)]
    opening = [(number, 32 if name == "openat" else 24) for name, (number, _) in _CALLS.items() if name.startswith("open")]  # fmt: skip
    for number, flags in opening:  # only what makes or empties a file
        lines += [(equal, 0, 4, number), (load, 0, 0, flags), (some, 0, 1, _CREATES), (end, 0, 0, _NOTIFY), (end, 0, 0, _ALLOW)]  # fmt: skip
    for name, (number, _) in _CALLS.items():
        if not name.startswith("open"):
            lines += [(equal, 0, 1, number), (end, 0, 0, _NOTIFY)]
    lines.append((end, 0, 0, _ALLOW))
    program = (_Instruction * len(lines))(*[_Instruction(*each) for each in lines])
    asked = _Program(len(lines), program)
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    seccomp = 317 if platform.machine() == "x86_64" else 277
    if libc.syscall(seccomp, _SET_FILTER, _NEW_LISTENER | _WAIT_KILLABLE, ctypes.byref(asked)) < 0:
        raise OSError(ctypes.get_errno(), "no notifications of system calls")


def is_possible() -> bool:
    """Whether this machine can tell: Linux 5.19 or newer, and nobody who forbids it."""
    if not _CALLS or not hasattr(os, "fork"):
        return False
    child = os.fork()
    if not child:
        try:
            tell_parent_of_calls()
        except OSError:
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


class Listener:
    """Hears what a process is about to do."""

    def __init__(self, process: int, descriptor: int) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        pidfd = libc.syscall(_PIDFD_OPEN, process, 0)
        self.descriptor = -1
        for _ in range(3000):
            self.descriptor = libc.syscall(_PIDFD_GETFD, pidfd, descriptor, 0)
            if self.descriptor >= 0:
                break
            time.sleep(0.001)
        os.close(pidfd)
        assert self.descriptor >= 0, "the process has no listener"
        self._poll = select.poll()
        self._poll.register(self.descriptor, select.POLLIN)

    def next(self) -> Call | None:
        """Return the next call, or None when the process has ended."""
        while True:
            if not any(event & select.POLLIN for _, event in self._poll.poll()):
                os.close(self.descriptor)
                return None
            room = bytearray(80)
            try:
                fcntl.ioctl(self.descriptor, _RECEIVE, room)
            except OSError as error:
                if error.errno in (errno.ENOENT, errno.EINTR):  # it was killed meanwhile
                    continue
                raise
            id, process, _, number, _, _, *arguments = struct.unpack("=QIIiIQ6Q", room)
            name, where = _NAMES[number]
            return Call(id, name, _path(process, where, arguments))

    def go_on(self, call: Call) -> None:
        """Let the call happen."""
        try:
            fcntl.ioctl(self.descriptor, _SEND, bytearray(struct.pack("=QqiI", call.id, 0, 0, _GO_ON)))
        except OSError as error:
            if error.errno != errno.ENOENT:
                raise


def _path(process: int, where: str, arguments: list[int]) -> str:
    """Which file a call is about."""
    try:
        kind, _, place = where.partition(" ")
        first = int(place or 0)
        if kind == "fd":
            return os.readlink(f"/proc/{process}/fd/{arguments[first] & 0xFFFFFFFF}")
        folder = f"/proc/{process}/cwd"
        if kind == "at":
            if arguments[first] & 0xFFFFFFFF != _HERE:
                folder = f"/proc/{process}/fd/{arguments[first] & 0xFFFFFFFF}"
            first += 1
        with open(f"/proc/{process}/mem", "rb", 0) as memory:
            found = os.pread(memory.fileno(), 4096, arguments[first]).split(b"\0")[0]
        return os.path.join(os.readlink(folder), os.fsdecode(found))
    except OSError:
        return ""
