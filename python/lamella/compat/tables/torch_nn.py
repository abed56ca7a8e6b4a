"""PyTorch's layers, functions of networks, optimizers and data loading: a line for each name."""

#: ``torch.nn``, by the modules of ``torch.nn.modules`` that have them.
LAYERS = {
    "activation": """
CELU ELU GELU Hardshrink Hardsigmoid Hardswish LeakyReLU LogSigmoid Mish PReLU RReLU ReLU ReLU6 SELU SiLU
Sigmoid Softplus Softshrink Softsign Tanh Tanhshrink Threshold GLU LogSoftmax Softmax Softmin Softmax2d
Hardtanh(min_val=-1.0, max_val=1.0, inplace=False, min_value=None, max_value=None)
MultiheadAttention(embed_dim, num_heads, dropout=0.0, bias=True, add_bias_kv=False, add_zero_attn=False, kdim=None, \
vdim=None, batch_first=False, device=None, dtype=None)
""",
    "adaptive": "AdaptiveLogSoftmaxWithLoss",
    "batchnorm": """
BatchNorm1d BatchNorm2d BatchNorm3d LazyBatchNorm1d LazyBatchNorm2d LazyBatchNorm3d
SyncBatchNorm(num_features, eps=1e-05, momentum=0.1, affine=True, track_running_stats=True, process_group=None, \
device=None, dtype=None, bias=True)
_BatchNorm -> norm._BatchNorm
_NormBase -> norm._TrackedNorm
""",
    "channelshuffle": "ChannelShuffle",
    "container": """
ModuleDict ModuleList Sequential
ParameterDict(parameters=None)
ParameterList(values=None)
""",
    "conv": """
Conv1d(in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, bias=True, \
padding_mode="zeros", device=None, dtype=None)
Conv2d(in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, bias=True, \
padding_mode="zeros", device=None, dtype=None)
Conv3d(in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, bias=True, \
padding_mode="zeros", device=None, dtype=None)
ConvTranspose1d(in_channels, out_channels, kernel_size, stride=1, padding=0, output_padding=0, groups=1, bias=True, \
dilation=1, padding_mode="zeros", device=None, dtype=None)
ConvTranspose2d(in_channels, out_channels, kernel_size, stride=1, padding=0, output_padding=0, groups=1, bias=True, \
dilation=1, padding_mode="zeros", device=None, dtype=None)
ConvTranspose3d(in_channels, out_channels, kernel_size, stride=1, padding=0, output_padding=0, groups=1, bias=True, \
dilation=1, padding_mode="zeros", device=None, dtype=None)
LazyConv1d LazyConv2d LazyConv3d
LazyConvTranspose1d(out_channels, kernel_size, stride=1, padding=0, output_padding=0, groups=1, bias=True, dilation=1, \
padding_mode="zeros", device=None, dtype=None)
LazyConvTranspose2d(out_channels, kernel_size, stride=1, padding=0, output_padding=0, groups=1, bias=True, dilation=1, \
padding_mode="zeros", device=None, dtype=None)
LazyConvTranspose3d(out_channels, kernel_size, stride=1, padding=0, output_padding=0, groups=1, bias=True, dilation=1, \
padding_mode="zeros", device=None, dtype=None)
_ConvNd -> conv._Conv
_ConvTransposeNd -> conv._TransposedConv
""",
    "distance": "CosineSimilarity PairwiseDistance",
    "dropout": """
AlphaDropout Dropout Dropout1d Dropout2d Dropout3d FeatureAlphaDropout
_DropoutNd -> layers._Dropout
""",
    "flatten": """
Flatten
Unflatten(dim, unflattened_size)
""",
    "fold": "Fold Unfold",
    "instancenorm": """
InstanceNorm1d InstanceNorm2d InstanceNorm3d LazyInstanceNorm1d LazyInstanceNorm2d LazyInstanceNorm3d
_InstanceNorm -> norm._InstanceNorm
""",
    "linear": """
Bilinear Identity LazyLinear Linear
NonDynamicallyQuantizableLinear -> Linear
""",
    "loss": """
CTCLoss GaussianNLLLoss HuberLoss TripletMarginWithDistanceLoss
BCELoss(weight=None, size_average=None, reduce=None, reduction="mean")
BCEWithLogitsLoss(weight=None, size_average=None, reduce=None, reduction="mean", pos_weight=None)
CosineEmbeddingLoss(margin=0.0, size_average=None, reduce=None, reduction="mean")
HingeEmbeddingLoss(margin=1.0, size_average=None, reduce=None, reduction="mean")
KLDivLoss(size_average=None, reduce=None, reduction="mean", log_target=False)
L1Loss(size_average=None, reduce=None, reduction="mean")
MSELoss(size_average=None, reduce=None, reduction="mean")
MarginRankingLoss(margin=0.0, size_average=None, reduce=None, reduction="mean")
MultiLabelMarginLoss(size_average=None, reduce=None, reduction="mean")
MultiLabelSoftMarginLoss(weight=None, size_average=None, reduce=None, reduction="mean")
MultiMarginLoss(p=1, margin=1.0, weight=None, size_average=None, reduce=None, reduction="mean")
NLLLoss2d(weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean") -> NLLLoss
PoissonNLLLoss(log_input=True, full=False, size_average=None, eps=1e-08, reduce=None, reduction="mean")
SmoothL1Loss(size_average=None, reduce=None, reduction="mean", beta=1.0)
SoftMarginLoss(size_average=None, reduce=None, reduction="mean")
TripletMarginLoss(margin=1.0, p=2.0, eps=1e-06, swap=False, size_average=None, reduce=None, reduction="mean")
CrossEntropyLoss(weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean", label_smoothing=0.0)
NLLLoss(weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean")
_Loss(size_average=None, reduce=None, reduction="mean") -> losses._Loss
_WeightedLoss(weight=None, size_average=None, reduce=None, reduction="mean") -> losses._WeightedLoss
""",
    "module": "Module",
    "normalization": """
GroupNorm LayerNorm RMSNorm
LocalResponseNorm(size, alpha=0.0001, beta=0.75, k=1.0)
CrossMapLRN2d(size, alpha=0.0001, beta=0.75, k=1) -> LocalResponseNorm
""",
    "padding": """
CircularPad1d CircularPad2d CircularPad3d ConstantPad1d ConstantPad2d ConstantPad3d ReflectionPad1d ReflectionPad2d
ReflectionPad3d ReplicationPad1d ReplicationPad2d ReplicationPad3d ZeroPad1d ZeroPad2d ZeroPad3d
""",
    "pixelshuffle": "PixelShuffle PixelUnshuffle",
    "pooling": """
AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveAvgPool3d AdaptiveMaxPool1d AdaptiveMaxPool2d AdaptiveMaxPool3d AvgPool1d
AvgPool2d AvgPool3d LPPool1d LPPool2d LPPool3d MaxPool1d MaxPool2d MaxPool3d
MaxUnpool1d MaxUnpool2d MaxUnpool3d
_AdaptiveAvgPoolNd -> pooling._AdaptiveAvgPool
_AdaptiveMaxPoolNd -> pooling._AdaptiveMaxPool
FractionalMaxPool2d(kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None)
FractionalMaxPool3d(kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None)
_AvgPoolNd -> pooling._AvgPool
_LPPoolNd -> pooling._LpPool
_MaxPoolNd -> pooling._MaxPool
_MaxUnpoolNd -> pooling._MaxUnpool
""",
    "rnn": """
GRU GRUCell LSTM LSTMCell RNN RNNCell
RNNBase -> recurrent._Network
RNNCellBase -> recurrent._Cell
""",
    "sparse": """
Embedding(num_embeddings, embedding_dim, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, \
sparse=False, _weight=None, _freeze=False, device=None, dtype=None)
EmbeddingBag(num_embeddings, embedding_dim, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, mode="mean", \
sparse=False, _weight=None, include_last_offset=False, padding_idx=None, device=None, dtype=None)
""",
    "transformer": """
Transformer TransformerDecoder TransformerDecoderLayer TransformerEncoder TransformerEncoderLayer
""",
    "upsampling": """
UpsamplingBilinear2d UpsamplingNearest2d
Upsample(size=None, scale_factor=None, mode="nearest", align_corners=None, recompute_scale_factor=None)
""",
}

