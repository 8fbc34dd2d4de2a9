// engine/ingest/given_row.h - one row of features that is given after the import, as the import
// would have stored it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "engine/graph/contents.h"

namespace unweave {

/// The values of a row in the text of a request: all of them, or pairs `column:value`, without
/// which a value is 0. Nothing where there are not `columns` values, or a column is not below
/// `columns`.
[[nodiscard]] std::optional<std::vector<double>> given_values(std::string_view text, std::uint32_t columns);

/// The row that a store of these rules has where an import is given `values`: bits are equal.
/// Nothing where the import refuses it: a norm above 1 where rows are taken as they are. The store
/// is not standardized.
[[nodiscard]] std::optional<std::vector<float>> stored_row(std::span<const double> values, const DataRules& rules);

}  // namespace unweave
