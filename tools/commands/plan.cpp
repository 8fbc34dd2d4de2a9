// tools/commands/plan.cpp - `unweave plan`: what a propagation or a stream is going to take, beside
// what there is.
#include "unweave/plan.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "storage/input/request_reader.h"
#include "storage/io/error.h"
#include "tools/cli/message_style.h"
#include "tools/cli/output.h"
#include "tools/cli/report_json.h"
#include "tools/cli/step_progress.h"
#include "tools/commands/commands.h"
#include "tools/commands/plan_unlearning.h"
#include "tools/commands/propagation_options.h"
#include "tools/commands/solver_options.h"
#include "tools/commands/training.h"
#include "unweave/fields/plan.h"

namespace unweave {
namespace {

/// A count, or an estimate with its standard error in per cent.
std::string estimated_text(std::uint64_t count, bool exact, double error) {
  if (exact) return count_text(count);
  const double percent = count == 0 ? 0 : 100 * error / static_cast<double>(count);
  return "about " + count_text(count) + " (+- " + number_text(percent, 2) + " %)";
}

void print_propagation(const CommandLine& line, const Reader& reader) {
  const PropagationSpec spec = read_propagation_spec(line, reader.labelled_rows());
  const PropagationForecast plan =
      forecast_propagation(reader, spec, line.get<bool>("exact") ? RowCount::exact : RowCount::automatic);
  const std::string kept = spec.kept.has_sums() ? "sums" : "rows";
  if (line.common().json) {
    write_json_line(line.out(), json_fields(plan));
  } else {
    Table table({"to propagate", "needed", "there is"});
    const std::uint64_t rows = std::accumulate(plan.rows.begin(), plan.rows.end(), std::uint64_t{0});
    const double error = std::accumulate(plan.rows_error.begin(), plan.rows_error.end(), 0.0);
    table.add_row({"rows kept", estimated_text(rows, plan.exact, error), ""});
    table.add_row({"arcs to sum", estimated_text(plan.arcs, plan.exact, plan.arcs_error), ""});
    table.add_row({"column tiles", count_text(plan.tiles), ""});
    table.add_row({"memory", bytes_text(plan.memory_bytes), bytes_text(plan.memory_available_bytes)});
    if (plan.memory_bytes > 0) {
      table.add_row({"  a tile of " + counted(plan.tile_columns, "column"), bytes_text(plan.tile_bytes), ""});
      table.add_row({"  threads that sum", bytes_text(plan.worker_bytes), ""});
      table.add_row({"  " + kept + " on their way to the disk", bytes_text(plan.write_buffer_bytes), ""});
    }
    table.add_row({"disk for the " + kept, bytes_text(plan.state_bytes), ""});
    const std::uint64_t given = plan.feature_bytes;
    if (plan.state_bytes > kLargeSums * given && given > 0)
      table.add_row(
          {"  of features of " + bytes_text(given) + ", as many times", count_text(plan.state_bytes / given), ""});
    if (plan.cone_bytes > 0)
      table.add_row({"disk for counts and target lists, at most", bytes_text(plan.cone_bytes), ""});
    table.add_row({"disk at a time", bytes_text(plan.disk_bytes), bytes_text(plan.disk_free_bytes)});
    table.add_row({"bytes to read", bytes_text(plan.bytes_read), ""});
    table.add_row({"bytes to write", bytes_text(plan.bytes_written), ""});
    if (plan.pace) {
      const PropagationSeconds& parts = plan.pace->parts;
      table.add_row({"time, about", seconds_text(plan.pace->seconds), ""});
      if (parts.cone > 0) table.add_row({"  which rows are read", seconds_text(parts.cone), ""});
      table.add_row({"  features", seconds_text(parts.fill), ""});
      table.add_row({"  sums", seconds_text(parts.sweep), ""});
      table.add_row({"  last writes", seconds_text(parts.write), ""});
      table.add_row({"the sweep waits for", plan.pace->waits_for_disk ? "the disk" : "memory", ""});
    }
    table.print(line.out());
  }
  if (!plan.fits())
    throw ResourceError(reader.path().string() + ": a propagation needs " + bytes_text(plan.disk_bytes) + " of disk, " +
                        bytes_text(plan.disk_free_bytes) +
                        " are free; free some, or keep fewer rows (--rows labelled)");
}

/// What ranks would take that share the propagation, both ways; where one way is not to be had,
/// why. Throws where neither is.
void print_ranks(const CommandLine& line, const Reader& reader) {
  const PropagationSpec spec = read_propagation_spec(line, reader.labelled_rows());
  const std::uint64_t ranks = line.get<Count>("ranks").value;
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  json["ranks"] = ranks;
  std::vector<std::vector<std::string>> columns;
  std::exception_ptr refused;
  std::string why_not;
  bool fits = false;
  for (const bool by_rows : {false, true}) {
    const char* const name = by_rows ? "rows" : "columns";
    try {
      const RankPlan plan = forecast_ranks(reader, spec, ranks, by_rows);
      fits |= plan.disk_bytes <= plan.disk_free_bytes;
      json[name] = {{"tiles", plan.tiles},
                    {"tile_columns", plan.tile_columns},
                    {"memory_bytes", plan.memory_bytes},
                    {"graph_bytes", plan.graph_bytes},
                    {"disk_bytes", plan.disk_bytes},
                    {"disk_free_bytes", plan.disk_free_bytes},
                    {"verbs", plan.calls.verbs},
                    {"rounds", plan.calls.rounds},
                    {"received_bytes", plan.calls.received_bytes}};
      columns.push_back({count_text(plan.tiles), count_text(plan.tile_columns), bytes_text(plan.memory_bytes),
                         bytes_text(plan.graph_bytes), count_text(plan.calls.verbs), count_text(plan.calls.rounds),
                         bytes_text(plan.calls.received_bytes), bytes_text(plan.disk_bytes),
                         bytes_text(plan.disk_free_bytes)});
    } catch (const Error& error) {
      if (refused) std::rethrow_exception(refused);  // neither way
      refused = std::current_exception();
      json[name] = {{"refused", command_text(error.message())}};
      columns.emplace_back(9, "-");
      why_not = "by " + std::string(name) + ": " + command_text(error.message());
    }
  }
  if (!why_not.empty()) line.note(why_not);
  if (line.common().json) {
    write_json_line(line.out(), json);
  } else {
    Table table({"for each of " + counted(ranks, "rank"), "by columns", "by rows"});
    const char* const labels[] = {"column tiles",
                                  "columns of a tile",
                                  "memory",
                                  "lists to read",
                                  "calls to other ranks",
                                  "times the network's latency",
                                  "bytes between all ranks",
                                  "shared disk at a time",
                                  "shared disk that is free"};
    for (std::size_t i = 0; i < std::size(labels); ++i) table.add_row({labels[i], columns[0][i], columns[1][i]});
    table.print(line.out());
  }
  if (!fits)
    throw ResourceError(reader.path().string() + ": the disk has not the room for a propagation that " +
                        counted(ranks, "rank") + " share; free some, or keep fewer rows (--rows labelled)");
}

/// The requests of the first batch, and how many there are in all.
struct RequestSample {
  std::vector<Request> first;
  std::uint64_t total = 0;
};

RequestSample read_requests(const std::string& file, std::uint64_t batch, const RequestWords& words) {
  RequestSample sample;
  RequestReader reader(file, words);
  for (Request request; reader.next(request); ++sample.total)
    if (sample.first.size() < batch) sample.first.push_back(request);
  return sample;
}

nlohmann::ordered_json call_fields(const RankCalls& calls) {
  return {{"verbs", calls.verbs}, {"rounds", calls.rounds}, {"received_bytes", calls.received_bytes}};
}

/// What ranks say to each other, a line each.
void print_calls(const CommandLine& line, const std::string& of,
                 const std::vector<std::pair<std::string, RankCalls>>& all) {
  Table table({of, "calls to other ranks", "times the network's latency", "bytes between all ranks"});
  for (const auto& [name, calls] : all)
    table.add_row({name, count_text(calls.verbs), count_text(calls.rounds), bytes_text(calls.received_bytes)});
  table.print(line.out());
}

/// What ranks that share a stream say for its first batch, which stands for all.
void print_rank_stream(const CommandLine& line, const Reader& reader) {
  const std::uint64_t batch = line.get<Count>("batch").value, ranks = line.get<Count>("ranks").value;
  if (batch == 0) throw UsageError("--batch must be at least 1");
  const RequestSample requests = read_requests(line.get<std::string>("requests"), batch, request_words(reader));
  const RankCalls calls = forecast_rank_batch(reader, requests.first, ranks);
  if (!line.common().json)
    return print_calls(line, "for each of " + counted(ranks, "rank"),
                       {{"a batch of " + counted(requests.first.size(), "request"), calls}});
  nlohmann::ordered_json json = {
      {"ranks", ranks}, {"batches", (requests.total + batch - 1) / batch}, {"requests", requests.first.size()}};
  json.update(call_fields(calls));
  write_json_line(line.out(), json);
}

/// What ranks that share a training say in its passes.
void print_rank_training(const CommandLine& line, const Reader& reader) {
  const std::string& solver = line.get<std::string>("solver");
  const std::uint64_t ranks = line.get<Count>("ranks").value;
  const RankTrainingForecast forecast =
      forecast_rank_training(reader, solver, read_solver_options(line, solver), ranks, row_choice(line));
  const RankPasses& passes = forecast.passes;
  if (!line.common().json) {
    print_calls(line, "for each of " + counted(ranks, "rank"),
                {{"a gradient", passes.gradient},
                 {"a Hessian product, at most", passes.product},
                 {"a new preconditioner, at most", passes.refresh}});
    line.out() << solver << " has " << counted(forecast.rows, "training row") << ", a rank "
               << count_text(forecast.most_rows_of_a_rank) << " at most; of " << counted(forecast.row_width, "number")
               << ", they take " << bytes_text(forecast.row_bytes) << "\n";
    return;
  }
  write_json_line(line.out(), {{"ranks", ranks},
                               {"solver", solver},
                               {"rows", forecast.rows},
                               {"most_rows_of_a_rank", forecast.most_rows_of_a_rank},
                               {"row_width", forecast.row_width},
                               {"row_bytes", forecast.row_bytes},
                               {"gradient", call_fields(passes.gradient)},
                               {"product", call_fields(passes.product)},
                               {"preconditioner", call_fields(passes.refresh)}});
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
                   seconds_text(level.recompute_seconds), std::string(plan_name(level))});
  }
  table.print(out);
}

