// algorithms/verification/verify_models.cpp - model files and logs of certificates: readable, in
// agreement, and which models can be checked against the rows that they stand on.
#include <optional>
#include <set>

#include "algorithms/live/store_reader.h"
#include "algorithms/models/certificate_log.h"
#include "algorithms/models/model_name.h"
#include "algorithms/models/recorded_release.h"
#include "algorithms/models/signing_key.h"
#include "algorithms/registry/registry.h"
#include "algorithms/unlearning/checks/checked_model.h"
#include "algorithms/verification/verify_checks.h"
#include "algorithms/verification/verify_log.h"
#include "engine/generations/store_purge.h"
#include "storage/io/entry.h"
#include "storage/io/error.h"
#include "storage/io/file.h"
#include "storage/io/hex.h"
#include "storage/io/json_text.h"
#include "storage/io/line_log.h"
#include "storage/io/shell_word.h"

namespace unweave {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

/// Calls body() as the reading of one file that exists; its failure is a finding with `remedy`
/// after it.
template <class Body>
bool read_file(const fs::path& path, const std::string& remedy, VerifyReport& report, const Body& body) {
  ++report.files;
  if (const std::optional<EntryStatus> status = try_status_of(path)) report.bytes += status->bytes;
  try {
    body();
    return true;
  } catch (const DataError& error) {
    report.findings.push_back({true, error.message() + remedy, path.string()});
  } catch (const CheckError& error) {
    report.findings.push_back({false, error.message(), path.string()});
  }
  return false;
}

/// Reads the log; returns nothing where something is wrong with it, which is reported.
std::optional<LogChecker> read_log(const fs::path& store, const Manifest& manifest, std::string_view name,
                                   const VerifyOptions& options, VerifyReport& report) {
  const fs::path path = public_log(store, name), beside = private_log(store, name);
  LogChecker log(path, options.public_key);
  const auto read = [&](const fs::path& file, const auto& body) {
    const auto tell_tail = [&](const LogEnd& end) {
      if (end.tail > 0)
        report.remarks.push_back(file.string() + ": byte " + std::to_string(end.bytes) + ": " +
                                 std::to_string(end.tail) +
                                 " bytes of a line that was never finished; the next stream removes them");
    };
    if (!has_entry(file) && manifest.release(file.lexically_relative(store).string()) == nullptr) return true;
    return read_file(file, "", report, [&] {
      if (has_entry(file)) {
        tell_tail(body(file));
      }
      require_recorded_log(store, manifest, name, file);
    });
  };
  if (!read(path, [&](const fs::path& file) {
        return read_lines(file, [&](std::string_view line, std::uint64_t number) { log.take(line, number); });
      }))
    return std::nullopt;
  report.certificates += log.lines().size();
  read(beside, [&](const fs::path&) { return check_private_parts(beside, log, report); });
  if (!has_entry(beside)) static_cast<void>(check_private_parts(beside, log, report));
  return log;
}

/// The model is written before its certificate is logged, so a log may lack the last one after a
/// crash. It never ends with another one than the model's, nor goes on after it. `log` was read
/// before the model: a writer may have released more than once in between. It logs each release
/// before the next one replaces the model, so that a log that is read after the model lacks the
/// last one at most, whoever writes.
void compare(const ModelRecord& record, const LogChecker& log, const fs::path& path, const VerifyOptions& options,
             VerifyReport& report) {
  if (record.certificate.empty()) {
    if (log.number() == 0)
      report.findings.push_back({true,
                                 path.string() + ": it is missing: there is a model and no certificate; run " +
                                     train_command(path.parent_path().parent_path(), name_of(record)),
                                 path.string()});
    return;
  }
  if (log.last() == record.certificate) return;
  const std::string own = text_of_json(Json(release_id(record)));
  const auto wrong = [&](const std::string& what) {
    report.findings.push_back(
        {false, "models: " + name_of(record) + ": " + path.string() + ": " + what, path.string()});
  };
  const std::uint64_t number = certificate_number(record.certificate);
  if (number == 0) return wrong("the certificate in the model file has no number");
  const std::string differs =
      "certificate " + std::to_string(number) + " differs from the one in the model file, release " + own;
  if (number <= log.number()) {
    const Json json = parse_json_or_discard<Json>(record.certificate);
    if (json.value("digest", std::string()) == to_hex(log.lines().at(number - 1).digest))
      return wrong("the model file is release " + own + ", the last certificate is that of a later release " +
                   text_of_json(Json(log.id())));
    return wrong(differs);
  }
  LogChecker now(path, options.public_key);
  std::string logged;  // under this number
  static_cast<void>(read_lines(path, [&](std::string_view line, std::uint64_t at) {
    now.take(line, at);
    if (at == number) logged = line;
  }));
  if (number <= now.number()) {
    if (logged != record.certificate) wrong(differs);
  } else if (now.is_followed_by(record.certificate)) {
    report.remarks.push_back(path.string() + ": the certificate of " + release_id(record) +
                             " is not in it yet; the next stream with this model adds it");
  } else {
    wrong("it ends with certificate " + std::to_string(now.number()) + ", the model's is number " +
          std::to_string(number) + ": lines are missing at its end");
  }
}

/// True when the model is that of the present moment; if not, a remark says why.
bool is_up_to_date(const ModelRecord& record, const LiveStore& store, VerifyReport& report) {
  const Model& model = record.model;
  if (model.sequence > store.sequence()) {
    report.findings.push_back({false, "models: " + name_of(record) + ": the model has absorbed request " +
                                          std::to_string(model.sequence) + ", the store has acknowledged " +
                                          std::to_string(store.sequence())});
    return false;
  }
  try {
    check_propagation(record, store.manifest(), store.path());
  } catch (const DataError& error) {  // no stream brings it up either
    report.remarks.push_back(error.message());
    ++report.outdated;
    return false;
  }
  if (model.sequence < store.sequence()) {
    ++report.outdated;
    report.remarks.push_back(name_of(record) + ": outdated: has absorbed " + std::to_string(model.sequence) + " of " +
                             std::to_string(store.sequence()) + " requests; " +
                             operation("stream " + shell_word(store.path().string()) + ' ' +
                                       option("requests", "/dev/null") + ' ' + selecting(name_of(record))) +
                             " brings it up to date");
    return false;
  }
  return true;
}

/// Whether it can be computed again from the store's rows; if not, a remark says why.
bool is_present(const ModelRecord& record, const LiveStore& store, VerifyReport& report) {
  if (!is_up_to_date(record, store, report)) return false;
  if (store.embedding().stale_rows() == 0) return true;
  report.remarks.push_back(name_of(record) + ": not computed again: " + std::to_string(store.embedding().stale_rows()) +
                           " stale rows of a lazy stream keep the exact rows away");
  return false;
}

/// The training rows that a model stands on; those of the model before serve again where they are
/// the same.
class RowsOfModels {
 public:
  RowsOfModels(const LiveStore& store, MemoryBudget& budget) : store_(store), budget_(budget) {}

