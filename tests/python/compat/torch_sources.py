"""Sources of an extension in PyTorch's dialect, in the forms that its tutorials have."""

SOURCE = r"""
#include <torch/extension.h>

#include <ATen/Parallel.h>
#include <c10/util/irange.h>

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::tensor_list;
using torch::autograd::variable_list;

// --- Functions of tensors, bound by name.

torch::Tensor swish_slope(torch::Tensor z) {
  auto s = torch::sigmoid(z);
  return (1 - s) * s * z + s;
}

std::vector<torch::Tensor> gates(torch::Tensor input, torch::Tensor weights, torch::Tensor bias, torch::Tensor state) {
  auto X = torch::cat({state, input}, /*dim=*/1);
  auto parts = torch::addmm(bias, X, weights.transpose(0, 1)).chunk(2, /*dim=*/1);
  auto gate = torch::sigmoid(parts[0]);
  auto candidate = torch::elu(parts[1], /*alpha=*/1.0);
  auto positive = (candidate > 0).type_as(candidate);
  return {gate * candidate, X.slice(/*dim=*/1, 0, state.size(1)), positive.sum(0, /*keepdim=*/true)};
}

// --- Layers.

class LinearFunction : public Function<LinearFunction> {
 public:
  static torch::Tensor forward(AutogradContext* ctx, torch::Tensor input, torch::Tensor weight,
                               torch::Tensor bias = torch::Tensor()) {
    ctx->save_for_backward({input, weight, bias});
    auto output = input.mm(weight.t());
    if (bias.defined()) output += bias.unsqueeze(0).expand_as(output);
    return output;
  }
  static tensor_list backward(AutogradContext* ctx, tensor_list grad_outputs) {
    auto saved = ctx->get_saved_variables();
    auto input = saved[0];
    auto weight = saved[1];
    auto bias = saved[2];
    auto grad_output = grad_outputs[0];
    auto grad_input = grad_output.mm(weight);
    auto grad_weight = grad_output.t().mm(input);
    auto grad_bias = torch::Tensor();
    if (bias.defined()) grad_bias = grad_output.sum(0);
    return {grad_input, grad_weight, grad_bias};
  }
};

class Scaled : public Function<Scaled> {
 public:
  static variable_list forward(AutogradContext* ctx, const variable_list& xs, double factor, std::string mode) {
    ctx->saved_data["factor"] = factor;
    ctx->saved_data["mode"] = mode;
    ctx->saved_data["sizes"] = xs[0].sizes().vec();
    variable_list results;
    for (const auto& x : xs) results.push_back(x * factor);
    auto count = torch::full({}, static_cast<int64_t>(xs.size()), torch::kLong);
    ctx->mark_non_differentiable({count});
    results.push_back(count);
    return results;
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    auto mode = ctx->saved_data["mode"].toStringRef();
    TORCH_CHECK(ctx->saved_data["sizes"].toIntVector().size() == 1, "the sizes are lost");
    variable_list results;
    for (size_t i = 0; i + 1 < grads.size(); ++i) results.push_back(grads[i] * ctx->saved_data["factor"].toDouble());
    if (mode == "too few") return results;
    results.emplace_back();
    results.push_back(mode == "too many" ? torch::ones({}) : torch::Tensor());
    return results;
  }
};

class InPlace : public Function<InPlace> {
 public:
  static torch::Tensor forward(AutogradContext* ctx, torch::Tensor x) {
    x.mul_(2);
    ctx->mark_dirty({x});
    return x;
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    TORCH_CHECK(ctx->needs_input_grad(0));
    return {grads[0] * 2};
  }
};

// --- Registered operators.

at::Tensor muladd_cpu(const at::Tensor& a, const at::Tensor& b, double c) {
  TORCH_CHECK(a.sizes() == b.sizes(), "sizes ", a.sizes(), " and ", b.sizes(), " differ");
  TORCH_CHECK(a.dtype() == at::kFloat);
  TORCH_INTERNAL_ASSERT(a.device().type() == at::DeviceType::CPU);
  at::Tensor a_contig = a.contiguous();
  at::Tensor b_contig = b.contiguous();
  at::Tensor result = torch::empty(a_contig.sizes(), a_contig.options());
  const float* a_ptr = a_contig.data_ptr<float>();
  const float* b_ptr = b_contig.data_ptr<float>();
  float* result_ptr = result.data_ptr<float>();
  for (const auto i : c10::irange(result.numel())) result_ptr[i] = a_ptr[i] * b_ptr[i] + c;
  return result;
}
at::Tensor muladd_meta(const at::Tensor& a, const at::Tensor&, double) { return empty_like(a); }
at::Tensor muladd(const at::Tensor& a, const at::Tensor& b, double c) {
  static auto op = torch::Dispatcher::singleton()
                       .findSchemaOrThrow("lamella_test_torch::muladd", "")
                       .typed<decltype(muladd)>();
  return op.call(a, b, c);
}
class MulAdd : public Function<MulAdd> {
 public:
  static at::Tensor forward(AutogradContext* ctx, at::Tensor a, at::Tensor b, double c) {
    at::AutoDispatchBelowADInplaceOrView guard;
    ctx->save_for_backward({a, b});
    return muladd(a, b, c);
  }
  static tensor_list backward(AutogradContext* ctx, tensor_list grads) {
    const auto saved = ctx->get_saved_variables();
    return {grads[0] * saved[1], grads[0] * saved[0], at::Tensor()};
  }
};
at::Tensor muladd_autograd(const at::Tensor& a, const at::Tensor& b, double c) { return MulAdd::apply(a, b, c); }

at::Tensor& add_into(at::Tensor& self, const at::Tensor& other) { return self.add_(other); }
std::tuple<at::Tensor, int64_t> lists(at::TensorList xs, at::IntArrayRef sizes, const c10::optional<at::Tensor>& weight,
                                      at::OptionalIntArrayRef axes, c10::string_view mode, const at::Scalar& value,
                                      std::optional<at::ScalarType> type) {
  at::Tensor sum = xs[0];
  for (const auto& x : xs.slice(1)) sum = sum + x;
  if (weight.has_value()) sum = sum * *weight;
  if (axes) sum = sum.sum(axes);
  if (mode == "double") sum = 2 * sum;
  if (type) sum = sum.to(*type);
  return {sum * value, static_cast<int64_t>(sizes.size())};
}
// The schema is this function's.
at::Tensor twice(const at::Tensor& x) { return x + x; }

TORCH_LIBRARY(lamella_test_torch, m) {
  m.def("muladd(Tensor a, Tensor b, float c) -> Tensor", {at::Tag::pt2_compliant_tag});
  m.def("add_into(Tensor(a!) self, Tensor other) -> Tensor(a!)", torch::dispatch(c10::DispatchKey::CPU, &add_into));
  m.def("twice", twice);
}
TORCH_LIBRARY_FRAGMENT(lamella_test_torch, m) {
  m.def(
      "lists(Tensor[] xs, int[] sizes, Tensor? weight, int[]? axes, str mode, Scalar value, ScalarType? type) -> "
      "(Tensor, int)",
      TORCH_FN(lists));
}
TORCH_LIBRARY_IMPL(lamella_test_torch, CPU, m) { m.impl("muladd", &muladd_cpu); }
TORCH_LIBRARY_IMPL(lamella_test_torch, Meta, m) { m.impl("muladd", TORCH_FN(muladd_meta)); }
TORCH_LIBRARY_IMPL(lamella_test_torch, Autograd, m) { m.impl("muladd", muladd_autograd); }

at::Tensor call_registered(const std::string& what, at::Tensor x, at::Tensor y) {
  auto& dispatcher = c10::Dispatcher::singleton();
  if (what == "add_into") {
    auto op = dispatcher.findSchemaOrThrow("lamella_test_torch::add_into", "")
                  .typed<at::Tensor&(at::Tensor&, const at::Tensor&)>();
    return op.call(x, y);
  }
  if (what == "twice") {
    return dispatcher.findSchemaOrThrow("lamella_test_torch::twice", "").typed<at::Tensor(const at::Tensor&)>().call(x);
  }
  if (what == "boxed") {
    std::vector<c10::IValue> stack{x, y, 1.0};
    dispatcher.findSchemaOrThrow("lamella_test_torch::muladd", "").callBoxed(stack);
    return stack.at(0).toTensor();
  }
  if (what == "lists") {
    auto op = dispatcher.findSchemaOrThrow("lamella_test_torch::lists", "");
    std::vector<c10::IValue> stack{std::vector<at::Tensor>{x, x}, std::vector<int64_t>{1, 2}, y,
                                   std::vector<int64_t>{0}, "double", at::Scalar(3), at::kDouble};
    op.callBoxed(stack);
    TORCH_CHECK(stack.at(1).toInt() == 2);
    return stack.at(0).toTensor();
  }
  dispatcher.findSchemaOrThrow("lamella_test_torch::none", "");
  return x;
}

// --- at::Tensor.

#define EXPECT(condition) TORCH_CHECK(condition)
void check_tensor() {
  auto x = torch::arange(6, torch::kFloat).view({2, 3});
  EXPECT(x.dim() == 2 && x.size(-1) == 3 && x.stride(0) == 3 && x.numel() == 6 && x.is_contiguous());
  EXPECT(x.scalar_type() == torch::kFloat32 && x.dtype() == at::ScalarType::Float && x.is_floating_point());
  EXPECT(x.device().is_cpu() && x.device() == at::Device("cpu") && !x.is_cuda() && x.element_size() == 4);
  EXPECT(x.options().dtype() == torch::kFloat && x.to(torch::kDouble).dtype() == torch::kDouble);
  EXPECT(x.to(torch::dtype(torch::kInt)).sum().item<int>() == 15 && x[1][2].item().toDouble() == 5);
  EXPECT(!x.t().is_contiguous() && x.t().contiguous().is_contiguous() && x.contiguous().is_same(x));
  EXPECT(x.t().sizes() == std::vector<int64_t>({3, 2}) && x.permute({1, 0}).equal(x.t()));
  EXPECT(x.narrow(1, 1, 2).storage_offset() == 1 && x.select(0, 1).storage_offset() == 3);
  EXPECT(x.slice(1, 0, 3, 2).sum().item<float>() == 10 && x.slice(0, 1).size(0) == 1);
  EXPECT(x.split(2, 1).size() == 2 && x.split(2, 1)[1].size(1) == 1 && x.unbind(0).size() == 2);
  auto [values, indices] = x.max(1);
  EXPECT(values.equal(torch::tensor({2.0, 5.0})) && indices.equal(torch::tensor({2, 2})));
  EXPECT(x.expand({4, -1, 3}).size(1) == 2 && x.squeeze(0).dim() == 2 && x.unsqueeze(0).squeeze().dim() == 2);
  auto a = x.accessor<float, 2>();
  EXPECT(a[1][0] == 3 && a.size(0) == 2);
  a[1][0] = -3;
  EXPECT(x.min().item<float>() == -3 && x.clamp(0).min().item<float>() == 0);
  EXPECT((x += 1).add_(x, 2).sub_(1).mul_(2).div_(2).sum().item<float>() == 3 * 15 - 6);
  EXPECT(torch::zeros_like(x, torch::kLong).dtype() == torch::kLong && torch::ones({2}, x.options()).dim() == 1);
  EXPECT(torch::stack({x, x}).size(0) == 2 && torch::where(x > 0, x, torch::zeros_like(x)).min().item<float>() >= 0);
  EXPECT(torch::allclose(x, x + 1e-9) && (x == x).all().item<bool>() && torch::eye(3).sum().item<double>() == 3);
  EXPECT(torch::full({2}, 7, torch::kInt)[0].item<int64_t>() == 7 && torch::empty({0, 3}).numel() == 0);
  EXPECT(torch::tensor({1.5, 2.5}, torch::kDouble).dtype() == torch::kDouble);
  EXPECT(torch::tensor(true).dtype() == torch::kBool && torch::tensor(3).dtype() == torch::kLong);
  auto w = torch::randn({3}, torch::requires_grad());
  (w * w).sum().backward();
  EXPECT(w.requires_grad() && w.is_leaf() && w.grad().equal(2 * w.detach()));
  EXPECT(torch::autograd::grad({(w * 3).sum()}, {w})[0].equal(torch::full({3}, 3.0)));
  float memory[4] = {1, 2, 3, 4};
  bool freed = false;
  {
    auto blob = torch::from_blob(memory, {2, 2}, [&freed](void*) { freed = true; });
    blob.mul_(2);
  }
  EXPECT(freed && memory[3] == 8 && torch::from_blob(memory, {2}, {2}).equal(torch::tensor({2.0, 6.0})));
  std::vector<int> marks(1000);
  at::parallel_for(0, 1000, 10, [&](int64_t begin, int64_t end) { for (auto i = begin; i < end; ++i) marks[i] += 1; });
  EXPECT(std::all_of(marks.begin(), marks.end(), [](int m) { return m == 1; }));
  at::NoGradGuard no_grad;
  EXPECT(!(w * 2).requires_grad());
  const at::OptionalDeviceGuard guard(device_of(x));
  std::ostringstream text;
  text << torch::ones({2}) << torch::Tensor();
  EXPECT(text.str() == "1 1 [ CPUFloatType{[2]} ][ Tensor (undefined) ]");
}

at::Tensor fails(const std::string& kind, at::Tensor x) {
  TORCH_CHECK(kind != "check", "x has the shape ", x.sizes());
  TORCH_CHECK(kind != "bare");
  TORCH_CHECK_VALUE(kind != "value", "a value");
  TORCH_CHECK_INDEX(kind != "index", "an index");
  TORCH_CHECK_NOT_IMPLEMENTED(kind != "not implemented", "not yet");
  if (kind == "dispatch") AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "fails", [&] { x = x + scalar_t(1); });
  if (kind == "view") return x.t().view({-1});
  if (kind == "accessor") x.accessor<float, 3>();
  if (kind == "data") x.data_ptr<double>();
  if (kind == "item") x.item();
  return x;
}
at::Tensor half_of(at::Tensor x) {
  auto y = torch::empty_like(x);
  AT_DISPATCH_ALL_TYPES_AND(at::kHalf, x.scalar_type(), "half_of", [&] {
    for (int64_t i = 0; i < x.numel(); ++i) {
      y.data_ptr<scalar_t>()[i] = static_cast<scalar_t>(static_cast<float>(x.data_ptr<scalar_t>()[i]) / 2);
    }
  });
  return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("swish_slope", &swish_slope);
  m.def("gates", &gates);
  m.def("linear", [](at::Tensor x, at::Tensor w, std::optional<at::Tensor> b) {
    return b ? LinearFunction::apply(x, w, *b) : LinearFunction::apply(x, w);
  });
  m.def("linear_undefined", [](at::Tensor x, at::Tensor w) { return LinearFunction::apply(x, w, torch::Tensor()); });
  m.def("scaled", [](variable_list xs, double f, std::string mode) { return Scaled::apply(xs, f, mode); });
  m.def("in_place", [](at::Tensor x) { return InPlace::apply(x); });
  m.def("muladd", &muladd);
  m.def("call_registered", &call_registered);
  m.def("check_tensor", &check_tensor);
  m.def("fails", &fails);
  m.def("half_of", &half_of);
  m.def("sizes", [](at::IntArrayRef sizes, at::Scalar value) { return std::make_tuple(sizes.vec(), value); });
  m.def("count", [](at::TensorList xs) { return xs.size(); });
}
"""
