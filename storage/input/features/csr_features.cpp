// storage/input/features/csr_features.cpp - sparse feature matrices: CSR arrays in separate files
// or in one .npz.
//
// Offsets, indices and values are three streams read in step, so memory is that of one batch
// whatever the matrix.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "storage/input/bytes/csr_archive.h"
#include "storage/input/bytes/only_members.h"
#include "storage/input/features/feature_formats.h"
#include "storage/input/foreign_format.h"
#include "storage/io/error.h"

namespace unweave {

namespace {

constexpr std::size_t kGrowthEntries = std::size_t{1} << 16;  // entries; memory follows what the files really hold
std::uint64_t rows_of(const NpyReader& indptr) {
  indptr.require_integers("row offsets");
  const NpyHeader& header = indptr.header();
  if (header.shape.size() != 1 || header.elements < 1) {
    throw InputError(indptr.name(), ".npy header", "shape " + header.shape_text() + " is not that of row offsets",
                     "give an array of N + 1 offsets");
  }
  return header.elements - 1;
}

class CsrFeatures final : public FeatureReader {
 public:
  CsrFeatures(NpyReader indptr, NpyReader indices, std::optional<NpyReader> values, std::uint64_t columns)
      : FeatureReader(rows_of(indptr), columns, true),
        indptr_(std::move(indptr)),
        indices_(std::move(indices)),
        values_(std::move(values)) {
    indices_.require_integers("column indices");
    check_feature_shape(indptr_.name(), rows(), columns);
    require_vector(indices_);
    if (values_) {
      require_vector(*values_);
      if (values_->header().elements != indices_.header().elements) {
        throw InputError(values_->name(), ".npy header",
                         std::to_string(values_->header().elements) + " values for " +
                             std::to_string(indices_.header().elements) + " column indices",
                         kSaveAgain);
      }
    }
    if (next_offset() != 0) {
      throw InputError(indptr_.name(), "element [0]", "the first row offset is not 0", kSaveAgain);
    }
  }

  bool next(FeatureBatch& batch, std::size_t max_values) override {
    batch.first_row = row_;
    batch.rows = 0;
    batch.sparse = true;
    batch.indptr.assign(1, 0);
    batch.indices.clear();
    batch.values.clear();
    if (row_ == rows()) return false;
    take_offsets(batch, max_values);
    read_entries(batch, static_cast<std::size_t>(batch.indptr.back()));
    for (std::size_t r = 0; r < batch.rows; ++r) order_row(batch, r);
    row_ += batch.rows;
    return true;
  }
  void skip(std::uint64_t rows) override {
    for (const std::uint64_t last = row_ + rows; row_ < last; ++row_) {
      const std::uint64_t end = next_offset();
      check_offset(row_, start_, end, indices_.header().elements);
      start_ = end;
    }
    indices_.skip(start_);
    if (values_) values_->skip(start_);
  }

 private:
  static void require_vector(const NpyReader& array) {
    if (array.header().is_number() && array.header().shape.size() == 1) return;
    throw InputError(array.name(), ".npy header", "not a list of numbers: shape " + array.header().shape_text(),
                     kSaveAgain);
  }

  std::uint64_t next_offset() {
    if (offset_at_ == offsets_.size()) {
      offsets_.resize(kGrowthEntries);
      offsets_.resize(indptr_.read(offsets_));
      offset_at_ = 0;
    }
    return static_cast<std::uint64_t>(offsets_[offset_at_++]);
  }

  /// Offsets of the rows of this batch: as many as hold `max_values` entries, at least one row.
  void take_offsets(FeatureBatch& batch, std::size_t max_values) {
    const std::uint64_t entries = indices_.header().elements;
    while (row_ + batch.rows < rows()) {
      if (!next_end_) {
        next_end_ = next_offset();
        check_offset(row_ + batch.rows, start_ + batch.indptr.back(), *next_end_, entries);
      }
      const std::uint64_t length = *next_end_ - start_;
      // An empty row costs an offset: it counts as one value, so that memory stays bounded.
      if (batch.rows > 0 && length + batch.rows >= max_values) break;
      batch.indptr.push_back(length);
      ++batch.rows;
      next_end_.reset();
    }
    start_ += batch.indptr.back();
    if (row_ + batch.rows == rows() && start_ != entries) {
      throw InputError(indptr_.name(), "element [" + std::to_string(rows()) + "]",
                       "the last row offset is " + std::to_string(start_) + " but there are " +
                           std::to_string(entries) + " column indices",
                       kSaveAgain);
    }
  }

