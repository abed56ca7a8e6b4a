"""The modules under which torch, paddle and oneflow have the names of the fronts, imported in every way."""

import pytest

from support import extensions

#: By framework: a module's path, and names that programs take from it.
PATHS = {
    "torch": """
        torch.amp                            autocast GradScaler custom_fwd custom_bwd
        torch.amp.autocast_mode              autocast
        torch.amp.grad_scaler                GradScaler
        torch.autograd                       Function Variable backward grad gradcheck gradgradcheck no_grad
        torch.autograd.anomaly_mode          detect_anomaly set_detect_anomaly
        torch.autograd.forward_ad            dual_level make_dual unpack_dual
        torch.autograd.function              Function FunctionCtx InplaceFunction once_differentiable
        torch.autograd.functional            hessian hvp jacobian jvp vhp vjp
        torch.autograd.grad_mode             enable_grad inference_mode no_grad set_grad_enabled
        torch.autograd.gradcheck             GradcheckError gradcheck gradgradcheck
        torch.autograd.graph                 Node save_on_cpu saved_tensors_hooks GradientEdge get_gradient_edge
        torch.autograd.variable              Variable
        torch.cuda                           is_available device_count synchronize
        torch.cuda.amp                       autocast GradScaler custom_fwd custom_bwd
        torch.cuda.amp.autocast_mode         autocast custom_fwd custom_bwd
        torch.cuda.amp.grad_scaler           GradScaler
        torch.func                           grad vmap vjp jvp jacrev jacfwd hessian functional_call linearize
        torch.functional                     einsum split
        torch.library                        Library custom_op register_autograd register_fake
        torch.nn                             Module Parameter Linear Sequential functional init
        torch.nn.functional                  relu softmax linear
        torch.nn.init                        xavier_uniform_ kaiming_normal_ constant_ zeros_
        torch.nn.modules                     Module Linear Conv2d ReLU MSELoss
        torch.nn.modules.activation          ReLU GELU Softmax MultiheadAttention
        torch.nn.modules.batchnorm           BatchNorm2d
        torch.nn.modules.container           ModuleList Sequential
        torch.nn.modules.conv                Conv1d Conv2d ConvTranspose2d
        torch.nn.modules.dropout             Dropout
        torch.nn.modules.flatten             Flatten
        torch.nn.modules.fold                Fold Unfold
        torch.nn.modules.instancenorm        InstanceNorm2d
        torch.nn.modules.linear              Linear Identity
        torch.nn.modules.loss                MSELoss CrossEntropyLoss L1Loss BCEWithLogitsLoss
        torch.nn.modules.module              Module register_module_forward_hook register_module_full_backward_hook
        torch.nn.grad                        conv2d_input conv2d_weight
        torch.nn.modules.module              Module _IncompatibleKeys _EXTRA_STATE_KEY_SUFFIX
        torch.nn.modules.normalization       LayerNorm GroupNorm
        torch.nn.modules.pixelshuffle        PixelShuffle
        torch.nn.modules.pooling             MaxPool2d AvgPool2d
        torch.nn.modules.rnn                 LSTM GRU RNNCell
        torch.nn.modules.sparse              Embedding
        torch.nn.modules.upsampling          Upsample
        torch.nn.parameter                   Parameter
        torch.optim                          Adam AdamW SGD Optimizer lr_scheduler
        torch.optim.adam                     Adam
        torch.optim.adamw                    AdamW
        torch.optim.lr_scheduler             StepLR CosineAnnealingLR LRScheduler
        torch.optim.optimizer                Optimizer
        torch.optim.sgd                      SGD
        torch.accelerator                    is_available current_accelerator
        torch.backends                       cudnn cuda mps
        torch.backends.cudnn                 benchmark deterministic enabled version is_available
        torch.distributed                    is_available init_process_group destroy_process_group ReduceOp
        torch.distributed.algorithms.ddp_comm_hooks default_hooks powerSGD_hook register_ddp_comm_hook
        torch.distributed.algorithms.ddp_comm_hooks.powerSGD_hook PowerSGDState powerSGD_hook
        torch.distributed.checkpoint         save load async_save FileSystemReader FileSystemWriter
        torch.distributed.checkpoint.state_dict get_state_dict set_state_dict StateDictOptions
        torch.distributed.checkpoint.format_utils dcp_to_torch_save torch_save_to_dcp
        torch.distributed.device_mesh        DeviceMesh init_device_mesh
        torch.distributed.distributed_c10d   ProcessGroup init_process_group
        torch.distributed.fsdp               FullyShardedDataParallel fully_shard MixedPrecisionPolicy FSDPModule
        torch.distributed.fsdp.wrap          ModuleWrapPolicy always_wrap_policy
        torch.distributed._composable.fsdp   fully_shard MixedPrecisionPolicy
        torch.distributed.nn                 all_reduce all_gather
        torch.distributed.optim              ZeroRedundancyOptimizer
        torch.distributed.pipelining         PipelineStage Schedule1F1B ScheduleGPipe
        torch.distributed.tensor             DTensor Shard Replicate Partial distribute_tensor distribute_module
        torch.distributed.tensor.parallel    parallelize_module ColwiseParallel RowwiseParallel SequenceParallel
        torch.distributed.tensor.parallel.style ColwiseParallel
        torch.distributed._tensor            DTensor init_device_mesh
        torch.futures                        Future collect_all wait_all
        torch._dynamo.eval_frame             OptimizedModule
        torch._dynamo._trace_wrapped_higher_order_op  TransformGetItemToIndex
        torch._tensor_str                    printoptions set_printoptions
        torch.cpu                            is_available device_count synchronize
        torch.cuda                           CUDAGraph Event Stream StreamContext OutOfMemoryError graph
        torch.distributed._functional_collectives  all_reduce all_gather_tensor wait_tensor
        torch.distributed.algorithms.join    Join Joinable
        torch.distributed.nn.functional      all_reduce all_gather broadcast
        torch.distributed.tensor.placement_types  Placement Replicate Shard Partial
        torch.distributions                  Categorical Normal kl_divergence
        torch.distributions.categorical      Categorical
        torch.jit                            script trace
        torch.linalg                         norm inv svd
        torch.multiprocessing                Process Queue set_start_method spawn start_processes
        torch.nn.parallel                    DataParallel DistributedDataParallel data_parallel
        torch.nn.utils                       clip_grad_norm_ parametrize rnn
        torch.nn.utils.clip_grad             clip_grad_norm_
        torch.nn.utils.rnn                   pad_sequence pack_padded_sequence
        torch.optim.lbfgs                    LBFGS
        torch.optim.swa_utils                AveragedModel SWALR update_bn
        torch.storage                        UntypedStorage TypedStorage
        torch.serialization                  save load safe_globals add_safe_globals
        torch.utils.data                     DataLoader Dataset TensorDataset random_split
        torch.utils.data.dataloader          DataLoader default_collate
        torch.utils.data.dataset             Dataset Subset
        torch.utils.data.distributed         DistributedSampler
        torch.utils.data.sampler             RandomSampler SubsetRandomSampler
        torch.random                         manual_seed fork_rng
        torch.testing                        assert_close
        torch.testing._comparison            assert_close
        torch.utils.hooks                    RemovableHandle unserializable_hook
        torch.nn.init                        _no_grad_fill_ _no_grad_uniform_ _no_grad_normal_ _no_grad_trunc_normal_
        torch.nn.common_types                _size_any_t _size_2_t _ratio_2_t _maybe_indices_t
        torch._subclasses.fake_tensor        FakeTensor unset_fake_temporarily
        torch.utils._python_dispatch         TorchDispatchMode is_traceable_wrapper_subclass
        torch.utils._pytree                  _namedtuple_flatten _deque_unflatten _list_flatten
        torch.utils._pytree                  tree_map tree_flatten tree_unflatten keystr tree_map_with_path
        torch.utils.dlpack                   from_dlpack to_dlpack
        torch.compiler                       disable is_compiling
        torch.overrides                      has_torch_function handle_torch_function
        torch.utils.checkpoint               checkpoint checkpoint_sequential get_device_states set_device_states
        torch.utils.cpp_extension            load load_inline CppExtension BuildExtension
        torch.version                        cuda
    """,
    "paddle": """
        paddle.autograd                      PyLayer PyLayerContext backward saved_tensors_hooks
        paddle.autograd.backward_mode        backward
        paddle.autograd.py_layer             PyLayer PyLayerContext once_differentiable
        paddle.autograd.saved_tensors_hooks  saved_tensors_hooks
        paddle.base.dygraph                  no_grad grad Layer
        paddle.base.dygraph.base             no_grad grad
        paddle.device                        get_device is_compiled_with_cuda
        paddle.framework                     get_default_dtype seed no_grad
        paddle.framework.random              seed
        paddle.nn                            Layer Linear Sequential functional initializer
        paddle.nn.functional                 relu softmax cross_entropy
        paddle.nn.functional.activation      relu gelu softmax
        paddle.nn.functional.common          linear
        paddle.nn.functional.loss            mse_loss cross_entropy
        paddle.nn.initializer                Constant Normal Uniform XavierNormal XavierUniform KaimingNormal Assign
        paddle.nn.initializer.assign         Assign
        paddle.nn.initializer.constant       Constant
        paddle.nn.initializer.kaiming        KaimingNormal KaimingUniform
        paddle.nn.initializer.normal         Normal
        paddle.nn.initializer.uniform        Uniform
        paddle.nn.initializer.xavier         XavierNormal XavierUniform
        paddle.nn.layer                      Layer Linear Tanh
        paddle.nn.layer.activation           ReLU GELU Tanh Sigmoid Softmax
        paddle.nn.layer.common               Linear Flatten
        paddle.nn.layer.container            LayerList Sequential
        paddle.nn.layer.layers               Layer
        paddle.nn.layer.loss                 MSELoss CrossEntropyLoss
        paddle.optimizer                     SGD Adam
        paddle.optimizer.adam                Adam
        paddle.optimizer.adamw               AdamW
        paddle.optimizer.momentum            Momentum
        paddle.optimizer.optimizer           Optimizer
        paddle.optimizer.sgd                 SGD
        paddle.tensor                        add matmul to_tensor concat
        paddle.tensor.creation               to_tensor zeros ones full arange
        paddle.tensor.linalg                 matmul transpose
        paddle.tensor.logic                  equal allclose
        paddle.tensor.manipulation           reshape concat stack squeeze
        paddle.tensor.math                   add multiply sum
        paddle.tensor.ops                    exp sqrt
        paddle.tensor.random                 rand randn randint
        paddle.tensor.search                 argmax where
        paddle.tensor.stat                   mean
    """,
    "oneflow": """
        oneflow.compatible                   single_client
        oneflow.config                       load_library
        oneflow.experimental                 custom_op_module
        oneflow.framework.dtype              float32 int64
        oneflow.framework.function_util      FunctionConfig global_function
        oneflow.ops.user_op_builder          user_op_builder
        oneflow.python.framework.function_util FunctionConfig global_function
        oneflow.python.ops.user_op_builder   user_op_builder
        oneflow.scope                        placement
        oneflow.sysconfig                    get_compile_flags get_link_flags
        oneflow.typing                       Numpy
        oneflow.unittest                     TestCase skip_unless_1n1d
    """,
}

