// storage/input/bytes/memory_array.cpp - reads arrays in the caller's memory, piece by piece.
#include "storage/input/bytes/memory_array.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <utility>

#include "storage/io/error.h"
#include "storage/io/types.h"
#include "storage/npy/npy_header.h"

namespace unweave {
namespace {

class MemoryBytes final : public RawBytes {
 public:
  explicit MemoryBytes(std::shared_ptr<const MemoryArray> array) : array_(std::move(array)), rest_(array_->header) {}

  std::size_t read(std::span<char> out) override {
    if (!more()) return 0;
    const std::size_t count = std::min(out.size(), rest_.size());
    std::copy_n(rest_.begin(), count, out.begin());
    rest_ = rest_.subspan(count);
    return count;
  }

  void skip(std::uint64_t count) override {
    while (count > 0 && more()) {
      const auto step = static_cast<std::size_t>(std::min<std::uint64_t>(count, rest_.size()));
      rest_ = rest_.subspan(step);
      count -= step;
    }
  }

 private:
  /// Goes on to the piece that holds the next byte; false at the end.
  bool more() {
    while (rest_.empty() && next_ < array_->pieces.size()) rest_ = array_->pieces[next_++];
    return !rest_.empty();
  }

  std::shared_ptr<const MemoryArray> array_;
  std::span<const char> rest_;  ///< what is left of the present piece
  std::size_t next_ = 0;        ///< piece after it
};

/// Bytes of an element of a type such as "<i8".
std::uint64_t item_bytes(std::string_view descr) {
  std::uint64_t bytes = 0;
  if (descr.size() > 2) std::from_chars(descr.data() + 2, descr.data() + descr.size(), bytes);
  return bytes;
}

}  // namespace

InputFile memory_input(std::string name, std::string_view descr, std::span<const std::uint64_t> shape,
                       bool fortran_order, std::vector<std::span<const char>> pieces) {
  UInt128 wanted = item_bytes(descr), given = 0;
  for (const std::uint64_t extent : shape) wanted = std::min<UInt128>(wanted * extent, UInt128{1} << 64);
  for (const std::span<const char> piece : pieces) given += piece.size();
  if (wanted != given)
    throw UsageError(name + ": its elements take other bytes than its shape " + npy_shape_text(shape) + " says");
  auto array = std::make_shared<MemoryArray>();
  array->header = npy_header(descr, shape, fortran_order);
  array->pieces = std::move(pieces);
  InputFile file;
  file.path = std::move(name);
  file.memory = std::move(array);
  return file;
}

std::unique_ptr<RawBytes> open_memory_bytes(std::shared_ptr<const MemoryArray> array) {
  return std::make_unique<MemoryBytes>(std::move(array));
}

}  // namespace unweave
