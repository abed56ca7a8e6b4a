#include "engine/core/small_vector.h"

#include <gtest/gtest.h>

#include <memory>
#include <new>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace lamella {
namespace {

/// Counts living objects, and owns memory, so that sanitizers see each double or missing destruction.
struct Counted {
  static inline int alive = 0;
  std::unique_ptr<int> value;

  Counted(int v = 0) : value(std::make_unique<int>(v)) { ++alive; }
  Counted(const Counted& other) : Counted(other.value ? *other.value : -1) {}
  Counted(Counted&& other) noexcept : value(std::move(other.value)) { ++alive; }
  Counted& operator=(const Counted& other) {
    value = std::make_unique<int>(other.value ? *other.value : -1);
    return *this;
  }
  Counted& operator=(Counted&& other) noexcept {
    value = std::move(other.value);
    return *this;
  }
  ~Counted() { --alive; }
  friend bool operator==(const Counted& a, const Counted& b) { return a.value && b.value && *a.value == *b.value; }
};

template <std::size_t N>
void expect_same(const SmallVector<Counted, N>& vector, const std::vector<int>& model) {
  ASSERT_EQ(vector.size(), model.size());
  EXPECT_EQ(vector.empty(), model.empty());
  for (std::size_t i = 0; i < model.size(); ++i) {
    ASSERT_TRUE(vector[i].value);
    EXPECT_EQ(*vector[i].value, model[i]);
  }
}

template <class T>
class SmallVectorTest : public ::testing::Test {};
using InlineSizes = ::testing::Types<std::integral_constant<std::size_t, 1>, std::integral_constant<std::size_t, 2>,
                                     std::integral_constant<std::size_t, 5>>;
TYPED_TEST_SUITE(SmallVectorTest, InlineSizes);

TYPED_TEST(SmallVectorTest, BehavesAsStdVectorUnderRandomOperations) {
  constexpr std::size_t N = TypeParam::value;
  std::mt19937 random(7);
  const auto number = [&](std::size_t n) { return static_cast<std::ptrdiff_t>(random() % n); };
  {
    SmallVector<Counted, N> vector;
    SmallVector<Counted, N> other;
    std::vector<int> model;
    std::vector<int> other_model;
    for (int step = 0; step < 20000; ++step) {
      const int value = static_cast<int>(random() % 1000);
      switch (random() % 14) {
        case 0:
        case 1:
        case 2:
          vector.push_back(Counted(value));
          model.push_back(value);
          break;
        case 3:
          EXPECT_EQ(*vector.emplace_back(value).value, value);
          model.emplace_back(value);
          break;
        case 4:
          if (!model.empty()) {
            vector.pop_back();
            model.pop_back();
          }
          break;
        case 5: {
          const auto at = number(model.size() + 1);
          EXPECT_EQ(vector.insert(vector.begin() + at, Counted(value)) - vector.begin(), at);
          model.insert(model.begin() + at, value);
          break;
        }
        case 6:
          if (!model.empty()) {
            const auto at = number(model.size());
            EXPECT_EQ(vector.erase(vector.begin() + at) - vector.begin(), at);
            model.erase(model.begin() + at);
          }
          break;
        case 7: {
          const std::size_t count = random() % 12;
          vector.resize(count, Counted(value));
          model.resize(count, value);
          break;
        }
        case 8:
          other = vector;
          other_model = model;
          break;
        case 9:
          std::swap(vector, other);
          std::swap(model, other_model);
          break;
        case 10:
          vector = std::move(other);
          model = std::move(other_model);
          other.clear();
          other_model.clear();
          break;
        case 11:
          vector = SmallVector<Counted, N>(other.begin(), other.end());
          model = other_model;
          break;
        case 12:
          if (!model.empty()) {  // appends an element of the vector itself
            const auto at = static_cast<std::size_t>(number(model.size()));
            vector.emplace_back(vector[at]);
            model.push_back(model[at]);
          }
          break;
        default:
          if (random() % 8 == 0) {
            vector.clear();
            model.clear();
          }
          break;
      }
      expect_same(vector, model);
      EXPECT_EQ(vector == other, model == other_model);
      if (this->HasFatalFailure()) return;
    }
    EXPECT_EQ(Counted::alive, static_cast<int>(vector.size() + other.size()));
  }
  EXPECT_EQ(Counted::alive, 0);
}

TYPED_TEST(SmallVectorTest, MovedFromVectorsAreEmptyAndUsable) {
  constexpr std::size_t N = TypeParam::value;
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, N, N + 1, 4 * N + 3}) {
    SmallVector<Counted, N> from(size, Counted(3));
    const SmallVector<Counted, N> to(std::move(from));
    EXPECT_EQ(to.size(), size);
    EXPECT_TRUE(from.empty());  // NOLINT(bugprone-use-after-move): the moved-from state is what the test checks
    from.push_back(Counted(4));
    EXPECT_EQ(*from.back().value, 4);
  }
}

