// One mistake in each operator: what Lamella says of it is in test_broken_extensions.py.
#include <lamella/lamella.h>
#include <lamella/library.h>

#include <stdexcept>

namespace {

using lamella::AutoDispatchBelowAutograd;
using lamella::Context;
using lamella::Dispatcher;
using lamella::Function;
using lamella::Tensor;
using lamella::registry::Arg;
using lamella::registry::CallContext;
using lamella::registry::KernelFunction;
using lamella::registry::Value;

Tensor copy(const Tensor& x) { return lamella::clone(x); }
Tensor first(const Tensor& x, const Tensor&) { return lamella::clone(x); }

// Functions of two tensors whose backward pass is wrong.
struct TooFew : Function<TooFew> {
  static Tensor forward(Context&, const Tensor& x, const Tensor& y) { return x * y; }
  static std::vector<Tensor> backward(Context&, const Tensor& dz) { return {dz}; }
};
struct OtherShape : Function<OtherShape> {
  static Tensor forward(Context&, const Tensor& x, const Tensor& y) { return x * y; }
  static std::vector<Tensor> backward(Context&, const Tensor& dz) { return {lamella::ones({7}), dz}; }
};
struct Throws : Function<Throws> {
  static Tensor forward(Context&, const Tensor& x, const Tensor& y) { return x * y; }
  static std::vector<Tensor> backward(Context&, const Tensor&) { throw std::runtime_error("backward's own words"); }
};

// Calls its operator above autograd again.
Tensor no_guard(const Tensor& x) {
  static const auto op = Dispatcher::singleton().find_schema_or_throw("kinds::no_guard").typed<Tensor(const Tensor&)>();
  return op.call(x);
}

void leaves_results(const CallContext&, std::span<const Arg>, std::span<Value>) {}
void gives_a_number(const CallContext&, std::span<const Arg>, std::span<Value> results) { results[0] = Value(5.0); }

}  // namespace

LAMELLA_LIBRARY(kinds, m) {
  m.def("fine(Tensor x) -> Tensor", &copy);
  for (const char* schema :
       {"no_kernel(Tensor x) -> Tensor", "no_guard(Tensor x) -> Tensor", "other_type(Tensor x) -> Tensor",
        "huge(Tensor x) -> Tensor", "typed(Tensor x) -> Tensor", "nowhere(Tensor x) -> Tensor",
        "leaves(Tensor x) -> Tensor", "number(Tensor x) -> Tensor", "lies(Tensor x) -> Tensor",
        "returns_new_(Tensor(a!) x) -> Tensor(a!)", "twice(Tensor x) -> (Tensor, Tensor)",
        "in_a_loop(Tensor x) -> Tensor", "too_few(Tensor x, Tensor y) -> Tensor",
        "other_shape(Tensor x, Tensor y) -> Tensor", "throws(Tensor x, Tensor y) -> Tensor"}) {
    m.def(schema);
  }
}
LAMELLA_LIBRARY_IMPL(kinds, CPU, m) {
  m.impl("no_guard", &copy);
  m.impl("other_type", [](const Tensor& x) {
    x.data<double>()[0] = 1;
    return x;
  });
  m.impl("huge", [](const Tensor&) {
    return lamella::empty({int64_t{1} << 40, int64_t{1} << 10}, lamella::DType::Float32, lamella::kCPU);
  });
  m.impl("typed", [](const Tensor& x) {
    return Dispatcher::singleton()
        .find_schema_or_throw("kinds::fine")
        .typed<Tensor(const Tensor&, double)>()
        .call(x, 1);
  });
  m.impl("nowhere", [](const Tensor& x) {
    return Dispatcher::singleton().find_schema_or_throw("kinds::fin").typed<Tensor(const Tensor&)>().call(x);
  });
  m.impl("leaves", KernelFunction::boxed(&leaves_results));
  m.impl("number", KernelFunction::boxed(&gives_a_number));
  m.impl("lies", &copy);
  m.impl("returns_new_", [](Tensor& x) { return lamella::clone(x); });
  m.impl("twice", [](const Tensor& x) {
    const Tensor y = lamella::clone(x);
    return std::tuple(y, y);
  });
  m.impl("in_a_loop", [](const Tensor& x) {
    lamella::parallel_for(0, 1 << 20, 16, [](int64_t, int64_t end) {
      if (end > 1000) throw std::runtime_error("from a thread of the loop");
    });
    return x;
  });
  for (const char* name : {"too_few", "other_shape", "throws"}) m.impl(name, &first);
}
// The same function for the same key, from another place: no conflict.
LAMELLA_LIBRARY_IMPL(kinds, CPU, m) { m.impl("lies", &copy); }
LAMELLA_LIBRARY_IMPL(kinds, Meta, m) {
  m.impl("lies", [](const Tensor&) { return lamella::empty({1, 2, 3}, lamella::DType::Float32, lamella::kMeta); });
}
LAMELLA_LIBRARY_IMPL(kinds, Autograd, m) {
  m.impl("no_guard", &no_guard);
  m.impl("too_few", [](const Tensor& x, const Tensor& y) { return TooFew::apply(x, y); });
  m.impl("other_shape", [](const Tensor& x, const Tensor& y) { return OtherShape::apply(x, y); });
  m.impl("throws", [](const Tensor& x, const Tensor& y) { return Throws::apply(x, y); });
}
