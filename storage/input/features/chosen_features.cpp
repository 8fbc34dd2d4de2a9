// storage/input/features/chosen_features.cpp - features of which some columns are left out.
#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "storage/input/features/feature_formats.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

constexpr std::uint32_t kLeftOut = std::numeric_limits<std::uint32_t>::max();

class ChosenFeatures final : public FeatureReader {
 public:
  ChosenFeatures(std::unique_ptr<FeatureReader> matrix, std::vector<std::size_t> chosen)
      : FeatureReader(matrix->rows(), chosen.size(), matrix->sparse()),
        matrix_(std::move(matrix)),
        chosen_(std::move(chosen)) {
    places_.assign(matrix_->sparse() ? static_cast<std::size_t>(matrix_->columns()) : 0, kLeftOut);
    for (std::size_t i = 0; !places_.empty() && i < chosen_.size(); ++i)
      places_[chosen_[i]] = static_cast<std::uint32_t>(i);
  }

  bool next(FeatureBatch& batch, std::size_t max_values) override {
    const std::uint64_t more =
        sparse() ? max_values : std::max<std::uint64_t>(1, max_values / columns()) * matrix_->columns();
    if (!matrix_->next(all_, static_cast<std::size_t>(more))) return false;
    batch.first_row = all_.first_row;
    batch.rows = all_.rows;
    batch.sparse = all_.sparse;
    batch.values.clear();
    batch.indices.clear();
    batch.indptr.clear();
    sparse() ? take_sparse(batch) : take_dense(batch);
    return true;
  }
  void skip(std::uint64_t rows) override { matrix_->skip(rows); }

 private:
  void take_dense(FeatureBatch& batch) const {
    for (std::size_t row = 0; row < all_.rows; ++row)
      for (const std::size_t column : chosen_)
        batch.values.push_back(all_.values[row * static_cast<std::size_t>(matrix_->columns()) + column]);
  }

  void take_sparse(FeatureBatch& batch) {
    batch.indptr.push_back(0);
    for (std::size_t row = 0; row < all_.rows; ++row) {
      entries_.clear();
      for (auto i = static_cast<std::size_t>(all_.indptr[row]); i < all_.indptr[row + 1]; ++i)
        if (const std::uint32_t place = places_[all_.indices[i]]; place != kLeftOut)
          entries_.emplace_back(place, all_.values[i]);
      std::sort(entries_.begin(), entries_.end());
      for (const auto& [place, value] : entries_) {
        batch.indices.push_back(place);
        batch.values.push_back(value);
      }
      batch.indptr.push_back(batch.indices.size());
    }
  }

  std::unique_ptr<FeatureReader> matrix_;
  std::vector<std::size_t> chosen_;
  std::vector<std::uint32_t> places_;  ///< where each column of a sparse matrix goes
  FeatureBatch all_;
  std::vector<std::pair<std::uint32_t, double>> entries_;
};

}  // namespace

std::unique_ptr<FeatureReader> choose_columns(std::unique_ptr<FeatureReader> matrix, const ColumnChoice& choice) {
  if (!choice.given()) return matrix;
  std::vector<std::size_t> chosen = choice.among(static_cast<std::size_t>(matrix->columns()));
  std::vector<std::size_t> sorted = chosen;
  std::sort(sorted.begin(), sorted.end());
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) throw UsageError("a column is chosen twice");
  return std::make_unique<ChosenFeatures>(std::move(matrix), std::move(chosen));
}

}  // namespace unweave
