// algorithms/live/request_room.h - memory of requests: while they wait to be applied, and while a
// batch of them is.
//
// Whoever acknowledges requests before they are applied sets all of it aside beforehand, in three
// parts of a size: for those that wait, for the batch that is applied, and for what those that wait
// are going to change in the lists of the graph and in the rows. A request that is acknowledged can
// therefore be applied, and a replay, which needs less, can be done by a later process that has as
// much memory.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "algorithms/live/batch_report.h"
#include "engine/resources/memory.h"
#include "storage/io/error.h"
#include "storage/types/request.h"

namespace unweave {

/// What requests take, in bytes.
class RequestBytes {
 public:
  /// `columns`: values of a row of features. `receipts`: a model writes a receipt for each, and
  /// keeps their texts.
  RequestBytes(std::uint32_t columns, bool receipts) noexcept : columns_(columns), receipts_(receipts) {}
  /// While their batch is applied: for themselves, what they are resolved to, and what an update
  /// makes of that. `text`: text_bytes() of them.
  [[nodiscard]] std::uint64_t in_batch(std::uint64_t requests, std::uint64_t text) const noexcept;
  /// While they wait, with what is told of them until they are applied.
  [[nodiscard]] std::uint64_t waiting(std::uint64_t requests, std::uint64_t text) const noexcept;
  /// How many from the front take up to `bytes` as a batch.
  [[nodiscard]] std::size_t fitting(std::span<const Request> requests, std::uint64_t bytes) const noexcept;

 private:
  std::uint32_t columns_;
  bool receipts_;
};

/// Memory of the notes that these requests may set, of what is to be removed later.
[[nodiscard]] std::uint64_t note_bytes(std::span<const Request> requests) noexcept;
/// Before anything is acknowledged: notes stay in memory until their time has come, and the next
/// process needs as much. Throws FullError where `more` bytes of them, and those of `bytes` that
/// there are, fill more than their share of the budget.
void require_room_for_notes(std::uint64_t more, std::uint64_t bytes, const MemoryBudget& budget);

/// Memory that is set aside for requests that are acknowledged before they are applied.
class RequestRoom {
 public:
  /// Throws ResourceError.
  RequestRoom(MemoryBudget& budget, const RequestBytes& bytes);
  RequestRoom(const RequestRoom&) = delete;
  RequestRoom& operator=(const RequestRoom&) = delete;

  /// For those that wait. Any thread. Throws NoRoomError, TooLargeError.
  [[nodiscard]] Reservation reserve(std::uint64_t bytes);
  /// Most bytes of a batch.
  [[nodiscard]] std::uint64_t batch_bytes() const noexcept { return batch_.bytes(); }
  /// Gives the part for changes to whoever makes them.
  void lend() noexcept {
    is_lent_ = true;
    changes_.release();
  }
  /// Takes it back where the budget has it. While it is lent, nothing is acknowledged.
  void take_back();
  [[nodiscard]] bool is_lent() const noexcept { return is_lent_; }

 private:
  MemoryBudget& budget_;
  std::uint64_t size_;                     ///< bytes of a part
  Reservation charged_, batch_, changes_;  ///< for those that wait, and the others
  std::atomic<bool> is_lent_ = false;
  MemoryBudget waiting_;
};

}  // namespace unweave
