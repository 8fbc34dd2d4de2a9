// tools/commands/plan_unlearning.cpp - tables of what an accountant answers: counts, noise, totals.
#include "tools/commands/plan_unlearning.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <variant>
#include <vector>

#include "storage/input/request_reader.h"
#include "storage/io/error.h"
#include "tools/cli/message_style.h"
#include "tools/cli/output.h"
#include "tools/commands/solver_options.h"
#include "tools/commands/training.h"

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
std::vector<std::uint64_t> removed_rows(const CommandLine& line, const Reader& reader) {
  RemovedRows removed(reader, line.get<Count>("batch").value);
  RequestReader requests(line.get<std::string>("requests"), request_words(reader));
  for (Request request; requests.next(request);) removed.take(request);
  return removed.of_batches();
}

Json row_fields(const UnlearningForecast& forecast) {
  return {{"row_width", forecast.row_width}, {"row_bytes", forecast.row_bytes}};
}

/// What the rows of the training take.
void print_rows(const CommandLine& line, const UnlearningForecast& forecast) {
  line.out() << counted(forecast.rows, "training row") << " of " << counted(forecast.row_width, "number") << " take "
             << bytes_text(forecast.row_bytes) << "\n";
}

class Printer {
 public:
  Printer(const CommandLine& line, const UnlearningPlan& plan)
      : as_json_(line.common().json), out_(line.out()), plan_(plan), removed_(line.get<Count>("removed").value) {}

