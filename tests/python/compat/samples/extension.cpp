// Operators and functions that use what PyTorch's tests and tutorials on extensions use.
#include <torch/extension.h>

namespace samples {

at::Tensor multiply_add_cpu(const at::Tensor& a, const at::Tensor& b, double c) {
  TORCH_CHECK(a.sizes() == b.sizes());
  TORCH_CHECK(a.dtype() == at::kFloat);
  TORCH_INTERNAL_ASSERT(b.device().type() == at::DeviceType::CPU);
  at::Tensor x = a.contiguous();
  at::Tensor y = b.contiguous();
  at::Tensor result = torch::empty(x.sizes(), x.options());
  const float* px = x.data_ptr<float>();
  const float* py = y.data_ptr<float>();
  float* out = result.data_ptr<float>();
  for (int64_t i = 0; i < result.numel(); i++) out[i] = px[i] * py[i] + c;
  return result;
}

at::Tensor multiply_cpu(const at::Tensor& a, const at::Tensor& b) { return multiply_add_cpu(a, b, 0); }

// Writes into an argument.
void add_out_cpu(const at::Tensor& a, const at::Tensor& b, at::Tensor& out) {
  TORCH_CHECK(a.sizes() == b.sizes() && b.sizes() == out.sizes());
  TORCH_CHECK(out.is_contiguous());
  at::add_out(out, a, b);
}

TORCH_LIBRARY(samples, m) {
  m.def("multiply_add(Tensor a, Tensor b, float c) -> Tensor");
  m.def("multiply(Tensor a, Tensor b) -> Tensor");
  m.def("add_out(Tensor a, Tensor b, Tensor(a!) out) -> ()");
}
TORCH_LIBRARY_IMPL(samples, CPU, m) {
  m.impl("multiply_add", &multiply_add_cpu);
  m.impl("multiply", &multiply_cpu);
  m.impl("add_out", &add_out_cpu);
}

// Schemas of functions, defaults, texts and lists.
std::vector<at::Tensor> repeat(at::Tensor tensor, double scalar, int64_t count) {
  std::vector<at::Tensor> output;
  output.reserve(count);
  for (int64_t i = 0; i < count; ++i) output.push_back(tensor * scalar);
  return output;
}
int64_t compare(std::string a, std::string b) { return a.compare(b); }

TORCH_LIBRARY_FRAGMENT(samples, m) {
  m.set_python_module("samples.ops");
  m.def("repeat", repeat);
  m.def("repeat_with_defaults(Tensor tensor, float scalar = 1, int count = 1) -> Tensor[]", repeat);
  m.def("compare", compare);
}

// A recurrent cell whose backward pass is an overload of the operator.
torch::Tensor slope(torch::Tensor z, torch::Scalar alpha = 1.0) {
  auto e = z.exp();
  auto mask = (alpha * (e - 1)) < 0;
  return (z > 0).type_as(z) + mask.type_as(z) * (alpha * e);
}

std::vector<torch::Tensor> cell_forward(torch::Tensor input, torch::Tensor weights, torch::Tensor bias,
                                        torch::Tensor state) {
  auto both = torch::cat({state, input}, /*dim=*/1);
  auto parts = torch::addmm(bias, both, weights.transpose(0, 1)).chunk(2, /*dim=*/1);
  auto gate = torch::sigmoid(parts[0]);
  auto next = state + gate * torch::elu(parts[1], /*alpha=*/1.0);
  return {next, both, parts[0], parts[1]};
}
std::vector<torch::Tensor> cell_backward(torch::Tensor grad, torch::Tensor both, torch::Tensor open,
                                         torch::Tensor candidate, torch::Tensor weights) {
  auto gate = torch::sigmoid(open);
  auto d_open = grad * torch::elu(candidate);
  d_open *= (1 - gate) * gate;
  auto d_parts = torch::cat({d_open, grad * gate * slope(candidate)}, /*dim=*/1);
  auto d_both = d_parts.mm(weights);
  const auto size = grad.size(1);
  return {d_both.slice(/*dim=*/1, size), d_parts.t().mm(both), d_parts.sum(/*dim=*/0, /*keepdim=*/true),
          d_both.slice(/*dim=*/1, 0, size) + grad};
}

std::vector<torch::Tensor> cell(torch::Tensor input, torch::Tensor weights, torch::Tensor bias, torch::Tensor state) {
  static auto op = torch::Dispatcher::singleton().findSchemaOrThrow("samples::cell", "").typed<decltype(cell)>();
  return op.call(input, weights, bias, state);
}

class Cell : public torch::autograd::Function<Cell> {
 public:
  static std::vector<torch::Tensor> forward(torch::autograd::AutogradContext* ctx, torch::Tensor input,
                                            torch::Tensor weights, torch::Tensor bias, torch::Tensor state) {
    at::AutoDispatchBelowADInplaceOrView g;
    auto outputs = cell(input, weights, bias, state);
    ctx->save_for_backward({outputs[1], outputs[2], outputs[3], weights});
    return {outputs[0]};
  }
  static torch::autograd::tensor_list backward(torch::autograd::AutogradContext* ctx,
                                               torch::autograd::tensor_list grads) {
    auto saved = ctx->get_saved_variables();
    static auto op =
        torch::Dispatcher::singleton().findSchemaOrThrow("samples::cell", "backward").typed<decltype(cell_backward)>();
    auto found = op.call(grads[0].contiguous(), saved[0], saved[1], saved[2], saved[3]);
    return {found[0], found[1], found[2], found[3]};
  }
};

TORCH_LIBRARY_FRAGMENT(samples, m) {
  m.def("cell(Tensor input, Tensor weights, Tensor bias, Tensor state) -> Tensor[]");
  m.def("cell.backward(Tensor grad, Tensor both, Tensor open, Tensor candidate, Tensor weights) -> Tensor[]");
}
TORCH_LIBRARY_IMPL(samples, CPU, m) {
  m.impl(TORCH_SELECTIVE_NAME("cell"), TORCH_FN(cell_forward));
  m.impl(TORCH_SELECTIVE_NAME("cell.backward"), TORCH_FN(cell_backward));
}
TORCH_LIBRARY_IMPL(samples, Autograd, m) {
  m.impl("cell", [](torch::Tensor input, torch::Tensor weights, torch::Tensor bias, torch::Tensor state) {
    return Cell::apply(input, weights, bias, state);
  });
}

}  // namespace samples

// --- Functions and classes bound by pybind11.

struct Multiplier {
  Multiplier(int rows, int columns) {
    tensor_ = torch::ones({rows, columns}, torch::dtype(torch::kFloat64).requires_grad(true));
  }
  torch::Tensor forward(torch::Tensor weights) { return tensor_.mm(weights); }
  torch::Tensor get() const { return tensor_; }

 private:
  torch::Tensor tensor_;
};

torch::Tensor sigmoid_add(torch::Tensor x, torch::Tensor y) { return x.sigmoid() + y.sigmoid(); }
bool is_given(c10::optional<torch::Tensor> tensor) { return tensor.has_value(); }

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("sigmoid_add", &sigmoid_add, "sigmoid(x) + sigmoid(y)");
  m.def("is_given", &is_given);
  py::class_<Multiplier>(m, "Multiplier")
      .def(py::init<int, int>())
      .def("forward", &Multiplier::forward)
      .def("get", &Multiplier::get);
}
