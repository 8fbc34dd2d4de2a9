#include "algorithms/request_status.h"

#include <algorithm>

#include "storage/input/request_reader.h"

namespace unweave {

std::string outcome_of(const Request& request, RequestStatus status) {
  const std::string text = text_of(request) + '\t';
  if (status == RequestStatus::applied) return text + std::string(name_of(status));
  return text + "rejected\t" + std::string(name_of(status));
}

std::optional<Outcome> read_outcome(std::string_view text) {
  Outcome outcome;
  const std::size_t first = text.find('\t');
  outcome.request = text.substr(0, first);
  if (first == std::string_view::npos) return outcome;
  const std::string_view rest = text.substr(first + 1);
  const std::size_t second = rest.find('\t');
  outcome.status = rest.substr(0, second);
  if (second == std::string_view::npos)
    return outcome.status == name_of(RequestStatus::applied) ? std::optional(outcome) : std::nullopt;
  outcome.reason = rest.substr(second + 1);
  // A later program may know more reasons.
  const bool is_name = !outcome.reason.empty() && std::all_of(outcome.reason.begin(), outcome.reason.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || c == '-';
  });
  return outcome.status == "rejected" && is_name ? std::optional(outcome) : std::nullopt;
}

}  // namespace unweave
