"""The listings of the specification documents on OneFlow's custom operators (000 and 001), run as written.

The documents are not part of the repository. They are looked for in the folder that LAMELLA_SEED_DOCUMENTS names, or
else beside the checkout (../shared/seeds); where they are not, these tests are skipped. The tests in
tests/python/user_op cover the same ground with code of their own.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from lamella import sysconfig
from lamella.compat import HEADERS
from support.documents import fenced, needs_documents

pytestmark = needs_documents("000", "001")

HEADER = '#include "oneflow/core/framework/framework.h"\n'


def run(command, folder, **env):
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600, env=os.environ | env)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def compat(*arguments):
    return [sys.executable, "-m", "lamella.compat", *map(str, arguments)]


def compiled(folder, name, *sources):
    """A library of C++ listings."""
    paths = []
    for k, source in enumerate(sources):
        paths.append(folder / f"{name}_{k}.cpp")
        paths[-1].write_text(source, "utf-8")
    flags = ["-shared", "-fPIC", f"-I{HEADERS}", *sysconfig.get_compile_flags()]
    run(["g++", *map(str, paths), *flags, "-o", f"{name}.so", *sysconfig.get_link_flags()], folder)
    return folder / f"{name}.so"


# --- 001: operators in C++ -------------------------------------------------------------------------------------------

PRINTED = "[-2. -1.  0.  1.  2.]\n[0. 0. 0. 1. 2.]\n"


def test_the_program_on_the_cpu(tmp_path):
    code = fenced("001")
    assert code[7] == PRINTED
    compiled(tmp_path, "final_relu", code[0], code[1])
    (tmp_path / "test.py").write_text(code[6], "utf-8")
    assert run(compat("test.py"), tmp_path) == PRINTED


@pytest.mark.projects
@pytest.mark.skipif(
    shutil.which("nvcc") is None and not Path("/usr/local/cuda/bin/nvcc").exists(), reason="there is no nvcc"
)
def test_the_makefile_with_the_gpu_kernel(tmp_path):
    code = fenced("001")
    names = {0: "myrelu_op.cpp", 1: "myrelu_cpu_kernel.cpp", 2: "myrelu_gpu_kernel.cu", 5: "Makefile", 6: "test.py"}
    for k, name in names.items():
        (tmp_path / name).write_text(code[k], "utf-8")
    nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    run(compat("make"), tmp_path, PATH=os.pathsep.join([os.environ["PATH"], str(Path(nvcc).parent)]))
    assert run(compat("test.py"), tmp_path) == PRINTED
    run(compat("make", "clean"), tmp_path)
    assert not (tmp_path / "final_relu.so").exists()


def test_the_flags_on_the_command_line(tmp_path):
    for line in fenced("001")[4].splitlines():
        assert "lamella" in run(compat("sh", "-c", line), tmp_path)


GRAD_OP = """
#include "oneflow/core/framework/framework.h"
namespace oneflow {
REGISTER_USER_OP("myrelu_grad").Input("y").Input("dy").Output("dx").SetTensorDescInferFn(
    [](user_op::InferContext* ctx) -> Maybe<void> {
      *ctx->Shape4ArgNameAndIndex("dx", 0) = *ctx->Shape4ArgNameAndIndex("dy", 0);
      return Maybe<void>::Ok();
    });
class Kernel final : public user_op::OpKernel {
  void Compute(user_op::KernelComputeContext* ctx) const override {
    const float* y = ctx->Tensor4ArgNameAndIndex("y", 0)->dptr<float>();
    const float* dy = ctx->Tensor4ArgNameAndIndex("dy", 0)->dptr<float>();
    user_op::Tensor* dx = ctx->Tensor4ArgNameAndIndex("dx", 0);
    for (int64_t i = 0; i != dx->shape().elem_cnt(); ++i) dx->mut_dptr<float>()[i] = y[i] > 0 ? dy[i] : 0;
  }
};
REGISTER_USER_KERNEL("myrelu_grad").SetCreateFn<Kernel>();
}
"""

TRAIN = """
import lamella as lm
import oneflow as flow

flow.config.load_library("grad.so")

def myrelu(x):
    op = flow.user_op_builder("op_myrelu").Op("myrelu").Input("in", [x]).Output("out").Build()
    return op.InferAndTryRun().SoleOutputBlob()

w = lm.tensor([2.0, -1.0, 0.5], stop_gradient=False)
before = None
for _ in range(50):
    loss = ((myrelu(w) - lm.tensor([1.0, 1.0, 1.0])) ** 2).sum()
    loss.backward()
    before = before or loss.item()
    w = (w - 0.1 * w.grad).detach()
    w.stop_gradient = False
