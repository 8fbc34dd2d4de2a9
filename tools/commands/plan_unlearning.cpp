// tools/commands/plan_unlearning.cpp - tables of what an accountant answers: counts, noise, totals.
#include "tools/commands/plan_unlearning.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "algorithms/models/training_rows.h"
#include "algorithms/propagation/schemes.h"
#include "algorithms/solvers/hessian_free/statistics_forecast.h"
#include "algorithms/solvers/registry/unlearning_plan.h"
#include "storage/input/request_reader.h"
#include "storage/io/error.h"
#include "tools/cli/output.h"
#include "tools/commands/solver_options.h"

namespace unweave {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kEpsilons[] = {0.1, 0.5, 1, 2, 5};
constexpr std::uint64_t kRequests[] = {1, 10, 100};

/// 1, 2, 5, 10, ... up to `most`.
std::vector<std::uint64_t> round_counts(std::uint64_t most) {
  std::vector<std::uint64_t> counts;
  for (std::uint64_t unit = 1; unit <= most && counts.size() < 40; unit *= 10)
    for (const std::uint64_t factor : {1, 2, 5})
      if (factor * unit <= most) counts.push_back(factor * unit);
  return counts;
}

Json or_null(std::optional<std::uint64_t> count) {
  return count ? Json(*count) : Json();
}

std::string or_training(std::optional<std::uint64_t> count) {
  return count ? count_text(*count) : "trains again";
}

std::uint64_t sum(const std::vector<std::uint64_t>& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

/// How many training rows each batch of the file removes.
std::vector<std::uint64_t> removed_rows(const CommandLine& line, const LiveStore& store) {
  const std::uint64_t batch = line.get<Count>("batch").value;
  if (batch == 0) throw UsageError("--batch must be at least 1");
  const Contents& contents = store.contents();
  std::set<NodeId> removed;
  std::vector<std::uint64_t> rows;
  RequestReader reader(line.get<std::string>("requests"));
  std::uint64_t number = 0;
  for (Request request; reader.next(request); ++number) {
    if (number % batch == 0) rows.push_back(0);
    if (request.kind != RequestKind::remove_node || request.u >= contents.num_nodes()) continue;
    const NodeId node = contents.order().position(static_cast<NodeId>(request.u));
    const std::vector<NodeId>& train = contents.train();
    if (contents.label(node) != kNoLabel && std::binary_search(train.begin(), train.end(), node) &&
        removed.insert(node).second)
      ++rows.back();
  }
  return rows;
}

class Printer {
 public:
  Printer(const CommandLine& line, const UnlearningPlan& plan)
      : as_json_(line.common().json), out_(line.out()), plan_(plan), removed_(line.get<Count>("removed").value) {}

  void constants(const std::string& solver) {
    json_ = {{"solver", solver}, {"unit", plan_.unit}, {"learning", plan_.learning}, {"removed", removed_}};
    Table table({solver, ""});
    table.add_row({"learning, " + plan_.unit, count_text(plan_.learning)});
    for (const auto& [name, value] : plan_.constants) {
      json_["constants"][name] = value;
      table.add_row(
          {name, value == std::floor(value) ? count_text(static_cast<std::uint64_t>(value)) : number_text(value)});
    }
    print(table);
  }

  void requests(std::uint64_t rows, double epsilon) {
    std::vector<std::uint64_t> counts;
    for (std::uint64_t count = 1; count < rows; count *= 10) counts.push_back(count);
    counts.push_back(rows);
    Table table({"rows removed at once", plan_.unit});
    for (const std::uint64_t count : counts) {
      const auto fewest = plan_.fewest(count, epsilon);
      json_["requests"].push_back({{"rows", count}, {"count", or_null(fewest)}});
      table.add_row({count_text(count), or_training(fewest)});
    }
    print(table);
  }

  void noise() {
    std::vector<std::string> header{plan_.unit};
    for (const std::string& rule : plan_.rules) header.push_back("least sigma, " + rule);
    Table table(header);
    for (const std::uint64_t count : round_counts(plan_.learning > 1 ? plan_.learning - 1 : 1)) {
      const std::vector<double> sigmas = plan_.noise(removed_, count);
      Json& row = json_["noise"].emplace_back(Json{{"count", count}, {"sigma", Json::object()}});
      std::vector<std::string> cells{count_text(count)};
      for (std::size_t i = 0; i < sigmas.size(); ++i) {
        row["sigma"][plan_.rules[i]] = std::isfinite(sigmas[i]) ? Json(sigmas[i]) : Json();
        cells.push_back(std::isfinite(sigmas[i]) ? number_text(sigmas[i]) : "-");
      }
      table.add_row(cells);
    }
    print(table);
  }

  void epsilons() {
    Table table({"epsilon", plan_.unit});
    for (const double epsilon : kEpsilons) {
      const auto fewest = plan_.fewest(removed_, epsilon);
      json_["epsilons"].push_back({{"epsilon", epsilon}, {"count", or_null(fewest)}});
      table.add_row({number_text(epsilon), or_training(fewest)});
    }
    print(table);
  }

  void totals(std::uint64_t rows, double epsilon) {
    Table table({"requests", plan_.unit + ", one by one", "in one batch", "training again each time"});
    for (const std::uint64_t count : kRequests) {
      const std::uint64_t at_once = plan_.fewest(std::min(rows, count * removed_), epsilon).value_or(plan_.learning);
      const std::uint64_t one_by_one = sum(plan_.sequence(std::vector<std::uint64_t>(count, removed_)));
      json_["totals"].push_back({{"requests", count},
                                 {"one_by_one", one_by_one},
                                 {"at_once", at_once},
                                 {"retraining", count * plan_.learning}});
      table.add_row(
          {count_text(count), count_text(one_by_one), count_text(at_once), count_text(count * plan_.learning)});
    }
    print(table);
  }

  void stream(const std::vector<std::uint64_t>& batches) {
    const std::vector<std::uint64_t> counts = plan_.sequence(batches);
    const auto again = static_cast<std::uint64_t>(std::count(counts.begin(), counts.end(), plan_.learning));
    json_["stream"] = {
        {"batches", batches.size()}, {"rows_removed", sum(batches)}, {"count", sum(counts)}, {"retrained", again}};
    Table table({"stream", ""});
    table.add_row({"batches", count_text(batches.size())});
    table.add_row({"training rows removed", count_text(sum(batches))});
    table.add_row({plan_.unit, count_text(sum(counts))});
    table.add_row({"batches that train again", count_text(again)});
    print(table);
  }

  void finish() const {
    if (as_json_) write_json_line(out_, json_);
  }

 private:
  void print(const Table& table) const {
    if (!as_json_) table.print(out_);
  }

  bool as_json_;
  std::ostream& out_;
  const UnlearningPlan& plan_;
  std::uint64_t removed_;
  Json json_ = Json::object();
};

/// What the vectors of `hessian-free` take. Throws ResourceError where training would refuse for want of disk.
void foresee_vectors(const CommandLine& line, const LiveStore& store, const NetworkShape& shape, std::size_t rows,
                     const SolverOptions& options, std::uint64_t memory) {
  const HessianFreeConstants constants = choose_constants(shape, rows, options);
  const StatisticsForecast forecast = foresee_statistics(shape, constants, rows, memory, options);
  const std::uint64_t free_disk = std::filesystem::space(store.path()).available;
  const bool fits = !forecast.made || forecast.disk_bytes <= free_disk;
  const std::string way = !forecast.made ? "none" : forecast.backward ? "backward" : "forward";
  if (line.common().json) {
    write_json_line(line.out(), {{"solver", "hessian-free"},
                                 {"unit", "epochs"},
                                 {"learning", constants.sgd.epochs},
                                 {"vectors", way},
                                 {"records", forecast.records},
                                 {"parameters", forecast.parameters},
                                 {"forward_multiply_adds", forecast.cost.forward},
                                 {"backward_multiply_adds", forecast.able ? Json(forecast.cost.backward) : Json()},
                                 {"disk_bytes", forecast.disk_bytes},
                                 {"disk_free_bytes", free_disk},
                                 {"fits", fits}});
  } else {
    Table table({"hessian-free", "needed", "there is"});
    table.add_row({"learning, epochs", count_text(constants.sgd.epochs), ""});
    table.add_row({"vectors", count_text(forecast.records), ""});
    table.add_row({"numbers of each", count_text(forecast.parameters), ""});
    table.add_row({"multiply-adds, forward", number_text(forecast.cost.forward), ""});
    if (forecast.able) table.add_row({"multiply-adds, backward", number_text(forecast.cost.backward), ""});
    table.add_row({"disk for them", bytes_text(forecast.disk_bytes), bytes_text(free_disk)});
    table.add_row({"made", forecast.made ? way : "no", ""});
    table.print(line.out());
    line.out() << (forecast.made
                       ? "a batch that only removes rows adds their vectors; one that moves rows trains again\n"
                       : "every removal trains again; --set statistics=1 makes the vectors nevertheless\n");
  }
  if (forecast.made) require_disk(forecast, store.path());
}

}  // namespace

void add_unlearning_options(CommandLine& line) {
  auto add = line.options().add_options();
  add("solver", po::value<std::string>()->value_name("NAME"),
      "foresee what requests of langevin, langevin-full, descent-to-delete, rewind, descend or hessian-free cost; with "
      "the options of `train --help`: --head .. --set");
  add("removed", po::value<Count>()->value_name("M")->default_value({1}), "training rows that a request removes");
  add_solver_options(line, false);
}

void foresee_unlearning(const CommandLine& line, const LiveStore& store, const MemoryBudget& budget) {
  const std::string& solver = line.get<std::string>("solver");
  SolverOptions options = read_solver_options(line, solver);
  if (tunes_lambda(line)) throw UsageError("--lambda auto is for train: plan trains nothing; give a number");
  const Contents& contents = store.contents();
  const std::size_t rows = training_nodes(contents).size();
  if (contents.features().columns() == 0 || store.manifest().classes == 0)
    throw DataError(store.path().string() + ": has no features or no labels to learn from; import it with both");
  if (const std::uint64_t removed = line.get<Count>("removed").value; removed == 0 || removed > rows)
    throw UsageError("--removed must lie from 1 to the " + std::to_string(rows) + " training rows");
  const std::size_t width = store.propagated() ? store.embedding().row_width(store.embedding().spec().weights)
                                               : contents.features().columns();
  const std::size_t features = RowForm(1, options.intercept).features(width);
  choose_lambda(line, {solver, contents.num_nodes(), width, store.manifest().classes, options.head}, options);
  if (solver == "hessian-free") {
    for (const char* const option : {"removed", "requests"})
      if (line.given(option))
        throw UsageError("--" + std::string(option) +
                         " says nothing of hessian-free: its vectors are made at training");
    static_cast<void>(make_solver(solver, options));
    const std::size_t blocks =
        store.propagated() ? blocks_of(store.embedding().spec().weights, store.embedding().levels()) : 1;
    const std::size_t classes = store.manifest().classes;
    const NetworkShape shape{options.head,   features,           classes,
                             options.hidden, options.activation, options.hidden.empty() ? 1 : blocks};
    return foresee_vectors(line, store, shape, rows, options, budget.available() / 2);
  }
  const UnlearningPlan plan = plan_unlearning(solver, rows, features, store.manifest().classes, options);
  Printer printer(line, plan);
  printer.constants(solver);
  printer.requests(rows, options.epsilon);
  printer.noise();
  printer.epsilons();
  printer.totals(rows, options.epsilon);
  if (line.has("requests")) printer.stream(removed_rows(line, store));
  printer.finish();
  if (!line.common().json && !line.common().quiet && contents.graph().num_arcs() > 0)
    line.error() << "note: rows that move with a removal are not in these figures\n";
}

}  // namespace unweave
