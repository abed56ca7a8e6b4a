#pragma once

#include <cuda_runtime.h>

#include <cstring>
#include <map>
#include <vector>

#include "engine/runtime/cuda/cudnn_api.h"

// Descriptors of the cuDNN on the emulation.

namespace lamella::cuda::cudnn {

struct Context {
  cudaStream_t stream = nullptr;
};

/// Values of an attribute, as they were set.
struct Values {
  Type type;
  std::int64_t count;
  std::vector<char> bytes;
};

struct Descriptor {
  Kind kind;
  bool is_final = false;
  std::map<Attribute, Values> attributes;
};

template <class T>
std::vector<T> values(const Descriptor& from, Attribute name) {
  const auto found = from.attributes.find(name);
  if (found == from.attributes.end()) return {};
  std::vector<T> result(static_cast<std::size_t>(found->second.count));
  std::memcpy(result.data(), found->second.bytes.data(), found->second.bytes.size());
  return result;
}
template <class T>
T value(const Descriptor& from, Attribute name) {
  T result{};
  std::memcpy(&result, from.attributes.at(name).bytes.data(), sizeof(T));
  return result;
}
/// Returns the value of an attribute that may be left unset.
template <class T>
T value_or(const Descriptor& from, Attribute name, T missing) {
  return from.attributes.contains(name) ? value<T>(from, name) : missing;
}

/// An attribute that descriptors of a kind have to be given, or may be, with the type of its values.
struct Field {
  Attribute name;
  Type type;
  bool is_optional = false;
};

}  // namespace lamella::cuda::cudnn
