// engine/graph/node_map.h - a sparse map from node to value: 64 nodes a page, each with its members
// as bits and their values packed. It costs 16 bytes for 64 nodes and a value where there is one,
// and is walked in node order: a bit for each group of pages says whether any of them was used, so
// that a walk over few values of many nodes touches little memory.
//
// Tasks may change it at once as long as each keeps to pages of its own.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "storage/io/types.h"

namespace unweave {

template <class T>
class NodeMap {
 public:
  static constexpr NodeId kPageNodes = 64;

  explicit NodeMap(NodeId nodes)
      : num_pages_(std::size_t{nodes} / kPageNodes + 1),
        pages_(static_cast<Page*>(std::calloc(num_pages_, sizeof(Page)))),
        used_(num_pages_ / kWordPages + 1) {
    if (!pages_) throw std::bad_alloc();
    ask_for_large_pages();
  }
  ~NodeMap() { clear(); }
  NodeMap(const NodeMap&) = delete;
  NodeMap& operator=(const NodeMap&) = delete;

  /// The value of a node, or null.
  [[nodiscard]] const T* find(NodeId node) const noexcept {
    const Page& page = pages_[node / kPageNodes];
    return page.holds(node) ? &page.values[page.rank(node)] : nullptr;
  }
  /// The value of a node, a new one where there was none.
  T& at(NodeId node) {
    Page& page = pages_[node / kPageNodes];
    const std::size_t rank = page.rank(node);
    if (page.holds(node)) return page.values[rank];
    const auto count = static_cast<std::size_t>(std::popcount(page.members));
    if (count == 0) note_use(node / kPageNodes);
    if (count == 0 || std::has_single_bit(count)) {  // room for bit_ceil(count) values there always is
      auto larger = std::make_unique<T[]>(std::max<std::size_t>(1, 2 * count));
      std::move(page.values, page.values + count, larger.get());
      delete[] std::exchange(page.values, larger.release());
    }
    std::move_backward(page.values + rank, page.values + count, page.values + count + 1);
    page.values[rank] = T();
    page.members |= bit(node);
    size_.fetch_add(1, std::memory_order_relaxed);
    return page.values[rank];
  }
  void erase(NodeId node) {
    Page& page = pages_[node / kPageNodes];
    if (!page.holds(node)) return;
    const auto count = static_cast<std::size_t>(std::popcount(page.members));
    const std::size_t rank = page.rank(node);
    std::move(page.values + rank + 1, page.values + count, page.values + rank);
    page.values[count - 1] = T();
    page.members &= ~bit(node);
    if (page.members == 0) delete[] std::exchange(page.values, nullptr);
    size_.fetch_sub(1, std::memory_order_relaxed);
  }
  void clear() noexcept {
    if (size() == 0) return;
    for_pages(0, num_pages_, [this](std::size_t at) {
      delete[] pages_[at].values;
      pages_[at] = {};
    });
    for (auto& word : used_) word = 0;
    size_ = 0;
  }
  /// Which nodes of the page that `node` is in have a value: bit i stands for the i-th node of the
  /// page.
  [[nodiscard]] std::uint64_t page_members(NodeId node) const noexcept { return pages_[node / kPageNodes].members; }
  [[nodiscard]] std::size_t size() const noexcept { return size_.load(std::memory_order_relaxed); }

  /// Memory of a map without values.
  [[nodiscard]] static constexpr std::uint64_t empty_bytes(NodeId nodes) noexcept {
    const std::uint64_t pages = std::uint64_t{nodes} / kPageNodes + 1;
    return pages * sizeof(Page) + (pages / kWordPages + 1) * sizeof(std::uint64_t);
  }
  /// Memory of so many values at most: the array of a page may be half empty, and is an allocation.
  [[nodiscard]] static constexpr std::uint64_t bytes(std::uint64_t values) noexcept {
    return values * (2 * sizeof(T) + kAllocationBytes);
  }
  /// Memory of the values that there are.
  [[nodiscard]] std::uint64_t value_bytes() const noexcept {
    return size() * 2 * sizeof(T) + std::min(size(), num_pages_) * kAllocationBytes;
  }

