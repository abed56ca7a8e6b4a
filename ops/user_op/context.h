#pragma once

// The arguments of an operator's functions: its tensors as shapes and types, or as memory.

#include <concepts>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ops/user_op/conf.h"
#include "ops/user_op/types.h"

struct CUstream_st;

namespace lamella::user_op {

/// Shape and element type of one argument.
class TensorDesc {
 public:
  TensorDesc() = default;
  TensorDesc(Shape shape, DataType data_type) : shape_(std::move(shape)), data_type_(data_type) {}

  const Shape& shape() const { return shape_; }
  DataType data_type() const { return data_type_; }
  bool is_dynamic() const { return is_dynamic_; }
  Shape* mut_shape() { return &shape_; }
  DataType* mut_data_type() { return &data_type_; }
  bool* mut_is_dynamic() { return &is_dynamic_; }
  void set_shape(Shape shape) { shape_ = std::move(shape); }
  void set_data_type(DataType data_type) { data_type_ = data_type; }
  /// Allows the kernel to make an output smaller than its shape, by the Tensor's mut_shape().
  void set_is_dynamic(bool is_dynamic) { is_dynamic_ = is_dynamic; }

 private:
  Shape shape_;
  DataType data_type_ = kInvalidDataType;
  bool is_dynamic_ = false;
};

/// The memory of one argument: row-major, on the kernel's device.
class Tensor {
 public:
  Tensor(std::string name, TensorDesc desc, void* data, bool writable)
      : name_(std::move(name)), desc_(std::move(desc)), data_(data), writable_(writable) {}

  const Shape& shape() const { return desc_.shape(); }
  const ShapeView& shape_view() const { return shape(); }
  DataType data_type() const { return desc_.data_type(); }
  /// Returns the shape that the result will have, for outputs that the infer function marks as dynamic; it must not
  /// have more elements than were allocated. Throws RuntimeError for other arguments.
  Shape* mut_shape() {
    if (!writable_ || !desc_.is_dynamic()) refuse_shape();
    return desc_.mut_shape();
  }
  /// Returns the elements; T is the element type, char or void (TypeError for another number type).
  template <class T = void>
  const T* dptr() const {
    check(detail::kDataTypeOf<T>);
    return static_cast<const T*>(data_);
  }
  /// Returns the elements for writing; throws RuntimeError for an input.
  template <class T = void>
  T* mut_dptr() {
    check(detail::kDataTypeOf<T>);
    if (!writable_) refuse_writing();
    written_ = true;
    return static_cast<T*>(data_);
  }
  const void* raw_dptr() const { return dptr(); }
  void* mut_raw_dptr() { return mut_dptr(); }
  /// True if the memory was requested for writing.
  bool written() const { return written_; }

 private:
  void check(DataType asked) const {
    if (asked != kInvalidDataType && asked != kChar && asked != desc_.data_type() && desc_.data_type() != kChar) {
      wrong_type(asked);
    }
  }
  [[noreturn]] void wrong_type(DataType asked) const;
  [[noreturn]] void refuse_writing() const;
  [[noreturn]] void refuse_shape() const;

  std::string name_;
  TensorDesc desc_;
  void* data_;
  bool writable_;
  bool written_ = false;
};

/// The device that a kernel runs on, and the stream of its work there.
class DeviceCtx {
 public:
  explicit DeviceCtx(CUstream_st* stream) : stream_(stream) {}
  /// Returns the cudaStream_t of this thread's work; null on the CPU.
  CUstream_st* cuda_stream() const { return stream_; }
  /// Returns the object itself: `ctx->stream()->As<ep::CudaStream>()->cuda_stream()`.
  template <std::same_as<DeviceCtx> T>
  T* As() {
    return this;
  }

 private:
  CUstream_st* stream_;
};

/// The devices that share a call: the one that computes it, as each process of several makes calls of its own.
class ParallelContext {
 public:
  std::int64_t parallel_id() const { return 0; }
  std::int64_t parallel_num() const { return 1; }
};

namespace detail {
struct Call;
}

/// Queries common to all of an operator's functions. Arguments are found by name and index; a name that the operator
/// does not declare throws ValueError, and null is returned for one that it declares and the call does not have.
class OpContext {
 public:
  explicit OpContext(detail::Call& call) : call_(&call) {}

  /// Returns the inputs of the call, one entry per tensor.
  const std::vector<std::pair<std::string, std::int32_t>>& inputs() const;
  const std::vector<std::pair<std::string, std::int32_t>>& outputs() const;
  bool has_input(const std::string& name, std::int32_t index) const;
  bool has_output(const std::string& name, std::int32_t index) const;
  std::int32_t input_size(const std::string& name) const;
  std::int32_t output_size(const std::string& name) const;
  const UserOpConfWrapper& user_op_conf() const;
  const std::string& op_name() const { return user_op_conf().op_name(); }
  const std::string& op_type_name() const { return user_op_conf().op_type_name(); }
  template <class T>
  const T& Attr(const std::string& name) const {
    return user_op_conf().attr<T>(name);
  }
  DeviceType device_type() const;
  std::string device_tag() const { return DeviceTag(device_type()); }
  ParallelContext parallel_ctx() const { return {}; }
  std::int64_t parallel_num() const { return parallel_ctx().parallel_num(); }

 protected:
  detail::Call* call_;
};

/// The context of infer functions, which set the outputs' shapes and types from the inputs'. Changes to an input's
/// description are discarded.
class InferContext : public OpContext {
 public:
  using OpContext::OpContext;

