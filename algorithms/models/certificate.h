// algorithms/models/certificate.h - what is said of one release of a model.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "algorithms/models/model_record.h"
#include "algorithms/unlearning/report.h"

namespace unweave {

/// What a certificate needs beside model and report.
struct ReleaseContext {
  bool adaptive = true;               ///< requests may have been chosen after seeing earlier releases
  std::string program;                ///< version of this build
  std::vector<std::string> withdraw;  ///< releases that still show what this one forgot
  std::filesystem::path key{};        ///< file of the key that signs; empty: the store's own
  std::filesystem::path receipts{};   ///< file that gets a receipt for every request; empty: there are none
  std::string time{};                 ///< when it is made, by the minute; empty: it has no time, by the learner
  bool may_be_empty = false;          ///< training rows may all be gone, as in a stream whose model a purge has removed
  bool lazy = false;                  ///< LiveStore::lazy() at the release, by the learner
};

/// What a certificate and a model say of rows that are kept in place of sums.
[[nodiscard]] nlohmann::ordered_json rows_json(const KeptForm& kept);

/// The members of a certificate that speak of the release. `private` names those that are noiseless
/// functions of removed data; of `terms` these are all that `public_terms` does not name.
[[nodiscard]] nlohmann::ordered_json certificate_fields(const ModelRecord& record, const StepReport& report,
                                                        const ReleaseContext& context);

}  // namespace unweave
