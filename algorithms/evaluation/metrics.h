// algorithms/evaluation/metrics.h - how good predictions of labelled rows are, class by class.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "algorithms/evaluation/reports.h"
#include "storage/io/types.h"

namespace unweave {

class RowUnits;
struct ModelRecord;

/// How well a model predicts `nodes`, which have labels and rows in the store. The AUC of a class
/// is the share of pairs of a row of the class and one of another in which the former has the
/// larger score, equal scores half, over all pairs; the score is the margin of the class, of a
/// coupled head its probability. Reads the rows twice. Memory: 12 bytes a node, 32 a class, with a
/// confusion matrix 8 bytes for each pair of classes, and a chunk of margins. Throws UsageError,
/// ResourceError.
[[nodiscard]] Metrics metrics_of(const RowUnits& units, const ModelRecord& record, std::span<const NodeId> keys,
                                 bool confusion);

}  // namespace unweave
