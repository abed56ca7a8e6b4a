"""Libraries of operators for tests: compiled once in a session, and loaded."""

import contextlib
import functools
import tempfile
from pathlib import Path

import pytest

import lamella as lm
from lamella.user_op import _build

SOURCES = Path(__file__).parents[1] / "user_op" / "sources"
_kept = tempfile.TemporaryDirectory(prefix="lamella-user-op-")


@contextlib.contextmanager
def cache():
    """Libraries are built in a folder of the session's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LAMELLA_EXTENSIONS_DIR", _kept.name)
        yield


@functools.cache
def built(name):
    """The path of the library made of one of the sources."""
    with cache():
        return _build.library(name, [SOURCES / f"{name}.cpp"])


@functools.cache
def load(name):
    lm.user_op.load_library(built(name))


def use(op, inputs, outputs=None, name="use", **attrs):
    """Calls an operator; its output, or a list of them."""
    builder = lm.user_op.user_op_builder(name).Op(op)
    for key, tensors in inputs.items():
        builder.Input(key, tensors if isinstance(tensors, list) else [tensors])
    for key, count in (outputs or {}).items():
        builder.Output(key, count)
    for key, value in attrs.items():
        builder.Attr(key, value)
    results = builder.Build().InferAndTryRun().RemoteBlobList()
    return results[0] if len(results) == 1 else results
