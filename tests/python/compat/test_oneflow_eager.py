"""The oneflow front: the eager interface, where it is not PyTorch's."""

import re
import textwrap
from pathlib import Path

from .test_oneflow import run

EAGER = """
from oneflow import nn, optim
from oneflow.nn import functional as F
from oneflow.optim.lr_scheduler import *

def close(got, wanted, tolerance=1e-5):
    got = got.numpy() if isinstance(got, flow.Tensor) else np.asarray(got)
    wanted = np.asarray(wanted)
    assert got.shape == wanted.shape and np.allclose(got, wanted, tolerance, tolerance), (got, wanted)
"""


def eager(code):
    return run(EAGER + textwrap.dedent(code))


def test_a_network_is_defined_trained_and_saved(tmp_path):
    eager(f"""
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.layers = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(16, 3))

            def forward(self, x):
                return self.layers(x)

        flow.manual_seed(0)
        images, labels = flow.randn(12, 1, 4, 4), flow.arange(12) % 3
        net = Net()
        optimizer = optim.SGD(net.parameters(), lr=0.2, momentum=0.9)
        loss_of = nn.CrossEntropyLoss()
        losses = []
        for _ in range(30):
            loss = loss_of(net(images), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        assert losses[-1] < 0.2 * losses[0], losses
        flow.save(net.state_dict(), {str(tmp_path / "net")!r})
        other = Net()
        other.load_state_dict(flow.load({str(tmp_path / "net")!r}))
        close(other(images), net(images).numpy())
        assert isinstance(net(images), flow.Tensor)
        import oneflow.nn.modules.loss
        from oneflow.utils.data import DataLoader, TensorDataset
        assert len(list(DataLoader(TensorDataset(images, labels), batch_size=5))) == 3
        """)


def test_programs_of_jobs_and_operators_do_not_load_the_eager_interface():
    run("""
        import sys
        from oneflow import typing, scope, optimizer
        assert "torch" not in sys.modules and "oneflow._eager" not in sys.modules
        raises(AttributeError, lambda: flow.sbp.nosuch, "'oneflow.sbp.nosuch'")
        from oneflow.nn import functional
        import oneflow.optim.lr_scheduler, oneflow.nn.utils.rnn
        assert "torch" in sys.modules and functional is flow.nn.functional
        assert flow.optim is sys.modules["oneflow.optim"] and flow.optim.lr_scheduler.WarmupLR
        raises(ImportError, lambda: __import__("oneflow.nn.nosuch"), "'oneflow.nn.nosuch'")
        raises(AttributeError, lambda: functional.nosuch, "'oneflow.nn.functional.nosuch'")
        assert "LAMB" in dir(flow.optim) and "ASGD" in dir(flow.optim)
        """)


def test_functions_that_jobs_have_too_take_both_forms():
    eager("""
        a = np.arange(6, dtype=np.float32).reshape(2, 3)
        x = flow.tensor(a)
        close(flow.transpose(x, 0, 1), a.T)
        close(flow.transpose(x, perm=[1, 0]), a.T)
        close(flow.transpose(x), a.T)
        close(flow.gather(x, 1, flow.tensor([[0], [2]])), [[0], [5]])
        close(flow.gather(x, flow.tensor([1]), axis=0), a[[1]])
        close(flow.stack([x, x], dim=1), np.stack([a, a], 1))
        close(flow.stack([x, x], 1), np.stack([a, a], 1))
        close(flow.concat([x, x], dim=1), np.concatenate([a, a], 1))
        close(flow.cat([x, x], dim=1), np.concatenate([a, a], 1))
        close(flow.squeeze(x.unsqueeze(0), dim=0), a)
        close(flow.squeeze(x.unsqueeze(0), axis=[0]), a)
        close(flow.slice(x, [[None, None, None], [0, 3, 2]]), a[:, ::2])
        close(flow.slice(x, slice_tup_list=[[0, 1, 1]]), a[:1])
        close(flow.slice(x, [0, 1], [1, 2]), a[:1, 1:])
        assert flow.zeros_like(x, requires_grad=True).requires_grad
        raises(TypeError, lambda: flow.stack(), "tensors")
        raises(ValueError, lambda: flow.slice(x, [[0, 1]]), "[slice]", "(start, stop, step)")
        """)