  /// Null when they cannot be had, which is reported.
  const TrainingSet* of(const ModelRecord& record, VerifyReport& report) {
    const std::string& name = name_of(record);
    try {
      if (!rows_ || rows_->set().form() != form_of(record) || program_ != record.rows) {
        rows_.reset();
        rows_.emplace(store_, record.rows, form_of(record), budget_);
        program_ = record.rows;
      }
      return &rows_->set();
    } catch (const ResourceError& error) {
      report.remarks.push_back(name + ": not computed again: " + error.message());
    } catch (const UsageError& error) {
      report.findings.push_back({false, "models: " + name + ": " + error.message()});
    } catch (const DataError& error) {
      report.findings.push_back({true, error.message()});
    }
    return nullptr;
  }

 private:
  const LiveStore& store_;
  MemoryBudget& budget_;
  std::optional<TrainingRows> rows_;
  RowProgram program_;
};

/// Copy of a store from before removals: its models, and the rows that they stood on.
class EarlierStore {
 public:
  EarlierStore(const fs::path& path, MemoryBudget& budget) : store_(path, budget) {}

  /// Null where there is nothing to compare with, which is remarked.
  const EarlierRelease* of(const ModelRecord& now, MemoryBudget& budget, VerifyReport& report) {
    const std::string& name = name_of(now);
    const auto skip = [&](const std::string& why) {
      report.remarks.push_back(name + ": not compared with " + store_.path().string() + ": " + why);
      return nullptr;
    };
    try {
      record_.emplace(load_model(store_.path(), name));
      check_propagation(*record_, store_.manifest(), store_.path());
      if (record_->model.sequence != store_.sequence() || store_.embedding().stale_rows() > 0)
        return skip("its model has not absorbed all its requests");
      if (record_->model.solver != now.model.solver || record_->options.lambda != now.options.lambda ||
          record_->options.head != now.options.head || record_->rows != now.rows || form_of(*record_) != form_of(now))
        return skip("its model was trained with other options");
      rows_.reset();
      rows_.emplace(store_, record_->rows, form_of(*record_), budget);
    } catch (const Error& error) {
      return skip(error.message());
    }
    release_.emplace(EarlierRelease{record_->model, rows_->set()});
    return &*release_;
  }

