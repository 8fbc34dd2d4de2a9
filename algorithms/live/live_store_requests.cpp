// algorithms/live/live_store_requests.cpp - the ids of requests, and requests that are acknowledged
// before they are applied.
#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <utility>

#include "algorithms/live/live_store.h"
#include "algorithms/live/tile_jobs.h"
#include "engine/resources/memory_shares.h"
#include "storage/formats/request_log.h"
#include "storage/input/request_reader.h"
#include "storage/io/error.h"
#include "storage/io/readable_bytes.h"

namespace unweave {

BatchChanges LiveStore::resolve(std::span<const Request> requests) {
  require_sums();
  return resolve_after(requests, {});
}

BatchChanges LiveStore::resolve_after(std::span<const Request> requests,
                                      const std::optional<AcknowledgedAfter>& acknowledged) {
  std::uint64_t edges = 0;
  for (const Request& one : requests) {
    if (one.kind == RequestKind::remove_node) edges += edges_of(*contents_, one.u);
    if (one.kind == RequestKind::remove_graph) edges += removed_by_graph(*contents_, one.u);
  }
  Reservation memory = reserve_for(edges * kRemovedEdgeBytes, "edges of removed nodes");
  const std::vector<IdUse> uses = id_uses(requests, acknowledged);
  std::vector<bool> known;
  std::optional<IdConflict> conflict;
  known.reserve(uses.size());
  // Nothing tells what an unkept one asked for. Where this one would change nothing at its place in
  // the batch, whatever it asks for is so already. The first that would is the conflict, so that
  // those before it change what they would change without ids.
  std::vector<RequestStatus> without_unkept;
  if (!acknowledged && std::find(uses.begin(), uses.end(), IdUse::unkept) != uses.end()) {
    std::vector<bool> counted(uses.size());
    for (std::size_t i = 0; i < uses.size(); ++i) counted[i] = uses[i] != IdUse::fresh && uses[i] != IdUse::unkept;
    without_unkept = resolve_batch(*contents_, requests, counted).statuses;
  }
  for (std::size_t i = 0; i < uses.size(); ++i) {
    known.push_back(uses[i] != IdUse::fresh);
    if (acknowledged || conflict || uses[i] == IdUse::fresh || uses[i] == IdUse::known) continue;
    if (uses[i] == IdUse::unkept && without_unkept[i] != RequestStatus::applied) continue;
    conflict = this->conflict(requests, i);
  }
  BatchChanges changes = resolve_batch(*contents_, requests, known);
  changes.conflict = std::move(conflict);
  changes.memory = std::make_shared<const Reservation>(std::move(memory));
  return changes;
}

std::vector<IdUse> LiveStore::id_uses(std::span<const Request> requests,
                                      const std::optional<AcknowledgedAfter>& acknowledged) const {
  if (std::all_of(requests.begin(), requests.end(), [](const Request& one) { return one.id.empty(); })) return {};
  const std::scoped_lock lock(journal_mutex_);
  if (!register_) register_.emplace(path_, manifest_, access_ == Access::write, budget_);
  return register_->uses(requests, acknowledged);
}

IdConflict LiveStore::conflict(std::span<const Request> requests, std::size_t index) const {
  const std::scoped_lock lock(journal_mutex_);
  return register_->conflict(requests, index);
}

void LiveStore::note_ids(std::span<const Request> requests, std::span<const RequestStatus> statuses,
                         std::uint64_t after, Millis time) {
  const std::scoped_lock lock(journal_mutex_);
  if (register_) register_->note(requests, statuses, after, time);
}

void LiveStore::visit_requests(const std::function<void(const LoggedRequest&)>& use) const {
  // Those of the journal stand in the log as well, unless a crash took them from its end, or nobody
  // has opened it to write since. All that replay() met and the log lacks are among the statuses.
  std::set<std::pair<std::uint64_t, Millis>> logged;
  static_cast<void>(read_request_log(path_, manifest_.release(kRequestLog), [&](const LoggedRequest& request) {
    if (request.sequence > manifest_.sequence) logged.emplace(request.sequence, request.time);
    use(request);
  }));
  if (!manifest_.journal) return;
  std::uint64_t sequence = manifest_.sequence;
  const File present = access_ == Access::write ? open_journal_file(path_, *manifest_.journal) : File();
  const File& journal = access_ == Access::write ? present : replayed_;
  static_cast<void>(
      read_journal(journal, path_, *manifest_.journal, manifest_.sequence, [&](const JournalBatch& batch) {
        for (const Request& request : batch.requests) {
          ++sequence;
          const std::optional<RequestStatus> status = journal_status(sequence);
          if (request.id.empty() || !status || status == RequestStatus::known_id) continue;
          if (logged.contains({sequence, batch.time})) continue;
          use({sequence, batch.time, kind_name(request.kind), name_of(*status), request.id,
               is_expired(request) ? kExpiredMark : std::string_view()});
        }
      }));
}

/// Memory for the removal of one node: half of what the work on a batch and its changes have, since
/// the rows of its neighbours need some.
std::uint64_t LiveStore::removal_room() const {
  return (memory_shares::kWork.of(budget_) + room_->batch_bytes()) / 2;
}

/// Whether a node with so many edges cannot be removed at once.
bool LiveStore::are_too_many(std::uint64_t edges) const {
  return edges * kRemovedEdgeBytes + Graph::change_bytes(edges, manifest_.nodes, manifest_.max_weight > 1) >
         removal_room();
}

void LiveStore::require_removable(std::span<const Request> requests) const {
  const std::scoped_lock lock(hubs_mutex_);
  for (const Request& one : requests) {
    if ((one.kind == RequestKind::remove_graph || one.kind == RequestKind::expire_graph) &&
        large_graphs_.contains(one.u))
      throw TooLargeError("the removal of graph " + std::to_string(one.u) + ": it has more nodes and edges than " +
                          readable_bytes(removal_room()) + " of memory hold, which are for it of " +
                          readable_bytes(budget_.limit()) + "; raise " + option("memory"));
    if ((one.kind != RequestKind::remove_node && one.kind != RequestKind::expire_node) || !hubs_.contains(one.u))
      continue;
    // How many edges a node has is nobody's business.
    throw TooLargeError("the removal of a node that one of these requests asks for: it has more edges than " +
                        readable_bytes(removal_room()) + " of memory hold, which are for it of " +
                        readable_bytes(budget_.limit()) + "; raise " + option("memory"));
  }
}

std::uint64_t LiveStore::waiting() const {
  const std::scoped_lock lock(journal_mutex_);
  return waiting_requests_;
}

}  // namespace unweave
