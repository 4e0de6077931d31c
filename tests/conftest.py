from __future__ import annotations

import pytest

pytest.register_assert_rewrite(
    "support"
)  # so that its assertions say what they compared, as those of tests do
