"""What is read in the source of a kernel, without a device."""

from __future__ import annotations

import pytest

import lamella as lm
from support.cuda_sources import AXPY, SCALE

SQUARE = """
__global__ void square(const float* x, float* y, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = x[i] * x[i];
}
__global__ void square_backward(const float* x, const float* dy, float* dx, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) dx[i] = 2 * x[i] * dy[i];
}
"""


@pytest.mark.parametrize(
    ("source", "name", "wanted"),
    [
        (AXPY, "axpy", "axpy(x: const float32*, y: float32*, alpha: float32, n: int32)"),
        (SCALE, "mine::scale<half, 2>", "mine::scale<half, 2>(x: const float16*, y: float16*, n: int64)"),
        (SQUARE, "square", "square(x: const float32*, y: float32*, n: int32)"),
        ("__global__ void f() {}", "f", "f()"),
        ("__global__ void f(void) {}", "f", "f()"),
        ("__global__ void f(float const *x, unsigned)", "f", "f(x: const float32*, parameter 2: uint32)"),
        ("__global__ void f(unsigned char, char *)", "f", "f(parameter 1: uint8, parameter 2: int8*)"),
        ("__global__ void f(const std::uint8_t* const x, uint64_t n)", "f", "f(x: const uint8*, n: uint64)"),
        ("__global__ void f(My* x, const void* y, float2* z)", "f", "f(x: *, y: const *, z: *)"),
        ("__global__ void f(/* int a, */ unsigned long n = 1, // x\n bool b)", "f", "f(n: uint64, b: bool)"),
        ("__global__ void f(thrust::complex<float>* x, __nv_bfloat16 b)", "f", "f(x: complex64*, b: bfloat16)"),
        ("template <class A, class B> static __global__ void f(A a, B* b)", "f<int, B>", "f<int, B>(a: int32, b: *)"),
        ("const char* s = \"__global__ void g(\"; __global__ void f(int n)", "f", "f(n: int32)"),
    ],
)  # fmt: skip
def test_parameters_are_read_in_the_source(source, name, wanted):
    assert lm.cuda.kernel(source, name).signature == wanted


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"source": 3}, TypeError, r"\[cuda.kernel\] source and name are texts"),
        ({"source": AXPY, "options": "-DA"}, TypeError, "options a list of texts"),
        ({"source": AXPY, "options": [1]}, TypeError, "options a list of texts"),
        ({"source": "int f();"}, ValueError, "no __global__ kernel"),
        ({"source": SQUARE}, ValueError, "the kernels square, square_backward: name="),
        ({"source": SQUARE, "name": "cube"}, ValueError, r"\[kernel cube\] .*: it has square, square_backward; "),
        ({"source": "__global__ void f(Pair p)"}, TypeError, r"\[kernel f\] the type of parameter 1, 'Pair p'"),
        ({"source": "__global__ void f(float** p)"}, TypeError, "parameter 1"),
        ({"source": "template <class T> __global__ void f(T p)", "name": "f"}, TypeError, "parameter 1, 'T p'"),
        ({"source": AXPY, "types": ["float*", "Pair"]}, TypeError, r"\[kernel axpy\] types\[1\] is .*'Pair'"),
    ],
)  # fmt: skip
def test_sources_that_do_not_serve_are_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        lm.cuda.kernel(**arguments)


def test_types_may_be_declared():
    source = "#define KERNEL(T) __global__ void fill(T* y, T value)\nKERNEL(float) { y[threadIdx.x] = value; }"
    made = lm.cuda.kernel(source, "fill", types=["float*", "float"])
    assert repr(made) == "<kernel fill(parameter 1: float32*, parameter 2: float32)>"
