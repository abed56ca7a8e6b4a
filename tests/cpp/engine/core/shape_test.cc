#include "engine/core/shape.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <sstream>

#include "engine/core/error.h"

namespace lamella {
namespace {

constexpr std::int64_t kHuge = std::int64_t{1} << 62;

TEST(ShapeTest, CountsElements) {
  EXPECT_EQ(count_elements(Dims{}), 1);
  EXPECT_EQ(count_elements(Dims{2, 3, 4}), 24);
  EXPECT_EQ(count_elements(Dims{0, kHuge, kHuge}), 0);
  EXPECT_EQ(count_elements(Dims{kHuge, kHuge, 0}), 0);
  EXPECT_EQ(count_elements(Dims{std::numeric_limits<std::int64_t>::max()}), std::numeric_limits<std::int64_t>::max());
}

TEST(ShapeTest, RefusesNegativeAndOverflowingShapes) {
  for (const Dims& shape : {Dims{-1}, Dims{3, -2}, Dims{0, -1}, Dims{kHuge, 2}, Dims{1 << 30, 1 << 30, 1 << 30}}) {
    EXPECT_THROW(count_elements(shape), ValueError) << shape;
  }
}

TEST(ShapeTest, ContiguousStridesAreRowMajor) {
  EXPECT_EQ(contiguous_strides(Dims{2, 3, 4}), (Dims{12, 4, 1}));
  EXPECT_EQ(contiguous_strides(Dims{}), Dims{});
  EXPECT_EQ(contiguous_strides(Dims{5}), Dims{1});
  EXPECT_EQ(contiguous_strides(Dims{2, 0, 3}).size(), 3u);
  // The product of the other sizes may overflow 63 bits if one size is zero.
  EXPECT_EQ(contiguous_strides(Dims{0, kHuge, kHuge}).size(), 3u);
}

TEST(ShapeTest, KnowsContiguousLayouts) {
  struct Case {
    Dims shape, strides;
    bool contiguous;
  };
  const Case cases[] = {
      {{2, 3}, {3, 1}, true},
      {{2, 3}, {1, 2}, false},
      {{2, 3}, {4, 1}, false},
      {{1, 3}, {99, 1}, true},
      {{3, 1}, {1, 7}, true},
      {{}, {}, true},
      {{4}, {2}, false},
      {{4}, {-1}, false},
      {{4}, {0}, false},
      {{1}, {0}, true},
      {{0, 3}, {7, 9}, true},
      {{3, 0}, {7, 9}, true},
      {{2, 1, 3}, {3, 5, 1}, true},
      {{0, kHuge, 8}, {1, 8, 1}, true},
      {{2, 2}, {0, 1}, false},
  };
  for (const Case& c : cases) EXPECT_EQ(is_contiguous(c.shape, c.strides), c.contiguous) << c.shape << " " << c.strides;
}

TEST(ShapeTest, OwnStridesAreContiguousForEveryShape) {
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    Dims shape(random() % 7);
    for (std::int64_t& size : shape) size = random() % 4;
    EXPECT_TRUE(is_contiguous(shape, contiguous_strides(shape))) << shape;
  }
}

TEST(ShapeTest, Broadcasts) {
  struct Case {
    Dims a, b, result;
  };
  const Case cases[] = {{{2, 3}, {3}, {2, 3}},         {{}, {4}, {4}},  {{}, {}, {}},
                        {{2, 1}, {1, 3}, {2, 3}},      {{0}, {1}, {0}}, {{1, 0}, {5, 1}, {5, 0}},
                        {{4, 1, 2}, {3, 1}, {4, 3, 2}}};
  for (const Case& c : cases) {
    EXPECT_EQ(broadcast_shapes(c.a, c.b, "op"), c.result);
    EXPECT_EQ(broadcast_shapes(c.b, c.a, "op"), c.result);
    EXPECT_TRUE(broadcasts_to(c.a, c.result));
    EXPECT_TRUE(broadcasts_to(c.b, c.result));
  }
}

TEST(ShapeTest, RefusesShapesThatDoNotBroadcast) {
  for (const auto& [a, b] :
       {std::pair{Dims{2}, Dims{3}}, std::pair{Dims{0}, Dims{2}}, std::pair{Dims{2, 3}, Dims{2}}}) {
    try {
      broadcast_shapes(a, b, "add");
      ADD_FAILURE() << a << b;
    } catch (const ValueError& error) {
      EXPECT_EQ(std::string(error.what()),
                "[add] shapes " + to_string(a) + " and " + to_string(b) + " do not broadcast");
    }
  }
}

TEST(ShapeTest, BroadcastsToExactlyTheTarget) {
  EXPECT_TRUE(broadcasts_to(Dims{}, Dims{2, 3}));
  EXPECT_TRUE(broadcasts_to(Dims{1, 3}, Dims{2, 3}));
  EXPECT_FALSE(broadcasts_to(Dims{2, 3}, Dims{3}));
  EXPECT_FALSE(broadcasts_to(Dims{2, 3}, Dims{1, 3}));
  EXPECT_FALSE(broadcasts_to(Dims{2}, Dims{2, 3}));
  EXPECT_FALSE(broadcasts_to(Dims{1, 2, 3}, Dims{2, 3}));
}

TEST(ShapeTest, NormalizesAxes) {
  for (std::int64_t axis = -3; axis < 3; ++axis) EXPECT_EQ(normalize_axis(axis, 3, "sum"), (axis + 3) % 3);
  for (const std::int64_t axis : {std::int64_t{3}, std::int64_t{-4}, std::numeric_limits<std::int64_t>::min()}) {
    EXPECT_THROW(normalize_axis(axis, 3, "sum"), IndexError);
  }
  EXPECT_THROW(normalize_axis(0, 0, "sum"), IndexError);
  try {
    normalize_axis(2, 1, "sum");
    FAIL();
  } catch (const IndexError& error) {
    EXPECT_STREQ(error.what(), "[sum] axis 2 is out of range for a tensor with 1 axis");
  }
}

TEST(ShapeTest, Prints) {
  EXPECT_EQ(to_string(Dims{}), "[]");
  EXPECT_EQ(to_string(Dims{2, 3}), "[2, 3]");
  std::ostringstream out;
  out << Dims{-1};
  EXPECT_EQ(out.str(), "[-1]");
}

}  // namespace
}  // namespace lamella
