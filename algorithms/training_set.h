// algorithms/training_set.h - the rows that a learner is defined on, and what one batch changed in them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <vector>

#include "engine/float_rows.h"
#include "engine/memory.h"
#include "storage/types.h"

namespace unweave {

using ClassId = std::uint32_t;

/// Scales `row` down to Euclidean norm <= clip (norm in float64), the projection onto the ball; a pure function of it.
/// Returns an upper bound of the norm of the result. clip > 0, infinity for no clipping.
double clip_row(std::span<float> row, double clip);

/// Borrowed rows: `values` is count x features row-major, norms[i] >= the exact 2-norm of row i. Must outlive its use.
struct Rows {
  const float* values = nullptr;
  const ClassId* labels = nullptr;
  const double* norms = nullptr;
  std::size_t count = 0;
  std::size_t features = 0;
};

struct BatchChange;

/// Labelled float32 embedding rows, sorted by node, each clipped to one public norm. Not thread-safe while it changes.
class TrainingSet {
 public:
  /// `classes` is the declared number, also of classes without members. Throws UsageError for zero features or classes
  /// or a clip that is not positive.
  TrainingSet(std::size_t features, std::size_t classes, double clip = 1.0);
  /// The same; its rows, `most` at most, lie in a nameless file of `folder`.
  TrainingSet(std::size_t features, std::size_t classes, double clip, const std::filesystem::path& folder,
              std::size_t most);

  void reserve(std::size_t rows);
  /// Appends one row, clipped. `node` must exceed the last node. Throws UsageError for order, length or label and
  /// DataError for a value that is not finite.
  void append(NodeId node, std::span<const float> row, ClassId label);
  /// The same for several rows, row-major, which are clipped in place.
  void append(std::span<const NodeId> nodes, std::span<float> rows, std::span<const ClassId> labels);
  /// Turns the set before a batch into the set after it: O(rows) moves when rows leave. Throws UsageError, with the
  /// set unchanged, when the batch names rows that are not here.
  void apply(const BatchChange& change);
  /// Clips `row` in place and, where its bits differ from row i, puts it there; true then. Calls for distinct i may run
  /// at once. Throws DataError for a value that is not finite.
  bool replace(std::size_t i, std::span<float> row);

  [[nodiscard]] std::size_t size() const noexcept { return nodes_.size(); }
  [[nodiscard]] std::size_t features() const noexcept { return features_; }
  [[nodiscard]] std::size_t classes() const noexcept { return classes_; }
  [[nodiscard]] double clip() const noexcept { return clip_; }
  [[nodiscard]] std::span<const NodeId> nodes() const noexcept { return nodes_; }
  [[nodiscard]] std::span<const ClassId> labels() const noexcept { return labels_; }
  [[nodiscard]] std::span<const float> row(std::size_t i) const noexcept { return values_.row(i); }
  [[nodiscard]] Rows rows() const noexcept;
  /// Position of a node's row.
  [[nodiscard]] std::optional<std::size_t> find(NodeId node) const;

 private:
  std::size_t features_;
  std::size_t classes_;
  double clip_;
  std::vector<NodeId> nodes_;
  std::vector<ClassId> labels_;
  FloatRows values_;
  std::vector<double> norms_;
};

/// What one batch did to the training rows, relative to the rows that the model absorbed last. No training row ever
/// appears; a removed row is not listed as moved.
struct BatchChange {
  BatchChange(std::size_t features, std::size_t classes, double clip = 1.0)
      : removed(features, classes, clip), moved_from(features, classes, clip), moved_to(features, classes, clip) {}

  TrainingSet removed;              ///< rows that left, with their last values
  TrainingSet moved_from;           ///< rows whose embedding moved, before
  TrainingSet moved_to;             ///< the same nodes and labels, after
  std::vector<Reservation> memory;  ///< for these rows, where a budget is charged with them
  bool adaptive = false;            ///< its requests may have been chosen after seeing an earlier release
  bool only_edges = true;  ///< no node or feature request in the batch: some published methods know edges alone
};

}  // namespace unweave
