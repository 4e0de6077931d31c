"""Paths from users: those that the operating system cannot examine are refused before they are used."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from veil.errors import InputError, VeilError

_LONGEST = 80


def usable(path: str | os.PathLike[str], error: type[VeilError] = InputError) -> Path:
    r"""Return a path, whether it exists or not; refuse one that the system cannot examine.

    >>> usable("no/such/file.csv").name
    'file.csv'
    >>> usable("a\0b.csv")
    Traceback (most recent call last):
    ...
    veil.errors.InputError: a\0b.csv: contains a NUL character, which no path can. Check the path
    """
    result = Path(path)
    try:
        str(result).encode()
        result.stat()
    except (FileNotFoundError, NotADirectoryError):
        return result
    except UnicodeEncodeError:
        raise error(f"{_shorten(result)}: the name is not valid UTF-8. Rename it") from None
    except ValueError:
        raise error(
            f"{_shorten(result)}: contains a NUL character, which no path can. Check the path"
        ) from None
    except OSError as problem:
        raise error(f"{_shorten(result)}: {_reason(problem)}") from None
    return result


def _reason(problem: OSError) -> str:
    if problem.errno == errno.ENAMETOOLONG:
        return "the path is too long for this system. Choose a shorter one"
    if problem.errno == errno.ELOOP:
        return "a symbolic link on the way leads back to itself. Check the path"
    if isinstance(problem, PermissionError):
        return "no permission to look there. Ask its owner, or run as another user"
    return f"cannot be looked at: {problem.strerror or problem}"


def _shorten(path: Path) -> str:
    text = str(path).replace("\0", r"\0").encode(errors="backslashreplace").decode()
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 20]}…{text[-20:]}"
