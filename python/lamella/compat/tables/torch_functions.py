"""PyTorch's functions of tensors: a line for each, see :mod:`lamella.compat.dialect`.

What a function is called natively is in :mod:`lamella._names`, or behind an arrow where it stands there already.
Functions whose values differ, as ``max`` with an axis or ``unique``, are written out in the front.
"""

#: Functions of the module ``torch``; those whose first parameter is ``input`` are methods of tensors, too.
FUNCTIONS = """
# Elementwise, with the same name.
abs acos acosh angle asin asinh atan atan2 atanh ceil conj cos cosh deg2rad digamma erf erfc erfinv exp exp2 expm1 floor
frac imag isfinite isinf isnan isneginf isposinf isreal lgamma log log10 log1p log2 logical_not logit positive rad2deg
real reciprocal relu rsqrt sigmoid sign signbit sin sinc sinh sqrt square tan tanh trunc i0
bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor copysign floor_divide fmax fmin
fmod gcd hypot lcm logaddexp logaddexp2 logical_and logical_or logical_xor maximum minimum nextafter
pow(input, exponent, *, out=None)
remainder xlogy mvlgamma frexp
addbmm addmm addmv addr baddbmm
float_power(input, exponent, *, out=None)
heaviside(input, values, *, out=None)
ldexp(input, other, *, out=None)
lerp(input, end, weight, *, out=None)
round(input, *, decimals=0, out=None)
addcdiv(input, tensor1, tensor2, *, value=1, out=None)
addcmul(input, tensor1, tensor2, *, value=1, out=None)
absolute(input, *, out=None)
arccos
arccosh
arcsin
arcsinh
arctan
arctan2
arctanh
bitwise_not
clamp(input, min=None, max=None, *, out=None)
clip(input, min=None, max=None, *, out=None)
clamp_max(input, max, *, out=None)
clamp_min(input, min, *, out=None)
conj_physical
eq
fix
ge
greater
greater_equal
gt
igamma(input, other, *, out=None)
igammac(input, other, *, out=None)
le
less
less_equal
lt
mul multiply
multigammaln -> mvlgamma
nan_to_num(input, nan=0.0, posinf=None, neginf=None)
ne
neg negative
not_equal
polygamma(n, input)
selu celu
rrelu -> nn.functional.rrelu
sgn
true_divide
isclose(input, other, rtol=1e-05, atol=1e-08, equal_nan=False)
isin(elements, test_elements, *, assume_unique=False, invert=False)

# Reductions and what goes along an axis.
all(input, dim=None, keepdim=False, *, out=None)
any(input, dim=None, keepdim=False, *, out=None)
aminmax(input, *, dim=None, keepdim=False)
argmax(input, dim=None, keepdim=False)
argmin(input, dim=None, keepdim=False)
argsort(input, dim=-1, descending=False, stable=False)
argwhere
bincount(input, weights=None, minlength=0)
cdist(x1, x2, p=2.0, compute_mode=None)
corrcoef
cosine_similarity(x1, x2, dim=1, eps=1e-08)
cov(input, *, correction=1, fweights=None, aweights=None)
cummax cummin cumprod cumsum logcumsumexp
cumulative_trapezoid(y, x=None, *, dx=1.0, dim=-1)
diff(input, n=1, dim=-1, prepend=None, append=None)
dist(input, other, p=2.0)
histc(input, bins=100, min=0.0, max=0.0)
kthvalue(input, k, dim=-1, keepdim=False)
log_softmax(input, dim=-1, dtype=None)
nanquantile(input, q, dim=None, keepdim=False, *, interpolation="linear")
nansum(input, dim=None, keepdim=False, *, dtype=None)
pairwise_distance(x1, x2, p=2.0, eps=1e-06, keepdim=False)
pdist(input, p=2.0)
prod(input, dim=None, keepdim=False, *, dtype=None)
quantile(input, q, dim=None, keepdim=False, *, interpolation="linear")
renorm(input, p, dim, maxnorm)
softmax(input, dim=-1, dtype=None)
topk(input, k, dim=-1, largest=True, sorted=True)
trapezoid(y, x=None, *, dx=1.0, dim=-1)
trapz(y, x=None, *, dx=1.0, dim=-1)

# Shapes.
atleast_1d atleast_2d atleast_3d broadcast_shapes cartesian_prod
block_diag(*tensors)
column_stack(tensors)
combinations(input, r=2, with_replacement=False)
diag_embed(input, offset=0, dim1=-2, dim2=-1)
diagflat(input, offset=0)
diagonal(input, offset=0, dim1=0, dim2=1)
diagonal_scatter(input, src, offset=0, dim1=0, dim2=1)
dstack(tensors)
dsplit(input, indices_or_sections)
flatten(input, start_dim=0, end_dim=-1)
hsplit(input, indices_or_sections)
hstack(tensors)
moveaxis(input, source, destination)
movedim(input, source, destination)
narrow(input, dim, start, length)
permute(input, dims)
pixel_shuffle(input, upscale_factor)
pixel_unshuffle(input, downscale_factor)
ravel
reshape(input, shape)
roll(input, shifts, dims=None)
row_stack(tensors)
stack(tensors, dim=0, *, out=None)
swapaxes(input, axis0, axis1)
swapdims(input, dim0, dim1)
tensor_split(input, indices_or_sections, dim=0)
transpose(input, dim0, dim1)
tril(input, diagonal=0, *, out=None)
triu(input, diagonal=0, *, out=None)
unflatten(input, dim, sizes)
unravel_index(indices, shape)
unsqueeze(input, dim)
vsplit(input, indices_or_sections)
vstack(tensors)

# Indexing.
bucketize(input, boundaries, *, right=False)
channel_shuffle(input, groups)
native_channel_shuffle(input, groups) -> channel_shuffle
gather(input, dim, index, *, sparse_grad=False, out=None)
index_add(input, dim, index, source, *, alpha=1)
index_copy(input, dim, index, source)
index_put(input, indices, values, accumulate=False)
index_reduce(input, dim, index, source, reduce, *, include_self=True)
index_select(input, dim, index, *, out=None)
masked_scatter(input, mask, source)
masked_select(input, mask, *, out=None)
nonzero_static(input, *, size, fill_value=-1)
select(input, dim, index)
select_scatter(input, src, dim, index)
slice_scatter(input, src, dim=0, start=None, end=None, step=1)
take(input, index)
take_along_dim(input, indices, dim=None)

# Products and matrices.
inner kron
bmm(input, mat2)
dot(input, tensor)
mv(input, vec)
outer(input, vec2)
matrix_exp
cholesky_inverse(L, upper=False)
cholesky_solve(B, L, upper=False)
cross(input, other, dim=-1)
det
geqrf
ger(input, vec2)
logdet
lu_solve(b, LU_data, LU_pivots)
lu_unpack(LU_data, LU_pivots, unpack_data=True, unpack_pivots=True)
matrix_power(input, n)
orgqr(input, tau)
ormqr(input, tau, other, left=True, transpose=False)
pinverse(input, rcond=1e-15)
slogdet
tensordot(a, b, dims=2)
trace
vdot
view_as_complex view_as_real
complex(real, imag)
polar(abs, angle)

# Made of nothing, or of numbers.
bartlett_window blackman_window hamming_window hann_window kaiser_window
empty(*size, out=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False, memory_format=None)
empty_like(input, *, dtype=None, layout=None, device=None, requires_grad=False, memory_format=None)
eye(n, m=None, *, out=None, dtype=None, layout=None, device=None, requires_grad=False)
full(size, fill_value, *, out=None, dtype=None, layout=None, device=None, requires_grad=False)
full_like(input, fill_value, *, dtype=None, layout=None, device=None, requires_grad=False, memory_format=None)
ones(*size, out=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False)
ones_like(input, *, dtype=None, layout=None, device=None, requires_grad=False, memory_format=None)
rand(*size, generator=None, out=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False)
rand_like(input, *, dtype=None, layout=None, device=None, requires_grad=False, memory_format=None)
randn(*size, generator=None, out=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False)
randn_like(input, *, dtype=None, layout=None, device=None, requires_grad=False, memory_format=None)
zeros(*size, out=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False)
zeros_like(input, *, dtype=None, layout=None, device=None, requires_grad=False, memory_format=None)
multinomial(input, num_samples, replacement=False, *, generator=None, out=None)
poisson(input, *, generator=None)

# The engine.
are_deterministic_algorithms_enabled from_dlpack from_numpy get_num_threads inference_mode
get_float32_matmul_precision
get_autocast_dtype set_autocast_dtype is_grad_enabled no_grad enable_grad set_grad_enabled promote_types
set_num_threads
istft(input, n_fft, hop_length=None, win_length=None, window=None, center=True, normalized=False, onesided=None, \
length=None, return_complex=False)
is_inference_mode_enabled
unique_consecutive(input, return_inverse=False, return_counts=False, dim=None)

# Functions of networks that the module has, too.
alpha_dropout feature_alpha_dropout
adaptive_avg_pool1d(input, output_size)
avg_pool1d conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d
bilinear(input1, input2, weight, bias=None)
group_norm(input, num_groups, weight=None, bias=None, eps=1e-05, cudnn_enabled=True)
batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, cudnn_enabled=True)
dropout(input, p, train)
layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-05, cudnn_enabled=True)
max_pool1d max_pool2d max_pool3d prelu hardshrink rms_norm
"""

