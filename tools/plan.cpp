// tools/plan.cpp - `unweave plan`: what a propagation is going to take, beside what there is.
#include <filesystem>
#include <numeric>
#include <string>

#include "algorithms/live_store.h"
#include "algorithms/propagation_plan.h"
#include "algorithms/propagation_trial.h"
#include "engine/clock.h"
#include "engine/level_image.h"
#include "engine/parallel.h"
#include "engine/tile_spool.h"
#include "storage/error.h"
#include "tools/commands.h"
#include "tools/output.h"
#include "tools/propagation_options.h"

namespace unweave {
namespace {

// Checksum and copy of one byte of sums on its way to a file, on one thread.
constexpr double kPutSeconds = 1.2e-9;
constexpr std::uint64_t kTrialBytes = std::uint64_t{128} << 20;
constexpr std::size_t kTrialWrite = std::size_t{1} << 20;

/// Bytes a second at which the disk of the store takes a file without a name.
double measure_disk(const std::filesystem::path& store, MemoryBudget& budget) {
  WriteBuffers buffers(kTrialBytes, budget);
  const std::vector<std::byte> piece(kTrialWrite, std::byte{0x5a});
  const Clock::time_point start = Clock::now();
  ScatteredWriter file = make_spool(store, kTrialBytes, buffers.queue());
  for (std::uint64_t at = 0; at < kTrialBytes; at += piece.size()) file.put(at, piece);
  file.finish();
  buffers.queue().drain();
  file.file().sync();
  return static_cast<double>(kTrialBytes) / seconds_since(start);
}

}  // namespace

void run_plan(CommandLine& line) {
  line.describe(
      "Foresees a propagation: rows, memory, disk and seconds, beside what this machine has. For the seconds it sums a "
      "sample of the rows in tiles of the true size and writes 128 MiB to a nameless file; it changes nothing.\n"
      "sweep_arc_features_per_second of --json: what the sweep is expected to reach when nothing is written.",
      {"STORE"}, "unweave plan demo/debian.store --hops 2 --rows all");
  add_propagation_options(line);
  if (!line.parse()) return;

  MemoryBudget budget(line.budget_bytes());
  const LiveStore store(line.positional(0), Access::read, budget);
  const Contents& contents = store.contents();
  if (contents.features().columns() == 0)
    throw DataError(store.path().string() + ": has no features to propagate; import it with --features");
  const PropagationSpec spec = read_propagation_spec(line, contents);
  const Clock::time_point start = Clock::now();
  const PropagationPlan plan = plan_propagation(contents, spec, budget);
  double seconds = seconds_since(start);  // a propagation begins with it too
  const auto total = [](const std::vector<std::uint64_t>& counts) {
    return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
  };
  const std::uint64_t free_disk = std::filesystem::space(store.path()).available;
  const double columns = contents.features().columns();

  nlohmann::ordered_json json;
  json["rows"] = plan.rows;
  json["arcs"] = total(plan.arcs);
  json["tiles"] = plan.state.tiles;
  json["memory_bytes"] = plan.state.memory_bytes;
  json["memory_available_bytes"] = budget.available();
  json["state_bytes"] = plan.state.state_bytes;
  json["disk_bytes"] = plan.state.disk_bytes;
  json["disk_free_bytes"] = free_disk;
  json["fits"] = plan.state.disk_bytes <= free_disk;
  json["sweep_arc_features_per_second"] = nullptr;
  json["disk_bytes_per_second"] = nullptr;
  json["seconds_predicted"] = nullptr;
  if (json["fits"].get<bool>() && !plan.rows.empty()) {
    const double disk = measure_disk(store.path(), budget);
    const PropagationTrial trial = try_propagation(contents, spec, plan, budget);
    // A spool is written while the sweep runs, then read and written again in order.
    const auto threads = static_cast<double>(active_threads());
    const double write = static_cast<double>(plan.state.state_bytes) / disk;
    const double sum = trial.sweep_seconds + static_cast<double>(plan.state.state_bytes) * kPutSeconds / threads;
    seconds += trial.read_seconds + std::max(sum, write) + (plan.state.tiles > 1 ? 2 * write : 0);
    if (trial.sweep_seconds > 0)
      json["sweep_arc_features_per_second"] = static_cast<double>(total(plan.arcs)) * columns / trial.sweep_seconds;
    json["disk_bytes_per_second"] = disk;
    json["seconds_predicted"] = seconds;
  }
  if (line.common().json) {
    write_json_line(line.out(), json);
  } else {
    Table table({"to propagate", "needed", "there is"});
    table.add_row({"rows kept", count_text(total(plan.rows)), ""});
    table.add_row({"arcs to sum", count_text(total(plan.arcs)), ""});
    table.add_row({"column tiles", count_text(plan.state.tiles), ""});
    table.add_row({"memory", bytes_text(plan.state.memory_bytes), bytes_text(budget.available())});
    table.add_row({"disk for the sums", bytes_text(plan.state.state_bytes), ""});
    table.add_row({"disk at a time", bytes_text(plan.state.disk_bytes), bytes_text(free_disk)});
    if (!json["seconds_predicted"].is_null()) table.add_row({"time, about", seconds_text(seconds), ""});
    table.print(line.out());
  }
  if (!json["fits"].get<bool>())
    throw ResourceError(store.path().string() + ": a propagation needs " + bytes_text(plan.state.disk_bytes) +
                        " of disk, " + bytes_text(free_disk) +
                        " are free; free some, or keep fewer rows (--rows labelled)");
}

}  // namespace unweave
