// storage/formats/name_file.cpp - writes names of nodes and their index, and reads and checks them.
#include "storage/formats/name_file.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <optional>
#include <string>

#include "storage/io/checksum.h"
#include "storage/io/plain_text.h"

namespace unweave {
namespace {

static_assert(std::endian::native == std::endian::little, "entries are written as they lie in memory");

constexpr std::uint64_t kIndexEntryBytes = 12;
constexpr std::uint64_t kNamesABucket = 8;  // at most, where hashes are even
constexpr std::size_t kIndexFlushBytes = std::size_t{64} << 10;

SealedName names_file(const std::filesystem::path& store) {
  return {store, "names", "names", "names", "names"};
}

SealedName index_file(const std::filesystem::path& store) {
  return {store, "names", "index", "index", "nameidx"};
}

/// Why a text cannot stand in an edge or a request as a name, whatever its characters are; null
/// where it can.
const char* word_fault(std::string_view name) noexcept {
  if (name.empty()) return "it is empty";
  if (name.size() > kMostNameBytes) return "it is longer than 255 bytes";
  if (name[0] == '#') return "it begins with #, as comments do";
  if (name.front() == ' ') return "it begins with a blank";
  if (name.back() == ' ') return "it ends with a blank";
  return nullptr;
}

/// name_fault() of a name that a store has, which an older program may have taken.
const char* stored_name_fault(std::string_view name) noexcept {
  if (const char* const fault = word_fault(name)) return fault;
  constexpr char32_t kFirstTaken = 0xA0;  // what they took and name_fault() refuses is above
  std::optional<TextFault> fault = text_fault(name);
  while (fault && fault->is_utf8 && fault->character >= kFirstTaken)
    fault = text_fault(name, {}, fault->byte + fault->bytes);
  return fault ? fault->what : nullptr;
}

/// Highest bits of a hash that number its bucket.
unsigned bucket_bits(std::uint64_t named) noexcept {
  return named <= kNamesABucket ? 0U : static_cast<unsigned>(std::bit_width((named - 1) / kNamesABucket));
}

std::uint64_t sum_of_bytes(std::uint64_t word) noexcept {
  constexpr std::uint64_t kEveryOther = 0x00FF'00FF'00FF'00FF;
  return ((word & kEveryOther) + (word >> 8 & kEveryOther)) * 0x0001'0001'0001'0001 >> 48;
}

/// The sum of the first `count` lengths of a block, below 64.
std::uint64_t sum_of_lengths(const std::byte* lengths, unsigned count) noexcept {
  std::uint64_t sum = 0, word = 0;
  unsigned at = 0;
  for (; at + 8 <= count; at += 8) {
    std::memcpy(&word, lengths + at, sizeof word);
    sum += sum_of_bytes(word);
  }
  if (at == count) return sum;
  std::memcpy(&word, lengths + at, sizeof word);  // lengths are 64, whatever the count
  return sum + sum_of_bytes(word & ((std::uint64_t{1} << 8 * (count - at)) - 1));
}

}  // namespace

const char* name_fault(std::string_view name) noexcept {
  if (const char* const fault = word_fault(name)) return fault;
  const std::optional<TextFault> fault = text_fault(name);
  return fault ? fault->what : nullptr;
}

std::uint64_t name_hash(std::string_view name) noexcept {
  return checksum64(std::as_bytes(std::span(name)));
}

NameWriter::NameWriter(const std::filesystem::path& store) : out_(names_file(store)), block_(kBlockNames) {}

void NameWriter::add(std::string_view name) {
  const auto place = static_cast<std::size_t>(nodes_++ % kBlockNames);
  block_[place] = static_cast<char>(static_cast<unsigned char>(name.size()));
  block_.insert(block_.end(), name.begin(), name.end());
  named_ += name.empty() ? 0 : 1;
  if (place + 1 == kBlockNames) flush();
}

void NameWriter::flush() {
  out_.append(std::as_bytes(std::span(block_)));
  offsets_.push_back(out_.size());
  block_.assign(kBlockNames, '\0');
}

FileEntry NameWriter::finish() {
  if (nodes_ % kBlockNames != 0) flush();
  out_.align(sizeof(std::uint64_t));
  out_.append_values(std::span<const std::uint64_t>(offsets_));
  return out_.finish({nodes_, named_});
}

NameList::NameList(const std::filesystem::path& store, const FileEntry& entry, NodeId nodes)
    : file_(store, entry, "names"), nodes_(nodes) {
  const std::uint64_t table = sizeof(std::uint64_t) * ((std::uint64_t{nodes} + kBlockNames - 1) / kBlockNames + 1);
  if (file_.parameters()[0] != nodes || named() > nodes || file_.size() < table || file_.size() % 8 != 0)
    file_.fail(file_.size(), "not a name a node");
  offsets_at_ = file_.size() - table;
}

NameList::Block NameList::block_of(NodeId id) const {
  const std::uint64_t at = offsets_at_ + sizeof(std::uint64_t) * (id / kBlockNames);
  Block block{};
  static_assert(sizeof block == 2 * sizeof(std::uint64_t));
  file_.check(at, sizeof block);
  std::memcpy(&block, file_.data() + at, sizeof block);
  if (block.begin > block.end || block.end > offsets_at_ || block.end - block.begin < kBlockNames)
    file_.fail(at, "a block of names that ends outside the file");
  return block;
}

std::string_view NameList::name(NodeId id) const {
  const Block block = block_of(id);
  file_.check(block.begin, kBlockNames);
  const std::byte* const lengths = file_.data() + block.begin;
  const unsigned place = id % kBlockNames;
  const auto length = static_cast<std::uint64_t>(lengths[place]);
  const std::uint64_t at = block.begin + kBlockNames + sum_of_lengths(lengths, place);
  if (length > block.end - block.begin || at > block.end - length)
    file_.fail(block.begin + place, "a name that ends outside its block");
  file_.check(at, length);
  return {reinterpret_cast<const char*>(file_.data() + at), static_cast<std::size_t>(length)};
}

void NameList::prefetch_offset(NodeId id) const noexcept {
  __builtin_prefetch(file_.data() + offsets_at_ + sizeof(std::uint64_t) * (id / kBlockNames));
}

void NameList::prefetch_lengths(NodeId id) const {
  const std::byte* const block = file_.data() + block_of(id).begin;
  __builtin_prefetch(block);
  __builtin_prefetch(block + kBlockNames);
}

void NameList::prefetch_name(NodeId id) const {
  __builtin_prefetch(name(id).data());
}

void NameList::verify() const {
  file_.check_all();
  std::uint64_t count = 0, end = 0;
  for (NodeId first = 0; first < nodes_; first += std::min(kBlockNames, nodes_ - first)) {
    const Block block = block_of(first);
    if (block.begin != end) file_.fail(block.begin, "a block that does not begin where the one before ends");
    const std::byte* const lengths = file_.data() + block.begin;
    const unsigned last = kBlockNames - 1;
    const std::uint64_t bytes = sum_of_lengths(lengths, last) + static_cast<std::uint64_t>(lengths[last]);
    if (bytes != block.end - block.begin - kBlockNames) file_.fail(block.begin, "lengths that do not fill their block");
    for (NodeId i = 0; i < kBlockNames; ++i) {
      if (lengths[i] == std::byte{0}) continue;
      if (first + std::uint64_t{i} >= nodes_) file_.fail(block.begin + i, "a name behind the last node");
      if (const char* const fault = stored_name_fault(name(first + i)))
        file_.fail(block.begin + i, "the name of node " + std::to_string(first + i) + ": " + fault);
      ++count;
    }
    end = block.end;
  }
  if (count != named()) file_.fail(0, "another number of names than it says");
  if ((end + 7) / 8 * 8 != offsets_at_) file_.fail(end, "bytes between the names and their places");
  for (std::uint64_t at = end; at < offsets_at_; ++at)
    if (file_.data()[at] != std::byte{0}) file_.fail(at, "padding that is not 0");
}

NameIndexWriter::NameIndexWriter(const std::filesystem::path& store, NodeId nodes, std::uint64_t named)
    : out_(index_file(store)),
      nodes_(nodes),
      named_(named),
      bits_(bucket_bits(named)),
      buckets_((std::size_t{1} << bits_) + 1) {}

std::uint64_t NameIndexWriter::bytes(std::uint64_t named) noexcept {
  return ((std::uint64_t{1} << bucket_bits(named)) + 1) * sizeof(std::uint32_t) + 2 * kIndexFlushBytes;
}

void NameIndexWriter::add(std::uint64_t hash, NodeId id) {
  ++buckets_[static_cast<std::size_t>(bits_ == 0 ? 0 : hash >> (64 - bits_)) + 1];
  const std::size_t at = waiting_.size();
  waiting_.resize(at + kIndexEntryBytes);
  std::memcpy(waiting_.data() + at, &hash, sizeof hash);
  std::memcpy(waiting_.data() + at + sizeof hash, &id, sizeof id);
  ++added_;
  if (waiting_.size() < kIndexFlushBytes) return;
  out_.append(waiting_);
  waiting_.clear();
}

FileEntry NameIndexWriter::finish() {
  out_.append(waiting_);
  for (std::size_t i = 1; i < buckets_.size(); ++i) buckets_[i] += buckets_[i - 1];
  out_.append_values(std::span<const std::uint32_t>(buckets_));
  return out_.finish({nodes_, named_});
}

NameIndex::NameIndex(const std::filesystem::path& store, const FileEntry& entry, const NameList& names)
    : names_(names), file_(store, entry, "nameidx"), named_(file_.parameters()[1]), bits_(bucket_bits(named_)) {
  if (file_.parameters()[0] != names.nodes() || named_ != names.named() ||
      file_.size() != kIndexEntryBytes * named_ + sizeof(std::uint32_t) * ((std::uint64_t{1} << bits_) + 1))
    file_.fail(file_.size(), "not an entry a name");
  buckets_at_ = kIndexEntryBytes * named_;
}

std::uint64_t NameIndex::bucket_number(std::uint64_t hash) const noexcept {
  return bits_ == 0 ? 0 : hash >> (64 - bits_);
}

NameIndex::Bucket NameIndex::bucket(std::uint64_t number) const {
  const std::uint64_t at = buckets_at_ + sizeof(std::uint32_t) * number;
  std::array<std::uint32_t, 2> ends{};
  file_.check(at, sizeof ends);
  std::memcpy(ends.data(), file_.data() + at, sizeof ends);
  if (ends[0] > ends[1] || ends[1] > named_) file_.fail(at, "a bucket that ends outside the index");
  return {ends[0], ends[1]};
}

NameIndex::Entry NameIndex::entry(std::uint64_t index) const {
  const std::uint64_t at = kIndexEntryBytes * index;
  file_.check(at, kIndexEntryBytes);
  Entry found;
  std::memcpy(&found.hash, file_.data() + at, sizeof found.hash);
  std::memcpy(&found.id, file_.data() + at + sizeof found.hash, sizeof found.id);
  if (found.id >= names_.nodes()) file_.fail(at, "an id that is not below the number of nodes");
  return found;
}

std::uint64_t NameIndex::place(std::uint64_t hash, Bucket within) const {
  constexpr std::uint64_t kScanned = 16;  // from here on a search by halves needs fewer looks
  while (within.last - within.first > kScanned) {
    const std::uint64_t middle = within.first + (within.last - within.first) / 2;
    (entry(middle).hash < hash ? within.first : within.last) = middle + (entry(middle).hash < hash ? 1 : 0);
  }
  while (within.first < within.last && entry(within.first).hash < hash) ++within.first;
  return within.first;
}

NodeId NameIndex::find_from(std::uint64_t at, std::uint64_t last, std::uint64_t hash, std::string_view name) const {
  for (; at < last; ++at) {
    const Entry one = entry(at);
    if (one.hash != hash) break;
    if (names_.name(one.id) == name) return one.id;
  }
  return kNoNode;
}

NodeId NameIndex::find(std::string_view name) const {
  if (name.empty()) return kNoNode;
  const std::uint64_t hash = name_hash(name);
  const Bucket all = bucket(bucket_number(hash));
  return find_from(place(hash, all), all.last, hash, name);
}

void NameIndex::find(std::span<const std::string_view> names, NodeId* nodes) const {
  constexpr std::size_t kAtOnce = 32;
  struct Search {
    std::uint64_t hash, at, last;
    NodeId id;
  };
  std::array<Search, kAtOnce> group{};
  for (std::size_t first = 0; first < names.size(); first += kAtOnce) {
    const std::size_t count = std::min(kAtOnce, names.size() - first);
    for (std::size_t i = 0; i < count; ++i) {
      group[i].hash = name_hash(names[first + i]);
      __builtin_prefetch(file_.data() + buckets_at_ + sizeof(std::uint32_t) * bucket_number(group[i].hash));
    }
    for (std::size_t i = 0; i < count; ++i) {
      const Bucket all = bucket(bucket_number(group[i].hash));
      group[i].at = all.first;
      group[i].last = all.last;
      __builtin_prefetch(file_.data() + kIndexEntryBytes * all.first);
      if (all.first < all.last) __builtin_prefetch(file_.data() + kIndexEntryBytes * (all.last - 1));
    }
    for (std::size_t i = 0; i < count; ++i) {
      Search& one = group[i];
      one.at = place(one.hash, {one.at, one.last});
      one.id = one.at < one.last ? entry(one.at).id : kNoNode;
      if (one.id != kNoNode) names_.prefetch_offset(one.id);
    }
    for (std::size_t i = 0; i < count; ++i)
      if (group[i].id != kNoNode) names_.prefetch_lengths(group[i].id);
    for (std::size_t i = 0; i < count; ++i)
      if (group[i].id != kNoNode) names_.prefetch_name(group[i].id);
    for (std::size_t i = 0; i < count; ++i)
      nodes[first + i] =
          names[first + i].empty() ? kNoNode : find_from(group[i].at, group[i].last, group[i].hash, names[first + i]);
  }
}

void NameIndex::verify() const {
  file_.check_all();
  const std::uint64_t buckets = std::uint64_t{1} << bits_;
  if (bucket(0).first != 0) file_.fail(buckets_at_, "entries before the first bucket");
  if (bucket(buckets - 1).last != named_) file_.fail(buckets_at_, "entries behind the last bucket");
  Entry before;
  std::size_t equal = 0;
  for (std::uint64_t number = 0; number < buckets; ++number) {
    const Bucket all = bucket(number);
    for (std::uint64_t i = all.first; i < all.last; ++i) {
      const Entry one = entry(i);
      const std::uint64_t at = kIndexEntryBytes * i;
      if (bucket_number(one.hash) != number) file_.fail(at, "a hash in the bucket of others");
      if (i > 0 && (one.hash < before.hash || (one.hash == before.hash && one.id <= before.id)))
        file_.fail(at, "hashes that do not ascend");
      equal = i > 0 && one.hash == before.hash ? equal + 1 : 0;
      if (equal >= kMostEqualHashes) file_.fail(at, "more names of one hash than there may be");
      const std::string_view name = names_.name(one.id);
      if (name.empty() || name_hash(name) != one.hash) file_.fail(at, "a hash that is not that of its name");
      // Entries of one hash differ in their ids; two nodes of one name would be told apart by
      // nothing.
      for (std::uint64_t k = i - equal; k < i; ++k)
        if (names_.name(entry(k).id) == name) file_.fail(at, "two nodes of one name");
      before = one;
    }
  }
}

}  // namespace unweave
