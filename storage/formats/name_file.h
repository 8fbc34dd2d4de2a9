// storage/formats/name_file.h - the names of nodes at rest, and the index that finds a node by its
// name (FORMAT.md, "Names").
//
// Sealed file of kind "names": blocks of 64 nodes in order of the user's ids, each with
//   lengths     u8 for each node: bytes of its name; 0 for a node without one, and behind the last
//               node
//   bytes       the names, one after the other
// then, after padding to 8 bytes, u64 for each block and one more: where it begins, and where the
// last one ends.
//
// Sealed file of kind "nameidx": for each name, sorted by hash and then by id, 12 bytes
//   hash        u64, XXH3-64 of the name
//   id          u32, the user's
// then u32 for each bucket and one more: its first entry. A bucket is the hashes that share their
// highest bits.
//
// Both are as they lie in memory: a lookup reads some lines of each file and decodes nothing.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "storage/formats/sealed_file.h"
#include "storage/io/types.h"
#include "storage/types/ids_are.h"

namespace unweave {

inline constexpr std::size_t kMostNameBytes = 255;
inline constexpr NodeId kBlockNames = 64;
/// Names that share a hash, at most: two are rare among all names that there will ever be, more are
/// made by somebody.
inline constexpr std::size_t kMostEqualHashes = 16;

/// Why a text is no name of a node, "it ends with a blank"; null where it is one. A name is a plain
/// text (plain_text.h) of 1 to 255 bytes that neither begins nor ends with a blank, which readers
/// of tables drop, and does not begin with #.
[[nodiscard]] const char* name_fault(std::string_view name) noexcept;

[[nodiscard]] std::uint64_t name_hash(std::string_view name) noexcept;

/// The two files of a store's names.
struct NameEntries {
  FileEntry names, index;
  friend bool operator==(const NameEntries&, const NameEntries&) = default;
};

/// Writes the names of nodes 0, 1, 2, ... Holds 8 bytes a block. Not for concurrent use.
class NameWriter {
 public:
  explicit NameWriter(const std::filesystem::path& store);
  /// The name of the next node, as name_fault() allows; empty: it has none.
  void add(std::string_view name);
  [[nodiscard]] std::uint64_t nodes() const noexcept { return nodes_; }
  FileEntry finish();

 private:
  void flush();
  SealedWriter out_;
  std::vector<std::uint64_t> offsets_{0};
  std::vector<char> block_;  ///< lengths, then bytes
  std::uint64_t nodes_ = 0, named_ = 0;
};

/// The mapped names. Const members may run on any number of threads at once, and throw FormatError.
class NameList {
 public:
  NameList(const std::filesystem::path& store, const FileEntry& entry, NodeId nodes);

  [[nodiscard]] NodeId nodes() const noexcept { return nodes_; }
  [[nodiscard]] std::uint64_t named() const noexcept { return file_.parameters()[1]; }
  /// The name of a node below nodes(); empty where it has none. Lives as long as this object.
  [[nodiscard]] std::string_view name(NodeId id) const;
  /// Checks every byte: what name() relies on, and that each name is one, or was one for older
  /// programs, which took marks of the direction of writing, separators of lines and byte order
  /// marks.
  void verify() const;

  // name() in steps, for lookups that overlap the waits of many names.
  void prefetch_offset(NodeId id) const noexcept;
  void prefetch_lengths(NodeId id) const;
  void prefetch_name(NodeId id) const;
  [[nodiscard]] const SealedFile& file() const noexcept { return file_; }

 private:
  struct Block {
    std::uint64_t begin, end;
  };
  [[nodiscard]] Block block_of(NodeId id) const;
  SealedFile file_;
  NodeId nodes_;
  std::uint64_t offsets_at_ = 0;
};

/// Writes an index, whose entries come sorted by hash and id. Holds a byte a name at most. Not for
/// concurrent use.
class NameIndexWriter {
 public:
  NameIndexWriter(const std::filesystem::path& store, NodeId nodes, std::uint64_t named);
  void add(std::uint64_t hash, NodeId id);
  /// As many entries as were declared have been added.
  FileEntry finish();

  /// Memory that a writer of so many names takes.
  [[nodiscard]] static std::uint64_t bytes(std::uint64_t named) noexcept;

 private:
  SealedWriter out_;
  NodeId nodes_;
  std::uint64_t named_, added_ = 0;
  unsigned bits_;
  std::vector<std::uint32_t> buckets_;  ///< entries of each bucket, shifted by one
  std::vector<std::byte> waiting_;
};

/// The mapped index over a list of names, which outlives it. Const members may run on any number of
/// threads at once, and throw FormatError.
class NameIndex {
 public:
  NameIndex(const std::filesystem::path& store, const FileEntry& entry, const NameList& names);

  /// The node of this name; kNoNode where no node has it. Its bytes are compared, so that hashes
  /// decide nothing.
  [[nodiscard]] NodeId find(std::string_view name) const;
  /// As many nodes at once as there are names: waits for memory overlap.
  void find(std::span<const std::string_view> names, NodeId* nodes) const;
  /// Calls use(hash, id) for every entry in order.
  template <class Use>
  void for_each(const Use& use) const {
    for (std::uint64_t i = 0; i < named_; ++i) {
      const Entry one = entry(i);
      use(one.hash, one.id);
    }
  }
  /// Checks every byte, and that every name of the list, and nothing else, is found under its hash.
  void verify() const;

 private:
  struct Entry {
    std::uint64_t hash = 0;
    NodeId id = 0;
  };
  struct Bucket {
    std::uint64_t first = 0, last = 0;
  };
  [[nodiscard]] std::uint64_t bucket_number(std::uint64_t hash) const noexcept;
  [[nodiscard]] Bucket bucket(std::uint64_t number) const;
  [[nodiscard]] Entry entry(std::uint64_t index) const;
  /// The first entry of this hash, or that of the next one.
  [[nodiscard]] std::uint64_t place(std::uint64_t hash, Bucket bucket) const;
  [[nodiscard]] NodeId find_from(std::uint64_t at, std::uint64_t last, std::uint64_t hash, std::string_view name) const;
  const NameList& names_;
  SealedFile file_;
  std::uint64_t named_ = 0, buckets_at_ = 0;
  unsigned bits_ = 0;
};

}  // namespace unweave
