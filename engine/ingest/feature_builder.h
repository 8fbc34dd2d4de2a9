// engine/ingest/feature_builder.h - from rows of features to the feature files of a store, span by
// span.
//
// The work is a pipeline of batches of rows; the bytes do not depend on the number of threads.
// Every row obeys the bound of row_norm.h; then, under FeatureType::f16, each value is rounded
// toward zero, which cannot make a norm grow, and what that leaves is the feature: all readers see
// it, as float32.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "engine/graph/features.h"
#include "engine/ingest/standardize.h"
#include "engine/ranks/ranks.h"
#include "engine/resources/memory.h"
#include "engine/resources/work_meter.h"
#include "storage/input/features/feature_reader.h"
#include "storage/io/types.h"
#include "storage/types/feature_layout.h"
#include "storage/types/file_entry.h"

namespace unweave {

/// How the rows of a matrix met the bound.
struct RowNorms {
  std::uint64_t above = 0;        ///< rows whose norm is above the divisor by more than kNormSlack of it
  std::uint64_t first_above = 0;  ///< the first of them
  double norm_of_first_above = 0;
  double largest = 0;  ///< norm of a row as it came

  void add(std::uint64_t row, double norm, double divisor) noexcept;
  void add(const RowNorms& others) noexcept;
};

struct BuiltFeatures {
  std::vector<FileEntry> files;
  RowNorms norms;
};

/// Writes the matrix that `reader` gives, scaled, sparse if it is, as `layout` then says. Row i
/// goes to positions[i], a permutation of the rows, or to i where `positions` is empty; rows that
/// change places pass through a temporary file in `store` where they do not fit the budget. `part`:
/// writes the files of these spans alone, without positions; the result is of them, too. Throws
/// what the reader throws, ResourceError where a few batches do not fit the budget or the disk is
/// full.
[[nodiscard]] BuiltFeatures build_features(const std::filesystem::path& store, FeatureReader& reader,
                                           const FeatureLayout& layout, const FeatureScale& scale,
                                           std::span<const NodeId> positions, MemoryBudget& budget, WorkMeter& meter,
                                           std::optional<RankShare> part = std::nullopt);

/// Writes the matrix standardised: always dense.
[[nodiscard]] std::vector<FileEntry> build_standardized_features(const std::filesystem::path& store,
                                                                 FeatureReader& reader,
                                                                 const Standardization& standardization,
                                                                 FeatureType type, std::span<const NodeId> positions,
                                                                 MemoryBudget& budget, WorkMeter& meter);

/// Fills one row of features before it is scaled down. Called on any threads, in any order.
using MakeRow = std::function<void(NodeId node, std::span<double> row)>;

/// Writes a dense matrix of `nodes` rows that are computed.
[[nodiscard]] std::vector<FileEntry> build_computed_features(const std::filesystem::path& store, NodeId nodes,
                                                             std::uint32_t columns, FeatureType type,
                                                             const MakeRow& make, MemoryBudget& budget,
                                                             WorkMeter& meter);

/// Whether a row of each span has a zero with a sign, as files of earlier programs may:
/// rebuild_features() writes none. Throws FormatError, ResourceError where some rows do not fit the
/// budget.
[[nodiscard]] std::vector<bool> find_signed_zeros(const Features& features, MemoryBudget& budget);

/// Writes the present rows of `features` in the layout that they have, bit for bit but for signs of
/// zeros, as `rows` rows, no fewer than there are, of which new ones have zeros: those of the spans
/// that `wanted` says (one flag a span), or, where `positions` is not empty, all of them, row i at
/// positions[i]. Returns the files that it wrote, in order. Counts rows on the meter. Throws
/// FormatError, ResourceError.
[[nodiscard]] std::vector<FileEntry> rebuild_features(const std::filesystem::path& store, const Features& features,
                                                      NodeId rows, FeatureLayout layout,
                                                      const std::vector<bool>& wanted,
                                                      std::span<const NodeId> positions, MemoryBudget& budget,
                                                      WorkMeter& meter);

/// Memory of the budget without which rebuild_features() cannot do, for rows of so many columns
/// that keep their places.
[[nodiscard]] std::uint64_t rebuild_bytes(std::uint32_t columns);

}  // namespace unweave
