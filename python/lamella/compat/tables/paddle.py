"""Paddle's functions and layers: a line for each name, see :mod:`lamella.compat.dialect`.

What static programs use as well, and functions whose values differ, are written out in the front.
"""

#: Functions of the module ``paddle``; those whose first parameter is ``x`` are methods of tensors, too.
FUNCTIONS = """
acos acosh angle asin asinh atan ceil conj cosh deg2rad digamma erf erfinv expm1 floor frac i0 i0e i1 i1e
imag isreal lgamma log10 log1p log2 logit rad2deg real reciprocal rsqrt sigmoid sign signbit sinh tan trunc
atan2 bitwise_and bitwise_or bitwise_xor copysign fmax fmin gcd heaviside hypot lcm ldexp logaddexp logical_xor
nextafter atanh
round(x, decimals=0)
gammaln(x)
polygamma(x, n) -> polygamma
bitwise_not(x)
floor_mod(x, y)
isclose(x, y, rtol=1e-05, atol=1e-08, equal_nan=False)
lerp(x, y, weight)
nan_to_num(x, nan=0.0, posinf=None, neginf=None)
addmm(input, x, y, beta=1.0, alpha=1.0)
bmm(x, y)
dist(x, y, p=2)
inner(x, y)
kron(x, y)
mm(input, mat2)
mv(x, vec)
outer(x, y)
tensordot(x, y, axes=2)
trace(x, offset=0)
amax(x, axis=None, keepdim=False)
amin(x, axis=None, keepdim=False)
argsort(x, axis=-1, descending=False, stable=False)
bincount(x, weights=None, minlength=0)
count_nonzero(x, axis=None, keepdim=False)
cummax(x, axis=-1)
cummin(x, axis=-1)
diff(x, n=1, axis=-1, prepend=None, append=None)
kthvalue(x, k, axis=-1, keepdim=False)
logcumsumexp(x, axis=-1)
logsumexp(x, axis=None, keepdim=False)
median(x, axis=None, keepdim=False)
mode(x, axis=-1, keepdim=False)
nanmean(x, axis=None, keepdim=False)
nanmedian(x, axis=None, keepdim=False)
nanquantile(x, q, axis=None, keepdim=False, interpolation="linear")
nansum(x, axis=None, keepdim=False, *, dtype=None)
quantile(x, q, axis=None, keepdim=False, interpolation="linear")
sort(x, axis=-1, descending=False, stable=False)
topk(x, k, axis=-1, largest=True, sorted=True)
atleast_1d atleast_2d atleast_3d
block_diag(inputs)
bucketize(x, sorted_sequence, right=False)
chunk(x, chunks, axis=0)
diag_embed(input, offset=0, dim1=-2, dim2=-1)
diagflat(x, offset=0)
diagonal(x, offset=0, axis1=0, axis2=1)
dsplit(x, num_or_indices)
flip(x, axis)
hsplit(x, num_or_indices)
hstack(x)
dstack(x)
column_stack(x)
row_stack(x)
vstack(x)
index_add(x, index, axis, value)
index_fill(x, index, axis, value)
index_put(x, indices, value, accumulate=False)
index_select(x, index, axis=0)
masked_fill(x, mask, value)
masked_select(x, mask)
moveaxis(x, source, destination)
multinomial(x, num_samples=1, replacement=False)
poisson(x)
put_along_axis(arr, indices, values, axis, reduce="assign", include_self=True)
repeat_interleave(x, repeats, axis=None)
roll(x, shifts, axis=None)
rot90(x, k=1, axes=(0, 1))
take_along_axis(arr, indices, axis)
tensor_split(x, num_or_indices, axis=0)
tile(x, repeat_times)
tril(x, diagonal=0)
triu(x, diagonal=0)
unflatten(x, axis, shape)
unstack(x, axis=0)
vsplit(x, num_or_indices)
complex(real, imag)
polar(abs, angle)
rand_like randn_like
logspace(start, stop, num, base=10.0, dtype=None)
tril_indices(row, col, offset=0)
triu_indices(row, col, offset=0)
finfo iinfo
cdist(x, y, p=2.0)
bitwise_left_shift(x, y)
bitwise_right_shift(x, y)
cartesian_prod(x)
combinations(x, r=2, with_replacement=False)
cumulative_trapezoid(y, x=None, dx=1.0, axis=-1)
trapezoid(y, x=None, dx=1.0, axis=-1)
diagonal_scatter(x, y, offset=0, axis1=0, axis2=1)
frexp(x)
gammainc(x, y)
gammaincc(x, y)
histogramdd
isin(x, test_x, assume_unique=False, invert=False)
isneginf(x)
isposinf(x)
masked_scatter(x, mask, value)
multigammaln(x, p) -> mvlgamma
pdist(x, p=2.0)
positive(x)
renorm(x, p, axis, max_norm)
sgn(x) -> sign
sinc(x)
vander(x, n=None, increasing=False)
vecdot(x, y, axis=-1) -> linalg.vecdot
unfold(x, axis, size, step) -> sliding_window
# Names of PyTorch's, which Paddle has as well.
argwhere(input)
baddbmm(input, x, y, beta=1.0, alpha=1.0)
bitwise_invert broadcast_shapes view_as_complex view_as_real
clamp(x, min=None, max=None)
concatenate(x, axis=0)
eq ge greater gt le less lt mul ne negative true_divide
ger(x, y)
matrix_transpose(x)
narrow(input, dim, start, length)
ravel(input)
reverse(x, axis) -> flip
scatter_add(input, dim, index, src)
scatter_reduce(input, dim, index, src, reduce, *, include_self=True)
take_along_dim(arr, indices, axis)
from_dlpack(dlpack, *, device=None, copy=None)
adaptive_avg_pool1d(x, output_size)
conv1d(x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1, data_format="NCL")
conv2d(x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1, data_format="NCHW")
conv3d(x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1, data_format="NCDHW")
group_norm(x, num_groups, epsilon=1e-05, weight=None, bias=None, data_format="NCHW")
layer_norm(x, normalized_shape, weight=None, bias=None, epsilon=1e-05)
"""

