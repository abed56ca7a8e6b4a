"""What programs ask operators of ``torch.ops`` for, beside calling them."""

from support import extensions

PROGRAM = """
import copy
import torch


@torch.library.custom_op("described::written", mutates_args=("y",))
def written(x: torch.Tensor, y: torch.Tensor, k: float = 2.0, s: str = "a") -> torch.Tensor:
    return x * k


@torch.library.custom_op("described::pair", mutates_args=())
def pair(x: torch.Tensor, n: int) -> tuple[torch.Tensor, torch.Tensor]:
    return x * n, x + n


WANTED = {
    "written": (True, [("x", False), ("y", False), ("k", True), ("s", True)], [None, None, 2.0, "a"], 1),
    "pair": (False, [("x", False), ("n", False)], [None, None], 2),
}
for name, (mutable, arguments, defaults, count) in WANTED.items():
    packet = getattr(torch.ops.described, name)
    op = packet.default
    schema = op._schema
    assert op.name() == op.name == op._name == f"described::{name}" == schema.name, op.name()
    assert (op.namespace, op._opname, op._overloadname, schema.overload_name) == ("described", name, "default", "")
    assert schema.is_mutable is mutable and len(schema.returns) == count and schema == packet.default._schema
    assert [(each.name, each.has_default_value()) for each in schema.arguments] == arguments
    assert [each.default_value for each in schema.arguments] == defaults
    assert [str(each.type) for each in schema.returns] == ["Tensor"] * count
    assert str(schema).startswith(f"described::{name}(Tensor x, ") and copy.deepcopy(op) is op
    assert op.overloadpacket._qualified_op_name == f"described::{name}" and isinstance(op.tags, list)
assert torch.ops.described.written.default._schema.arguments[1].alias_info.is_write
assert 's="a"' in str(torch.ops.described.written.default._schema)

aten = torch.ops.aten
op = aten.add.Tensor
assert (op.name(), op._name, op._opname, op._overloadname) == ("aten::add.Tensor", "aten::add.Tensor", "add", "Tensor")
assert (op.namespace, op.__module__) == ("aten", "torch._ops.aten")
assert (str(op), str(aten.add)) == ("aten.add.Tensor", "aten.add")
assert op.overloadpacket is aten.add and op is aten.add.Tensor and copy.deepcopy(op) is op
assert copy.deepcopy({aten.add: 1})[aten.add] == 1 and aten.add._qualified_op_name == "aten::add"
assert set(aten.add.overloads()) == {"default", "Tensor"} and op.op is torch.add
assert [each.name for each in op._schema.arguments] == ["self", "other", "alpha"]
assert (op._schema.name, op._schema.overload_name, op._schema.is_mutable) == ("aten::add", "Tensor", False)
assert [each.name for each in aten.mm.default._schema.arguments] == ["self", "mat2"]
assert aten.relu_.default._schema.is_mutable and not hasattr(aten.mm, "_nosuch")
try:
    aten.nosuch.default._schema
except NotImplementedError as error:
    assert "nosuch" in str(error)
else:
    raise AssertionError
"""


def test_operators_are_described(tmp_path):
    extensions.write(tmp_path, {"program.py": PROGRAM})
    extensions.succeed("-m", "lamella.compat", "program.py", cwd=tmp_path)