void print_stream(const CommandLine& line, Reader&& reader) {
  const std::uint64_t batch = line.get<Count>("batch").value;
  if (batch == 0) throw UsageError("--batch must be at least 1");
  const RequestSample requests = read_requests(line.get<std::string>("requests"), batch, request_words(reader));
  const std::uint64_t batches = (requests.total + batch - 1) / batch;
  const std::string name = reader.path().string();
  const StreamForecast forecast = forecast_stream(std::move(reader), requests.first, batches);
  const StreamPlan& plan = forecast.plan;
  const BatchChanges& changes = forecast.first;

  if (line.common().json) {
    write_json_line(line.out(), json_fields(forecast, batches));
  } else {
    print_levels(plan, line.out());
    Table table({"to stream", "needed", "there is"});
    table.add_row({"batches", count_text(batches), ""});
    table.add_row({"requests of the first", count_text(changes.requests), ""});
    table.add_row({"of them rejected", count_text(changes.rejected), ""});
    if (forecast.stale_rows > 0)
      table.add_row(
          {"stale rows, published before them and not in these figures", count_text(forecast.stale_rows), ""});
    if (!plan.levels.empty()) table.add_row({"time a batch, about", seconds_text(plan.seconds), ""});
    table.add_row({"memory, about", bytes_text(plan.memory_bytes), bytes_text(forecast.memory_available_bytes)});
    table.add_row({"disk, about", bytes_text(plan.disk_bytes), bytes_text(forecast.disk_free_bytes)});
    table.add_row({"bytes to write, about", bytes_text(plan.written_bytes), ""});
    table.print(line.out());
    if (!forecast.fits_memory())
      line.out()
          << "note: what has no room in memory goes to files, and the stream takes longer than said here; a smaller "
             "--batch or more --memory keeps it there\n";
  }
  if (!forecast.fits())
    throw ResourceError(name + ": this stream needs " + bytes_text(plan.disk_bytes) + " of disk, " +
                        bytes_text(forecast.disk_free_bytes) +
                        " are free; free some, or stream fewer requests at a time");
}

