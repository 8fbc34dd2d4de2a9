// tools/report/store_facts.h - what a store says of itself, and the public lines of its
// certificates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "tools/report/run_lines.h"
#include "unweave/requests.h"
#include "unweave/store.h"

namespace unweave {

/// The public certificates of one model, oldest first; at least one.
struct CertificateLog {
  std::string model;
  std::vector<RunLine> certificates;
};

/// Requests to which their senders gave an id.
struct LoggedRequests {
  std::vector<RequestRecord> newest;  ///< the newest first, at most kMostShown
  std::uint64_t total = 0;
  std::uint64_t unpurged = 0;           ///< since the import or the last purge
  std::uint64_t unpurged_removals = 0;  ///< those of them that have removed or replaced something
  Millis first_removal = 0;             ///< when the first of these was durable

  static constexpr std::size_t kMostShown = 200;
};

struct StoreFacts {
  std::string name;                  ///< the last part of its path
  StoreInfo info;                    ///< with the content digest
  std::vector<CertificateLog> logs;  ///< by name, also of models that a purge has removed
  LoggedRequests requests;
};

/// Reads all of the store for its digest, and of certificates/ the public lines alone. Throws
/// DataError, ResourceError.
[[nodiscard]] StoreFacts read_store_facts(const std::filesystem::path& store, Resources& resources);

}  // namespace unweave
