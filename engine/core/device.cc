#include "engine/core/device.h"

#include <charconv>
#include <ostream>

#include "engine/core/error.h"
#include "engine/core/privateuse1.h"

namespace lamella {

namespace detail {
thread_local constinit int current_cuda = 0;
}  // namespace detail

Device Device::parse(std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::string_view kind = text.substr(0, colon);
  int index = 0;
  bool valid = true;
  if (colon != std::string_view::npos) {
    const std::string_view digits = text.substr(colon + 1);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
    valid = error == std::errc() && end == digits.data() + digits.size() && index >= 0 && index < 128;
  }
  if (valid) {
    if (kind == "cpu" && index == 0) return kCPU;
    if (kind == "meta" && index == 0) return kMeta;
    const bool named = colon == std::string_view::npos;
    if (kind == "cuda" || kind == "gpu") return {DeviceType::CUDA, named ? detail::current_cuda : index};
    if (kind == privateuse1_backend_name() || kind == "privateuse1")
      return {DeviceType::PrivateUse1, named ? detail::current_privateuse1 : index};
  }
  const std::string_view brought = privateuse1_backend_name();
  const bool renamed = is_privateuse1_renamed();
  fail<ValueError>("[device] expected \"cpu\", \"meta\", \"cuda\" or \"cuda:<index>\"",
                   renamed ? ", \"" + std::string(brought) + "\" or \"" + std::string(brought) + ":<index>\"" : "",
                   ", got \"", text, "\"");
}

std::string Device::str() const {
  switch (type) {
    case DeviceType::CPU:
      return "cpu";
    case DeviceType::Meta:
      return "meta";
    case DeviceType::CUDA:
      return "cuda:" + std::to_string(index);
    case DeviceType::PrivateUse1:
      return std::string(privateuse1_backend_name()) + ":" + std::to_string(index);
  }
  return "unknown";
}

std::ostream& operator<<(std::ostream& out, Device device) { return out << device.str(); }

}  // namespace lamella
