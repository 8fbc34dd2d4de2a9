// algorithms/api/requests.cpp - holds the log of requests against the logs of certificates.
#include "unweave/requests.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "algorithms/live/live_store.h"
#include "algorithms/models/certificate_log.h"
#include "algorithms/models/recorded_release.h"
#include "engine/generations/store_purge.h"
#include "storage/io/json_text.h"
#include "storage/io/line_log.h"

namespace unweave {
inline namespace v0 {
namespace {

namespace fs = std::filesystem;

struct LoggedCertificateLine {
  CoveringCertificate certificate;
  std::uint64_t sequence = 0;  ///< the last request that it covers
};

/// The lines of a log of certificates, in order.
std::vector<LoggedCertificateLine> read_certificates(const fs::path& log, const std::string& name) {
  std::vector<LoggedCertificateLine> lines;
  static_cast<void>(read_lines(log, [&](std::string_view text, std::uint64_t) {
    const auto json = parse_json_or_discard<nlohmann::ordered_json>(text);
    LoggedCertificateLine line;
    line.certificate.model = name;
    line.certificate.number = certificate_number(text);
    if (json.is_object()) {
      line.certificate.time = json.value("time", std::string());
      line.certificate.release = json.value("id", std::string());
      line.sequence = json.value("sequence", std::uint64_t{0});
    }
    lines.push_back(std::move(line));
  }));
  return lines;
}

/// Logs by the names of their models; also of models that are gone.
std::vector<std::pair<std::string, std::vector<LoggedCertificateLine>>> read_logs(const fs::path& store) {
  std::vector<std::pair<std::string, std::vector<LoggedCertificateLine>>> logs;
  const fs::path folder = store / kCertificatesFolder;
  std::error_code missing;
  for (const auto& item : fs::directory_iterator(folder, missing)) {
    const fs::path& file = item.path();
    if (file.extension() != ".jsonl" || file.stem().extension() == ".private") continue;
    logs.emplace_back(file.stem().string(), read_certificates(file, file.stem().string()));
  }
  std::sort(logs.begin(), logs.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  return logs;
}

/// How many lines a log had at a purge.
std::size_t lines_at(const PurgedLogs& purge, const std::string& name) {
  const auto found = purge.find(name);
  return found == purge.end() ? 0 : found->second;
}

using VisitLog = std::function<void(const std::function<void(const LoggedRequest&)>&)>;

/// `visit` goes through the log, twice.
void visit(const fs::path& path, const std::optional<std::string>& id, const VisitLog& visit_log,
           const std::function<void(const RequestRecord&)>& use) {
  const std::vector<ModelSummary> models = list_models(path);
  const auto logs = read_logs(path);
  std::vector<PurgedLogs> purges;  // from the oldest on
  visit_log([&](const LoggedRequest& request) {
    if (request.kind == kPurgeLine) purges.push_back(read_purged_logs(request.status));
  });
  std::size_t met = 0;  // purges
  visit_log([&](const LoggedRequest& logged) {
    if (logged.kind == kPurgeLine) {
      ++met;
      return;
    }
    if ((id && logged.id != *id) || met > purges.size()) return;
    RequestRecord record{std::string(logged.id),
                         std::string(logged.kind),
                         std::string(logged.status),
                         logged.sequence,
                         logged.time,
                         met < purges.size(),
                         {},
                         {}};
    for (const auto& [name, lines] : logs) {
      // Numbers of requests begin again at a purge, and every release after it covers what was asked for before.
      const std::size_t begin = met > 0 ? lines_at(purges[met - 1], name) : 0;
      const std::size_t end = record.purged ? lines_at(purges[met], name) : lines.size();
      for (std::size_t i = begin; i < lines.size(); ++i) {
        if (i < end && lines[i].sequence < logged.sequence) continue;
        record.certificates.push_back(lines[i].certificate);
        break;
      }
    }
    for (const ModelSummary& model : models)
      if (record.status == "applied" && record.kind != "expires" && model.damage.empty() && !record.purged &&
          model.sequence < logged.sequence)
        record.waiting.push_back(model.name);
    use(record);
  });
}

}  // namespace

void visit_requests(const fs::path& path, const std::optional<std::string>& id, Resources& resources,
                    const std::function<void(const RequestRecord&)>& use) {
  const LiveStore store(path, Access::read, resources.memory(), release_ledger());
  visit(
      path, id, [&](const auto& each) { store.visit_requests(each); }, use);
}

void visit_logged_requests(const fs::path& path, const std::optional<std::string>& id,
                           const std::function<void(const RequestRecord&)>& use) {
  visit(
      path, id, [&](const auto& each) { static_cast<void>(read_request_log(path, nullptr, each)); }, use);
}

std::uint64_t forget_requests(const fs::path& path, Millis before, Resources& resources) {
  LiveStore store(path, Access::write, resources.memory(), release_ledger());
  return store.forget_requests(before);
}

}  // namespace v0
}  // namespace unweave