#: ``torch.special``: other names, and functions that are Lamella's under another one.
SPECIAL = """
airy_ai bessel_j0 bessel_j1 bessel_y0 bessel_y1 digamma entr erf erfc erfcx erfinv exp2 expm1 i0 i0e i1 i1e
log1p log_ndtr logit ndtr round sinc softmax log_softmax logsumexp xlog1py xlogy zeta
ndtri(input)
polygamma(n, input)
chebyshev_polynomial_t chebyshev_polynomial_u chebyshev_polynomial_v chebyshev_polynomial_w hermite_polynomial_h
hermite_polynomial_he laguerre_polynomial_l legendre_polynomial_p modified_bessel_k0 modified_bessel_k1
scaled_modified_bessel_k0 scaled_modified_bessel_k1 shifted_chebyshev_polynomial_t shifted_chebyshev_polynomial_u
shifted_chebyshev_polynomial_v shifted_chebyshev_polynomial_w spherical_bessel_j0
expit -> sigmoid
gammainc(input, other)
gammaincc(input, other)
gammaln -> lgamma
modified_bessel_i0 -> i0
modified_bessel_i1 -> i1
multigammaln -> mvlgamma
psi -> digamma
"""

#: ``torch.linalg``.
LINALG = """
matmul multi_dot polar
cholesky(A, *, upper=False)
cholesky_ex(A, *, upper=False, check_errors=False)
cond(A, p=None)
cross(input, other, *, dim=-1)
det(A)
diagonal(A, *, offset=0, dim1=-2, dim2=-1)
eig(A)
eigh(A, UPLO="L")
eigvals(A)
eigvalsh(A, UPLO="L")
householder_product(A, tau)
inv(A)
inv_ex(A, *, check_errors=False)
ldl_factor(A, *, hermitian=False)
ldl_factor_ex(A, *, hermitian=False, check_errors=False)
ldl_solve(LD, pivots, B, *, hermitian=False)
lstsq(A, B, rcond=None, *, driver=None)
lu(A, *, pivot=True)
lu_factor(A, *, pivot=True)
lu_factor_ex(A, *, pivot=True, check_errors=False)
lu_solve(LU, pivots, B, *, left=True, adjoint=False)
matrix_exp(A)
matrix_power(A, n)
matrix_rank(A, *, atol=None, rtol=None, hermitian=False)
matrix_sqrth(A)
norm(A, ord=None, dim=None, keepdim=False)
pinv(A, rtol=None, hermitian=False, *, atol=None)
qr(A, mode="reduced")
slogdet(A)
solve(A, B, *, left=True)
solve_ex(A, B, *, left=True, check_errors=False)
solve_triangular(A, B, *, upper, left=True, unitriangular=False)
svd(A, full_matrices=True, *, driver=None)
svdvals(A, *, driver=None)
tensorinv(A, ind=2)
tensorsolve(A, B, dims=None)
vander(x, N=None)
vecdot(x, y, *, dim=-1)
vector_norm(x, ord=2, dim=None, keepdim=False)
"""

#: ``torch.fft``.
FFT = """
fft ifft rfft irfft hfft ihfft
fft2(input, s=None, dim=(-2, -1), norm="backward")
ifft2(input, s=None, dim=(-2, -1), norm="backward")
rfft2(input, s=None, dim=(-2, -1), norm="backward")
irfft2(input, s=None, dim=(-2, -1), norm="backward")
hfft2(input, s=None, dim=(-2, -1), norm="backward")
ihfft2(input, s=None, dim=(-2, -1), norm="backward")
fftn(input, s=None, dim=None, norm="backward")
ifftn(input, s=None, dim=None, norm="backward")
rfftn(input, s=None, dim=None, norm="backward")
irfftn(input, s=None, dim=None, norm="backward")
hfftn(input, s=None, dim=None, norm="backward")
ihfftn(input, s=None, dim=None, norm="backward")
fftfreq(n, d=1.0, *, dtype=None, layout=None, device=None, requires_grad=False)
rfftfreq(n, d=1.0, *, dtype=None, layout=None, device=None, requires_grad=False)
fftshift(input, dim=None)
ifftshift(input, dim=None)
"""