def test_dtypes_and_sizes_are_printed_as_oneflows():
    eager("""
        x = flow.tensor([[1.0, 2.0]])
        for printed, wanted in [
            (x, "tensor([[1., 2.]], dtype=oneflow.float32)"),
            (flow.tensor([1, 2]), "tensor([1, 2], dtype=oneflow.int64)"),
            (x.to(flow.float64), "tensor([[1., 2.]], dtype=oneflow.float64)"),
            (flow.ones(2, requires_grad=True), "tensor([1., 1.], dtype=oneflow.float32, requires_grad=True)"),
            (x.shape, "oneflow.Size([1, 2])"),
            (x.dtype, "oneflow.float32"),
            ([flow.int8], "[oneflow.int8]"),
        ]:
            assert str(printed) == wanted, printed
        """)


def test_values_that_differ_from_those_of_pytorch():
    eager("""
        inputs = flow.tensor([-0.9021705, 0.08798598, 1.04686249])
        targets = flow.tensor([1.22386942, -0.89729659, 0.01615712])
        expected = np.array([1.35139, 0.0, -0.0835743])
        close(F.kl_div(inputs, targets, reduction="none"), expected, 1e-4)
        close(nn.KLDivLoss("sum")(inputs, targets), expected.sum(), 1e-4)
        close(nn.KLDivLoss()(inputs, targets), expected.mean(), 1e-4)
        close(nn.KLDivLoss("none", True)(inputs, targets), np.exp(targets.numpy()) * (targets - inputs).numpy())
        raises(ValueError, lambda: F.kl_div(inputs, targets, reduction="none of them"), "[kl_div] reduction")

        b = flow.arange(9, dtype=flow.float).reshape(3, 3) - 4
        close(flow.norm(b, float("inf")), 9.0)
        close(b.norm(float("inf")), 9.0)
        close(flow.norm(b), np.sqrt(60.0))

        x, other = flow.tensor([1.0, 2.0, 3.0]), flow.zeros(3)
        close(flow.where(flow.tensor([1, 0, 2]), x, other), [1, 0, 3])
        close(flow.tensor([1.0, 0.0, 2.0]).where(x, other), [1, 0, 3])
        close(x.masked_fill(flow.tensor([1, 0, 0]), 7), [7, 2, 3])
        close(flow.masked_select(x, flow.tensor([1.0, 0.0, 1.0])), [1, 3])
        close(x.masked_select(x > 1), [2, 3])
        close(flow.tensor([1.0], requires_grad=True).numpy(), [1.0])
        assert flow.randint_like(x, 0, 5).dtype == flow.int64
        for draw in (flow.rand_like, flow.randn_like, lambda x, **k: flow.randint_like(x, 0, 10**6, **k)):
            one, two = (draw(x, generator=flow.Generator().manual_seed(1)) for _ in range(2))
            close(one, two.numpy())
        assert flow.unique(flow.tensor([3, 3]), return_counts=True)[1].dtype == flow.int32
        x.copy_(np.array([4.0, 5.0, 6.0]))
        close(x, [4, 5, 6])
        assert not x.is_global and x.is_local

        flow.set_default_dtype(flow.float64)
        made = [flow.ones(2), flow.rand(2), flow.linspace(0, 1, 3), flow.Tensor([1.5])]
        flow.set_default_dtype(flow.float32)
        assert [each.dtype for each in made] == [flow.float64] * 4 and flow.ones(2).dtype == flow.float32
        """)


def test_reductions_are_the_first_parameter_of_losses():
    eager("""
        x, y = flow.tensor([[0.2, 0.7], [0.9, 0.3]]), flow.tensor([[0.0, 1.0], [1.0, 0.0]])
        for kind in (nn.MSELoss, nn.L1Loss, nn.SmoothL1Loss, nn.KLDivLoss):
            close(kind("sum")(x, y), kind("none")(x, y).sum().numpy())
            close(kind()(x, y), kind("none")(x, y).mean().numpy())
        for kind in (nn.BCELoss, nn.BCEWithLogitsLoss):
            close(kind(None, "sum")(x, y), kind(None, "none")(x, y).sum().numpy())
        classes = flow.tensor([1, 0])
        close(nn.CrossEntropyLoss(None, 0, "sum")(x, classes), F.cross_entropy(x[:1], classes[:1]).numpy())
        close(nn.NLLLoss(None, 0, "sum")(x, classes), -0.7)
        """)


