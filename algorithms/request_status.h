// algorithms/request_status.h - what became of a request: applied, or rejected for one of a few reasons. Their names stand
// in receipts and in what programs read, and never change their meaning.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "storage/journal.h"

namespace unweave {

/// A request is rejected iff it would change nothing at its place in the stream.
enum class RequestStatus : std::uint8_t {
  applied,
  id_outside,
  self_loop,
  absent_edge,
  present_edge,
  empty_node,
  no_features,
  repeated,
};

struct StatusText {
  std::string_view name;      ///< for programs
  std::string_view sentence;  ///< for people
};

inline constexpr std::array<StatusText, 8> kStatusTexts{{
    {"applied", "the request changed the store"},
    {"id-outside", "the graph has no node of this id"},
    {"self-loop", "both ends of the edge are the same node"},
    {"absent-edge", "there is no such edge: it was removed before, or never there"},
    {"present-edge", "the edge is there already"},
    {"empty-node", "the node has no edges, features, label: removed before, or never had any"},
    {"no-features", "the node has no features, label: removed before, or never had any"},
    {"repeated", "an earlier request of the same batch has done this"},
}};

[[nodiscard]] constexpr std::string_view name_of(RequestStatus status) {
  return kStatusTexts[static_cast<std::size_t>(status)].name;
}

/// What a receipt commits to: the line of the request, and behind a tab "applied", or "rejected" and behind another tab
/// the reason.
[[nodiscard]] std::string outcome_of(const Request& request, RequestStatus status);

/// The parts of such a text; of one that a model of before holds, the line of the request alone, no status.
struct Outcome {
  std::string_view request;
  std::string_view status;  ///< empty where nobody noted it
  std::string_view reason;  ///< of a rejected request
};
/// None where the text has another form.
[[nodiscard]] std::optional<Outcome> read_outcome(std::string_view text);

}  // namespace unweave
