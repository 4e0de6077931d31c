"""Damages documents: as bytes, as text, as trees, and as what is packed into a zip file. The same seed damages alike."""

from __future__ import annotations

import copy
import io
import json
import random
import re
import struct
import zipfile
from collections.abc import Callable
from typing import Any

ODD_WORDS = [
    *("", " ", "0", "-1", "1e999", "NaN", "-inf", "9" * 5000, "2147483648", "9223372036854775808", "1e-400"),
    *("true", "null", "~", "[]", "{}", "&a *a", "*a", "<<", "!!python/object:os.system", "%s%n", "\\", "\0"),
    *(
        "'",
        '"',
        "<",
        "&",
        "&lolz;",
        "\ud7ff",
        "\u202e",
        "é",
        "\ufeff",
        "\x85",
        "=1+1",
        "/dev/zero",
        "../../x",
    ),
    *("postgres://u:secretpw@nowhere/db", "x" * 20_000, "2026-02-30", "P1Y", "9999-12-31", "kind", "input"),
]
ODD_VALUES: list[Any] = [
    *(
        None,
        True,
        False,
        0,
        -1,
        1.5,
        1e308,
        2**63,
        10**400,
        "",
        "x",
        [],
        {},
        [[]],
        {"a": 1},
        [None],
        {"": None},
    ),
    *(float("nan"), float("inf"), "\0", "kind", ["k"] * 50, {"kind": {"kind": "x"}}, "=x", [{}], -0.0),
]
Damage = Callable[[bytes, random.Random], bytes]


def damage_bytes(content: bytes, chance: random.Random) -> bytes:
    """Flip, cut, double, insert or overwrite some bytes."""
    made = bytearray(content)
    for _ in range(chance.choice([1, 1, 1, 2, 5, 20])):
        if not made:
            break
        at = chance.randrange(len(made))
        length = chance.choice([1, 1, 2, 4, 8, 64, len(made)])
        match chance.randrange(7):
            case 0:
                made[at] ^= 1 << chance.randrange(8)
            case 1:
                del made[at : at + length]
            case 2:
                made[at:at] = made[at : at + length]
            case 3:
                made[at:at] = chance.randbytes(min(length, 64))
            case 4:
                made[at : at + length] = chance.randbytes(min(length, len(made) - at, 64))
            case 5:
                number = chance.choice([0, 1, 0x7F, 0xFF, 0x7FFFFFFF, 0xFFFFFFFF, 2**31])
                made[at : at + 4] = struct.pack("<I", number)
            case 6:
                del made[at:]
    return bytes(made)


_TOKEN = re.compile(r"[\w.+-]+|\s+|[^\w\s]")


def damage_text(content: bytes, chance: random.Random) -> bytes:
    """Replace, drop, double or swap words, signs and spaces; or lines."""
    text = content.decode("utf-8", "replace")
    for _ in range(chance.choice([1, 1, 2, 4])):
        parts = text.splitlines(keepends=True) if chance.random() < 0.3 else _TOKEN.findall(text)
        if not parts:
            break
        at, other = chance.randrange(len(parts)), chance.randrange(len(parts))
        match chance.randrange(5):
            case 0:
                parts[at] = chance.choice(ODD_WORDS)
            case 1:
                del parts[at]
            case 2:
                parts.insert(at, parts[other] * chance.choice([1, 1, 1, 150]))
            case 3:
                parts[at], parts[other] = parts[other], parts[at]
            case 4:
                parts.insert(at, chance.choice(ODD_WORDS))
        text = "".join(parts)
    return text.encode("utf-8", "surrogatepass")


def damage_json(content: bytes, chance: random.Random) -> bytes:
    """Replace, drop, rename, double or nest values."""
    tree = json.loads(content)
    for _ in range(chance.choice([1, 1, 2, 4])):
        tree = _damage_tree(tree, chance)
    return json.dumps(tree).encode()


def _damage_tree(tree: Any, chance: random.Random) -> Any:
    places = list(_places(tree))
    if not places:
        return copy.deepcopy(chance.choice(ODD_VALUES))
    above, key = chance.choice(places)
    match chance.randrange(6):
        case 0 | 1:
            above[key] = copy.deepcopy(chance.choice(ODD_VALUES))  # what is damaged next may be this
        case 2:
            del above[key]
        case 3:
            above[key] = [above[key]] if chance.random() < 0.5 else {"x": above[key]}
        case 4:
            other, place = chance.choice(places)
            above[key] = json.loads(json.dumps(other[place]))
        case 5:
            if isinstance(above, dict):
                above[str(chance.choice([*ODD_WORDS, key + "x"]))[:100]] = above.pop(key)
            else:
                above.append(above[key])
    return tree


def _places(tree: Any) -> Any:
    keys = list(tree) if isinstance(tree, dict) else range(len(tree)) if isinstance(tree, list) else ()
    for key in keys:
        yield tree, key
        yield from _places(tree[key])


def damage_zip(content: bytes, chance: random.Random) -> bytes:
    """Damage one of the packed files and pack it again; or the packed bytes themselves."""
    if chance.random() < 0.3:
        return damage_bytes(content, chance)
    with zipfile.ZipFile(io.BytesIO(content)) as parts:
        held = {name: parts.read(name) for name in parts.namelist()}
    name = chance.choice(list(held))
    how = chance.randrange(6)
    if how == 0:
        del held[name]
    elif how == 1:
        held[name] = b""
    else:
        held[name] = chance.choice([damage_bytes, damage_text, damage_text])(held[name], chance)
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as again:
        for each, inner in held.items():
            again.writestr(zipfile.ZipInfo(each), inner, zipfile.ZIP_DEFLATED)  # without the time of day
    return made.getvalue()
