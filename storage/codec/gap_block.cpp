// storage/codec/gap_block.cpp - encodes neighbour lists as packed gaps or as zstd frames; decodes
// and checks both.
#include "storage/codec/gap_block.h"

#include <zstd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <numeric>
#include <optional>

#include "storage/codec/bit_pack.h"

namespace unweave {
namespace {

using Bytes = std::span<const std::byte>;
using Counts = std::span<const std::uint32_t>;

enum class Encoding : std::uint8_t { kPacked = 0, kZstd = 1 };

constexpr std::size_t kHeaderBytes = 5;  // encoding, smallest first id

// zstd is tried on byte-coded lists up to this size: it bounds what a hostile frame can make us
// hold, and longer lists gain little.
constexpr std::size_t kMaxFrameContent = std::size_t{64} << 10;
constexpr int kZstdLevel = 1;

// zstd is several times slower to decode than packed gaps, so it must at least halve the block.
constexpr std::size_t kZstdGain = 2;

// Trying zstd costs several times as much as packing, so it is tried only on content that repeats
// itself: with at most 3/5 as many new positions (may_halve) as there are packed bytes. What
// decided that number: growth of the shards against trying every block, the percentage of the
// content that is tried and that zstd then halves, and M arcs/s encoded on one core before the test
// and with it (the gain counts faster packing too). All of it was measured when groups had no
// patches; those make packed blocks smaller where gaps are skewed, so fewer are tried and halved.
//
//                       at 11/20    3/5     13/20    tried  halved    before  with
//   R-MAT 2^18 x 16     0           0       0           0       0       47    120
//   soc-slashdot0902    0           0       0         0.1       0       31    112
//   debian-deps         0           0       0           6       1       24     79
//   dblp-2010           0           0       0          19       5       21     58
//   ego-twitter         0.32 %      0.16 %  0          11       2       50    111
//   git-duckdb          1.75 %      0.20 %  0.07 %     40      28       53     92
//   cnr-2000            0.09 %      0.02 %  0.00 %     79      72       52     70
//   cnr-2000, LLP       0.04 %      0.01 %  0.00 %     83      73       61     82
constexpr std::size_t kMostNew = 3;
constexpr std::size_t kMostNewOf = 5;
constexpr unsigned kMaxSeenLog2 = 15;  // 64 KiB on the stack

constexpr std::size_t kMaxVarint = 5;
constexpr std::size_t kVarintRoom = 8;  // bytes that write_varint stores

constexpr const char* kBytesOfNothing = "a block without neighbours has bytes";
constexpr const char* kGapsMisfit = "the gaps do not fill the block";

struct FreeZstd {
  void operator()(ZSTD_CCtx* context) const noexcept { ZSTD_freeCCtx(context); }
  void operator()(ZSTD_DCtx* context) const noexcept { ZSTD_freeDCtx(context); }
};

static_assert(kBlockNodes <= kMaxPackedLists && kDecodeSlack >= kPackGroup);

std::size_t non_empty(Counts counts) {
  return static_cast<std::size_t>(std::count_if(counts.begin(), counts.end(), [](auto count) { return count > 0; }));
}

// What is left to read of a block.
class Reader {
 public:
  explicit Reader(Bytes bytes) : left_(bytes) {}

  Bytes take(std::size_t size) {
    if (size > left_.size()) throw BlockError{"the block ends too early"};
    const Bytes taken = left_.first(size);
    left_ = left_.subspan(size);
    return taken;
  }
  std::uint32_t take_u8() { return std::to_integer<std::uint32_t>(take(1)[0]); }
  std::uint32_t take_u32() {
    const Bytes four = take(4);
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < 4; ++i) value |= std::to_integer<std::uint32_t>(four[i]) << (8 * i);
    return value;
  }
  // Least significant 7 bits first; the high bit of a byte says that more follow. At most 32 bits.
  std::uint32_t take_varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 35; shift += 7) {
      const std::uint64_t byte = take_u8();
      value |= (byte & 0x7F) << shift;
      if (byte < 0x80) {
        if (value > 0xFFFF'FFFFU) break;
        return static_cast<std::uint32_t>(value);
      }
    }
    throw BlockError{"a gap has more than 32 bits"};
  }
  Bytes take_rest() { return take(left_.size()); }
  bool done() const { return left_.empty(); }