 private:
  StoreReader store_;
  std::optional<ModelRecord> record_;
  std::optional<TrainingRows> rows_;
  std::optional<EarlierRelease> release_;
};

void check_model(const ModelRecord& record, const LiveStore& store, RowsOfModels& rows_of, EarlierStore* before,
                 MemoryBudget& budget, VerifyReport& report) {
  const std::size_t known = report.findings.size();
  if (record.certificate.empty()) {
    ++report.outdated;
    report.remarks.push_back(name_of(record) + ": not computed again: no certificate speaks of this model file yet; " +
                             operation("stream " + shell_word(store.path().string()) + ' ' +
                                       option("requests", "/dev/null") + ' ' + selecting(name_of(record))) +
                             " makes it");
    return;
  }
  check_certificate(record, store, report);
  if (!kind_of(record.model).claims) return static_cast<void>(is_up_to_date(record, store, report));
  if (!is_present(record, store, report) || report.findings.size() > known) return;
  const TrainingSet* rows = rows_of.of(record, report);
  if (rows == nullptr) return;
  if (rows->size() == record.model.trained_rows)
    check_release(record, store, *rows, before != nullptr ? before->of(record, budget, report) : nullptr, budget,
                  report);
  else
    report.findings.push_back({false, "releases: " + name_of(record) + ": the model says that it was trained on " +
                                          std::to_string(record.model.trained_rows) + " rows, there are " +
                                          std::to_string(rows->size())});
}

/// What a model keeps in memory.
std::uint64_t bytes_of(const ModelRecord& record) {
  std::uint64_t bytes = sizeof(record) + static_cast<std::uint64_t>(record.model.published.size()) * sizeof(double) +
                        record.certificate.capacity() + record.private_part.capacity();
  for (const auto& [name, values] : record.model.state.arrays) bytes += values.capacity() * sizeof(double);
  for (const std::string& request : record.requests) bytes += sizeof(std::string) + request.capacity();
  return bytes;
}

/// Whether a writer has replaced the model since, and perhaps removed files beside it.
bool is_released_again(const ModelRecord& record, const fs::path& store) {
  try {
    return load_model(store, name_of(record)).certificate != record.certificate;
  } catch (const std::exception&) {
    return false;
  }
}

/// The store's own key, where there is one: it signs one of the logs at least.
void check_signing_key(const fs::path& store, const std::set<std::string>& keys, VerifyReport& report) {
  const fs::path file = signing_key_file(store);
  if (!has_entry(file)) return;
  read_file(file, "", report, [&] {
    const SigningKey key = SigningKey::stored_in(store);
    if (!keys.empty() && !keys.contains(key.public_key()))
      throw DataError(file.string() + ": none of the certificates here is signed by this key; restore it from a copy");
  });
}

}  // namespace

ReadModels read_models(const fs::path& store, const Manifest& manifest, const VerifyOptions& options,
                       MemoryBudget& budget, VerifyReport& report) {
  ReadModels models;
  switch (purge_state(store)) {
    case PurgeState::decided:
      report.remarks.push_back(store.string() +
                               ": a purge was interrupted, and models and files that it removes may lie " +
                               "there yet; run " + operation("purge " + shell_word(store.string())) + " again");
      return models;
    case PurgeState::begun:
      report.remarks.push_back(store.string() + ": a purge was interrupted and nothing is purged; run " +
                               operation("purge " + shell_word(store.string())) + " again");
      break;
    case PurgeState::none:
      break;
  }
  std::set<std::string> keys;
  for (const std::string& name : model_names(store, manifest)) {
    const fs::path model = model_file(store, name);
    const auto note_absence = [&](const std::optional<LogChecker>& log) {
      if (log && log->number() > 0)
        report.remarks.push_back(model.string() + ": there are certificates of this model, but no model; run " +
                                 train_command(store, name));
    };
    // First: a writer at work adds to it after the model.
    const std::optional<LogChecker> log = read_log(store, manifest, name, options, report);
    if (log && log->number() > 0) keys.insert(log->public_key());
    if (!has_entry(model)) {
      if (manifest.release(model.lexically_relative(store).string()) != nullptr &&
          !read_file(model, "", report, [&] { require_no_recorded_model(store, manifest, name); }))
        continue;
      note_absence(log);
      continue;
    }
    read_file(model, ", or run " + train_command(store, name), report, [&] {
      try {
        ModelRecord record = load_model(store, manifest, name);
        Reservation memory = budget.reserve(bytes_of(record), "the model " + model.string());
        if (log) compare(record, *log, public_log(store, name), options, report);
        models.memory.push_back(std::move(memory));
        models.records.push_back(std::move(record));
      } catch (const UsageError&) {  // a purge has removed it since
        note_absence(log);
      }
    });
  }
  check_signing_key(store, keys, report);
  return models;
}

void check_models(const std::vector<ModelRecord>& models, const LiveStore& store, const VerifyOptions& options,
                  MemoryBudget& budget, VerifyReport& report) {
  RowsOfModels rows_of(store, budget);
  std::optional<EarlierStore> before;
  if (!options.before.empty()) before.emplace(options.before, budget);
  for (const ModelRecord& record : models) {
    const std::size_t known = report.findings.size();
    check_model(record, store, rows_of, before ? &*before : nullptr, budget, report);
    if (report.findings.size() == known || !is_released_again(record, store.path())) continue;
    report.findings.resize(known);
    report.remarks.push_back(name_of(record) + ": not computed again: a writer released it anew meanwhile");
  }
}

}  // namespace unweave