  void check_offset(std::uint64_t row, std::uint64_t begin, std::uint64_t end, std::uint64_t entries) const {
    const std::string place = "element [" + std::to_string(row + 1) + "]";
    if (end < begin || end > entries) {
      throw InputError(indptr_.name(), place,
                       "row offset " + std::to_string(static_cast<std::int64_t>(end)) +
                           (end < begin || static_cast<std::int64_t>(end) < 0 ? " runs backwards"
                                                                              : " is past the last column index"),
                       kSaveAgain);
    }
    if (end - begin > columns()) {
      throw InputError(indptr_.name(), place,
                       "row " + std::to_string(row) + " has " + std::to_string(end - begin) + " entries but only " +
                           std::to_string(columns()) + " columns exist",
                       "remove repeated columns, or correct the number of columns");
    }
  }

  void read_entries(FeatureBatch& batch, std::size_t count) {
    while (batch.indices.size() < count) {
      const std::size_t had = batch.indices.size();
      const std::size_t piece = std::min(count - had, kGrowthEntries);
      columns_read_.resize(piece);
      indices_.read(columns_read_);
      batch.values.resize(had + piece, 1.0);
      if (values_) values_->read(std::span(batch.values).subspan(had, piece));
      for (std::size_t i = 0; i < piece; ++i) {
        const std::uint64_t entry = indices_.position() - piece + i;
        if (static_cast<std::uint64_t>(columns_read_[i]) >= columns()) {
          throw InputError(
              indices_.name(), "element [" + std::to_string(entry) + "] (row " + row_text(batch, had + i) + ")",
              "column " + std::to_string(columns_read_[i]) + " is outside 0.." + std::to_string(columns() - 1),
              "correct the index or the number of columns");
        }
        batch.indices.push_back(static_cast<std::uint32_t>(columns_read_[i]));
        if (!std::isfinite(batch.values[had + i])) {
          throw_bad_value(values_->name(),
                          "row " + row_text(batch, had + i) + ", column " + std::to_string(columns_read_[i]) +
                              " (element [" + std::to_string(entry) + "])",
                          batch.values[had + i]);
        }
      }
    }
  }

  /// Number of the row that holds entry `entry` of the batch.
  std::string row_text(const FeatureBatch& batch, std::size_t entry) const {
    const auto after = std::upper_bound(batch.indptr.begin(), batch.indptr.end(), entry);
    return std::to_string(row_ + static_cast<std::uint64_t>(after - batch.indptr.begin()) - 1);
  }

  /// Sorts the entries of a row by column; a column twice is an error.
  void order_row(FeatureBatch& batch, std::size_t row) {
    const std::size_t begin = static_cast<std::size_t>(batch.indptr[row]);
    const std::span<std::uint32_t> columns_here(batch.indices.data() + begin,
                                                static_cast<std::size_t>(batch.indptr[row + 1]) - begin);
    if (!std::is_sorted(columns_here.begin(), columns_here.end())) {
      sorted_.resize(columns_here.size());
      for (std::size_t i = 0; i < sorted_.size(); ++i) sorted_[i] = {columns_here[i], batch.values[begin + i]};
      std::sort(sorted_.begin(), sorted_.end());
      for (std::size_t i = 0; i < sorted_.size(); ++i) {
        columns_here[i] = sorted_[i].first;
        batch.values[begin + i] = sorted_[i].second;
      }
    }
    const auto twin = std::adjacent_find(columns_here.begin(), columns_here.end());
    if (twin != columns_here.end()) {
      throw InputError(indices_.name(), feature_place(row_ + row, *twin), "this column stands twice in its row",
                       "add the values up, for example with scipy's sum_duplicates()");
    }
  }

