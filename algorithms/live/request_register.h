// algorithms/live/request_register.h - which ids the requests of a store have had: a request that is sent twice is applied once.
//
// An id belongs to the first request that bore it and became durable, applied or rejected. A replay of the journal meets
// requests that the log of requests (request_log.h) has already: number and time tell that they are the same ones.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "algorithms/random/hash.h"
#include "algorithms/updates/request_status.h"
#include "engine/resources/memory.h"
#include "storage/formats/manifest.h"
#include "storage/formats/request_log.h"

namespace unweave {

class RequestRegister {
 public:
  /// Reads the ids of a store's log. A `writer` adds to it, others only in memory. Throws RecordError, ResourceError.
  RequestRegister(const std::filesystem::path& store, const Manifest& manifest, bool writer, MemoryBudget& budget);

  /// For each request of a batch, whether an earlier one has its id. `time`: when the batch became durable, where it has;
  /// `after`: the number of the request before it.
  [[nodiscard]] std::vector<bool> known(std::span<const Request> requests, std::uint64_t after,
                                        std::optional<Millis> time) const;
  /// Takes the ids of a durable batch.
  void note(std::span<const Request> requests, std::span<const RequestStatus> statuses, std::uint64_t after,
            Millis time);

  /// Makes the lines of a writer's log durable.
  void sync();
  /// How many bytes of the log they fill.
  [[nodiscard]] std::uint64_t log_bytes() const noexcept { return log_ ? log_->bytes() : bytes_; }

 private:
  /// Half of the keyed hash of an id: nobody can give a request an id that is taken for another one.
  using Key = std::array<std::uint64_t, 2>;
  struct KeyHash {
    std::size_t operator()(const Key& key) const noexcept { return key[0]; }
  };
  struct Mark {
    std::uint64_t sequence = 0;
    Millis time = 0;
    friend bool operator==(const Mark&, const Mark&) = default;
  };
  [[nodiscard]] Key key_of(std::string_view id) const;
  void insert(std::string_view id, Mark mark);

  std::filesystem::path store_;
  bool writer_;
  MemoryBudget& budget_;
  Hash secret_{};
  Reservation memory_;
  std::unordered_map<Key, Mark, KeyHash> ids_;
  std::uint64_t bytes_ = 0;        ///< whole lines of the file that was read
  std::optional<RequestLog> log_;  ///< a writer's, once there is a line to add
};

}  // namespace unweave
