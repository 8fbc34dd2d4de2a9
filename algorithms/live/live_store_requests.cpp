// algorithms/live/live_store_requests.cpp - the ids of requests, and requests that are acknowledged before they are applied.
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
  for (const Request& one : requests) edges += one.kind == RequestKind::remove_node ? edges_of(*contents_, one.u) : 0;
  Reservation memory = reserve_for(edges * kRemovedEdgeBytes, "edges of removed nodes");
  const std::vector<IdUse> uses = id_uses(requests, acknowledged);
  std::vector<bool> known;
  std::optional<IdConflict> conflict;
  known.reserve(uses.size());
  // Nothing tells what an unkept one asked for. Where this one would change nothing at its place in the batch, whatever it asks for is so
  // already. The first that would is the conflict, so that those before it change what they would change without ids.
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
  // Those of the journal stand in the log as well, unless a crash took them from its end, or nobody has opened it to write
  // since. All that replay() met and the log lacks are among the statuses.
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

std::uint64_t LiveStore::forget_requests(Millis before) {
  checkpoint();
  const Change change(*this);
  Manifest next = manifest_;  // nothing is recorded of the log while it is replaced
  if (std::erase_if(next.releases, [](const FileEntry& entry) { return entry.path == kRequestLog; }) > 0) {
    write_manifest(path_, next);
    manifest_ = std::move(next);
  }
  std::uint64_t forgotten = 0;
  rewrite_request_log(path_, nullptr, [&](const LoggedRequest& request) {
    const bool keep = request.time >= before || request.kind == kPurgeLine;
    forgotten += keep ? 0 : 1;
    return keep;
  });
  register_.emplace(path_, manifest_, true, budget_);
  record();
  return forgotten;
}

void LiveStore::open_room() {
  const std::scoped_lock lock(journal_mutex_);
  if (room_) return;
  if (!register_) register_.emplace(path_, manifest_, access_ == Access::write, budget_);
  register_->hold_share();  // before the rest is divided, so that it is there as long as ids are taken
  room_.emplace(budget_, request_bytes());
  note_bytes_ = contents_->expiries().bytes();
  find_hubs();
  has_room_ = true;
}

/// Memory for the removal of one node: half of what the work on a batch and its changes have, since the rows of its neighbours need some.
std::uint64_t LiveStore::removal_room() const {
  return (memory_shares::kWork.of(budget_) + room_->batch_bytes()) / 2;
}

/// Whether a node with so many edges cannot be removed at once.
bool LiveStore::are_too_many(std::uint64_t edges) const {
  return edges * kRemovedEdgeBytes + Graph::change_bytes(edges, manifest_.nodes) > removal_room();
}

void LiveStore::find_hubs() {
  const std::scoped_lock lock(hubs_mutex_);
  hubs_.clear();
  if (!are_too_many(contents_->graph().max_decoded_bytes() / sizeof(NodeId))) return;  // no node has more edges
  for (NodeId user = 0; user < contents_->num_nodes(); ++user)
    if (are_too_many(edges_of(*contents_, user))) hubs_.insert(user);
}

void LiveStore::update_hubs(const BatchChanges& changes) {
  const std::scoped_lock lock(hubs_mutex_);
  for (const NodeChange& change : changes.nodes) {
    const std::uint64_t user = contents_->order().user(change.node);
    if (are_too_many(edges_of(*contents_, user)))
      hubs_.insert(user);
    else
      hubs_.erase(user);
  }
}

void LiveStore::require_removable(std::span<const Request> requests) const {
  const std::scoped_lock lock(hubs_mutex_);
  for (const Request& one : requests) {
    if ((one.kind != RequestKind::remove_node && one.kind != RequestKind::expire_node) || !hubs_.contains(one.u))
      continue;
    // How many edges a node has is nobody's business.
    throw TooLargeError("the removal of a node that one of these requests asks for: it has more edges than " +
                        readable_bytes(removal_room()) + " of memory hold, which are for it of " +
                        readable_bytes(budget_.limit()) + "; raise " + option("memory"));
  }
}

Reservation LiveStore::reserve_waiting(std::span<const Request> requests) {
  if (!has_room_) open_room();
  // What a batch has borrowed comes back as soon as it is there, also where no other batch follows.
  if (room_->is_lent()) {
    const std::scoped_lock lock(journal_mutex_);
    room_->take_back();
  }
  // Without the lock, under which requests of others are made durable: those that come meanwhile are the next group.
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const std::uint64_t bytes = request_bytes().in_batch(1, text_bytes(requests.subspan(i, 1)));
    if (bytes > room_->batch_bytes())
      throw TooLargeError("a request of " + std::to_string(text_bytes(requests.subspan(i, 1))) + " bytes: " +
                          readable_bytes(bytes) + " of memory needed, " + readable_bytes(room_->batch_bytes()) +
                          " of " + readable_bytes(budget_.limit()) + " are for a batch; raise " + option("memory"));
  }
  return room_->reserve(request_bytes().waiting(requests.size(), text_bytes(requests)));
}

void LiveStore::require_share(std::uint64_t ids, std::uint64_t bytes) {
  open_room();
  const std::scoped_lock lock(journal_mutex_);
  require_space(ids, bytes);
}

/// With the lock of the journal.
void LiveStore::require_space(std::uint64_t ids, std::uint64_t bytes) const {
  register_->require_share(ids);
  if (bytes == 0) return;
  std::uint64_t notes = note_bytes_;
  for (const Waiting& one : waiting_) notes += note_bytes(one.left());
  require_room_for_notes(bytes, notes, budget_);
}

