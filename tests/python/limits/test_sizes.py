"""Results that no memory holds are refused before work begins, by an error that names the operator and the size."""

from __future__ import annotations

import json
import resource
import subprocess
import sys

import pytest

import lamella as lm

WIDE = "lm.ones([1]).broadcast_to([2**40])"
EXPRESSIONS = {
    "combinations": [
        "lm.combinations(lm.ones([1000]), 100)",
        "lm.combinations(lm.ones([100000]), 3)",
        "lm.combinations(lm.ones([1000]), 100, with_replacement=True)",
        "lm.combinations(lm.ones([2]), 2**62, with_replacement=True)",
        "lm.combinations(lm.ones([1]), 2**50, with_replacement=True)",
    ],
    "cartesian_prod": [
        "lm.cartesian_prod(*[lm.arange(1000)] * 5)",
        "lm.cartesian_prod(*[lm.arange(1000)] * 40)",
        "lm.cartesian_prod(*[lm.arange(1024)] * 3)",
    ],
    "meshgrid": [
        "lm.meshgrid(*[lm.arange(1000)] * 40)",
        "lm.meshgrid(*[lm.arange(1)] * 100000)",
    ],
    "repeat": [
        "lm.repeat(lm.ones([3]), 2**36)",
        "lm.repeat(lm.ones([3]), 2**60)",
        "lm.repeat(lm.ones([1000]), lm.full([1000], 2**40, dtype=lm.int64))",
        "lm.repeat(lm.ones([1000]), lm.full([1000], 2**62, dtype=lm.int64))",
    ],
    "tile": ["lm.tile(lm.ones([3]), (2**36,))", "lm.tile(lm.ones([3, 3]), (2**31, 2**31))"],
    "kron": ["lm.kron(lm.ones([2**20]), lm.ones([2**20]))", f"lm.kron({WIDE}, {WIDE})"],
    "outer": ["lm.outer(lm.ones([2**20]), lm.ones([2**20]))"],
    "pad": ["F.pad(lm.ones([3]), [2**40, 0])", "F.pad(lm.ones([3]), [2**62, 2**62])"],
    "one_hot": [
        "F.one_hot(lm.arange(3), 2**60)",
        "F.one_hot(lm.full([3], 2**60, dtype=lm.int64))",
        "F.one_hot(lm.full([3], 2**63 - 1, dtype=lm.int64))",
    ],
    "bincount": ["lm.bincount(lm.full([3], 2**63 - 1, dtype=lm.int64))", "lm.bincount(lm.arange(3), minlength=2**60)"],
    "arange": ["lm.arange(2**40)", "lm.arange(2**62)", "lm.arange(0, 1e30)", "lm.arange(0, 1, 1e-300)"],
    "linspace": ["lm.linspace(0, 1, 2**40)", "lm.linspace(0, 1, 2**60)"],
    "logspace": ["lm.logspace(0, 1, 2**40)"],
    "vander": ["lm.linalg.vander(lm.ones([3]), N=2**40)", "lm.linalg.vander(lm.ones([3]), N=2**60)"],
    "eye": ["lm.eye(2**20)", "lm.eye(2**40)", "lm.eye(2**62, 2**62)"],
    "nonzero": [f"lm.nonzero({WIDE})", f"lm.argwhere({WIDE})", "lm.nonzero_static(lm.ones([3]), size=2**60)"],
    "unfold": [
        "F.unfold(lm.ones([1, 1]).broadcast_to([1, 1, 20000, 20000]), [300, 300])",
        "F.unfold(lm.ones([1, 1, 3, 3]), [1, 1], padding=2**31)",
        "F.unfold(lm.ones([1, 1, 3, 3]), [2**31, 2**31], padding=2**31)",
    ],
    "histogram": [
        "lm.histc(lm.ones([3]), bins=2**60)",
        "lm.histogram(lm.ones([3]), bins=2**60)",
        "lm.histogramdd(lm.ones([3, 2]), bins=[2**40, 2**40])",
        "lm.histogramdd(lm.ones([3, 10]), bins=1000)",
    ],
    "distances": [
        "lm.pdist(lm.ones([2000000, 1]))",
        "lm.pdist(lm.ones([1, 1]).broadcast_to([2**40, 1]))",
        "lm.cdist(lm.ones([2**20, 1]), lm.ones([2**20, 1]))",
    ],
    "interpolate": [
        "F.interpolate(lm.ones([1, 1, 3]), size=2**60)",
        "F.interpolate(lm.ones([1, 1, 3, 3]), size=[2**20, 2**20], mode='bilinear')",
        "F.interpolate(lm.ones([1, 1, 3, 3]), scale_factor=1e300, mode='bilinear')",
    ],
    "tril_indices": ["lm.tril_indices(2**20, 2**20)", "lm.triu_indices(2**40, 2**40)"],
    "block_diag": ["lm.block_diag(lm.ones([1, 1]).broadcast_to([2**40, 1]), lm.ones([1, 2**20]))"],
    "broadcast": [
        f"{WIDE}.contiguous()",
        "lm.ones([1]).broadcast_to([2**62, 4])",
        "lm.ones([1]).broadcast_to([2**62]) + 1",
        "lm.ones([2**20, 1]) + lm.ones([2**20])",
    ],
    "joined": [
        f"lm.concat([{WIDE}] * 3)",
        "lm.concat([lm.ones([1]).broadcast_to([2**62])] * 3)",
        "lm.stack([lm.ones([1]).broadcast_to([2**62])] * 3)",
        "lm.diag(lm.ones([2**20]))",
        "lm.sliding_window(lm.ones([2**20]), 0, 2**19).contiguous()",
        f"lm.unstack({WIDE})",
        f"lm.chunk({WIDE}, 2**39)",
        f"{WIDE}.tolist()",
    ],
    "products": [
        "lm.matmul(lm.ones([2**20, 1]), lm.ones([1, 2**20]))",
        "lm.einsum('a,b,c->abc', lm.ones([2**20]), lm.ones([2**20]), lm.ones([2**20]))",
        "lm.tensordot(lm.ones([2**20]), lm.ones([2**20]), axes=0)",
        "lm.cov(lm.ones([2**20, 2]))",
        "lm.linalg.svd(lm.ones([1, 1]).broadcast_to([2**20, 2]), full_matrices=True)",
    ],
    "random": [
        "lm.randperm(2**40)",
        "lm.randperm(2**60)",
        "lm.rand([2**40, 2**40])",
        "lm.random.multinomial(lm.ones([3]), 2**60, replacement=True)",
    ],
    "transforms": [
        "lm.fft.fft(lm.ones([3]), n=2**60)",
        "lm.fft.fftfreq(2**60)",
        f"lm.stft({WIDE}, 4)",
        "lm.autograd.jacobian(lambda x: x * x, lm.ones([2**20]))",
        "lm.autograd.jacobian(lambda x: x * x, lm.ones([2**20]), strategy='forward-mode')",
        "lm.autograd.hessian(lambda x: (x * x).sum(), lm.ones([2**20]))",
    ],
    "gathered": [
        "F.embedding(lm.zeros([1], dtype=lm.int64).broadcast_to([2**40]), lm.ones([3, 4]))",
        "lm.ones([3])[lm.zeros([1], dtype=lm.int64).broadcast_to([2**40])]",
        "lm.take(lm.ones([3]), lm.zeros([1], dtype=lm.int64).broadcast_to([2**40]))",
    ],
    "modules": [
        "lm.nn.Linear(2**40, 2**20)",
        "lm.nn.Embedding(2**40, 2**20)",
        "lm.nn.Conv2d(2**20, 2**20, 3)",
        "F.affine_grid(lm.ones([1, 2, 3]), [1, 1, 2**20, 2**20])",
        "F.adaptive_avg_pool1d(lm.ones([1, 1, 3]), 2**40)",
    ],
}

