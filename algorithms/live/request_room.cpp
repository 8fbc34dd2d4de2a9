// algorithms/live/request_room.cpp - counts what requests take, and sets it aside.
#include "algorithms/live/request_room.h"

#include <algorithm>
#include <string>

#include "engine/graph/expiries.h"
#include "engine/resources/memory_shares.h"
#include "storage/io/readable_bytes.h"

namespace unweave {
namespace {

/// Memory of a request while it is applied: that of an edge, whose two ends get lists and rows of
/// their own.
constexpr std::uint64_t kRequestBytes = 640;
/// What the words of a request come to meanwhile: the request twice, the journal's record, numbers.
constexpr std::uint64_t kTextCopies = 6;
/// A receipt has a line in the model's file, which is written from a tree of texts, and is read
/// beside the one before.
constexpr std::uint64_t kReceiptBytes = 1280, kReceiptTextCopies = 8;
/// A row of features while its text is read: float64, float32 twice, and its words.
constexpr std::uint64_t kValueBytes = 24;
/// A request that waits, and what is told of it by its id.
constexpr std::uint64_t kWaitingBytes = 512, kWaitingTextCopies = 2;
/// Parts of a room for smaller ones make no sense.
constexpr std::uint64_t kLeastPart = std::uint64_t{64} << 10;
constexpr const char* kWaiting = "requests that wait to be applied";

}  // namespace

std::uint64_t RequestBytes::in_batch(std::uint64_t requests, std::uint64_t text) const noexcept {
  const std::uint64_t row = text > 0 ? columns_ * kValueBytes : 0;
  return row + requests * (kRequestBytes + (receipts_ ? kReceiptBytes : 0)) +
         text * (kTextCopies + (receipts_ ? kReceiptTextCopies : 0));
}

std::uint64_t RequestBytes::waiting(std::uint64_t requests, std::uint64_t text) const noexcept {
  // After a crash all that waited get their receipts at once.
  return requests * (kWaitingBytes + (receipts_ ? kReceiptBytes : 0)) +
         text * (kWaitingTextCopies + (receipts_ ? kReceiptTextCopies : 0));
}

std::size_t RequestBytes::fitting(std::span<const Request> requests, std::uint64_t bytes) const noexcept {
  std::uint64_t text = 0;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    text += text_bytes(requests.subspan(i, 1));
    if (in_batch(i + 1, text) > bytes) return i;
  }
  return requests.size();
}

std::uint64_t note_bytes(std::span<const Request> requests) noexcept {
  std::uint64_t bytes = 0;
  for (const Request& one : requests)
    if (sets_expiry(one.kind) && one.value != "never") bytes += Expiries::bytes(1, one.id.size());
  return bytes;
}

void require_room_for_notes(std::uint64_t more, std::uint64_t bytes, const MemoryBudget& budget) {
  const std::uint64_t most = memory_shares::kExpiries.of(budget);
  if (more == 0 || bytes + more <= most) return;
  throw FullError(
      "what expires: its notes would take " + readable_bytes(bytes + more) + ", and " + readable_bytes(most) + " of " +
      readable_bytes(budget.limit()) + " of memory are for about " + std::to_string(most / Expiries::bytes(1, 0)) +
      " of them; note fewer, remove things yourself when their time has come, or raise " + option("memory"));
}

RequestRoom::RequestRoom(MemoryBudget& budget, const RequestBytes& bytes)
    : budget_(budget),
      size_(std::max(memory_shares::kWaitingRequests.of(budget), bytes.in_batch(1, 1) + kLeastPart)),
      charged_(budget.reserve(size_, kWaiting)),
      batch_(budget.reserve(size_, kWaiting)),
      changes_(budget.reserve(size_, kWaiting)),
      waiting_(size_) {}

Reservation RequestRoom::reserve(std::uint64_t bytes) {
  const std::string needed = std::string(kWaiting) + ": " + readable_bytes(bytes) + " of memory needed, ";
  if (bytes > size_)
    throw TooLargeError(needed + readable_bytes(size_) + " of " + readable_bytes(budget_.limit()) +
                        " are for them; send fewer or shorter ones at a time, or raise " + option("memory"));
  if (is_lent())
    throw NoRoomError(needed + "and what the last batches have changed fills it; send again later, or raise " +
                      option("memory"));
  if (bytes > waiting_.available())
    throw NoRoomError(needed + readable_bytes(waiting_.available()) + " of " + readable_bytes(size_) +
                      " are left; send again later");
  return waiting_.reserve(bytes, kWaiting);
}

void RequestRoom::take_back() {
  if (!is_lent() || budget_.available() < size_) return;
  try {
    changes_ = budget_.reserve(size_, kWaiting);
    is_lent_ = false;
  } catch (const ResourceError&) {  // another thread has taken of it meanwhile
  }
}

}  // namespace unweave
