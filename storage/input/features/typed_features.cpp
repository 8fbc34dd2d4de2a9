// storage/input/features/typed_features.cpp - matrices of several types of nodes as one, whose
// blocks of columns do not meet.
#include <algorithm>
#include <utility>
#include <vector>

#include "storage/input/features/feature_formats.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

/// The rows of one type.
struct TypeRows {
  std::unique_ptr<FeatureReader> matrix;  ///< or null, for rows of zeros
  std::uint64_t rows = 0;
  std::uint64_t first_column = 0;
};

std::uint64_t sum_of_rows(const std::vector<TypeRows>& types) {
  std::uint64_t rows = 0;
  for (const TypeRows& type : types) rows += type.rows;
  return rows;
}

std::uint64_t sum_of_columns(const std::vector<TypeRows>& types) {
  std::uint64_t columns = 0;
  for (const TypeRows& type : types) columns += type.matrix ? type.matrix->columns() : 0;
  return columns;
}

bool is_any_sparse(const std::vector<TypeRows>& types) {
  return std::any_of(types.begin(), types.end(),
                     [](const TypeRows& type) { return type.matrix && type.matrix->sparse(); });
}

class StackedTypes final : public FeatureReader {
 public:
  explicit StackedTypes(std::vector<TypeRows> types)
      : FeatureReader(sum_of_rows(types), sum_of_columns(types), is_any_sparse(types)), types_(std::move(types)) {}

  bool next(FeatureBatch& batch, std::size_t max_values) override {
    for (; type_ < types_.size(); ++type_, first_row_ += std::exchange(given_, 0)) {
      const TypeRows& type = types_[type_];
      if (type.matrix ? next_of_matrix(type, batch, max_values) : next_zeros(type, batch, max_values)) return true;
    }
    return false;
  }

 private:
  bool next_zeros(const TypeRows& type, FeatureBatch& batch, std::size_t max_values) {
    if (given_ == type.rows) return false;
    const auto most = std::max<std::uint64_t>(1, max_values / (sparse() ? 1 : columns()));
    start(batch, static_cast<std::size_t>(std::min(most, type.rows - given_)));
    given_ += batch.rows;
    return true;
  }

  bool next_of_matrix(const TypeRows& type, FeatureBatch& batch, std::size_t max_values) {
    const std::uint64_t own = type.matrix->columns();
    const std::uint64_t most =
        sparse() ? max_values
                 : std::max<std::uint64_t>(1, max_values / columns()) * own;  // a batch of the type has so many values
    if (!type.matrix->next(of_type_, static_cast<std::size_t>(most))) return false;
    start(batch, of_type_.rows);
    given_ = of_type_.first_row + of_type_.rows;
    for (std::size_t row = 0; row < of_type_.rows; ++row) add_row(type, row, batch);
    return true;
  }

  /// Rows of zeros from the place of the type on.
  void start(FeatureBatch& batch, std::size_t rows) {
    const std::uint64_t first_row = first_row_ + given_;
    if (!sparse()) {
      start_dense_batch(batch, first_row, rows);
      batch.values.assign(rows * static_cast<std::size_t>(columns()), 0.0);
      return;
    }
    batch.first_row = first_row;
    batch.rows = rows;
    batch.sparse = true;
    batch.indptr.assign(rows + 1, 0);
    batch.indices.clear();
    batch.values.clear();
  }

  void add_row(const TypeRows& type, std::size_t row, FeatureBatch& batch) {
    const auto own = static_cast<std::size_t>(type.matrix->columns());
    const auto put = [&](std::size_t column, double value) {
      if (!sparse()) {
        batch.values[row * static_cast<std::size_t>(columns()) + static_cast<std::size_t>(type.first_column) + column] =
            value;
      } else if (of_type_.sparse || value != 0) {
        batch.indices.push_back(static_cast<std::uint32_t>(type.first_column + column));
        batch.values.push_back(value);
      }
    };
    if (of_type_.sparse)
      for (auto i = static_cast<std::size_t>(of_type_.indptr[row]); i < of_type_.indptr[row + 1]; ++i)
        put(of_type_.indices[i], of_type_.values[i]);
    else
      for (std::size_t column = 0; column < own; ++column) put(column, of_type_.values[row * own + column]);
    if (sparse()) batch.indptr[row + 1] = batch.indices.size();
  }

  std::vector<TypeRows> types_;
  std::size_t type_ = 0;
  std::uint64_t first_row_ = 0, given_ = 0;  ///< the first row of the type, and how many of its rows have been given
  FeatureBatch of_type_;
};

std::unique_ptr<FeatureReader> open_typed_features(const TypedFeatures& input) {
  std::vector<TypeRows> types;
  std::uint64_t columns = 0;
  const InputFile* first = nullptr;
  for (std::size_t i = 0; i < input.nodes.size(); ++i) {
    TypeRows& type = types.emplace_back();
    type.rows = input.nodes[i];
    type.first_column = columns;
    if (!input.files[i]) continue;
    const InputFile& file = *input.files[i];
    if (first == nullptr) first = &file;
    type.matrix = open_features(file, type.rows);
    if (type.matrix->rows() != type.rows)
      throw InputError(display_name(file), "rows",
                       std::to_string(type.matrix->rows()) + " nodes, but the type has " + std::to_string(type.rows),
                       "make them agree");
    columns += type.matrix->columns();
  }
  check_feature_shape(display_name(*first), sum_of_rows(types), columns);
  return std::make_unique<StackedTypes>(std::move(types));
}

template <typename Input, typename File>
std::vector<File*> collected(Input& input) {
  std::vector<File*> files;
  if (auto* const file = std::get_if<InputFile>(&input)) files.push_back(file);
  if (auto* const csr = std::get_if<CsrInput>(&input)) {
    files = {&csr->files.indptr, &csr->files.indices};
    if (csr->files.values) files.push_back(&*csr->files.values);
  }
  if (auto* const typed = std::get_if<TypedFeatures>(&input))
    for (auto& file : typed->files)
      if (file) files.push_back(&*file);
  if (auto* const tu = std::get_if<TuInput>(&input)) {
    for (auto* const file : {&tu->attributes, &tu->labels})
      if (*file) files.push_back(&**file);
    if (files.empty()) files.push_back(&tu->indicator);
  }
  return files;
}

}  // namespace

std::unique_ptr<FeatureReader> open_features(const FeatureInput& input, std::optional<std::uint64_t> rows) {
  if (const auto* const file = std::get_if<InputFile>(&input)) return open_features(*file, rows);
  if (const auto* const typed = std::get_if<TypedFeatures>(&input)) return open_typed_features(*typed);
  if (const auto* const tu = std::get_if<TuInput>(&input)) return open_tu_features(*tu);
  const auto& csr = std::get<CsrInput>(input);
  return open_csr_features(csr.files, csr.columns);
}

std::vector<const InputFile*> feature_files(const FeatureInput& input) {
  return collected<const FeatureInput, const InputFile>(input);
}

std::vector<InputFile*> feature_files(FeatureInput& input) {
  return collected<FeatureInput, InputFile>(input);
}

}  // namespace unweave
