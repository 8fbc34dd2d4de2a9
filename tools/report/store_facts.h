// tools/report/store_facts.h - what a store says of itself, and the public lines of its certificates.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tools/report/run_lines.h"
#include "unweave/store.h"

namespace unweave {

/// The public certificates of one model, oldest first; at least one.
struct CertificateLog {
  std::string model;
  std::vector<RunLine> certificates;
};

struct StoreFacts {
  std::string name;                  ///< the last part of its path
  StoreInfo info;                    ///< with the content digest
  std::vector<CertificateLog> logs;  ///< by name, also of models that a purge has removed
};

/// Reads all of the store for its digest, and of certificates/ the public lines alone. Throws DataError, ResourceError.
[[nodiscard]] StoreFacts read_store_facts(const std::filesystem::path& store, Resources& resources);

}  // namespace unweave
