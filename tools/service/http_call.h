// tools/service/http_call.h - a call of a client and its answer, as transport and routes hand them
// to each other.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/resources/memory.h"

namespace unweave {

/// What one call holds of the memory that all calls share, until its client has taken the answer.
class CallMemory {
 public:
  CallMemory() = default;
  /// `small`: where large calls have taken all that is shared, small ones go on with this.
  CallMemory(MemoryBudget& shared, MemoryBudget& small) noexcept : shared_(&shared), small_(&small) {}

  /// Takes so many bytes more. Throws ResourceError where others have them.
  void add(std::uint64_t bytes) {
    used_ += bytes;
    if (used_ <= reserved_) return;
    // Some more than is needed, where that is there.
    const std::uint64_t least = used_ - reserved_;
    const std::uint64_t more = shared_->available() < std::max(least, kStep) ? least : std::max(least, kStep);
    const bool from_small = used_ <= kSmall && shared_->available() < more;
    parts_.push_back((from_small ? small_ : shared_)->reserve(more, "a call"));
    reserved_ += more;
  }
  /// Sees to it that the call holds so many bytes at least. Throws ResourceError likewise.
  void cover(std::uint64_t bytes) {
    if (bytes > used_) add(bytes - used_);
  }
  /// Whether a call of so many bytes could ever be taken.
  [[nodiscard]] bool can_hold(std::uint64_t bytes) const noexcept { return bytes <= shared_->limit(); }
  /// Whether it would not fit if no other call were there.
  [[nodiscard]] bool is_too_large() const noexcept { return used_ > shared_->limit(); }

 private:
  static constexpr std::uint64_t kStep = 1024, kSmall = std::uint64_t{16} << 10;

  MemoryBudget* shared_ = nullptr;
  MemoryBudget* small_ = nullptr;
  std::vector<Reservation> parts_;
  std::uint64_t used_ = 0, reserved_ = 0;
};

/// What a call says before its body.
struct CallHead {
  std::string method;
  std::string target;  ///< begins with a slash
  bool has_body = false;
  // Headers that matter here, each of which may stand once; none where it is missing.
  std::optional<std::string> host, origin, fetch_site, authorization, cookie, content_type, expect;
};

struct Call {
  CallHead head;
  std::string body;
  CallMemory memory;
};

struct Answer {
  int status = 200;
  std::string body;
  std::string type = "application/json";
  std::vector<std::pair<std::string, std::string>> headers{};  ///< further ones
};

/// Where a call is answered: beside many others, or one after another with those of its kind, whose
/// answers may take seconds.
enum class Lane : std::uint8_t { quick, look_ups, predictions };
inline constexpr std::size_t kLanes = 3;

/// What becomes of a call whose head is read.
struct Admission {
  std::optional<Answer> refusal;  ///< it is answered so, and its body never read
  bool known_caller = false;      ///< it came with a token: its connection makes room for no other
  Lane lane = Lane::quick;
  bool is_last = false;  ///< the connection is closed behind the answer
  /// Its body is a form of at most so many bytes. Strangers may send forms, which have a memory of
  /// their own, and as little time as a head. 0: it is none.
  std::uint64_t form_bytes = 0;
};

}  // namespace unweave
