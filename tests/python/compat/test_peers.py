"""Numbers of the fronts against those that PyTorch and Paddle computed in the same cases, which are in their words.

``peers/references.npz`` holds digests of PyTorch's results, ``references_paddle.npz`` of Paddle's; ``peers/make.py``
and ``make_paddle.py`` make them. What a front shows is Lamella's own but for what its modules write out, so that these
are tests of the native layers, optimizers, distributions and operators, too.
"""

from pathlib import Path

import numpy as np
import pytest

from support import extensions

PEERS = Path(__file__).parent / "peers"
#: The programs, and the files of references.
MAKERS = {"make.py": "references.npz", "make_paddle.py": "references_paddle.npz"}
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


REFERENCES = {maker: read(PEERS / file) for maker, file in MAKERS.items()}
FAMILIES = sorted({(maker, case.partition(".")[0]) for maker, cases in REFERENCES.items() for case in cases})


@pytest.fixture(scope="module")
def ours(tmp_path_factory):
    folder, found = tmp_path_factory.mktemp("peers"), {}
    for maker in MAKERS:
        done = extensions.run("-m", "lamella.compat", PEERS / maker, folder / f"{maker}.npz", cwd=folder)
        assert done.returncode == 0, done.stdout + done.stderr
        found[maker] = read(folder / f"{maker}.npz")
    return found


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
        elif not np.all(np.abs(got - wanted) <= rtol * (wanted[1] + 1e-2)):
            yield f"{case}{result}: {got}, not {wanted}"


@pytest.mark.parametrize("maker", MAKERS)
def test_every_case_has_a_reference(maker, ours):
    assert set(ours[maker]) == set(REFERENCES[maker])
    raised = [case for case, results in REFERENCES[maker].items() if "!" in results]
    assert not raised, "the peer raised where it should not"


@pytest.mark.parametrize(("maker", "family"), FAMILIES)
def test_numbers_are_those_of_the_peer(maker, family, ours):
    cases = {case: each for case, each in REFERENCES[maker].items() if case.partition(".")[0] == family}
    found = [line for case, each in cases.items() for line in differences(case, each, ours[maker].get(case, {}))]
    assert not found, "\n".join(found)
