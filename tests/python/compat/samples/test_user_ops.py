"""Tests in the manner of OneFlow's own; test_samples.py runs them through the front."""

import os
import unittest

import numpy as np
import oneflow as flow
import oneflow.typing as oft
from oneflow.compatible import single_client
from oneflow.compatible.single_client import typing as same_typing

import lamella

assert single_client is flow and same_typing is oft

flow.config.load_library(os.environ["SAMPLES"])
FIXED = flow.FixedTensorDef((5, 2))


def op(name, given, outputs=("out",), index=0, **attrs):
    builder = flow.user_op_builder("my_" + name).Op(name)
    for key, x in given.items():
        builder = builder.Input(key, [x])
    for key in outputs:
        builder = builder.Output(key)
    for key, value in attrs.items():
        builder = builder.Attr(key, value)
    return builder.Build().InferAndTryRun().RemoteBlobList()


def config():
    made = flow.FunctionConfig()
    made.default_data_type(flow.float)
    made.default_logical_view(flow.scope.consistent_view())
    return made


@flow.unittest.skip_unless_1n1d()
class TestSamples(flow.unittest.TestCase):
    def test_relu_of_jobs_in_every_style(self):
        x = np.random.uniform(-1, 1, (5, 2)).astype(np.float32)

        @flow.global_function(function_config=config())
        def annotated(a: oft.Numpy.Placeholder((5, 2))) -> oft.Numpy:
            return op("s_relu", {"in": a})[0]

        @flow.global_function(config())
        def older(a=FIXED):
            return op("s_cpu_relu", {"in": a})[0]

        @flow.global_function(function_config=config())
        def listed(a: oft.ListNumpy.Placeholder((5, 2))) -> oft.ListNumpy:
            return op("s_relu", {"in": a})[0]

        wanted = np.maximum(x, 0)
        self.assertTrue(np.array_equal(annotated(x), wanted))
        self.assertTrue(np.array_equal(older(x).get().numpy(), wanted))
        self.assertTrue(np.array_equal(listed([x[:3, :1]])[0], wanted[:3, :1]))
        seen = []
        older(x).async_get(lambda y: seen.append(y.numpy()))
        self.assertTrue(np.array_equal(seen[0], wanted))
        with self.assertRaisesRegex(ValueError, r"expected a shape within \(5, 2\), got \(6, 2\)"):
            listed([np.zeros((6, 2), np.float32)])

    def test_reshape(self):
        @flow.global_function(function_config=config())
        def job(a: oft.Numpy.Placeholder((10, 2))) -> oft.Numpy:
            return op("s_reshape", {"in": a}, shape=[5, 4])[0]

        x = np.random.rand(10, 2).astype(np.float32)
        self.assertTrue(np.array_equal(job(x), x.reshape(5, 4)))

    def test_the_order_of_outputs(self):
        @flow.global_function(function_config=config())
        def job(a: oft.Numpy.Placeholder((5, 2))):
            return op("s_order", {"in": a}, outputs=("out1", "out2"))

        x = np.random.rand(5, 2).astype(np.float32)
        first, second = (y.numpy() for y in job(x).get())
        self.assertTrue(np.array_equal(first, x))
        self.assertTrue(np.array_equal(second, np.zeros((5, 4), np.float32)))

    def test_sources(self):
        @flow.global_function(function_config=config())
        def job() -> tuple[oft.Numpy, oft.Numpy]:
            with flow.scope.placement("cpu", "0:0"):
                return op("s_source", {})[0], op("s_dynamic", {}, size=3)[0]

        fixed, dynamic = job()
        self.assertTrue(np.array_equal(fixed, np.arange(5.0)))
        self.assertTrue(np.array_equal(dynamic, np.arange(3.0)))
        with self.assertRaisesRegex(ValueError, r"the shape \(6\), which is more than the 5 elements"):
            op("s_dynamic", {}, size=6)
        with self.assertRaisesRegex(RuntimeError, r"'out' has the shape that was inferred.*set_is_dynamic"):
            op("s_dynamic", {}, size=4)

    def test_a_state_goes_on_from_call_to_call(self):
        @flow.global_function(function_config=config())
        def job() -> oft.Numpy:
            with flow.fixed_placement("cpu", "0:0"):
                return op("s_random", {}, seed=0)[0]

        # The numbers of MT19937 with the seed 0, each divided by 2^32.
        self.assertTrue(np.allclose(job(), [0.5488135, 0.5928446, 0.7151894, 0.8442657, 0.6027634]))
        self.assertTrue(np.allclose(job(), [0.8579456, 0.5448832, 0.8472517, 0.4236548, 0.6235637]))

    def test_each_use_in_a_job_has_a_state_for_as_long_as_the_job_lives(self):
        @flow.global_function()
        def job() -> tuple[oft.Numpy, oft.Numpy]:
            return op("s_random", {}, seed=0)[0], op("s_random", {}, seed=0)[0]

        def other() -> oft.Numpy:
            return op("s_random", {}, seed=0)[0]

        first = [0.5488135, 0.5928446, 0.7151894, 0.8442657, 0.6027634]
        one, two = job()
        self.assertTrue(np.allclose(one, first) and np.allclose(two, first))
        again, _ = job()
        self.assertFalse(np.allclose(again, first))
        other.__name__ = "job"
        self.assertTrue(np.allclose(flow.global_function()(other)(), first))
        flow.clear_default_session()
        self.assertTrue(np.allclose(flow.global_function()(other)(), first))

        def use():
            builder = flow.user_op_builder("dropped/use").Op("s_random").Output("out").Attr("seed", 0)
            return builder.Build().InferAndTryRun().SoleOutputBlob().numpy()

        self.assertTrue(np.allclose(use(), first) and not np.allclose(use(), first))
        lamella._C._user_op_drop_states("dropped/")
        self.assertTrue(np.allclose(use(), first))

    def test_gradients_of_a_job_that_trains(self):
        found = {}

        @flow.global_function(type="train", function_config=config())
        def job() -> oft.Numpy:
            initializer = flow.random_uniform_initializer(minval=-10, maxval=10)
            a = flow.get_variable("a", shape=(3, 3), dtype=flow.float, initializer=initializer, trainable=True)
            b = flow.get_variable("b", shape=(3, 3), dtype=flow.float, initializer=initializer, trainable=True)
            loss = op("s_pair", {"x1": a, "x2": b}, outputs=("y",))[0] + op("s_relu", {"in": a})[0]
            flow.optimizer.SGD(flow.optimizer.PiecewiseConstantScheduler([], [1e-4]), momentum=0).minimize(loss)
            for name, blob in (("a", a), ("b", b)):
                flow.watch(blob, lambda x, name=name: found.update({name: x.numpy()}))
                flow.watch_diff(blob, lambda x, name=name: found.update({name + "_diff": x.numpy()}))
            return loss

        loss = job()
        a, b = found["a"], found["b"]
        self.assertTrue(np.array_equal(loss, a + np.maximum(a, 0)))
        self.assertTrue(np.array_equal(found["a_diff"], np.ones((3, 3)) + (a > 0)))
        self.assertTrue(np.array_equal(found["b_diff"], np.full((3, 3), 2.0)))
        # A loss of nine elements counts as their mean.
        after = flow.get_all_variables()
        self.assertTrue(np.allclose(after["a"].numpy(), a - 1e-4 * found["a_diff"] / 9, atol=1e-6))
        self.assertTrue(np.allclose(after["b"].numpy(), b - 1e-4 * 2 / 9, atol=1e-6))

    def test_a_job_that_predicts_records_no_gradients(self):
        @flow.global_function(type="predict")
        def predicts(a: oft.Numpy.Placeholder((2,))) -> oft.Numpy:
            y = op("s_relu", {"in": a})[0]
            flow.optimizer.SGD(flow.optimizer.PiecewiseConstantScheduler([], [0.1])).minimize(y)
            return y

        with self.assertRaisesRegex(RuntimeError, "the job 'predicts' is of the type 'predict'"):
            predicts(np.ones(2, np.float32))

    def test_attributes(self):
        for dtype in (flow.float, flow.double, flow.int8, flow.int32, flow.int64, flow.uint8):
            y = op("s_cast", {"in": flow.Tensor(np.ones((3, 3), np.float32))}, output_type=dtype)[0]
            self.assertEqual((y.dtype, y.shape), (dtype, (3, 3)))
        builder = flow.user_op_builder("lists").Op("s_lists").Input("in", [flow.Tensor(np.ones(2, np.float32))])
        shapes, types = [(4, 4), (6, 6), (8, 8)], [flow.float32, flow.double, flow.int8]
        builder = builder.Output("out", 3).Attr("out_shapes", shapes).Attr("out_types", types)
        ys = builder.Attr("string_list", ["a", "b", "c"]).Build().InferAndTryRun().RemoteBlobList()
        self.assertEqual([(y.shape, y.dtype) for y in ys], list(zip(shapes, types, strict=True)))
        y = op("s_ints", {"in": flow.Tensor(np.ones(2, np.float32))}, int1=4, int2=2)[0]
        self.assertEqual(y.tolist(), [42, 42])

    @flow.unittest.num_nodes_required(2)
    def test_two_nodes(self):
        self.fail("there is one node")


if __name__ == "__main__":
    flow.clear_default_session()
    flow.enable_eager_execution(False)
    assert not flow.eager_execution_enabled()
    unittest.main(verbosity=2)
