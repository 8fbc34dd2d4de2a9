// algorithms/verify_models.cpp - model files and logs of certificates: readable, in agreement, and which models can be
// checked against the rows that they stand on.
#include <nlohmann/json.hpp>
#include <optional>

#include "algorithms/certificate.h"
#include "algorithms/verify_checks.h"
#include "engine/store_purge.h"
#include "storage/checksum.h"
#include "storage/error.h"
#include "storage/line_log.h"

namespace unweave {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

std::string train_command(const fs::path& store, std::string_view solver) {
  return "`unweave train " + store.string() + " --solver " + std::string(solver) + "`";
}

Checksum128 mark_of(std::string_view line) {
  return checksum128(std::as_bytes(std::span(line)), {});
}

/// What a log of certificates says.
struct Log {
  bool damaged = false;
  std::set<Checksum128> lines;
  std::uint64_t number = 0;  // of the last line, from 1; 0 without one
  std::string last;
  std::string id;
  std::uint64_t release = 0;
  std::uint64_t sequence = 0;
};

/// One line into the log; throws DataError.
void take_line(Log& log, const fs::path& path, std::string_view line, std::uint64_t number) {
  const auto fail = [&](const std::string& what) {
    throw DataError(path.string() + ": line " + std::to_string(number) + ": " + what +
                    "; restore the file from a copy, or move it away: the next stream begins a new one");
  };
  const Json json = Json::parse(line, nullptr, false);
  if (!json.is_object()) fail("this is no certificate");
  const auto number_at = [&](const char* key) {
    if (!json.contains(key) || !json[key].is_number_unsigned()) fail("the certificate has no " + std::string(key));
    return json[key].get<std::uint64_t>();
  };
  if (!is_sealed(line)) fail("the certificate was altered: its digest does not fit");
  if (!json.contains("id") || !json["id"].is_string()) fail("the certificate has no id");
  const std::uint64_t release = number_at("release");
  log.sequence = number_at("sequence");
  if (release != 1 && release <= log.release)  // 1: trained again
    fail("release " + std::to_string(release) + " cannot follow release " + std::to_string(log.release));
  log.release = release;
  log.id = json["id"].get<std::string>();
  log.number = number;
  log.last = line;
  log.lines.insert(mark_of(line));
}

/// Calls body() as the reading of one file that exists; its failure is a finding with `remedy` after it.
template <class Body>
bool read_file(const fs::path& path, const std::string& remedy, VerifyReport& report, const Body& body) {
  std::error_code ignored;
  const std::uintmax_t bytes = fs::file_size(path, ignored);
  ++report.files;
  if (!ignored) report.bytes += bytes;
  try {
    body();
    return true;
  } catch (const DataError& error) {
    report.findings.push_back({true, error.what() + remedy});
    return false;
  }
}

Log read_log(const fs::path& path, VerifyReport& report) {
  Log log;
  if (!fs::exists(path)) return log;
  log.damaged = !read_file(path, "", report, [&] {
    const LogEnd end =
        read_lines(path, [&](std::string_view line, std::uint64_t number) { take_line(log, path, line, number); });
    if (end.tail > 0)
      report.remarks.push_back(path.string() + ": byte " + std::to_string(end.bytes) + ": " + std::to_string(end.tail) +
                               " bytes of a line that was never finished; the next stream removes them");
  });
  return log;
}

/// The model is written before its certificate is logged, so a log may lack the last one after a crash. It never ends with another one than the model's, nor goes on after it.
void compare(const ModelRecord& record, const Log& log, const fs::path& path, VerifyReport& report) {
  if (log.damaged || log.last == record.certificate) return;
  const Model& model = record.model;
  const std::string own = release_id(model);
  const auto wrong = [&](const std::string& what) {
    report.findings.push_back({false, "models: " + model.solver + ": " + what});
  };
  const std::string last = path.string() + ": line " + std::to_string(log.number) + ": ";
  const bool earlier = log.release < model.releases || (model.releases == 1 && log.id != own);  // 1: trained again
  if (log.lines.contains(mark_of(record.certificate)))
    wrong("the model file is release " + Json(own).dump() + ", the last certificate is that of a later release " +
          Json(log.id).dump());
  else if (log.number == 0 || (earlier && log.sequence <= model.sequence))
    report.remarks.push_back(path.string() + ": the certificate of " + own +
                             " is not in it yet; the next stream with this solver adds it");
  else if (log.id == own)
    wrong(last + "the certificate of " + own + " differs from the one in the model file");
  else
    wrong(last + "the last certificate is that of " + Json(log.id).dump() + ", the model file is release " +
          Json(own).dump());
}

/// True when the model is that of the present moment; if not, a remark says why.
bool is_present(const ModelRecord& record, const LiveStore& store, VerifyReport& report) {
  const Model& model = record.model;
  if (model.sequence > store.sequence()) {
    report.findings.push_back({false, "models: " + model.solver + ": the model has absorbed request " +
                                          std::to_string(model.sequence) + ", the store has acknowledged " +
                                          std::to_string(store.sequence())});
    return false;
  }
  if (model.sequence < store.sequence()) {
    report.remarks.push_back(model.solver + ": outdated: holds request " + std::to_string(model.sequence) + " of " +
                             std::to_string(store.sequence()) + "; the next stream with this solver brings it up");
    return false;
  }
  try {
    check_propagation(record, store.manifest(), store.path());
  } catch (const DataError& error) {
    report.remarks.push_back(error.what());
    return false;
  }
  if (store.embedding().stale_rows() == 0) return true;
  report.remarks.push_back(model.solver + ": not computed again: " + std::to_string(store.embedding().stale_rows()) +
                           " stale rows of a lazy stream keep the exact rows away");
  return false;
}

/// The training rows that a model stands on; those of the model before serve again where they are the same.
class RowsOfModels {
 public:
  RowsOfModels(const LiveStore& store, MemoryBudget& budget) : store_(store), budget_(budget) {}

