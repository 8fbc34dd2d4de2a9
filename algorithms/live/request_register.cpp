// algorithms/live/request_register.cpp - a table of ids, and the lines that it is read from.
#include "algorithms/live/request_register.h"

#include <algorithm>
#include <cstring>
#include <unordered_set>

#include "algorithms/random/random_source.h"
#include "storage/input/request_reader.h"
#include "storage/io/message.h"

namespace unweave {
namespace {

/// Memory of an id in the table: a node and its bucket.
constexpr std::uint64_t kIdBytes = 72;
constexpr std::uint64_t kLeastRoom = 4096;  // ids

}  // namespace

RequestRegister::RequestRegister(const std::filesystem::path& store, const Manifest& manifest, bool writer,
                                 MemoryBudget& budget)
    : store_(store), writer_(writer), budget_(budget) {
  RandomSource random = RandomSource::from_system();
  secret_ = draw_hash(random);
  bytes_ = read_request_log(store, manifest.release(kRequestLog), [&](const LoggedRequest& request) {
    if (request.kind != kPurgeLine) insert(request.id, {request.sequence, request.time});
  });
}

RequestRegister::Key RequestRegister::key_of(std::string_view id) const {
  const Hash hash = hash_of(id, secret_);
  Key key{};
  std::memcpy(key.data(), hash.data(), sizeof key);
  return key;
}

void RequestRegister::insert(std::string_view id, Mark mark) {
  if (const std::uint64_t bytes = (ids_.size() + 1) * kIdBytes; bytes > memory_.bytes()) {
    const std::uint64_t room = std::max(kLeastRoom, 2 * static_cast<std::uint64_t>(ids_.size())) * kIdBytes;
    memory_.release();
    memory_ = budget_.reserve(room, "ids of requests (" + option("forget-before") + " keeps fewer)");
  }
  ids_.try_emplace(key_of(id), mark);
}

std::vector<bool> RequestRegister::known(std::span<const Request> requests, std::uint64_t after,
                                         std::optional<Millis> time) const {
  std::vector<bool> known(requests.size());
  std::unordered_set<Key, KeyHash> here;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (requests[i].id.empty()) continue;
    const Key key = key_of(requests[i].id);
    const auto found = ids_.find(key);
    const bool is_itself = found != ids_.end() && time && found->second == Mark{after + i + 1, *time};
    known[i] = (found != ids_.end() && !is_itself) || !here.insert(key).second;
  }
  return known;
}

void RequestRegister::note(std::span<const Request> requests, std::span<const RequestStatus> statuses,
                           std::uint64_t after, Millis time) {
  std::vector<LoggedRequest> lines;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (requests[i].id.empty() || statuses[i] == RequestStatus::known_id) continue;
    const std::uint64_t sequence = after + i + 1;
    if (ids_.contains(key_of(requests[i].id))) continue;  // a replay
    insert(requests[i].id, {sequence, time});
    lines.push_back({sequence, time, kind_name(requests[i].kind), name_of(statuses[i]), requests[i].id});
  }
  if (!writer_ || lines.empty()) return;
  if (!log_) log_.emplace(store_, bytes_);
  log_->add(lines);
}

void RequestRegister::sync() {
  if (log_) log_->sync();
}

}  // namespace unweave
