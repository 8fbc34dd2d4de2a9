// tools/commands/propagation_options.h - what `propagate` computes and `plan` estimates: the options that say it, and
// the limit of the machine that both are held against.
#pragma once

#include <cstdint>
#include <optional>

#include "tools/bench/bench_gather.h"
#include "tools/cli/command.h"
#include "unweave/store.h"

namespace unweave {

inline constexpr std::uint64_t kDefaultHops = 2;
/// Sums so many times as large as the features deserve a word.
inline constexpr std::uint64_t kLargeSums = 10;

void add_propagation_options(CommandLine& line);
/// `has_labels`: of the store. Throws UsageError.
[[nodiscard]] PropagationSpec read_propagation_spec(const CommandLine& line, bool has_labels);

/// The gather limit on an R-MAT graph of about this size (2^16 to 2^22 nodes), or of the largest that fits, measured here
/// and now; none where not even the smallest fits. A remark on standard error says so.
[[nodiscard]] std::optional<GatherBench> measure_gather_limit(const CommandLine& line, NodeId nodes,
                                                              std::uint32_t features, MemoryBudget& budget);

}  // namespace unweave
