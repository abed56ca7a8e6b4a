#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "engine/core/tensor.h"
#include "ops/op_info.h"
#include "ops/operand.h"
#include "ops/shape/cuts.h"
#include "ops/shape/join.h"

// Operators that rearrange whole parts of tensors; all composed of operators of ops/shape and ops/index.

namespace lamella {

struct MoveAxis {
  static constexpr OpInfo info{
      .name = "moveaxis",
      .doc = "A view of x with the axes `source` at the places `destination`, the others in their order around them.",
      .parameters = "x, source, destination, /",
      .example = "moveaxis(ones([2, 3, 4]), 0, -1)",
      .reference = "np.moveaxis(x, source, destination)"};
  static Tensor call(const Tensor& x, const Dims& source, const Dims& destination);
};

struct Repeat {
  static constexpr OpInfo info{
      .name = "repeat",
      .doc =
          "x with each element (or each slice along an axis, if one is given) repeated: a number of times, or as an "
          "integer tensor says for each; without an axis, x is flattened first.",
      .parameters = "x, repeats, /, *, axis=None",
      .example = "repeat(arange(3), 2)",
      .reference = "np.repeat(x, repeats, axis)",
      .out = true};
  static Tensor call(const Tensor& x, const Operand& repeats, std::optional<std::int64_t> axis);
};

struct Tile {
  static constexpr OpInfo info{.name = "tile",
                               .doc =
                                   "x repeated as a whole, the given number of times along each axis; the shorter of "
                                   "shape and repetitions is extended with ones in front.",
                               .parameters = "x, repetitions, /",
                               .example = "tile(arange(3), [2, 2])",
                               .reference = "np.tile(x, repetitions)",
                               .out = true};
  static Tensor call(const Tensor& x, const Dims& repetitions);
};

struct Unstack {
  static constexpr OpInfo info{.name = "unstack",
                               .doc = "Views of the slices of x along an axis, without that axis.",
                               .parameters = "x, /, *, axis=0",
                               .example = "unstack(ones([2, 3]))"};
  static std::vector<Tensor> call(const Tensor& x, std::int64_t axis);
};

struct Chunk {
  static constexpr OpInfo info{
      .name = "chunk",
      .doc =
          "Views of consecutive parts of x along an axis, `chunks` at most: all of the same size but the last, which "
          "may be smaller.",
      .parameters = "x, chunks, axis=0",
      .example = "chunk(arange(5), 2)"};
  static std::vector<Tensor> call(const Tensor& x, std::int64_t chunks, std::int64_t axis);
};

struct TensorSplit {
  static constexpr OpInfo info{.name = "tensor_split",
                               .doc =
                                   "Views of consecutive parts of x along an axis: a number gives how many parts, "
                                   "the first ones larger by one where it does not divide the size; a list gives "
                                   "where to cut.",
                               .parameters = "x, indices_or_sections, axis=0",
                               .example = "tensor_split(arange(5), 2)"};
  static std::vector<Tensor> call(const Tensor& x, const Cuts& indices_or_sections, std::int64_t axis);
};

struct Narrow {
  static constexpr OpInfo info{.name = "narrow",
                               .doc =
                                   "A view of `length` elements along an axis, from `start`, which may count from the "
                                   "end; IndexError where they are not all within x.",
                               .parameters = "x, axis, start, length",
                               .example = "narrow(arange(5), 0, 1, 3)"};
  static Tensor call(const Tensor& x, std::int64_t axis, std::int64_t start, std::int64_t length);
};

struct Select {
  static constexpr OpInfo info{.name = "select",
                               .doc = "A view of the slice of x with the given number along an axis.",
                               .parameters = "x, axis, index",
                               .example = "select(ones([2, 3]), 0, 1)"};
  static Tensor call(const Tensor& x, std::int64_t axis, std::int64_t index);
};

struct HStack {
  static constexpr OpInfo info{
      .name = "hstack",
      .doc = "The tensors one after the other along axis 1, or along axis 0 where they have one axis or none.",
      .parameters = "arrays, /",
      .example = "hstack([ones([2]), zeros([1])])",
      .reference = "np.hstack(arrays)",
      .method = false};
  static Tensor call(const std::vector<Tensor>& arrays);
};

struct VStack {
  static constexpr OpInfo info{.name = "vstack",
                               .doc = "The tensors one below the other; one with a single axis is a row.",
                               .parameters = "arrays, /",
                               .example = "vstack([ones([2]), zeros([2])])",
                               .reference = "np.vstack(arrays)",
                               .method = false};
  static Tensor call(const std::vector<Tensor>& arrays);
};

struct AtLeast1d {
  static constexpr OpInfo info{.name = "atleast_1d",
                               .doc = "x with at least one axis: a 0-d tensor gets an axis of size 1.",
                               .example = "atleast_1d(asarray(1.0))",
                               .reference = "np.atleast_1d(x)"};
  static Tensor call(const Tensor& x);
};

struct AtLeast2d {
  static constexpr OpInfo info{.name = "atleast_2d",
                               .doc = "x with at least two axes: new axes of size 1 are added in front.",
                               .example = "atleast_2d(ones([3]))",
                               .reference = "np.atleast_2d(x)"};
  static Tensor call(const Tensor& x);
};

struct AtLeast3d {
  static constexpr OpInfo info{
      .name = "atleast_3d",
      .doc = "x with at least three axes: a vector lies along the second of them, a matrix in the first two.",
      .example = "atleast_3d(ones([3]))",
      .reference = "np.atleast_3d(x)"};
  static Tensor call(const Tensor& x);
};

struct BroadcastArrays {
  static constexpr OpInfo info{.name = "broadcast_arrays",
                               .doc = "Views of the tensors in the shape that all of them broadcast to.",
                               .parameters = "*arrays",
                               .example = "broadcast_arrays(ones([2, 1]), ones([3]))",
                               .method = false};
  static constexpr bool kGivesList = true;
  static std::vector<Tensor> call(const std::vector<Tensor>& arrays);
};

struct Meshgrid {
  static constexpr OpInfo info{
      .name = "meshgrid",
      .doc =
          "A view of each tensor, all with one axis and one dtype, on the grid that they span: it has one axis per "
          "tensor, and varies along its own. With indexing 'xy' the first two axes are exchanged.",
      .parameters = "*arrays, indexing='xy'",
      .example = "meshgrid(arange(2), arange(3))",
      .method = false};
  static constexpr bool kGivesList = true;
  static std::vector<Tensor> call(const std::vector<Tensor>& arrays, std::string_view indexing);
};

inline Tensor moveaxis(const Tensor& x, const Dims& source, const Dims& destination) {
  return MoveAxis::call(x, source, destination);
}
inline Tensor repeat(const Tensor& x, const Operand& repeats, std::optional<std::int64_t> axis = std::nullopt) {
  return Repeat::call(x, repeats, axis);
}
inline Tensor tile(const Tensor& x, const Dims& repetitions) { return Tile::call(x, repetitions); }
inline std::vector<Tensor> unstack(const Tensor& x, std::int64_t axis = 0) { return Unstack::call(x, axis); }
inline std::vector<Tensor> chunk(const Tensor& x, std::int64_t chunks, std::int64_t axis = 0) {
  return Chunk::call(x, chunks, axis);
}
inline std::vector<Tensor> tensor_split(const Tensor& x, const Cuts& indices_or_sections, std::int64_t axis = 0) {
  return TensorSplit::call(x, indices_or_sections, axis);
}
inline Tensor select(const Tensor& x, std::int64_t axis, std::int64_t index) { return Select::call(x, axis, index); }
inline Tensor hstack(const std::vector<Tensor>& arrays) { return HStack::call(arrays); }
inline Tensor vstack(const std::vector<Tensor>& arrays) { return VStack::call(arrays); }
inline Tensor atleast_1d(const Tensor& x) { return AtLeast1d::call(x); }
inline Tensor atleast_2d(const Tensor& x) { return AtLeast2d::call(x); }
inline Tensor atleast_3d(const Tensor& x) { return AtLeast3d::call(x); }
inline std::vector<Tensor> broadcast_arrays(const std::vector<Tensor>& arrays) { return BroadcastArrays::call(arrays); }
inline std::vector<Tensor> meshgrid(const std::vector<Tensor>& arrays, std::string_view indexing = "xy") {
  return Meshgrid::call(arrays, indexing);
}

}  // namespace lamella
