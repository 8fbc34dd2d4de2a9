// engine/ingest/name_table.h - names in memory, for the many lookups of an import: one wait for
// memory a name.
//
// The index of a store (storage/formats/name_file.h) finds a name too, in four waits on small
// pages. A table takes 32 to 128 bytes a name, so that it is made where the budget has room.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "engine/resources/memory.h"
#include "storage/formats/name_file.h"
#include "storage/io/types.h"

namespace unweave {

/// Const members may run on any number of threads at once.
class NameTable {
 public:
  /// `names`, which outlive the table, are distinct. Throws FormatError, ResourceError.
  NameTable(const NameList& names, MemoryBudget& budget);
  /// Memory that a table of these names takes.
  [[nodiscard]] static std::uint64_t bytes(const NameList& names);

  /// The nodes of these names, kNoNode for a name that no node has. Throws FormatError.
  void find(std::span<const std::string_view> names, NodeId* nodes) const;

 private:
  /// A slot is the id + 1, or 0, the length of the name, and the name; of a longer name as much as
  /// there is room for, and the list has the rest.
  static constexpr std::size_t kHeadBytes = 5;
  static constexpr std::uint64_t kLineBytes = 64;
  [[nodiscard]] static std::size_t slot_bytes(const NameList& names);
  [[nodiscard]] static std::uint64_t lines(const NameList& names);
  [[nodiscard]] std::uint64_t first_slot(std::uint64_t hash) const noexcept;
  template <std::size_t kBytes>
  void insert(std::string_view name, NodeId id);
  template <std::size_t kBytes>
  [[nodiscard]] NodeId find_from(std::uint64_t slot, std::string_view name) const;
  template <std::size_t kBytes>
  void fill();
  template <std::size_t kBytes>
  void find_all(std::span<const std::string_view> names, NodeId* nodes) const;

  const NameList& names_;
  std::size_t slot_bytes_;
  std::uint64_t lines_, slots_count_;
  HugeBuffer slots_;
};

}  // namespace unweave
