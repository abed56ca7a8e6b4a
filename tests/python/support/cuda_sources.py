"""Kernels in CUDA C++ that tests compile or read."""

AXPY = """
extern "C" __global__ void axpy(const float* x, float* y, float alpha, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] += alpha * x[i];
}
"""
SCALE = """
namespace mine {
template <class T, int kFactor = 3>
__global__ void __launch_bounds__(256) scale(const T* __restrict__ x, T *y, long long n) {  // y = factor x
  const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (i < n) y[i] = static_cast<T>(x[i] * static_cast<T>(kFactor));
}
}  // namespace mine
"""
