#include "ops/program/npy.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <ios>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "engine/core/dtype.h"
#include "engine/core/error.h"
#include "ops/movement/cast.h"

namespace lamella {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
/// Longest header that is read, in bytes: shape and dtype take less than a hundred.
constexpr std::uint32_t kMaxHeader = 1 << 16;

constexpr std::array<std::pair<DType, std::string_view>, 14> kDescriptions{{
    {DType::Bool, "|b1"},
    {DType::Int8, "|i1"},
    {DType::Int16, "<i2"},
    {DType::Int32, "<i4"},
    {DType::Int64, "<i8"},
    {DType::UInt8, "|u1"},
    {DType::UInt16, "<u2"},
    {DType::UInt32, "<u4"},
    {DType::UInt64, "<u8"},
    {DType::Float16, "<f2"},
    {DType::Float32, "<f4"},
    {DType::Float64, "<f8"},
    {DType::Complex64, "<c8"},
    {DType::Complex128, "<c16"},
}};

[[noreturn]] void refuse(const std::filesystem::path& path, std::string_view why) {
  fail<ValueError>("[read_npy] '", path.string(), "' ", why);
}

/// Returns what follows a key of the header, a dictionary in Python's notation.
std::string_view value_of(std::string_view header, std::string_view key, const std::filesystem::path& path) {
  const std::string quoted = "'" + std::string(key) + "':";
  const std::size_t at = header.find(quoted);
  if (at == std::string_view::npos) refuse(path, "is no array of numpy: its header lacks " + quoted);
  std::string_view rest = header.substr(at + quoted.size());
  rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  return rest;
}

DType dtype_in(std::string_view header, const std::filesystem::path& path) {
  std::string_view text = value_of(header, "descr", path);
  const std::size_t end = text.empty() || text[0] != '\'' ? std::string_view::npos : text.find('\'', 1);
  if (end == std::string_view::npos) refuse(path, "has elements of several fields");
  text = text.substr(1, end - 1);
  for (const auto& [dtype, description] : kDescriptions) {
    if (text == description) return dtype;
  }
  refuse(path, "has elements of the kind '" + std::string(text) + "', which no tensor has");
}

Dims shape_in(std::string_view header, const std::filesystem::path& path) {
  std::string_view text = value_of(header, "shape", path);
  if (text.empty() || text[0] != '(') refuse(path, "is no array of numpy: its header has no shape");
  text.remove_prefix(1);
  Dims shape;
  std::int64_t count = 1;
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(" ,"), text.size()));
    if (text.empty()) refuse(path, "is no array of numpy: its shape does not end");
    if (text[0] == ')') return shape;
    std::int64_t size = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), size);
    if (error != std::errc() || size < 0) refuse(path, "is no array of numpy: its shape has no sizes");
    if (size > 0 && count > std::numeric_limits<std::int64_t>::max() / 16 / size)
      refuse(path, "is larger than any tensor");
    count *= size;
    shape.push_back(size);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  }
}

std::uint32_t little_endian(std::string_view bytes) {
  std::uint32_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

}  // namespace

Tensor read_npy(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) refuse(path, "cannot be opened");
  const auto read = [&](std::size_t count) {
    std::string bytes(count, '\0');
    if (!file.read(bytes.data(), static_cast<std::streamsize>(count))) refuse(path, "is cut off");
    return bytes;
  };
  const std::string start = read(kMagic.size() + 2);
  const auto version = static_cast<unsigned char>(start[kMagic.size()]);
  if (!start.starts_with(kMagic) || version < 1 || version > 3) refuse(path, "is no array of numpy");
  const std::uint32_t length = little_endian(read(version == 1 ? 2 : 4));
  if (length > kMaxHeader) refuse(path, "has too long a header");
  const std::string header = read(length);
  if (!value_of(header, "fortran_order", path).starts_with("False"))
    refuse(path, "has columns as its inner axis: write numpy.ascontiguousarray(array)");
  const Dims shape = shape_in(header, path);
  const DType dtype = dtype_in(header, path);
  const auto begin = file.tellg();
  file.seekg(0, std::ios::end);
  const auto bytes = static_cast<std::int64_t>(file.tellg() - begin);
  file.seekg(begin);
  std::int64_t wanted = static_cast<std::int64_t>(item_size(dtype));
  for (const std::int64_t size : shape) wanted *= size;
  if (bytes != wanted)
    refuse(path, "has " + std::to_string(bytes) + " bytes of elements, not " + std::to_string(wanted));
  const Tensor x = empty(shape, dtype);
  if (wanted > 0 && !file.read(static_cast<char*>(x.raw_data()), wanted)) refuse(path, "is cut off");
  return x;
}

void write_npy(const std::filesystem::path& path, const Tensor& x) {
  const Tensor rows = contiguous(x.detach());
  const DType dtype = rows.dtype() == DType::BFloat16 ? DType::UInt16 : rows.dtype();
  std::string header;
  for (const auto& [each, description] : kDescriptions) {
    if (each == dtype) header = "{'descr': '" + std::string(description) + "', 'fortran_order': False, 'shape': (";
  }
  for (const std::int64_t size : rows.shape()) header += std::to_string(size) + ",";
  header += "), }";
  // The elements begin at a multiple of 64 bytes.
  const std::size_t before = kMagic.size() + 4;
  header.append(63 - (before + header.size()) % 64, ' ').push_back('\n');
  std::ofstream file(path, std::ios::binary);
  file.write(kMagic.data(), static_cast<std::streamsize>(kMagic.size()));
  const std::array<char, 4> size{1, 0, static_cast<char>(header.size() & 0xff), static_cast<char>(header.size() >> 8)};
  file.write(size.data(), size.size());
  file.write(header.data(), static_cast<std::streamsize>(header.size()));
  if (rows.nbytes() > 0)
    file.write(static_cast<const char*>(rows.raw_data()), static_cast<std::streamsize>(rows.nbytes()));
  if (!file.flush()) fail<ValueError>("[write_npy] '", path.string(), "' cannot be written");
}

}  // namespace lamella
