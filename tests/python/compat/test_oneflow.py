"""The oneflow front: jobs, placements and builders, in a process of its own."""

import subprocess
import sys
import textwrap

HEADER = """
import numpy as np
import oneflow as flow
import oneflow.typing as tp
from lamella.user_op import numpy_op

def raises(kind, function, *words):
    try:
        function()
    except kind as error:
        missing = [word for word in words if word not in str(error)]
        assert not missing, f"{error} lacks {missing}"
        return
    raise AssertionError(f"{kind.__name__} was not raised")

numpy_op("relu", lambda args: np.maximum(args[0], 0), inputs=["in"], outputs=["out"])

def relu(x):
    op = flow.user_op_builder("r").Op("relu").Input("in", [x]).Output("out").Build()
    return op.InferAndTryRun().SoleOutputBlob()

x = np.array([-2, -1, 0, 1, 2], dtype=np.float32)
"""


def run(code):
    command = [sys.executable, "-m", "lamella.compat", "-c", HEADER + textwrap.dedent(code)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_jobs():
    printed = run("""
        flow.config.gpu_device_num(1)
        config = flow.FunctionConfig()
        config.default_data_type(flow.float)

        @flow.global_function()
        def job(x: tp.Numpy.Placeholder((5,), dtype=flow.float32)) -> tp.Numpy:
            with flow.scope.placement("cpu", "0:0"):
                return relu(x)

        @flow.global_function(type="predict", function_config=config)
        def two(x: tp.Numpy.Placeholder((5,)  , dtype=flow.float32)) -> tuple[tp.Numpy, tp.Numpy]:
            return relu(x), x

        print(job(x))
        assert isinstance(two(x), tuple) and (two(x)[1] == x).all()
        raises(TypeError, lambda: job(x.astype(np.float64)), "[job] argument 'x': expected dtype float32, got float64")
        raises(ValueError, lambda: job(x[:2]), "expected shape (5,), got (2,)")
        raises(TypeError, lambda: job([1]), "expected a numpy array, got list")
        """)
    assert printed == "[0. 0. 0. 1. 2.]\n"


def test_what_jobs_cannot_do():
    run("""
        raises(ValueError, lambda: flow.global_function(type="other"), "'other'")

        def untyped(x) -> tp.Numpy:
            return x
        raises(TypeError, lambda: flow.global_function()(untyped), "argument 'x' needs an annotation")

        @flow.global_function
        def wrong(x: tp.Numpy.Placeholder((5,), dtype=flow.float32)) -> tp.Numpy:
            return [x]
        raises(TypeError, lambda: wrong(x), "[wrong] returns list")
        """)


def test_placements():
    run("""
        def place(*args):
            with flow.scope.placement(*args):
                return relu(flow.Tensor(x))
        assert place("cpu", "0:0").tolist() == [0, 0, 0, 1, 2]
        raises(ValueError, lambda: place("npu", "0:0"), "'npu'")
        raises(ValueError, lambda: place("cpu", "0"), "such as '0:0'")
        raises(NotImplementedError, lambda: place("gpu", "0:0-3"), "one device")
        raises(NotImplementedError, lambda: place("cpu", "1:0"), "machine 0")
        """)


def test_flags():
    printed = run("""
        print(flow.sysconfig.get_include(), flow.sysconfig.get_lib())
        print(" ".join(flow.sysconfig.get_compile_flags()))
        print(" ".join(flow.sysconfig.get_link_flags()))
        """).splitlines()
    assert printed[1].endswith("-std=c++20") and f"-I{printed[0].split()[0]}" in printed[1]
    assert "-llamella" in printed[2]


def test_what_the_front_lacks_says_so():
    run("""
        raises(AttributeError, lambda: flow.nosuch, "Lamella's oneflow front does not have 'oneflow.nosuch'")
        raises(AttributeError, lambda: flow.config.nosuch, "'oneflow.config.nosuch'")
        raises(AttributeError, lambda: flow.optimizer.LAMB, "there are SGD, SGDW, Adam, AdamW and RMSProp")
        raises(AttributeError, lambda: flow.data, "a job is fed numpy arrays")
        raises(AttributeError, lambda: flow.nn.NoSuch, "'oneflow.nn.NoSuch'")
        raises(ImportError, lambda: __import__("oneflow.tensorrt"), "jobs run on Lamella's own operators")
        """)
