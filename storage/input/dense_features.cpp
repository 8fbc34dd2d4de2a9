// storage/input/dense_features.cpp - dense feature matrices: .npy arrays and text.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "storage/input/feature_formats.h"
#include "storage/input/line_reader.h"
#include "storage/io/error.h"

namespace unweave {

namespace {

constexpr double kLargest = std::numeric_limits<float>::max();
constexpr std::size_t kGrowthValues = std::size_t{1} << 16;  // values; memory follows what the file really holds

void require_matrix(const NpyReader& array) {
  const NpyHeader& header = array.header();
  const auto bad = [&](const std::string& what, std::string_view remedy) {
    return InputError(array.name(), ".npy header", what, remedy);
  };
  if (!header.is_number()) throw bad("features must be numbers", "save an array of float32 with numpy.save");
  if (header.shape.size() != 2 || header.elements == 0) {
    throw bad("shape " + header.shape_text() + " is not a feature matrix", "give an array of shape (N, F)");
  }
  if (header.fortran_order) {
    throw bad("the matrix lies in Fortran order", "save numpy.ascontiguousarray(a) instead");
  }
  check_feature_shape(array.name(), header.shape[0], header.shape[1]);
}

class NpyFeatures final : public FeatureReader {
 public:
  /// `array` has passed require_matrix().
  explicit NpyFeatures(NpyReader array)
      : FeatureReader(array.header().shape[0], array.header().shape[1], false), array_(std::move(array)) {}

  bool next(FeatureBatch& batch, std::size_t max_values) override {
    const std::uint64_t left = rows() - row_;
    if (left == 0) return false;
    const std::uint64_t rows_wanted = std::clamp<std::uint64_t>(max_values / columns(), 1, left);
    const std::size_t values = static_cast<std::size_t>(rows_wanted * columns());
    start_dense_batch(batch, row_, static_cast<std::size_t>(rows_wanted));
    while (batch.values.size() < values) {
      const std::size_t had = batch.values.size();
      batch.values.resize(std::min(values, had + std::max(had, kGrowthValues)));
      array_.read(std::span(batch.values).subspan(had));
      for (std::size_t i = had; i < batch.values.size(); ++i) {
        if (!std::isfinite(batch.values[i])) {
          throw_bad_value(array_.name(), feature_place(row_ + i / columns(), i % columns()), batch.values[i]);
        }
      }
    }
    row_ += rows_wanted;
    return true;
  }
  void skip(std::uint64_t rows) override {
    array_.skip(rows * columns());
    row_ += rows;
  }

 private:
  NpyReader array_;
  std::uint64_t row_ = 0;
};

class TextFeatures final : public FeatureReader {
 public:
  TextFeatures(LineReader lines, std::uint64_t rows, std::vector<double> first)
      : FeatureReader(rows, first.size(), false), lines_(std::move(lines)), waiting_(std::move(first)) {}

  /// The next row that is no comment; empty at the end. `expected` columns, 0 for any number.
  static std::vector<double> read_row(LineReader& lines, std::uint64_t expected) {
    std::vector<double> row;
    row.reserve(static_cast<std::size_t>(expected));
    std::string_view line;
    while (lines.next(line)) {
      Fields fields(line);
      if (fields.at_end() || fields.first() == '#' || lines.skips_header(line)) continue;
      while (!fields.at_end()) {
        double value = 0;
        Fields copy = fields;
        const std::errc error = fields.number(value);
        // Also for numbers that only float64 holds, but not for an infinity that the text spells out.
        if (error != std::errc() || (std::abs(value) > kLargest && std::isfinite(value))) {
          throw InputError(lines.name(), lines.place() + ", column " + std::to_string(row.size()),
                           quote_for_message(copy.take()) + " is not a number that fits float32",
                           "give numbers only; put # before a header line");
        }
        if (!std::isfinite(value)) {
          throw_bad_value(lines.name(), lines.place() + ", column " + std::to_string(row.size()), value);
        }
        row.push_back(static_cast<double>(static_cast<float>(value)));
      }
      if (fields.after_comma() || (expected > 0 && row.size() != expected)) {
        throw InputError(lines.name(), lines.place(),
                         "wrong column count: " + std::to_string(row.size() + (fields.after_comma() ? 1 : 0)) +
                             (expected > 0 ? " instead of " + std::to_string(expected) : ", the last one empty"),
                         "give the same number of values on each line");
      }
      return row;
    }
    return row;
  }

