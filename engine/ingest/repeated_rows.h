// engine/ingest/repeated_rows.h - a matrix read several times, as the rows of all copies of nodes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "storage/input/features/feature_reader.h"

namespace unweave {

/// Gives the rows of `first`, then those of readers that `again` opens, `times` times in all; row i
/// of a later one is row i + k rows() of this. All have the same rows.
[[nodiscard]] std::unique_ptr<FeatureReader> repeat_rows(std::unique_ptr<FeatureReader> first, std::uint32_t times,
                                                         std::function<std::unique_ptr<FeatureReader>()> again);

}  // namespace unweave