def test_functions_and_layers_of_its_own():
    eager("""
        x = flow.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]], requires_grad=True)
        a = x.numpy()
        close(flow.gather_nd(x, flow.tensor([[0], [2]])), a[[0, 2]])
        close(flow.gather_nd(x, flow.tensor([[0, 2], [2, 1]])), [3, 8])
        close(flow.batch_gather(x, flow.tensor([[2], [0], [1]])), [[3], [4], [8]])
        close(flow.scatter_nd(flow.tensor([[1], [4]]), flow.tensor([2.0, 3.0]), [6]), [0, 2, 0, 0, 3, 0])
        close(flow.tensor_scatter_nd_update(flow.arange(4), flow.tensor([[1]]), flow.tensor([-1])), [0, -1, 2, 3])
        close(flow.slice_update(flow.ones(5), flow.tensor([2.0, 3.0]), [[1, 5, 2]]), [1, 2, 1, 3, 1])
        close(flow.broadcast_like(flow.ones(3), flow.ones(3, 2, 4), [1, 2]), np.ones((3, 2, 4)))
        close(flow.in_top_k(flow.tensor([3, 1]), flow.tensor([[0.0, 1, 2, 3], [3.0, 2, 1, 0]]), 1), [True, False])
        close(flow.roc_auc_score(flow.Tensor([0, 0, 1, 1]), flow.Tensor([0.1, 0.4, 0.35, 0.8])), [0.75])
        close(flow.roc_auc_score(flow.Tensor([0, 1]), flow.Tensor([0.5, 0.5])), [0.5])
        raises(ValueError, lambda: flow.roc_auc_score(flow.ones(2), flow.ones(2)), "[roc_auc_score]")
        close(nn.QuickGELU()(x), a / (1 + np.exp(-1.702 * a)))
        close(nn.SquareReLU()(flow.tensor([-1.0, 3.0])), [0, 9])
        close(F.sparse_softmax_cross_entropy(labels=flow.tensor([0, 1, 2]), logits=x),
              -np.diag(a - np.log(np.exp(a).sum(1, keepdims=True))), 1e-4)
        cosines = flow.tensor([[-0.7027179, 0.0230609], [-0.02721931, -0.16056311]], requires_grad=True)
        found = nn.CombinedMarginLoss(0.3, 0.5, 0.4)(cosines, flow.tensor([0, 1]))
        close(found, [[-0.0423, 0.0231], [-0.0272, 0.1237]], 1e-3)
        found.sum().backward()
        assert np.isfinite(cosines.grad.numpy()).all() and cosines.grad[0, 1].item() == 1
        close(F.dropout(flow.ones(3), 0.0, addend=flow.ones(3)), [2, 2, 2])
        one, two = (F.dropout(flow.ones(50), 0.5, generator=flow.Generator().manual_seed(3)) for _ in range(2))
        close(one, two.numpy())
        pixels = nn.PixelShuffle(h_upscale_factor=2, w_upscale_factor=1)(flow.arange(8).reshape(1, 2, 2, 2))
        close(pixels, [[[[0, 1], [4, 5], [2, 3], [6, 7]]]])
        mlp = nn.FusedMLP(3, [4], 2, skip_final_activation=True)
        hidden = np.maximum(a @ mlp.weight_0.numpy().T + mlp.bias_0.numpy(), 0)
        close(mlp(x), hidden @ mlp.weight_1.numpy().T + mlp.bias_1.numpy(), 1e-4)
        close(flow._C.relu(flow.tensor([-1.0, 1.0])), [0, 1])
        scores = flow.tensor(np.eye(3)[[0, 0, 2, 0, 1]][:, None].astype(np.float32))
        decoded, sums = F.ctc_greedy_decoder(scores, flow.tensor([5]))
        close(decoded, [[0, 0, 1, 0, 0]])
        close(sums, [[-5]])
        """)


