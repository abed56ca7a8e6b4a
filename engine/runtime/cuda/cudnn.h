#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "engine/core/device.h"
#include "engine/runtime/cuda/cudnn_api.h"

namespace lamella::cuda::cudnn {

/// Returns the functions of cuDNN, loading the library with the first call: the file that LAMELLA_CUDNN_LIBRARY names,
/// or the system's libcudnn.so.9. Null if the library, or one of them, is missing.
const Api* api();

/// Throws RuntimeError with cuDNN's own text if a call failed; `op` opens the message.
void check(Status status, std::string_view op);

/// Returns this thread's context for a device, set to its current stream. Throws RuntimeError if there can be none.
Context* context(Device device);

/// Type by which cuDNN takes values of a C++ type.
template <class T>
inline constexpr Type kTypeOf = Type::Descriptor;
template <>
inline constexpr Type kTypeOf<Context*> = Type::Handle;
template <>
inline constexpr Type kTypeOf<DataType> = Type::DataType;
template <>
inline constexpr Type kTypeOf<bool> = Type::Bool;
template <>
inline constexpr Type kTypeOf<std::int64_t> = Type::Int64;
template <>
inline constexpr Type kTypeOf<float> = Type::Float;
template <>
inline constexpr Type kTypeOf<double> = Type::Double;
template <>
inline constexpr Type kTypeOf<void*> = Type::Pointer;
template <>
inline constexpr Type kTypeOf<ConvolutionMode> = Type::ConvolutionMode;
template <>
inline constexpr Type kTypeOf<HeuristicMode> = Type::HeuristicMode;
template <>
inline constexpr Type kTypeOf<Note> = Type::Note;
template <>
inline constexpr Type kTypeOf<PointwiseMode> = Type::PointwiseMode;
template <>
inline constexpr Type kTypeOf<ReductionMode> = Type::ReductionMode;
template <>
inline constexpr Type kTypeOf<Knob> = Type::Knob;

/// A descriptor of cuDNN's, destroyed at the end. Calls that fail throw RuntimeError, which `op` opens.
class Description {
 public:
  Description(Kind kind, const char* op);
  Description(Description&& other) noexcept;
  Description& operator=(Description&& other) noexcept;
  ~Description();

  Descriptor* get() const { return descriptor_; }

  template <class T>
  Description& set(Attribute name, std::span<const T> values) {
    set(name, kTypeOf<T>, static_cast<std::int64_t>(values.size()), values.data());
    return *this;
  }
  template <class T>
  Description& set(Attribute name, T value) {
    return set(name, std::span<const T>(&value, 1));
  }
  Description& set(Attribute name, const Description& value) { return set(name, value.descriptor_); }
  Description& finalize();

  /// Fills the first values, which are descriptors that exist where T is one, and returns their number.
  template <class T>
  std::int64_t get(Attribute name, std::span<T> values) const {
    return get(name, kTypeOf<T>, static_cast<std::int64_t>(values.size()), values.data());
  }

 private:
  void set(Attribute name, Type type, std::int64_t count, const void* values);
  std::int64_t get(Attribute name, Type type, std::int64_t room, void* values) const;

  Descriptor* descriptor_ = nullptr;
  const char* op_;
};

/// Descriptors of a graph, all finalized, and which of them are its operations.
struct GraphParts {
  std::vector<Description> parts;
  std::vector<Descriptor*> operations;
};

/// An algorithm for a graph of operations, with what it needs.
struct Plan {
  std::vector<Description> parts;  ///< that the plan refers to, in the order in which they were made
  Description plan;
  std::int64_t workspace;  ///< bytes of memory that it needs while it runs
};

/// Conditions that a plan has to meet.
struct PlanLimits {
  std::span<const Note> refused;  ///< none of these notes
  std::int64_t workspace;         ///< the most bytes that it may need
};

/// Returns the first plan within the limits that cuDNN's heuristics propose for a graph. Throws RuntimeError if there
/// is none.
Plan make_plan(Context* context, GraphParts graph, const PlanLimits& limits, const char* op);
/// Starts a plan on tensors by their identifiers, in the context's stream. Where one is a number of the host's, it is
/// read at once.
void execute(Context* context, const Plan& plan, std::span<const std::int64_t> ids, std::span<void* const> data,
             void* workspace, const char* op);

}  // namespace lamella::cuda::cudnn
