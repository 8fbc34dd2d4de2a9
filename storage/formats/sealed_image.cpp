// storage/formats/sealed_image.cpp - checksums whole chunks as they come, and puts together those
// that come in parts.
#include "storage/formats/sealed_image.h"

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "storage/io/checksum.h"
#include "storage/io/entry.h"
#include "storage/io/error.h"

namespace unweave {

SealedImage::SealedImage(SealedName name, std::uint64_t expected_bytes, WriteBehind& queue)
    : name_(std::move(name)),
      temporary_(name_.make_temporary()),
      out_(std::make_unique<ScatteredWriter>(temporary_, expected_bytes, queue)) {}

SealedImage::~SealedImage() {
  if (!temporary_.empty()) drop_entry(temporary_);
}

void SealedImage::put(std::uint64_t offset, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const std::uint64_t index = sealed_chunk(offset);
    const std::uint64_t begin = sealed_chunk_begin(index);
    const std::size_t whole = sealed_chunk_begin(index + 1) - begin;
    if (offset == begin && bytes.size() >= whole) {
      const std::uint64_t end = sealed_chunk_begin(sealed_chunk(offset + bytes.size()));
      complete(index, bytes.first(end - begin));
      bytes = bytes.subspan(end - begin);
      offset = end;
      continue;
    }
    const std::size_t at = offset - begin;
    const std::size_t take = std::min(bytes.size(), whole - at);
    const auto part = bytes.first(take);
    offset += take;
    bytes = bytes.subspan(take);
    std::unique_lock lock(mutex_);
    Chunk& chunk = open_[index];
    if (!chunk.bytes && !spare_.empty()) {
      chunk.bytes = std::move(spare_.back());
      spare_.pop_back();
    }
    if (!chunk.bytes) chunk.bytes = std::make_unique_for_overwrite<std::byte[]>(kSealedChunkBytes);
    std::byte* const to = chunk.bytes.get() + at;
    lock.unlock();
    std::memcpy(to, part.data(), take);
    lock.lock();
    chunk.filled += take;
    if (chunk.filled < whole) continue;
    auto full = open_.extract(index);
    lock.unlock();
    complete(index, {full.mapped().bytes.get(), whole});
    lock.lock();
    spare_.push_back(std::move(full.mapped().bytes));
  }
}

void SealedImage::complete(std::uint64_t index, std::span<const std::byte> bytes) {
  std::vector<std::uint64_t> sums;
  const std::uint64_t begin = sealed_chunk_begin(index);
  for (std::uint64_t at = 0; at < bytes.size();) {
    const std::uint64_t end =
        std::min<std::uint64_t>(bytes.size(), sealed_chunk_begin(index + sums.size() + 1) - begin);
    sums.push_back(checksum64(bytes.subspan(at, end - at)));
    at = end;
  }
  out_->put(kSealedHeaderBytes + begin, bytes);
  const std::scoped_lock lock(mutex_);
  if (table_.size() < index + sums.size()) table_.resize(index + sums.size());
  std::copy(sums.begin(), sums.end(), table_.begin() + static_cast<std::ptrdiff_t>(index));
}

void SealedImage::finish(std::uint64_t payload_bytes, const SealedParameters& parameters) {
  const std::uint64_t last = sealed_chunk(payload_bytes);
  if (const std::size_t rest = payload_bytes - sealed_chunk_begin(last); rest > 0) {
    assert(open_.size() == 1 && open_.begin()->first == last && open_.begin()->second.filled == rest);
    complete(last, {open_[last].bytes.get(), rest});
  } else {
    assert(open_.empty());
  }
  open_.clear();
  spare_.clear();
  const SealedHeader header = seal(name_, payload_bytes, parameters, table_);
  static constexpr std::byte kZeros[8]{};
  const std::uint64_t table_at = sealed_table_offset(payload_bytes);
  out_->put(kSealedHeaderBytes + payload_bytes, {kZeros, table_at - kSealedHeaderBytes - payload_bytes});
  out_->put(table_at, std::as_bytes(std::span(table_)));
  out_->put(0, header.bytes);
  out_->finish();
  written_ = out_->watch();
  out_.reset();  // the queue closes the file after its last write
  table_ = {};
  entry_ = header.entry;
}

FileEntry SealedImage::publish() {
  assert(!out_);
  publish_sealed(name_, temporary_, entry_);
  temporary_.clear();
  return entry_;
}

void SealedImage::publish_as(const std::filesystem::path& path) {
  assert(is_written());
  File::open_stored(temporary_).sync();
  rename_entry(temporary_, path);
  temporary_.clear();
  sync_directory(path.parent_path());
}

}  // namespace unweave