  void constants(const std::string& solver, const UnlearningForecast& forecast) {
    json_ = {{"solver", solver}, {"unit", plan_.unit}, {"learning", plan_.learning}, {"removed", removed_}};
    json_.update(row_fields(forecast));
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

/// A count, a number or words, as a table has it.
struct ValueText {
  std::string operator()(std::uint64_t count) const { return count_text(count); }
  std::string operator()(double number) const { return number_text(number); }
  std::string operator()(const std::string& words) const { return words; }
};

/// What a program reads in its place; null for what is not there.
struct ValueJson {
  Json operator()(std::monostate) const { return {}; }
  template <class Value>
  Json operator()(const Value& value) const {
    return value;
  }
};

void add_lines(Table& table, const std::vector<TrainingNeeds::Line>& lines) {
  for (const TrainingNeeds::Line& line : lines) table.add_row({line.label, std::visit(ValueText(), line.value), ""});
}

/// What a training takes that makes files. Throws ResourceError where it would refuse for want of
/// disk.
void print_files(const CommandLine& line, const std::string& solver, const Reader& reader,
                 const UnlearningForecast& forecast, const TrainingNeeds& needs) {
  const std::uint64_t free_disk = forecast.disk_free_bytes;
  if (line.common().json) {
    Json json = {{"solver", solver}};
    json.update(row_fields(forecast));
    for (const auto& [name, value] : needs.fields) json[name] = std::visit(ValueJson(), value);
    json["disk_bytes"] = needs.disk_bytes;
    json["disk_free_bytes"] = free_disk;
    json["fits"] = !needs.makes_files || needs.disk_bytes <= free_disk;
    write_json_line(line.out(), json);
  } else {
    Table table({solver, "needed", "there is"});
    add_lines(table, needs.before);
    table.add_row({"disk for them", bytes_text(needs.disk_bytes), bytes_text(free_disk)});
    add_lines(table, needs.after);
    table.print(line.out());
    print_rows(line, forecast);
    line.out() << command_text(needs.closing) << "\n";
  }
  if (needs.makes_files) require_disk(reader, needs);
}

/// What the solver costs on these rows, and in all where requests are given: `batches` of them, or
/// 0.
void print_trial(const CommandLine& line, const std::string& solver, const UnlearningForecast& forecast,
                 const SolverTrial& trial, std::size_t batches) {
  const double stream =
      batches == 0 ? 0 : trial.batch.seconds + static_cast<double>(batches - 1) * trial.later_batch.seconds;
  if (line.common().json) {
    const auto cost = [](const SolverCost& of) { return Json{{"passes", of.passes}, {"seconds", of.seconds}}; };
    Json json = {{"solver", solver},
                 {"rows", forecast.rows},
                 {"rows_tried", trial.rows},
                 {"training", cost(trial.training)},
                 {"batch", cost(trial.batch)},
                 {"later_batch", cost(trial.later_batch)},
                 {"memory_bytes", trial.memory_bytes}};
    json.update(row_fields(forecast));
    if (batches > 0) json["stream"] = {{"batches", batches}, {"seconds", stream}};
    return write_json_line(line.out(), json);
  }
  Table table({solver, "readings of the rows", "seconds, about"});
  const auto add = [&](const std::string& what, const SolverCost& of) {
    table.add_row({what, std::to_string(of.passes), number_text(of.seconds, 2)});
  };
  add("training", trial.training);
  add("a batch by itself", trial.batch);
  add("a later batch of a stream", trial.later_batch);
  if (batches > 0)
    table.add_row(
        {"the requests, " + count_text(batches) + (batches == 1 ? " batch" : " batches"), "", number_text(stream, 2)});
  table.print(line.out());
  print_rows(line, forecast);
  line.out() << "a training, and a session of a stream, set " << bytes_text(trial.memory_bytes)
             << " of memory aside for them and the work on them\n";
  line.out() << "tried on " << count_text(trial.rows) << " of " << counted(forecast.rows, "training row")
             << "; embeddings follow before, which --requests without --solver estimates\n";
}

}  // namespace

void add_unlearning_options(CommandLine& line) {
  line.set_choices("solver", solver_choices());
  auto add = line.options().add_options();
  add("solver", po::value<std::string>()->value_name("NAME"),
      "what requests to a solver cost, from public numbers or by a trial on up to 8,192 rows; with the options of "
      "`train --help`: --rows-of .. --set");
  add("removed", po::value<Count>()->value_name("M")->default_value({1}), "training rows that a request removes");
  add_row_options(line, false);
  add_solver_options(line, false);
}

void print_unlearning(const CommandLine& line, const Reader& reader, StepProgress& progress) {
  const std::string& solver = line.get<std::string>("solver");
  const std::uint64_t removed = line.get<Count>("removed").value;
  const UnlearningForecast forecast = forecast_unlearning(reader, solver, read_solver_options(line, solver),
                                                          lambda_choice(line), removed, row_choice(line));
  progress.finish();
  const std::size_t rows = forecast.rows;
  if (removed == 0 || removed > rows)
    throw UsageError("--removed must lie from 1 to the " + std::to_string(rows) + " training rows");
  if (const auto* const needs = std::get_if<TrainingNeeds>(&forecast.answer)) {
    for (const char* const option : {"removed", "requests"})
      if (line.given(option))
        throw UsageError("--" + std::string(option) + " says nothing of " + solver +
                         ": its vectors are made at training");
    return print_files(line, solver, reader, forecast, *needs);
  }
  if (const auto* const trial = std::get_if<SolverTrial>(&forecast.answer))
    return print_trial(line, solver, forecast, *trial, line.has("requests") ? removed_rows(line, reader).size() : 0);
  const double epsilon = forecast.options->epsilon;
  Printer printer(line, std::get<UnlearningPlan>(forecast.answer));
  printer.constants(solver, forecast);
  printer.requests(rows, epsilon);
  printer.noise();
  printer.epsilons();
  printer.totals(rows, epsilon);
  if (line.has("requests")) printer.stream(removed_rows(line, reader));
  printer.finish();
  if (!line.common().json) print_rows(line, forecast);
  if (!line.common().json && !line.common().quiet && forecast.has_edges)
    line.error() << "note: rows that move with a removal are not in these figures\n";
}

}  // namespace unweave
