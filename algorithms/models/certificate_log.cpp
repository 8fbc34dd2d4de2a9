// algorithms/models/certificate_log.cpp - splitting, sealing and appending certificates.
#include "algorithms/models/certificate_log.h"

#include <algorithm>
#include <new>

#include "algorithms/models/model_name.h"
#include "algorithms/models/training_terms.h"
#include "algorithms/registry/registry.h"
#include "storage/io/entry.h"
#include "storage/io/error.h"
#include "storage/io/hex.h"
#include "storage/io/json_text.h"
#include "storage/io/number_text.h"
#include "storage/io/shell_word.h"

namespace unweave {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

constexpr std::string_view kDigestKey = ",\"digest\":\"";
constexpr std::string_view kSignatureKey = "\",\"signature\":\"";

/// Moves the terms that are not public from the certificate into `to`.
Json take_private_terms(Json& whole) {
  const auto shown = whole.value("public_terms", std::vector<std::string>{});
  Json open = Json::object(), hidden = Json::object();
  for (const auto& [name, value] : whole.at("terms").items())
    (std::find(shown.begin(), shown.end(), name) != shown.end() ? open : hidden)[name] = value;
  whole["terms"] = std::move(open);
  return hidden;
}

}  // namespace

fs::path public_log(const fs::path& store, std::string_view name) {
  return file_of_model(store, kCertificatesFolder, name, ".jsonl");
}

fs::path private_log(const fs::path& store, std::string_view name) {
  return file_of_model(store, kCertificatesFolder, name, ".private.jsonl");
}

LogPlace place_after(std::string_view line, const fs::path& file) {
  try {
    const Json json = parse_json_or_discard<Json>(line);
    if (!is_sealed(line)) throw std::runtime_error("its digest or signature does not fit");
    return place_in(json);
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    throw DataError(file.string() + ": its last line is no certificate to follow (" + fault_of(error) +
                    "); restore the file from a copy, or move it away");
  }
}

LogPlace place_in(const Json& line) {
  return {line.at("log"), whole_number<std::uint64_t>(line.at("number")), line.at("digest"), line.at("public_key"),
          line.at("id")};
}

std::uint64_t certificate_number(std::string_view line) {
  const Json json = parse_json_or_discard<Json>(line);
  const auto number = json.is_object() ? json.find("number") : json.end();
  return number != json.end() && number->is_number_unsigned() ? whole_number<std::uint64_t>(*number) : 0;
}

bool follows(std::string_view line, const LogPlace& place) {
  if (certificate_number(line) != place.number + 1) return false;
  return place.number == 0 || parse_json_or_discard<Json>(line).value("previous", Json()) == Json(place.digest);
}

void seal_certificate(ModelRecord& record, Json whole, const SigningKey& key) {
  Json hidden = {{"number", whole.at("number")}, {"nonce", whole.at("nonce")}};
  for (const Json& name : Json(whole.at("private"))) {
    const auto member = name.get<std::string>();
    if (member == "terms") {
      hidden["terms"] = take_private_terms(whole);
    } else {
      hidden[member] = whole.at(member);
      whole.erase(member);
    }
  }
  for (const char* made : {"nonce", "commitment", "public_key", "digest", "signature"}) whole.erase(made);
  record.private_part = text_of_json(hidden);
  whole["commitment"] = to_hex(hash_of(record.private_part));
  whole["public_key"] = key.public_key();
  std::string text = text_of_json(whole);
  text.pop_back();
  const Hash digest = hash_of(text);
  record.certificate =
      text + std::string(kDigestKey) + to_hex(digest) + std::string(kSignatureKey) + key.sign(digest) + "\"}";
}

Json whole_certificate(std::string_view line, std::string_view private_part) {
  Json whole = parse_json_or_discard<Json>(line);
  whole.update(parse_json_or_discard<Json>(private_part), true);
  return whole;
}

Json whole_certificate(const ModelRecord& record) {
  return whole_certificate(record.certificate, record.private_part);
}

std::string weights_key_line(const ModelRecord& record) {
  const Json certificate = parse_json<Json>(record.certificate);
  return text_of_json(
      Json{{"format", kWeightsKeyFormat}, {"certificate", certificate.at("digest")}, {"key", record.release_key}});
}

bool is_sealed(std::string_view line) {
  const std::size_t at = line.rfind(kDigestKey);
  if (at == std::string_view::npos) return false;
  const Hash digest = hash_of(line.substr(0, at));
  const std::string before = std::string(kDigestKey) + to_hex(digest) + std::string(kSignatureKey);
  const std::string_view rest = line.substr(at);
  if (!rest.starts_with(before) || !rest.ends_with("\"}") || rest.size() < before.size() + 2) return false;
  const Json json = parse_json_or_discard<Json>(line);
  if (!json.is_object() || !json.contains("public_key") || !json["public_key"].is_string()) return false;
  return is_signature(rest.substr(before.size(), rest.size() - before.size() - 2), digest,
                      json["public_key"].get_ref<const std::string&>());
}

LoggedCertificate::LoggedCertificate(const fs::path& store, const ModelRecord& record)
    : private_(private_log(store, name_of(record)), record.private_part, Readers::owner),
      public_(public_log(store, name_of(record)), record.certificate, Readers::all) {}

void LoggedCertificate::sync() const {
  private_.sync();
  public_.sync();
}

