// algorithms/live/request_register.cpp - a table of ids, and the lines that it is read from.
#include "algorithms/live/request_register.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <deque>

#include "algorithms/live/request_room.h"
#include "algorithms/random/random_source.h"
#include "engine/resources/memory_shares.h"
#include "storage/formats/manifest.h"
#include "storage/input/request_reader.h"
#include "storage/io/hex.h"
#include "storage/io/message.h"
#include "storage/io/plain_text.h"
#include "storage/io/readable_bytes.h"
#include "storage/io/shell_word.h"

namespace unweave {

namespace {

/// Memory of an id in both tables: nodes and their buckets.
constexpr std::uint64_t kIdBytes = 144;
constexpr std::uint64_t kLeastRoom = 4096;  // ids

/// What a request asks for, whoever sends it: ends of an edge have no order, unless it is an arc.
std::string content_of(const Request& request, bool are_arcs) {
  using End = std::pair<std::uint64_t, bool>;
  End first{request.u, request.u_by_name}, second{request.v, request.v_by_name};
  if (names_edge(request.kind) && !are_arcs && second < first) std::swap(first, second);
  std::string text = "unweave request 1";
  for (const std::uint64_t number : {static_cast<std::uint64_t>(request.kind), first.first, std::uint64_t{first.second},
                                     second.first, std::uint64_t{second.second}})
    text.append(1, ' ').append(std::to_string(number));
  text.append(1, ' ').append(request.value);
  return request.relation == 0 ? text : text.append(1, ' ').append(std::to_string(request.relation));
}

/// The kind whose records have this name, the first one of several.
RequestKind kind_of(std::string_view name) {
  for (auto kind = RequestKind::remove_edge; kind <= kLastRequestKind;
       kind = static_cast<RequestKind>(static_cast<int>(kind) + 1))
    if (kind_name(kind) == name) return kind;
  return {};
}

std::array<std::uint64_t, 2> first_half(const Hash& hash) {
  std::array<std::uint64_t, 2> half{};
  std::memcpy(half.data(), hash.data(), sizeof half);
  return half;
}

/// The mark of a line that has one.
std::optional<std::array<std::uint64_t, 2>> read_mark(std::string_view digits) {
  if (digits.size() != kMarkDigits) return std::nullopt;
  const std::optional<Hash> hash = hash_from_hex(std::string(digits) + std::string(kMarkDigits, '0'));
  return hash ? std::optional(first_half(*hash)) : std::nullopt;
}

}  // namespace

RequestRegister::RequestRegister(const std::filesystem::path& store, const Manifest& manifest, bool writer,
                                 MemoryBudget& budget)
    : store_(store),
      are_arcs_(manifest.layers.directed),
      writer_(writer),
      budget_(budget),
      journal_after_(manifest.sequence) {
  RandomSource random = RandomSource::from_system();
  secret_ = draw_hash(random);
  const auto take_key = [&](std::string_view digits) {
    if (const std::optional<Hash> key = hash_from_hex(digits)) mark_key_ = *key;
    ++keys_;
    has_written_key_ = true;
    applied_.clear();
  };
  bytes_ = read_request_log(
      store, manifest.release(kRequestLog), [&](const LoggedRequest& line) { read(line); }, take_key);
  if (has_written_key_) return;
  mark_key_ = draw_hash(random);
  ++keys_;
}

void RequestRegister::read(const LoggedRequest& line) {
  if (line.kind == kPurgeLine) {
    ++purges_;
    has_written_key_ = false;  // a purge has taken it away
    applied_.clear();
    logged_removals_.clear();
    return;
  }
  Known known{line.sequence, line.time};
  known.purge = purges_;
  known.kind = kind_of(line.kind);
  if (line.mark == kExpiredMark) {
    if (line.sequence > journal_after_) logged_removals_.emplace(line.sequence, line.time);
  } else if (const auto mark = read_mark(line.mark); mark && keys_ > 0) {
    known.mark = *mark;
    known.key = keys_;
    if (line.status == name_of(RequestStatus::applied)) applied_[*mark] = line.sequence;
  }
  insert(line.id, known);
}

RequestRegister::Key RequestRegister::key_of(std::string_view id) const {
  return first_half(hash_of(id, secret_));
}

RequestRegister::Key RequestRegister::mark_of(const Request& request) const {
  return first_half(hash_of(content_of(request, are_arcs_), mark_key_));
}

RequestRegister::Known RequestRegister::known_of(const Request& request, std::uint64_t sequence, Millis time) const {
  Known known{sequence, time};
  known.purge = purges_;
  known.kind = request.kind;
  if (is_expired(request)) return known;  // the request that set the note is forgotten
  known.mark = mark_of(request);
  known.key = keys_;
  return known;
}

void RequestRegister::grow(std::uint64_t ids) {
  if (ids <= room_) return;
  // Some at a time, so that there are few reservations, where the budget has so much, and no more
  // than the share.
  const std::uint64_t most = memory_shares::kRequestIds.of(budget_) / kIdBytes;
  const std::uint64_t more = std::min(std::max(kLeastRoom, room_), most - std::min(most, room_));
  const std::uint64_t wanted = std::max(ids - room_, more) * kIdBytes;
  const std::uint64_t least = (ids - room_) * kIdBytes;
  const std::uint64_t bytes = wanted <= budget_.available() ? wanted : least;
  memory_.push_back(budget_.reserve(bytes, "ids of requests (" + option("forget-before") + " keeps fewer)"));
  room_ += bytes / kIdBytes;
}

void RequestRegister::require_share(std::uint64_t more) const {
  const std::uint64_t most = memory_shares::kRequestIds.of(budget_) / kIdBytes;
  if (more > 0 && ids_.size() + more > most)
    throw FullError("ids of requests: the store keeps " + std::to_string(ids_.size()) + ", and " +
                    readable_bytes(memory_shares::kRequestIds.of(budget_)) + " of " + readable_bytes(budget_.limit()) +
                    " of memory are for " + std::to_string(most) +
                    " of them; forget old ones, while nobody writes the store, by " +
                    operation("requests " + shell_word(store_.string()) + ' ' + option("forget-before", "TIME")) +
                    ", or raise " + option("memory"));
}

void RequestRegister::make_room(std::uint64_t more) {
  require_share(more);
  grow(ids_.size() + more);
}

void RequestRegister::hold_share() {
  grow(memory_shares::kRequestIds.of(budget_) / kIdBytes);
}

RequestRegister::Known& RequestRegister::insert(std::string_view id, const Known& known) {
  grow(ids_.size() + 1);  // what is durable is taken, also where an earlier process had more memory
  return ids_.try_emplace(key_of(id), known).first->second;
}

std::vector<IdUse> RequestRegister::uses(std::span<const Request> requests,
                                         const std::optional<AcknowledgedAfter>& acknowledged) const {
  std::vector<IdUse> uses(requests.size(), IdUse::fresh);
  std::unordered_map<Key, std::size_t, KeyHash> here;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const Request& request = requests[i];
    if (!keeps_id(request)) continue;
    const Key key = key_of(request.id);
    const auto [first, is_first] = here.try_emplace(key, i);
    const auto found = ids_.find(key);
    const bool is_itself = found != ids_.end() && acknowledged &&
                           found->second.sequence == acknowledged->sequence + i + 1 &&
                           (found->second.waiting || found->second.time == acknowledged->time);
    if (found != ids_.end() && !is_itself) {
      const bool is_same = is_kept(found->second) && found->second.mark == mark_of(request);
      uses[i] = is_same ? IdUse::known : is_kept(found->second) ? IdUse::other : IdUse::unkept;
    } else if (!is_first) {
      uses[i] = content_of(requests[first->second], are_arcs_) == content_of(request, are_arcs_) ? IdUse::known
                                                                                                 : IdUse::other;
    }
  }
  return uses;
}

