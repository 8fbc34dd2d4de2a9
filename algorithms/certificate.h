// algorithms/certificate.h - what is said of one release of a model, in one line of JSON.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/model_record.h"
#include "storage/line_log.h"

namespace unweave {

/// What a certificate needs beside model and report.
struct ReleaseContext {
  bool adaptive = true;               ///< requests may have been chosen after seeing earlier releases
  std::string program;                ///< version of this build
  std::vector<std::string> withdraw;  ///< releases that still show what this one forgot
};

/// Whether a release covers the later ones: it stands on exact rows, and the next one reads published weights and present
/// data, and nothing else that depends on what was removed. The caller sees to it that positions do not either.
[[nodiscard]] bool covers_later_releases(const Model& model, const StepReport& report);

/// One line, without the newline. The certificate names what in it is private: noiseless functions of removed data.
[[nodiscard]] std::string make_certificate(const ModelRecord& record, const StepReport& report,
                                           const ReleaseContext& context);

/// The text of a JSON object with a last member more, "digest": BLAKE2b-256 of the text before that member, in hexadecimal
/// digits. It finds an altered number; who alters the digest too is found by `verify` alone, by what it computes anew.
[[nodiscard]] std::string seal_certificate(std::string object);
/// Whether a line ends with its own digest.
[[nodiscard]] bool is_sealed(std::string_view line);

/// Makes the certificate of the model's last release the last line of certificates/<solver>.jsonl, unless it is there
/// already; durable once it is synced. The model file holds the certificate too: a crash loses nothing as long as no other
/// model replaces it before.
[[nodiscard]] AppendedLine log_certificate(const std::filesystem::path& store, const ModelRecord& record);

}  // namespace unweave