Choices choices_in_log(const fs::path& store, std::string_view name) {
  const fs::path file = public_log(store, name);
  const std::optional<std::string> last = last_line(file);
  static_cast<void>(place_after(last.value_or(std::string()), file));
  try {
    const Json constants = parse_json<Json>(*last).at("constants");
    return {constants.at("lambda").at("chosen").get<std::string>(),
            constants.at("weights").at("chosen").get<std::string>()};
  } catch (const nlohmann::json::exception& error) {
    throw DataError(file.string() + ": its last line does not say how lambda and weights were chosen (" +
                    fault_of(error) + "); restore the file from a copy, or move it away");
  }
}

void complete_log(const fs::path& store, const ModelRecord& record) {
  if (!record.certificate.empty()) LoggedCertificate(store, record).sync();
}

LogFit fit_of_log(const fs::path& store, const ModelRecord& record) {
  const fs::path file = public_log(store, name_of(record));
  const std::optional<std::string> last = last_line(file);
  if (record.certificate.empty()) return last ? LogFit::follows : LogFit::none;
  if (last && *last == record.certificate) return LogFit::follows;
  const LogPlace place = last ? place_after(*last, file) : LogPlace{};
  if (follows(record.certificate, place)) return LogFit::follows;
  const std::uint64_t number = certificate_number(record.certificate);
  if (number == 0) return LogFit::lacks_lines;
  if (!last && !has_entry(private_log(store, name_of(record)))) return LogFit::none;
  return number > place.number ? LogFit::lacks_lines : LogFit::ahead;
}

namespace {

/// The options of a training, where they are not the defaults: with a blank before each.
std::string options_given(const TrainingTerms& terms) {
  const SolverEntry& solver = solver_entry(terms.solver);
  const SolverOptions &given = terms.options, standard;
  std::string text;
  const auto add = [&](const char* name, const std::string& value) { text += ' ' + option(name, value); };
  const auto add_number = [&](const char* name, double number, double usual) {
    if (number != usual) add(name, shortest_text(number));
  };
  const auto list = [](const auto& numbers) {
    std::string items;
    for (const auto number : numbers) items += (items.empty() ? "" : ",") + shortest_text(static_cast<double>(number));
    return items;
  };
  if (!given.hidden.empty()) {
    add("head", "mlp");
    add("hidden", list(given.hidden));
    add("activation", std::string(name_of(given.activation)));
  } else {
    if (given.head != standard.head) add("head", std::string(name_of(given.head)));
    if (solver.intercept && !given.intercept) text += ' ' + option("no-intercept");
  }
  if (given.lambda_chosen == "given") add("lambda", shortest_text(given.lambda));
  if (given.lambda_chosen.starts_with("validation")) add("lambda", "auto");
  if (given.weights_chosen.starts_with(kRowsByValidation)) {
    add("rows-of", "auto");
  } else {
    const bool stacked = given.weights_chosen == kStackedWeights;
    if (given.weights_chosen.starts_with("validation")) add("weights", "auto");
    if (given.weights_chosen == "given") add("weights", list(terms.rows.weights));
    if (stacked || !terms.rows.blocks.empty()) add("rows-of", words_of(terms.rows, stacked ? "stack" : "levels"));
    if (terms.rows.scale != (terms.rows.lift ? RowScale::unit : RowScale::clip))
      add("scale-rows", scale_name(terms.rows.scale));
    if (terms.rows.pair) add("pair", text_of(*terms.rows.pair));
    if (terms.rows.pool) add("pool", text_of(*terms.rows.pool));
    if (terms.rows.lift) add("lift", text_of(*terms.rows.lift));
  }
  if (solver.tau) add_number("tau", given.tau, standard.tau);
  if (solver.alpha) add_number("alpha", given.alpha, standard.alpha);
  if (solver.noisy) {
    add_number("epsilon", given.epsilon, standard.epsilon);
    add_number("delta", given.delta, standard.delta);
  }
  if (given.bound == BoundRule::kPaper) add("bound", "paper");
  for (const auto& [name, value] : given.parameters) add("set", name + '=' + shortest_text(value));
  return text;
}

}  // namespace

std::string train_command(const fs::path& store, std::string_view name) {
  std::string model = selecting(name);
  try {
    const std::optional<std::string> last = last_line(public_log(store, name));
    const Json line = last ? parse_json_or_discard<Json>(*last) : Json();
    const bool names_solver = line.is_object() && line.contains("solver") && line["solver"].is_string();
    const SolverEntry* const entry = names_solver ? find_solver(line["solver"].get<std::string>()) : nullptr;
    if (entry != nullptr) model = selecting(entry->name, name);
    const std::optional<TrainingTerms> terms = terms_in_log(store, name);
    if (terms) {  // anybody may have written them: nothing gets into a command that the solver does not take
      require_options(terms->solver, terms->options);
      model += options_given(*terms);
    }
  } catch (const Error&) {  // the log is what is damaged
  }
  return operation("train " + shell_word(store.string()) + ' ' + model);
}

void refuse_log(const fs::path& store, std::string_view name) {
  const fs::path file = public_log(store, name);
  throw DataError(
      file.string() + ": it does not end with the model's certificate nor with the one before it; restore " +
      "model and both logs from one copy, or move " + file.string() + " and " + private_log(store, name).string() +
      " away and run " + train_command(store, name) + ", which begins another log");
}

void require_log_of(const fs::path& store, std::string_view name, std::string_view solver) {
  const std::optional<std::string> last = last_line(public_log(store, name));
  const Json line = last ? parse_json_or_discard<Json>(*last) : Json();
  if (!line.is_object() || line.value("solver", Json(solver)) == Json(solver)) return;
  throw UsageError(public_log(store, name).string() + ": these are certificates of " + text_of_json(line.at("solver")) +
                   ", and one log is one solver's; choose another " + option("name") +
                   ", or move model and certificates away");
}

}  // namespace unweave
