#include "ops/linalg/einsum.h"

#include <algorithm>
#include <array>
#include <bitset>

#include "engine/autograd/autocast/autocast.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/linalg/diagonal.h"
#include "ops/linalg/matmul.h"
#include "ops/movement/cast.h"
#include "ops/reduce/sum.h"
#include "ops/shape/permute.h"
#include "ops/shape/reshape.h"
#include "ops/support/checks.h"

namespace lamella {
namespace {

/// Labels of axes: A to Z, a to z, then those of the axes that '...' stands for, counted from the last.
constexpr int kLetters = 52;
constexpr int kLabels = 128;
using Labels = std::vector<int>;
using LabelSet = std::bitset<kLabels>;

[[noreturn]] void refuse(std::string_view subscripts, const std::string& what) {
  fail<ValueError>("[einsum] '", subscripts, "': ", what);
}

int letter_label(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  return c >= 'a' && c <= 'z' ? 26 + c - 'a' : -1;
}

std::string label_name(int label) {
  if (label >= kLetters) return str("axis ", kLetters - label - 1, " of '...'");
  return str("'", static_cast<char>(label < 26 ? 'A' + label : 'a' + label - 26), "'");
}

/// True if outer products are faster than matrix products with an inner size of 1 and round the same way.
bool has_outer_products(const Tensor& x) {
  return x.device().is_cpu() && (x.dtype() == DType::Float32 || x.dtype() == DType::Float64) &&
         !autograd::autocast_active();
}

/// The subscript of one tensor, or of the result.
struct Subscript {
  std::string letters;          ///< letters before and after the ellipsis
  std::size_t ellipsis_at = 0;  ///< position of the ellipsis among the letters
  bool has_ellipsis = false;

  /// Returns the labels of all axes, with '...' expanded to `count` axes.
  Labels labels(std::size_t count) const {
    Labels result;
    const auto expand = [&] {
      for (std::size_t i = count; i-- > 0;) result.push_back(kLetters + static_cast<int>(i));
    };
    for (std::size_t i = 0; i < letters.size(); ++i) {
      if (has_ellipsis && i == ellipsis_at) expand();
      result.push_back(letter_label(letters[i]));
    }
    if (has_ellipsis && ellipsis_at == letters.size()) expand();
    return result;
  }
};

Subscript parse(std::string_view text, std::string_view whole) {
  Subscript result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == ' ') continue;
    if (text.substr(i, 3) == "...") {
      if (result.has_ellipsis) refuse(whole, "a tensor has more than one '...'");
      result.has_ellipsis = true;
      result.ellipsis_at = result.letters.size();
      i += 2;
    } else if (letter_label(text[i]) < 0) {
      refuse(whole, str("expected letters, '...', ',' and one '->', got '", text[i], "'"));
    } else {
      result.letters += text[i];
    }
  }
  return result;
}

struct Equation {
  std::vector<Subscript> inputs;
  std::optional<Subscript> output;
};

Equation parse_equation(std::string_view text) {
  Equation equation;
  const std::size_t arrow = text.find("->");
  std::string_view left = text.substr(0, arrow);
  if (arrow != std::string_view::npos) equation.output = parse(text.substr(arrow + 2), text);
  for (;;) {
    const std::size_t comma = left.find(',');
    equation.inputs.push_back(parse(left.substr(0, comma), text));
    if (comma == std::string_view::npos) return equation;
    left.remove_prefix(comma + 1);
  }
}

/// A tensor with a distinct label for each axis.
struct Term {
  Tensor x;
  Labels labels;

  bool has(int label) const { return std::ranges::find(labels, label) != labels.end(); }
  std::int64_t axis_of(int label) const { return std::ranges::find(labels, label) - labels.begin(); }
  void drop(std::int64_t axis) { labels.erase(labels.begin() + axis); }

