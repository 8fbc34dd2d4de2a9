// storage/input/features/replay_features.cpp - makes the rows of a batch longer in place, from the
// last to the first.
#include "storage/input/features/replay_features.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <string>
#include <utility>

#include "storage/io/error.h"

namespace unweave {

namespace {

class ReplayFeatures final : public FeatureReader {
 public:
  ReplayFeatures(std::unique_ptr<FeatureReader> inner, std::vector<NodeId> marked)
      : FeatureReader(inner->rows(), inner->columns() + kReplayColumns, inner->sparse()),
        inner_(std::move(inner)),
        marked_(std::move(marked)) {}

  bool next(FeatureBatch& batch, std::size_t max_values) override {
    // A sparse row counts as at least one value there.
    const std::uint64_t fewer =
        sparse() ? max_values / (1 + kReplayColumns) : max_values / columns() * inner_->columns();
    if (!inner_->next(batch, std::max<std::size_t>(1, static_cast<std::size_t>(fewer)))) return false;
    sparse() ? lengthen_sparse(batch) : lengthen_dense(batch);
    return true;
  }
  void skip(std::uint64_t rows) override { inner_->skip(rows); }

 private:
  [[nodiscard]] bool is_marked(std::uint64_t row) const {
    return std::binary_search(marked_.begin(), marked_.end(), static_cast<NodeId>(row));
  }

  void lengthen_dense(FeatureBatch& batch) const {
    const auto from = static_cast<std::size_t>(inner_->columns()), to = static_cast<std::size_t>(columns());
    batch.values.resize(batch.rows * to);
    for (std::size_t r = batch.rows; r-- > 0;) {
      const auto old = batch.values.begin() + static_cast<std::ptrdiff_t>(r * from);
      const auto row = batch.values.begin() + static_cast<std::ptrdiff_t>(r * to);
      std::copy_backward(old, old + static_cast<std::ptrdiff_t>(from), row + static_cast<std::ptrdiff_t>(from));
      std::fill_n(row + static_cast<std::ptrdiff_t>(from), to - from, is_marked(batch.first_row + r) ? 1.0 : 0.0);
    }
  }

  void lengthen_sparse(FeatureBatch& batch) {
    FeatureBatch& out = longer_;
    out.indptr.assign(1, 0);
    out.indices.clear();
    out.values.clear();
    for (std::size_t r = 0; r < batch.rows; ++r) {
      const auto begin = static_cast<std::ptrdiff_t>(batch.indptr[r]);
      const auto end = static_cast<std::ptrdiff_t>(batch.indptr[r + 1]);
      out.indices.insert(out.indices.end(), batch.indices.begin() + begin, batch.indices.begin() + end);
      out.values.insert(out.values.end(), batch.values.begin() + begin, batch.values.begin() + end);
      if (is_marked(batch.first_row + r)) {
        out.indices.resize(out.indices.size() + kReplayColumns);
        std::iota(out.indices.end() - kReplayColumns, out.indices.end(), static_cast<std::uint32_t>(inner_->columns()));
        out.values.resize(out.values.size() + kReplayColumns, 1.0);
      }
      out.indptr.push_back(out.indices.size());
    }
    batch.indptr.swap(out.indptr);
    batch.indices.swap(out.indices);
    batch.values.swap(out.values);
  }

  std::unique_ptr<FeatureReader> inner_;
  std::vector<NodeId> marked_;
  FeatureBatch longer_;  // reused from batch to batch
};

}  // namespace

std::unique_ptr<FeatureReader> mark_features(std::unique_ptr<FeatureReader> inner, std::vector<NodeId> marked) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint32_t>::max() - 1;
  if (inner->columns() > kMost - kReplayColumns)
    throw UsageError(std::to_string(inner->columns()) + " features leave no room for " +
                     std::to_string(kReplayColumns) + " more");
  return std::make_unique<ReplayFeatures>(std::move(inner), std::move(marked));
}

}  // namespace unweave
