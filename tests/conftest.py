from __future__ import annotations

import os
import signal
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings

pytest_plugins = ["support.fixtures", "support.engines.fixtures"]

pytest.register_assert_rewrite(
    "support"
)  # so that its assertions say what they compared, as those of tests do

# A shell that runs tests in the background lets them ignore Ctrl-C, which some tests send.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

FEW = 25
"""Examples that a property gets in any case, if it asks for so many."""


def _fewer_examples(settings_class: Any) -> None:
    """Have properties try a third of the examples that they ask for, others in each run.

    `max_examples` says how many it takes to be sure, which is what `VEIL_FUZZ`, set to any number, gets.
    """
    as_asked = settings_class.__init__

    def with_fewer(self: Any, parent: Any = None, **given: Any) -> None:
        if isinstance(asked := given.get("max_examples"), int):
            given["max_examples"] = max(min(asked, FEW), asked // 3)
        as_asked(self, parent, **given)

    settings_class.__init__ = with_fewer


if not os.environ.get("VEIL_FUZZ"):
    _fewer_examples(settings)

# How long an example takes to make or to run says how busy the machine is, not whether the code is right. Settings of a
# test start from these; one that suppresses checks of its own names `too_slow` among them.
settings.register_profile(
    "patient", max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
# Whether a test notices wrong code is known with the first example; to look for the smallest takes minutes.
settings.register_profile(
    "hasty", settings.get_profile("patient"), phases=set(Phase) - {Phase.shrink, Phase.explain}
)
settings.load_profile("hasty" if os.environ.get("VEIL_MUTANTS") else "patient")