# As attributes first, which must not need the imports that follow.
PROBE = """
import importlib

for line in LISTED.splitlines():
    path, *names = line.split()
    top, _, below = path.partition(".")
    above, _, last = path.rpartition(".")
    for way in (
        f"import {top}; {top}.{below}",
        f"import {path}",
        f"import {path} as m",
        f"from {above} import {last}",
        f"from {path} import {', '.join(names)}",
        f"from {path} import *",
    ):
        scope = {}
        try:
            exec(way, scope)
            module = importlib.import_module(path)
            assert module.__name__ in (path, "lamella." + below), module
            for name in names:
                value = getattr(module, name)
                assert not way.startswith(f"from {path} ") or scope.get(name, value) is value, name
        except BaseException as error:
            print(f"{way}: {type(error).__name__}: {error}")
"""


def listed(framework):
    return "\n".join(line.strip() for line in PATHS[framework].strip().splitlines())


@pytest.mark.parametrize("framework", PATHS)
def test_every_path_is_imported_in_every_way(framework, tmp_path):
    source = f"import {framework}\n" + f"LISTED = {listed(framework)!r}\n" + PROBE
    extensions.write(tmp_path, {"program.py": source})
    assert extensions.succeed("-m", "lamella.compat", "program.py", cwd=tmp_path) == ""