 private:
  Bytes left_;
};

// Calls visit(list) for every non-empty list.
template <class Visit>
void for_each_list(Counts counts, std::span<const NodeId> targets, const Visit& visit) {
  for (const std::uint32_t count : counts) {
    if (count > 0) visit(targets.first(count));
    targets = targets.subspan(count);
  }
}

void append_packed(Counts counts, std::span<const NodeId> targets, NodeId base, std::vector<std::byte>& out) {
  std::array<std::uint32_t, kBlockNodes> firsts;
  std::size_t lists = 0;
  std::size_t groups = 0;
  for_each_list(counts, targets, [&](auto list) {
    firsts[lists++] = list[0] - base;
    groups += gap_groups(static_cast<std::uint32_t>(list.size()));
  });
  const std::span<const std::uint32_t> all_firsts(firsts.data(), lists);
  const unsigned first_width = pack_width(all_firsts);
  out.push_back(static_cast<std::byte>(first_width));
  pack(all_firsts, first_width, out);
  std::size_t shape_at = out.size();
  out.resize(out.size() + groups);
  for_each_list(counts, targets, [&](auto list) {
    for (std::size_t at = 1; at < list.size(); at += kPackGroup) {
      GroupValues gaps{};
      const std::size_t size = std::min(kPackGroup, list.size() - at);
      for (std::size_t i = 0; i < size; ++i) gaps[i] = list[at + i] - list[at + i - 1] - 1;
      const std::byte shape = pack_group(gaps, size, out);
      out[shape_at++] = shape;
    }
  });
}

// Writes a varint and any bytes after it, kVarintRoom together; returns its length. Without a
// branch on the length, which processors would guess wrong.
std::size_t write_varint(std::uint32_t value, std::byte* out) {
  const std::uint64_t v = value;
  const std::uint64_t sevens =
      (v & 0x7F) | (v << 1 & 0x7F00) | (v << 2 & 0x7F'0000) | (v << 3 & 0x7F00'0000) | (v << 4 & 0x7F'0000'0000);
  const std::size_t size =
      (9 * static_cast<std::size_t>(std::bit_width(value | 1U)) + 64) / 64;  // bits over 7, upwards
  constexpr std::array<std::uint64_t, kMaxVarint + 1> kMore = {0, 0, 0x80, 0x8080, 0x80'8080, 0x8080'8080};
  const std::uint64_t bytes = sevens | kMore[size];
  std::memcpy(out, &bytes, kVarintRoom);
  return size;
}

// The content of a zstd block, or nothing if it would exceed kMaxFrameContent.
std::vector<std::byte> byte_coded(Counts counts, std::span<const NodeId> targets, NodeId base) {
  if (targets.size() > kMaxFrameContent) return {};  // no id takes less than a byte
  std::vector<std::byte> content(kMaxVarint * targets.size() + kVarintRoom);
  std::size_t size = 0;
  for_each_list(counts, targets, [&](auto list) {
    size += write_varint(list[0] - base, &content[size]);
    for (std::size_t i = 1; i < list.size(); ++i) size += write_varint(list[i] - list[i - 1] - 1, &content[size]);
  });
  content.resize(size <= kMaxFrameContent ? size : 0);
  return content;
}

