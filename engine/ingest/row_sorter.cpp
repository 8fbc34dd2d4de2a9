// engine/ingest/row_sorter.cpp - spills full buckets of rows to a file and hands them out by key.
#include "engine/ingest/row_sorter.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace unweave {
namespace {

constexpr std::size_t kMostBuckets = 1024;
constexpr std::uint64_t kLeastBuffer = std::uint64_t{64} << 10;  // bytes: below, a disk sees random accesses
constexpr std::uint64_t kMostBuffer = std::uint64_t{4} << 20;
constexpr std::size_t kHeadWords = 2;  // key and length of a row
constexpr std::uint64_t kAbsent = std::numeric_limits<std::uint64_t>::max();

}  // namespace

RowSorter::RowSorter(std::filesystem::path temp_dir, NodeId keys, std::uint64_t memory_bytes)
    : temp_dir_(std::move(temp_dir)), keys_(keys), drain_words_(memory_bytes / 2 / sizeof(std::uint32_t)) {
  const std::uint64_t wanted = std::clamp<std::uint64_t>(memory_bytes / 2 / kLeastBuffer, 1, kMostBuckets);
  bucket_keys_ = static_cast<NodeId>(std::max<std::uint64_t>(1, (keys + wanted - 1) / wanted));
  buckets_.resize((std::size_t{keys} + bucket_keys_ - 1) / bucket_keys_);
  const std::uint64_t buffer = memory_bytes / 2 / std::max<std::size_t>(1, buckets_.size());
  buffer_words_ = static_cast<std::size_t>(std::min(buffer, kMostBuffer) / sizeof(std::uint32_t));
}

void RowSorter::add(NodeId key, Words row) {
  Bucket& bucket = buckets_[key / bucket_keys_];
  const std::size_t words = kHeadWords + row.size();
  if (words > buffer_words_) {  // a buffer that grew for it would keep the room
    std::vector<std::uint32_t> alone{key, static_cast<std::uint32_t>(row.size())};
    alone.insert(alone.end(), row.begin(), row.end());
    spill(bucket, alone);
    return;
  }
  if (bucket.buffer.size() + words > buffer_words_ && !bucket.buffer.empty()) {
    spill(bucket, bucket.buffer);
    bucket.buffer.clear();
  }
  // Growth by doubling would come to hold more than the share of a bucket.
  if (bucket.buffer.capacity() < bucket.buffer.size() + words)
    bucket.buffer.reserve(
        std::max(bucket.buffer.size() + words, std::min(2 * bucket.buffer.capacity(), buffer_words_)));
  bucket.buffer.push_back(key);
  bucket.buffer.push_back(static_cast<std::uint32_t>(row.size()));
  bucket.buffer.insert(bucket.buffer.end(), row.begin(), row.end());
}

void RowSorter::spill(Bucket& bucket, Words words) {
  if (!spool_) spool_.emplace(temp_dir_);
  const std::uint64_t offset = spool_->append({reinterpret_cast<const char*>(words.data()), words.size_bytes()});
  bucket.spilled.push_back({offset, words.size()});
}

void RowSorter::drain(const std::function<void(NodeId key, Words row)>& use) {
  for (std::size_t i = 0; i < buckets_.size(); ++i) {
    drain_bucket(i, use);
    std::vector<std::uint32_t>().swap(buckets_[i].buffer);
  }
}

/// Lengths first; then as many keys at a time as fit, which are all of them unless rows are very
/// uneven.
void RowSorter::drain_bucket(std::size_t index, const std::function<void(NodeId key, Words row)>& use) {
  const Bucket& bucket = buckets_[index];
  const NodeId first = static_cast<NodeId>(index * bucket_keys_);
  const auto keys = static_cast<std::size_t>(std::min<std::uint64_t>(bucket_keys_, keys_ - first));
  std::vector<std::uint32_t> piece;
  const auto for_rows = [&](const auto& body) {
    const auto walk = [&](Words words) {
      for (std::size_t at = 0; at < words.size(); at += kHeadWords + words[at + 1])
        body(words[at] - first, words.subspan(at + kHeadWords, words[at + 1]));
    };
    for (const Piece& one : bucket.spilled) {
      piece.resize(static_cast<std::size_t>(one.words));
      spool_->read(one.offset, {reinterpret_cast<char*>(piece.data()), one.words * sizeof(std::uint32_t)});
      walk(piece);
    }
    walk(bucket.buffer);
  };
  std::vector<std::uint64_t> places(keys, kAbsent);  // the length of a row, then where it lies in `rows`
  for_rows([&](std::size_t key, Words row) { places[key] = row.size(); });
  std::vector<std::uint32_t> rows;
  for (std::size_t begin = 0; begin < keys;) {
    std::uint64_t words = 0;
    std::size_t end = begin;
    for (; end < keys; ++end) {
      if (places[end] == kAbsent) continue;
      if (words > 0 && words + places[end] > drain_words_) break;
      words += std::exchange(places[end], words);
    }
    rows.resize(static_cast<std::size_t>(words));
    std::vector<std::uint64_t> ends(end - begin, kAbsent);
    for_rows([&](std::size_t key, Words row) {
      if (key < begin || key >= end) return;
      std::copy(row.begin(), row.end(), rows.begin() + static_cast<std::ptrdiff_t>(places[key]));
      ends[key - begin] = places[key] + row.size();
    });
    for (std::size_t key = begin; key < end; ++key)
      if (places[key] != kAbsent)
        use(first + static_cast<NodeId>(key),
            Words(rows).subspan(static_cast<std::size_t>(places[key]),
                                static_cast<std::size_t>(ends[key - begin] - places[key])));
    begin = end;
  }
}

}  // namespace unweave