def test_optimizers_make_the_steps_of_their_formulas():
    eager("""
        gradients = np.random.default_rng(0).normal(size=(4, 5)).astype(np.float32)
        first = np.linspace(-1, 1, 5).astype(np.float32)

        def steps(make, **options):
            x = nn.Parameter(flow.tensor(first))
            optimizer = make([{"params": [x], **options}])
            for gradient in gradients:
                x.grad = flow.tensor(gradient)
                optimizer.clip_grad()
                optimizer.step()
            return x

        def rmsprop(momentum, centered, decay):
            x, r, g, v = first, 0.0, 0.0, 0.0
            for gradient in gradients:
                gradient = gradient + decay * x
                r = 0.9 * r + 0.1 * gradient**2
                g = 0.9 * g + 0.1 * gradient if centered else 0.0
                v = momentum * v + 0.01 / np.sqrt(r - g * g + 0.3) * gradient
                x = x - v
            return x

        for momentum, centered, decay in ((0.0, False, 0.0), (0.9, True, 0.1), (0.9, False, 0.0), (0.0, True, 0.0)):
            made = steps(lambda p: optim.RMSprop(p, 0.01, 0.9, 0.3, decay, momentum, centered))
            close(made, rmsprop(momentum, centered, decay))

        def adam(corrects, decay=0.0, lamb=False, l2=0.0):
            x, m, v = first, 0.0, 0.0
            for t, gradient in enumerate(gradients, 1):
                gradient = gradient + l2 * x
                m, v = 0.9 * m + 0.1 * gradient, 0.999 * v + 0.001 * gradient**2
                b, c = (1 - 0.9**t, 1 - 0.999**t) if corrects else (1, 1)
                d = m / b / (np.sqrt(v / c) + 1e-8)
                ratio = np.linalg.norm(x) / np.linalg.norm(d) if lamb else 1.0
                x = x - 0.01 * ratio * (d + decay * x)
            return x

        close(steps(lambda p: optim.Adam(p, 0.01)), adam(True))
        close(steps(lambda p: optim.Adam(p, 0.01, do_bias_correction=False)), adam(False))
        close(steps(lambda p: optim.AdamW(p, 0.01)), adam(True))
        close(steps(lambda p: optim.AdamW(p, 0.01, weight_decay=0.1, do_bias_correction=False)), adam(False, 0.1))
        close(steps(lambda p: optim.LAMB(p, 0.01, weight_decay=0.1)), adam(True, 0.1, True))
        close(steps(lambda p: optim.LAMB(p, 0.01, weight_decay=0.1, adam_w_mode=False)), adam(True, 0, True, 0.1))
        close(steps(lambda p: optim.LAMB(p, 0.01, do_bias_correction=False)), adam(False, 0, True))
        raises(NotImplementedError, lambda: optim.LAMB([nn.Parameter(flow.ones(1))], amsgrad=True), "[LAMB]")

        clipped = gradients / np.maximum(np.linalg.norm(gradients, axis=1, keepdims=True) / 0.5, 1)
        made = steps(lambda p: optim.SGD(p, 0.1), clip_grad_max_norm=0.5, clip_grad_norm_type=2.0)
        close(made, first - 0.1 * clipped.sum(0), 1e-4)
        x = nn.Parameter(flow.ones(2))
        x.grad = flow.tensor([3.0, float("inf")])
        nn.utils.clip_grad_norm_([x], 1.0, "inf", True)  # the fourth is `fused`
        one = [nn.Parameter(flow.ones(1))]
        for kind in (optim.Adagrad, optim.LBFGS, optim.RMSprop, optim.SGD):
            assert kind(one).defaults["lr"] == 0.001
        assert optim.AdamW(one, contiguous_params=True).defaults["weight_decay"] == 0
        """)