  /// Null when they cannot be had, which is reported.
  const TrainingSet* of(const ModelRecord& record, VerifyReport& report) {
    const std::string& solver = record.model.solver;
    try {
      if (!rows_ || rows_->set().clip() != record.clip || weights_ != record.weights) {
        rows_.reset();
        rows_.emplace(store_, record.weights, record.clip, budget_);
        weights_ = record.weights;
      }
      return &rows_->set();
    } catch (const ResourceError& error) {
      report.remarks.push_back(solver + ": not computed again: " + error.what());
    } catch (const UsageError& error) {
      report.findings.push_back({false, "models: " + solver + ": " + error.what()});
    } catch (const DataError& error) {
      report.findings.push_back({true, error.what()});
    }
    return nullptr;
  }

 private:
  const LiveStore& store_;
  MemoryBudget& budget_;
  std::optional<TrainingRows> rows_;
  std::vector<double> weights_;
};

}  // namespace

std::vector<ModelRecord> read_models(const fs::path& store, VerifyReport& report) {
  std::vector<ModelRecord> models;
  switch (purge_state(store)) {
    case PurgeState::decided:
      report.remarks.push_back(store.string() +
                               ": a purge was interrupted, and models and files that it removes may lie " +
                               "there yet; run `unweave purge " + store.string() + "` again");
      return models;
    case PurgeState::begun:
      report.remarks.push_back(store.string() + ": a purge was interrupted and nothing is purged; run `unweave purge " +
                               store.string() + "` again");
      break;
    case PurgeState::none:
      break;
  }
  for (const std::string_view solver : solver_names()) {
    const fs::path model = store / "models" / (std::string(solver) + ".model");
    const fs::path certificates = store / "certificates" / (std::string(solver) + ".jsonl");
    const Log log = read_log(certificates, report);  // first: a writer at work adds to it after the model
    if (!fs::exists(model)) {
      if (log.number > 0)
        report.remarks.push_back(model.string() + ": there are certificates of this model, but no model; run " +
                                 train_command(store, solver));
      continue;
    }
    read_file(model, ", or run " + train_command(store, solver), report, [&] {
      ModelRecord record = load_model(store, solver);
      compare(record, log, certificates, report);
      models.push_back(std::move(record));
    });
  }
  return models;
}

void check_models(const std::vector<ModelRecord>& models, const LiveStore& store, MemoryBudget& budget,
                  VerifyReport& report) {
  RowsOfModels rows_of(store, budget);
  for (const ModelRecord& record : models) {
    const std::size_t known = report.findings.size();
    check_certificate(record, store, report);
    if (claims_nothing(record.model)) continue;
    if (!is_present(record, store, report) || report.findings.size() > known) continue;
    const TrainingSet* rows = rows_of.of(record, report);
    if (rows == nullptr) continue;
    if (rows->size() == record.model.trained_rows)
      check_release(record, *rows, budget, report);
    else
      report.findings.push_back(
          {false, "releases: " + record.model.solver + ": the model says that it was trained on " +
                      std::to_string(record.model.trained_rows) + " rows, there are " + std::to_string(rows->size())});
  }
}

}  // namespace unweave
