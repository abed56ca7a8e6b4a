#include "ops/linalg/addmm.h"

#include <algorithm>
#include <array>

#include "engine/autograd/graph/running_pass.h"
#include "engine/autograd/recording/recorder.h"
#include "engine/core/host.h"
#include "engine/core/modes.h"
#include "engine/runtime/parallel.h"
#include "ops/creation/creation.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/bitwise.h"
#include "ops/elementwise/launch.h"
#include "ops/elementwise/logical.h"
#include "ops/elementwise/scaled_sums.h"
#include "ops/linalg/matmul.h"
#include "ops/linalg/products.h"
#include "ops/movement/cast.h"
#include "ops/reduce/sum.h"
#include "ops/runtime/cpu_loader.h"
#include "ops/shape/reshape.h"
#include "ops/support/autocast.h"
#include "ops/support/checks.h"
#include "ops/support/hidden.h"
#include "ops/support/layer.h"
#include "ops/support/unfollowed.h"

namespace lamella {
namespace {

/// Returns x1 @ x2 after checking that they have the given numbers of axes.
Tensor product(const Tensor& x1, std::size_t axes1, const Tensor& x2, std::size_t axes2, const char* op) {
  check_defined(x1, op);
  check_defined(x2, op);
  if (x1.ndim() != axes1 || x2.ndim() != axes2) {
    fail<ValueError>("[", op, "] needs tensors with ", axes1, " and ", axes2, " axes, got the shapes ", x1.shape(),
                     " and ", x2.shape());
  }
  if (axes1 == 3 && x1.size(0) != x2.size(0))
    fail<ValueError>("[", op, "] needs equally many matrices, got ", x1.size(0), " and ", x2.size(0));
  if (x1.size(-1) != x2.size(axes2 == 1 ? 0 : -2))
    fail<ValueError>("[", op, "] the inner sizes of ", x1.shape(), " and ", x2.shape(), " differ");
  return matmul(x1, x2);
}

bool is_one(Scalar x) { return x.kind() == Scalar::Kind::Int && x.to<std::int64_t>() == 1; }
bool is_zero(Scalar x) { return x.to<std::complex<double>>() == std::complex<double>(0); }

/// Throws TypeError if a factor is of a higher kind than the dtype that it multiplies.
void check_factor(Scalar factor, DType dtype, const char* argument, const char* op) {
  const bool fits = factor.kind() == Scalar::Kind::Bool || factor.kind() == Scalar::Kind::Int || is_complex(dtype) ||
                    (factor.kind() == Scalar::Kind::Float && is_floating(dtype));
  if (!fits)
    fail<TypeError>("[", op, "] ", argument,
                    " must not be of a higher kind (bool, integer, floating, complex) than the dtype ", dtype);
}

/// Throws ValueError if the input does not broadcast to `shape`.
void check_spreads(const Tensor& input, const Dims& shape, const char* op) {
  if (broadcast_shapes(input.shape(), shape, op) != shape)
    fail<ValueError>("[", op, "] input, of shape ", input.shape(), ", does not broadcast to ", shape);
}

/// True if added_outer() can compute Addr: the operands are not broadcast, and nothing but the tape follows the result.
bool takes_kernel(const Tensor& input, const Tensor& vec1, const Tensor& vec2, DType dtype) {
  const std::array<const Tensor*, 3> operands{&input, &vec1, &vec2};
  if (!cpu_kernels().matmul.added_outer[static_cast<std::size_t>(dtype)]) return false;
  if (autograd::modes().interceptors) return false;
  return std::ranges::all_of(
             operands,
             [&](const Tensor* x) { return x->dtype() == dtype && x->device().is_cpu() && !is_batched(*x); }) &&
         input.ndim() == 2 && input.size(0) == vec1.numel() && input.size(1) == vec2.numel() && input.is_contiguous() &&
         vec2.is_contiguous();
}

/// Returns beta * input + alpha * vec1 vec2^T in one pass, rounded as by Multiply and AddCMul.
Tensor added_outer(const Tensor& input, const Tensor& vec1, const Tensor& vec2, Scalar beta, Scalar alpha) {
  const Tensor out = empty(input.shape(), input.dtype(), input.device());
  const std::int64_t columns = vec2.numel();
  const auto bytes = [&](std::int64_t count) { return count * static_cast<std::int64_t>(item_size(input.dtype())); };
  const HostRelease release(out.numel());
  parallel_for(0, vec1.numel(), even_grain(vec1.numel(), columns), [&](std::int64_t begin, std::int64_t end) {
    cpu::AddedOuterArgs args;
    args.product.column = vec1->data + bytes(begin * vec1.strides()[0]);
    args.product.row = vec2->data;
    args.product.out = out->data + bytes(begin * columns);
    args.product.rows = end - begin;
    args.product.columns = columns;
    args.product.step = vec1.strides()[0];
    args.input = input->data + bytes(begin * columns);
    args.beta = beta.to<double>();
    args.alpha = alpha.to<double>();
    cpu_kernels().matmul.added_outer[static_cast<std::size_t>(input.dtype())](args);
  });
  return out;
}

Tensor scaled(const Tensor& x, Scalar factor) { return is_one(factor) ? x : multiply(x, factor); }

/// Addr for real numbers. The gradients of the vectors are matrix-vector products, which read the matrix once.
struct AddrLayer : OperatorLayer<AddrLayer> {
  static constexpr std::string_view name = "addr";