  /// Calls use(value) for every value, which it may change.
  template <class Use>
  void change_each(const Use& use) {
    if (size() == 0) return;
    for_pages(0, num_pages_, [&](std::size_t at) {
      Page& page = pages_[at];
      for (std::size_t rank = 0, count = static_cast<std::size_t>(std::popcount(page.members)); rank < count; ++rank)
        use(page.values[rank]);
    });
  }
  /// Calls use(node, value) in node order for the nodes of [range.first, range.last).
  template <class Use>
  void for_each(NodeRange range, const Use& use) const {
    if (range.first >= range.last || size() == 0) return;
    for_pages(range.first / kPageNodes, (range.last - 1) / kPageNodes + 1, [&](std::size_t at) {
      const Page& page = pages_[at];
      std::size_t rank = 0;
      for (std::uint64_t rest = page.members; rest != 0; rest &= rest - 1, ++rank) {
        const auto node = static_cast<NodeId>(at * kPageNodes + static_cast<std::size_t>(std::countr_zero(rest)));
        if (node >= range.first && node < range.last) use(node, std::as_const(page.values[rank]));
      }
    });
  }

 private:
  static constexpr std::uint64_t kAllocationBytes = 16;  ///< that the system adds to an array
  static std::uint64_t bit(NodeId node) noexcept { return std::uint64_t{1} << (node % kPageNodes); }
  struct Page {
    std::uint64_t members;
    T* values;  ///< an array, null where there are no members
    [[nodiscard]] bool holds(NodeId node) const noexcept { return (members & bit(node)) != 0; }
    [[nodiscard]] std::size_t rank(NodeId node) const noexcept {
      return static_cast<std::size_t>(std::popcount(members & (bit(node) - 1)));
    }
  };
  struct Free {
    void operator()(Page* pages) const noexcept { std::free(pages); }
  };
  /// Values lie anywhere, so that each page of the system is touched by few.
  void ask_for_large_pages() const noexcept {
    constexpr std::uintptr_t kLargePage = std::uintptr_t{2} << 20;
    const auto first = reinterpret_cast<std::uintptr_t>(pages_.get());
    const std::uintptr_t begin = (first + kLargePage - 1) / kLargePage * kLargePage;
    const std::uintptr_t end = (first + num_pages_ * sizeof(Page)) / kLargePage * kLargePage;
    if (begin < end) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);  // a wish
  }
  static constexpr std::size_t kGroupPages = 64;
  static constexpr std::size_t kWordPages = 64 * kGroupPages;
  /// Other tasks may do so for other pages of the group.
  void note_use(std::size_t page) noexcept {
    std::atomic<std::uint64_t>& word = used_[page / kWordPages];
    const std::uint64_t group = std::uint64_t{1} << (page / kGroupPages % 64);
    if ((word.load(std::memory_order_relaxed) & group) == 0) word.fetch_or(group, std::memory_order_relaxed);
  }
  /// Calls use(at) in order for the pages [first, last) but those of groups that have no values.
  template <class Use>
  void for_pages(std::size_t first, std::size_t last, const Use& use) const {
    while (first < last) {
      const std::uint64_t groups =
          used_[first / kWordPages].load(std::memory_order_relaxed) >> (first / kGroupPages % 64);
      if (groups == 0) {
        first = (first / kWordPages + 1) * kWordPages;
        continue;
      }
      const auto skipped = static_cast<std::size_t>(std::countr_zero(groups));
      if (skipped > 0) first = (first / kGroupPages + skipped) * kGroupPages;
      const std::size_t end = std::min(last, (first / kGroupPages + 1) * kGroupPages);
      for (; first < end; ++first) use(first);
    }
  }
  std::size_t num_pages_;
  /// Zeros of the system, which takes no memory for pages that nobody has used: a map of many nodes
  /// is made in no time.
  std::unique_ptr<Page[], Free> pages_;
  std::vector<std::atomic<std::uint64_t>> used_;  ///< a bit for each group of pages that may have values
  std::atomic<std::size_t> size_ = 0;
};

}  // namespace unweave
