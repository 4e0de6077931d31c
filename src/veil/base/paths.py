"""Paths that somebody gives: those that the system cannot even look at are refused, before anybody asks what is there."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from veil.errors import InputError, VeilError

_MOST_SHOWN = 80


def usable(path: str | os.PathLike[str], error: type[VeilError] = InputError) -> Path:
    r"""Return a path, whether something is there or not. What no question about it could be answered for is refused.

    >>> usable("no/such/file.csv").name
    'file.csv'
    >>> usable("a\0b.csv")
    Traceback (most recent call last):
    ...
    veil.errors.InputError: a\0b.csv: contains a NUL character, which no path can. Check the path
    """
    made = Path(path)
    try:
        str(made).encode()
        made.stat()
    except (FileNotFoundError, NotADirectoryError):
        return made
    except UnicodeEncodeError:
        raise error(f"{_shown(made)}: the name is not valid UTF-8. Rename it") from None
    except ValueError:
        raise error(f"{_shown(made)}: contains a NUL character, which no path can. Check the path") from None
    except OSError as problem:
        raise error(f"{_shown(made)}: {_reason(problem)}") from None
    return made


def _reason(problem: OSError) -> str:
    if problem.errno == errno.ENAMETOOLONG:
        return "the path is too long for this system. Choose a shorter one"
    if problem.errno == errno.ELOOP:
        return "a symbolic link on the way leads back to itself. Check the path"
    if isinstance(problem, PermissionError):
        return "no permission to look there. Ask its owner, or run as another user"
    return f"cannot be looked at: {problem.strerror or problem}"


def _shown(path: Path) -> str:
    text = str(path).replace("\0", r"\0").encode(errors="backslashreplace").decode()
    return text if len(text) <= _MOST_SHOWN else f"{text[: _MOST_SHOWN - 20]}…{text[-20:]}"