#: ``torch.nn.functional``.
FUNCTIONAL = """
adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d affine_grid avg_pool1d avg_pool2d avg_pool3d
channel_shuffle conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d
grid_sample group_norm interpolate layer_norm linear normalize
pad(input, pad, mode="constant", value=None)
pdist pixel_shuffle pixel_unshuffle prelu rms_norm scaled_dot_product_attention ctc_loss
hardshrink softshrink softsign tanh tanhshrink sigmoid triplet_margin_with_distance_loss gaussian_nll_loss fold unfold
max_unpool1d max_unpool2d max_unpool3d huber_loss
fractional_max_pool2d_with_indices fractional_max_pool3d_with_indices
max_pool1d_with_indices max_pool2d_with_indices max_pool3d_with_indices
adaptive_max_pool1d_with_indices adaptive_max_pool2d_with_indices adaptive_max_pool3d_with_indices
bilinear(input1, input2, weight, bias=None)
cosine_similarity(x1, x2, dim=1, eps=1e-08)
gumbel_softmax(logits, tau=1.0, hard=False, eps=1e-10, dim=-1)
local_response_norm(input, size, alpha=0.0001, beta=0.75, k=1.0)
one_hot(tensor, num_classes=-1)
pairwise_distance(x1, x2, p=2.0, eps=1e-06, keepdim=False)
embedding_bag(input, weight, offsets=None, max_norm=None, norm_type=2, scale_grad_by_freq=False, mode="mean", \
sparse=False, per_sample_weights=None, include_last_offset=False, padding_idx=None)
batch_norm(input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-05)
instance_norm(input, running_mean=None, running_var=None, weight=None, bias=None, use_input_stats=True, momentum=0.1, \
eps=1e-05)
alpha_dropout(input, p=0.5, training=False, inplace=False)
dropout(input, p=0.5, training=True, inplace=False)
dropout1d(input, p=0.5, training=True, inplace=False)
dropout3d(input, p=0.5, training=True, inplace=False)
feature_alpha_dropout(input, p=0.5, training=False, inplace=False)
celu(input, alpha=1.0, inplace=False)
elu(input, alpha=1.0, inplace=False)
gelu(input, approximate="none")
glu(input, dim=-1)
hardsigmoid(input, inplace=False)
hardswish(input, inplace=False)
hardtanh(input, min_val=-1.0, max_val=1.0, inplace=False)
leaky_relu(input, negative_slope=0.01, inplace=False)
log_softmax(input, dim=-1, _stacklevel=3, dtype=None)
logsigmoid -> log_sigmoid
mish(input, inplace=False)
relu(input, inplace=False)
relu6(input, inplace=False)
rrelu(input, lower=0.125, upper=0.3333333333333333, training=False, inplace=False)
selu(input, inplace=False)
silu(input, inplace=False)
softmax(input, dim=-1, _stacklevel=3, dtype=None)
softmin(input, dim=-1, _stacklevel=3, dtype=None)
softplus(input, beta=1.0, threshold=20.0)
threshold(input, threshold, value, inplace=False)
binary_cross_entropy(input, target, weight=None, size_average=None, reduce=None, reduction="mean")
binary_cross_entropy_with_logits(input, target, weight=None, size_average=None, reduce=None, reduction="mean", \
pos_weight=None)
cosine_embedding_loss(input1, input2, target, margin=0, size_average=None, reduce=None, reduction="mean")
cross_entropy(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean", \
label_smoothing=0.0)
hinge_embedding_loss(input, target, margin=1.0, size_average=None, reduce=None, reduction="mean")
kl_div(input, target, size_average=None, reduce=None, reduction="mean", log_target=False)
l1_loss(input, target, size_average=None, reduce=None, reduction="mean")
margin_ranking_loss(input1, input2, target, margin=0, size_average=None, reduce=None, reduction="mean")
mse_loss(input, target, size_average=None, reduce=None, reduction="mean")
multi_margin_loss(input, target, p=1, margin=1.0, weight=None, size_average=None, reduce=None, reduction="mean")
multilabel_margin_loss(input, target, size_average=None, reduce=None, reduction="mean")
multilabel_soft_margin_loss(input, target, weight=None, size_average=None, reduce=None, reduction="mean")
nll_loss(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean")
poisson_nll_loss(input, target, log_input=True, full=False, size_average=None, eps=1e-08, reduce=None, \
reduction="mean")
smooth_l1_loss(input, target, size_average=None, reduce=None, reduction="mean", beta=1.0)
soft_margin_loss(input, target, size_average=None, reduce=None, reduction="mean")
triplet_margin_loss(anchor, positive, negative, margin=1.0, p=2, eps=1e-06, swap=False, size_average=None, \
reduce=None, reduction="mean")
"""

