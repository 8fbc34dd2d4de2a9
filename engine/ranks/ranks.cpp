// engine/ranks/ranks.cpp - the job of a process, which is one rank unless a launcher has begun
// several.
#include "engine/ranks/ranks.h"

#include <algorithm>
#include <atomic>

#include "storage/io/error.h"

namespace unweave {
namespace {

std::atomic<Ranks*> present_ranks = nullptr;

}  // namespace

Ranks& Ranks::world() noexcept {
  static Ranks one;
  Ranks* const set = present_ranks.load(std::memory_order_acquire);
  return set != nullptr ? *set : one;
}

void Ranks::set_world(Ranks* ranks) noexcept {
  present_ranks.store(ranks, std::memory_order_release);
}

std::string from_first(std::string text, Ranks& job) {
  text.resize(static_cast<std::size_t>(from_first(std::uint64_t{text.size()}, job)));
  job.broadcast(std::as_writable_bytes(std::span(text)));
  return text;
}

std::vector<std::string> gather_texts(const std::string& mine, Ranks& job) {
  std::vector<std::string> all;
  for (const std::vector<std::byte>& one : job.gather(std::as_bytes(std::span(mine))))
    all.emplace_back(reinterpret_cast<const char*>(one.data()), one.size());
  return all;
}

void require_same(const std::filesystem::path& folder, std::string_view what, const std::string& text, Ranks& job) {
  if (from_first(text, job) != text)
    throw DataError(folder.string() + ": rank " + std::to_string(job.rank()) + " finds other " + std::string(what) +
                    " than rank 0; all ranks must see the same files, on storage that they share");
  job.barrier();  // nobody goes on before all have found the same
}

void add_traffic(const RankTraffic& one, RankTraffic& all) noexcept {
  all.verbs += one.verbs;
  all.sent_bytes += one.sent_bytes;
  all.received_bytes += one.received_bytes;
  all.seconds = std::max(all.seconds, one.seconds);
}

RankTraffic traffic_of_all(Ranks& job) {
  RankTraffic all;
  const RankTraffic mine = job.traffic();  // a copy, since the counts grow while they are sent
  for (const RankTraffic& one : gather_values(mine, job)) add_traffic(one, all);
  return all;
}

}  // namespace unweave
