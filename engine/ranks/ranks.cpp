// engine/ranks/ranks.cpp - the job of a process, which is one rank unless a launcher has begun several.
#include "engine/ranks/ranks.h"

#include <algorithm>
#include <atomic>
#include <cstring>

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

void require_same(const std::filesystem::path& folder, const std::string& text, Ranks& job) {
  if (from_first(text, job) != text)
    throw DataError(
        folder.string() + ": rank " + std::to_string(job.rank()) +
        " finds other contents there than rank 0, or has other options; all ranks must see one store, on storage that "
        "they share, and be given the same words");
  job.barrier();  // nobody goes on before all have found the same
}

void add_traffic(const RankTraffic& one, RankTraffic& all) noexcept {
  all.verbs += one.verbs;
  all.sent_bytes += one.sent_bytes;
  all.received_bytes += one.received_bytes;
  all.seconds = std::max(all.seconds, one.seconds);
}

RankTraffic traffic_of_all(Ranks& job) {
  const RankTraffic mine = job.traffic();
  RankTraffic all;
  for (const std::vector<std::byte>& bytes : job.gather(std::as_bytes(std::span(&mine, 1)))) {
    RankTraffic one;
    std::memcpy(&one, bytes.data(), sizeof(one));
    add_traffic(one, all);
  }
  return all;
}

}  // namespace unweave