#: ``torch.nn.init``; the older names without an underscore warn in PyTorch.
INIT = """
zeros_ ones_ eye_ dirac_
kaiming_normal_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu", generator=None)
kaiming_uniform_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu", generator=None)
orthogonal_(tensor, gain=1, generator=None)
sparse_(tensor, sparsity, std=0.01, generator=None)
xavier_normal_(tensor, gain=1.0, generator=None)
xavier_uniform_(tensor, gain=1.0, generator=None)
calculate_gain(nonlinearity, param=None)
constant_(tensor, val)
normal_(tensor, mean=0.0, std=1.0, generator=None)
trunc_normal_(tensor, mean=0.0, std=1.0, a=-2.0, b=2.0, generator=None)
uniform_(tensor, a=0.0, b=1.0, generator=None)
constant(tensor, val) -> constant_
dirac -> dirac_
eye -> eye_
kaiming_normal(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu", generator=None) -> kaiming_normal_
kaiming_uniform(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu", generator=None) -> kaiming_uniform_
normal(tensor, mean=0.0, std=1.0, generator=None) -> normal_
orthogonal(tensor, gain=1, generator=None) -> orthogonal_
sparse(tensor, sparsity, std=0.01, generator=None) -> sparse_
uniform(tensor, a=0.0, b=1.0, generator=None) -> uniform_
xavier_normal(tensor, gain=1.0, generator=None) -> xavier_normal_
xavier_uniform(tensor, gain=1.0, generator=None) -> xavier_uniform_
"""

