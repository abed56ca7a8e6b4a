#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "c10/core/Device.h"
#include "engine/registry/convert.h"
#include "engine/runtime/generator.h"
#include "engine/runtime/philox.h"

namespace at {

/// A source of random numbers, from which kernels may take 32 or 64 bits; the numbers are Lamella's.
class CPUGeneratorImpl {
 public:
  explicit CPUGeneratorImpl(lamella::Generator& native) : native_(native) {}
  explicit CPUGeneratorImpl(std::uint64_t seed) : own_(std::in_place, seed), native_(*own_) {}
  CPUGeneratorImpl(const CPUGeneratorImpl&) = delete;
  CPUGeneratorImpl& operator=(const CPUGeneratorImpl&) = delete;

  std::uint32_t random() { return static_cast<std::uint32_t>(random64()); }
  std::uint64_t random64() {
    const lamella::GeneratorState state = native_.reserve(1);
    const auto words = lamella::Philox::at(state.seed, state.offset);
    return std::uint64_t{words[1]} << 32 | words[0];
  }
  std::uint64_t current_seed() const { return native_.initial_seed(); }
  void set_current_seed(std::uint64_t seed) { native_.manual_seed(seed); }
  std::uint64_t seed() { return native_.seed(); }
  c10::Device device() const { return native_.device(); }
  lamella::Generator& native() const { return native_; }

  /// Locked by kernels that take several numbers in a row.
  std::mutex mutex_;

 private:
  std::optional<lamella::Generator> own_;
  lamella::Generator& native_;
};

/// A handle of a generator, or none.
class Generator {
 public:
  Generator() = default;
  explicit Generator(lamella::Generator* native)
      : impl_(native ? std::make_shared<CPUGeneratorImpl>(*native) : nullptr) {}
  explicit Generator(std::shared_ptr<CPUGeneratorImpl> impl) : impl_(std::move(impl)) {}

  bool defined() const { return impl_ != nullptr; }
  std::uint64_t current_seed() const { return impl().current_seed(); }
  void set_current_seed(std::uint64_t seed) const { impl().set_current_seed(seed); }
  std::uint64_t seed() const { return impl().seed(); }
  c10::Device device() const { return impl().device(); }
  std::mutex& mutex() const { return impl().mutex_; }
  template <class T = CPUGeneratorImpl>
  T* get() const {
    return static_cast<T*>(impl_.get());
  }
  lamella::Generator* native() const { return impl_ ? &impl_->native() : nullptr; }
  friend bool operator==(const Generator& a, const Generator& b) { return a.native() == b.native(); }

 private:
  CPUGeneratorImpl& impl() const {
    if (!impl_) lamella::fail<lamella::RuntimeError>("[Generator] the generator is undefined");
    return *impl_;
  }
  std::shared_ptr<CPUGeneratorImpl> impl_;
};

namespace detail {
/// Returns the generator that operators use if none is given.
inline const Generator& getDefaultCPUGenerator() {
  static const Generator generator(&lamella::default_generator());
  return generator;
}
inline Generator createCPUGenerator(std::uint64_t seed = lamella::Generator::kDefaultSeed) {
  return Generator(std::make_shared<CPUGeneratorImpl>(seed));
}
/// Returns the generator as operators take it: null for the device's default one.
inline lamella::Generator* native_generator(const std::optional<Generator>& generator) {
  return generator ? generator->native() : nullptr;
}
}  // namespace detail

template <class T>
T* get_generator_or_default(const std::optional<Generator>& given, const Generator& otherwise) {
  return given && given->defined() ? given->get<T>() : otherwise.get<T>();
}

}  // namespace at

template <>
struct lamella::registry::Converter<std::optional<at::Generator>> {
  using Native = Converter<lamella::Generator*>;
  static constexpr Type type = Native::type;
  static std::optional<at::Generator> from_arg(const Arg& arg) {
    lamella::Generator* native = Native::from_arg(arg);
    return native ? std::optional(at::Generator(native)) : std::nullopt;
  }
  static Arg to_arg(const std::optional<at::Generator>& x) { return Native::to_arg(at::detail::native_generator(x)); }
};
