// storage/formats/value_file.h - a sealed file that begins with one value for each node, each part
// of which is read when somebody first asks for a value of it.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>

#include "storage/formats/sealed_file.h"
#include "storage/io/types.h"

namespace unweave {

/// Opening it takes no longer for many nodes than for few. Const members may run on any number of
/// threads at once.
template <class T>
class ValueFile {
 public:
  /// The file must have a value of each node, which a caller checks that knows what else it may
  /// have. Throws DataError, FormatError.
  ValueFile(const std::filesystem::path& store, const FileEntry& entry, std::string_view kind, NodeId nodes)
      : file_(store, entry, kind), nodes_(nodes), is_checked_(new std::atomic<bool>[nodes / kPart + 1]()) {}
  virtual ~ValueFile() = default;

  [[nodiscard]] const SealedFile& file() const noexcept { return file_; }
  [[nodiscard]] NodeId nodes() const noexcept { return nodes_; }
  /// Throws FormatError where it is damaged.
  [[nodiscard]] T operator[](NodeId node) const {
    if (!is_checked_[node / kPart].load(std::memory_order_acquire)) check_part(node / kPart);
    return reinterpret_cast<const T*>(file_.data())[node];
  }
  /// The values of a range of nodes, checked.
  [[nodiscard]] std::span<const T> values(NodeRange nodes) const {
    for (NodeId part = nodes.first / kPart; part * std::uint64_t{kPart} < nodes.last; ++part)
      if (!is_checked_[part].load(std::memory_order_acquire)) check_part(part);
    return file_.values<T>(std::uint64_t{nodes.first} * sizeof(T), nodes.size());
  }
  /// The values of a range of nodes will be read soon.
  void read_ahead(NodeRange nodes) const noexcept {
    file_.read_ahead(std::uint64_t{nodes.first} * sizeof(T), std::uint64_t{nodes.size()} * sizeof(T));
  }

 protected:
  /// Throws FormatError where one of these values, which begin with that of `first`, cannot be.
  virtual void require(NodeId /*first*/, std::span<const T> /*values*/) const {}

 private:
  static constexpr NodeId kPart = 1024;
  void check_part(NodeId part) const {
    const NodeId first = part * kPart;
    require(first, file_.values<T>(std::uint64_t{first} * sizeof(T), std::min(kPart, nodes_ - first)));
    is_checked_[part].store(true, std::memory_order_release);
  }
  SealedFile file_;
  NodeId nodes_;
  mutable std::unique_ptr<std::atomic<bool>[]> is_checked_;
};

}  // namespace unweave
