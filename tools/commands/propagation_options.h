// tools/commands/propagation_options.h - what `propagate` computes and `plan` foresees: the options that say it, and the limit of the
// machine that both are held against.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/graph/contents.h"
#include "engine/resources/memory.h"
#include "storage/formats/manifest.h"
#include "tools/bench/bench_gather.h"
#include "tools/cli/command.h"

namespace unweave {

inline constexpr std::uint64_t kDefaultHops = 2;
/// Sums so many times as large as the features deserve a word.
inline constexpr std::uint64_t kLargeSums = 10;

void add_propagation_options(CommandLine& line);
/// Throws UsageError.
[[nodiscard]] PropagationSpec read_propagation_spec(const CommandLine& line, const Contents& contents);

/// The weights of the rows that a reader wants: --weights, L + 1 numbers, else those of the store. Throws UsageError.
[[nodiscard]] std::vector<double> read_row_weights(const CommandLine& line, const PropagationSpec& spec);

/// The gather limit on an R-MAT graph of about this size (2^16 to 2^22 nodes), or of the largest that fits, measured here
/// and now; none where not even the smallest fits. A remark on standard error says so.
[[nodiscard]] std::optional<GatherBench> measure_gather_limit(const CommandLine& line, NodeId nodes,
                                                              std::uint32_t features, MemoryBudget& budget);

}  // namespace unweave