SAME = """
import importlib, sys
from lamella.compat.front import _Path

paths = {module.__name__: module for module in sys.modules.values() if isinstance(module, _Path)}
assert len(paths) > 5
for path, module in paths.items():
    for name in module.__all__:
        value = getattr(module, name)
        assert name in dir(module) and value is not None, f"{path}.{name}"
    try:
        module.nosuch
    except AttributeError as error:
        assert f"front does not have '{path}.nosuch'" in str(error), error
    else:
        raise SystemExit(path)
    try:
        importlib.import_module(path + ".nosuch")
    except ImportError as error:
        assert f"front does not have '{path}.nosuch'" in str(error), error
    else:
        raise SystemExit(path)
"""


@pytest.mark.parametrize("framework", PATHS)
def test_names_that_a_path_lacks_say_so(framework, tmp_path):
    extensions.write(tmp_path, {"program.py": f"import {framework}\n" + SAME})
    extensions.succeed("-m", "lamella.compat", "program.py", cwd=tmp_path)


LAYERS = """
import torch

modules = {name: module for name, module in __import__("sys").modules.items() if name.startswith("torch.nn.modules.")}
del modules["torch.nn.modules.utils"]  # functions
named = ((name, path) for path, module in modules.items() for name in module.__all__)
classes = ((name, path) for name, path in named if isinstance(getattr(modules[path], name), type))
homes = {name: path for name, path in classes if not name.startswith("_")}
named = {name: getattr(torch.nn, name) for name in torch.nn.__all__}
layers = {name for name, value in named.items() if isinstance(value, type) and issubclass(value, torch.nn.Module)}
layers.remove("DataParallel")  # of torch.nn.parallel
assert layers == set(homes) == set(torch.nn.modules.__all__), layers ^ set(homes)
assert all(getattr(torch.nn, name) is getattr(modules[path], name) for name, path in homes.items())
"""


def test_every_layer_of_the_torch_front_has_its_module(tmp_path):
    extensions.write(tmp_path, {"program.py": LAYERS})
    extensions.succeed("-m", "lamella.compat", "program.py", cwd=tmp_path)