def test_schedules_have_the_rates_of_their_formulas():
    eager("""
        def rates(make, count=8):
            optimizer = optim.SGD([nn.Parameter(flow.ones(1))], lr=0.1)
            schedule, found = make(optimizer), []
            for _ in range(count):
                found.append(schedule.get_last_lr()[0])
                assert optimizer.param_groups[0]["lr"] == found[-1]
                schedule.step()
            return found

        cos = lambda part: 0.5 * (1 + np.cos(np.pi * part))
        t = np.arange(8)
        close(rates(lambda o: CosineDecayLR(o, 5, 0.1)), 0.1 * (0.9 * cos(np.minimum(t / 5, 1)) + 0.1))
        close(rates(lambda o: CosineAnnealingLR(o, 5, 0.01)), 0.01 + 0.09 * cos(t / 5))
        close(rates(lambda o: PolynomialLR(o, 5, 0.01, 2.0)), 0.09 * (1 - np.minimum(t, 5) / 5) ** 2 + 0.01)
        totals = np.array([5, 5, 5, 5, 5, 5, 10, 10])
        close(rates(lambda o: PolynomialLR(o, 5, 0.01, 2.0, True)), 0.09 * (1 - np.maximum(t, 1) / totals) ** 2 + 0.01)
        close(rates(lambda o: StepLR(o, step_size=3, gamma=0.5)), 0.1 * 0.5 ** (t // 3))
        close(rates(lambda o: MultiStepLR(o, [2, 5])), 0.1 * 0.1 ** ((t >= 2) * 1 + (t >= 5)))
        close(rates(lambda o: ConstantLR(o, 0.5, 3)), np.where(t < 3, 0.05, 0.1))
        close(rates(lambda o: LinearLR(o, 0.5, total_iters=4)), 0.1 * (0.5 + 0.5 * np.minimum(t / 4, 1)))
        close(rates(lambda o: LambdaLR(o, lambda step: 0.9**step)), 0.1 * 0.9**t)
        close(rates(lambda o: MultiplicativeLR(o, lambda step: 0.9)), 0.1 * 0.9**t)
        close(rates(lambda o: ChainedScheduler([StepLR(o, 3), ExponentialLR(o, 0.9)])), 0.1 ** (1 + t // 3) * 0.9**t)
        close(rates(lambda o: CosineAnnealingWarmRestarts(o, 2, 2, 0.01, 0.5, 2)),
              [0.1, 0.055, 0.05, 0.01 + 0.04 * cos(0.25), 0.03, 0.01 + 0.04 * cos(0.75), 0.01, 0.01])
        warm = np.minimum(0.5 + 0.5 * t / 4, 1)
        close(rates(lambda o: WarmupLR(o, 0.5, 4)), 0.1 * warm)
        close(rates(lambda o: WarmUpLR(o, 0.5, 4, "constant")), np.where(t < 4, 0.05, 0.1))
        rest = 0.1 * 0.9**t
        close(rates(lambda o: WarmupLR(ExponentialLR(o, 0.9), 0.5, 4)),
              np.where(t < 4, 0.1 * (0.5 + (0.9**4 - 0.5) * t / 4), rest))
        close(rates(lambda o: WarmupLR(ExponentialLR(o, 0.9), 0.5, 4, warmup_prefix=True)),
              np.where(t < 4, 0.1 * warm, 0.1 * 0.9 ** (t - 4)))
        close(rates(lambda o: SequentialLR(o, [ConstantLR(o, 0.1, 2), ExponentialLR(o, 0.9)], [2])),
              np.where(t < 2, 0.01, rest))

        class Own(LRScheduler):
            def get_lr(self, base_lr, step):
                return base_lr / (1 + step)

        close(rates(Own), 0.1 / (1 + t))
        from oneflow.nn.optimizer.lr_scheduler import StepLR as by_another_path
        assert by_another_path is StepLR
        optimizer = optim.SGD([nn.Parameter(flow.ones(1))], lr=0.1)
        one, two = StepLR(optimizer, 2), StepLR(optimizer, 2)
        for _ in range(3):
            one.step()
        two.load_state_dict(one.state_dict())
        two.step()
        close(two.get_last_lr(), [0.001])
        raises(TypeError, lambda: StepLR(optimizer), "[StepLR] missing the argument 'step_size'")
        raises(TypeError, lambda: StepLR(optimizer, 2, gama=3), "'gama'")
        raises(TypeError, lambda: StepLR(3, 2), "expected an Optimizer, not int")
        raises(ValueError, lambda: WarmupLR(optimizer, warmup_method="slow"), "'slow'")
        """)


def test_graphs_run_build_and_step():
    eager("""
        def net():
            made = nn.Linear(2, 1)
            nn.init.constant_(made.weight, 0.5)
            nn.init.constant_(made.bias, 0.0)
            return made

        class Train(nn.Graph):
            def __init__(self, model, optimizer, schedule):
                super().__init__()
                self.model = model
                self.config.enable_amp(False)
                self.add_optimizer(optimizer, lr_sch=schedule)

            def build(self, x, y):
                loss = ((self.model(x) - y) ** 2).mean()
                loss.backward()
                return loss

        class Predict(nn.Graph):
            def __init__(self, model):
                super().__init__()
                self.model = model

            def build(self, x):
                return self.model(x)

        x, y = flow.randn(8, 2), flow.randn(8, 1)
        one, two = net(), net()
        options = {"lr": 0.1, "momentum": 0.9}
        groups = [{"params": one.parameters(), "clip_grad_max_norm": 0.5, "clip_grad_norm_type": 2.0}]
        first = optim.SGD(groups, **options)
        train = Train(one, first, StepLR(first, 2))
        second = optim.SGD(two.parameters(), **options)
        schedule = StepLR(second, 2)
        for _ in range(5):
            loss = train(x, y)
            second.zero_grad()
            wanted = ((two(x) - y) ** 2).mean()
            wanted.backward()
            nn.utils.clip_grad_norm_(two.parameters(), 0.5)
            second.step()
            schedule.step()
            close(loss, wanted.numpy())
        close(one.weight, two.weight.numpy())
        predicted = Predict(one)(x)
        assert not predicted.requires_grad
        close(predicted, two(x).numpy())
        other = Predict(net())
        other.load_state_dict(train.state_dict())
        close(other(x), predicted.numpy())
        raises(KeyError, lambda: other.load_state_dict({}), "'model'")
        raises(NotImplementedError, lambda: train.config.set_gradient_accumulation_steps(2), "each call makes a step")
        raises(AttributeError, lambda: train.config.nosuch, "'nosuch'")
        raises(TypeError, lambda: train.add_optimizer(3), "expected an Optimizer, not int")
        raises(NotImplementedError, nn.Graph(), "build()")
        """)