  /// Sums over the axes whose labels are not in `kept`.
  void sum_others(const LabelSet& kept) {
    Dims axes;
    Labels left;
    for (std::size_t i = 0; i < labels.size(); ++i) {
      const bool keep = kept[static_cast<std::size_t>(labels[i])];
      if (!keep) axes.push_back(static_cast<std::int64_t>(i));
      if (keep) left.push_back(labels[i]);
    }
    if (axes.empty()) return;
    x = Sum::call(x, axes, false, x.dtype());
    labels = left;
  }
  /// Takes the diagonals of labels that occur more than once.
  void take_diagonals(std::string_view subscripts) {
    for (std::size_t i = 0; i < labels.size();) {
      const auto again = std::find(labels.begin() + static_cast<std::ptrdiff_t>(i) + 1, labels.end(), labels[i]);
      if (again == labels.end()) {
        ++i;
        continue;
      }
      const auto j = again - labels.begin();
      if (x.shape()[i] != x.size(j)) {
        refuse(subscripts, str(label_name(labels[i]), " has lengths ", x.shape()[i], " and ", x.size(j),
                               " in one tensor, of shape ", x.shape()));
      }
      const int label = labels[i];
      x = diagonal(x, 0, static_cast<std::int64_t>(i), j);
      drop(j);
      drop(static_cast<std::int64_t>(i));
      labels.push_back(label);
    }
  }
  /// Returns x with its axes in the given order, and size 1 for labels that it lacks.
  Tensor arranged(const Labels& order) const {
    Dims axes;
    Dims shape;
    for (const int label : order) {
      if (has(label)) axes.push_back(axis_of(label));
      shape.push_back(has(label) ? x.size(axis_of(label)) : 1);
    }
    return reshape(permute_dims(x, axes), shape);
  }
};

LabelSet set_of(const Labels& labels) {
  LabelSet set;
  for (const int label : labels) set.set(static_cast<std::size_t>(label));
  return set;
}

