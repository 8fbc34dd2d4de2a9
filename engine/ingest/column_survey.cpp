// engine/ingest/column_survey.cpp - adds up squares by column, looks for whole numbers that are all
// different, and words what it finds.
#include "engine/ingest/column_survey.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <numeric>

namespace unweave {
namespace {

constexpr std::uint64_t kMostColumns = std::uint64_t{1} << 20;
constexpr std::size_t kFewIds = 16;  ///< fewer rows may be all different by chance
constexpr double kMostOfAll = 0.95;
/// Values below it are a few steps of the grid that embeddings have, or none.
constexpr double kNextToNothing = 1e-6;
constexpr std::size_t kNamedColumns = 5;

std::string share_text(double share) {
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), "%.4g %%", std::floor(share * 1e4) / 1e2);
  return text.data();
}

std::string list_of(const std::vector<std::size_t>& columns) {
  std::string text = columns.size() == 1 ? "column " : "columns ";
  for (std::size_t i = 0; i < std::min(columns.size(), kNamedColumns); ++i)
    text += (i == 0 ? "" : ", ") + std::to_string(columns[i]);
  return columns.size() > kNamedColumns ? text + " and " + std::to_string(columns.size() - kNamedColumns) + " more"
                                        : text;
}

class SurveyedFeatures final : public FeatureReader {
 public:
  SurveyedFeatures(std::unique_ptr<FeatureReader> reader, ColumnSurvey& survey)
      : FeatureReader(reader->rows(), reader->columns(), reader->sparse()),
        reader_(std::move(reader)),
        survey_(survey) {}

  bool next(FeatureBatch& batch, std::size_t max_values) override {
    if (!reader_->next(batch, max_values)) return false;
    survey_.add(batch);
    return true;
  }
  void skip(std::uint64_t rows) override { reader_->skip(rows); }

 private:
  std::unique_ptr<FeatureReader> reader_;
  ColumnSurvey& survey_;
};

}  // namespace

ColumnSurvey::ColumnSurvey(std::uint64_t columns, double divisor)
    : divisor_(divisor), columns_(columns <= kMostColumns ? static_cast<std::size_t>(columns) : 0) {}

std::uint64_t ColumnSurvey::bytes(std::uint64_t columns) noexcept {
  // Sets of numbers are those of columns of ids, few in each file; a value that is no id ends that
  // of its column.
  constexpr std::uint64_t kIdColumns = 16, kNumberBytes = 48;
  return columns <= kMostColumns ? columns * sizeof(Column) + std::min(columns, kIdColumns) * kRows * kNumberBytes : 0;
}

void ColumnSurvey::add(const FeatureBatch& batch) {
  if (columns_.empty()) return;
  sparse_ = batch.sparse;
  for (std::size_t row = 0; row < batch.rows && batch.first_row + row < kRows; ++row) add_row(batch, row);
}

void ColumnSurvey::add_row(const FeatureBatch& batch, std::size_t row) {
  ++rows_;
  const std::size_t begin = batch.sparse ? static_cast<std::size_t>(batch.indptr[row]) : row * columns_.size();
  const std::size_t end = batch.sparse ? static_cast<std::size_t>(batch.indptr[row + 1]) : begin + columns_.size();
  double square = 0;
  for (std::size_t i = begin; i < end; ++i) square += batch.values[i] * batch.values[i];
  const double by = std::max(std::sqrt(square), divisor_);
  for (std::size_t i = begin; i < end; ++i) {
    const double value = batch.values[i], stored = std::abs(value) / by;
    Column& column = columns_[batch.sparse ? batch.indices[i] : i - begin];
    column.squares += stored * stored;
    column.largest = std::max(column.largest, stored);
    if (batch.sparse || !column.may_be_ids) continue;
    column.may_be_ids = value == std::floor(value) && column.seen.insert(value).second;
    if (!column.may_be_ids) column.seen.clear();
  }
}

std::vector<std::string> ColumnSurvey::remarks(const std::string& file,
                                               const std::function<std::string(std::size_t)>& without) const {
  std::vector<std::string> said;
  if (columns_.size() < 2 || rows_ == 0) return said;
  for (std::size_t c = 0; c < columns_.size() && said.size() < kNamedColumns; ++c)
    if (!sparse_ && columns_[c].may_be_ids && columns_[c].seen.size() >= kFewIds)
      said.push_back(
          file + ": column " + std::to_string(c) +
          " of the features has whole numbers that are all different, as ids and times are; leave it out by " +
          without(c) + ", if it is one");
  double all = 0;
  for (const Column& column : columns_) all += column.squares;
  if (all == 0) return said;
  std::vector<std::size_t> by_share(columns_.size());
  std::iota(by_share.begin(), by_share.end(), 0);
  std::stable_sort(by_share.begin(), by_share.end(),
                   [&](std::size_t a, std::size_t b) { return columns_[a].squares > columns_[b].squares; });
  std::vector<std::size_t> large;
  double share = 0;
  for (const std::size_t column : by_share) {
    large.push_back(column);
    share += columns_[column].squares / all;
    if (share >= kMostOfAll) break;
  }
  if (4 * large.size() <= columns_.size() || (large.size() == 1 && columns_.size() > 2)) {
    std::sort(large.begin(), large.end());
    said.push_back(file + ": " + list_of(large) + (large.size() == 1 ? " has " : " have ") + share_text(share) +
                   " of the squared norm of the first rows, so that the other " +
                   std::to_string(columns_.size() - large.size()) + " hardly count; leave " +
                   (large.size() == 1 ? "it" : "them") + " out" +
                   (large.size() == 1 ? " by " + without(large[0]) : "") +
                   ", take logarithms of counts, or bring all columns to one deviation (standardize)");
  }
  std::vector<std::size_t> small;
  for (std::size_t c = 0; c < columns_.size(); ++c)
    if (columns_[c].largest > 0 && columns_[c].largest < kNextToNothing) small.push_back(c);
  if (!small.empty())
    said.push_back(file + ": " + list_of(small) + (small.size() == 1 ? " has" : " have") +
                   " no value above 1e-6 once rows are brought to norm 1, which is next to nothing in an embedding");
  return said;
}

std::unique_ptr<FeatureReader> surveyed(std::unique_ptr<FeatureReader> reader, ColumnSurvey& survey) {
  return std::make_unique<SurveyedFeatures>(std::move(reader), survey);
}

}  // namespace unweave
