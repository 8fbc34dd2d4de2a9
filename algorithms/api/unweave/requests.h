// algorithms/api/unweave/requests.h - what became of the requests to which their senders gave an
// id, and what is left to do for them: how an erasure within a deadline is shown.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "storage/io/time_text.h"
#include "unweave/resources.h"

namespace unweave {
inline namespace v0 {

/// The first certificate of a model that covers a request.
struct CoveringCertificate {
  std::string model;         ///< name of the model
  std::uint64_t number = 0;  ///< its number in the model's log
  std::string release;       ///< id of the release
  std::string time;          ///< its signed time; empty: it has none
};

struct RequestRecord {
  std::string id;              ///< as printable() has it
  std::string kind;            ///< the first word of its line; "expires" where something is to go later
  std::string status;          ///< "applied", or why it was rejected (RequestStatus)
  std::uint64_t sequence = 0;  ///< its number in the store, since the import or the purge before it
  Millis time = 0;             ///< when it became durable
  bool purged = false;         ///< no file of the store has the removed item any more
  std::vector<CoveringCertificate> certificates;  ///< one a model that covers it, by name
  std::vector<std::string> waiting;  ///< models that have yet to absorb what it changed, by name; no note does
  bool expired = false;              ///< the removal that the note of the request of this id has asked for
  /// A request that asked for the same before and was applied, where this one was rejected: what is
  /// told of certificates, models and purge is told of it. 0: none is known, or it had no id.
  std::uint64_t earlier = 0;
  std::string earlier_id;  ///< empty where it is forgotten
  Millis earlier_time = 0;
  /// Whether what it asks for is done: by itself, or by an earlier request.
  [[nodiscard]] bool done() const noexcept { return status == "applied" || earlier > 0; }
  /// Whether it took anything away that files hold until a purge.
  [[nodiscard]] bool removes() const noexcept {
    return kind != "insert-edge" && kind != "insert-node" && kind != "expires";
  }
  /// Nothing is left to do: every model covers it, and the store was purged of what it has removed.
  /// A rejected request for which no earlier one is known is settled, too.
  [[nodiscard]] bool settled() const noexcept { return !done() || (waiting.empty() && (purged || !removes())); }
};

/// Calls `use` for every request with an id, from the oldest on; `id`: for this one alone. Writes
/// nothing. Throws DataError, ResourceError.
void visit_requests(const std::filesystem::path& store, const std::optional<std::string>& id, Resources& resources,
                    const std::function<void(const RequestRecord&)>& use);

/// Does so beside a writer at work, without opening the store: requests that are acknowledged and
/// not applied yet are missing, and those that a crash kept from the log until the next writer has
/// opened the store.
void visit_logged_requests(const std::filesystem::path& store, const std::optional<std::string>& id,
                           const std::function<void(const RequestRecord&)>& use);

/// The last requests with an id, and how many there are in all.
struct NewestRequests {
  std::vector<RequestRecord> requests;  ///< the newest first
  std::uint64_t total = 0;
};

/// The last `most` requests, read as visit_logged_requests() reads them, in memory for so many.
[[nodiscard]] NewestRequests newest_logged_requests(const std::filesystem::path& store, std::size_t most);

/// Forgets requests that became durable before this moment: their lines go, and a request that has
/// such an id is a new one. Opens the store to write; returns how many there were. Throws
/// DataError, ResourceError.
std::uint64_t forget_requests(const std::filesystem::path& store, Millis before, Resources& resources);

}  // namespace v0
}  // namespace unweave
