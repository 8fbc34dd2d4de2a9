// algorithms/live/store_writer_requests.cpp - requests that are acknowledged before they are
// applied, and their room.
#include <algorithm>
#include <cmath>
#include <exception>
#include <iterator>
#include <set>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "algorithms/live/joined_level.h"
#include "algorithms/live/rank_orders.h"
#include "algorithms/live/store_writer.h"
#include "algorithms/live/tile_jobs.h"
#include "algorithms/updates/repair.h"
#include "engine/generations/store_purge.h"
#include "engine/generations/store_watch.h"
#include "engine/ingest/compaction.h"
#include "engine/ingest/shard_builder.h"
#include "engine/resources/clock.h"
#include "engine/resources/memory_shares.h"
#include "engine/resources/temporary_folder.h"
#include "engine/sweep/sum_check.h"
#include "storage/formats/level_files.h"
#include "storage/formats/recorded_file.h"
#include "storage/formats/request_log.h"
#include "storage/input/request_reader.h"
#include "storage/io/entry.h"
#include "storage/io/error.h"
#include "storage/io/readable_bytes.h"
#include "storage/io/shell_word.h"

namespace unweave {

std::uint64_t StoreWriter::forget_requests(Millis before) {
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

void StoreWriter::open_room() {
  const std::scoped_lock lock(journal_mutex_);
  if (room_) return;
  if (!register_) register_.emplace(path_, manifest_, access_ == Access::write, budget_);
  register_->hold_share();  // before the rest is divided, so that it is there as long as ids are taken
  room_.emplace(budget_, request_bytes());
  note_bytes_ = contents_->expiries().bytes();
  find_hubs();
  has_room_ = true;
}

Reservation StoreWriter::reserve_waiting(std::span<const Request> requests) {
  if (!has_room_) open_room();
  // What a batch has borrowed comes back as soon as it is there, also where no other batch follows.
  if (room_->is_lent()) {
    const std::scoped_lock lock(journal_mutex_);
    room_->take_back();
  }
  // Without the lock, under which requests of others are made durable: those that come meanwhile
  // are the next group.
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const std::uint64_t bytes = request_bytes().in_batch(1, text_bytes(requests.subspan(i, 1)));
    if (bytes > room_->batch_bytes())
      throw TooLargeError("a request of " + std::to_string(text_bytes(requests.subspan(i, 1))) + " bytes: " +
                          readable_bytes(bytes) + " of memory needed, " + readable_bytes(room_->batch_bytes()) +
                          " of " + readable_bytes(budget_.limit()) + " are for a batch; raise " + option("memory"));
  }
  return room_->reserve(request_bytes().waiting(requests.size(), text_bytes(requests)));
}

void StoreWriter::require_share(std::uint64_t ids, std::uint64_t bytes) {
  open_room();
  const std::scoped_lock lock(journal_mutex_);
  require_space(ids, bytes);
}

std::uint64_t StoreWriter::acknowledge(std::span<const Request> requests) {
  std::vector<Reservation> rooms;
  rooms.push_back(reserve_waiting(requests));
  return acknowledge(std::vector<Request>(requests.begin(), requests.end()), std::move(rooms));
}

std::uint64_t StoreWriter::acknowledge(std::vector<Request>&& requests, std::vector<Reservation> rooms) {
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
  // Each record is made durable by itself: a crash may tear the one that is being written, and no
  // other.
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

BatchReport StoreWriter::apply_acknowledged(std::size_t most, LastLevel last, std::vector<Request>& taken) {
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
  fold();
  const std::scoped_lock lock(journal_mutex_);
  room_->take_back();
  return report;
}

void StoreWriter::find_hubs() {
  const std::scoped_lock lock(hubs_mutex_);
  hubs_.clear();
  large_graphs_.clear();
  const WholeGraphs& graphs = contents_->graphs();
  const bool may_be_large = are_too_many(contents_->graph().num_terms());
  for (std::uint32_t graph = 0; may_be_large && graph < graphs.count(); ++graph)
    if (are_too_many(removed_by_graph(*contents_, graph))) large_graphs_.insert(graph);
  const Graph* const held = contents_->held();
  const std::uint64_t bytes =
      contents_->graph().max_decoded_bytes() + (held != nullptr ? held->max_decoded_bytes() : 0);
  if (!are_too_many(bytes / sizeof(NodeId))) return;  // no node has more edges
  for (NodeId user = 0; user < contents_->num_nodes(); ++user)
    if (are_too_many(edges_of(*contents_, user))) hubs_.insert(user);
}

void StoreWriter::update_hubs(const BatchChanges& changes) {
  const std::scoped_lock lock(hubs_mutex_);
  const auto look_at = [&](NodeId node) {
    const std::uint64_t user = contents_->order().user(node);
    if (are_too_many(edges_of(*contents_, user)))
      hubs_.insert(user);
    else
      hubs_.erase(user);
  };
  for (const NodeChange& change : changes.nodes) look_at(change.node);
  for (const HeldChange& change : changes.held) {
    look_at(change.edge.u);
    look_at(change.edge.v);
  }
  if (!contents_->graphs().any() || !are_too_many(contents_->graph().num_terms())) return;
  std::set<std::int32_t> graphs;  // one that has lost nodes needs less, and is looked at when the store is opened
  for (const NodeChange& change : changes.nodes) graphs.insert(contents_->graphs().of(change.node));
  graphs.erase(kNoGraph);
  for (const std::int32_t graph : graphs)
    if (are_too_many(removed_by_graph(*contents_, static_cast<std::uint32_t>(graph))))
      large_graphs_.insert(static_cast<std::uint64_t>(graph));
}

/// With the lock of the journal.
void StoreWriter::require_space(std::uint64_t ids, std::uint64_t bytes) const {
  register_->require_share(ids);
  if (bytes == 0) return;
  std::uint64_t notes = note_bytes_;
  for (const Waiting& one : waiting_) notes += note_bytes(one.left());
  require_room_for_notes(bytes, notes, budget_);
}

void StoreWriter::collect_waiting(std::size_t most, std::vector<Request>& taken, std::vector<Millis>& times) const {
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

void StoreWriter::drop_waiting(std::size_t count) {
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

}  // namespace unweave