  static Tensor forward(Context& ctx, const Tensor& input, const Tensor& vec1, const Tensor& vec2, Scalar beta,
                        Scalar alpha) {
    save_with<Factors>(ctx, {beta, alpha}, vec1, vec2);
    return added_outer(input, vec1, vec2, beta, alpha);
  }
  static std::array<Tensor, 3> backward(Context& ctx, const Tensor& dy) {
    const auto [vec1, vec2] = ctx.saved_tensors<2>();
    const Factors& factors = ctx.state<Factors>();
    const auto& edges = ctx.node()->edges();
    std::array<Tensor, 3> grads;
    if (autograd::is_needed(edges[0])) grads[0] = scaled(dy, factors.beta);
    if (autograd::is_needed(edges[1])) grads[1] = scaled(matmul(dy, vec2), factors.alpha);
    if (autograd::is_needed(edges[2])) grads[2] = scaled(matmul(vec1, dy), factors.alpha);
    return grads;
  }

 private:
  struct Factors {
    Scalar beta = 1;
    Scalar alpha = 1;
  };
};

/// Returns input + alpha * y, written into the memory of y, which must have no other owner; undefined if the result is
/// recorded or followed.
Tensor added_in_place(const Tensor& input, const Tensor& y, Scalar alpha) {
  const std::array<const Tensor*, 2> followed{&input, &y};
  if (input.dtype() != y.dtype() || !is_unfollowed(followed)) return {};
  if (is_one(alpha)) {
    launch_elementwise(elementwise_op<Add>(), -1, followed, y, y.dtype());
  } else {
    const Tensor factor = full({}, alpha, y.dtype(), kCPU);
    const Tensor one = full({}, 1, y.dtype(), kCPU);
    const std::array<const Tensor*, 4> operands{&input, &y, &factor, &one};
    launch_elementwise(elementwise_op<AddCMul>(), -1, operands, y, y.dtype());
  }
  autograd::note_derived(followed, y);
  return y;
}

/// Returns beta * input + alpha * y, where y is a new tensor.
Tensor added(const Tensor& input, const Tensor& y, Scalar beta, Scalar alpha, const char* op) {
  check_defined(input, op);
  check_same_device(input, y, op);
  const DType dtype = promote_types(input.dtype(), y.dtype());
  check_factor(beta, dtype, "beta", op);
  check_factor(alpha, dtype, "alpha", op);
  check_spreads(input, y.shape(), op);
  if (is_zero(beta)) return cast(scaled(y, alpha), dtype);
  const Tensor added_to = scaled(input, beta);
  if (const Tensor sum = added_in_place(added_to, y, alpha); sum.defined()) return sum;
  if (is_one(alpha)) return add(added_to, cast(y, dtype));
  return addcmul(cast(added_to, dtype), cast(y, dtype), alpha);  // multiplies and adds in one pass
}

}  // namespace

Tensor Mm::call(const Tensor& x1, const Tensor& x2) { return product(x1, 2, x2, 2, info.name); }

Tensor Mv::call(const Tensor& x, const Tensor& vec) { return product(x, 2, vec, 1, info.name); }

Tensor Bmm::call(const Tensor& x1, const Tensor& x2) { return product(x1, 3, x2, 3, info.name); }

Tensor Inner::call(const Tensor& x1, const Tensor& x2) {
  check_defined(x1, info.name);
  check_defined(x2, info.name);
  check_dtype(x1, info.dtypes, info.name);
  check_dtype(x2, info.dtypes, info.name);
  if (x1.ndim() == 0 || x2.ndim() == 0) return multiply(x1, x2);
  if (x1.size(-1) != x2.size(-1))
    fail<ValueError>("[inner] the last sizes of ", x1.shape(), " and ", x2.shape(), " differ");
  return Tensordot::call(x1, x2, Dims{-1}, Dims{-1});
}

Tensor Addmm::call(const Tensor& input, const Tensor& mat1, const Tensor& mat2, Scalar beta, Scalar alpha) {
  if (autograd::autocast_active()) [[unlikely]]
    return call_in_autocast<Addmm>(input, mat1, mat2, beta, alpha);
  return added(input, product(mat1, 2, mat2, 2, info.name), beta, alpha, info.name);
}

Tensor Addmv::call(const Tensor& input, const Tensor& mat, const Tensor& vec, Scalar beta, Scalar alpha) {
  if (autograd::autocast_active()) [[unlikely]]
    return call_in_autocast<Addmv>(input, mat, vec, beta, alpha);
  return added(input, product(mat, 2, vec, 1, info.name), beta, alpha, info.name);
}

Tensor Addr::call(const Tensor& input, const Tensor& vec1, const Tensor& vec2, Scalar beta, Scalar alpha) {
  check_defined(input, info.name);
  check_defined(vec1, info.name);
  check_defined(vec2, info.name);
  const DType dtype = promote_types(input.dtype(), promote_types(vec1.dtype(), vec2.dtype()));
  if (dtype == DType::Bool) {
    const Tensor products = Outer::call(vec1, vec2);
    check_spreads(input, products.shape(), info.name);
    return logical_or(logical_and(input, !is_zero(beta)), logical_and(products, !is_zero(alpha)));
  }
  check_factor(alpha, dtype, "alpha", info.name);
  const bool in_one_pass = !is_zero(beta) && AddCMul::info.dtypes.contains(dtype) && vec1.ndim() == 1 &&
                           vec2.ndim() == 1 && input.device() == vec1.device() && input.device() == vec2.device();
  if (in_one_pass) {
    check_factor(beta, dtype, "beta", info.name);
    const Dims shape{vec1.numel(), vec2.numel()};
    check_spreads(input, shape, info.name);
    if (takes_kernel(input, vec1, vec2, dtype)) return AddrLayer::apply(input, vec1, vec2, beta, alpha);
    return addcmul(cast(scaled(input, beta), dtype), expand_dims(vec1, 1), vec2, alpha);
  }
  // Scales the vector, which is smaller than the matrix.
  return added(input, Outer::call(vec1, scaled(vec2, alpha)), beta, Scalar(1), info.name);
}

Tensor Baddbmm::call(const Tensor& input, const Tensor& batch1, const Tensor& batch2, Scalar beta, Scalar alpha) {
  if (autograd::autocast_active()) [[unlikely]]
    return call_in_autocast<Baddbmm>(input, batch1, batch2, beta, alpha);
  return added(input, product(batch1, 3, batch2, 3, info.name), beta, alpha, info.name);
}

Tensor Addbmm::call(const Tensor& input, const Tensor& batch1, const Tensor& batch2, Scalar beta, Scalar alpha) {
  if (autograd::autocast_active()) [[unlikely]]
    return call_in_autocast<Addbmm>(input, batch1, batch2, beta, alpha);
  const Tensor products = product(batch1, 3, batch2, 3, info.name);
  return added(input, Sum::call(products, Dims{0}, false, products.dtype()), beta, alpha, info.name);
}

}  // namespace lamella
