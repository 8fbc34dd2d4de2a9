// algorithms/models/certificate_log.h - the trail of a model's releases: a public line each,
// chained and signed, and a private part each, to which the public line commits.
//
// certificates/<name>.jsonl has the public lines, which may be given away: each names the digest of
// the one before it and is signed (signing_key.h). certificates/<name>.private.jsonl has what
// depends on removed data without noise, under a nonce. Both are append-only. The model file holds
// the newest of both too: a crash loses nothing as long as no other model replaces it before they
// are durable.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "algorithms/models/model_record.h"
#include "algorithms/models/signing_key.h"
#include "storage/io/line_log.h"
#include "storage/io/store_folders.h"

namespace unweave {

inline constexpr std::string_view kCertificateFormat = "unweave certificate 1";
static_assert(kCertificateFormat.starts_with(kCertificateFormats));

/// The end of a log.
struct LogPlace {
  std::string log;           ///< what tells it from other logs: 64 hexadecimal digits, drawn with the first line
  std::uint64_t number = 0;  ///< number of its last line; 0: there is none yet
  std::string digest;        ///< digest of its last line; `log` in an empty log
  std::string public_key;    ///< key of all its lines; empty in an empty log
  std::string release;       ///< id of the last line's release
};

/// Each throws UsageError for what can be no model's name (model_name.h).
[[nodiscard]] std::filesystem::path public_log(const std::filesystem::path& store, std::string_view name);
[[nodiscard]] std::filesystem::path private_log(const std::filesystem::path& store, std::string_view name);

/// The end of a log after this line. Throws DataError, naming `file`, for what is no line of a log.
[[nodiscard]] LogPlace place_after(std::string_view line, const std::filesystem::path& file);
/// The end that the line speaks of, sealed or not. Throws nlohmann::json::exception,
/// std::runtime_error.
[[nodiscard]] LogPlace place_in(const nlohmann::ordered_json& line);
/// The number of a line in its log, from 1; 0 where the line has none.
[[nodiscard]] std::uint64_t certificate_number(std::string_view line);
/// Whether the line may come next after `place`.
[[nodiscard]] bool follows(std::string_view line, const LogPlace& place);

/// Makes record.certificate, signed, and record.private_part out of `whole`: what
/// certificate_fields() says, where in the log it goes, and a nonce. Digests and signature that
/// `whole` has already are replaced.
void seal_certificate(ModelRecord& record, nlohmann::ordered_json whole, const SigningKey& key);
/// Both parts of the record's certificate together. Throws nlohmann::json::exception for what is no
/// JSON object.
[[nodiscard]] nlohmann::ordered_json whole_certificate(const ModelRecord& record);
/// A line and its private part together.
[[nodiscard]] nlohmann::ordered_json whole_certificate(std::string_view line, std::string_view private_part);

/// The line that opens the weights_digest of a certificate to whoever is given the weights.
inline constexpr std::string_view kWeightsKeyFormat = "unweave weights key 1";
[[nodiscard]] std::string weights_key_line(const ModelRecord& record);

/// Whether a line ends with the digest of its text and a signature of it under the key that the
/// line names.
[[nodiscard]] bool is_sealed(std::string_view line);

/// The newest certificate as the last line of both files, durable once sync() has returned.
class LoggedCertificate {
 public:
  LoggedCertificate(const std::filesystem::path& store, const ModelRecord& record);
  void sync() const;
  /// Bytes that lines fill in either file, the private one first.
  [[nodiscard]] std::array<std::uint64_t, 2> bytes() const { return {private_.end(), public_.end()}; }

 private:
  AppendedLine private_, public_;
};

/// How lambda and the weights of the levels were chosen.
struct Choices {
  std::string lambda, weights;
};
/// What the newest certificate of this name says of them: what a purge that kept the model does not
/// change. Throws DataError for what is no line of a log.
[[nodiscard]] Choices choices_in_log(const std::filesystem::path& store, std::string_view name);

/// Adds the model's certificate to both files where it is the one to come next, durable on return:
/// a crash may have kept it from them. Does nothing for a model without one.
void complete_log(const std::filesystem::path& store, const ModelRecord& record);

/// How a model's certificate and the end of its log fit.
enum class LogFit {
  follows,      ///< it is the last one, or the one to follow it; also where the model has yet to be certified
  ahead,        ///< the log goes on after it: the model is older
  lacks_lines,  ///< the log has lost its end, or is another one
  none,         ///< there is no log, though there was one
};
[[nodiscard]] LogFit fit_of_log(const std::filesystem::path& store, const ModelRecord& record);
/// The command that trains a model of this name anew, with the solver and the options that its log
/// names: a name has one solver's certificates.
[[nodiscard]] std::string train_command(const std::filesystem::path& store, std::string_view name);
/// Throws DataError that says what to do about a log that does not fit.
[[noreturn]] void refuse_log(const std::filesystem::path& store, std::string_view name);
/// Throws UsageError where the log of this name holds certificates of another solver.
void require_log_of(const std::filesystem::path& store, std::string_view name, std::string_view solver);

}  // namespace unweave
