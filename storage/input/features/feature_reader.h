// storage/input/features/feature_reader.h - the feature matrix of a user's file as a stream of
// batches of rows.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "storage/input/bytes/byte_source.h"
#include "storage/input/import_options.h"

namespace unweave {

/// Consecutive rows. Dense: `values` is rows x columns, row by row. Sparse: row r holds entries
/// [indptr[r], indptr[r + 1]) of `indices` (strictly increasing in a row) and `values`.
/// Values are finite float64; their squares may still overflow.
struct FeatureBatch {
  std::uint64_t first_row = 0;
  std::size_t rows = 0;
  bool sparse = false;
  std::vector<std::uint64_t> indptr;   ///< sparse: rows + 1 offsets, from 0
  std::vector<std::uint32_t> indices;  ///< sparse: columns
  std::vector<double> values;
};

/// Rows in order. Not thread-safe.
///
/// Errors: InputError naming row and column of a NaN or infinite value, an index out of range or
/// twice in a row, a row whose offsets run backwards, a file cut short; DataError from the bytes
/// below.
class FeatureReader {
 public:
  virtual ~FeatureReader() = default;
  FeatureReader(const FeatureReader&) = delete;
  FeatureReader& operator=(const FeatureReader&) = delete;

  [[nodiscard]] std::uint64_t rows() const noexcept { return rows_; }
  [[nodiscard]] std::uint64_t columns() const noexcept { return columns_; }
  [[nodiscard]] bool sparse() const noexcept { return sparse_; }

  /// Replaces `batch` by the next rows, reusing its memory: as many as hold `max_values` values, at
  /// least one. Returns false at the end, which is reached only if all files are whole.
  virtual bool next(FeatureBatch& batch, std::size_t max_values) = 0;
  /// Before the first next(): leaves out so many rows, which are not all looked at.
  virtual void skip(std::uint64_t rows);

 protected:
  FeatureReader(std::uint64_t rows, std::uint64_t columns, bool sparse)
      : rows_(rows), columns_(columns), sparse_(sparse) {}

 private:
  std::uint64_t rows_;
  std::uint64_t columns_;
  bool sparse_;
};

/// One file: a dense `.npy` N x F of any number type in C order; an `.npz` with a CSR matrix under
/// scipy's names (data, indices, indptr, shape) or Shchur's (attr_data, attr_indices, attr_indptr,
/// attr_shape); an `.npz` with one dense array, or the member that `file` names. Any other file is
/// text, as open_text_features() reads it, if `rows` says how many rows it has.
[[nodiscard]] std::unique_ptr<FeatureReader> open_features(const InputFile& file,
                                                           std::optional<std::uint64_t> rows = std::nullopt);

/// A file, arrays of a CSR matrix, or a matrix for each of some types. Throws InputError where a
/// type has another number of rows than of nodes.
[[nodiscard]] std::unique_ptr<FeatureReader> open_features(const FeatureInput& input,
                                                           std::optional<std::uint64_t> rows = std::nullopt);

/// The files of a matrix, one at least.
[[nodiscard]] std::vector<const InputFile*> feature_files(const FeatureInput& input);
[[nodiscard]] std::vector<InputFile*> feature_files(FeatureInput& input);

[[nodiscard]] std::unique_ptr<FeatureReader> open_csr_features(const CsrFiles& files, std::uint64_t columns);

/// Sparse rows of a data set of TUDataset.
[[nodiscard]] std::unique_ptr<FeatureReader> open_tu_features(const TuInput& input);

/// Dense text: one row a line, numbers separated by commas, tabs or blanks, each rounded to
/// float32, as an array of the same text would hold it; `#` starts a comment line. The number of
/// columns is that of the first row, the number of rows is declared by the caller.
[[nodiscard]] std::unique_ptr<FeatureReader> open_text_features(const InputFile& file, std::uint64_t rows);

}  // namespace unweave
