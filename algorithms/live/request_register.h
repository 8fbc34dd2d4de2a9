// algorithms/live/request_register.h - which ids the requests of a store have had, and what for: a
// request that is sent twice is applied once, and another one of its id is told apart.
//
// An id belongs to the first request that bore it and was acknowledged, applied or rejected. What
// that asked for is kept as a keyed hash, whose key lies in the log of requests (request_log.h)
// until a purge. A replay of the journal meets requests that the log has already: number and time
// tell that they are the same ones. A removal that a note has asked for bears the id of the request
// that set the note, beside it.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "algorithms/random/hash.h"
#include "algorithms/updates/id_conflict.h"
#include "algorithms/updates/request_status.h"
#include "engine/resources/memory.h"
#include "storage/formats/request_log.h"
#include "storage/types/request.h"

namespace unweave {

struct Manifest;

/// Requests that are acknowledged already.
struct AcknowledgedAfter {
  std::uint64_t sequence = 0;  ///< number of the request before them
  std::optional<Millis> time;  ///< when they became durable; none: they wait, and the register knows that they do
};

/// Whether the register keeps a request's id: that of a removal that a note has asked for is the
/// note's.
[[nodiscard]] inline bool keeps_id(const Request& request) noexcept {
  return !request.id.empty() && !is_expired(request);
}

class RequestRegister {
 public:
  /// Reads the ids of a store's log. A `writer` adds to it, others only in memory. Throws
  /// RecordError, ResourceError.
  RequestRegister(const std::filesystem::path& store, const Manifest& manifest, bool writer, MemoryBudget& budget);

  /// For each request of a batch, whether an earlier one, of the batch or before it, has its id.
  /// `acknowledged`: where they are, no request is an earlier one of itself.
  [[nodiscard]] std::vector<IdUse> uses(std::span<const Request> requests,
                                        const std::optional<AcknowledgedAfter>& acknowledged) const;
  /// What the id of a request of a batch stands for, which is neither fresh nor known.
  [[nodiscard]] IdConflict conflict(std::span<const Request> requests, std::size_t index) const;
  /// Sets memory aside for so many ids more, before they become durable. Throws FullError where
  /// they would fill more than the share of the budget that is for ids
  /// (memory_shares::kRequestIds), whatever else is free: what applies requests needs the rest, and
  /// so does the next process, which reads all ids before anything else; ResourceError where it is
  /// not there now.
  void make_room(std::uint64_t more);
  /// Throws FullError likewise, and sets nothing aside.
  void require_share(std::uint64_t more) const;
  /// Sets the whole share aside. Throws ResourceError.
  void hold_share();
  /// Takes the ids of requests that are durable and wait to be decided: note() will be told of
  /// them.
  void note_waiting(std::span<const Request> requests, std::uint64_t after, Millis time);
  /// Takes the ids of a batch that is durable and decided.
  void note(std::span<const Request> requests, std::span<const RequestStatus> statuses, std::uint64_t after,
            Millis time);

  /// Makes the lines of a writer's log durable.
  void sync();
  /// How many bytes of the log they fill.
  [[nodiscard]] std::uint64_t log_bytes() const noexcept { return log_ ? log_->bytes() : bytes_; }

 private:
  /// Half of a keyed hash: nobody can give a request an id that is taken for another one.
  using Key = std::array<std::uint64_t, 2>;
  struct KeyHash {
    std::size_t operator()(const Key& key) const noexcept { return key[0]; }
  };
  /// The request that an id stands for.
  struct Known {
    std::uint64_t sequence = 0;
    Millis time = 0;
    Key mark{};               ///< the hash of what it asked for,
    std::uint32_t key = 0;    ///< by the key of this number; 0: nothing is kept
    std::uint32_t purge = 0;  ///< how many purges came before it
    RequestKind kind{};
    bool waiting = false;
  };
  [[nodiscard]] Key key_of(std::string_view id) const;
  [[nodiscard]] Key mark_of(const Request& request) const;
  [[nodiscard]] bool is_kept(const Known& known) const noexcept { return known.key == keys_; }
  void read(const LoggedRequest& line);
  Known& insert(std::string_view id, const Known& known);
  [[nodiscard]] Known known_of(const Request& request, std::uint64_t sequence, Millis time) const;
  /// Room for so many ids in all.
  void grow(std::uint64_t ids);

  std::filesystem::path store_;
  bool are_arcs_;  ///< edges have directions
  bool writer_;
  MemoryBudget& budget_;
  Hash secret_{};
  Hash mark_key_{};
  std::uint32_t keys_ = 0;        ///< how many keys of marks there were; the last one is mark_key_
  bool has_written_key_ = false;  ///< the log has it
  std::uint32_t purges_ = 0;
  std::vector<Reservation> memory_;
  std::uint64_t room_ = 0;  ///< ids that it is for
  std::unordered_map<Key, Known, KeyHash> ids_;
  std::unordered_map<Key, std::uint64_t, KeyHash> applied_;     ///< by marks: the last request that was applied
  std::set<std::pair<std::uint64_t, Millis>> logged_removals_;  ///< those of notes that the journal may have as well
  std::uint64_t journal_after_;
  std::uint64_t bytes_ = 0;        ///< whole lines of the file that was read
  std::optional<RequestLog> log_;  ///< a writer's, once there is a line to add
};

}  // namespace unweave
