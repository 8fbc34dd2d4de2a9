// tools/python/bindings/array_stream.h - takes what the library writes as a .npy file into the
// memory of an array.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <ostream>
#include <span>
#include <stdexcept>
#include <streambuf>

namespace unweave::python {

/// A stream whose last bytes, as many as `memory` has, are the elements; what comes before is the
/// header.
class ArrayStream final : public std::ostream {
 public:
  explicit ArrayStream(std::span<char> memory) : std::ostream(nullptr), buffer_(memory) {
    rdbuf(&buffer_);
    exceptions(std::ios::badbit);  // what the buffer throws is thrown on
  }
  /// An array that was not filled holds whatever its memory held before. Throws std::logic_error.
  void require_full() const {
    if (buffer_.room() > 0) throw std::logic_error("an array has room for more elements than there are");
  }

 private:
  class Buffer final : public std::streambuf {
   public:
    explicit Buffer(std::span<char> memory) : memory_(memory) {}
    [[nodiscard]] std::size_t room() const noexcept { return memory_.size(); }

   protected:
    std::streamsize xsputn(const char* bytes, std::streamsize count) override {
      std::span<const char> rest(bytes, static_cast<std::size_t>(count));
      // A header of format 1.0 tells its length in two bytes after the magic text and the version.
      constexpr std::size_t kPreamble = 10;
      while (!rest.empty() && header_left_ > 0) {
        if (header_read_ == kPreamble - 2) low_ = static_cast<unsigned char>(rest.front());
        if (header_read_ == kPreamble - 1)
          header_left_ = 1 + low_ + 256 * static_cast<std::size_t>(static_cast<unsigned char>(rest.front()));
        if (header_read_ >= kPreamble - 1) --header_left_;
        ++header_read_;
        rest = rest.subspan(1);
      }
      const std::size_t taken = std::min(rest.size(), memory_.size());
      if (taken < rest.size()) throw std::logic_error("an array has no room for all elements");
      if (taken > 0) std::memcpy(memory_.data(), rest.data(), taken);
      memory_ = memory_.subspan(taken);
      return count;
    }
    int_type overflow(int_type character) override {
      const char byte = traits_type::to_char_type(character);
      return xsputn(&byte, 1) == 1 ? character : traits_type::eof();
    }

   private:
    std::span<char> memory_;
    std::size_t header_read_ = 0, header_left_ = 1, low_ = 0;
  };
  Buffer buffer_;
};

}  // namespace unweave::python
