"""Paddle's functions and layers: a line for each name, see :mod:`lamella.compat.dialect`.

What static programs use as well, and functions whose values differ, are written out in the front.
"""

#: Functions of the module ``paddle``; those whose first parameter is ``x`` are methods of tensors, too.
FUNCTIONS = """
acos acosh angle asin asinh atan ceil cosh deg2rad digamma erf erfinv expm1 floor i0 i0e i1 i1e
imag isreal lgamma log10 log1p log2 rad2deg real reciprocal rsqrt sigmoid sign signbit sinh tan trunc
bitwise_and bitwise_or bitwise_xor fmax fmin gcd heaviside hypot lcm ldexp logaddexp logical_xor
nextafter atanh
round(x, decimals=0)
logit(x, eps=None)
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
argsort(x, axis=-1, descending=False, stable=False)
bartlett_window blackman_window hamming_window hann_window kaiser_window
bincount(x, weights=None, minlength=0)
diff(x, n=1, axis=-1, prepend=None, append=None)
sort(x, axis=-1, descending=False, stable=False)
block_diag(inputs)
diag_embed(input, offset=0, dim1=-2, dim2=-1)
diagflat(x, offset=0)
diagonal(x, offset=0, axis1=0, axis2=1)
hstack(x)
dstack(x)
column_stack(x)
row_stack(x)
vstack(x)
index_fill(x, index, axis, value)
index_put(x, indices, value, accumulate=False)
index_select(x, index, axis=0)
masked_select(x, mask)
moveaxis(x, source, destination)
multinomial(x, num_samples=1, replacement=False)
poisson(x)
roll(x, shifts, axis=None)
tile(x, repeat_times)
tril(x, diagonal=0)
triu(x, diagonal=0)
unflatten(x, axis, shape)
complex(real, imag)
polar(abs, angle)
logspace(start, stop, num, base=10.0, dtype=None)
cdist(x, y, p=2.0)
cartesian_prod(x)
combinations(x, r=2, with_replacement=False)
cumulative_trapezoid(y, x=None, dx=1.0, axis=-1)
trapezoid(y, x=None, dx=1.0, axis=-1)
diagonal_scatter(x, y, offset=0, axis1=0, axis2=1)
gammainc(x, y)
gammaincc(x, y)
isneginf(x)
isposinf(x)
masked_scatter(x, mask, value)
multigammaln(x, p) -> mvlgamma
pdist(x, p=2.0)
positive(x)
renorm(x, p, axis, max_norm)
sgn(x) -> sign
sinc(x)
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
scatter_add(input, dim, index, src)
scatter_reduce(input, dim, index, src, reduce, *, include_self=True)
from_dlpack(dlpack, *, device=None, copy=None)
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
svdvals(x)
svd(x, full_matrices=False)
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
fftshift(x, axes=None)
ifftshift(x, axes=None)
"""

#: ``paddle.io``.
DATA = """
ConcatDataset Dataset IterableDataset Subset get_worker_info random_split
SubsetRandomSampler
SequenceSampler(data_source) -> SequentialSampler
"""