assert before == 2.25 and abs(loss.item() - 1) < 1e-3, (before, loss.item())
assert w.tolist()[1] == -1
"""


TRAIN_JOB = """
import numpy as np
import oneflow as flow
import oneflow.typing as tp

flow.config.load_library("grad.so")
calls = []

def myrelu(x):
    op = flow.user_op_builder("op_myrelu").Op("myrelu").Input("in", [x]).Output("out").Build()
    return op.InferAndTryRun().SoleOutputBlob()

@flow.global_function(type="train")
def TrainJob(wanted: tp.Numpy.Placeholder((3,), dtype=flow.float32)) -> tp.Numpy:
    calls.append(wanted)
    with flow.scope.placement("cpu", "0:0"):
        w = flow.get_variable("w", (3,), initializer=flow.zeros_initializer())
        loss = flow.math.reduce_sum(flow.math.square(myrelu(w) - wanted))
    flow.optimizer.SGD(flow.optimizer.PiecewiseConstantScheduler([], [0.1]), momentum=0).minimize(loss)
    return loss

@flow.global_function()
def MyJob() -> tp.Numpy:
    return myrelu(flow.get_variable("w", (3,), initializer=flow.zeros_initializer()))

flow.load_variables({"w": np.array([2, -1, 0.5], np.float32)})
losses = [TrainJob(np.ones(3, np.float32))[0] for _ in range(50)]
assert losses[0] == 2.25 and abs(losses[-1] - 1) < 1e-3 and len(calls) == 1, losses
assert np.allclose(MyJob(), [1, 0, 1], atol=1e-3) and flow.get_all_variables()["w"].numpy()[1] == -1
"""


def test_the_gradient_trains(tmp_path):
    code = fenced("001")
    assert "REGISTER_USER_OP_GRAD" in code[19]
    compiled(tmp_path, "grad", code[0], code[1], code[19], GRAD_OP)
    run(compat("-c", TRAIN), tmp_path)
    run(compat("-c", TRAIN_JOB), tmp_path)


def test_fragments_of_registrations_compile_and_load(tmp_path):
    """Listings 10 to 18, each put where it belongs."""
    code = fenced("001")
    infer = (
        ".SetTensorDescInferFn([](user_op::InferContext* ctx) -> Maybe<void> {\n"
        '  *ctx->Shape4ArgNameAndIndex("out", 0) = *ctx->Shape4ArgNameAndIndex(ctx->inputs()[0].first, 0);\n'
        "  return Maybe<void>::Ok(); })"
    )
    # The same name cannot be declared five times in one operator: each line is one of its own.
    inputs = [line for line in code[15].splitlines() if line.startswith(".")]
    assert len(inputs) == 6
    counts = "".join(f'REGISTER_USER_OP("counts{k}"){line}.Output("out"){infer};\n' for k, line in enumerate(inputs))
    source = f"""{HEADER}
    namespace oneflow {{ namespace {{
    using Registry = user_op::OpRegistry;
    Registry& (Registry::*declared)(const std::string&, UserOpAttrType) = &Registry::Attr;
    {code[11]} {infer};
    {code[12]};
    REGISTER_USER_OP("defaults").Input("in").Output("out") {code[13]} {infer};
    REGISTER_USER_OP("conv").Input("in").Output("out") {code[14]} {infer};
    {counts}
    {code[16]}
    REGISTER_USER_OP("XOp").Input("in").Output("out"){infer};
    {code[18].replace("...", 'pBuff[1023] = 1; ctx->Tensor4ArgNameAndIndex("out", 0)->mut_dptr<float>()[0] = 7;')}
    {code[17].rstrip().rstrip(";")}.SetCreateFn<XKernel>();
    }} }}
    """
    library = compiled(tmp_path, "fragments", source)
    code = f"""
import oneflow as flow, lamella as lm
flow.config.load_library({str(library)!r})
info = lm.user_op.op_info("defaults")["attrs"]
assert info == {{"is_transpose": "kAtBool", "size": "kAtInt32", "vector_of_size": "kAtListInt32"}}, info
def use(op, **attrs):
    builder = flow.user_op_builder("u").Op(op).Input("in", [lm.zeros([1])]).Output("out")
    for name, value in attrs.items():
        builder.Attr(name, value)
    return builder.Build().InferAndTryRun().SoleOutputBlob()
assert use("XOp").tolist() == [7]
illegal = "data_format value: NCHW for Conv op is illegal."
for attrs, words in (({{}}, illegal), ({{"data_format": "channels_last"}}, "no kernel")):
    try:
        use("conv", **attrs)
    except (ValueError, NotImplementedError) as error:
        assert words in str(error), error
    else:
        raise AssertionError(words)