// Whether `content` repeats itself so much that zstd may halve a block of `packed_size` bytes:
// counts the new positions, whose four bytes are not those of the last position of the same hash
// (FORMAT.md, "Which one").
bool may_halve(Bytes content, std::size_t packed_size) {
  std::array<std::uint16_t, std::size_t{1} << kMaxSeenLog2> seen;  // the last position of each hash
  static_assert(kMaxFrameContent - 1 <= std::numeric_limits<std::uint16_t>::max());
  const unsigned log2 = std::min(kMaxSeenLog2, static_cast<unsigned>(std::bit_width(content.size())));
  std::fill_n(seen.begin(), std::size_t{1} << log2, std::uint16_t{0});
  const auto four_at = [&](std::size_t position) {
    std::uint32_t four;
    std::memcpy(&four, &content[position], sizeof four);
    return four;
  };
  const std::size_t most = packed_size * kMostNew / kMostNewOf;
  std::size_t positions_new = 1;  // the first one; entries that were never written name it too
  for (std::size_t at = 1; at + sizeof(std::uint32_t) <= content.size(); ++at) {
    const std::uint32_t four = four_at(at);
    std::uint16_t& last = seen[four * 2'654'435'761U >> (32 - log2)];
    positions_new += four_at(last) == four ? 0 : 1;
    if (positions_new > most) return false;
    last = static_cast<std::uint16_t>(at);
  }
  return true;
}

// The frame, or nothing if it has more than `limit` bytes.
std::vector<std::byte> zstd_frame(Bytes content, std::size_t limit) {
  thread_local const std::unique_ptr<ZSTD_CCtx, FreeZstd> context(ZSTD_createCCtx());
  if (!context) throw std::bad_alloc();
  std::vector<std::byte> frame(ZSTD_compressBound(content.size()));
  const std::size_t size =
      ZSTD_compressCCtx(context.get(), frame.data(), frame.size(), content.data(), content.size(), kZstdLevel);
  if (ZSTD_isError(size)) throw std::bad_alloc();  // with room for the bound, nothing else can fail
  frame.resize(size <= limit ? size : 0);
  return frame;
}

// The first id of a list, in either encoding.
NodeId checked_first(NodeId base, std::uint32_t relative, NodeId num_nodes) {
  if (std::uint64_t{base} + relative >= num_nodes) throw BlockError{"a neighbour is not a node of the graph"};
  return base + relative;
}

// The lists of a packed block; `body` is what follows its header.
PackedLists packed_lists(Bytes body, Counts counts, NodeId base, NodeId num_nodes) {
  const unsigned first_width = Reader(body).take_u8();
  if (first_width > kMaxPackWidth) throw BlockError{"the first ids are wider than 32 bits"};
  std::size_t groups = 0;
  std::size_t lists = 0;
  for (const std::uint32_t count : counts) {
    groups += gap_groups(count);
    lists += count > 0 ? 1 : 0;
  }
  if (lists == 0) throw BlockError{kBytesOfNothing};
  const std::size_t shapes_at = 1 + packed_bytes(lists, first_width);
  const std::size_t groups_at = shapes_at + groups;
  if (groups_at > body.size()) throw BlockError{"the block ends too early"};
  return {counts, num_nodes, base, first_width, body, 1, shapes_at, groups_at, body.size()};
}

void unpack_checked(const PackedLists& lists, NodeId* targets) {
  if (!unpack_lists(lists, targets)) throw BlockError{"the gaps do not make lists of nodes that fill the block"};
}

// Gaps in the last group of a list of `count` ids; those of a whole one where it has no group.
std::size_t gaps_in_last(std::uint32_t count) {
  return count < 2 ? kPackGroup : (count - 2) % kPackGroup + 1;
}

// Bytes of the groups of lists of `counts` ids, whose shapes `shapes` begins with; nothing if one
// of them has a patch.
std::optional<std::size_t> unpatched_bytes(Counts counts, Bytes shapes) {
  std::size_t groups = 0;
  for (const std::uint32_t count : counts) groups += gap_groups(count);
  std::size_t sum = 0;
  unsigned widest = 0;
  for (const std::byte shape : shapes.first(groups)) {
    sum += std::to_integer<unsigned>(shape);
    widest = std::max(widest, std::to_integer<unsigned>(shape));
  }
  if (widest >= kPatched) return std::nullopt;
  if (widest > kMaxPackWidth) throw BlockError{kGapsMisfit};
  if (groups == 0) return 0;
  std::size_t missing = 0;  // what the last group of a list lacks in comparison with a whole one
  std::size_t end = 0;      // groups up to that one
  for (const std::uint32_t count : counts) {
    end += gap_groups(count);
    const auto width = std::to_integer<unsigned>(shapes[std::max<std::size_t>(end, 1) - 1]);
    missing += packed_bytes(kPackGroup, width) - packed_bytes(gaps_in_last(count), width);
  }
  return packed_bytes(kPackGroup, 1) * sum - missing;
}

// Where the groups of lists of `counts` ids end, which begin at `at` and whose shapes `shapes`
// begins with. Patches are looked for first, since lengths without them take no look at the groups.
std::size_t end_of_groups(Bytes body, std::size_t at, Counts counts, Bytes shapes) {
  if (const std::optional<std::size_t> bytes = unpatched_bytes(counts, shapes)) {
    if (*bytes > body.size() - at) throw BlockError{kGapsMisfit};
    return at + *bytes;
  }
  for (const std::uint32_t& count : counts) {
    const std::size_t groups = gap_groups(count);
    if (counts.size() > 1) at = end_of_groups(body, at, Counts(&count, 1), shapes);
    for (std::size_t group = 0; counts.size() == 1 && group < groups; ++group) {
      const std::size_t gaps = group + 1 < groups ? kPackGroup : gaps_in_last(count);
      if (!skip_group(body, at, gaps, std::to_integer<unsigned>(shapes[group]))) throw BlockError{kGapsMisfit};
    }
    shapes = shapes.subspan(groups);
  }
  return at;
}

void decode_packed_list(Bytes body, Counts counts, std::size_t index, NodeId base, NodeId num_nodes, NodeId* targets) {
  PackedLists one = packed_lists(body, counts, base, num_nodes);
  const Bytes firsts = body.subspan(one.firsts_at, one.shapes_at - one.firsts_at);
  const Bytes shapes = body.subspan(one.shapes_at, one.groups_at - one.shapes_at);
  const Counts before = counts.first(index), own = counts.subspan(index, 1);
  std::size_t groups = 0;
  for (const std::uint32_t count : before) groups += gap_groups(count);
  one.shapes_at += groups;
  one.groups_at = end_of_groups(body, one.groups_at, before, shapes);
  one.groups_end = end_of_groups(body, one.groups_at, own, shapes.subspan(groups));
  one.base = checked_first(base, unpack_one(firsts, one.first_width, non_empty(before)), num_nodes);
  one.first_width = 0;
  one.counts = own;
  unpack_checked(one, targets);
}

// Unpacks the frame and calls read(reader) on its content, which read must use up.
template <class Read>
void with_frame_content(Bytes frame, const Read& read) {
  thread_local const std::unique_ptr<ZSTD_DCtx, FreeZstd> context(ZSTD_createDCtx());
  if (!context) throw std::bad_alloc();
  const unsigned long long declared = ZSTD_getFrameContentSize(frame.data(), frame.size());
  if (declared > kMaxFrameContent)  // the marks for "unknown" and "not a frame" are larger too
    throw BlockError{"the zstd frame declares a wrong size"};
  if (ZSTD_findFrameCompressedSize(frame.data(), frame.size()) != frame.size())
    throw BlockError{"the block is not one zstd frame"};
  std::array<std::byte, kMaxFrameContent> content;
  if (ZSTD_decompressDCtx(context.get(), content.data(), declared, frame.data(), frame.size()) != declared)
    throw BlockError{"the zstd frame is damaged"};
  Reader reader(Bytes(content.data(), declared));
  read(reader);
  if (!reader.done()) throw BlockError{"bytes follow the last list"};
}

void read_byte_coded(Reader& reader, std::uint32_t count, NodeId base, NodeId num_nodes, NodeId* targets) {
  if (count == 0) return;
  NodeId previous = targets[0] = checked_first(base, reader.take_varint(), num_nodes);
  for (std::uint32_t i = 1; i < count; ++i) {
    const std::uint64_t next = std::uint64_t{previous} + reader.take_varint() + 1;
    if (next >= num_nodes) throw BlockError{"a neighbour is not a node of the graph"};
    previous = targets[i] = static_cast<NodeId>(next);
  }
}

void skip_byte_coded(Reader& reader, std::uint32_t count) {
  for (std::uint32_t i = 0; i < count; ++i) reader.take_varint();
}

}  // namespace

