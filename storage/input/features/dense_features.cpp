// storage/input/features/dense_features.cpp - dense feature matrices: .npy arrays and text.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "storage/input/features/feature_formats.h"
#include "storage/input/nodes/name_reader.h"
#include "storage/input/tables/first_column.h"
#include "storage/input/words/line_reader.h"
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

/// What a first column of numbers may be.
enum class FirstColumnIs { known, unsaid, left_out };

class NpyFeatures final : public FeatureReader {
 public:
  /// `array` has passed require_matrix().
  NpyFeatures(NpyReader array, FirstColumnIs first)
      : FeatureReader(array.header().shape[0], array.header().shape[1], false),
        array_(std::move(array)),
        first_(first) {}

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
    if (first_ != FirstColumnIs::known) check_first(batch);
    return true;
  }
  void skip(std::uint64_t rows) override {
    array_.skip(rows * columns());
    row_ += rows;
    first_column_.leave();
  }

 private:
  void check_first(const FeatureBatch& batch) {
    for (std::size_t i = 0; i < batch.values.size(); i += static_cast<std::size_t>(columns()))
      first_column_.see(batch.values[i]);
    if (row_ < rows()) return;
    first_ == FirstColumnIs::unsaid ? first_column_.require_feature(array_.name())
                                    : first_column_.require_order(array_.name());
  }

  NpyReader array_;
  FirstColumnIs first_;
  FirstColumn first_column_;
  std::uint64_t row_ = 0;
};

class TextFeatures final : public FeatureReader {
 public:
  /// `are_chosen`: columns were named.
  TextFeatures(LineReader lines, std::uint64_t rows, std::vector<double> first, bool are_chosen)
      : FeatureReader(rows, first.size(), false),
        lines_(std::move(lines)),
        waiting_(std::move(first)),
        are_chosen_(are_chosen) {}

  /// The next row that is no comment; empty at the end. `expected` columns, 0 for any number.
  /// `are_chosen`: columns were named.
  static std::vector<double> read_row(LineReader& lines, std::uint64_t expected, bool are_chosen = true) {
    std::vector<double> row;
    std::size_t named = 0;  // columns of a header
    row.reserve(static_cast<std::size_t>(expected));
    std::string_view line;
    while (lines.next(line)) {
      Fields fields(line);
      if (fields.at_end() || fields.first() == '#') continue;
      if (lines.skips_header(line)) {
        named = Fields(line).count();
        if (!are_chosen) require_features(line, lines);
        continue;
      }
      while (!fields.at_end()) {
        double value = 0;
        Fields copy = fields;
        const std::errc error = fields.number(value);
        // Numbers that only float64 holds are refused, too; an infinity that the text spells out is
        // told of below.
        if (error != std::errc() || (std::abs(value) > kLargest && std::isfinite(value))) {
          throw InputError(lines.name(), lines.place() + ", column " + std::to_string(row.size()),
                           quote_for_message(copy.take()) + " is not a number that fits float32",
                           "give numbers only; columns are chosen by their names or places, as in " +
                               lines.name().string() +
                               (line.find_first_of(";\"") == std::string_view::npos ? "[1:]" : "[0:]"));
        }
        if (!std::isfinite(value)) {
          throw_bad_value(lines.name(), lines.place() + ", column " + std::to_string(row.size()), value);
        }
        row.push_back(static_cast<double>(static_cast<float>(value)));
      }
      if (fields.mixed())
        throw InputError(lines.name(), lines.place(),
                         "commas and blanks both part " + quote_for_message(line) +
                             ", so that a comma may be that of a decimal number",
                         "write decimal points, and one kind of separator");
      const std::size_t columns = row.size() + (fields.after_comma() ? 1 : 0);
      if (fields.after_comma() && (expected == 0 || columns == expected))
        throw InputError(lines.name(), lines.place(), "no value behind the last comma",
                         "write a number there, such as 0");
      if (named > 0 && named != columns)
        throw InputError(lines.name(), lines.place(),
                         std::to_string(columns) + " values, and the header names " + std::to_string(named) +
                             (named == 1 ? " column" : " columns"),
                         "write decimal points and no decimal commas, and one name for each column");
      if (expected > 0 && columns != expected)
        throw InputError(lines.name(), lines.place(),
                         "wrong column count: " + std::to_string(columns) + " instead of " + std::to_string(expected),
                         "give the same number of values on each line");
      return row;
    }
    return row;
  }

