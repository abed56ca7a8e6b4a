#include "engine/registry/key.h"

#include <array>
#include <string>

#include "engine/core/error.h"

namespace lamella {
namespace {

constexpr std::array<std::string_view, kDispatchKeyCount> kNames{"CPU",
                                                                 "CUDA",
                                                                 "Meta",
                                                                 "PrivateUse1",
                                                                 "AutogradCPU",
                                                                 "AutogradCUDA",
                                                                 "AutogradMeta",
                                                                 "AutogradPrivateUse1",
                                                                 "Autograd",
                                                                 "CompositeImplicitAutograd",
                                                                 "CompositeExplicitAutograd"};

}  // namespace

std::string_view name(DispatchKey key) {
  const auto at = static_cast<std::size_t>(key);
  return at < kNames.size() ? kNames[at] : "Undefined";
}

DispatchKey parse_dispatch_key(std::string_view name) {
  std::string known;
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) return static_cast<DispatchKey>(i);
    known += (i ? ", " : "") + std::string(kNames[i]);
  }
  fail<ValueError>("there is no dispatch key '", name, "'; the keys are ", known);
}

namespace registry::detail {
thread_local constinit ThreadDispatch thread_dispatch;
}  // namespace registry::detail

}  // namespace lamella
