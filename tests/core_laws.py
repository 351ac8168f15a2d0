"""The laws on which everything stands are tried on more examples than the rest."""

from __future__ import annotations

import os

from hypothesis import settings

CORE_LAW = settings(max_examples=1_000 if os.environ.get("HYPOTHESIS_PROFILE") == "ci" else 50)
