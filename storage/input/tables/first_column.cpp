// storage/input/tables/first_column.cpp - words what a first column may mean.
#include "storage/input/tables/first_column.h"

#include <cmath>
#include <cstdint>

#include "storage/io/error.h"

namespace unweave {

void FirstColumn::see(double value) noexcept {
  constexpr double kMostRows = 0x1p32;
  if (value >= 0 && value < kMostRows && value == std::floor(value))
    numbers_.see(static_cast<std::uint64_t>(value));
  else
    numbers_.see_no_number();
}

void FirstColumn::require_feature(const std::filesystem::path& file) const {
  if (numbers_.differ_in_order())
    throw InputError(
        file, "column 0",
        "it numbers the lines, in another order than they stand in, and may have the ids of nodes, or be a feature",
        "sort the lines by it and " + remedy_for_ids(file));
  if (numbers_.are_in_order())
    throw InputError(file, "column 0", "it counts the lines, and may have the ids of nodes, or be a feature",
                     remedy_for_ids(file));
}

void FirstColumn::require_order(const std::filesystem::path& file) const {
  if (numbers_.differ_in_order())
    throw InputError(
        file, "column 0",
        "it numbers the lines, in another order than they stand in, and line i is taken for that of node i",
        "sort the lines by it");
}

std::string remedy_for_ids(const std::filesystem::path& file) {
  return "leave it out by " + file.string() + "[1:], or take it by " + file.string() + "[0:]";
}

}  // namespace unweave
