#include "engine/runtime/device_backend.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "engine/autograd/backward/backward.h"
#include "engine/core/allocator.h"
#include "engine/core/error.h"
#include "engine/registry/library.h"
#include "engine/runtime/device_query.h"
#include "engine/runtime/generator.h"
#include "ops/extension/host_fallback.h"
#include "ops/index/index.h"
#include "ops/registration/all_ops.h"

// The device exists for the whole program, as a process has one kind of extension devices.

namespace lamella {
namespace {

struct Counts {
  std::atomic<int> from_host{0};
  std::atomic<int> to_host{0};
  std::atomic<int> on_device{0};
  std::atomic<int> between{0};
  std::atomic<int> strided{0};
  std::atomic<int> fills{0};
  std::atomic<int> streams{0};
  std::atomic<void*> last_stream{nullptr};
};

/// Device backend on the host's memory under other addresses; counts what the engine asks for.
class Shelf final : public DeviceBackend {
 public:
  static inline Counts counts;
  /// True if it copies strided tensors, fills, and copies from device to device by itself.
  static inline std::atomic<bool> able{false};

  static char* real(const void* pointer) {
    return reinterpret_cast<char*>(reinterpret_cast<std::uintptr_t>(pointer) ^ (std::uintptr_t{1} << 60));
  }

  int device_count() const noexcept override { return 3; }
  void* allocate(int, std::size_t bytes) override { return real(std::malloc(bytes)); }
  void deallocate(int, void* pointer) noexcept override { std::free(real(pointer)); }
  void copy_from_host(int, void* to, const void* from, std::size_t bytes, void* stream) override {
    ++counts.from_host;
    counts.last_stream = stream;
    std::memcpy(real(to), from, bytes);
  }
  void copy_to_host(int, void* to, const void* from, std::size_t bytes, void*) override {
    ++counts.to_host;
    std::memcpy(to, real(from), bytes);
  }
  void copy_on_device(int, void* to, const void* from, std::size_t bytes, void*) override {
    ++counts.on_device;
    std::memcpy(real(to), real(from), bytes);
  }
  bool copy_between_devices(int, void* to, int, const void* from, std::size_t bytes) override {
    if (!able) return false;
    ++counts.between;
    std::memcpy(real(to), real(from), bytes);
    return true;
  }
  bool copy_strided(const Tensor& to, const Tensor& from, void*) override {
    if (!able || to.dtype() != from.dtype() || to.ndim() != 2) return false;
    ++counts.strided;
    const std::size_t item = item_size(to.dtype());
    for (std::int64_t i = 0; i < to.size(0); ++i) {
      for (std::int64_t j = 0; j < to.size(1); ++j) {
        std::memcpy(
            real(to.raw_data()) + (i * to.strides()[0] + j * to.strides()[1]) * static_cast<std::int64_t>(item),
            real(from.raw_data()) + (i * from.strides()[0] + j * from.strides()[1]) * static_cast<std::int64_t>(item),
            item);
      }
    }
    return true;
  }
  bool fill(const Tensor& to, const void* value, void*) override {
    if (!able || !to.is_contiguous()) return false;
    ++counts.fills;
    const std::size_t item = item_size(to.dtype());
    for (std::size_t i = 0; i < static_cast<std::size_t>(to.numel()); ++i)
      std::memcpy(real(to.raw_data()) + i * item, value, item);
    return true;
  }
  void synchronize(int) override {}
  void* create_stream(int) override {
    ++counts.streams;
    return new int(0);
  }
  void destroy_stream(int, void* stream) noexcept override {
    --counts.streams;
    delete static_cast<int*>(stream);
  }
};

constexpr Device kShelf{DeviceType::PrivateUse1, 0};

Library& library() {
  static auto* const made = [] {
    register_device_backend("shelf", std::make_unique<Shelf>());
    auto* const own = new Library(Library::Kind::Impl, "_", DispatchKey::PrivateUse1);
    own->fallback(registry::KernelFunction::boxed(host_fallback));
    return own;
  }();
  return *made;
}

class Backend : public ::testing::Test {
 protected:
  void SetUp() override { library(); }
  void TearDown() override { Shelf::able = false; }

