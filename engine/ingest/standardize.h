// engine/ingest/standardize.h - column statistics of a feature matrix, as the released ScaleGUN
// code standardises.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "engine/resources/memory.h"
#include "engine/resources/work_meter.h"
#include "storage/input/features/feature_reader.h"

namespace unweave {

/// Opens the same matrix again, from its first row.
using OpenFeatures = std::function<std::unique_ptr<FeatureReader>()>;

/// y = (x - mean) / deviation / largest_norm: the columns then have mean 0 and population deviation
/// 1 before the division, and the largest row norm is 1 after it.
struct Standardization {
  std::vector<double> mean;
  std::vector<double> deviation;  ///< 1 for a constant column
  double largest_norm = 1;        ///< 1 for a matrix of constant columns

  void apply(std::span<double> row) const noexcept;
};

/// Reads the matrix twice. Throws what the readers throw, DataError for values whose squares exceed
/// float64, ResourceError where three rows do not fit the budget.
[[nodiscard]] Standardization measure_standardization(const OpenFeatures& open, MemoryBudget& budget, WorkMeter& meter);

/// Row `row` of a batch with all its columns, zeros included.
void expand_row(const FeatureBatch& batch, std::size_t row, std::span<double> out) noexcept;

}  // namespace unweave
