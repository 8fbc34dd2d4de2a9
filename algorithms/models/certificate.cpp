// algorithms/models/certificate.cpp - the fields of a certificate.
#include "algorithms/models/certificate.h"

#include <cmath>

#include "algorithms/privacy/gaussian_mechanism.h"

namespace unweave {
namespace {

using Json = nlohmann::ordered_json;

/// A public number and where it was chosen.
Json chosen(const Json& value, const std::string& where = "public") {
  return {{"value", value}, {"chosen", where}};
}

Json constants_of(const ModelRecord& record) {
  const SolverOptions& options = record.options;
  const NetworkShape shape = shape_of(record.model);
  Json json = {{"lambda", chosen(options.lambda, options.lambda_chosen)},
               {"tau", chosen(options.tau)},
               {"alpha", chosen(options.alpha)},
               {"bound", chosen(options.bound == BoundRule::kPaper ? "paper" : "corrected")},
               {"head", chosen(head_name(options))},
               {"clip", chosen(record.clip)},
               {"intercept", chosen(options.intercept)},
               {"training_rows", chosen(record.model.trained_rows)},
               {"features", chosen(shape.features)},
               {"classes", chosen(shape.classes)},
               {"levels", chosen(record.levels)},
               {"weights", chosen(record.weights)},
               {"rho", chosen(record.rho)},
               {"scale_bits", chosen(record.scale_bits)},
               {"all_rows", chosen(record.all_rows)}};
  if (record.model.network) {
    json["hidden"] = chosen(options.hidden);
    json["activation"] = chosen(name_of(options.activation));
  }
  return json;
}

enum class Mechanism { output_noise, objective_noise, step_noise, run_noise, projected_run_noise, none };

bool keeps_slots(Mechanism mechanism) {
  return mechanism == Mechanism::step_noise || mechanism == Mechanism::run_noise ||
         mechanism == Mechanism::projected_run_noise;
}

Mechanism mechanism_of(const Model& model, const StepReport& report) {
  if (model.langevin) return Mechanism::step_noise;
  if (claims_nothing(model)) return Mechanism::none;
  if (report.terms.contains("s_max")) return Mechanism::run_noise;
  if (report.terms.contains("epochs")) return Mechanism::projected_run_noise;
  return report.terms.contains("sigma") ? Mechanism::output_noise : Mechanism::objective_noise;
}

const char* name_of(Mechanism mechanism) {
  switch (mechanism) {
    case Mechanism::output_noise:
      return "discrete Gaussian noise on finished weights";
    case Mechanism::objective_noise:
      return "Gaussian noise in the objective";
    case Mechanism::step_noise:
      return "projected noisy SGD over fixed batches, Gaussian noise at every step";
    case Mechanism::run_noise:
      return "discrete Gaussian noise on the end of a run of SGD over fixed slots";
    case Mechanism::projected_run_noise:
      return "discrete Gaussian noise on the last iterate of projected SGD over slots";
    case Mechanism::none:
      return "none";
  }
  return "";
}

std::string reference_of(const SolverOptions& options, Mechanism mechanism, const StepReport& report) {
  const Head head = options.head;
  const std::string row = options.intercept ? "rows z_i = (float32(clip(row i of the fixed-point embedding)), 1)"
                                            : "rows z_i = float32(clip(row i of the fixed-point embedding))";
  if (mechanism == Mechanism::none) return "none: how near this is to a model trained again is not bounded";
  if (mechanism == Mechanism::run_noise)
    return "on the present data alone: " + row +
           " of the training "
           "nodes in their slots; from the public start, steps t over the batches B_t of slots in their public order: "
           "w <- w - (step_size decay^t / |B_t|) sum over the filled slots i of B_t of (grad l_i(w) + lambda w), |B_t| "
           "with "
           "empty slots; published: the last w rounded to the grid, plus fresh discrete Gaussian noise of variance "
           "sigma^2 on every number";
  if (mechanism == Mechanism::step_noise)
    return "on the present data alone: " + row +
           " of the training "
           "nodes in their slots, none in the others; from W = 0, learning_epochs times over the batches in their "
           "order: "
           "W <- P_R(W - step_size (G / batch_rows + strong_convexity W) + sqrt(2 step_size) sigma xi), G the batch's "
           "sum of gradients of sum_c l(z_i.w_c, y_ic), xi fresh standard normal; published: the last W";
  if (mechanism == Mechanism::projected_run_noise)
    return "on the present data alone: " + row +
           " of the training "
           "nodes in their slots, none in the others; from W = 0, learning_epochs times so many steps as there are "
           "batches: "
           "W <- P_R(W - step_size (G / batch_rows + strong_convexity W)), G the sum of gradients of the rows' losses "
           "over a batch: sampling 0, the public batches in their order; else batch_rows slots drawn uniformly; "
           "published: the last W rounded to the grid, plus fresh discrete Gaussian noise of variance sigma^2 on every "
           "coordinate";
  const std::string loss =
      couples_classes(head) ? "sum_i [ln sum_c exp(z_i.w_c) - z_i.w_(y_i)]" : "sum_i sum_c l(z_i.w_c, y_ic)";
  const std::string rows = "on the present data alone: " + row +
                           " of the training nodes; "
                           "F(W) = " +
                           loss + " + (lambda max(1, n) / 2) |W|_F^2; ";
  if (report.terms.contains("learning_steps"))
    return rows +
           "learning_steps of W <- P_R(W - 2 / (L + mu) grad F(W)) from W = 0; published: the last W rounded to the "
           "grid, plus fresh discrete Gaussian noise of variance sigma^2 on every coordinate";
  if (mechanism == Mechanism::output_noise)
    return rows +
           "W* its minimiser; published: W* rounded to the grid, plus fresh discrete Gaussian noise of variance "
           "sigma^2 on every coordinate";
  return rows + "W_b the minimiser of F(W) + <B, W>, B normal with variance alpha^2; published: W_b";
}

std::string adjacency_of(Mechanism mechanism) {
  if (mechanism == Mechanism::none) return "none: nothing is claimed";
  const std::string any =
      "any removed edges, nodes and features, any inserted edges, and every row that moved because of them";
  return keeps_slots(mechanism) ? "null-row: a removed training row leaves its slot empty; covers " + any
                                : "none needed: " + any;
}

/// What depends on removed data without noise. Of the terms those that are public are named apart.
std::vector<std::string> private_fields(const StepReport& report) {
  std::vector<std::string> out{"residual_bound", "retrained", "terms"};
  if (report.private_claim)
    out.insert(out.end(), {"certified", "claim", "theorem", "delta", "reference", "adjacency", "releases"});
  return out;
}

/// Whether the theorem asks for requests that depend on no release: secret noise of a run outlives it.
bool needs_independent_requests(Mechanism mechanism, const StepReport& report) {
  return mechanism == Mechanism::step_noise ||
         (mechanism == Mechanism::projected_run_noise && report.terms.at("sampling") != 0);
}

std::vector<std::string> not_covered_by(Mechanism mechanism, const StepReport& report, const SolverOptions& options,
                                        bool covers_later) {
  std::vector<std::string> out{"what an adaptive choice of requests reveals by itself",
                               "models published before the removal: withdraw them",
                               "records that remain: this is no differential privacy",
                               "an error in place of a release, the number of rows and of releases, running times"};
  if (report.for_tests) out.emplace_back("anything: the noise was drawn from a given seed, for tests");
  if (options.lambda_chosen != "public")
    out.emplace_back("the choice of lambda: it was tuned on data (" + options.lambda_chosen + "), and stays");
  if (needs_independent_requests(mechanism, report))
    out.emplace_back("requests that were chosen after seeing a release and sent as non-adaptive");
  out.emplace_back(covers_later ? "choices that depend on free memory: whether a later release keeps a preconditioner"
                                : "several releases seen together: each is compared with one retraining");
  if (mechanism == Mechanism::step_noise) out.emplace_back("that the noise of a step is a floating-point number");
  if (mechanism == Mechanism::projected_run_noise)
    out.emplace_back("iterates of the original run: they show removed rows without noise, and stay private");
  return out;
}

/// Smallest delta at the target epsilon that sensitivity and noise of T1 give (THEOREMS.md, Lemma 2: 9 grid steps
/// squared of the variance smooth the law). T2 keeps delta, and reaches the residual bound's epsilon.
Json delta_reached(Mechanism mechanism, const StepReport& report) {
  if (!report.certified) return nullptr;
  if (needs_independent_requests(mechanism, report)) return report.delta;
  const double grid = report.terms.at("grid"), sigma = report.terms.at("sigma");
  const double smoothed = std::sqrt(sigma * sigma - 9 * grid * grid);
  return delta_of(report.terms.at("sensitivity"), smoothed, report.epsilon);
}

}  // namespace

bool covers_later_releases(const Model& model, const StepReport& report) {
  const auto state = report.terms.find("public_state");
  return mechanism_of(model, report) == Mechanism::output_noise && !model.state.arrays.contains("clean") &&
         (state == report.terms.end() || state->second != 0);
}

Json certificate_fields(const ModelRecord& record, const StepReport& report, const ReleaseContext& context) {
  const Mechanism mechanism = mechanism_of(record.model, report);
  // Not whether rows are stale: that depends on what was removed, and stands in public.
  const bool later =
      report.certified && covers_later_releases(record.model, report) && !record.options.data_order && !context.lazy;
  Json json = {
      {"id", release_id(record)},
      {"solver", record.model.solver},
      {"release", record.model.releases},
      {"sequence", record.model.sequence},
      {"mechanism", name_of(mechanism)},
      {"theorem", report.certified ? Json(*report.claim) : Json()},
      {"certified", report.certified},
      {"claim", report.claim ? Json(*report.claim) : Json()},
      {"reference", reference_of(record.options, mechanism, report)},
      {"adjacency", adjacency_of(mechanism)},
      {"requests", context.adaptive ? "adaptive" : "non-adaptive"},
      {"releases", later ? "all-later" : "this"},
      {"withdraw", context.withdraw},
      {"epsilon", report.epsilon},
      {"delta", {{"target", report.delta}, {"reached", delta_reached(mechanism, report)}}},
      {"budget", report.budget},
      {"residual_bound", report.residual_bound},
      {"retrained", report.retrained},
      {"terms", report.terms},
      {"constants", constants_of(record)},
      {"private", private_fields(report)},
      {"not_covered", not_covered_by(mechanism, report, record.options, later)},
      {"for_tests", report.for_tests},
      {"version", context.program},
  };
  if (name_of(record) != record.model.solver) json["name"] = record.name;
  if (mechanism == Mechanism::output_noise) json["public_terms"] = {"mu", "distance", "sensitivity", "sigma", "grid"};
  if (mechanism == Mechanism::run_noise)
    json["public_terms"] = {"s_max",      "sensitivity",    "sigma",     "grid",  "slots",     "epochs",
                            "batch_rows", "partition_rows", "step_size", "decay", "order_key", "group_rows"};
  if (mechanism == Mechanism::step_noise)
    json["public_terms"] = {"learning_epochs",  "sigma", "step_size",  "radius",  "gradient_bound", "smoothness",
                            "strong_convexity", "slots", "batch_rows", "batches", "order_key"};
  if (mechanism == Mechanism::projected_run_noise)
    json["public_terms"] = {"learning_epochs",  "distance",  "sensitivity", "sigma",          "grid",
                            "rounding",         "step_size", "radius",      "gradient_bound", "smoothness",
                            "strong_convexity", "slots",     "batch_rows",  "batches",        "order_key",
                            "sampling",         "capacity",  "retention"};
  return json;
}

}  // namespace unweave