  TensorDesc* TensorDesc4ArgNameAndIndex(const std::string& name, std::int32_t index) const;
  Shape* Shape4ArgNameAndIndex(const std::string& name, std::int32_t index) const {
    TensorDesc* desc = TensorDesc4ArgNameAndIndex(name, index);
    return desc ? desc->mut_shape() : nullptr;
  }
  DataType* Dtype4ArgNameAndIndex(const std::string& name, std::int32_t index) const {
    TensorDesc* desc = TensorDesc4ArgNameAndIndex(name, index);
    return desc ? desc->mut_data_type() : nullptr;
  }
  bool* IsDynamic4ArgNameAndIndex(const std::string& name, std::int32_t index) const {
    TensorDesc* desc = TensorDesc4ArgNameAndIndex(name, index);
    return desc ? desc->mut_is_dynamic() : nullptr;
  }
  // The names of later versions; an argument that the call does not have throws ValueError.
  const TensorDesc& InputTensorDesc(const std::string& name, std::int32_t index) const { return present(name, index); }
  const Shape& InputShape(const std::string& name, std::int32_t index) const { return present(name, index).shape(); }
  DataType InputDType(const std::string& name, std::int32_t index) const { return present(name, index).data_type(); }
  TensorDesc* OutputTensorDesc(const std::string& name, std::int32_t index) const { return &present(name, index); }
  Shape* OutputShape(const std::string& name, std::int32_t index) const { return present(name, index).mut_shape(); }
  DataType* OutputDType(const std::string& name, std::int32_t index) const {
    return present(name, index).mut_data_type();
  }
  bool InputIsDynamic(const std::string& name, std::int32_t index) const { return present(name, index).is_dynamic(); }
  bool* OutputIsDynamic(const std::string& name, std::int32_t index) const {
    return present(name, index).mut_is_dynamic();
  }
  TensorDesc* MutOutputTensorDesc(const std::string& name, std::int32_t index) const {
    return OutputTensorDesc(name, index);
  }
  Shape* MutOutputShape(const std::string& name, std::int32_t index) const { return OutputShape(name, index); }
  DataType* MutOutputDType(const std::string& name, std::int32_t index) const { return OutputDType(name, index); }
  bool* MutOutputIsDynamic(const std::string& name, std::int32_t index) const { return OutputIsDynamic(name, index); }
  void SetOutputShape(const std::string& name, std::int32_t index, const Shape& shape) const {
    *OutputShape(name, index) = shape;
  }
  void SetOutputDType(const std::string& name, std::int32_t index, DataType type) const {
    *OutputDType(name, index) = type;
  }
  void SetOutputIsDynamic(const std::string& name, std::int32_t index, bool is_dynamic) const {
    *OutputIsDynamic(name, index) = is_dynamic;
  }
  /// Returns the description of the whole tensor, all of which a call has.
  const TensorDesc* LogicalTensorDesc4ArgNameAndIndex(const std::string& name, std::int32_t index) const {
    return TensorDesc4ArgNameAndIndex(name, index);
  }

 private:
  TensorDesc& present(const std::string& name, std::int32_t index) const;
};

/// The context of kernels' predicates.
class KernelRegContext : public OpContext {
 public:
  using OpContext::OpContext;
  const TensorDesc* TensorDesc4ArgNameAndIndex(const std::string& name, std::int32_t index) const;
};

/// The context of OpKernel::CreateOpKernelState().
class KernelInitContext : public KernelRegContext {
 public:
  using KernelRegContext::KernelRegContext;
  DeviceCtx* device_ctx() const;
  DeviceCtx* stream() const { return device_ctx(); }
  const TensorDesc* LogicalTensorDesc4ArgNameAndIndex(const std::string& name, std::int32_t index) const {
    return TensorDesc4ArgNameAndIndex(name, index);
  }
};
/// The context of OpKernel::InitOpKernelCache().
using KernelCacheContext = KernelInitContext;

/// The context of kernels' constructors.
class KernelCreateContext : public KernelRegContext {
 public:
  using KernelRegContext::KernelRegContext;
};

/// The context of OpKernel::Compute().
class KernelComputeContext : public KernelInitContext {
 public:
  using KernelInitContext::KernelInitContext;
  /// Returns an input, an output, or "tmp_buffer" if the kernel requested one.
  Tensor* Tensor4ArgNameAndIndex(const std::string& name, std::int32_t index) const;
};
using KernelContext = KernelComputeContext;

/// The state that a kernel keeps between calls.
class OpKernelState {
 public:
  virtual ~OpKernelState() = default;
};

/// Base of objects that a kernel derives from shapes and attributes, with each call.
class OpKernelCache {
 public:
  virtual ~OpKernelCache() = default;
};

/// The base of kernels: overrides one of the four forms of Compute. A kernel object serves one call.
class OpKernel {
 public:
  OpKernel() = default;
  OpKernel(const OpKernel&) = delete;
  OpKernel& operator=(const OpKernel&) = delete;
  virtual ~OpKernel() = default;

  /// Creates the state with the first call of an operator of that name; later calls receive the same one.
  virtual std::shared_ptr<OpKernelState> CreateOpKernelState(KernelInitContext*) const { return nullptr; }
  virtual std::shared_ptr<OpKernelCache> InitOpKernelCache(KernelCacheContext*) const { return nullptr; }
  virtual void Compute(KernelComputeContext* ctx, OpKernelState* state, const OpKernelCache*) const {
    Compute(ctx, state);
  }
  virtual void Compute(KernelComputeContext* ctx, OpKernelState*) const { Compute(ctx); }
  virtual void Compute(KernelComputeContext* ctx) const { const_cast<OpKernel*>(this)->Compute(ctx); }
  virtual void Compute(KernelComputeContext*) { fail_no_compute(); }
  /// True if Compute runs even if no output has an element.
  virtual bool AlwaysComputeWhenAllOutputsEmpty() const { return false; }

 private:
  [[noreturn]] static void fail_no_compute();
};

}  // namespace lamella::user_op
