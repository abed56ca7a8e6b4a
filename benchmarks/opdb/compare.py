"""Calls both libraries on every sample and tells where they part."""

from __future__ import annotations

import argparse
import collections
import dataclasses
import fnmatch
import functools
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from torch.testing._internal.common_methods_invocations import op_db

import lamella as lm
from benchmarks.opdb import calls
from benchmarks.opdb.judged import Finding, judged
from benchmarks.opdb.linalg import PROJECTIONS
from benchmarks.opdb.names import GAUGE, OTHERS, RANDOM
from benchmarks.opdb.results import Result, difference, flat

DTYPES = ("float32", "float64", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool", "complex64",
          "complex128")  # fmt: skip


@dataclasses.dataclass
class Tally:
    """Findings of one operator."""

    samples: int = 0
    gradients: int = 0
    bad: int = 0
    findings: list[Finding] = dataclasses.field(default_factory=list)

    def note(self, kind: str, dtype: str, text: str) -> None:
        self.findings.append(Finding(kind, dtype, text))


def torch_result(value: Any) -> Result:
    """Returns a part of a result of PyTorch's."""
    if not isinstance(value, torch.Tensor):
        return Result(type(value).__name__, np.asarray(value))
    name = str(value.dtype).removeprefix("torch.")
    return Result(name, (value.float() if name == "bfloat16" else value).numpy(force=True))


def our_result(value: Any) -> Result:
    """Returns a part of a result of ours."""
    if not isinstance(value, lm.Tensor):
        return Result(type(value).__name__, np.asarray(value))
    plain = value.detach()
    name = plain.dtype.name
    return Result(name, np.asarray((lm.astype(plain, "float32") if name == "bfloat16" else plain).numpy()))


def described(sample: Any) -> str:
    """Returns a sample in one line."""

    def short(value: Any) -> str:
        if isinstance(value, torch.Tensor):
            return f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)}"
        if isinstance(value, tuple | list):
            return "(" + ", ".join(short(part) for part in value) + ")"
        return str(value)

    parts = [short(sample.input), *(short(value) for value in sample.args)]
    return ", ".join([*parts, *(f"{key}={short(value)}" for key, value in sample.kwargs.items())])[:300]


def leaves(value: Any) -> Iterator[torch.Tensor]:
    """Returns the tensors of an argument that are differentiated."""
    if isinstance(value, torch.Tensor):
        if value.requires_grad:
            yield value
    elif isinstance(value, tuple | list):
        for part in value:
            yield from leaves(part)
    elif isinstance(value, dict):
        yield from leaves(list(value.values()))


def check_sample(op: Any, function: Any, dtype: str, sample: Any, tally: Tally, gradients: bool) -> None:
    """One sample: its values and, where there are any, its gradients."""
    text = described(sample)
    inputs = list({id(x): x for x in leaves([sample.input, list(sample.args), sample.kwargs])}.values())
    try:
        theirs = op(sample.input, *sample.args, **sample.kwargs)
    except Exception:
        return
    tally.samples += 1
    known: dict[int, lm.Tensor] = {}
    try:
        args = calls.translated((sample.input, list(sample.args), dict(sample.kwargs)), known)
        ours = calls.call(op.name, function, *args)
    except Exception as error:
        tally.note(
            f"raises {type(error).__name__}", dtype, f"{text}: {str(error).splitlines()[0] if str(error) else ''}"
        )
        return
    our_parts, their_parts = list(flat(ours)), list(flat(theirs))
    a, b = [our_result(part) for part in our_parts], [torch_result(part) for part in their_parts]
    if op.name in RANDOM or op.name in GAUGE:
        a, b = ([Result(part.dtype, np.zeros(part.values.shape)) for part in side] for side in (a, b))
    if (found := difference(a, b)) is not None:
        tally.note(found.split(":")[0].split(" ")[0], dtype, f"{text}: {found}")
        return
    if gradients and inputs and op.name not in RANDOM | GAUGE:
        project = functools.partial(PROJECTIONS.get(op.name, _whole), sample)
        check_gradients(inputs, known, our_parts, their_parts, project, dtype, text, tally)


def _whole(_sample: Any, _x: torch.Tensor, gradient: np.ndarray) -> np.ndarray:
    return gradient


def check_gradients(
    inputs: list[torch.Tensor],
    known: dict[int, lm.Tensor],
    ours: list[Any],
    theirs: list[Any],
    project: Callable[[torch.Tensor, np.ndarray], np.ndarray],
    dtype: str,
    text: str,
    tally: Tally,
) -> None:
    """Compares the gradients of all results with respect to all inputs."""
    pairs = [(a, b) for a, b in zip(ours, theirs, strict=True) if isinstance(b, torch.Tensor) and b.requires_grad]
    if not pairs:
        return
    if any(not isinstance(a, lm.Tensor) or a.stop_gradient for a, _ in pairs):
        tally.note("no gradient", dtype, text)
        return
    generator = torch.Generator().manual_seed(5)
    directions = [torch.randn(b.shape, dtype=b.dtype, generator=generator) for _, b in pairs]
    try:
        expected = torch.autograd.grad([b for _, b in pairs], inputs, directions, allow_unused=True)
    except Exception:
        return
    tally.gradients += 1
    try:
        found = lm.grad(
            [a for a, _ in pairs], [known[id(x)] for x in inputs], [calls.tensor_of(d) for d in directions],
            allow_unused=True,
        )  # fmt: skip
    except Exception as error:
        tally.note(f"gradient raises {type(error).__name__}", dtype, f"{text}: {str(error).splitlines()[0]}")
        return
    for x, a, b in zip(inputs, found, expected, strict=True):
        zero = np.zeros(tuple(x.shape))
        name = str(x.dtype).removeprefix("torch.")
        mine = Result(name, zero) if a is None else our_result(a)
        other = Result(name, zero) if b is None else torch_result(b)
        mine, other = (Result(part.dtype, project(x, part.values)) for part in (mine, other))
        if (what := difference([mine], [other], 10, 1e-6)) is not None:
            tally.note("gradient " + what.split(":")[0].split(" ")[0], dtype, f"{text}: {what}")
            return


