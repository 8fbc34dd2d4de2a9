// storage/input/features/feature_formats.h - what the readers of feature formats share;
// open_features() chooses among them.
#pragma once

#include <memory>
#include <string>

#include "storage/input/bytes/npy.h"
#include "storage/input/features/feature_reader.h"
#include "storage/input/tables/column_choice.h"

namespace unweave {

/// Some columns of an array, or all. `is_file`: else it is one in memory, and whoever gives it has
/// looked at its first column.
[[nodiscard]] std::unique_ptr<FeatureReader> open_npy_features(NpyReader array, const ColumnChoice& choice,
                                                               bool is_file);
/// `are_chosen`: its columns were named, so that none is asked about.
[[nodiscard]] std::unique_ptr<FeatureReader> open_text_features(ByteSource source, std::uint64_t rows, bool are_chosen);

/// "row 3, column 5", both from 0.
[[nodiscard]] std::string feature_place(std::uint64_t row, std::uint64_t column);
[[noreturn]] void throw_bad_value(const std::filesystem::path& file, std::string_view place, double value);
/// Throws InputError unless rows are node counts and columns fit 32 bits, neither zero.
void check_feature_shape(const std::filesystem::path& file, std::uint64_t rows, std::uint64_t columns);
/// Makes `batch` an empty dense one of `rows` rows.
void start_dense_batch(FeatureBatch& batch, std::uint64_t first_row, std::size_t rows);

/// Some columns of a matrix, in the order of the choice; the matrix itself where there is none.
/// Throws UsageError.
[[nodiscard]] std::unique_ptr<FeatureReader> choose_columns(std::unique_ptr<FeatureReader> matrix,
                                                            const ColumnChoice& choice);

}  // namespace unweave