# What each is to say; printed by a process of its own, which must not fill the machine if one of them works after all.
PROGRAM = """
import json, sys, time
import lamella as lm
import lamella.linalg, lamella.fft
from lamella.nn import functional as F
for expression in json.load(sys.stdin):
    begin = time.process_time()
    try:
        eval(expression)
        outcome = ["nothing", ""]
    except Exception as error:
        outcome = [type(error).__name__, str(error)]
    print(json.dumps([expression, *outcome, time.process_time() - begin]), flush=True)
"""


@pytest.mark.parametrize("operator", EXPRESSIONS)
def test_too_large_results_are_refused_at_once(operator):
    limit = 16 << 30  # without it, what the system gives depends on the machine
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        input=json.dumps(EXPRESSIONS[operator]),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
    )
    outcomes = [json.loads(line) for line in run.stdout.splitlines()]
    assert run.returncode == 0 and len(outcomes) == len(EXPRESSIONS[operator]), (run.returncode, outcomes, run.stderr)
    for expression, kind, text, seconds in outcomes:
        assert kind in ("MemoryError", "ValueError"), (expression, kind, text)
        assert text.startswith("[") and any(c.isdigit() for c in text), (expression, text)
        assert seconds < 5, (expression, seconds)


@pytest.mark.parametrize("with_replacement", [False, True])
@pytest.mark.parametrize(("n", "r"), [(0, 0), (0, 2), (1, 1), (1, 3), (4, 2), (4, 4), (5, 3), (3, 5), (6, 1)])
def test_combinations_are_those_of_itertools(n, r, with_replacement):
    import itertools

    function = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    expected = [list(row) for row in function(range(n), r)] if r else []
    assert lm.combinations(lm.arange(n), r, with_replacement=with_replacement).tolist() == expected


def test_a_product_of_many_vectors_is_not_held_up_by_their_number():
    assert lm.cartesian_prod(*[lm.arange(1)] * 3000).shape == (1, 3000)
    x = lm.tensor([1.0, 2.0], stop_gradient=False)
    lm.cartesian_prod(x, x * 3).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [8, 8]
    assert lm.cartesian_prod(lm.arange(3), lm.arange(0), lm.arange(2)).shape == (0, 3)
