// tools/bench/measure_limit.cpp - limits of the machine for commands, or a note where there is none.
#include "tools/bench/measure_limit.h"

#include <algorithm>
#include <bit>
#include <string>

#include "storage/io/error.h"
#include "tools/cli/message_style.h"

namespace unweave {
namespace {

constexpr int kLeastScale = 16, kMostScale = 22;  // the graph on which the gather limit is measured has 2^scale nodes
constexpr int kRepeats = 2;

void note(const CommandLine& line, const std::string& text) {
  if (!line.common().quiet) line.error() << "note: " << text << '\n';
}

/// What `measure` gives, or a note where it does not fit the memory.
template <class Measure>
auto limit_or_note(const CommandLine& line, const Measure& measure) -> std::optional<decltype(measure())> {
  try {
    return measure();
  } catch (const ResourceError& error) {
    note(line, "the limit is not measured: " + command_text(error.message()));
    return std::nullopt;
  }
}

}  // namespace

std::optional<ImportBench> import_limit(const CommandLine& line, const std::filesystem::path& store,
                                        const ImportOptions& options, MemoryBudget& budget) {
  if (!options.edges || (options.edges->path != "-" && !std::filesystem::exists(options.edges->path)))
    return std::nullopt;
  return limit_or_note(line, [&] { return measure_import_limit(store, options, budget); });
}

std::optional<GatherBench> propagation_limit(const CommandLine& line, const Manifest& manifest, MemoryBudget& budget) {
  if (manifest.features == 0) return std::nullopt;
  GatherBenchOptions options;
  const int wanted = std::clamp(static_cast<int>(std::bit_width(manifest.nodes)) - 1, kLeastScale, kMostScale);
  options.scale = wanted;
  options.features = manifest.features;
  options.repeats = kRepeats;
  options.limit_only = true;
  while (options.scale > kLeastScale && gather_limit_bytes(options) > budget.available()) --options.scale;
  const bool fits = gather_limit_bytes(options) <= budget.available();
  if (!fits || options.scale < wanted)
    note(line, std::string("the gather limit is ") + (fits ? "measured on a smaller graph" : "not measured") + ", 2^" +
                   std::to_string(wanted) + " nodes do not fit --memory");
  if (!fits) return std::nullopt;
  return run_bench_gather(options, budget);
}

std::optional<StreamLimit> stream_limit(const CommandLine& line, const std::filesystem::path& store,
                                        const Manifest& manifest, MemoryBudget& budget) {
  if (manifest.propagation) return limit_or_note(line, [&] { return measure_stream_limit(store, kRepeats, budget); });
  note(line, "the limit is not measured: the store is not propagated");
  return std::nullopt;
}

}  // namespace unweave
