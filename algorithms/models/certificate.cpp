// algorithms/models/certificate.cpp - the fields of a certificate.
#include "algorithms/models/certificate.h"

#include "algorithms/models/row_program_json.h"
#include "algorithms/registry/registry.h"
#include "algorithms/unlearning/report.h"
#include "storage/io/hex.h"

namespace unweave {
namespace {

using Json = nlohmann::ordered_json;

/// A public number and how it was chosen.
Json chosen(const Json& value, std::string_view how) {
  return {{"value", value}, {"chosen", how}};
}

/// One that a user may give.
Json given(const Json& value, const Json& standard) {
  return chosen(value, value == standard ? "default" : "given");
}

Json constants_of(const ModelRecord& record) {
  const SolverOptions &options = record.options, standard{};
  const NetworkShape shape = shape_of(record.model);
  const bool intercept = !record.model.network && solver_entry(record.model.solver).intercept;
  const auto name_of_bound = [](BoundRule bound) { return bound == BoundRule::kPaper ? "paper" : "corrected"; };
  Json json = {{"lambda", chosen(options.lambda, options.lambda_chosen)},
               {"tau", given(options.tau, standard.tau)},
               {"alpha", given(options.alpha, standard.alpha)},
               {"bound", given(name_of_bound(options.bound), name_of_bound(standard.bound))},
               {"head", given(head_name(options), head_name(standard))},
               {"clip", given(record.clip, ModelRecord().clip)},
               {"intercept", given(options.intercept, intercept)},
               {"training_rows", chosen(record.model.trained_rows, "data")},
               {"features", chosen(shape.features, record.rows.only_levels() ? "import" : "row_program")},
               {"classes", chosen(shape.classes, "import")},
               {"levels", chosen(record.levels, "propagation")},
               {"weights", chosen(record.rows.weights, options.weights_chosen)},
               {"rho", chosen(record.rho, "propagation")},
               {"scale_bits", chosen(record.scale_bits, "propagation")},
               {"all_rows", chosen(record.all_rows, "propagation")}};
  if (!record.rows.only_levels())
    json["row_program"] =
        chosen(program_json(record.rows),
               options.weights_chosen.starts_with(kRowsByValidation) ? options.weights_chosen : std::string("given"));
  if (record.model.network) {
    json["hidden"] = chosen(options.hidden, "given");
    json["activation"] = given(name_of(options.activation), name_of(standard.activation));
  }
  return json;
}

std::string adjacency_text(Adjacency adjacency) {
  const std::string any =
      "any removed edges, nodes and features, any inserted edges, and every row that moved because of them";
  switch (adjacency) {
    case Adjacency::nothing_claimed:
      return "none: nothing is claimed";
    case Adjacency::any_change:
      return "none needed: " + any;
    case Adjacency::empty_slots:
      return "null-row: a removed training row leaves its slot empty; covers " + any;
  }
  return {};
}

/// Members that depend on removed data without noise. Terms that are public are named apart.
std::vector<std::string> private_fields(const StepReport& report) {
  std::vector<std::string> out{"residual_bound", "retrained", "terms"};
  if (report.private_claim)
    out.insert(out.end(), {"certified", "claim", "theorem", "delta", "reference", "adjacency", "releases"});
  if (report.private_claim && !report.composed.empty()) out.emplace_back("composed");
  return out;
}

/// Whether the certificate covers later releases, too. Not whether rows are stale: that depends on
/// what was removed, and stands in public.
bool covers_later_releases(const StepReport& report, const SolverOptions& options, bool lazy) {
  if (!report.certified) return false;
  if (report.scope == Scope::every_release) return true;
  return report.scope == Scope::all_later && !options.data_order && !lazy;
}

std::vector<std::string> not_covered_by(const StepReport& report, const SolverOptions& options, bool covers_later) {
  std::vector<std::string> out{"what an adaptive choice of requests reveals by itself",
                               "models published before the removal: withdraw them",
                               "records that remain: this is no differential privacy",
                               "an error in place of a release, the number of rows and of releases, running times"};
  if (report.for_tests) out.emplace_back("anything: the noise was drawn from a given seed, for tests");
  for (const auto& [what, how] : {std::pair("lambda", options.lambda_chosen), {"weights", options.weights_chosen}})
    if (how.starts_with("validation"))
      out.emplace_back(std::string("the choice of ") + what + ": it was tuned on data (" + how + "), and stays");
  if (report.requests == Requests::independent)
    out.emplace_back("requests that were chosen after seeing a release and sent as non-adaptive");
  if (report.certified && !report.composed.empty() && !report.private_claim)
    out.emplace_back("several releases seen together at this epsilon: `composed` says at which k of them are");
  else if (!covers_later)
    out.emplace_back("several releases seen together: each is compared with one retraining");
  else if (report.scope != Scope::every_release)
    out.emplace_back(
        "later releases of other models, which start from publications of their own: one log pays for itself");
  if (covers_later && report.mechanism == kOutputNoise)
    out.emplace_back("choices that depend on free memory: whether a later release keeps a preconditioner");
  if (!report.mechanism.not_covered.empty()) out.emplace_back(report.mechanism.not_covered);
  return out;
}

}  // namespace

namespace {

/// Epsilon of several releases together, at the delta of one.
Json composed(const StepReport& report) {
  Json all = Json::array();
  for (const auto& [releases, epsilon] : report.composed) all.push_back({{"releases", releases}, {"epsilon", epsilon}});
  return all;
}

}  // namespace

Json rows_json(const KeptForm& kept) {
  return {{"keep", keep_name(kept.keep)}, {"type", feature_type_name(kept.type)}, {"exponent", kept.exponent}};
}

Json certificate_fields(const ModelRecord& record, const StepReport& report, const ReleaseContext& context) {
  const bool later = covers_later_releases(report, record.options, context.lazy);
  Json json = {
      {"id", release_id(record)},
      {"weights_digest", to_hex(weights_commitment(record))},
      {"solver", record.model.solver},
      {"release", record.model.releases},
      {"sequence", record.model.sequence},
      {"mechanism", report.mechanism.text},
      {"theorem", report.certified ? Json(*report.claim) : Json()},
      {"certified", report.certified},
      {"claim", report.claim ? Json(*report.claim) : Json()},
      {"reference", report.reference},
      {"adjacency", adjacency_text(report.mechanism.adjacency)},
      {"requests", context.adaptive ? "adaptive" : "non-adaptive"},
      {"releases", later ? "all-later" : "this"},
      {"withdraw", context.withdraw},
      {"epsilon", report.epsilon},
      {"delta",
       {{"target", report.delta}, {"reached", report.certified ? Json(report.delta_reached.value()) : Json()}}},
      {"budget", report.budget},
      {"residual_bound", report.residual_bound},
      {"retrained", report.retrained},
      {"terms", report.terms.values()},
      {"constants", constants_of(record)},
      {"private", private_fields(report)},
      {"not_covered", not_covered_by(report, record.options, later)},
      {"for_tests", report.for_tests},
      {"version", context.program},
  };
  if (!context.time.empty()) json["time"] = context.time;
  if (report.certified && !report.composed.empty()) json["composed"] = composed(report);
  if (name_of(record) != record.model.solver) json["name"] = record.name;
  if (!record.kept.has_sums()) json["rows"] = rows_json(record.kept);
  if (report.private_claim) json["delta_target"] = report.delta;
  if (!record.options.parameters.empty()) json["parameters"] = record.options.parameters;
  if (!report.terms.published().empty()) json["public_terms"] = report.terms.published();
  return json;
}

}  // namespace unweave