void print_purge(const CommandLine& line, const Reader& reader) {
  const PurgeForecast forecast = forecast_purge(reader, {line.get<bool>("keep-order")});
  const PurgePlan& plan = forecast.plan;
  if (line.common().json) {
    write_json_line(line.out(), json_fields(forecast));
  } else {
    Table table({"to purge, at most", "needed", "there is"});
    table.add_row({"order of nodes", plan.computes_order ? "computed anew" : "as it is", ""});
    if (!plan.models.empty()) {
      table.add_row({"models that stay", std::to_string(plan.models.size()), ""});
      table.add_row({"trainings of them", std::to_string(plan.trainings), ""});
      table.add_row({"memory of a training", bytes_text(plan.training_memory_bytes), ""});
    }
    table.add_row({"bytes to rewrite", bytes_text(plan.written_bytes), ""});
    if (plan.temporary_bytes > 0) table.add_row({"temporary files", bytes_text(plan.temporary_bytes), ""});
    table.add_row({"disk at a time", bytes_text(plan.disk_bytes()), bytes_text(forecast.disk_free_bytes)});
    table.print(line.out());
  }
  if (!forecast.fits())
    throw ResourceError(reader.path().string() + ": a purge needs up to " + bytes_text(plan.disk_bytes()) +
                        " of disk, " + bytes_text(forecast.disk_free_bytes) + " are free; free some" +
                        (plan.computes_order ? ", or keep the order of the nodes as public (--keep-order)" : ""));
}