#: ``torch.nn.utils``, with ``rnn`` and ``parametrize`` below it.
UTILS = """
clip_grad_value_(parameters, clip_value, foreach=None)
clip_grads_with_norm_(parameters, max_norm, total_norm, foreach=None)
parameters_to_vector
vector_to_parameters(vec, parameters)
fuse_conv_bn_eval fuse_conv_bn_weights fuse_linear_bn_eval fuse_linear_bn_weights
"""
RNN_UTILS = """
PackedSequence invert_permutation pack_padded_sequence pack_sequence pad_packed_sequence pad_sequence unpack_sequence
unpad_sequence
"""
PARAMETRIZE = """
ParametrizationList cached is_parametrized register_parametrization remove_parametrizations
transfer_parametrizations_and_params type_before_parametrizations
"""
PARAMETRIZATIONS = "orthogonal spectral_norm weight_norm"

#: ``torch.optim``.
OPTIMIZERS = """
ASGD(params, lr=0.01, lambd=0.0001, alpha=0.75, t0=1e6, weight_decay=0, foreach=None, maximize=False, \
differentiable=False, capturable=False)
Adadelta(params, lr=1.0, rho=0.9, eps=1e-6, weight_decay=0, foreach=None, *, capturable=False, maximize=False, \
differentiable=False)
Adafactor(params, lr=0.01, beta2_decay=-0.8, eps=(None, 0.001), d=1.0, weight_decay=0.0, *, foreach=None, \
maximize=False)
Adagrad(params, lr=0.01, lr_decay=0, weight_decay=0, initial_accumulator_value=0, eps=1e-10, foreach=None, *, \
maximize=False, differentiable=False, fused=None)
Adam(params, lr=0.001, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, amsgrad=False, *, foreach=None, maximize=False, \
capturable=False, differentiable=False, fused=None, decoupled_weight_decay=False)
AdamW(params, lr=0.001, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01, amsgrad=False, *, maximize=False, \
foreach=None, capturable=False, differentiable=False, fused=None)
Adamax(params, lr=0.002, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, foreach=None, *, maximize=False, \
differentiable=False, capturable=False)
LBFGS(params, lr=1, max_iter=20, max_eval=None, tolerance_grad=1e-7, tolerance_change=1e-9, history_size=100, \
line_search_fn=None, *, maximize=False)
Muon(params, lr=0.001, weight_decay=0.1, momentum=0.95, nesterov=True, ns_coefficients=(3.4445, -4.775, 2.0315), \
eps=1e-7, ns_steps=5, adjust_lr_fn=None)
NAdam(params, lr=0.002, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, momentum_decay=0.004, \
decoupled_weight_decay=False, *, foreach=None, maximize=False, capturable=False, differentiable=False)
RAdam(params, lr=0.001, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, decoupled_weight_decay=False, *, foreach=None, \
maximize=False, capturable=False, differentiable=False)
RMSprop(params, lr=0.01, alpha=0.99, eps=1e-8, weight_decay=0, momentum=0, centered=False, capturable=False, \
foreach=None, maximize=False, differentiable=False)
Rprop(params, lr=0.01, etas=(0.5, 1.2), step_sizes=(1e-6, 50), *, capturable=False, foreach=None, maximize=False, \
differentiable=False)
SGD(params, lr=0.001, momentum=0, dampening=0, weight_decay=0, nesterov=False, *, maximize=False, foreach=None, \
differentiable=False, fused=None)
"""

#: ``torch.optim.lr_scheduler``.
SCHEDULERS = """
ChainedScheduler ConstantLR CosineAnnealingLR CosineAnnealingWarmRestarts CyclicLR ExponentialLR LambdaLR
LinearLR MultiStepLR MultiplicativeLR OneCycleLR PolynomialLR ReduceLROnPlateau SequentialLR StepLR
"""

#: ``torch.optim.swa_utils``.
SWA = "update_bn"

#: ``torch.utils.data``.
DATA = """
BatchSampler ChainDataset ConcatDataset DataLoader Dataset IterableDataset RandomSampler Sampler SequentialSampler
StackDataset Subset SubsetRandomSampler TensorDataset WeightedRandomSampler default_collate default_convert
get_worker_info random_split
"""
