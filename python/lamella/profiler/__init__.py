"""Where the time of a program goes: by operator, by layer and by line, forward and backward.

::

    with lm.profiler.profile(model) as profile:
        for _ in range(10):
            step(x, target)
    print(profile.table())
    print(profile.table(by="line"))
    profile.save_trace("trace.json")  # for chrome://tracing or ui.perfetto.dev

Outside of such a block nothing is measured, and nothing is slower.
"""

from ._profile import Call, Profile, profile, scope
from ._table import Row, Table

__all__ = ["Call", "Profile", "Row", "Table", "profile", "scope"]
