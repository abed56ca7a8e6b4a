"""Numbers of the front against those that PyTorch computed in the same cases, which are in PyTorch's words.

``peers/references.npz`` holds digests of PyTorch's results; ``peers/make.py`` says how it is made. What the front shows
is Lamella's own but for what its modules write out, so that these are tests of the native layers, optimizers,
distributions and operators, too.
"""

from pathlib import Path

import numpy as np
import pytest

from support import extensions

PEERS = Path(__file__).parent / "peers"
#: Allowed differences relative to the sum of magnitudes. PyTorch's Muon computes in bfloat16, and its continuous
#: Bernoulli distributions lose digits near a half.
TOLERANCES = {"optim.Muon": 5e-3, "kl.ContinuousBernoulli": 1e-3}
TOLERANCE = 2e-4


def read(path):
    """Returns kinds and digests by the names of results, by case."""
    cases = {}
    with np.load(path) as file:
        names, kinds = (file[each].tobytes().decode().split("\n") for each in ("names", "kinds"))
        for name, kind, digest in zip(names, kinds, file["digests"].astype(np.float64), strict=True):
            case, _, result = name.partition("|")
            cases.setdefault(case, {})[result] = kind, digest
    return cases


REFERENCES = read(PEERS / "references.npz")
FAMILIES = sorted({case.partition(".")[0] for case in REFERENCES})


@pytest.fixture(scope="module")
def ours(tmp_path_factory):
    folder = tmp_path_factory.mktemp("peers")
    done = extensions.run("-m", "lamella.compat", PEERS / "make.py", folder / "ours.npz", cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return read(folder / "ours.npz")


def differences(case, reference, found):
    """Yields what differs in a case."""
    rtol = next((value for start, value in TOLERANCES.items() if case.startswith(start)), TOLERANCE)
    if "!" in found:
        yield f"{case} raises {found['!'][0]}"
        return
    for result in sorted({*reference, *found}):
        if result not in reference or result not in found:
            yield f"{case}{result} is {'missing' if result in reference else 'new'}"
            continue
        (kind, wanted), (own_kind, got) = reference[result], found[result]
        if kind != own_kind:
            yield f"{case}{result}: {own_kind}, not {kind}"
        elif not np.all(np.abs(got - wanted) <= rtol * (wanted[1] + 1e-3)):
            yield f"{case}{result}: {got}, not {wanted}"


def test_every_case_has_a_reference(ours):
    assert set(ours) == set(REFERENCES)
    assert not [case for case, results in REFERENCES.items() if "!" in results], "PyTorch raised where it should not"


@pytest.mark.parametrize("family", FAMILIES)
def test_numbers_are_those_of_pytorch(family, ours):
    cases = {case: each for case, each in REFERENCES.items() if case.partition(".")[0] == family}
    found = [line for case, each in cases.items() for line in differences(case, each, ours.get(case, {}))]
    assert not found, "\n".join(found)