void encode_block(Counts counts, std::span<const NodeId> targets, std::vector<std::byte>& out) {
  assert(counts.size() <= kBlockNodes);
  assert(std::reduce(counts.begin(), counts.end(), std::size_t{0}) == targets.size());
  if (targets.empty()) return;
  NodeId base = kMaxNodeId;
  for_each_list(counts, targets, [&](auto list) {
    assert(std::adjacent_find(list.begin(), list.end(), std::greater_equal<>()) == list.end());
    assert(list.back() <= kMaxNodeId);
    base = std::min(base, list[0]);
  });
  const std::size_t begin = out.size();
  out.push_back(static_cast<std::byte>(Encoding::kPacked));
  for (unsigned shift = 0; shift < 32; shift += 8) out.push_back(static_cast<std::byte>((base >> shift) & 0xFF));
  append_packed(counts, targets, base, out);

  const std::size_t limit = (out.size() - begin) / kZstdGain;
  if (limit <= kHeaderBytes) return;
  const std::vector<std::byte> content = byte_coded(counts, targets, base);
  if (content.empty() || !may_halve(content, out.size() - begin)) return;
  const std::vector<std::byte> frame = zstd_frame(content, limit - kHeaderBytes);
  if (frame.empty()) return;
  out[begin] = static_cast<std::byte>(Encoding::kZstd);
  out.resize(begin + kHeaderBytes);
  out.insert(out.end(), frame.begin(), frame.end());
}