  static Tensor counting(const Dims& shape) {
    return to_device(reshape(arange(0, Scalar(count_elements(shape)), 1, DType::Float32, kCPU), shape), kShelf);
  }
  static std::vector<float> values(const Tensor& x) {
    const Tensor host = contiguous(to_device(x, kCPU));
    return {host.data<float>(), host.data<float>() + host.numel()};
  }
};

TEST_F(Backend, HasAName) {
  EXPECT_EQ(kShelf.str(), "shelf:0");
  EXPECT_EQ(Device::parse("shelf:2"), Device(DeviceType::PrivateUse1, 2));
  EXPECT_EQ(Device::parse("privateuse1:1"), Device(DeviceType::PrivateUse1, 1));
  EXPECT_THROW(Device::parse("shelf:"), ValueError);
  EXPECT_THROW(Device::parse("shelves"), ValueError);
  rename_privateuse1_backend("shelf");
  EXPECT_THROW(rename_privateuse1_backend("drawer"), RuntimeError);
  EXPECT_THROW(register_device_backend("shelf", std::make_unique<Shelf>()), RuntimeError);
  EXPECT_THROW(register_device_backend("shelf", nullptr), ValueError);
  EXPECT_EQ(device_count(DeviceType::PrivateUse1), 3);
  EXPECT_THROW(device_backend(Device(DeviceType::PrivateUse1, 3)), RuntimeError);
  EXPECT_THROW(empty({1}, DType::Float32, Device(DeviceType::PrivateUse1, 3)), RuntimeError);
  EXPECT_THROW(default_generator(Device(DeviceType::PrivateUse1, 3)), RuntimeError);
}

TEST_F(Backend, TheCurrentDeviceIsOfTheThread) {
  {
    const BackendDeviceGuard guard(Device(DeviceType::PrivateUse1, 2));
    EXPECT_EQ(Device::parse("shelf").index, 2);
    std::thread([] { EXPECT_EQ(current_device_index(), 0); }).join();
    const BackendDeviceGuard none(kCPU);
    EXPECT_EQ(current_device_index(), 2);
  }
  EXPECT_EQ(current_device_index(), 0);
  EXPECT_THROW(set_current_device_index(3), RuntimeError);
  EXPECT_THROW(set_current_device_index(-1), RuntimeError);
}

TEST_F(Backend, WorkGoesToTheCurrentStream) {
  {
    const BackendStream stream(kShelf);
    EXPECT_EQ(Shelf::counts.streams, 1);
    {
      const BackendStreamGuard guard(stream);
      EXPECT_EQ(backend_stream(kShelf), stream.get());
      EXPECT_EQ(backend_stream(Device(DeviceType::PrivateUse1, 1)), nullptr);
      counting({2});
      EXPECT_EQ(Shelf::counts.last_stream, stream.get());
      EXPECT_EQ(empty({1}, DType::Float32, kShelf)->storage->context, stream.get());
    }
    counting({2});
    EXPECT_EQ(Shelf::counts.last_stream, nullptr);
    stream.synchronize();
  }
  EXPECT_EQ(Shelf::counts.streams, 0);
}

TEST_F(Backend, CopiesAreTheSameWhateverTheDeviceCanDo) {
  for (const bool able : {false, true}) {
    Shelf::able = able;
    const Tensor x = counting({2, 3});
    EXPECT_EQ(values(matrix_transpose(x)), (std::vector<float>{0, 3, 1, 4, 2, 5}));
    EXPECT_EQ(values(contiguous(matrix_transpose(x))), (std::vector<float>{0, 3, 1, 4, 2, 5}));
    EXPECT_EQ(values(broadcast_to(reshape(counting({2}), {2, 1}), {2, 2}) + 0.0), (std::vector<float>{0, 0, 1, 1}));
    EXPECT_EQ(values(index(x, {Slice{{}, {}, -1}, Slice{1, 3, 1}})), (std::vector<float>{4, 5, 1, 2}));
    const Tensor whole = zeros({3, 4}, DType::Float32, kShelf);
    copy_(index(whole, {Slice{1, {}, 1}, Slice{1, 3, 1}}), ones({2, 2}));
    EXPECT_EQ(values(whole), (std::vector<float>{0, 0, 0, 0, 0, 1, 1, 0, 0, 1, 1, 0}));
    EXPECT_EQ(values(cast(cast(x, DType::Int64), DType::Float32)), values(x));
    const Tensor far = to_device(x, Device(DeviceType::PrivateUse1, 2));
    EXPECT_EQ(far.device().index, 2);
    EXPECT_EQ(values(far), values(x));
    EXPECT_EQ(values(full({2}, 3.0, DType::Float32, kShelf)), (std::vector<float>{3, 3}));
  }
  EXPECT_GT(Shelf::counts.between, 0);
  EXPECT_GT(Shelf::counts.strided, 0);
  EXPECT_GT(Shelf::counts.fills, 0);
}

TEST_F(Backend, ContiguousCopiesAreOneCall) {
  const Tensor x = counting({8, 8});
  const int before = Shelf::counts.on_device;
  const Tensor y = clone(x);
  EXPECT_EQ(Shelf::counts.on_device, before + 1);
  const int sent = Shelf::counts.from_host;
  to_device(ones({64, 64}), kShelf);
  EXPECT_EQ(Shelf::counts.from_host, sent + 1);
}

TEST_F(Backend, KernelsOfBuiltInOperators) {
  Library kernels(Library::Kind::Impl, "lamella", DispatchKey::PrivateUse1);
  static int calls = 0;
  static const void* given = nullptr;
  kernels.impl("multiply", [](const Tensor& a, const Tensor& b) {
    ++calls;
    EXPECT_TRUE(a.is_contiguous() && b.is_contiguous() && a.shape() == b.shape() && a.device() == b.device());
    Tensor y = empty_like(a);
    for (std::int64_t i = 0; i < a.numel(); ++i) {
      reinterpret_cast<float*>(Shelf::real(y.raw_data()))[i] = reinterpret_cast<float*>(Shelf::real(a.raw_data()))[i] *
                                                               reinterpret_cast<float*>(Shelf::real(b.raw_data()))[i];
    }
    given = y.raw_data();
    return y;
  });
  const Tensor x = counting({2, 3}).set_requires_grad(true);
  const Tensor y = x * 2.0;
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(y.raw_data(), given) << "a new result is taken as it is";
  EXPECT_EQ(values(matrix_transpose(x) * counting({2})), (std::vector<float>{0, 3, 0, 4, 0, 5}));
  const Tensor z = counting({3});
  const void* const place = z.raw_data();
  mul_(z, z);
  EXPECT_EQ(z.raw_data(), place) << "a tensor that is written in place stays where it is";
  EXPECT_EQ(values(z), (std::vector<float>{0, 1, 4}));
  calls = 0;
  autograd::backward(sum(x * x));
  EXPECT_GT(calls, 1) << "gradients are computed by kernels too";
  EXPECT_EQ(values(x.grad()), (std::vector<float>{0, 2, 4, 6, 8, 10}));
  // The table of operators gives the same operator.
  const auto op = Dispatcher::singleton().find_schema_or_throw("lamella::multiply");
  registry::Value result;
  const Scalar two(2.0);
  const registry::Arg args[] = {x, two};
  op.call(args, &result);
  EXPECT_TRUE(result.tensor().requires_grad());
  kernels.reset();
  calls = 0;
  EXPECT_EQ(values(x.detach() * x.detach()), (std::vector<float>{0, 1, 4, 9, 16, 25}));
  EXPECT_EQ(calls, 0);
}

TEST_F(Backend, ReductionsSeeRows) {
  Library kernels(Library::Kind::Impl, "lamella", DispatchKey::PrivateUse1);
  static Dims seen;
  kernels.impl("max", [](const Tensor& x, const std::optional<std::vector<std::int64_t>>& axis, bool keepdims) {
    seen = x.shape();
    EXPECT_TRUE(axis && *axis == std::vector<std::int64_t>{1} && !keepdims);
    Tensor y = empty({x.size(0)}, x.dtype(), x.device());
    const auto* from = reinterpret_cast<float*>(Shelf::real(x.raw_data()));
    for (std::int64_t r = 0; r < x.size(0); ++r) {
      reinterpret_cast<float*>(Shelf::real(y.raw_data()))[r] =
          *std::max_element(from + r * x.size(1), from + (r + 1) * x.size(1));
    }
    return y;
  });
  const Tensor x = counting({2, 3, 4});
  EXPECT_EQ(values(max(x, Dims{0, 2})), (std::vector<float>{15, 19, 23}));
  EXPECT_EQ(seen, (Dims{3, 8}));
  EXPECT_EQ(max(x, Dims{1}, true).shape(), (Dims{2, 1, 4}));
  EXPECT_EQ(values(max(x)), (std::vector<float>{23}));
}

TEST_F(Backend, ManyThreadsShareADevice) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([t] {
      const Device device(DeviceType::PrivateUse1, t % 3);
      const BackendDeviceGuard guard(device);
      for (int i = 0; i < 50; ++i) {
        const Tensor x = full({64}, t, DType::Float32, device).set_requires_grad(true);
        autograd::backward(sum(x * x));
        EXPECT_EQ(values(x.grad()), std::vector<float>(64, static_cast<float>(2 * t)));
      }
      allocator(device).empty_cache();
    });
  }
  for (std::thread& thread : threads) thread.join();
  synchronize(kShelf);
}

}  // namespace
}  // namespace lamella
