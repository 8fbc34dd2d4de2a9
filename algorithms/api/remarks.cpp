// algorithms/api/remarks.cpp - words the remarks about models that are replaced, removed or left
// behind.
#include "unweave/remarks.h"

#include <string_view>

#include "algorithms/api/internals.h"
#include "algorithms/live/live_store.h"
#include "algorithms/live/propagate.h"
#include "algorithms/models/certificate_log.h"
#include "algorithms/models/model_name.h"
#include "algorithms/updates/requests.h"
#include "storage/formats/manifest.h"
#include "storage/io/message.h"
#include "storage/io/number_text.h"
#include "storage/io/shell_word.h"
#include "storage/io/time_text.h"
#include "storage/types/feature_layout.h"
#include "storage/types/pair_rules.h"
#include "storage/types/propagation_spec.h"

namespace unweave {
inline namespace v0 {
namespace {

std::string joined(std::span<const std::string> texts) {
  std::string all;
  for (const std::string& text : texts) all += (all.empty() ? "" : ", ") + text;
  return all;
}

std::string text_of(const std::vector<double>& numbers) {
  std::string all;
  for (const double number : numbers) all += (all.empty() ? "" : ",") + shortest_text(number);
  return all;
}

/// What differs, each as "hops 3 -> 2".
class Differences {
 public:
  void add(const std::string& what, const std::string& before, const std::string& after) {
    if (before != after) texts_.push_back(what + " " + before + " -> " + after);
  }
  void add(const std::string& what, double before, double after) {
    if (before != after) add(what, shortest_text(before), shortest_text(after));
  }
  [[nodiscard]] bool empty() const noexcept { return texts_.empty(); }
  [[nodiscard]] std::string text() const { return joined(texts_); }

 private:
  std::vector<std::string> texts_;
};

std::string kept_text(const KeptForm& kept) {
  std::string text(keep_name(kept.keep));
  if (kept.has_sums()) return text;
  text += ' ' + std::string(feature_type_name(kept.type));
  return kept.exponent == 0 ? text : text + " 2^" + std::to_string(kept.exponent);
}

Differences differences(const PropagationSpec& before, const PropagationSpec& after) {
  Differences found;
  found.add("hops", before.levels, after.levels);
  found.add("scheme", before.scheme, after.scheme);
  if (before.scheme == after.scheme && before.levels == after.levels && before.weights != after.weights)
    found.add("weights", text_of(before.weights), text_of(after.weights));
  found.add("rho", before.rho, after.rho);
  found.add("scale bits", before.scale_bits, after.scale_bits);
  found.add("keep", kept_text(before.kept), kept_text(after.kept));
  found.add("rows", before.all_rows ? "all" : "labelled", after.all_rows ? "all" : "labelled");
  return found;
}

Differences differences(const ModelFacts& before, const ModelFacts& after) {
  Differences found;
  const SolverOptions &old = before.options, &now = after.options;
  found.add("head", std::string(head_name(old)), std::string(head_name(now)));
  if (old.hidden != now.hidden && !old.hidden.empty() && !now.hidden.empty())
    found.add("hidden", text_of({old.hidden.begin(), old.hidden.end()}),
              text_of({now.hidden.begin(), now.hidden.end()}));
  found.add("epsilon", old.epsilon, now.epsilon);
  found.add("delta", old.delta, now.delta);
  if (old.hidden.empty() && now.hidden.empty())
    found.add("intercept", old.intercept ? "yes" : "no", now.intercept ? "yes" : "no");
  found.add("lambda", old.lambda, now.lambda);
  found.add("tau", old.tau, now.tau);
  found.add("alpha", old.alpha, now.alpha);
  for (const auto& [name, value] : old.parameters)
    if (const auto given = now.parameters.find(name); given == now.parameters.end())
      found.add(name, shortest_text(value), "its default");
    else
      found.add(name, value, given->second);
  for (const auto& [name, value] : now.parameters)
    if (!old.parameters.contains(name)) found.add(name, "its default", shortest_text(value));
  found.add("weights of the levels", text_of(before.rows.weights), text_of(after.rows.weights));
  found.add("rows", text_of(before.rows), text_of(after.rows));
  return found;
}

}  // namespace

std::string remark_on_propagation(const Writer& writer, const PropagationSpec& next) {
  check_propagation_spec(Internals::state(writer).store(), next);  // what is refused replaces nothing
  const std::optional<PropagationSpec>& present = writer.propagation();
  if (!present) return {};
  const Differences found = differences(*present, next);
  return found.empty() ? "" : "replaces the propagation of " + writer.path().string() + ": " + found.text();
}

std::string remark_on_lost_models(const Writer& writer, const PropagationSpec& next) {
  const std::optional<PropagationSpec>& present = writer.propagation();
  if (!present || differences(*present, next).empty()) return {};
  const std::vector<std::string> lost = writer.models_lost_by(next);
  if (lost.empty()) return {};
  return "these models stand on the propagation that is replaced and must be trained again: " + joined(lost);
}

std::string remark_on_model(const ModelFacts& present, const ModelFacts& next) {
  const Differences found = differences(present, next);
  if (found.empty()) return {};
  return "replaces the model " + present.name + ": " + found.text() + "; another " + option("name") + " keeps both";
}

std::string remark_on_removed_models(std::span<const std::string> names) {
  return names.empty() ? "" : "removes these models, which have to be trained again: " + joined(names);
}

std::string remark_on_models_left_behind(std::span<const std::string> names) {
  if (names.empty()) return {};
  return "these models do not follow the stream, and go on knowing what it removes: " + joined(names) + "; " +
         option("solver") + " or " + option("name") +
         " lets one follow, now or in a later stream, when its receipts may be gone";
}

std::string remark_on_past_expiries(std::span<const Request> requests, std::span<const RequestStatus> statuses,
                                    const std::filesystem::path& store) {
  const Millis now = present_time();
  std::uint64_t past = 0;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (!sets_expiry(requests[i].kind) || statuses[i] != RequestStatus::applied) continue;
    const std::optional<Millis> moment = read_time(requests[i].value);
    past += moment && *moment <= now ? 1 : 0;
  }
  if (past == 0) return {};
  return std::to_string(past) +
         (past == 1 ? " of these requests names a moment that has" : " of these requests name moments that have") +
         " passed; nothing is removed yet, and " +
         operation("stream " + shell_word(store.string()) + ' ' + option("expired")) + " removes what is due";
}

std::string remark_on_missing_room(std::span<const Request> requests, std::span<const RequestStatus> statuses,
                                   std::uint64_t nodes, const std::filesystem::path& store) {
  std::uint64_t outside = 0, largest = 0;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const Request& one = requests[i];
    if (one.kind != RequestKind::insert_node || one.u_by_name || statuses[i] != RequestStatus::id_outside) continue;
    if (one.u < nodes || one.u > kMaxNodeId) continue;
    ++outside;
    largest = std::max(largest, one.u);
  }
  if (outside == 0) return {};
  const Manifest manifest = read_manifest(store);
  const bool draws_below =
      manifest.pairs && id_bits(static_cast<NodeId>(largest + 1)) != id_bits(manifest.user_nodes());
  const std::string command = draws_below
                                  ? "export " + shell_word(store.string()) + ' ' + option("all", "DIR")
                                  : (manifest.layers.copies() > 1 ? "purge " : "grow ") + shell_word(store.string()) +
                                        ' ' + option("nodes", std::to_string(largest + 1));
  return std::to_string(outside) +
         (outside == 1 ? " of these requests inserts a node" : " of these requests insert nodes") + " beyond the " +
         std::to_string(nodes) + " that the store has room for; end the command that writes the store, make room by " +
         operation(command) + (draws_below ? " and an import of these files with more nodes" : "") +
         ", and send them again";
}