x = lm.empty([4, 6], device="meta")
ways = lm.user_op.sbp_signatures("add_n", {{"in": [x, x]}})
assert [way["out", 0] for way in ways] == ["S(0)", "S(1)", "P", "B"]
"""
    run(compat("-c", code), tmp_path)


# --- 000: operators in Python ----------------------------------------------------------------------------------------


def folder_of(tmp_path, declaration, kernel):
    """The folder of document 000, and the program beside it."""
    code = fenced("000")
    folder = tmp_path / "user_relu"
    folder.mkdir()
    (folder / "user_relu_cpp_def.cpp").write_text(declaration, "utf-8")
    (folder / "user_relu_py_api.py").write_text(code[2], "utf-8")
    (folder / "user_relu_py_kernel.py").write_text(kernel, "utf-8")
    return folder


def program():
    return next(text for text in fenced("000") if "custom_op_module" in text and "global_function" in text)


def test_the_program_with_a_python_kernel(tmp_path):
    code = fenced("000")
    assert "py_kernel" in code[0] and "REGISTER_USER_OP" in code[1] and "def forward" in code[4]
    folder_of(tmp_path, code[1], code[4])
    (tmp_path / "test_user_relu.py").write_text(program(), "utf-8")
    printed = run(compat("test_user_relu.py"), tmp_path, LAMELLA_EXTENSIONS_DIR=str(tmp_path / "cache"))
    assert printed.replace("-0.", " 0.").replace("[ 0.  0.  0.", "[0. 0. 0.").split() == PRINTED.split(), printed


def with_backward(right):
    """The declaration with listings 9 and 11, which bind "y" and "x" where the operator has "out" and "in"."""
    code = fenced("000")
    backward, gradient = code[9], code[11]
    assert "user_relu_backward" in backward and "REGISTER_USER_OP_GRAD" in gradient
    if right:
        gradient = gradient.replace('output("y", 0)', 'output("out", 0)').replace(
            'output_grad("y", 0)', 'output_grad("out", 0)'
        )
        gradient = gradient.replace('OpArg("x", 0)', 'OpArg("in", 0)')
    return code[1].replace("}  // namespace\n", backward + gradient + "}  // namespace\n", 1)


def kernels():
    code = fenced("000")
    assert "def backward" in code[10]
    return code[4] + code[10]


GRADIENT = """
import numpy as np
import lamella as lm
import oneflow as flow

op = flow.experimental.custom_op_module("user_relu", ".").py_api().cpp_def().py_kernel().build_load()
x = lm.tensor([-2.0, -1.0, 0.0, 1.0, 2.0], stop_gradient=False)
op.api.user_relu_forward(x).sum().backward()
assert x.grad.tolist() == [0, 0, 0, 1, 1] and x.grad.dtype == lm.float32
"""


GRADIENT_OF_A_JOB = """
import numpy as np
import oneflow as flow
import oneflow.typing as tp

op = flow.experimental.custom_op_module("user_relu", ".").py_api().cpp_def().py_kernel().build_load()
seen = []

@flow.global_function(type="train")
def MyJob() -> tp.Numpy:
    with flow.scope.placement("cpu", "0:0"):
        x = flow.get_variable("x", (5,), initializer=flow.zeros_initializer())
        y = op.api.user_relu_forward(x)
    flow.watch_diff(x, lambda diff: seen.append(diff.numpy().tolist()))
    flow.optimizer.SGD(flow.optimizer.PiecewiseConstantScheduler([], [0.5]), momentum=0).minimize(y)
    return y

flow.load_variables({"x": np.array([-2, -1, 0, 1, 2], np.float32)})
assert MyJob().tolist() == [0, 0, 0, 1, 2] and np.allclose(MyJob(), [0, 0, 0, 0.9, 1.9])
assert seen == [[0, 0, 0, 1, 1]] * 2
"""


def test_the_backward_operator(tmp_path):
    folder_of(tmp_path, with_backward(right=True), kernels())
    for code in (GRADIENT, GRADIENT_OF_A_JOB):
        run(compat("-c", code), tmp_path, LAMELLA_EXTENSIONS_DIR=str(tmp_path / "cache"))


def test_the_gradient_as_the_document_binds_it_is_an_error(tmp_path):
    folder_of(tmp_path, with_backward(right=False), kernels())
    env = os.environ | {"LAMELLA_EXTENSIONS_DIR": str(tmp_path / "cache")}
    done = subprocess.run(compat("-c", GRADIENT), cwd=tmp_path, capture_output=True, text=True, env=env)
    last = done.stderr.strip().splitlines()[-1]
    assert done.returncode == 1 and last.startswith("ValueError: [user_relu_forward]"), done.stderr
    assert "'x'" in last and "inputs are 'in'" in last, last
