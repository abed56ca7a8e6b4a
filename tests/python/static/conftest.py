"""A program and a scope of the test's own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lamella import static


class Bench:
    """A main and a start-up program that are recorded, a scope, and an executor."""

    def __init__(self) -> None:
        self.main, self.startup, self.scope = static.Program(), static.Program(), static.Scope()
        self.executor = static.Executor(static.CPUPlace())

    def start(self) -> None:
        self.executor.run(self.startup)

    def run(self, feed=None, fetch_list=None, program=None, **options):
        return self.executor.run(program or self.main, feed, fetch_list, **options)

    def declare(self, name, shape, dtype="float32"):
        return self.main.current_block().create_var(name=name, dtype=dtype, shape=shape)

    def array(self, name):
        return self.scope.find_var(name).get_tensor().numpy()


@pytest.fixture
def bench() -> Iterator[Bench]:
    made = Bench()
    with static.unique_name.guard(), static.scope_guard(made.scope), static.program_guard(made.main, made.startup):
        yield made
