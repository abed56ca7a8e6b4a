"""Paths of modules under which PyTorch has the names of this front, and the modules that define them here."""

from __future__ import annotations

from lamella.compat.front import Paths

#: Layers by the modules of torch.nn.modules.
_LAYERS = {
    "activation": (
        "CELU ELU GELU GLU Hardshrink Hardsigmoid Hardswish Hardtanh LeakyReLU LogSigmoid LogSoftmax Mish "
        "MultiheadAttention PReLU RReLU ReLU ReLU6 SELU SiLU Sigmoid Softmax Softmin Softplus Softshrink Softsign "
        "Tanh Tanhshrink Threshold"
    ),
    "batchnorm": "BatchNorm1d BatchNorm2d BatchNorm3d",
    "container": "ModuleList Sequential",
    "conv": "Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d",
    "dropout": "AlphaDropout Dropout Dropout1d Dropout2d Dropout3d FeatureAlphaDropout",
    "flatten": "Flatten",
    "fold": "Fold Unfold",
    "instancenorm": "InstanceNorm1d InstanceNorm2d InstanceNorm3d",
    "linear": "Identity Linear",
    "loss": (
        "BCELoss BCEWithLogitsLoss CTCLoss CosineEmbeddingLoss CrossEntropyLoss GaussianNLLLoss HingeEmbeddingLoss "
        "HuberLoss KLDivLoss L1Loss MSELoss MarginRankingLoss MultiMarginLoss NLLLoss PoissonNLLLoss SmoothL1Loss "
        "SoftMarginLoss TripletMarginLoss TripletMarginWithDistanceLoss"
    ),
    "module": "Module",
    "normalization": "GroupNorm LayerNorm LocalResponseNorm RMSNorm",
    "pixelshuffle": "PixelShuffle PixelUnshuffle",
    "pooling": (
        "AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveAvgPool3d AdaptiveMaxPool1d AdaptiveMaxPool2d AdaptiveMaxPool3d "
        "AvgPool1d AvgPool2d AvgPool3d FractionalMaxPool2d FractionalMaxPool3d LPPool1d LPPool2d LPPool3d MaxPool1d "
        "MaxPool2d MaxPool3d"
    ),
    "rnn": "GRU GRUCell LSTM LSTMCell RNN RNNCell",
    "sparse": "Embedding EmbeddingBag",
    "upsampling": "Upsample",
}

PATHS: Paths = {
    "torch.autograd.anomaly_mode": {"torch.autograd": "detect_anomaly set_detect_anomaly"},
    "torch.autograd.function": {"torch.autograd": "Function FunctionCtx InplaceFunction once_differentiable"},
    "torch.autograd.functional": {"torch._functional": "hessian hvp jacobian jvp vhp vjp"},
    "torch.autograd.grad_mode": {"torch.autograd": "enable_grad inference_mode no_grad set_grad_enabled"},
    "torch.autograd.gradcheck": {"torch.autograd": "GradcheckError gradcheck gradgradcheck"},
    "torch.autograd.graph": {
        "lamella.autograd": (
            "Node allow_mutation_on_saved_tensors disable_saved_tensors_hooks register_multi_grad_hook save_on_cpu "
            "saved_tensors_hooks"
        ),
        "lamella.autograd.graph": "GradientEdge get_gradient_edge",
    },
    "torch.autograd.variable": {"torch.autograd": "Variable"},
    "torch._library": {"torch.library": "custom_op infer_schema"},
    "torch._library.custom_ops": {"torch.library": "custom_op"},
    "torch._library.infer_schema": {"torch.library": "infer_schema"},
    "torch.amp.autocast_mode": {"torch.amp": "autocast custom_bwd custom_fwd"},
    "torch.amp.grad_scaler": {"torch.amp": "GradScaler"},
    "torch.cuda.amp.autocast_mode": {"torch.cuda.amp": "autocast custom_bwd custom_fwd"},
    "torch.cuda.amp.grad_scaler": {"torch.cuda.amp": "GradScaler"},
    "torch.functional": {"torch": "einsum split"},
    "torch.nn.modules": {"torch.nn": " ".join(_LAYERS.values())},
    **{f"torch.nn.modules.{name}": {"torch.nn": layers} for name, layers in _LAYERS.items()},
    "torch.nn.parameter": {"torch.nn": "Parameter"},
    "torch.optim.adam": {"torch.optim": "Adam"},
    "torch.optim.adamw": {"torch.optim": "AdamW"},
    "torch.optim.optimizer": {"torch.optim": "Optimizer"},
    "torch.optim.sgd": {"torch.optim": "SGD"},
    "torch.random": {"torch": "manual_seed"},
    "torch.testing._comparison": {"torch.testing": "assert_close"},
}