IdConflict RequestRegister::conflict(std::span<const Request> requests, std::size_t index) const {
  IdConflict conflict;
  conflict.index = index;
  conflict.id = printable(requests[index].id);
  const auto found = ids_.find(key_of(requests[index].id));
  if (found == ids_.end()) {
    const auto is_same_id = [&](const Request& one) { return one.id == requests[index].id; };
    conflict.earlier_in_batch =
        static_cast<std::size_t>(std::find_if(requests.begin(), requests.end(), is_same_id) - requests.begin());
    return conflict;
  }
  const Known& known = found->second;
  conflict.sequence = known.sequence;
  conflict.time = known.time;
  conflict.kind = known.kind == RequestKind{} ? "of a kind unknown here" : std::string(kind_name(known.kind));
  conflict.waiting = known.waiting;
  conflict.purged = known.purge < purges_;
  conflict.kept = is_kept(known);
  return conflict;
}

void RequestRegister::note_waiting(std::span<const Request> requests, std::uint64_t after, Millis time) {
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (!keeps_id(requests[i]) || ids_.contains(key_of(requests[i].id))) continue;
    insert(requests[i].id, known_of(requests[i], after + i + 1, time)).waiting = true;
  }
}

void RequestRegister::note(std::span<const Request> requests, std::span<const RequestStatus> statuses,
                           std::uint64_t after, Millis time) {
  std::vector<LoggedRequest> lines;
  std::deque<std::string> marks;  // which stay where they are
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const Request& request = requests[i];
    if (request.id.empty() || statuses[i] == RequestStatus::known_id) continue;
    const std::uint64_t sequence = after + i + 1;
    LoggedRequest line{sequence, time, kind_name(request.kind), name_of(statuses[i]), request.id};
    if (is_expired(request)) {
      if (logged_removals_.contains({sequence, time})) continue;  // a replay
      insert(request.id, known_of(request, sequence, time));
      line.mark = kExpiredMark;
      lines.push_back(line);
      continue;
    }
    const auto found = ids_.find(key_of(request.id));
    if (found != ids_.end() && !(found->second.waiting && found->second.sequence == sequence)) continue;  // a replay
    Known& known = found != ids_.end() ? found->second : insert(request.id, known_of(request, sequence, time));
    known.waiting = false;
    line.mark = marks.emplace_back(to_hex(std::as_bytes(std::span(known.mark))));
    if (statuses[i] == RequestStatus::applied) {
      applied_[known.mark] = sequence;
    } else if (const auto earlier = applied_.find(known.mark); earlier != applied_.end()) {
      line.earlier = earlier->second;
    }
    lines.push_back(line);
  }
  if (!writer_ || lines.empty()) return;
  if (!log_) log_.emplace(store_, bytes_);
  if (!has_written_key_) log_->add_key(to_hex(mark_key_));
  has_written_key_ = true;
  log_->add(lines);
}

void RequestRegister::sync() {
  if (log_) log_->sync();
}

}  // namespace unweave
