// algorithms/updates/request_status.h - what became of a request: applied, or rejected for one of a
// few reasons. Their names stand in receipts and in what programs read, and never change their
// meaning.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "storage/io/time_text.h"

namespace unweave {

struct Request;

/// A request is rejected iff it would change nothing at its place in the stream, or asks for what
/// the store cannot have.
enum class RequestStatus : std::uint8_t {
  applied,
  id_outside,
  self_loop,
  absent_edge,
  present_edge,
  empty_node,
  no_features,
  repeated,
  known_id,
  wrong_values,
  above_bound,
  standardized,
  class_outside,
  no_labels,
  no_split,
  no_label,
  same_features,
  same_label,
  same_split,
  present_node,
  same_expiry,
  weight_outside,
  same_weight,
  other_expiry,
  number_or_name,
  no_relation,
  graph_outside,
  empty_graph,
  joins_graphs,
  too_heavy,
  other_types,
};

struct StatusText {
  std::string_view name;      ///< for programs
  std::string_view sentence;  ///< for people
};

inline constexpr std::size_t kStatuses = 31;
/// The texts of all statuses, in the order of RequestStatus.
extern const std::array<StatusText, kStatuses> kStatusTexts;

[[nodiscard]] std::string_view name_of(RequestStatus status);

/// Whether a name in such a request may be one that nobody has, or has any more.
[[nodiscard]] constexpr bool names_nobody(RequestStatus status) noexcept {
  return status == RequestStatus::id_outside || status == RequestStatus::known_id;
}

/// What a receipt commits to: the line of the request with the moment when it became durable ("edge
/// 3 14 id=T7 at=2026-03-01T12:00:00.123Z"), where that is known, and behind a tab "applied", or
/// "rejected" and behind another tab the reason.
[[nodiscard]] std::string outcome_of(const Request& request, RequestStatus status, Millis time);
[[nodiscard]] std::string outcome_of(std::string request, RequestStatus status, Millis time);

/// The parts of such a text. The text that an older model holds is the line of the request alone,
/// without a status.
struct Outcome {
  std::string_view request;
  std::string_view status;  ///< empty where nobody noted it
  std::string_view reason;  ///< why a request was rejected
};
/// Reads such a text; returns nothing where it has another form.
[[nodiscard]] std::optional<Outcome> read_outcome(std::string_view text);

}  // namespace unweave