  bool next(FeatureBatch& batch, std::size_t max_values) override {
    start_dense_batch(batch, row_, 0);
    while (row_ < rows() && (batch.rows == 0 || (batch.rows + 1) * columns() <= max_values)) {
      if (waiting_.empty()) waiting_ = read_row(lines_, columns());
      if (waiting_.empty()) {
        throw InputError(lines_.name(), "after line " + std::to_string(lines_.number()),
                         "the file ends after " + std::to_string(row_) + " of " + std::to_string(rows()) + " rows",
                         "correct the file or the number of nodes");
      }
      batch.values.insert(batch.values.end(), waiting_.begin(), waiting_.end());
      waiting_.clear();
      ++batch.rows;
      ++row_;
    }
    if (row_ == rows() && !read_row(lines_, 0).empty()) {
      throw InputError(lines_.name(), lines_.place(), "more than the " + std::to_string(rows()) + " rows declared",
                       "correct the file or the number of nodes");
    }
    return batch.rows > 0;
  }

 private:
  LineReader lines_;
  std::vector<double> waiting_;
  std::uint64_t row_ = 0;
};

}  // namespace

std::string feature_place(std::uint64_t row, std::uint64_t column) {
  return "row " + std::to_string(row) + ", column " + std::to_string(column);
}

void throw_bad_value(const std::filesystem::path& file, std::string_view place, double value) {
  throw InputError(file, place, std::isnan(value) ? "the value is NaN" : "the value is infinite",
                   "features must be finite; replace it, for example by 0");
}

void check_feature_shape(const std::filesystem::path& file, std::uint64_t rows, std::uint64_t columns) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint32_t>::max() - 1;
  if (rows >= 1 && rows <= kMost + 1 && columns >= 1 && columns <= kMost) return;
  throw InputError(file, "shape",
                   std::to_string(rows) + " rows of " + std::to_string(columns) + " columns are no features",
                   "rows and columns lie between 1 and 2^32 - 2");
}

void start_dense_batch(FeatureBatch& batch, std::uint64_t first_row, std::size_t rows) {
  batch.first_row = first_row;
  batch.rows = rows;
  batch.sparse = false;
  batch.indptr.clear();
  batch.indices.clear();
  batch.values.clear();
}

std::unique_ptr<FeatureReader> open_npy_features(NpyReader array) {
  require_matrix(array);
  return std::make_unique<NpyFeatures>(std::move(array));
}

void FeatureReader::skip(std::uint64_t rows) {
  FeatureBatch batch;
  while (rows > 0) {
    // A sparse row counts as at least one value, so that no batch has more rows than are left.
    const std::uint64_t values = std::min<std::uint64_t>(rows, kGrowthValues) * (sparse() ? 1 : columns());
    if (!next(batch, static_cast<std::size_t>(std::min<std::uint64_t>(values, kGrowthValues)))) return;
    rows -= batch.rows;
  }
}

std::unique_ptr<FeatureReader> open_text_features(const InputFile& file, std::uint64_t rows) {
  return open_text_features(ByteSource(file), rows);
}

std::unique_ptr<FeatureReader> open_text_features(ByteSource source, std::uint64_t rows) {
  LineReader lines(std::move(source));
  std::vector<double> first = TextFeatures::read_row(lines, 0);
  check_feature_shape(lines.name(), rows, first.size());
  return std::make_unique<TextFeatures>(std::move(lines), rows, std::move(first));
}

}  // namespace unweave
