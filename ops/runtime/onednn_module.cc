#include <oneapi/dnnl/dnnl.h>

#include "engine/core/error.h"
#include "ops/runtime/onednn_functions.h"

namespace lamella::detail {
namespace {

std::string version() {
  const dnnl_version_t& loaded = *dnnl_version();
  return str(loaded.major, ".", loaded.minor, ".", loaded.patch);
}

constexpr Onednn functions{onednn_multiplies, onednn_product, onednn_conv, version};

}  // namespace
}  // namespace lamella::detail

extern "C" const lamella::detail::Onednn* lamella_onednn() { return &lamella::detail::functions; }
