// algorithms/updates/request_status.cpp - the names and sentences of all statuses, and their form
// in receipts.
#include "algorithms/updates/request_status.h"

#include <algorithm>

#include "storage/input/request_reader.h"
#include "storage/types/request.h"

namespace unweave {

constinit const std::array<StatusText, kStatuses> kStatusTexts{{
    {"applied", "the request changed the store"},
    {"id-outside", "the graph has no node of this id"},
    {"self-loop", "both ends of the edge are the same node"},
    {"absent-edge", "there is no such edge: it was removed before, or never there"},
    {"present-edge", "the edge is there already"},
    {"empty-node", "no edges, features, label: removed before, or never had any"},
    {"no-features", "no features, label: removed before, or never had any"},
    {"repeated", "an earlier request of the same batch has done this"},
    {"known-id", "an earlier request, be it rejected, has this id and counts"},
    {"wrong-values", "not one value a feature, or a column that there is not"},
    {"above-bound", "the row's norm is above 1, and rows are taken as they are"},
    {"standardized", "features were scaled by statistics of the data"},
    {"class-outside", "the store has fewer classes; an import may declare more"},
    {"no-labels", "the store has no labels"},
    {"no-split", "the store has no such split"},
    {"no-label", "a node without a label belongs to no split"},
    {"same-features", "the node has these features already"},
    {"same-label", "the node has this label already"},
    {"same-split", "the node is in this split already, or in none already"},
    {"present-node", "the node is there already: it has edges, features or a label"},
    {"same-expiry", "it is to go at this moment already, or to stay already"},
    {"weight-outside", "the store was declared to have other weights, or none"},
    {"same-weight", "the edge has this weight already"},
    {"other-expiry", "its time had come, and a later request has set another or none"},
    {"number-or-name", "a class has a number as its name; #1 is a number, \"1\" a name"},
    {"no-relation", "the store has no edges of this kind"},
    {"graph-outside", "the store has no graph of this number"},
    {"empty-graph", "the graph has neither nodes nor a label, as one removed before"},
    {"joins-graphs", "the ends of the edge do not belong to one graph"},
    {"too-heavy", "weights of a node, or of a set's edge, would add up to too much"},
    {"other-types", "edges of this kind join nodes of other types"},
}};

std::string_view name_of(RequestStatus status) {
  return kStatusTexts.at(static_cast<std::size_t>(status)).name;
}

std::string outcome_of(const Request& request, RequestStatus status, Millis time) {
  return outcome_of(text_of(request), status, time);
}

std::string outcome_of(std::string text, RequestStatus status, Millis time) {
  if (time > 0) text += " at=" + time_text(time);
  text += '\t';
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
