// algorithms/unlearning/checks/public_line.cpp - public numbers of a line, computed again.
#include "algorithms/unlearning/checks/public_line.h"

#include <cmath>

#include "algorithms/learning/head.h"
#include "algorithms/privacy/gaussian_mechanism.h"
#include "algorithms/unlearning/slot_constants.h"
#include "storage/io/json_text.h"

namespace unweave {
namespace {

using Json = nlohmann::ordered_json;

}  // namespace

PublicLine::PublicLine(const Json& line) : line_(line), terms_(line.at("terms")), constants_(line.at("constants")) {
  options_.epsilon = line.at("epsilon");
  options_.delta = line.at("delta").at("target");
  options_.lambda = constant("lambda");
  if (const auto at = constants_.find("intercept"); at != constants_.end()) options_.intercept = at->at("value");
  if (const auto at = constants_.find("row_program"); at != constants_.end()) {
    options_.has_program = true;
    options_.unit = unit_named(at->at("value").at("unit").get<std::string>()).value_or(RowUnit::node);
  }
}

std::uint64_t PublicLine::whole(const char* name) const {
  const double value = term(name);
  if (!(value >= 0 && value <= 0x1p53 && value == std::floor(value)))
    throw CheckError(std::string(name) + " is no number of things");
  return static_cast<std::uint64_t>(value);
}

std::size_t PublicLine::weights() const {
  const double weights = constant("features") * constant("classes");
  if (!(weights >= 0 && weights < 0x1p40)) throw CheckError("its weights are too many");
  return static_cast<std::size_t>(weights);
}

void PublicLine::require_near(const char* name, double said, double found, double tolerance) {
  if (!(std::abs(said - found) <= tolerance * std::abs(found)))
    throw CheckError(std::string(name) + " is " + text_of_json(Json(said)) + ", computed again it is " +
                     text_of_json(Json(found)));
}

void PublicLine::require_grid() const {
  if (!(term("sigma") > 3 * term("grid"))) throw CheckError("sigma is not above three grid steps");
}

void PublicLine::require_noise(const OutputNoise& noise) const {
  require_near("sensitivity", term("sensitivity"), noise.sensitivity);
  require_near("sigma", term("sigma"), noise.sigma);
  require_near("grid", term("grid"), noise.grid, 0);
}

void PublicLine::require_delta_of_noise() const {
  require_near("the delta reached", reached(),
               delta_of(term("sensitivity"), smoothed_sigma(term("sigma"), term("grid")), options_.epsilon));
}

void PublicLine::require_composed() const {
  const auto composed = line_.find("composed");
  if (composed == line_.end()) return;
  const double shift = term("sensitivity") / smoothed_sigma(term("sigma"), term("grid"));
  for (const auto& one : *composed)
    require_near("epsilon of several releases", one.at("epsilon"),
                 composed_epsilon(shift, one.at("releases").get<std::uint64_t>(), options_.delta));
}

void PublicLine::require_target_delta() const {
  require_near("the delta reached", reached(), options_.delta, 0);
}

SolverOptions PublicLine::run_options() const {
  SolverOptions options = options_;
  options.head = parse_head(constants_.at("head").at("value").get<std::string>());
  return options;
}

SlotRun PublicLine::slot_run() const {
  SlotRun run;
  run.slots = whole("slots");
  run.batch_rows = whole("batch_rows");
  run.epochs = whole("learning_epochs");
  run.step_size = term("step_size");
  run.radius = term("radius");
  run.order_key = whole("order_key");
  if (!(term("sigma") > 0)) throw CheckError("it adds no noise");
  if (constant("training_rows") > static_cast<double>(run.slots)) throw CheckError("it has more rows than slots");
  if (run.batch_rows == 0 || run.epochs == 0) throw CheckError("its run has no step");
  const NoisySgd sgd = noisy_sgd_of(run, run_options(), static_cast<std::size_t>(constant("classes")));
  require_near("smoothness", term("smoothness"), sgd.constants().smoothness);
  require_near("strong_convexity", term("strong_convexity"), sgd.constants().strong_convexity);
  require_near("gradient_bound", term("gradient_bound"), sgd.constants().gradient_bound);
  require_near("batches", term("batches"), static_cast<double>(sgd.batches()), 0);
  return run;
}

}  // namespace unweave