#: Functions that write over their tensor, which ends in an underscore, where Lamella's tensors have no such method.
IN_PLACE = """
addmm baddbmm bitwise_not cast clamp cumprod cumsum equal flatten floor_mod gammainc gammaincc gammaln gcd greater_equal
greater_than i0 lcm ldexp less less_equal less_than logical_and logical_not logical_or logical_xor logit mod
multigammaln nan_to_num neg not_equal polygamma renorm reshape scale squeeze t transpose unsqueeze
"""

#: Functions of ``paddle.linalg`` that are methods of tensors.
MATRIX_METHODS = """
cholesky cholesky_inverse cholesky_solve cond eig eigvals eigvalsh householder_product inverse lstsq lu lu_solve
lu_unpack matrix_power multi_dot ormqr pca_lowrank pinv qr slogdet solve svd_lowrank
"""

#: ``paddle.linalg`` and ``paddle.fft``.
LINALG = """
cholesky(x, upper=False)
cholesky_inverse(x, upper=False)
cholesky_solve(x, y, upper=False)
cond(x, p=None)
det(x)
eig(x)
eigh(x, UPLO="L")
eigvals(x)
eigvalsh(x, UPLO="L")
inv(x)
inverse(x) -> inv
matrix_exp(x)
matrix_power(x, n)
multi_dot(x)
solve(x, y, left=True)
svdvals(x)
svd(x, full_matrices=False)
svd_lowrank(x, q=None, niter=2, M=None)
pca_lowrank(x, q=None, center=True, niter=2)
vector_norm(x, p=2.0, axis=None, keepdim=False)
matrix_norm(x, p="fro", axis=(-2, -1), keepdim=False)
matrix_transpose(x)
householder_product(x, tau)
ormqr(x, tau, y, left=True, transpose=False)
vecdot(x, y, axis=-1)
"""
FFT = """
fft(x, n=None, axis=-1, norm="backward")
ifft(x, n=None, axis=-1, norm="backward")
rfft(x, n=None, axis=-1, norm="backward")
irfft(x, n=None, axis=-1, norm="backward")
hfft(x, n=None, axis=-1, norm="backward")
ihfft(x, n=None, axis=-1, norm="backward")
fft2(x, s=None, axes=(-2, -1), norm="backward")
ifft2(x, s=None, axes=(-2, -1), norm="backward")
rfft2(x, s=None, axes=(-2, -1), norm="backward")
irfft2(x, s=None, axes=(-2, -1), norm="backward")
fftn(x, s=None, axes=None, norm="backward")
ifftn(x, s=None, axes=None, norm="backward")
rfftn(x, s=None, axes=None, norm="backward")
irfftn(x, s=None, axes=None, norm="backward")
hfft2(x, s=None, axes=(-2, -1), norm="backward")
ihfft2(x, s=None, axes=(-2, -1), norm="backward")
hfftn(x, s=None, axes=None, norm="backward")
ihfftn(x, s=None, axes=None, norm="backward")
fftfreq(n, d=1.0)
rfftfreq(n, d=1.0)
fftshift(x, axes=None)
ifftshift(x, axes=None)
"""