def check_bad_inputs(op: Any, function: Any, tally: Tally) -> None:
    """Checks that arguments which PyTorch refuses are refused."""
    if op.error_inputs_func is None:
        return
    try:
        bad = list(op.error_inputs("cpu"))
    except Exception:
        return
    for one in bad:
        sample = one.sample_input
        try:
            op(sample.input, *sample.args, **sample.kwargs)
            continue
        except Exception as error:
            reason = str(error).splitlines()[0] if str(error) else ""
        tally.bad += 1
        try:
            args = calls.translated((sample.input, list(sample.args), dict(sample.kwargs)), {})
            calls.call(op.name, function, *args)
        except (ValueError, TypeError, IndexError, RuntimeError, NotImplementedError, calls.UntranslatedError):
            continue
        except Exception as error:
            tally.note(f"bad input raises {type(error).__name__}", "", described(sample))
            continue
        tally.note("bad input taken", "", f"{described(sample)}: {reason}")


def check_op(op: Any, function: Any, dtypes: list[str], tally: Tally, gradients: bool, bad: bool) -> None:
    """All samples of one operator."""
    theirs = op.supported_dtypes("cpu")
    for dtype in dtypes:
        kind = getattr(torch, dtype)
        if kind not in theirs:
            continue
        differentiable = gradients and op.supports_autograd and kind in op.supported_backward_dtypes("cpu")
        torch.manual_seed(0)
        try:
            samples = list(op.sample_inputs("cpu", kind, requires_grad=differentiable))
        except Exception:
            continue
        for sample in samples:
            check_sample(op, function, dtype, sample, tally, differentiable)
    if bad:
        check_bad_inputs(op, function, tally)


def report(tallies: dict[str, Tally], missing: list[str], shown: int, everything: bool) -> int:
    """All findings that no judgement explains, those of one kind together, and how many each judgement does.

    Returns how many are not explained.
    """
    explained: collections.Counter[str] = collections.Counter()
    open_findings = 0
    for name, tally in sorted(tallies.items()):
        kinds: dict[str, list[Finding]] = collections.defaultdict(list)
        for finding in tally.findings:
            reason = judged(name, finding)
            if reason is not None:
                explained[reason] += 1
            else:
                open_findings += 1
            if reason is None or everything:
                kinds[finding.kind].append(finding)
        for kind, found in sorted(kinds.items()):
            dtypes = collections.Counter(finding.dtype for finding in found)
            of = ", ".join(f"{dtype} {count}" if dtype else str(count) for dtype, count in dtypes.items())
            print(f"{name}: {kind} [{of}; of {tally.samples}]")
            for finding in found[:shown]:
                print(f"    {finding.dtype}: {finding.text}")
    print("\nexplained:")
    for reason, count in explained.most_common():
        print(f"{count:6} {reason}")
    print(f"\nnot compared: {' '.join(missing)}")
    total = {
        field: sum(getattr(tally, field) for tally in tallies.values()) for field in ("samples", "gradients", "bad")
    }
    counts = f"{total['samples']} samples, {total['gradients']} gradients, {total['bad']} bad inputs"
    findings = f"{explained.total()} findings that are explained, {open_findings} that are not"
    print(f"{len(tallies)} operators, {counts}; {findings}; {len(missing)} operators not compared")
    return open_findings


def main() -> int:
    """Compares, prints, and exits with 1 where something differs that no judgement explains."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="*", help="names of operators, with wildcards")
    parser.add_argument("--dtypes", default=",".join(DTYPES), help="separated by commas")
    parser.add_argument("--no-gradients", action="store_true")
    parser.add_argument("--no-bad-input", action="store_true")
    parser.add_argument("--everything", action="store_true", help="list what is explained, too")
    parser.add_argument("--shown", type=int, default=2, help="samples shown of each finding")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    tallies: dict[str, Tally] = {}
    missing = []
    for op in op_db:
        if not any(fnmatch.fnmatch(op.name, pattern) for pattern in options.only.split(",")):
            continue
        if any(op.name.startswith(name) for name in OTHERS) and not op.name.startswith("__"):
            continue
        function = calls.function_of(op.name, op.variant_test_name)
        if function is None:
            missing.append(op.name)
            continue
        print(f"{op.name} {op.variant_test_name}", file=sys.stderr, flush=True)
        tally = tallies.setdefault(op.name, Tally())
        check_op(op, function, options.dtypes.split(","), tally, not options.no_gradients, not options.no_bad_input)
    return 1 if report(tallies, missing, options.shown, options.everything) else 0


if __name__ == "__main__":
    sys.exit(main())
