#pragma once

// Ways to split an operator over several devices: each argument is split along an axis, kept whole, or the sum of the
// devices' parts.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "ops/user_op/context.h"

namespace lamella::user_op {

/// The distribution of one argument over the devices.
struct Sbp {
  enum class Kind { kSplit, kBroadcast, kPartialSum };
  Kind kind = Kind::kBroadcast;
  /// Axis of kSplit.
  std::int64_t axis = 0;

  /// Returns "S(0)", "B" or "P".
  std::string ToString() const;
};

/// One way to split the operator: each of its arguments, in order.
using SbpSignature = std::vector<std::pair<OpArg, Sbp>>;

class SbpContext;

/// Describes one way to split the operator.
class UserOpSbpSignatureBuilder {
 public:
  using Args = std::vector<std::pair<std::string, std::int32_t>>;

  explicit UserOpSbpSignatureBuilder(SbpContext* ctx) : ctx_(ctx) {}
  UserOpSbpSignatureBuilder& Split(const OpArg& arg, std::int64_t axis) { return add(arg, {Sbp::Kind::kSplit, axis}); }
  UserOpSbpSignatureBuilder& Split(const Args& args, std::int64_t axis) {
    return add_all(args, {Sbp::Kind::kSplit, axis});
  }
  UserOpSbpSignatureBuilder& Split(const std::vector<OpArg>& args, std::int64_t axis) {
    return add_all(args, {Sbp::Kind::kSplit, axis});
  }
  UserOpSbpSignatureBuilder& Broadcast(const OpArg& arg) { return add(arg, {Sbp::Kind::kBroadcast, 0}); }
  UserOpSbpSignatureBuilder& Broadcast(const Args& args) { return add_all(args, {Sbp::Kind::kBroadcast, 0}); }
  UserOpSbpSignatureBuilder& Broadcast(const std::vector<OpArg>& args) {
    return add_all(args, {Sbp::Kind::kBroadcast, 0});
  }
  UserOpSbpSignatureBuilder& PartialSum(const OpArg& arg) { return add(arg, {Sbp::Kind::kPartialSum, 0}); }
  UserOpSbpSignatureBuilder& PartialSum(const Args& args) { return add_all(args, {Sbp::Kind::kPartialSum, 0}); }
  UserOpSbpSignatureBuilder& PartialSum(const std::vector<OpArg>& args) {
    return add_all(args, {Sbp::Kind::kPartialSum, 0});
  }
  /// Records the way. Throws ValueError if an argument of the call is not mentioned.
  void Build();

 private:
  /// Throws ValueError if the call has no such argument, or the argument no such axis.
  UserOpSbpSignatureBuilder& add(const OpArg& arg, Sbp sbp);
  UserOpSbpSignatureBuilder& add_all(const Args& args, Sbp sbp) {
    for (const auto& [name, index] : args) add(OpArg(name, index), sbp);
    return *this;
  }
  UserOpSbpSignatureBuilder& add_all(const std::vector<OpArg>& args, Sbp sbp) {
    for (const OpArg& arg : args) add(arg, sbp);
    return *this;
  }

  SbpContext* ctx_;
  SbpSignature signature_;
};

/// The context of functions that list the ways to split an operator.
class SbpContext : public OpContext {
 public:
  using OpContext::OpContext;
  const TensorDesc& LogicalTensorDesc4InputArgNameAndIndex(const std::string& name, std::int32_t index) const;
  UserOpSbpSignatureBuilder NewBuilder() { return UserOpSbpSignatureBuilder(this); }
  const std::vector<SbpSignature>& signatures() const { return signatures_; }

 private:
  friend class UserOpSbpSignatureBuilder;
  std::vector<SbpSignature> signatures_;
};

}  // namespace lamella::user_op
