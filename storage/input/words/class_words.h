// storage/input/words/class_words.h - which class a word means, where the classes of a store have
// names.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace unweave {

/// Names of classes to be found by what stands in a label's or a request's line. Movable;
/// thread-safe.
class ClassWords {
 public:
  /// `names`: one a class, all different; none where classes have numbers alone.
  explicit ClassWords(const std::vector<std::string>& names = {});

  [[nodiscard]] bool given() const noexcept { return !names_.empty(); }
  /// The class of this name, which may stand in quotes as in CSV.
  [[nodiscard]] std::optional<std::int32_t> find(std::string_view word) const;
  /// What a request says for the class of this name: its number, behind a # where some class has a
  /// number as its name, so that a number alone might be either.
  [[nodiscard]] std::optional<std::string> request_value(std::string_view word) const;
  /// "; did you mean 'cat'?", or nothing.
  [[nodiscard]] std::string nearest(std::string_view word) const;
  /// The names for a message, or the first ones.
  [[nodiscard]] std::string shown() const;

 private:
  std::vector<std::string> names_;
  std::map<std::string, std::int32_t, std::less<>> number_of_;
  std::size_t letters_ = 0;    ///< those of all names
  bool have_numbers_ = false;  ///< a class has a number as its name
};

}  // namespace unweave
