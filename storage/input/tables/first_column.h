// storage/input/tables/first_column.h - the first column of features, which may have the ids of
// nodes.
#pragma once

#include <filesystem>
#include <string>

#include "storage/input/tables/line_order.h"

namespace unweave {

/// The values of a first column, row by row: numbers of the rows would be a feature, and the rows
/// be taken in their order.
class FirstColumn {
 public:
  void see(double value) noexcept;
  /// From here on nothing is known of it.
  void leave() noexcept { numbers_.see_no_number(); }
  /// Where nobody has said which columns are features. Throws InputError.
  void require_feature(const std::filesystem::path& file) const;
  /// Where it was left out. Throws InputError where it has the numbers of the rows in another order
  /// than theirs.
  void require_order(const std::filesystem::path& file) const;

 private:
  LineNumbers numbers_;
};

/// What leaves a first column out, and what takes it, for messages.
[[nodiscard]] std::string remedy_for_ids(const std::filesystem::path& file);

}  // namespace unweave
