// storage/input/features/left_out_column.h - what gives features without one of their columns, for
// messages.
#pragma once

#include <cstdint>
#include <string>

#include "storage/input/features/feature_reader.h"

namespace unweave {

/// What is to be given in the place of a file of so many columns, such as "x.csv[1:]"; a line of
/// Python that writes another file and the option for it where a choice of columns is no part of
/// the name of such a file. An array in memory is as a file of its name.
[[nodiscard]] std::string without_column(const InputFile& file, std::size_t column, std::uint64_t columns);
[[nodiscard]] std::string without_column(const CsrFiles& files, std::size_t column, std::uint64_t columns);

}  // namespace unweave
