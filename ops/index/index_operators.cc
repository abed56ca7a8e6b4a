#include "ops/index/index_operators.h"

#include <charconv>
#include <span>
#include <string_view>

#include "engine/core/error.h"
#include "ops/index/index.h"

namespace lamella {
namespace {

/// Reads the items of an index, such as "0, 1:-1, ..., None, ::2, %", in which "%" stands for the next tensor.
class ItemReader {
 public:
  ItemReader(std::string_view text, std::span<const Tensor> tensors) : text_(text), tensors_(tensors) {}

  IndexItems read() {
    IndexItems items;
    if (!at_end()) {
      do items.push_back(read_item());
      while (take(","));
    }
    if (!at_end()) refuse();
    if (next_ != tensors_.size())
      fail<ValueError>("[index] '", text_, "' names ", next_, " tensors, got ", tensors_.size());
    return items;
  }

 private:
  bool at_end() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    return at_ == text_.size();
  }
  bool take(std::string_view token) {
    if (at_end() || !text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }
  std::optional<std::int64_t> read_number() {
    if (at_end()) return {};
    std::int64_t value = 0;
    const auto read = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (read.ec != std::errc()) return {};
    at_ = static_cast<std::size_t>(read.ptr - text_.data());
    return value;
  }
  IndexItem read_item() {
    if (take("...")) return Ellipsis{};
    if (take("None")) return NewAxis{};
    if (take("%")) {
      if (next_ == tensors_.size()) fail<ValueError>("[index] '", text_, "' names more tensors than there are");
      return tensors_[next_++];
    }
    const auto start = read_number();
    if (!take(":")) {
      if (!start) refuse();
      return *start;
    }
    Slice slice{.start = start, .stop = read_number(), .step = 1};
    if (take(":")) slice.step = read_number().value_or(1);
    return slice;
  }
  [[noreturn]] void refuse() const {
    fail<ValueError>("[index] cannot read '", text_, "' at position ", at_,
                     ": items are numbers, slices, '...', 'None' and '%' for a tensor");
  }

  std::string_view text_;
  std::span<const Tensor> tensors_;
  std::size_t at_ = 0;
  std::size_t next_ = 0;
};

Tensor index_by_text(const Tensor& x, std::string_view items, std::span<const Tensor> tensors) {
  return index(x, ItemReader(items, tensors).read());
}

Tensor set_index_by_text(const Tensor& x, std::string_view items, std::span<const Tensor> tensors,
                         const Tensor& value) {
  set_index(x, ItemReader(items, tensors).read(), value);
  return x;
}

}  // namespace

void define_index_operators(Library& library) {
  library.def("index(Tensor(a) x, str items, Tensor[] tensors=[]) -> Tensor(a)", index_by_text);
  library.def("set_index_(Tensor(a!) x, str items, Tensor[] tensors, Tensor value) -> Tensor(a!)", set_index_by_text);
}

}  // namespace lamella