#: ``paddle.nn.functional``.
FUNCTIONAL = """
celu elu mish relu6 selu silu softsign tanhshrink
elu_(x, alpha=1.0) -> elu
leaky_relu(x, negative_slope=0.01)
log_sigmoid
softplus(x, beta=1, threshold=20)
softshrink(x, threshold=0.5)
hardshrink(x, threshold=0.5)
hardtanh(x, min=-1.0, max=1.0)
hardswish
swish(x) -> silu
prelu(x, weight, data_format="NCHW")
glu(x, axis=-1)
gumbel_softmax(x, temperature=1.0, hard=False, axis=-1)
conv1d(x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1, data_format="NCL")
conv2d(x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1, data_format="NCHW")
conv3d(x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1, data_format="NCDHW")
conv1d_transpose(x, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1) -> conv_transpose1d
conv2d_transpose(x, weight, bias=None, stride=1, padding=0, output_padding=0, dilation=1, groups=1) -> conv_transpose2d
adaptive_avg_pool1d(x, output_size)
adaptive_avg_pool2d(x, output_size, data_format="NCHW")
adaptive_avg_pool3d(x, output_size, data_format="NCDHW")
adaptive_max_pool1d(x, output_size, return_mask=False)
adaptive_max_pool2d(x, output_size, return_mask=False)
embedding(x, weight, padding_idx=None, sparse=False)
group_norm(x, num_groups, epsilon=1e-05, weight=None, bias=None, data_format="NCHW")
layer_norm(x, normalized_shape, weight=None, bias=None, epsilon=1e-05)
local_response_norm(x, size, alpha=0.0001, beta=0.75, k=1.0, data_format="NCHW")
normalize(x, p=2, axis=1, epsilon=1e-12)
interpolate(x, size=None, scale_factor=None, mode="nearest", align_corners=False, data_format="NCHW")
upsample(x, size=None, scale_factor=None, mode="nearest", align_corners=False, data_format="NCHW") -> interpolate
pixel_shuffle(x, upscale_factor, data_format="NCHW")
pixel_unshuffle(x, downscale_factor, data_format="NCHW")
channel_shuffle(x, groups, data_format="NCHW")
unfold(x, kernel_sizes, strides=1, paddings=0, dilations=1)
fold(x, output_sizes, kernel_sizes, strides=1, paddings=0, dilations=1)
grid_sample(x, grid, mode="bilinear", padding_mode="zeros", align_corners=True)
affine_grid(theta, out_shape, align_corners=True)
dropout2d(x, p=0.5, training=True, data_format="NCHW")
dropout3d(x, p=0.5, training=True, data_format="NCDHW")
alpha_dropout(x, p=0.5, training=True)
cosine_similarity(x1, x2, axis=1, eps=1e-08)
pairwise_distance(x, y, p=2.0, epsilon=1e-06, keepdim=False)
binary_cross_entropy(input, label, weight=None, reduction="mean")
binary_cross_entropy_with_logits(logit, label, weight=None, reduction="mean", pos_weight=None)
cosine_embedding_loss(input1, input2, label, margin=0, reduction="mean")
hinge_embedding_loss(input, label, margin=1.0, reduction="mean")
kl_div(input, label, reduction="mean", log_target=False)
l1_loss(input, label, reduction="mean")
margin_ranking_loss(input, other, label, margin=0.0, reduction="mean")
nll_loss(input, label, weight=None, ignore_index=-100, reduction="mean")
smooth_l1_loss(input, label, reduction="mean", delta=1.0) -> huber_loss
soft_margin_loss(input, label, reduction="mean")
triplet_margin_loss(input, positive, negative, margin=1.0, p=2, epsilon=1e-06, swap=False, reduction="mean")
ctc_loss(log_probs, labels, input_lengths, label_lengths, blank=0, reduction="mean")
hardsigmoid(x)
rrelu(x, lower=0.125, upper=0.3333333333333333, training=True)
feature_alpha_dropout(x, p=0.5, training=True)
bilinear(x1, x2, weight, bias=None)
conv3d_transpose(x, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1) -> conv_transpose3d
avg_pool1d(x, kernel_size, stride=None, padding=0, exclusive=True, ceil_mode=False)
avg_pool3d(x, kernel_size, stride=None, padding=0, ceil_mode=False, data_format="NCDHW")
adaptive_max_pool3d(x, output_size, return_mask=False)
max_unpool1d(x, indices, kernel_size, stride=None, padding=0, data_format="NCL", output_size=None)
max_unpool2d(x, indices, kernel_size, stride=None, padding=0, data_format="NCHW", output_size=None)
max_unpool3d(x, indices, kernel_size, stride=None, padding=0, data_format="NCDHW", output_size=None)
lp_pool1d(x, norm_type, kernel_size, stride=None, ceil_mode=False)
lp_pool2d(x, norm_type, kernel_size, stride=None, ceil_mode=False)
poisson_nll_loss(input, label, log_input=True, full=False, epsilon=1e-08, reduction="mean")
gaussian_nll_loss(input, label, variance, full=False, epsilon=1e-06, reduction="mean")
multi_margin_loss(input, label, p=1, margin=1.0, weight=None, reduction="mean")
triplet_margin_with_distance_loss(input, positive, negative, distance_function=None, margin=1.0, swap=False, \
reduction="mean")
"""

