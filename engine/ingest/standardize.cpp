// engine/ingest/standardize.cpp - measures means, deviations and the largest norm in two passes,
// and applies them to rows.
#include "engine/ingest/standardize.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>

#include "storage/io/error.h"

namespace unweave {
namespace {

constexpr std::size_t kStandardizedValues = std::size_t{1} << 16;

template <class UseRow>
void for_each_row(FeatureReader& reader, WorkMeter& meter, const UseRow& use) {
  FeatureBatch batch;
  std::vector<double> row(static_cast<std::size_t>(reader.columns()));
  while (reader.next(batch, kStandardizedValues)) {
    for (std::size_t i = 0; i < batch.rows; ++i) {
      expand_row(batch, i, row);
      use(std::span(row));
    }
    meter.advance(batch.rows);
  }
}

}  // namespace

void Standardization::apply(std::span<double> row) const noexcept {
  for (std::size_t c = 0; c < row.size(); ++c) row[c] = (row[c] - mean[c]) / deviation[c] / largest_norm;
}

void expand_row(const FeatureBatch& batch, std::size_t row, std::span<double> out) noexcept {
  if (!batch.sparse) {
    std::copy_n(batch.values.begin() + static_cast<std::ptrdiff_t>(row * out.size()), out.size(), out.begin());
    return;
  }
  std::fill(out.begin(), out.end(), 0.0);
  for (std::uint64_t i = batch.indptr[row]; i < batch.indptr[row + 1]; ++i) out[batch.indices[i]] = batch.values[i];
}

Standardization measure_standardization(const OpenFeatures& open, MemoryBudget& budget, WorkMeter& meter) {
  const auto first_reader = open();
  const std::uint64_t columns = first_reader->columns();
  const Reservation memory = budget.reserve(3 * columns * sizeof(double), "column statistics");
  Standardization found{std::vector<double>(columns), std::vector<double>(columns)};
  std::vector<double>&mean = found.mean, &deviation = found.deviation;

  // Welford's recurrence: a constant column has exactly no deviation, and large means cancel
  // nothing.
  meter.start("column statistics", 2 * first_reader->rows(), "rows");
  double rows = 0;
  for_each_row(*first_reader, meter, [&](std::span<const double> row) {
    ++rows;
    for (std::size_t c = 0; c < row.size(); ++c) {
      const double delta = row[c] - mean[c];
      mean[c] += delta / rows;
      deviation[c] += delta * (row[c] - mean[c]);
    }
  });
  for (std::size_t c = 0; c < columns; ++c) {
    if (!std::isfinite(deviation[c]))
      throw DataError("column " + std::to_string(c) +
                      " of the features holds values too large to standardise; scale the features down");
    deviation[c] = std::sqrt(deviation[c] / rows);
    if (deviation[c] == 0) deviation[c] = 1;
  }

  double largest_square = 0;
  for_each_row(*open(), meter, [&](std::span<const double> row) {
    double square = 0;
    for (std::size_t c = 0; c < row.size(); ++c) {
      const double value = (row[c] - mean[c]) / deviation[c];
      square += value * value;
    }
    largest_square = std::max(largest_square, square);
  });
  if (largest_square > 0) found.largest_norm = std::sqrt(largest_square);
  return found;
}

}  // namespace unweave
