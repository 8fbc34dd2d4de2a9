// tools/commands/certify.cpp - `unweave certify`: weights that another program made, measured, then
// released or finished.
#include <string>

#include "storage/io/error.h"
#include "tools/commands/commands.h"
#include "tools/commands/model_output.h"
#include "tools/commands/training.h"
#include "unweave/fields/models.h"
#include "unweave/solvers.h"

namespace unweave {
namespace {

std::string solvers_from_any_start() {
  std::string names;
  for (const SolverInfo& solver : all_solver_infos())
    if (solver.any_start) names += (names.empty() ? "" : ", ") + std::string(solver.name);
  return names;
}

/// A bound with four digits, which are never below it.
std::string bound_text(double bound) {
  constexpr double kRounding = 6e-4;  // more than rounding to four digits takes away
  return number_text(bound * (1 + kRounding));
}

std::string classes_text(const std::vector<std::uint64_t>& classes) {
  std::string text;
  for (const std::uint64_t c : classes) text += (text.empty() ? "" : ", ") + std::to_string(c);
  return text;
}

bool adds_noise(const CertifiedModel& model) {
  return solver_info(model.trained.facts.solver).noisy;
}

void print_table(const CommandLine& line, const CertifiedModel& model, const ForeignModel& files, Measure& measure) {
  const GivenFigures& given = model.given;
  const TrainedModel& trained = model.trained;
  Table table({"given", files.weights.string()});
  table.add_row({"read as", given.form});
  if (!given.missing.empty()) table.add_row({"classes that it lacks", classes_text(given.missing)});
  table.add_row({"norm of the gradient, at most", bound_text(given.gradient_bound)});
  table.add_row({"distance to the minimiser, at most", bound_text(given.distance_bound)});
  if (adds_noise(model)) table.add_row({"tau that releases it as it is", bound_text(given.releasing_tau())});
  table.add_row({"certified as it is", "no (nothing is added)"});
  table.add_row({"accuracy, training", accuracy_text(given.accuracies.train)});
  table.add_row({"accuracy, validation", accuracy_text(given.accuracies.valid)});
  table.add_row({"accuracy, test", accuracy_text(given.accuracies.test)});
  table.print(line.out());
  line.out() << '\n';

  Table after(
      {model.as_given ? "released as given" : "finished", model_text(trained.facts.name, trained.facts.solver)});
  after.add_row({"weights that differ", count_text(model.changed) + " of " + count_text(model.weights)});
  after.add_row({"largest difference", number_text(model.largest_change)});
  after.add_row({"distance to the given weights", number_text(model.distance)});
  if (trained.report.terms.contains("sigma"))
    after.add_row({"standard deviation of the noise", number_text(trained.report.terms.at("sigma"))});
  if (!model.as_given) {
    after.add_row({"Newton steps", count_text(static_cast<std::uint64_t>(trained.report.steps))});
    after.add_row({"readings of the rows", count_text(static_cast<std::uint64_t>(trained.report.passes))});
  }
  add_training(after, line, trained);
  after.add_row({"whole command", seconds_text(measure.seconds())});
  after.print(line.out());
}

}  // namespace

void run_certify(CommandLine& line) {
  line.describe(
      "Takes the weights of a linear model that another program made, proves how far they are from the minimiser of\n"
      "the objective on the store's training rows, and saves a model that a theorem certifies: exact finishes them to\n"
      "the minimiser (T0); newton adds noise where they are near enough, or finishes them first (T1). What it prints\n"
      "of the given weights depends on how they were made: it is for you, and stands in no public line.",
      {"STORE"},
      "unweave export demo/debian.store --model W.npy\n"
      "  unweave certify demo/debian.store --model W.npy --name finished");
  auto add = line.options().add_options();
  add("model", po::value<std::string>()->value_name("W.npy"),
      "float32 or float64: classes x features, where it has intercepts with one column more, or transposed, as `export "
      "--model` writes it; .npz with coef and intercept, of scikit-learn also of a single row for two classes, and "
      "classes where it lacks some; .safetensors with weight and bias");
  add("intercept", po::value<std::string>()->value_name("B.npy"),
      "beside a .npy without them: the intercepts, one a class");
  add_training_options(line, solvers_from_any_start());
  if (!line.parse()) return;
  line.on_interrupt("the store is whole, with its model of before or the new one; run the command again");
  if (!line.has("model"))
    throw UsageError("give --model, a file with the weights; `unweave train` learns a model without one");

  Measure measure;
  StepProgress progress(line.error(), line.shows_progress());
  const TrainOptions how = train_options(line, progress);
  ForeignModel files{line.get<std::string>("model")};
  if (line.has("intercept")) files.intercepts = line.get<std::string>("intercept");
  Resources resources({line.common().memory_bytes}, &progress);
  Writer writer(line.positional(0), resources);
  const CertifiedModel model = certify_model(writer, files, how);
  progress.finish();
  warn_of_training(line, model.trained);
  if (line.common().json) {
    nlohmann::ordered_json json = nlohmann::ordered_json::object();
    describe(model, files, MeasuredFields(json, measure));
    return write_json_line(line.out(), json);
  }
  print_table(line, model, files, measure);
}

}  // namespace unweave
