"""What is said of errors that nobody foresaw."""

from __future__ import annotations

import pytest

from veil.base.wording import plural
from veil.errors import what_happened


@pytest.mark.parametrize("file", ["/home/ann/veil/clinic/plan.py", "plan.py", "/srv/clinic/plan.py"])
def test_only_places_of_veil_are_told_with_their_folders(file: str) -> None:
    """A folder of somebody else may be named alike, and say more than it should."""
    with pytest.raises(ZeroDivisionError) as raised:
        exec(compile("1 / 0", file, "exec"))
    assert what_happened(raised.value.with_traceback(raised.tb.tb_next)).startswith(
        "ZeroDivisionError in plan.py:1, id "
    )


def test_the_last_place_of_veil_is_told() -> None:
    with pytest.raises(TypeError) as raised:
        plural([], "record", "records")  # type: ignore[arg-type]
    assert what_happened(raised.value).startswith("TypeError in veil/base/wording.py:")
