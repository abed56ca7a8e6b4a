"""Classes of errors of PyTorch's programs, of the operators' and of Lamella's own, through the front."""

import pytest

from support import extensions

HEAD = """
import copy, multiprocessing, pickle
import torch
import torch.nn.functional as F
from torch import nn

x, y = torch.ones(2, 3), torch.ones(4, 5)
leaf = torch.ones(3, requires_grad=True)
"""

PROGRAMS = {
    "mistakes": """
def twice():
    loss = (leaf * leaf).sum()
    loss.backward()
    loss.backward()

KINDS = {
    RuntimeError: (
        lambda: x @ y, lambda: torch.bmm(x, y), lambda: x + y, lambda: x.clone().add_(y), lambda: x.view(4),
        lambda: x.reshape(-1, 7), lambda: torch.cat([x, y]), lambda: torch.stack([x, y]), twice,
        lambda: (leaf * 2).backward(), lambda: (leaf * 2).backward(torch.ones(4)), lambda: setattr(leaf, "grad", y),
        lambda: x.gather(1, torch.tensor([[9], [9]])), lambda: F.embedding(torch.tensor([1.0]), x), lambda: x.item(),
        lambda: x.expand(4, 3), lambda: x.split([1, 5]), lambda: nn.Linear(4, 2)(x), lambda: nn.Conv2d(4, 2, 3)(x),
        lambda: F.mse_loss(x, y), lambda: torch.zeros(-1), lambda: torch.linalg.inv(x), lambda: bool(x),
        lambda: torch.einsum("ij,jk", x, y), lambda: torch.ones(2, dtype=torch.int64).add_(1.5), lambda: leaf.add_(1),
        lambda: x.repeat(2), lambda: torch.ones(2, 2, 2).t(),
        lambda: torch.utils.data.default_collate([torch.ones(2), torch.ones(3)]),
        lambda: list(torch.utils.data.DataLoader([torch.ones(2), torch.ones(3)], batch_size=2)),
        lambda: torch.ones(3).sum().backward(), lambda: torch.multinomial(torch.zeros(3), 1), lambda: x.to("nowhere"),
        lambda: torch.vdot(x, x), lambda: leaf.vdot(x), lambda: torch.trace(torch.ones(2, 2, 2)),
        lambda: leaf.trace(), lambda: torch.vander(x), lambda: torch.chain_matmul(leaf, leaf), lambda: x.vdot(leaf),
        lambda: torch.chain_matmul(x, leaf), lambda: torch.vdot(leaf, torch.ones(4)), lambda: torch.mv(x, x),
        lambda: nn.Linear(2, 3).load_state_dict({}), lambda: torch.add(x, x, out=torch.ones(2, 3, dtype=torch.int64)),
    ),
    IndexError: (
        lambda: x[5], lambda: x[0, 0, 0], lambda: x.sum(4), lambda: torch.cat([x, x], 5), lambda: x[torch.tensor([7])],
        lambda: x[1.5], lambda: x[torch.tensor([1.0])], lambda: x.transpose(0, 5),
        lambda: F.embedding(torch.tensor([9]), x),
        lambda: x.squeeze(5),
        lambda: F.cross_entropy(x, torch.tensor([0, 5])), lambda: x.index_select(0, torch.tensor([9])),
    ),
    TypeError: (
        lambda: x + "a", lambda: torch.sqrt("a"), lambda: len(torch.tensor(1.0)), lambda: nn.Linear(2, 3, nosuch=1),
        lambda: setattr(x, "data", 3),
    ),
    ValueError: (
        lambda: torch.tensor([[1], [1, 2]]), lambda: torch.optim.SGD([leaf], lr=-1), lambda: nn.Dropout(2),
        lambda: F.cross_entropy(x, torch.tensor([0, 1, 2])), lambda: nn.BatchNorm2d(3)(x),
    ),
    AssertionError: (lambda: nn.MultiheadAttention(5, 2), lambda: nn.TransformerEncoderLayer(6, 4)),
    NotImplementedError: (lambda: torch.ones(2, dtype=torch.int64).mean(), lambda: torch.arange(3).std(),
        lambda: torch.ones(2, dtype=torch.bool) - torch.tensor(True), lambda: nn.Module()(x)),
}
for kind, calls in KINDS.items():
    for place, call in enumerate(calls):
        try:
            call()
        except kind:
            continue
        raise AssertionError(f"{kind.__name__} {place}: nothing was raised")
""",
    "the errors": """
import traceback
import lamella as lm

def error_of(call):
    try:
        call()
    except Exception as error:
        return error

for call, names in ((lambda: x @ y, "RuntimeError"), (lambda: x[9], "IndexError"), (lambda: x & x, "TypeError")):
    error = error_of(call)
    assert type(error).__name__ == names and traceback.format_exception_only(error)[0].startswith(f"{names}: [")
    error.add_note("where")
    for again in (pickle.loads(pickle.dumps(error)), copy.deepcopy(error)):
        assert type(again) is type(error) and again.args == error.args and again.__notes__ == ["where"]
assert isinstance(error_of(lambda: lm.matmul(x, y)), ValueError)  # Lamella's own callers catch what they did before

class Wrong(torch.utils.data.Dataset):
    def __len__(self):
        return 2

    def __getitem__(self, index):
        return x @ y

for workers in (0, 1):
    try:
        next(iter(torch.utils.data.DataLoader(Wrong(), num_workers=workers)))
    except RuntimeError as error:
        assert "inner sizes" in str(error), error
    else:
        raise AssertionError("nothing was raised")
""",
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_errors(program, tmp_path):
    (tmp_path / "program.py").write_text(HEAD + PROGRAMS[program])
    extensions.succeed("-m", "lamella.compat", "program.py", cwd=tmp_path)


def test_natively_the_classes_are_those_of_python(tmp_path):
    code = """
import lamella as lm
for call, kind in ((lambda: lm.ones(2) + lm.ones(3), ValueError), (lambda: lm.ones(2)[5], IndexError)):
    try:
        call()
    except Exception as error:
        assert type(error) is kind, type(error)
"""
    extensions.succeed("-c", code, cwd=tmp_path)


@pytest.mark.parametrize("classes", [(), (ValueError,), (ValueError, TypeError, KeyError), (ValueError, 3, IndexError)])
def test_classes_that_replace_no_error_are_refused(classes):
    from lamella import _C

    with pytest.raises(TypeError, match="raise_errors_as"):
        _C._raise_errors_as(*classes)