void refuse_mixed_options(const CommandLine& line) {
  if (!line.has("solver"))
    for (const char* const option : {"removed", "rows-of", "scale-rows", "pair", "pool", "lift", "head", "epsilon",
                                     "delta", "lambda", "tau", "alpha", "bound", "set"})
      if (line.given(option)) throw UsageError("--" + std::string(option) + " needs --solver");
  if (line.has("solver") && !line.has("requests"))
    for (const char* const option :
         {"hops", "weights", "scheme", "rho", "scale-bits", "rows", "keep", "keep-type", "keep-exponent"})
      if (line.given(option))
        throw UsageError("--" + std::string(option) + " belongs to a propagation, --solver to a model of one");
  if (line.has("ranks") && (line.get<bool>("purge") || line.get<bool>("exact")))
    throw UsageError("--ranks belongs to work that ranks share; leave out --purge and --exact");
  if (line.has("ranks") && line.has("requests") && line.has("solver"))
    throw UsageError("--ranks plans a stream or a training; leave out --requests or --solver");
  if (line.has("ranks") && line.given("removed"))
    throw UsageError("--removed belongs to requests of a solver; leave it or --ranks out");
  if (line.get<bool>("exact") && (line.has("requests") || line.has("solver") || line.get<bool>("purge")))
    throw UsageError("--exact belongs to a propagation; leave out --requests, --solver and --purge");
  if (line.get<bool>("purge") && line.has("requests"))
    throw UsageError("--purge and --requests ask for two plans; leave one of them out");
  if (line.get<bool>("keep-order") && !line.get<bool>("purge")) throw UsageError("--keep-order needs --purge");
  if (!line.has("requests")) {
    if (line.given("batch")) throw UsageError("--batch needs --requests");
    if (!line.get<bool>("purge")) return;
  }
  for (const char* const option :
       {"hops", "weights", "scheme", "rho", "scale-bits", "rows", "keep", "keep-type", "keep-exponent"})
    if (line.given(option))
      throw UsageError("--" + std::string(option) +
                       " belongs to a propagation, --requests and --purge to one that was; leave one of them out");
}

}  // namespace

void run_plan(CommandLine& line) {
  line.describe(
      "Estimates what a propagation takes, or with --requests a stream, with --purge a purge, with --solver the\n"
      "requests of a solver, beside what there is; changes nothing. Exit code 3: cannot fit.\n"
      "Rows of labelled nodes are estimated where counting them takes longer than a second. Seconds follow from rates\n"
      "that `unweave doctor` shows and from the page cache. The first batch of a stream stands for all. What a solver\n"
      "costs follows from public numbers, or from a trial on some of the rows. A purge takes this disk at most, and "
      "trains models that it keeps as said.",
      {"STORE"},
      "unweave plan demo/debian.store --hops 2 --rows all\n"
      "  echo 'edge 12 34' | unweave plan demo/debian.store --requests -\n"
      "  unweave plan demo/debian.store --solver exact");
  add_propagation_options(line);
  auto add = line.options().add_options();
  add("exact", po::bool_switch(), "count the rows of a propagation");
  add("ranks", po::value<Count>()->value_name("R"), "what R ranks take that share it under mpirun");
  add("requests", po::value<std::string>()->value_name("F"), "estimate a stream of them; - for standard input");
  add("batch", po::value<Count>()->value_name("K")->default_value({100}), "requests a batch, with --requests");
  add_unlearning_options(line);
  add("purge", po::bool_switch(), "estimate a purge");
  add("keep-order", po::bool_switch(), "as purge has it, with --purge");
  if (!line.parse()) return;
  refuse_mixed_options(line);

  StepProgress progress(line.error(), line.shows_progress());
  Resources resources({line.common().memory_bytes}, &progress);
  Reader reader(line.positional(0), resources);
  if (line.has("ranks") && line.has("solver"))
    print_rank_training(line, reader);
  else if (line.has("ranks") && line.has("requests"))
    print_rank_stream(line, reader);
  else if (line.has("solver"))
    print_unlearning(line, reader, progress);
  else if (line.get<bool>("purge"))
    print_purge(line, reader);
  else if (line.has("requests"))
    print_stream(line, std::move(reader));
  else if (line.has("ranks"))
    print_ranks(line, reader);
  else
    print_propagation(line, reader);
}

}  // namespace unweave
