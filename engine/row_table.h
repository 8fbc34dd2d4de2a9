// engine/row_table.h - a sparse map from node to slot: two-level pages, so that it costs memory only where it is used
// and is walked in node order.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "storage/types.h"

namespace unweave {

class RowTable {
 public:
  static constexpr std::uint32_t kEmpty = 0xFFFF'FFFFU;

  explicit RowTable(NodeId nodes) : pages_((std::size_t{nodes} + kPage - 1) / kPage) {}

  [[nodiscard]] std::uint32_t find(NodeId node) const noexcept {
    const auto& page = pages_[node / kPage];
    return page ? (*page)[node % kPage] : kEmpty;
  }
  void set(NodeId node, std::uint32_t slot) {
    auto& page = pages_[node / kPage];
    if (!page) {
      if (slot == kEmpty) return;
      page = std::make_unique<std::array<std::uint32_t, kPage>>();
      page->fill(kEmpty);
    }
    std::uint32_t& entry = (*page)[node % kPage];
    if (entry != kEmpty) --size_;
    if (slot != kEmpty) ++size_;
    entry = slot;
  }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  void clear() {
    for (auto& page : pages_) page.reset();
    size_ = 0;
  }
  /// Calls use(node, slot) in node order for the nodes of [range.first, range.last).
  template <class Use>
  void for_each(NodeRange range, const Use& use) const {
    if (range.first >= range.last || size_ == 0) return;
    for (std::size_t page = range.first / kPage; page <= (range.last - 1) / kPage; ++page) {
      if (!pages_[page]) continue;
      const std::size_t first = std::max<std::size_t>(range.first, page * kPage);
      const std::size_t last = std::min<std::size_t>(range.last, (page + 1) * kPage);
      for (std::size_t node = first; node < last; ++node)
        if (const std::uint32_t slot = (*pages_[page])[node % kPage]; slot != kEmpty)
          use(static_cast<NodeId>(node), slot);
    }
  }

 private:
  static constexpr std::size_t kPage = 1024;
  std::vector<std::unique_ptr<std::array<std::uint32_t, kPage>>> pages_;
  std::size_t size_ = 0;
};

}  // namespace unweave