  /// A column that is called as ids are would be a feature, and its lines be taken in their order;
  /// one of labels would tell the model what it is to find out.
  static void require_features(std::string_view header, const LineReader& lines) {
    std::vector<std::string> words;
    for (Fields fields(header); !fields.at_end();) words.emplace_back(fields.take());
    const auto ids = std::find_if(words.begin(), words.end(), is_header_of_names);
    const bool has_x =
        std::any_of(words.begin(), words.end(), [](const std::string& w) { return w == "x" || w == "X"; });
    const auto found =
        ids != words.end() ? ids : std::find_if(words.begin(), words.end(), [&](const std::string& word) {
          return is_header_of_labels(word) && !(has_x && (word == "y" || word == "Y"));  // which are coordinates
        });
    if (found == words.end()) return;
    std::string others;
    for (auto word = words.begin(); word != words.end(); ++word)
      if (word != found) others += (others.empty() ? "" : ",") + *word;
    const std::string file = lines.name().string();
    throw InputError(lines.name(), lines.place(),
                     "the column " + *found + " may have " +
                         (ids != words.end() ? "the ids of nodes" : "labels or a split") + ", or be a feature",
                     found == words.begin()
                         ? remedy_for_ids(lines.name())
                         : "leave it out by '" + file + "[" + others + "]', or take it by " + file + "[0:]");
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
      if (!are_chosen_) first_column_.see(waiting_.front());
      batch.values.insert(batch.values.end(), waiting_.begin(), waiting_.end());
      waiting_.clear();
      ++batch.rows;
      ++row_;
    }
    if (row_ < rows()) return true;
    if (!read_row(lines_, 0).empty())
      throw InputError(lines_.name(), lines_.place(), "more than the " + std::to_string(rows()) + " rows declared",
                       "correct the file or the number of nodes");
    lines_.require_order_of_nodes();
    if (!are_chosen_ && columns() > 1) first_column_.require_feature(lines_.name());
    return batch.rows > 0;
  }

 private:
  LineReader lines_;
  std::vector<double> waiting_;
  bool are_chosen_;
  FirstColumn first_column_;
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

std::unique_ptr<FeatureReader> open_npy_features(NpyReader array, const ColumnChoice& choice, bool is_file) {
  require_matrix(array);
  const auto columns = static_cast<std::size_t>(array.header().shape[1]);
  FirstColumnIs first = FirstColumnIs::known;
  if (choice.given()) {
    const std::vector<std::size_t> chosen = choice.among(columns);
    if (std::find(chosen.begin(), chosen.end(), 0) == chosen.end()) first = FirstColumnIs::left_out;
  } else if (is_file && columns > 1) {
    first = FirstColumnIs::unsaid;
  }
  return choose_columns(std::make_unique<NpyFeatures>(std::move(array), first), choice);
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
  return open_text_features(ByteSource(file), rows, !file.columns.empty());
}

std::unique_ptr<FeatureReader> open_text_features(ByteSource source, std::uint64_t rows, bool are_chosen) {
  LineReader lines(std::move(source));
  std::vector<double> first = TextFeatures::read_row(lines, 0, are_chosen);
  check_feature_shape(lines.name(), rows, first.size());
  return std::make_unique<TextFeatures>(std::move(lines), rows, std::move(first), are_chosen);
}

}  // namespace unweave
