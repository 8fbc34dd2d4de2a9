// storage/formats/request_log.h - certificates/requests, the log of the requests to which their
// senders gave an id: what was asked for, when, and whether it was applied (FORMAT.md, "Log of
// requests").
//
// It names no node, so that it outlives a purge. What a request asked for stands there as a keyed
// hash, so that another request of its id is told apart from the same one sent again; whoever has
// the key, which lies in the log, can test guesses, and so a purge takes key and hashes away. A
// line is written when its request is durable in the journal, and is durable itself before a
// checkpoint empties the journal: what a crash takes from its end, the journal still has.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "storage/formats/sealed_file.h"
#include "storage/io/file.h"
#include "storage/io/time_text.h"

namespace unweave {

/// As a manifest names it.
inline constexpr const char* kRequestLog = "certificates/requests";

struct LoggedRequest {
  std::uint64_t sequence = 0;  ///< number of the request since the import or the last purge
  Millis time = 0;             ///< when it became durable
  std::string_view kind;       ///< kind_name() of its kind; "purge" for a purge, which has neither sequence nor id
  std::string_view status;     ///< name of its RequestStatus; PurgedLogs of a purge
  std::string_view id;         ///< the sender's
  std::string_view
      mark{};  ///< 32 hexadecimal digits of what it asked for (ContentMarks); kExpiredMark; empty: not kept
  std::uint64_t earlier = 0;  ///< number of a request that asked for the same before and was applied; 0: none is known
};

inline constexpr std::string_view kPurgeLine = "purge";
/// The mark of a removal that a note has asked for: it bears the id of the request that set the
/// note.
inline constexpr std::string_view kExpiredMark = "expired";
/// Digits of a mark, and of the key of the marks.
inline constexpr std::size_t kMarkDigits = 32, kMarkKeyDigits = 64;
/// The longest id that a sender may give, in bytes.
inline constexpr std::size_t kMostIdBytes = 128;

/// Whether a sender may give this id: a plain text (plain_text.h) of 1 to kMostIdBytes bytes
/// without blanks and commas. A log may hold others, which older programs took: any bytes but
/// blanks, commas and control characters of ASCII. They count as they stand there, and are shown as
/// printable() has them.
[[nodiscard]] bool is_request_id(std::string_view text) noexcept;

/// Calls `use` for every whole line in order; its texts are valid during the call. What follows the
/// first damaged line is not read where a crash may have left it: behind the bytes that `recorded`
/// says (none: nothing is recorded) and behind the last purge. Returns how many bytes the lines
/// fill; 0 without a file. Throws RecordError for damage before. `use_key` hears of the key of all
/// marks behind it, kMarkKeyDigits digits.
std::uint64_t read_request_log(const std::filesystem::path& store, const FileEntry* recorded,
                               const std::function<void(const LoggedRequest&)>& use,
                               const std::function<void(std::string_view key)>& use_key = {});

/// The end of the log, which lines are added to.
class RequestLog {
 public:
  /// Opens or makes it, readable for its owner alone, and cuts off what follows the first `bytes`.
  RequestLog(const std::filesystem::path& store, std::uint64_t bytes);
  /// Durable once sync() has returned.
  void add(std::span<const LoggedRequest> requests);
  /// The key of the marks of all lines behind it; durable on return.
  void add_key(std::string_view key);
  void sync() const;
  [[nodiscard]] std::uint64_t bytes() const noexcept { return end_; }

 private:
  File file_;
  std::uint64_t end_;
};

/// Writes the log anew with these of its lines that `keep` says, durable on return. `recorded` is
/// as above.
void rewrite_request_log(const std::filesystem::path& store, const FileEntry* recorded,
                         const std::function<bool(const LoggedRequest&)>& keep);

/// Takes damaged lines out of the log, durable on return, and tells how many there were.
std::uint64_t mend_request_log(const std::filesystem::path& store);

/// How many lines a public log of certificates had at a purge: "exact:3,newton:1".
using PurgedLogs = std::map<std::string, std::uint64_t, std::less<>>;
/// What the status of a purge's line says.
[[nodiscard]] PurgedLogs read_purged_logs(std::string_view status);

/// Notes that the store was purged at this moment, and takes away what could tell what its requests
/// asked for: the marks and their key; durable on return. Does nothing where there is no log. Where
/// a log cannot be read, damaged lines stay damaged, so that who reads it next is told, and lose
/// their contents, in which a key may be.
void log_purge(const std::filesystem::path& store, Millis time, const PurgedLogs& logs);

}  // namespace unweave