TYPED_TEST(SmallVectorTest, TakesItsOwnElementsAsArguments) {
  constexpr std::size_t N = TypeParam::value;
  SmallVector<std::string, N> words;
  words.emplace_back("a word that is too long for the inline buffer of a string");
  const std::string first = words[0];
  for (int i = 0; i < 40; ++i) words.emplace_back(words[0]);
  for (int i = 0; i < 40; ++i) words.push_back(words.front());
  words.resize(200, words[0]);
  for (const std::string& word : words) EXPECT_EQ(word, first);
  SmallVector<std::string, N>& same = words;
  words = same;
  EXPECT_EQ(words.size(), 200u);
}

TEST(SmallVectorBasicTest, KeepsInlineElementsInside) {
  SmallVector<int, 4> vector{1, 2, 3, 4};
  const auto* begin = reinterpret_cast<const char*>(&vector);
  const auto* data = reinterpret_cast<const char*>(vector.data());
  EXPECT_TRUE(data >= begin && data < begin + sizeof(vector));
  vector.push_back(5);
  const auto* heap = reinterpret_cast<const char*>(vector.data());
  EXPECT_FALSE(heap >= begin && heap < begin + sizeof(vector));
  EXPECT_EQ(std::accumulate(vector.begin(), vector.end(), 0), 15);
}

TEST(SmallVectorBasicTest, ConvertsToSpans) {
  SmallVector<int, 2> vector{1, 2, 3};
  const std::span<const int> view = vector;
  EXPECT_EQ(view.size(), 3u);
  EXPECT_EQ(view.data(), vector.data());
  EXPECT_EQ((SmallVector<int, 2>(view)), vector);
}

/// Throws from its constructor when asked to.
struct Throwing {
  Counted counted;
  explicit Throwing(bool fail) {
    if (fail) throw std::domain_error("on purpose");
  }
};

TEST(SmallVectorBasicTest, AnElementWhoseConstructorThrowsIsNotThere) {
  const int before = Counted::alive;
  {
    SmallVector<Throwing, 2> vector;
    for (std::size_t size = 0; size < 6; ++size) {
      EXPECT_THROW(vector.emplace_back(true), std::domain_error);
      EXPECT_EQ(vector.size(), size);
      vector.emplace_back(false);
    }
  }
  EXPECT_EQ(Counted::alive, before);
}

TEST(SmallVectorBasicTest, RefusesMoreElementsThanItCanCount) {
  SmallVector<char, 2> vector{'a'};
  EXPECT_THROW(vector.reserve(std::size_t{1} << 32), std::bad_alloc);
  EXPECT_THROW(vector.resize((std::size_t{1} << 32) + 1, 'b'), std::bad_alloc);
  EXPECT_EQ(vector, (SmallVector<char, 2>{'a'}));
}

TEST(SmallVectorBasicTest, ReservesAndDefaultsToZero) {
  SmallVector<std::int64_t, 2> vector;
  vector.reserve(100);
  const auto* data = vector.data();
  vector.resize(100);
  EXPECT_EQ(vector.data(), data);
  for (const std::int64_t value : vector) EXPECT_EQ(value, 0);
}

}  // namespace
}  // namespace lamella