  NpyReader indptr_;
  NpyReader indices_;
  std::optional<NpyReader> values_;
  std::vector<std::int64_t> offsets_;  // a piece of indptr, from offset_at_ not yet used
  std::size_t offset_at_ = 0;
  std::optional<std::uint64_t> next_end_;  // end of the next row, if read ahead
  std::uint64_t start_ = 0;                // entries of the rows before the batch
  std::uint64_t row_ = 0;
  std::vector<std::int64_t> columns_read_;
  std::vector<std::pair<std::uint32_t, double>> sorted_;
};

std::unique_ptr<FeatureReader> open_csr_archive(const std::filesystem::path& path, const CsrMembers& names) {
  const auto [rows, columns] = matrix_shape(path, names.shape);
  auto features =
      std::make_unique<CsrFeatures>(NpyReader(InputFile{path, names.indptr}), NpyReader(InputFile{path, names.indices}),
                                    NpyReader(InputFile{path, names.data}), columns);
  if (features->rows() != rows) {
    throw InputError(
        display_name(InputFile{path, names.shape}), "element [0]",
        std::to_string(rows) + " rows, but the row offsets are those of " + std::to_string(features->rows()),
        kSaveAgain);
  }
  return features;
}

/// The first names of arrays, for a message.
std::string some_of(const std::vector<std::string>& names) {
  constexpr std::size_t kTold = 8;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kTold); ++i) text += (i == 0 ? "" : ", ") + names[i];
  return names.size() > kTold ? text + " and others" : text;
}

}  // namespace

namespace {

std::unique_ptr<FeatureReader> open_all_features(const InputFile& file, std::optional<std::uint64_t> rows) {
  if (file.memory || !file.member.empty() || !is_zip(file.path)) {
    ByteSource source(file);
    if (!is_npy(file, source)) {
      refuse_foreign_format(source, file, InputKind::kFeatures);
      if (!rows)
        throw InputError(source.name(), "byte 0", "not a .npy array; text does not tell the number of nodes",
                         "give " + option("nodes", "N") + " if it is text");
      return open_text_features(std::move(source), *rows, !file.columns.empty());
    }
    NpyReader array(std::move(source), true);
    const ColumnChoice choice(array.columns());
    return open_npy_features(std::move(array), choice, !file.memory);
  }
  const std::vector<std::string> members = npz_members(file.path);
  require_matrix_format(file.path, members, {"csr"});
  for (const std::string_view prefix : {"", "attr_"})
    if (const auto names = find_csr(members, prefix)) {
      if (prefix.empty()) require_only(file.path, members, names->saved_by_scipy());
      return choose_columns(open_csr_archive(file.path, *names), ColumnChoice(file.columns));
    }
  if (members.size() == 1)
    return open_npy_features(NpyReader(InputFile{file.path, members[0]}), ColumnChoice(file.columns), true);
  throw InputError(file.path, "members", "no CSR matrix (data, indices, indptr, shape) and not one dense array",
                   "name one array, as " + file.path.string() + "[NAME]: it has " + some_of(members) +
                       "; or save the features alone with scipy.sparse.save_npz or numpy.save");
}

}  // namespace

std::unique_ptr<FeatureReader> open_features(const InputFile& file, std::optional<std::uint64_t> rows) {
  try {
    return open_all_features(file, rows);
  } catch (const UsageError& error) {  // there are no such columns
    throw InputError(display_name(file), "columns", error.message(), "name columns that there are");
  }
}

std::unique_ptr<FeatureReader> open_csr_features(const CsrFiles& files, std::uint64_t columns) {
  std::optional<NpyReader> values;
  if (files.values) values.emplace(*files.values);
  return std::make_unique<CsrFeatures>(NpyReader(files.indptr), NpyReader(files.indices), std::move(values), columns);
}

}  // namespace unweave
