// engine/ingest/standardize.cpp - measures means, deviations and the largest norm in two passes, and applies them to
// rows.
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

/// `after` is called with the number of rows after some of them.
template <class UseRow, class After>
void for_each_row(FeatureReader& reader, std::uint64_t first, WorkMeter& meter, const UseRow& use, const After& after) {
  FeatureBatch batch;
  std::vector<double> row(static_cast<std::size_t>(reader.columns()));
  reader.skip(first);
  meter.advance(first);
  while (reader.next(batch, kStandardizedValues)) {
    for (std::size_t i = 0; i < batch.rows; ++i) {
      expand_row(batch, i, row);
      use(std::span(row));
    }
    meter.advance(batch.rows);
    after(first += batch.rows);
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

Standardization measure_standardization(const OpenFeatures& open, MemoryBudget& budget, WorkMeter& meter,
                                        StatisticsKeeper* keeper) {
  const auto first_reader = open();
  const std::uint64_t columns = first_reader->columns();
  const Reservation memory = budget.reserve(3 * columns * sizeof(double), "column statistics");
  KeptStatistics now{std::vector<double>(columns), std::vector<double>(columns), 0, 0, 0};
  if (keeper != nullptr) now = keeper->kept().value_or(now);
  const auto after = [&](std::uint64_t rows) {
    now.rows = rows;
    if (keeper != nullptr) keeper->keep(now);
  };
  const auto end_pass = [&] {
    ++now.passes;
    now.rows = 0;
    if (keeper != nullptr) keeper->settle(now);
  };

  // Welford's recurrence: a constant column has exactly no deviation, and large means cancel nothing.
  meter.start("column statistics", 2 * first_reader->rows(), "rows");
  if (now.passes == 0) {
    auto rows = static_cast<double>(now.rows);
    const auto take = [&](std::span<const double> row) {
      ++rows;
      for (std::size_t c = 0; c < row.size(); ++c) {
        const double delta = row[c] - now.mean[c];
        now.mean[c] += delta / rows;
        now.deviation[c] += delta * (row[c] - now.mean[c]);
      }
    };
    for_each_row(*first_reader, now.rows, meter, take, after);
    for (std::size_t c = 0; c < columns; ++c) {
      double& deviation = now.deviation[c];
      if (!std::isfinite(deviation))
        throw DataError("column " + std::to_string(c) +
                        " of the features holds values too large to standardise; scale the features down");
      deviation = std::sqrt(deviation / rows);
      if (deviation == 0) deviation = 1;
    }
    end_pass();
  }

  if (now.passes == 1) {
    const auto second_reader = open();
    const auto measure = [&](std::span<const double> row) {
      double square = 0;
      for (std::size_t c = 0; c < row.size(); ++c) {
        const double value = (row[c] - now.mean[c]) / now.deviation[c];
        square += value * value;
      }
      now.largest_norm = std::max(now.largest_norm, square);
    };
    for_each_row(*second_reader, now.rows, meter, measure, after);
    now.largest_norm = now.largest_norm > 0 ? std::sqrt(now.largest_norm) : 1;
    end_pass();
  }
  return {std::move(now.mean), std::move(now.deviation), now.largest_norm};
}

}  // namespace unweave
