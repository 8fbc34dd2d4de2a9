// algorithms/verification/verify_release.cpp - the last release of a model against its certificate:
// what holds for every solver, and then what its own entry checks.
#include "algorithms/learning/network.h"
#include "algorithms/models/certificate.h"
#include "algorithms/models/certificate_log.h"
#include "algorithms/models/model_name.h"
#include "algorithms/models/row_program_json.h"
#include "algorithms/registry/registry.h"
#include "algorithms/unlearning/checks/checked_model.h"
#include "algorithms/unlearning/checks/public_line.h"
#include "algorithms/verification/verify_checks.h"
#include "storage/io/error.h"
#include "storage/io/hex.h"
#include "storage/io/json_text.h"
#include "storage/io/shell_word.h"

namespace unweave {
namespace {

using Json = nlohmann::ordered_json;

void check_constants(const ModelRecord& record, const Json& certificate, Statements& say) {
  const Model& model = record.model;
  const SolverOptions& options = record.options;
  const NetworkShape shape = shape_of(model);
  say.same("id", certificate.at("id"), release_id(record));
  if (certificate.contains("weights_digest"))  // older lines bind the first 8 bytes alone
    say.same("digest of the weights", certificate.at("weights_digest"), to_hex(weights_commitment(record)));
  say.same("solver", certificate.at("solver"), model.solver);
  say.same("name", certificate.value("name", Json(model.solver)), name_of(record));
  say.same("release", certificate.at("release"), model.releases);
  say.same("sequence", certificate.at("sequence"), model.sequence);
  say.same("epsilon", certificate.at("epsilon"), options.epsilon);
  say.same("delta", certificate.at("delta").at("target"), options.delta);
  const std::pair<const char*, Json> held[] = {{"lambda", options.lambda},
                                               {"tau", options.tau},
                                               {"alpha", options.alpha},
                                               {"bound", options.bound == BoundRule::kPaper ? "paper" : "corrected"},
                                               {"head", head_name(options)},
                                               {"clip", record.clip},
                                               {"training_rows", model.trained_rows},
                                               {"features", shape.features},
                                               {"classes", shape.classes},
                                               {"levels", record.levels},
                                               {"weights", record.rows.weights},
                                               {"rho", record.rho},
                                               {"scale_bits", record.scale_bits},
                                               {"all_rows", record.all_rows}};
  const Json& constants = certificate.at("constants");
  for (const auto& [name, value] : held) say.same(name, constants.at(name).at("value"), value);
  const auto program = constants.find("row_program");
  say.same("row_program", program == constants.end() ? Json() : program->at("value"),
           record.rows.only_levels() ? Json() : program_json(record.rows));
  const auto rows = certificate.find("rows");
  say.same("rows", rows == certificate.end() ? Json() : *rows,
           record.kept.has_sums() ? Json() : rows_json(record.kept));
  const auto intercept = constants.find("intercept");  // older lines speak of models without one
  say.same("intercept", intercept == constants.end() ? Json(false) : intercept->at("value"), options.intercept);
  if (certificate.contains("delta_target")) say.same("target of delta", certificate.at("delta_target"), options.delta);
  if (certificate.contains("parameters"))  // older lines do not say them
    say.same("parameters", certificate.at("parameters"), options.parameters);
  say.same("where lambda was chosen", constants.at("lambda").at("chosen"), options.lambda_chosen);
  say.same("where the weights were chosen", constants.at("weights").at("chosen"), options.weights_chosen);
  if (!model.network) return;
  say.same("hidden", constants.at("hidden").at("value"), shape.hidden);
  say.same("activation", constants.at("activation").at("value"), name_of(shape.activation));
}

/// Where a solver claims nothing, all that can be wrong is that more is said.
void check_no_claim(const CheckedModel& model, Statements& say) {
  if (model.certified()) say.wrong("it is certified, and no theorem covers this solver");
  if (!model.certificate.at("claim").is_null()) say.wrong("it makes a claim, and this solver makes none");
}

CheckedModel checked(const ModelRecord& record, const std::filesystem::path& store, const Json& certificate,
                     const EarlierRelease* before = nullptr) {
  return {record.model, record.options, form_of(record), folder_of(store, name_of(record)), certificate, before};
}

/// Adds what one check has found of a model.
void tell(const Statements& say, const char* check, const ModelRecord& record, VerifyReport& report) {
  for (const std::string& text : say.all_wrong())
    report.findings.push_back({false, std::string(check) + ": " + record.model.solver + ": " + text});
  for (const std::string& text : say.all_unreadable()) report.findings.push_back({true, text});
  for (const std::string& text : say.remarks()) report.remarks.push_back(name_of(record) + ": " + text);
}

/// Everything that a certificate says, whoever made it. False where nothing more can be asked of
/// the model.
bool check_statements_of(const ModelRecord& record, const LiveStore& store, const Json& certificate, Statements& say) {
  const Model& model = record.model;
  if (model.published.size() > 0 && !(model.published.cwiseAbs().maxCoeff<Eigen::PropagateNaN>() < 1e100)) {
    say.wrong("weights are not finite numbers of a sensible size");
    return false;
  }
  if (!is_sealed(record.certificate))
    say.wrong("the certificate was altered: its digest or its signature does not fit");
  if (certificate.at("commitment") != to_hex(hash_of(record.private_part)))
    say.wrong("the private part of the certificate is not the one that it commits to");
  check_constants(record, certificate, say);
  if (!certificate.at("certified").get<bool>()) return true;
  if (certificate.at("for_tests").get<bool>()) say.wrong("it is certified, and its noise was drawn from a seed");
  if (store.manifest().standardized || record.options.standardized)
    say.wrong("it is certified, on features that were standardised by statistics of the data");
  if (store.manifest().order_file && kind_of(model).over_slots)
    say.wrong("it is certified, over slots that follow an order of the nodes that was computed from the graph");
  return true;
}

}  // namespace

void check_certificate(const ModelRecord& record, const LiveStore& store, VerifyReport& report) {
  Statements say;
  try {
    require_options(record.model.solver, record.options);
    const Json certificate = whole_certificate(record);
    if (check_statements_of(record, store, certificate, say)) {
      const SolverKind& kind = kind_of(record.model);
      const CheckedModel model = checked(record, store.path(), certificate);
      if (!kind.claims) check_no_claim(model, say);
      if (kind.check_certificate != nullptr) kind.check_certificate(model, say);
      if (say.all_wrong().empty()) PublicLine(certificate).require_composed();
    }
  } catch (const Json::exception&) {
    say.unreadable(model_file(store.path(), name_of(record)).string() + ": the certificate in it is malformed; run " +
                   train_command(store.path(), name_of(record)));
  } catch (const UsageError& error) {
    say.wrong(error.message());
  } catch (const CheckError& error) {
    say.wrong(error.message());
  }
  tell(say, "models", record, report);
}

void check_release(const ModelRecord& record, const LiveStore& store, const TrainingSet& rows,
                   const EarlierRelease* before, MemoryBudget& budget, VerifyReport& report) {
  Statements say;
  bool compared = true, certified = false;
  try {
    const Json certificate = whole_certificate(record);
    certified = certificate.at("certified").get<bool>();
    const SolverKind& kind = kind_of(record.model);
    compared = kind.check_release != nullptr &&
               kind.check_release(checked(record, store.path(), certificate, before), rows, budget, say);
  } catch (const UsageError& error) {  // about what the model holds: nobody chose anything here
    say.wrong(error.message());
  }
  tell(say, "releases", record, report);
  if (compared)
    ++report.models;
  else if (certified)
    ++report.uncompared;
}

}  // namespace unweave
