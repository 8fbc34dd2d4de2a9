// algorithms/propagation/row_share.cpp - cuts the nodes at partitions, and hands rows from rank to
// rank.
#include "algorithms/propagation/row_share.h"

#include <algorithm>
#include <limits>

#include "engine/graph/span_share.h"
#include "storage/formats/store_layout.h"

namespace unweave {
RowShare::RowShare(NodeId nodes, Ranks& job, MemoryBudget& budget)
    : nodes_(nodes),
      job_(job),
      memory_(budget.reserve(RowMask::bytes(nodes) + RowRanks::bytes(nodes), "rows of this rank")),
      mask_(nodes) {
  for (std::size_t rank = 0; rank < job.size(); ++rank)
    ranges_.push_back(nodes_of(share_of(num_spans(nodes), rank, job.size()), nodes));
  for (NodeId node = own().first; node < own().last; ++node) mask_.insert(node);
  ranks_.emplace(mask_);
}

RankShare RowShare::own_spans() const noexcept {
  return share_of(num_spans(nodes_), job_.rank(), job_.size());
}

void RowShare::exchange(std::byte* rows, std::size_t row_bytes) const {
  for (std::size_t rank = 0; rank < ranges_.size(); ++rank)
    job_.broadcast({rows + ranges_[rank].first * row_bytes, ranges_[rank].size() * row_bytes}, rank);
}

void RowShare::share_key(SumCheck& check) const {
  check.set_key(from_first(check.key_bytes(), job_));
}

bool RowShare::holds(SumCheck& check, std::uint32_t level) const {
  struct Both {
    std::uint64_t sums, terms;
  };
  const Modulus& modulus = check.key().modulus();
  std::uint64_t sums = 0, terms = 0;
  for (const Both& one : gather_values(Both{check.sums(level).total(), check.terms(level).total()}, job_)) {
    sums = modulus.add(sums, one.sums);
    terms = modulus.add(terms, one.terms);
  }
  return from_first(sums == terms, job_);  // rank 0 alone knows both
}

std::size_t RowShare::least(std::size_t number) const {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  return static_cast<std::size_t>(kMost - job_.greatest(kMost - number));
}

}  // namespace unweave
