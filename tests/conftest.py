"""Settings that all tests share."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

_COMMON = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large]}

settings.register_profile("dev", max_examples=50, **_COMMON)
# The same examples every time, so that a run can be repeated; new ones are tried while working, in the dev profile.
settings.register_profile("ci", max_examples=100, derandomize=True, print_blob=True, **_COMMON)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "dev"))

# Commands that are tested for what they say, not for how they run, need not start Spark.
os.environ.setdefault("HEADGATE_ENGINE", "reference")
