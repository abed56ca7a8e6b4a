"""Paddle's layers, and these as functions: a line for each name, see :mod:`lamella.compat.dialect`."""

#: ``paddle.nn.functional``.
FUNCTIONAL = """
mish relu6 softsign tanhshrink
celu(x, alpha=1.0)
elu(x, alpha=1.0)
elu_(x, alpha=1.0) -> elu
log_sigmoid
softplus(x, beta=1, threshold=20)
softshrink(x, threshold=0.5)
hardtanh(x, min=-1.0, max=1.0)
hardswish
swish(x) -> silu
glu(x, axis=-1)
gumbel_softmax(x, temperature=1.0, hard=False, axis=-1)
layer_norm(x, normalized_shape, weight=None, bias=None, epsilon=1e-05)
normalize(x, p=2, axis=1, epsilon=1e-12)
fold(x, output_sizes, kernel_sizes, strides=1, paddings=0, dilations=1)
grid_sample(x, grid, mode="bilinear", padding_mode="zeros", align_corners=True)
affine_grid(theta, out_shape, align_corners=True)
dropout2d(x, p=0.5, training=True, data_format="NCHW")
dropout3d(x, p=0.5, training=True, data_format="NCDHW")
pairwise_distance(x, y, p=2.0, epsilon=1e-06, keepdim=False)
binary_cross_entropy(input, label, weight=None, reduction="mean")
binary_cross_entropy_with_logits(logit, label, weight=None, reduction="mean", pos_weight=None)
cosine_embedding_loss(input1, input2, label, margin=0, reduction="mean")
soft_margin_loss(input, label, reduction="mean")
max_unpool1d(x, indices, kernel_size, stride=None, padding=0, data_format="NCL", output_size=None)
max_unpool2d(x, indices, kernel_size, stride=None, padding=0, data_format="NCHW", output_size=None)
max_unpool3d(x, indices, kernel_size, stride=None, padding=0, data_format="NCDHW", output_size=None)
poisson_nll_loss(input, label, log_input=True, full=False, epsilon=1e-08, reduction="mean")
gaussian_nll_loss(input, label, variance, full=False, epsilon=1e-06, reduction="mean")
multi_label_margin_loss(input, label, reduction="mean") -> multilabel_margin_loss
dropout1d(input, p=0.5, training=True)
logsigmoid(x) -> log_sigmoid
"""

#: ``paddle.nn``: layers whose parameters, if they have any, are shaped and drawn as Lamella's.
LAYERS = """
CELU(alpha=1.0)
ELU(alpha=1.0)
Hardswish
Hardtanh(min=-1.0, max=1.0)
LogSigmoid
LogSoftmax(axis=-1)
Mish
ReLU6
Swish -> SiLU
Softplus(beta=1, threshold=20)
Softshrink(threshold=0.5)
Softsign
Tanhshrink
ThresholdedReLU(threshold=1.0, value=0.0)
GLU(axis=-1)
Dropout2D(p=0.5, data_format="NCHW") -> Dropout2d
Dropout3D(p=0.5, data_format="NCDHW") -> Dropout3d
Fold(output_sizes, kernel_sizes, dilations=1, paddings=0, strides=1)
PairwiseDistance(p=2.0, epsilon=1e-06, keepdim=False)
CosineEmbeddingLoss(margin=0, reduction="mean")
SoftMarginLoss(reduction="mean")
Softmax2D -> Softmax2d
Unflatten(axis, shape)
PoissonNLLLoss(log_input=True, full=False, epsilon=1e-08, reduction="mean")
GaussianNLLLoss(full=False, epsilon=1e-06, reduction="mean")
MultiLabelMarginLoss(reduction="mean")
CircularPad1D(padding, data_format="NCL") -> CircularPad1d
CircularPad1d(padding, data_format="NCL")
CircularPad2D(padding, data_format="NCHW") -> CircularPad2d
CircularPad2d(padding, data_format="NCHW")
CircularPad3D(padding, data_format="NCDHW") -> CircularPad3d
CircularPad3d(padding, data_format="NCDHW")
ConstantPad1D(padding, value, data_format="NCL") -> ConstantPad1d
ConstantPad1d(padding, value, data_format="NCL")
ConstantPad2D(padding, value, data_format="NCHW") -> ConstantPad2d
ConstantPad2d(padding, value, data_format="NCHW")
ConstantPad3D(padding, value, data_format="NCDHW") -> ConstantPad3d
ConstantPad3d(padding, value, data_format="NCDHW")
ReflectionPad1D(padding, data_format="NCL") -> ReflectionPad1d
ReflectionPad1d(padding, data_format="NCL")
ReflectionPad2D(padding, data_format="NCHW") -> ReflectionPad2d
ReflectionPad2d(padding, data_format="NCHW")
ReflectionPad3D(padding, data_format="NCDHW") -> ReflectionPad3d
ReflectionPad3d(padding, data_format="NCDHW")
ReplicationPad1D(padding, data_format="NCL") -> ReplicationPad1d
ReplicationPad1d(padding, data_format="NCL")
ReplicationPad2D(padding, data_format="NCHW") -> ReplicationPad2d
ReplicationPad2d(padding, data_format="NCHW")
ReplicationPad3D(padding, data_format="NCDHW") -> ReplicationPad3d
ReplicationPad3d(padding, data_format="NCDHW")
AdaptiveLogSoftmaxWithLoss(in_features, n_classes, cutoffs, div_value=4.0, head_bias=False)
"""