std::uint64_t most_block_arcs(std::uint64_t bytes) noexcept {
  // A group of gaps has a byte at least, byte-coded lists one an id; a list has its first id for
  // nothing.
  return bytes == 0 ? 0 : kBlockNodes + std::max<std::uint64_t>(kPackGroup * bytes, kMaxFrameContent);
}

bool uses_zstd(Bytes bytes) noexcept {
  return !bytes.empty() && bytes[0] == static_cast<std::byte>(Encoding::kZstd);
}

void decode_block(Bytes bytes, Counts counts, NodeId num_nodes, NodeId* targets) {
  assert(counts.size() <= kBlockNodes);
  if (bytes.empty() && non_empty(counts) == 0) return;
  Reader reader(bytes);
  const std::uint32_t encoding = reader.take_u8();
  const NodeId base = reader.take_u32();
  if (encoding == static_cast<std::uint32_t>(Encoding::kPacked)) {
    unpack_checked(packed_lists(reader.take_rest(), counts, base, num_nodes), targets);
  } else if (encoding == static_cast<std::uint32_t>(Encoding::kZstd)) {
    if (non_empty(counts) == 0) throw BlockError{kBytesOfNothing};
    with_frame_content(reader.take_rest(), [&](Reader& content) {
      for (const std::uint32_t count : counts) {
        read_byte_coded(content, count, base, num_nodes, targets);
        targets += count;
      }
    });
  } else {
    throw BlockError{"unknown encoding"};
  }
}

void decode_list(Bytes bytes, Counts counts, std::size_t index, NodeId num_nodes, NodeId* targets) {
  assert(counts.size() <= kBlockNodes && index < counts.size());
  Reader reader(bytes);
  if (counts[index] == 0) return;
  const std::uint32_t encoding = reader.take_u8();
  const NodeId base = reader.take_u32();
  if (encoding == static_cast<std::uint32_t>(Encoding::kPacked)) {
    decode_packed_list(reader.take_rest(), counts, index, base, num_nodes, targets);
  } else if (encoding == static_cast<std::uint32_t>(Encoding::kZstd)) {
    with_frame_content(reader.take_rest(), [&](Reader& content) {
      for (std::size_t i = 0; i < index; ++i) skip_byte_coded(content, counts[i]);
      read_byte_coded(content, counts[index], base, num_nodes, targets);
      for (std::size_t i = index + 1; i < counts.size(); ++i) skip_byte_coded(content, counts[i]);
    });
  } else {
    throw BlockError{"unknown encoding"};
  }
}

}  // namespace unweave
