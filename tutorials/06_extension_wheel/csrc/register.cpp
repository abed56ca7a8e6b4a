#include <lamella/library.h>
#include <lamella/python.h>

#include "function.h"

LAMELLA_LIBRARY(custom_ops, m) {
  m.def("hypot(Tensor x, Tensor y) -> Tensor");
  m.doc("hypot", "sqrt(x*x + y*y), for float32 tensors of one shape.");
}

PYBIND11_MODULE(LAMELLA_EXTENSION_NAME, m) {
  lamella::python::init();
  m.def("hypot", &custom_ops::hypot, "sqrt(x*x + y*y)");
}
