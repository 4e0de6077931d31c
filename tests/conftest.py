from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings

pytest.register_assert_rewrite(
    "support"
)  # so that its assertions say what they compared, as those of tests do

# How long an example takes to make or to run says how busy the machine is, not whether the code is right. Settings of a
# test start from these; one that suppresses checks of its own names `too_slow` among them.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")
