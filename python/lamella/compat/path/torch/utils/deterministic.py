"""Settings of deterministic operators."""

from __future__ import annotations

#: Taken as it is set: memory that programs do not set is that of the allocator in any case.
fill_uninitialized_memory = True
