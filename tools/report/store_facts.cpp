// tools/report/store_facts.cpp - what a store says of itself, and the public lines of its
// certificates.
#include "tools/report/store_facts.h"

#include <algorithm>
#include <deque>
#include <iterator>
#include <optional>
#include <utility>

#include "storage/io/entry.h"
#include "storage/io/error.h"
#include "storage/io/line_log.h"
#include "storage/io/store_folders.h"

namespace unweave {
namespace {

/// NAME.private.jsonl holds what depends on removed data; its name ends like those of public logs.
bool is_public_log(const std::filesystem::path& file) {
  return file.extension() == ".jsonl" && file.stem().extension() != ".private";
}

CertificateLog read_certificate_log(const std::filesystem::path& file) {
  CertificateLog log{file.stem().string(), {}};
  read_lines(file, [&](std::string_view line, std::uint64_t number) {
    if (!line.starts_with(kPublicLine))
      throw FormatError(file, "line " + std::to_string(number), "this is no public line of a certificate");
    try {
      log.certificates.push_back(parse_run_line(file, number, line));
    } catch (const InputError& error) {
      throw FormatError(file, error.place, "this is no JSON object");
    }
  });
  return log;
}

LoggedRequests read_logged_requests(const std::filesystem::path& store, Resources& resources) {
  LoggedRequests logged;
  std::deque<RequestRecord> newest;
  visit_requests(store, std::nullopt, resources, [&](const RequestRecord& record) {
    ++logged.total;
    if (!record.purged) {
      ++logged.unpurged;
      if (record.status == "applied" && record.removes()) {
        if (logged.unpurged_removals++ == 0 || record.time < logged.first_removal) logged.first_removal = record.time;
      }
    }
    newest.push_front(record);
    if (newest.size() > LoggedRequests::kMostShown) newest.pop_back();
  });
  logged.newest.assign(std::make_move_iterator(newest.begin()), std::make_move_iterator(newest.end()));
  return logged;
}

}  // namespace

StoreFacts read_store_facts(const std::filesystem::path& named, Resources& resources) {
  const std::filesystem::path store = resolved(named);
  StoreFacts facts;
  facts.info = describe_store(store, resources, true);
  facts.name = std::filesystem::weakly_canonical(store).filename().string();
  facts.requests = read_logged_requests(store, resources);
  for (const Entry& entry : list_folder(store / kCertificatesFolder)) {
    if (!is_public_log(entry.path)) continue;
    CertificateLog log = read_certificate_log(entry.path);
    if (!log.certificates.empty()) facts.logs.push_back(std::move(log));
  }
  std::sort(facts.logs.begin(), facts.logs.end(), [](const auto& a, const auto& b) { return a.model < b.model; });
  return facts;
}

}  // namespace unweave
