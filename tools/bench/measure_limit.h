// tools/bench/measure_limit.h - --measure-limit of import, propagate and stream: the limit that `bench` measures, taken once before
// the command begins. Where it cannot be taken, a note on standard error says why and the command goes on without it.
#pragma once

#include <filesystem>
#include <optional>

#include "engine/resources/memory.h"
#include "storage/formats/manifest.h"
#include "tools/bench/bench_gather.h"
#include "tools/bench/bench_stream.h"
#include "tools/bench/import_limit.h"
#include "tools/cli/command.h"

namespace unweave {

/// See measure_import_limit(). Nothing, without a note, where the import will say that its edges are missing.
[[nodiscard]] std::optional<ImportBench> import_limit(const CommandLine& line, const std::filesystem::path& store,
                                                      const ImportOptions& options, MemoryBudget& budget);

/// The gather limit on an R-MAT graph of about as many nodes (2^16 to 2^22), or on the largest that fits.
[[nodiscard]] std::optional<GatherBench> propagation_limit(const CommandLine& line, const Manifest& manifest,
                                                           MemoryBudget& budget);

/// See measure_stream_limit().
[[nodiscard]] std::optional<StreamLimit> stream_limit(const CommandLine& line, const std::filesystem::path& store,
                                                      const Manifest& manifest, MemoryBudget& budget);

}  // namespace unweave
