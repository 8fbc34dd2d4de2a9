#include "engine/lists_ahead.h"

#include <algorithm>

namespace unweave {

void ListsAhead::ask(std::size_t first, std::size_t last) const noexcept {
  constexpr std::size_t kNear = 8;  // blocks: some 16 KiB, read in the time of half a request
  last = std::min(last, nodes_.size());
  while (first < last) {
    const std::size_t begin = nodes_[first] / kBlockNodes;
    std::size_t end = begin + 1;
    for (++first; first < last; ++first) {
      const std::size_t block = nodes_[first] / kBlockNodes;
      if (block < begin || block > end + kNear) break;
      end = std::max(end, block + 1);
    }
    graph_.read_ahead(begin, end);
  }
}

}  // namespace unweave