std::uint64_t LiveStore::acknowledge(std::span<const Request> requests) {
  std::vector<Reservation> rooms;
  rooms.push_back(reserve_waiting(requests));
  return acknowledge(std::vector<Request>(requests.begin(), requests.end()), std::move(rooms));
}

std::uint64_t LiveStore::acknowledge(std::vector<Request>&& requests, std::vector<Reservation> rooms) {
  require_sums();
  if (ranks_ != nullptr) throw UsageError(path_.string() + ": a service is of one process");
  open_room();
  open_journal();  // before the first one; nothing can be applied meanwhile
  const std::scoped_lock lock(journal_mutex_);
  require_space(0, note_bytes(requests));
  if (std::any_of(requests.begin(), requests.end(), [](const Request& one) { return !one.id.empty(); })) {
    const std::vector<IdUse> uses = register_->uses(requests, {});
    for (std::size_t i = 0; i < uses.size(); ++i)
      if (uses[i] == IdUse::other || uses[i] == IdUse::unkept)
        throw IdConflictError({register_->conflict(requests, i)});
    // Those that are sent again take no room.
    const auto fresh = static_cast<std::uint64_t>(std::count_if(
        requests.begin(), requests.end(),
        [&, i = std::size_t{0}](const Request& one) mutable { return uses[i++] == IdUse::fresh && keeps_id(one); }));
    try {
      register_->make_room(fresh);
    } catch (const NoRoomError&) {
      throw;
    } catch (const ResourceError& error) {
      throw NoRoomError(error.message());
    }
  }
  remove_tiles(path_);
  // Each record is made durable by itself: a crash may tear the one that is being written, and no other.
  for (std::size_t begin = 0; begin < requests.size();) {
    const std::span<Request> left = std::span(requests).subspan(begin);
    const std::size_t count = std::max<std::size_t>(request_bytes().fitting(left, room_->batch_bytes()), 1);
    const auto end = left.begin() + static_cast<std::ptrdiff_t>(count);
    const Millis time = present_time();
    const std::uint64_t after = journal_->sequence();
    journal_->append(0, ThresholdScale::absolute, left.first(count), time);
    register_->note_waiting(left.first(count), after, time);
    waiting_.emplace_back();
    waiting_.back().requests.assign(std::make_move_iterator(left.begin()), std::make_move_iterator(end));
    waiting_.back().time = time;
    waiting_requests_ += count;
    begin += count;
  }
  if (!requests.empty()) waiting_.back().rooms = std::move(rooms);
  return journal_->sequence();
}

std::uint64_t LiveStore::waiting() const {
  const std::scoped_lock lock(journal_mutex_);
  return waiting_requests_;
}

void LiveStore::collect_waiting(std::size_t most, std::vector<Request>& taken, std::vector<Millis>& times) const {
  taken.clear();
  times.clear();
  const std::scoped_lock lock(journal_mutex_);
  const RequestBytes bytes = request_bytes();
  std::uint64_t text = 0;
  for (const Waiting& one : waiting_) {
    const std::span<const Request> left = one.left();
    std::size_t count = 0;
    std::uint64_t with = text;
    for (; count < left.size() && taken.size() + count < most; ++count) {
      with += text_bytes(left.subspan(count, 1));
      const std::size_t together = taken.size() + count + 1;
      if (together > 1 && bytes.in_batch(together, with) > room_->batch_bytes()) break;
    }
    if (!taken.empty() && count < left.size()) return;  // those of one call stay together
    taken.insert(taken.end(), left.begin(), left.begin() + static_cast<std::ptrdiff_t>(count));
    times.resize(taken.size(), one.time);
    if (count < left.size()) return;
    text = with;
  }
}

void LiveStore::drop_waiting(std::size_t count) {
  const std::scoped_lock lock(journal_mutex_);
  waiting_requests_ -= count;
  while (count > 0) {
    Waiting& first = waiting_.front();
    const std::size_t here = std::min(count, first.left().size());
    first.applied += here;
    count -= here;
    if (first.left().empty()) waiting_.pop_front();
  }
}

BatchReport LiveStore::apply_acknowledged(std::size_t most, LastLevel last, std::vector<Request>& taken) {
  const Change change(*this);
  BatchReport report;
  report.last_request = sequence_;
  BatchChanges changes;
  for (;; most = taken.size() / 2) {
    collect_waiting(std::max<std::size_t>(most, 1), taken, report.times);
    if (taken.empty()) return report;
    try {  // their room was set aside when they were acknowledged
      require_sums();
      changes = resolve_after(taken, AcknowledgedAfter{sequence_, {}});
      prepare(changes);
      break;
    } catch (const ResourceError&) {
      if (taken.size() < 2) throw;
      changes = {};
      drop_charge();
    }
  }
  report.time = report.times.back();
  note_bytes_ += note_bytes(taken);
  drop_waiting(taken.size());
  const std::uint64_t before = std::exchange(sequence_, sequence_ + taken.size());
  for (std::size_t i = 0, end = 0; i < taken.size(); i = end) {
    while (end < taken.size() && report.times[end] == report.times[i]) ++end;
    note_ids({taken.data() + i, end - i}, {changes.statuses.data() + i, end - i}, before + i, report.times[i]);
  }
  note_new_statuses(changes.statuses, before);
  carry_out(std::move(changes), {}, last, report);
  note_bytes_ = contents_->expiries().bytes();
  update_hubs(report.changes);
  {
    const std::scoped_lock lock(journal_mutex_);
    room_->take_back();
  }
  if (!room_->is_lent() || waiting() > 0) return report;
  // Nothing follows that could free what fills it, since no request is taken meanwhile.
  fold_graph();
  const std::scoped_lock lock(journal_mutex_);
  room_->take_back();
  return report;
}

}  // namespace unweave