def test_custom_operators_and_functions_are_parts_of_networks():
    eager("""
        numpy_op("twice_relu", lambda args: 2 * np.maximum(args[0], 0), lambda args: 2 * (args[0] > 0) * args[1])

        def twice_relu(x):
            op = flow.user_op_builder("r").Op("twice_relu").Input("x", [x]).Output("y").Build()
            return op.InferAndTryRun().SoleOutputBlob()

        class Cube(flow.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x**3

            @staticmethod
            def backward(ctx, dy):
                (x,) = ctx.saved_tensors
                return 3 * x**2 * dy

        for cube in (Cube.apply, Cube()):
            x = flow.tensor([-1.0, 2.0], requires_grad=True)
            cube(twice_relu(x)).sum().backward()
            close(x.grad, [0, 96])

        @flow.global_function()
        def job(x: tp.Numpy.Placeholder((2,), dtype=flow.float32)) -> tp.Numpy:
            return twice_relu(x)

        close(job(np.array([-1, 2], np.float32)), [0, 4])
        """)


def test_the_example_of_the_documentation():
    page = Path(__file__).resolve().parents[3] / "docs" / "compat.md"
    blocks = re.findall(r"^```py\n(.*?)^```", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    (code,) = [block for block in blocks if "nn.Graph" in block]
    assert 0 < float(run(code)) < 200


def test_global_tensors_are_made_whole():
    eager("""
        import lamella as lm
        lm.distributed.init_process_group()
        place, split = flow.placement("cpu", ranks=[0]), flow.sbp.split(0)
        for make in (
            lambda **k: flow.tensor([1.0, 2.0], **k),
            lambda **k: flow.ones(2, **k),
            lambda **k: flow.randn(2, **k),
            lambda **k: flow.full((2,), 3.0, **k),
        ):
            x = make(placement=place, sbp=split)
            assert x.is_global and not x.is_local and x.sbp == (split,) and tuple(x.shape) == (2,)
            raises(TypeError, lambda: make(placement=place), "needs sbp")
            raises(TypeError, lambda: make(sbp=split), "placement")
        local = flow.ones(2)
        close(flow.to_global(local, place, split).to_local(), [1, 1])
        close(local.local_to_global(placement=place, sbp=split, check_meta=False).to_local(), [1, 1])
        net = nn.Linear(2, 1).to_global(place, flow.sbp.broadcast)
        assert net.weight.is_global and isinstance(net.weight, nn.Parameter) and net.weight.requires_grad
        assert flow.env.get_rank() == 0 and flow.env.get_world_size() == 1
        """)


def test_programs_that_import_torch_run_on_its_names():
    eager("""
        import importlib
        import json
        with flow.mock_torch.enable():
            import torch
            import torch.nn.functional
            import torch.nn as layers
            from torch.utils.data import DataLoader
            assert flow.mock_torch.is_enabled() and torch is flow and layers is flow.nn
            assert DataLoader is flow.utils.data.DataLoader and torch.nn.functional.relu is flow.nn.functional.relu
            x = torch.tensor([3.0], requires_grad=True)
            (x * x).sum().backward()
            close(x.grad, [6])
            raises(ImportError, lambda: __import__("torch.no_such_module", globals()), "no_such_module")
            with flow.mock_torch.disable():
                import torch as other
                assert other is not flow and not flow.mock_torch.is_enabled()
            assert flow.mock_torch.is_enabled()
        import torch
        assert torch is not flow and torch.tensor([1.0]).item() == 1
        flow.mock_torch.enable(lazy=True, extra_dict={"torch.special_words": "json"})
        from torch.nn import Linear
        from torch.special_words import dumps
        assert Linear is flow.nn.Linear and dumps is json.dumps
        flow.mock_torch.disable()
        import torch
        assert torch is not flow
        """)
