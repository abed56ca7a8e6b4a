// gelu(x + bias) and its gradient, each in one pass over memory; gelu(v) = v Phi(v), Hendrycks and Gimpel 2016.

#include <lamella/cuda.h>
#include <lamella/lamella.h>
#include <lamella/python.h>

namespace {

using lamella::Tensor;

constexpr float kRootHalf = 0.70710678f;       // 1 / sqrt(2)
constexpr float kDensityAtZero = 0.39894228f;  // 1 / sqrt(2 pi)

__global__ void forward_kernel(int64_t count, int64_t width, const float* x, const float* bias, float* y) {
  const int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  if (i >= count) return;
  const float v = x[i] + bias[i % width];
  y[i] = 0.5f * v * (1.0f + erff(v * kRootHalf));
}

// d gelu(v) / dv = Phi(v) + v phi(v)
__global__ void backward_kernel(int64_t count, int64_t width, const float* x, const float* bias, const float* dy,
                                float* dx) {
  const int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  if (i >= count) return;
  const float v = x[i] + bias[i % width];
  const float below = 0.5f * (1.0f + erff(v * kRootHalf));
  dx[i] = dy[i] * (below + v * kDensityAtZero * expf(-0.5f * v * v));
}

// Throws a ValueError for what the kernels do not take, which would be read as something else.
void check(const Tensor& x, const Tensor& bias, const char* op) {
  if (!x.device().is_cuda() || bias.device() != x.device())
    lamella::fail<lamella::ValueError>("[", op, "] x and bias are on one GPU, not on ", x.device(), " and ",
                                       bias.device());
  if (x.dtype() != lamella::DType::Float32 || bias.dtype() != x.dtype())
    lamella::fail<lamella::TypeError>("[", op, "] x and bias are float32, not ", x.dtype(), " and ", bias.dtype());
  if (x.ndim() == 0 || bias.ndim() != 1 || bias.numel() != x.shape().back())
    lamella::fail<lamella::ValueError>("[", op, "] bias has an element for each of x's last axis, shapes are ",
                                       x.shape(), " and ", bias.shape());
}

constexpr int kThreads = 256;
int blocks(int64_t count) { return static_cast<int>((count + kThreads - 1) / kThreads); }

Tensor forward(const Tensor& given, const Tensor& bias) {
  check(given, bias, "bias_gelu");
  const Tensor x = lamella::contiguous(given), b = lamella::contiguous(bias);
  Tensor y = lamella::empty_like(x);
  if (y.numel() == 0) return y;
  const lamella::cuda::DeviceGuard guard(x.device());
  const cudaStream_t stream = lamella::cuda::current_stream(x.device());
  forward_kernel<<<blocks(y.numel()), kThreads, 0, stream>>>(y.numel(), b.numel(), x.data<float>(), b.data<float>(),
                                                             y.data<float>());
  lamella::cuda::check_launch("bias_gelu");
  return y;
}

Tensor backward(const Tensor& given, const Tensor& bias, const Tensor& gradient) {
  check(given, bias, "bias_gelu_backward");
  const Tensor x = lamella::contiguous(given), b = lamella::contiguous(bias), dy = lamella::contiguous(gradient);
  Tensor dx = lamella::empty_like(x);
  if (dx.numel() == 0) return dx;
  const lamella::cuda::DeviceGuard guard(x.device());
  const cudaStream_t stream = lamella::cuda::current_stream(x.device());
  backward_kernel<<<blocks(dx.numel()), kThreads, 0, stream>>>(dx.numel(), b.numel(), x.data<float>(), b.data<float>(),
                                                               dy.data<float>(), dx.data<float>());
  lamella::cuda::check_launch("bias_gelu_backward");
  return dx;
}

}  // namespace

PYBIND11_MODULE(LAMELLA_EXTENSION_NAME, m) {
  lamella::python::init();
  m.def("forward", &forward, "gelu(x + bias) of float32 tensors on a GPU");
  m.def("backward", &backward, "The gradient of x");
}
