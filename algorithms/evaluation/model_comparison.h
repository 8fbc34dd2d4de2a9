// algorithms/evaluation/model_comparison.h - how alike two models are: as functions of rows, on
// single rows, and as weights.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "algorithms/evaluation/reports.h"
#include "algorithms/models/model_record.h"
#include "algorithms/models/row_units.h"
#include "algorithms/numerics/matrix.h"

namespace unweave {

/// Whether two models have one head and weights of one shape: all below needs that.
[[nodiscard]] bool comparable(const Model& a, const Model& b);

/// On `nodes`, which have rows in `store`; none where there are no nodes. Memory: 16 bytes a node,
/// of the store's budget.
[[nodiscard]] std::optional<Likeness> likeness(const RowUnits& units, const ModelRecord& model,
                                               const ModelRecord& other, std::span<const NodeId> keys);

/// Loss (head.h) of each of `nodes`, labelled nodes that have rows in `store`.
[[nodiscard]] std::vector<double> losses_of(const RowUnits& units, const ModelRecord& model,
                                            std::span<const NodeId> keys);

/// Correlation of two lists of one length. Returns nothing where one of them does not vary, or has
/// fewer than two numbers.
[[nodiscard]] std::optional<double> pearson(std::span<const double> x, std::span<const double> y);
/// Correlation of the ranks of two such lists, in which equal numbers share the mean of their
/// ranks.
[[nodiscard]] std::optional<double> spearman(std::span<const double> x, std::span<const double> y);

/// Cosine of the angle between two matrices of one shape. Returns nothing where one of them is 0.
[[nodiscard]] std::optional<double> cosine(const Matrix& a, const Matrix& b);

}  // namespace unweave
