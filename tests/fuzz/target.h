// tests/fuzz/target.h - parsers of bytes from outside, to be run on any bytes.
//
// Built by clang (preset `fuzz`) each group is a libFuzzer program: `fuzz_inputs --target=edges
// CORPUS`. Built otherwise it is a test that runs every file of corpus/<target>/. A parser may
// throw DataError; all else that leaves it is a crash.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace unweave::fuzz {

struct Target {
  const char* name;
  void (*run)(std::string_view bytes);
};

/// Those of the group that is linked.
[[nodiscard]] std::span<const Target> targets();

/// A folder in memory that lives as long as the process, to put inputs where parsers look for them.
[[nodiscard]] const std::filesystem::path& scratch();
/// Writes scratch()/name, whose folder is there; returns its path.
std::filesystem::path put_file(const std::string& name, std::string_view bytes);

/// Takes values off the front of the input; zeros when it is used up.
class Taker {
 public:
  explicit Taker(std::string_view bytes) : bytes_(bytes) {}
  template <class T>
  T take() {
    T value{};
    const std::size_t count = std::min(sizeof value, bytes_.size());
    std::memcpy(&value, bytes_.data(), count);
    bytes_.remove_prefix(count);
    return value;
  }
  [[nodiscard]] std::string_view rest() const noexcept { return bytes_; }

 private:
  std::string_view bytes_;
};

}  // namespace unweave::fuzz
