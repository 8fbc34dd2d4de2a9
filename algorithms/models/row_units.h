// algorithms/models/row_units.h - what the rows of a model are of, at the present moment of a
// store: which there are, their labels, their numbers.
//
// A key is a number below 2^32 that names a unit: the position of a node, the number of a whole
// graph, the place of a pair in the list of all of them. Whoever wants rows of a model asks here
// for keys and rows, so that training, prediction and evaluation are of the same.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "algorithms/rows/row_program.h"
#include "algorithms/rows/row_source.h"
#include "algorithms/updates/update_report.h"
#include "storage/io/types.h"
#include "storage/types/changes.h"

namespace unweave {

class LiveStore;

/// What the rows of a store's models are made from; as long as its embedding stays open.
[[nodiscard]] RowSource row_source(const LiveStore& store);

/// The units of one program. It speaks of the moment when it was made: after a batch another one is
/// made. Const members may be called from any number of threads at once.
class RowUnits {
 public:
  explicit RowUnits(const LiveStore& store) noexcept : store_(store) {}
  virtual ~RowUnits() = default;
  RowUnits(const RowUnits&) = delete;
  RowUnits& operator=(const RowUnits&) = delete;

  [[nodiscard]] const LiveStore& store() const noexcept { return store_; }

  /// Throws DataError that names the option of an import where the store has no labels of such
  /// units, or no training split.
  virtual void require_training() const = 0;
  /// Labelled units of a split that have a row, ascending.
  [[nodiscard]] virtual std::vector<NodeId> labelled(SplitName split) const = 0;
  /// The class of a unit, or kNoLabel.
  [[nodiscard]] virtual std::int32_t label(NodeId key) const = 0;
  /// How many classes units may be of.
  [[nodiscard]] virtual std::size_t classes() const;
  /// How many units there are at most, for constants that no data decide.
  [[nodiscard]] virtual std::uint64_t declared() const = 0;

  /// Numbers of a row, without an intercept.
  [[nodiscard]] virtual std::size_t width() const = 0;
  /// Rows of these units, row-major keys x width(), not yet in their form (RowForm). Throws
  /// UsageError for one that has none.
  virtual void rows(std::span<const NodeId> keys, float* out) const = 0;
  /// "node 17", for messages.
  [[nodiscard]] virtual std::string text(NodeId key) const = 0;

  /// Whether rows come, leave and move with nearly any batch, so that models begin anew from the
  /// rows of after it, whichever of these changed() knows to be as they were.
  [[nodiscard]] virtual bool begins_anew() const noexcept { return true; }
  /// Sorted keys whose rows may have changed with `update`, where `touched` are the nodes, sorted,
  /// whose own edges, features, label or split differ; none: all may.
  [[nodiscard]] virtual std::optional<std::vector<NodeId>> changed(const UpdateReport& update,
                                                                   std::span<const NodeId> touched) const;

 private:
  const LiveStore& store_;
};

/// The units of a program, ready to be asked. Throws UsageError for a program that the store does
/// not serve, DataError before a propagation, ResourceError where what they hold does not fit the
/// store's budget.
[[nodiscard]] std::unique_ptr<const RowUnits> row_units(const LiveStore& store, const RowProgram& program);

/// Throws UsageError where rows of a program are of others than nodes, of which alone `what` is.
void require_rows_of_nodes(const RowProgram& program, const std::string& what);

// One function a unit, each in a file of its own.
[[nodiscard]] std::unique_ptr<const RowUnits> node_units(const LiveStore& store, const RowProgram& program);
[[nodiscard]] std::unique_ptr<const RowUnits> graph_units(const LiveStore& store, const RowProgram& program);
[[nodiscard]] std::unique_ptr<const RowUnits> pair_units(const LiveStore& store, const RowProgram& program);

}  // namespace unweave
