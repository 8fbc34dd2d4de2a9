// algorithms/verification/verify_log.h - a log of certificates as an auditor sees it, and receipts
// against it: chain, signatures, numbers that count on, and what follows from public numbers alone.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/models/certificate_log.h"
#include "algorithms/verification/verify.h"

namespace unweave {

/// What later checks need of one line.
struct CheckedLine {
  Hash digest{};
  Hash commitment{};
  std::string solver;
  std::optional<Hash> root;  ///< root of the tree of its requests; absent: there are no receipts
  std::uint64_t sequence = 0;
  std::uint64_t first = 0;  ///< first request that it covers, up to `sequence`; 0: it covers no request
  double budget = 0;
  bool certified = false;  ///< as far as the public line says
  bool disclaims = false;  ///< it says that it is not certified; where that is private, it says neither
};

/// What one line says of itself, whatever the lines around it. Throws CheckError for what is false,
/// Json::exception, UsageError, std::runtime_error for what no release can say.
[[nodiscard]] CheckedLine check_line(const nlohmann::ordered_json& line);

/// What public lines do not show though all checks of them hold, as remarks: whose key it is where
/// `public_key` names none, and which of `lines` are not certified. `last_key`: the key under which
/// they are signed.
void add_unproved(const std::filesystem::path& file, const std::vector<CheckedLine>& lines,
                  const std::optional<std::string>& public_key, const std::string& last_key, VerifyReport& report);

/// Takes the lines of one log in order.
class LogChecker {
 public:
  /// `public_key`: 64 hexadecimal digits that all lines must be signed under; none: any, but one
  /// for all.
  LogChecker(std::filesystem::path file, std::optional<std::string> public_key)
      : file_(std::move(file)), public_key_(std::move(public_key)) {}

  /// Throws DataError for a line that is no certificate or was altered, CheckError for one that
  /// says something false; then the checker is of no further use. `number`: that of the line in the
  /// file.
  void take(std::string_view line, std::uint64_t number);

  /// The lines of the certificates 1, 2, ...
  [[nodiscard]] const std::vector<CheckedLine>& lines() const noexcept { return lines_; }
  [[nodiscard]] const std::string& last() const noexcept { return last_; }         ///< the last line, empty without one
  [[nodiscard]] const std::string& id() const noexcept { return place_.release; }  ///< id of its release
  [[nodiscard]] std::uint64_t release() const noexcept { return release_; }
  [[nodiscard]] const std::string& public_key() const noexcept { return place_.public_key; }
  [[nodiscard]] std::uint64_t number() const noexcept { return place_.number; }  ///< number of its certificate
  /// Whether the line is the one to follow.
  [[nodiscard]] bool is_followed_by(std::string_view line) const;

 private:
  std::filesystem::path file_;
  std::optional<std::string> public_key_;
  LogPlace place_;
  std::string solver_, name_, last_;
  std::uint64_t release_ = 0, sequence_ = 0;
  std::vector<CheckedLine> lines_;
};

/// Reads the private parts to the certificates of a log that was checked: what they open must be
/// what was committed to, and no certified residual bound above its budget. Parts that are missing
/// are a remark.
LogEnd check_private_parts(const std::filesystem::path& file, const LogChecker& log, VerifyReport& report);

/// An exported model: the array `weights`, and beside it, under the same name with .jsonl, its
/// public line and the key of the line's weights_digest. What is wrong is found, not thrown. Throws
/// ResourceError where there is no room for so many weights as the line says.
[[nodiscard]] VerifyReport verify_exported_model(const std::filesystem::path& weights,
                                                 const std::optional<std::string>& public_key, MemoryBudget& memory);

/// Everything of a log of certificates that its public lines show, and receipts against it where a
/// file of them is named. `public_key`: see LogChecker. What is wrong is found, not thrown.
[[nodiscard]] VerifyReport verify_log(const std::filesystem::path& file, const std::optional<std::string>& public_key,
                                      const std::filesystem::path& receipts);

}  // namespace unweave