class Contraction {
 public:
  Contraction(std::string_view subscripts, const std::vector<Tensor>& operands) : subscripts_(subscripts) {
    const Equation equation = parse_equation(subscripts);
    if (equation.inputs.size() != operands.size()) {
      refuse(subscripts, str("it describes ", equation.inputs.size(), " tensors, ", operands.size(), " are given"));
    }
    DType dtype = operands[0].dtype();
    for (const Tensor& x : operands) dtype = promote_types(dtype, x.dtype());
    std::size_t ellipsis = 0;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const Subscript& subscript = equation.inputs[i];
      const std::size_t named = subscript.letters.size();
      const std::size_t ndim = operands[i].ndim();
      if (named > ndim || (named < ndim && !subscript.has_ellipsis)) {
        refuse(subscripts, str("tensor ", i, " has ", ndim, " axes (shape ", operands[i].shape(), "), its subscript ",
                               subscript.has_ellipsis ? "at least " : "", named));
      }
      if (subscript.has_ellipsis) ellipsis = std::max(ellipsis, ndim - named);
      if (ndim - named > kLabels - kLetters) refuse(subscripts, "'...' stands for too many axes");
      terms_.push_back({cast(operands[i], dtype), subscript.labels(ndim - named)});
    }
    find_output(equation, ellipsis);
    find_sizes();
    for (Term& term : terms_) {
      term.take_diagonals(subscripts);
      drop_repeated(term);
    }
    for (std::size_t i = 0; i < terms_.size(); ++i) terms_[i].sum_others(needed_beside(i, i));
  }

  Tensor run() {
    while (terms_.size() > 1) {
      const auto [i, j] = best_pair();
      Term product = multiply_terms(terms_[i], terms_[j], needed_beside(i, j));
      terms_.erase(terms_.begin() + static_cast<std::ptrdiff_t>(j));
      terms_[i] = std::move(product);
    }
    return terms_[0].arranged(output_);
  }

 private:
  void find_output(const Equation& equation, std::size_t ellipsis) {
    std::array<int, kLabels> count{};
    for (const Term& term : terms_) {
      for (const int label : term.labels) ++count[static_cast<std::size_t>(label)];
    }
    if (!equation.output) {
      for (std::size_t i = ellipsis; i-- > 0;) output_.push_back(kLetters + static_cast<int>(i));
      for (int label = 0; label < kLetters; ++label) {
        if (count[static_cast<std::size_t>(label)] == 1) output_.push_back(label);
      }
      return;
    }
    output_ = equation.output->labels(ellipsis);
    LabelSet seen;
    for (const int label : output_) {
      const auto at = static_cast<std::size_t>(label);
      if (count[at] == 0) refuse(subscripts_, str("the result has ", label_name(label), ", and no tensor has"));
      if (seen[at]) refuse(subscripts_, str("the result has ", label_name(label), " twice"));
      seen.set(at);
    }
  }

  void find_sizes() {
    sizes_.fill(1);
    for (const Term& term : terms_) {
      for (std::size_t i = 0; i < term.labels.size(); ++i) {
        std::int64_t& size = sizes_[static_cast<std::size_t>(term.labels[i])];
        const std::int64_t own = term.x.shape()[i];
        if (own == size || own == 1) continue;
        if (size != 1) refuse(subscripts_, str(label_name(term.labels[i]), " has lengths ", size, " and ", own));
        size = own;
      }
    }
  }

  /// Drops axes of size 1 that broadcast to longer ones.
  void drop_repeated(Term& term) {
    for (std::int64_t i = static_cast<std::int64_t>(term.labels.size()) - 1; i >= 0; --i) {
      if (term.x.size(i) == sizes_[static_cast<std::size_t>(term.labels[static_cast<std::size_t>(i)])]) continue;
      term.x = squeeze(term.x, i);
      term.drop(i);
    }
  }

  /// Returns the labels that the result or a term other than i and j has.
  LabelSet needed_beside(std::size_t i, std::size_t j) const {
    LabelSet needed = set_of(output_);
    for (std::size_t k = 0; k < terms_.size(); ++k) {
      if (k != i && k != j) needed |= set_of(terms_[k].labels);
    }
    return needed;
  }

  double elements(const LabelSet& labels) const {
    double count = 1;
    for (std::size_t i = 0; i < kLabels; ++i) {
      if (labels[i]) count *= static_cast<double>(sizes_[i]);
    }
    return count;
  }

  /// Returns the pair whose product is smallest relative to the terms that it replaces.
  std::pair<std::size_t, std::size_t> best_pair() const {
    std::pair<std::size_t, std::size_t> best{0, 1};
    double least = 0;
    for (std::size_t i = 0; i < terms_.size() && terms_.size() > 2; ++i) {
      for (std::size_t j = i + 1; j < terms_.size(); ++j) {
        const LabelSet a = set_of(terms_[i].labels);
        const LabelSet b = set_of(terms_[j].labels);
        const double growth = elements((a | b) & needed_beside(i, j)) - elements(a) - elements(b);
        if ((i == 0 && j == 1) || growth < least) {
          least = growth;
          best = {i, j};
        }
      }
    }
    return best;
  }

  std::int64_t size_of(const Labels& labels) const {
    std::int64_t size = 1;
    for (const int label : labels) size *= sizes_[static_cast<std::size_t>(label)];
    return size;
  }

  /// Returns the product of two terms summed over labels not in `needed`: elementwise, or as a matrix product.
  Term multiply_terms(const Term& a, const Term& b, const LabelSet& needed) const {
    Labels batch;
    Labels summed;
    Labels of_a;
    Labels of_b;
    for (const int label : a.labels) {
      if (!b.has(label)) {
        of_a.push_back(label);
      } else {
        (needed[static_cast<std::size_t>(label)] ? batch : summed).push_back(label);
      }
    }
    for (const int label : b.labels) {
      if (!a.has(label)) of_b.push_back(label);
    }
    const auto joined = [](std::initializer_list<const Labels*> parts) {
      Labels all;
      for (const Labels* part : parts) all.insert(all.end(), part->begin(), part->end());
      return all;
    };
    const Labels labels = joined({&batch, &of_a, &of_b});
    const bool is_outer = !batch.empty() && !of_a.empty() && !of_b.empty() && has_outer_products(a.x);
    if (summed.empty() && !is_outer) return {multiply(a.arranged(labels), b.arranged(labels)), labels};
    const Tensor left =
        reshape(a.arranged(joined({&batch, &of_a, &summed})), {size_of(batch), size_of(of_a), size_of(summed)});
    const Tensor right =
        reshape(b.arranged(joined({&batch, &summed, &of_b})), {size_of(batch), size_of(summed), size_of(of_b)});
    Dims shape;
    for (const int label : labels) shape.push_back(sizes_[static_cast<std::size_t>(label)]);
    if (batch.empty()) return {reshape(matmul(squeeze(left, 0), squeeze(right, 0)), shape), labels};
    return {reshape(matmul(left, right), shape), labels};
  }

  std::string_view subscripts_;
  std::vector<Term> terms_;
  Labels output_;
  std::array<std::int64_t, kLabels> sizes_{};
};

}  // namespace

Tensor Einsum::call(std::string_view subscripts, const std::vector<Tensor>& operands) {
  if (operands.empty()) fail<ValueError>("[einsum] needs at least one tensor");
  for (const Tensor& x : operands) {
    check_defined(x, info.name);
    check_dtype(x, Numeric, info.name);
    check_same_device(operands[0], x, info.name);
  }
  return Contraction(subscripts, operands).run();
}

}  // namespace lamella
