// algorithms/learning/training_set.cpp - clipping, appending and changing training rows.
#include "algorithms/learning/training_set.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

#include "algorithms/numerics/matrix.h"
#include "algorithms/numerics/row_sweep.h"
#include "storage/io/error.h"

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

/// Checks a row that clip_row() gave this norm. Whoever reads rows of a store has checked them,
/// naming the store and the node.
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

double form_row(std::span<float> row, const RowForm& form) {
  if (!form.intercept) return clip_row(row, form.clip);
  clip_row(row.first(row.size() - 1), form.clip);
  row.back() = 1;
  return norm_above(row);
}

void spread_rows(float* rows, std::size_t count, std::size_t features, const RowForm& form) noexcept {
  const std::size_t width = form.width(features);
  for (std::size_t i = count; width < features && i-- > 0;)
    std::memmove(rows + i * features, rows + i * width, width * sizeof(float));
}

void form_rows(float* rows, std::size_t count, std::size_t features, const RowForm& form) {
  spread_rows(rows, count, features, form);
  for (std::size_t i = 0; i < count; ++i) form_row({rows + i * features, features}, form);
}

TrainingSet::TrainingSet(std::size_t features, std::size_t classes, RowForm form)
    : features_(features), classes_(classes), form_(form), values_(features) {
  if (features == 0 || form.width(features) == 0) throw UsageError("a training set needs at least one feature");
  if (classes == 0) throw UsageError("a training set needs at least one class");
  if (!(form.clip > 0)) throw UsageError("the norm that rows are clipped to must be positive");
}

TrainingSet::TrainingSet(std::size_t features, std::size_t classes, RowForm form, const std::filesystem::path& folder,
                         std::size_t most)
    : TrainingSet(features, classes, form) {
  values_ = FloatRows(features, folder, most);
}

void TrainingSet::reserve(std::size_t rows, std::size_t here) {
  nodes_.reserve(rows);
  labels_.reserve(rows);
  norms_.reserve(rows);
  values_.reserve(here);
}

void TrainingSet::append(NodeId node, std::span<const float> row, ClassId label) {
  std::vector<float> copy(row.begin(), row.end());
  append(std::span(&node, 1), copy, std::span(&label, 1));
}

void TrainingSet::require_next(std::span<const NodeId> nodes, std::span<const ClassId> labels) const {
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const NodeId* const before = i > 0 ? &nodes[i - 1] : nodes_.empty() ? nullptr : &nodes_.back();
    if (before != nullptr && nodes[i] <= *before) throw UsageError(name_of_row(nodes[i]) + " is out of order");
    if (labels[i] >= classes_) throw UsageError(name_of_row(nodes[i]) + " has a label outside the declared classes");
  }
}

void TrainingSet::append(std::span<const NodeId> nodes, std::span<float> rows, std::span<const ClassId> labels) {
  std::vector<double> norms(nodes.size());
  require_next(nodes, labels);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (rows.size() != nodes.size() * features_)
      throw UsageError(name_of_row(nodes[i]) + " has a wrong number of features");
    norms[i] = form_row(rows.subspan(i * features_, features_), form_);
    check_finite(nodes[i], norms[i]);
  }
  values_.append(rows);
  norms_.insert(norms_.end(), norms.begin(), norms.end());
  nodes_.insert(nodes_.end(), nodes.begin(), nodes.end());
  labels_.insert(labels_.end(), labels.begin(), labels.end());
}

void TrainingSet::share_among(Ranks& ranks, std::span<const NodeId> nodes, std::span<const ClassId> labels) {
  require_next(nodes, labels);
  nodes_.assign(nodes.begin(), nodes.end());
  labels_.assign(labels.begin(), labels.end());
  norms_.assign(nodes.size(), 0);
  ranks_ = &ranks;
  own_ = own_rows(nodes.size(), ranks.rank(), ranks.size());
}

void TrainingSet::append_own(std::span<float> rows) {
  const std::size_t first = own_.begin + values_.size(), count = rows.size() / features_;
  if (first + count > own_.end) throw UsageError("more training rows than are this rank's own");
  for (std::size_t i = 0; i < count; ++i) {
    norms_[first + i] = form_row(rows.subspan(i * features_, features_), form_);
    check_finite(nodes_[first + i], norms_[first + i]);
  }
  values_.append(rows);
}

void TrainingSet::share_norms() {
  for (std::size_t r = 0; r < ranks_->size(); ++r) {
    const RankShare rows = own_rows(size(), r, ranks_->size());
    ranks_->broadcast(std::as_writable_bytes(std::span(norms_).subspan(rows.begin, rows.end - rows.begin)), r);
  }
}

void TrainingSet::apply(const BatchChange& change) {
  if (ranks_ != nullptr) throw UsageError("training rows that ranks share do not change");
  const TrainingSet& to = change.moved_to;
  if (change.removed.features_ != features_ || to.features_ != features_)
    throw UsageError("a batch has another number of features than the training set");
  for (const TrainingSet* part : {&change.removed, &to})
    for (const NodeId node : part->nodes_)
      if (!find(node))
        throw UsageError("a batch changes position " + std::to_string(node) + ", which has no training row");

  for (std::size_t i = 0; i < to.size(); ++i) {
    const std::size_t at = *find(to.nodes_[i]);
    values_.set(at, to.row(i));
    norms_[at] = to.norms_[i];
  }
  const std::span<const NodeId> removed = change.removed.nodes();
  if (removed.empty()) return;
  std::vector<std::size_t> places;
  for (const NodeId node : removed) places.push_back(*find(node));
  // The rows between two that leave move down together.
  std::size_t kept = places[0];
  for (std::size_t r = 0; r < places.size(); ++r) {
    const std::size_t first = places[r] + 1;
    const std::size_t last = r + 1 < places.size() ? places[r + 1] : size();
    values_.move_down(first, last - first, kept);
    kept += last - first;
  }
  const auto drop = [&](auto& values) {
    std::size_t to_place = 0, r = 0;
    for (std::size_t i = 0; i < values.size(); ++i)
      if (r < places.size() && places[r] == i)
        ++r;
      else
        values[to_place++] = values[i];
    values.resize(to_place);
  };
  drop(labels_);
  drop(norms_);
  drop(nodes_);
  values_.shrink(kept);
}

bool TrainingSet::replace(std::size_t i, std::span<float> row) {
  const double norm = form_row(row, form_);
  check_finite(nodes_[i], norm);
  if (std::memcmp(values_.row(i).data(), row.data(), features_ * sizeof(float)) == 0) return false;
  values_.set(i, row);
  norms_[i] = norm;
  return true;
}

Rows TrainingSet::rows() const noexcept {
  return {values_.data(), labels_.data(), norms_.data(), nodes_.size(), features_, ranks_, own_.begin, own_.end};
}

std::optional<std::size_t> TrainingSet::find(NodeId node) const {
  const auto at = std::lower_bound(nodes_.begin(), nodes_.end(), node);
  if (at == nodes_.end() || *at != node) return std::nullopt;
  return static_cast<std::size_t>(at - nodes_.begin());
}

}  // namespace unweave