#: ``paddle.nn``: layers whose parameters, if they have any, are shaped and drawn as Lamella's.
LAYERS = """
CELU(alpha=1.0)
ELU(alpha=1.0)
Hardshrink(threshold=0.5)
Hardsigmoid
Hardswish
Hardtanh(min=-1.0, max=1.0)
Identity
LeakyReLU(negative_slope=0.01)
LogSigmoid
LogSoftmax(axis=-1)
Maxout(groups, axis=1)
Mish
ReLU6
SELU
Silu -> SiLU
Swish -> SiLU
Softplus(beta=1, threshold=20)
Softshrink(threshold=0.5)
Softsign
Tanhshrink
ThresholdedReLU(threshold=1.0, value=0.0)
GLU(axis=-1)
AlphaDropout(p=0.5)
Dropout2D(p=0.5, data_format="NCHW") -> Dropout2d
Dropout3D(p=0.5, data_format="NCDHW") -> Dropout3d
MaxPool1D(kernel_size, stride=None, padding=0, return_mask=False, ceil_mode=False) -> MaxPool1d
AvgPool1D(kernel_size, stride=None, padding=0, ceil_mode=False) -> AvgPool1d
AdaptiveAvgPool1D(output_size) -> AdaptiveAvgPool1d
AdaptiveAvgPool2D(output_size, data_format="NCHW") -> AdaptiveAvgPool2d
AdaptiveAvgPool3D(output_size, data_format="NCDHW") -> AdaptiveAvgPool3d
AdaptiveMaxPool1D(output_size, return_mask=False) -> AdaptiveMaxPool1d
AdaptiveMaxPool2D(output_size, return_mask=False) -> AdaptiveMaxPool2d
PixelShuffle(upscale_factor, data_format="NCHW")
PixelUnshuffle(downscale_factor, data_format="NCHW")
ChannelShuffle(groups, data_format="NCHW")
Unfold(kernel_sizes, dilations=1, paddings=0, strides=1)
Fold(output_sizes, kernel_sizes, dilations=1, paddings=0, strides=1)
Upsample(size=None, scale_factor=None, mode="nearest", align_corners=False, data_format="NCHW")
GroupNorm(num_groups, num_channels, epsilon=1e-05, weight_attr=None, bias_attr=None, data_format="NCHW")
LocalResponseNorm(size, alpha=0.0001, beta=0.75, k=1.0, data_format="NCHW")
CosineSimilarity(axis=1, eps=1e-08)
PairwiseDistance(p=2.0, epsilon=1e-06, keepdim=False)
BCELoss(weight=None, reduction="mean")
BCEWithLogitsLoss(weight=None, reduction="mean", pos_weight=None)
CosineEmbeddingLoss(margin=0, reduction="mean")
HingeEmbeddingLoss(margin=1.0, reduction="mean")
KLDivLoss(reduction="mean", log_target=False)
L1Loss(reduction="mean")
MarginRankingLoss(margin=0.0, reduction="mean")
NLLLoss(weight=None, ignore_index=-100, reduction="mean")
SmoothL1Loss(reduction="mean", delta=1.0) -> HuberLoss
SoftMarginLoss(reduction="mean")
TripletMarginLoss(margin=1.0, p=2.0, epsilon=1e-06, swap=False, reduction="mean")
FeatureAlphaDropout(p=0.5)
AvgPool3D(kernel_size, stride=None, padding=0, ceil_mode=False, data_format="NCDHW") -> AvgPool3d
MaxPool3D(kernel_size, stride=None, padding=0, return_mask=False, ceil_mode=False, data_format="NCDHW") -> MaxPool3d
AdaptiveMaxPool3D(output_size, return_mask=False) -> AdaptiveMaxPool3d
MaxUnPool1D(kernel_size, stride=None, padding=0, data_format="NCL") -> MaxUnpool1d
MaxUnPool2D(kernel_size, stride=None, padding=0, data_format="NCHW") -> MaxUnpool2d
MaxUnPool3D(kernel_size, stride=None, padding=0, data_format="NCDHW") -> MaxUnpool3d
LPPool1D(norm_type, kernel_size, stride=None, ceil_mode=False) -> LPPool1d
LPPool2D(norm_type, kernel_size, stride=None, ceil_mode=False) -> LPPool2d
UpsamplingNearest2D(size=None, scale_factor=None, data_format="NCHW") -> UpsamplingNearest2d
UpsamplingBilinear2D(size=None, scale_factor=None, data_format="NCHW") -> UpsamplingBilinear2d
Bilinear(in1_features, in2_features, out_features)
Softmax2D -> Softmax2d
RReLU(lower=0.125, upper=0.3333333333333333)
Unflatten(axis, shape)
PoissonNLLLoss(log_input=True, full=False, epsilon=1e-08, reduction="mean")
GaussianNLLLoss(full=False, epsilon=1e-06, reduction="mean")
CTCLoss(blank=0, reduction="mean")
MultiLabelSoftMarginLoss(weight=None, reduction="mean")
MultiLabelMarginLoss(reduction="mean")
MultiMarginLoss(p=1, margin=1.0, weight=None, reduction="mean")
TripletMarginWithDistanceLoss(distance_function=None, margin=1.0, swap=False, reduction="mean")
AdaptiveLogSoftmaxWithLoss(in_features, n_classes, cutoffs, div_value=4.0, head_bias=False)
"""

#: ``paddle.io``.
DATA = """
ChainDataset ConcatDataset Dataset IterableDataset Subset WeightedRandomSampler get_worker_info random_split
SubsetRandomSampler
RandomSampler(data_source, replacement=False, num_samples=None, generator=None)
SequenceSampler(data_source) -> SequentialSampler
Sampler
"""
