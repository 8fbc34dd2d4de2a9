// algorithms/learning/training_set.h - the rows that a learner is defined on, and what one batch
// changed in them.
#pragma once

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <vector>

#include "algorithms/numerics/rows.h"
#include "engine/ranks/ranks.h"
#include "engine/resources/float_rows.h"
#include "engine/resources/memory.h"
#include "storage/io/types.h"

namespace unweave {

/// What rows of the embedding become before a learner sees them: clipped to a public norm and, with
/// an intercept, followed by a last value 1. The weight of that value is the intercept; it is
/// regularised as the others are, so that the objective stays strongly convex.
struct RowForm {
  double clip = 1;         ///< above 0, infinity for no clipping
  bool intercept = false;  ///< for linear models; networks have biases of their own

  RowForm() = default;
  RowForm(double norm, bool with_intercept = false)  // NOLINT(google-explicit-constructor): a clip alone is a form
      : clip(norm), intercept(with_intercept) {}

  /// X >= the norm of every row.
  [[nodiscard]] double norm_bound() const noexcept { return intercept ? std::hypot(clip, 1.0) : clip; }
  /// Numbers of a row that is `width` long in the embedding.
  [[nodiscard]] std::size_t features(std::size_t width) const noexcept { return width + (intercept ? 1 : 0); }
  /// Numbers of the embedding in a row of so many features.
  [[nodiscard]] std::size_t width(std::size_t features) const noexcept { return features - (intercept ? 1 : 0); }
  friend bool operator==(const RowForm&, const RowForm&) = default;
};

/// Scales `row` down to Euclidean norm <= clip (norm in float64), the projection onto the ball; a
/// pure function of it. Returns an upper bound of the norm of the result. clip > 0, infinity for no
/// clipping.
double clip_row(std::span<float> row, double clip);

/// Gives a row its form: clips all its numbers but the last, which becomes 1, or without an
/// intercept all of them. Returns an upper bound of the norm of the result.
double form_row(std::span<float> row, const RowForm& form);

/// `count` rows of the embedding that lie one after the other at the start of `rows` move apart, so
/// that each has room for its form, of `features` numbers. `rows` has room for count x features.
void spread_rows(float* rows, std::size_t count, std::size_t features, const RowForm& form) noexcept;
/// Moves rows apart as spread_rows() does, and gives each its form.
void form_rows(float* rows, std::size_t count, std::size_t features, const RowForm& form);

struct BatchChange;

/// Labelled float32 embedding rows, sorted by node, each in one public form. Not thread-safe while
/// it changes. Ranks may share them: each then holds the values of its own rows (row_sweep.h), and
/// all hold nodes, labels and norms, 16 bytes a row.
class TrainingSet {
 public:
  /// `classes` is the declared number, also of classes without members. Throws UsageError for zero
  /// features or classes or a clip that is not positive. `features` counts the last value of an
  /// intercept.
  TrainingSet(std::size_t features, std::size_t classes, RowForm form = {});
  /// A set whose rows, `most` at most, lie in an unlinked temporary file in `folder`.
  TrainingSet(std::size_t features, std::size_t classes, RowForm form, const std::filesystem::path& folder,
              std::size_t most);

  /// Makes the rows of these nodes, none of which are here yet, shared by ranks: append_own() then
  /// gives the values of those of this rank, and share_norms() ends it. Such rows do not change.
  void share_among(Ranks& ranks, std::span<const NodeId> nodes, std::span<const ClassId> labels);
  /// Values of the next rows of this rank, which get their form in place.
  void append_own(std::span<float> rows);
  /// All ranks learn the norms of all rows; all must call it.
  void share_norms();

  /// Room for so many rows, `here` of them with values.
  void reserve(std::size_t rows, std::size_t here);
  void reserve(std::size_t rows) { reserve(rows, rows); }
  /// Appends one row, which gets its form (with an intercept its last value becomes 1). `node` must
  /// exceed the last node. Throws UsageError for order, length or label and DataError for a value
  /// that is not finite.
  void append(NodeId node, std::span<const float> row, ClassId label);
  /// Appends several rows, row-major, which get their form in place.
  void append(std::span<const NodeId> nodes, std::span<float> rows, std::span<const ClassId> labels);
  /// Turns the set before a batch into the set after it: O(rows) moves when rows leave. Throws
  /// UsageError, with the set unchanged, when the batch names rows that are not here, or when ranks
  /// share the rows.
  void apply(const BatchChange& change);
  /// Gives `row` its form in place and, where its bits differ from row i, puts it there; true then.
  /// Calls for distinct i may run at once. Throws DataError for a value that is not finite.
  bool replace(std::size_t i, std::span<float> row);

  [[nodiscard]] std::size_t size() const noexcept { return nodes_.size(); }
  [[nodiscard]] std::size_t features() const noexcept { return features_; }
  [[nodiscard]] std::size_t classes() const noexcept { return classes_; }
  [[nodiscard]] const RowForm& form() const noexcept { return form_; }
  [[nodiscard]] std::span<const NodeId> nodes() const noexcept { return nodes_; }
  [[nodiscard]] std::span<const ClassId> labels() const noexcept { return labels_; }
  /// Row i, which lies here.
  [[nodiscard]] std::span<const float> row(std::size_t i) const noexcept { return values_.row(i - own_.begin); }
  [[nodiscard]] Rows rows() const noexcept;
  [[nodiscard]] Ranks* ranks() const noexcept { return ranks_; }  ///< that share the rows; null: all lie here
  [[nodiscard]] RankShare own() const noexcept { return own_; }   ///< rows of this rank, where ranks share them
  /// Position of a node's row.
  [[nodiscard]] std::optional<std::size_t> find(NodeId node) const;

 private:
  /// Throws UsageError for nodes out of order and labels outside the classes.
  void require_next(std::span<const NodeId> nodes, std::span<const ClassId> labels) const;

  std::size_t features_;
  std::size_t classes_;
  RowForm form_;
  std::vector<NodeId> nodes_;
  std::vector<ClassId> labels_;
  FloatRows values_;
  std::vector<double> norms_;
  Ranks* ranks_ = nullptr;
  RankShare own_;
};

/// What one batch did to the training rows, relative to the rows that the model absorbed last. A
/// removed row is not listed as moved. Where rows appeared, or have another label, the lists are
/// empty and `begins_anew` is set.
struct BatchChange {
  BatchChange(std::size_t features, std::size_t classes, const RowForm& form = {})
      : removed(features, classes, form), moved_from(features, classes, form), moved_to(features, classes, form) {}

  TrainingSet removed;              ///< rows that left, with their last values
  TrainingSet moved_from;           ///< rows whose embedding moved, as they were before
  TrainingSet moved_to;             ///< the rows of the same nodes after, with the same labels
  std::vector<Reservation> memory;  ///< for these rows, where a budget is charged with them
  bool adaptive = false;            ///< its requests may have been chosen after seeing an earlier release
  bool begins_anew = false;  ///< a training row came or got another label: only a solver's restart() knows what to do
  bool only_edges = true;    ///< no node or feature request in the batch: some published methods know edges alone
};

}  // namespace unweave