std::string remark_on_state(const StoredModel& model, const Reader& reader) {
  if (const std::optional<std::string> mismatch = propagation_mismatch(reader, model))
    return *mismatch;  // a stream could not bring it up to date
  const std::uint64_t absorbed = model.facts().sequence;
  if (absorbed == reader.acknowledged()) return {};
  return "the model " + model.name() + " is outdated: it has absorbed " + std::to_string(absorbed) + " of " +
         std::to_string(reader.acknowledged()) + " requests; " +
         operation("stream " + shell_word(reader.path().string()) + ' ' + option("requests", "/dev/null") + ' ' +
                   selecting(model.name())) +
         " brings it up to date, so does " + train_command(reader.path(), model.name());
}

std::string remark_on_blank_nodes(const Reader& reader, const std::optional<std::vector<NodeId>>& nodes) {
  if (nodes) require_ids(reader, *nodes);
  const LiveStore& store = Internals::store(reader);
  const NodeOrder& order = store.contents().order();
  std::uint64_t blank = 0;
  std::optional<NodeId> first;
  const auto look_at = [&](NodeId node) {
    const NodeId position = order.position(node);
    if (!store.embedding().is_target(position) || edges_of(store.contents(), node) > 0 ||
        !store.contents().is_blank(position))
      return;
    if (++blank == 1) first = node;
  };
  if (nodes) {
    for (const NodeId node : *nodes) look_at(node);
  } else {
    for (std::uint64_t node = 0; node < reader.nodes(); ++node) look_at(static_cast<NodeId>(node));
  }
  if (!first) return {};
  const std::string name = "node " + order.names().text(*first);
  if (blank == 1)
    return name +
           " has no edges, features and label: it was removed, or never had any, and what the model says of it "
           "is what it says of no data";
  return name + " and " + std::to_string(blank - 1) +
         " more have no edges, features and label: they were removed, or never had any, and what the model says of "
         "them is what it says of no data";
}

}  // namespace v0
}  // namespace unweave
