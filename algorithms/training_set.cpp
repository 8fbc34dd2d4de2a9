// algorithms/training_set.cpp - clipping, appending and changing training rows.
#include "algorithms/training_set.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

#include "algorithms/matrix.h"
#include "storage/error.h"

namespace unweave {
namespace {

/// Upper bound of the 2-norm: the float64 sum of squares, inflated by its rounding error.
double norm_above(std::span<const float> row) {
  double sum = 0;
  for (const float x : row) sum += static_cast<double>(x) * static_cast<double>(x);
  return std::sqrt(sum) * (1 + rounding_gamma(static_cast<double>(row.size()) + 4));
}

std::string name_of_row(NodeId node) {
  return "the training row at position " + std::to_string(node);
}

/// Of a row that clip_row() gave this norm. Who reads rows of a store names the store and the node before.
void check_finite(NodeId node, double norm) {
  if (!std::isfinite(norm)) throw DataError(name_of_row(node) + " holds a value that is not finite");
}

}  // namespace

double clip_row(std::span<float> row, double clip) {
  double norm = norm_above(row);
  for (double shrink = 1; norm > clip; shrink *= 1 - 0x1p-22) {
    const double scale = shrink * clip / norm;
    for (float& x : row) x = static_cast<float>(scale * static_cast<double>(x));
    norm = norm_above(row);
  }
  return norm;
}

TrainingSet::TrainingSet(std::size_t features, std::size_t classes, double clip)
    : features_(features), classes_(classes), clip_(clip) {
  if (features == 0) throw UsageError("a training set needs at least one feature");
  if (classes == 0) throw UsageError("a training set needs at least one class");
  if (!(clip > 0)) throw UsageError("the norm that rows are clipped to must be positive");
}

void TrainingSet::reserve(std::size_t rows) {
  nodes_.reserve(rows);
  labels_.reserve(rows);
  norms_.reserve(rows);
  values_.reserve(rows * features_);
}

void TrainingSet::append(NodeId node, std::span<const float> row, ClassId label) {
  if (row.size() != features_) throw UsageError(name_of_row(node) + " has a wrong number of features");
  if (label >= classes_) throw UsageError(name_of_row(node) + " has a label outside the declared classes");
  if (!nodes_.empty() && node <= nodes_.back()) throw UsageError(name_of_row(node) + " is out of order");
  values_.insert(values_.end(), row.begin(), row.end());
  const double norm = clip_row({values_.data() + nodes_.size() * features_, features_}, clip_);
  if (!std::isfinite(norm)) values_.resize(nodes_.size() * features_);
  check_finite(node, norm);
  norms_.push_back(norm);
  nodes_.push_back(node);
  labels_.push_back(label);
}

void TrainingSet::apply(const BatchChange& change) {
  const TrainingSet& to = change.moved_to;
  if (change.removed.features_ != features_ || to.features_ != features_)
    throw UsageError("a batch has another number of features than the training set");
  for (const TrainingSet* part : {&change.removed, &to})
    for (const NodeId node : part->nodes_)
      if (!find(node))
        throw UsageError("a batch changes position " + std::to_string(node) + ", which has no training row");

  for (std::size_t i = 0; i < to.size(); ++i) {
    const std::size_t at = *find(to.nodes_[i]);
    std::copy_n(to.values_.data() + i * features_, features_, values_.data() + at * features_);
    norms_[at] = to.norms_[i];
  }
  std::size_t kept = 0;
  for (std::size_t i = 0; i < size(); ++i) {
    if (change.removed.find(nodes_[i])) continue;
    if (kept != i) {
      std::copy_n(values_.data() + i * features_, features_, values_.data() + kept * features_);
      nodes_[kept] = nodes_[i];
      labels_[kept] = labels_[i];
      norms_[kept] = norms_[i];
    }
    ++kept;
  }
  nodes_.resize(kept);
  labels_.resize(kept);
  norms_.resize(kept);
  values_.resize(kept * features_);
}

bool TrainingSet::replace(std::size_t i, std::span<float> row) {
  const double norm = clip_row(row, clip_);
  check_finite(nodes_[i], norm);
  float* held = values_.data() + i * features_;
  if (std::memcmp(held, row.data(), features_ * sizeof(float)) == 0) return false;
  std::copy_n(row.data(), features_, held);
  norms_[i] = norm;
  return true;
}

Rows TrainingSet::rows() const noexcept {
  return {values_.data(), labels_.data(), norms_.data(), nodes_.size(), features_};
}

std::optional<std::size_t> TrainingSet::find(NodeId node) const {
  const auto at = std::lower_bound(nodes_.begin(), nodes_.end(), node);
  if (at == nodes_.end() || *at != node) return std::nullopt;
  return static_cast<std::size_t>(at - nodes_.begin());
}

}  // namespace unweave
