// tools/commands/plan.cpp - `unweave plan`: what a propagation or a stream is going to take, beside what there is.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/live/live_store.h"
#include "algorithms/maintenance/purge_plan.h"
#include "algorithms/models/recorded_release.h"
#include "algorithms/propagation/propagation_plan.h"
#include "algorithms/propagation/propagation_trial.h"
#include "engine/resources/clock.h"
#include "engine/resources/parallel.h"
#include "engine/state/level_image.h"
#include "engine/sweep/tile_spool.h"
#include "storage/input/request_reader.h"
#include "storage/io/error.h"
#include "tools/cli/output.h"
#include "tools/commands/commands.h"
#include "tools/commands/plan_unlearning.h"
#include "tools/commands/propagation_options.h"

namespace unweave {
namespace {

// Checksum and copy of one byte of sums on its way to a file, on one thread.
constexpr double kPutSeconds = 1.2e-9;
constexpr std::uint64_t kMostTrialBytes = std::uint64_t{128} << 20;
constexpr std::uint64_t kTrialWrite = std::uint64_t{1} << 20;

/// Bytes a second at which the disk of the store takes a file without a name, which fills half of the free room at most.
double measure_disk(const std::filesystem::path& store, std::uint64_t free_disk, MemoryBudget& budget) {
  const std::uint64_t bytes = std::clamp(free_disk / 2 / kTrialWrite * kTrialWrite, kTrialWrite, kMostTrialBytes);
  WriteBuffers buffers(bytes, budget);
  const std::vector<std::byte> piece(kTrialWrite, std::byte{0x5a});
  const Clock::time_point start = Clock::now();
  ScatteredWriter file = make_spool(store, bytes, buffers.queue());
  for (std::uint64_t at = 0; at < bytes; at += piece.size()) file.put(at, piece);
  file.finish();
  buffers.queue().drain();
  file.file().sync();
  return static_cast<double>(bytes) / seconds_since(start);
}

void foresee_propagation(const CommandLine& line, const LiveStore& store, MemoryBudget& budget) {
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
  const StatePlan& state = plan.state;
  const std::uint64_t disk_bytes = state.disk_bytes + plan.cone_bytes;
  const std::uint64_t written = state.state_bytes + state.spooled_bytes + plan.cone_bytes;
  const std::uint64_t read =
      bytes_of(store.manifest().shards) + bytes_of(store.manifest().feature_files) + state.spooled_bytes;

  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  json["rows"] = plan.rows;
  json["arcs"] = total(plan.arcs);
  json["tiles"] = state.tiles;
  json["memory_bytes"] = state.memory_bytes;
  json["memory_available_bytes"] = budget.available();
  json["state_bytes"] = state.state_bytes;
  json["feature_bytes"] = bytes_of(store.manifest().feature_files);
  json["cone_bytes"] = plan.cone_bytes;
  json["disk_bytes"] = disk_bytes;
  json["disk_free_bytes"] = free_disk;
  json["bytes_read"] = read;
  json["bytes_written"] = written;
  json["fits"] = disk_bytes <= free_disk;
  json["sweep_arc_features_per_second"] = nullptr;
  json["disk_bytes_per_second"] = nullptr;
  json["seconds_predicted"] = nullptr;
  json["limit"] = nullptr;
  if (json["fits"].get<bool>() && !plan.rows.empty()) {
    const double disk = measure_disk(store.path(), free_disk, budget);
    const PropagationTrial trial = try_propagation(contents, spec, plan, budget);
    // A spool is written while the sweep runs, then read and written again in order.
    const auto threads = static_cast<double>(active_threads());
    const double write = static_cast<double>(state.state_bytes) / disk;
    const double sum = trial.sweep_seconds + static_cast<double>(state.state_bytes) * kPutSeconds / threads;
    seconds += trial.read_seconds + std::max(sum, write) + (state.tiles > 1 ? 2 * write : 0);
    if (trial.sweep_seconds > 0)
      json["sweep_arc_features_per_second"] = static_cast<double>(total(plan.arcs)) * columns / trial.sweep_seconds;
    json["disk_bytes_per_second"] = disk;
    json["seconds_predicted"] = seconds;
    json["limit"] = sum >= write ? "gather" : "disk";
  }
  if (line.common().json) {
    write_json_line(line.out(), json);
  } else {
    Table table({"to propagate", "needed", "there is"});
    table.add_row({"rows kept", count_text(total(plan.rows)), ""});
    table.add_row({"arcs to sum", count_text(total(plan.arcs)), ""});
    table.add_row({"column tiles", count_text(state.tiles), ""});
    table.add_row({"memory", bytes_text(state.memory_bytes), bytes_text(budget.available())});
    table.add_row({"disk for the sums", bytes_text(state.state_bytes), ""});
    const std::uint64_t given = bytes_of(store.manifest().feature_files);
    if (state.state_bytes > kLargeSums * given && given > 0)
      table.add_row(
          {"  of features of " + bytes_text(given) + ", as many times", count_text(state.state_bytes / given), ""});
    if (plan.cone_bytes > 0)
      table.add_row({"disk for counts and target lists, at most", bytes_text(plan.cone_bytes), ""});
    table.add_row({"disk at a time", bytes_text(disk_bytes), bytes_text(free_disk)});
    table.add_row({"bytes to read", bytes_text(read), ""});
    table.add_row({"bytes to write", bytes_text(written), ""});
    if (!json["seconds_predicted"].is_null()) {
      table.add_row({"time, about", seconds_text(seconds), ""});
      table.add_row({"the sweep waits for", json["limit"] == "disk" ? "the disk" : "memory", ""});
    }
    table.print(line.out());
  }
  if (!json["fits"].get<bool>())
    throw ResourceError(store.path().string() + ": a propagation needs " + bytes_text(disk_bytes) + " of disk, " +
                        bytes_text(free_disk) + " are free; free some, or keep fewer rows (--rows labelled)");
}

/// The requests of the first batch, and how many there are in all.
struct RequestSample {
  std::vector<Request> first;
  std::uint64_t total = 0;
};

RequestSample read_requests(const std::string& file, std::uint64_t batch) {
  RequestSample sample;
  RequestReader reader(file);
  for (Request request; reader.next(request); ++sample.total)
    if (sample.first.size() < batch) sample.first.push_back(request);
  return sample;
}

/// A column of the levels for programs.
template <class Value>
nlohmann::ordered_json each(const StreamPlan& plan, const Value& value) {
  nlohmann::ordered_json values = nlohmann::ordered_json::array();
  for (const LevelForecast& level : plan.levels) values.push_back(value(level));
  return values;
}

std::string plan_name(const LevelForecast& level) {
  return level.recompute ? "recompute" : "push";
}

void print_levels(const StreamPlan& plan, std::ostream& out) {
  if (plan.levels.empty()) {
    out << "not propagated: a batch changes graph and features only\n";
    return;
  }
  Table table({"level", "arcs to visit", "rows touched", "push", "recompute", "plan"});
  for (std::size_t l = 0; l < plan.levels.size(); ++l) {
    const LevelForecast& level = plan.levels[l];
    table.add_row({count_text(l + 1), count_text(level.arcs), count_text(level.rows),
                   std::isnan(level.push_seconds) ? "" : seconds_text(level.push_seconds),
                   seconds_text(level.recompute_seconds), plan_name(level)});
  }
  table.print(out);
}

void foresee_stream(const CommandLine& line, LiveStore&& store, MemoryBudget& budget) {
  const std::uint64_t batch = line.get<Count>("batch").value;
  if (batch == 0) throw UsageError("--batch must be at least 1");
  const RequestSample requests = read_requests(line.get<std::string>("requests"), batch);
  const std::uint64_t batches = (requests.total + batch - 1) / batch;
  const BatchChanges changes = store.resolve(requests.first);
  const std::string name = store.path().string();
  const std::uint64_t free_disk = std::filesystem::space(store.path()).available;
  const std::uint64_t free_memory = budget.available();
  const std::uint64_t stale_rows = store.propagated() ? store.embedding().stale_rows() : 0;
  const StreamPlan plan = std::move(store).foresee(changes, std::max<std::uint64_t>(1, batches));
  const bool fits_memory = plan.memory_bytes <= free_memory, fits_disk = plan.disk_bytes <= free_disk;

  if (line.common().json) {
    write_json_line(
        line.out(),
        {{"batches", batches},
         {"requests", changes.requests},
         {"applied", changes.applied},
         {"rows", each(plan, [](const LevelForecast& level) { return level.rows; })},
         {"arcs", each(plan, [](const LevelForecast& level) { return level.arcs; })},
         {"plan", each(plan, plan_name)},
         {"seconds_push", each(plan, [](const LevelForecast& level) { return level.push_seconds; })},
         {"seconds_recompute", each(plan, [](const LevelForecast& level) { return level.recompute_seconds; })},
         {"seconds_predicted", plan.seconds},
         {"stale_rows", stale_rows},
         {"memory_bytes", plan.memory_bytes},
         {"memory_available_bytes", free_memory},
         {"disk_bytes", plan.disk_bytes},
         {"disk_free_bytes", free_disk},
         {"bytes_written", plan.written_bytes},
         {"spills", !fits_memory},
         {"fits", fits_disk}});
  } else {
    print_levels(plan, line.out());
    Table table({"to stream", "needed", "there is"});
    table.add_row({"batches", count_text(batches), ""});
    table.add_row({"requests of the first", count_text(changes.requests), ""});
    table.add_row({"of them rejected", count_text(changes.rejected), ""});
    if (stale_rows > 0)
      table.add_row({"stale rows, published before them and not in these figures", count_text(stale_rows), ""});
    if (!plan.levels.empty()) table.add_row({"time a batch, about", seconds_text(plan.seconds), ""});
    table.add_row({"memory, about", bytes_text(plan.memory_bytes), bytes_text(free_memory)});
    table.add_row({"disk, about", bytes_text(plan.disk_bytes), bytes_text(free_disk)});
    table.add_row({"bytes to write, about", bytes_text(plan.written_bytes), ""});
    table.print(line.out());
    if (!fits_memory)
      line.out()
          << "note: what has no room in memory goes to files, and the stream takes longer than said here; a smaller "
             "--batch or more --memory keeps it there\n";
  }
  if (!fits_disk)
    throw ResourceError(name + ": this stream needs " + bytes_text(plan.disk_bytes) + " of disk, " +
                        bytes_text(free_disk) + " are free; free some, or stream fewer requests at a time");
}

void foresee_purge(const CommandLine& line, const LiveStore& store) {
  const PurgePlan plan = plan_purge(store, {line.get<bool>("keep-order")});
  const std::uint64_t free_disk = std::filesystem::space(store.path()).available;
  const bool fits = plan.disk_bytes() <= free_disk;
  if (line.common().json) {
    write_json_line(line.out(), {{"computes_order", plan.computes_order},
                                 {"bytes_rewritten", plan.written_bytes},
                                 {"temporary_bytes", plan.temporary_bytes},
                                 {"disk_bytes", plan.disk_bytes()},
                                 {"disk_free_bytes", free_disk},
                                 {"fits", fits}});
  } else {
    Table table({"to purge, at most", "needed", "there is"});
    table.add_row({"order of nodes", plan.computes_order ? "computed anew" : "as it is", ""});
    table.add_row({"bytes to rewrite", bytes_text(plan.written_bytes), ""});
    if (plan.temporary_bytes > 0) table.add_row({"temporary files", bytes_text(plan.temporary_bytes), ""});
    table.add_row({"disk at a time", bytes_text(plan.disk_bytes()), bytes_text(free_disk)});
    table.print(line.out());
  }
  if (!fits)
    throw ResourceError(store.path().string() + ": a purge needs up to " + bytes_text(plan.disk_bytes()) +
                        " of disk, " + bytes_text(free_disk) + " are free; free some" +
                        (plan.computes_order ? ", or keep the order of the nodes as public (--keep-order)" : ""));
}

void refuse_mixed_options(const CommandLine& line) {
  if (!line.has("solver"))
    for (const char* const option : {"removed", "head", "epsilon", "delta", "lambda", "tau", "alpha", "bound", "set"})
      if (line.given(option)) throw UsageError("--" + std::string(option) + " needs --solver");
  if (line.has("solver") && !line.has("requests"))
    for (const char* const option : {"hops", "weights", "scheme", "rho", "scale-bits", "rows"})
      if (line.given(option))
        throw UsageError("--" + std::string(option) + " belongs to a propagation, --solver to a model of one");
  if (line.get<bool>("purge") && line.has("requests"))
    throw UsageError("--purge and --requests ask for two plans; leave one of them out");
  if (line.get<bool>("keep-order") && !line.get<bool>("purge")) throw UsageError("--keep-order needs --purge");
  if (!line.has("requests")) {
    if (line.given("batch")) throw UsageError("--batch needs --requests");
    if (!line.get<bool>("purge")) return;
  }
  for (const char* const option : {"hops", "weights", "scheme", "rho", "scale-bits", "rows"})
    if (line.given(option))
      throw UsageError("--" + std::string(option) +
                       " belongs to a propagation, --requests and --purge to one that was; leave one of them out");
}

}  // namespace

void run_plan(CommandLine& line) {
  line.describe(
      "Foresees what a propagation takes, or with --requests a stream, with --purge a purge, with --solver the "
      "requests\n"
      "of a solver: rows, memory, disk, bytes, seconds, beside what there is. Changes nothing. Exit code 3: cannot "
      "fit.\n"
      "For the seconds of a propagation it sums a sample of the rows and writes half of the free disk, 128 MiB at "
      "most,\n"
      "to a nameless file; --json names what the sweep waits for: gather (sums of rows in memory) or disk.\n"
      "Of a stream the first batch stands for all. With --solver epochs, noise and totals come from public numbers "
      "alone;\n"
      "nothing is trained. Bytes and disk of a purge are the most that it may take.",
      {"STORE"},
      "unweave plan demo/debian.store --hops 2 --rows all\n"
      "  echo 'edge 12 34' | unweave plan demo/debian.store --requests -\n"
      "  unweave plan demo/debian.store --solver langevin --epsilon 1");
  add_propagation_options(line);
  auto add = line.options().add_options();
  add("requests", po::value<std::string>()->value_name("F"), "foresee a stream of these; - for standard input");
  add("batch", po::value<Count>()->value_name("K")->default_value({100}), "requests a batch, with --requests");
  add_unlearning_options(line);
  add("purge", po::bool_switch(), "foresee a purge");
  add("keep-order", po::bool_switch(), "as purge has it, with --purge");
  if (!line.parse()) return;
  refuse_mixed_options(line);

  MemoryBudget budget(line.budget_bytes());
  LiveStore store(line.positional(0), Access::read, budget, release_ledger());
  if (line.has("solver"))
    foresee_unlearning(line, store, budget);
  else if (line.get<bool>("purge"))
    foresee_purge(line, store);
  else if (line.has("requests"))
    foresee_stream(line, std::move(store), budget);
  else
    foresee_propagation(line, store, budget);
}

}  // namespace unweave
