// algorithms/models/training_terms.cpp - reads the terms of a training back out of a certificate.
#include "algorithms/models/training_terms.h"

#include "algorithms/models/certificate_log.h"
#include "algorithms/models/row_program_json.h"
#include "algorithms/registry/registry.h"
#include "storage/io/error.h"
#include "storage/io/json_text.h"
#include "storage/io/line_log.h"
#include "storage/io/shell_word.h"

namespace unweave {
namespace {

using Json = nlohmann::ordered_json;

TrainingTerms terms_of(const Json& line) {
  const Json& constants = line.at("constants");
  const auto value = [&](const char* name) -> const Json& { return constants.at(name).at("value"); };
  TrainingTerms terms;
  terms.solver = line.at("solver").get<std::string>();
  SolverOptions& options = terms.options;
  if (constants.contains("hidden")) {
    options.head = Head::kSoftmax;  // the one that goes with hidden layers
    options.hidden = value("hidden").get<std::vector<std::size_t>>();
    options.activation = parse_activation(value("activation").get<std::string>());
  } else {
    options.head = parse_head(value("head").get<std::string>());
  }
  options.epsilon = line.at("epsilon").get<double>();
  // Where the claim is private, so is the delta that it comes to.
  options.delta = line.contains("delta_target") ? line.at("delta_target").get<double>()
                                                : line.at("delta").at("target").get<double>();
  options.lambda = value("lambda").get<double>();
  options.lambda_chosen = constants.at("lambda").at("chosen").get<std::string>();
  options.weights_chosen = constants.at("weights").at("chosen").get<std::string>();
  options.tau = value("tau").get<double>();
  options.alpha = value("alpha").get<double>();
  options.bound = parse_bound(value("bound").get<std::string>());
  if (constants.contains("intercept")) options.intercept = value("intercept").get<bool>();
  if (line.contains("parameters")) options.parameters = line.at("parameters").get<GivenParameters>();
  terms.rows.weights = value("weights").get<std::vector<double>>();
  if (constants.contains("row_program")) read_program(terms.rows, value("row_program"));
  options.has_program = !terms.rows.only_levels();
  options.unit = terms.rows.unit();
  return terms;
}

}  // namespace

std::optional<TrainingTerms> terms_in_log(const std::filesystem::path& store, std::string_view name) {
  const std::filesystem::path file = public_log(store, name);
  const std::optional<std::string> last = last_line(file);
  if (!last) return std::nullopt;
  static_cast<void>(place_after(*last, file));
  const auto refuse = [&](const std::string& why) {
    throw DataError(file.string() + ": its last line does not say how the model was trained (" + why +
                    "); train it by " + operation("train " + shell_word(store.string())) +
                    ", or restore the file from a copy");
  };
  TrainingTerms terms;
  try {
    terms = terms_of(parse_json<Json>(*last));
    static_cast<void>(solver_entry(terms.solver));
  } catch (const nlohmann::json::exception& error) {
    refuse(fault_of(error));
  } catch (const UsageError& error) {
    refuse(error.message());
  } catch (const std::runtime_error& error) {
    refuse(error.what());
  }
  return terms;
}

}  // namespace unweave
