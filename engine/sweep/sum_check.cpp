// engine/sweep/sum_check.cpp - residues by partition, and where two sides differ.
#include "engine/sweep/sum_check.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "storage/formats/store_layout.h"
#include "storage/io/error.h"

namespace unweave {

PartitionSums::PartitionSums(NodeId nodes, const Modulus& modulus)
    : span_(span_nodes(nodes)), modulus_(modulus), residues_(num_spans(nodes), 0) {}

void PartitionSums::add(NodeId node, std::uint64_t residue) {
  const std::scoped_lock lock(mutex_);
  std::uint64_t& sum = residues_[node / span_];
  sum = modulus_.add(sum, residue);
}

void PartitionSums::add(const PartitionSums& other) {
  const std::scoped_lock lock(mutex_, other.mutex_);
  for (std::size_t i = 0; i < residues_.size(); ++i) residues_[i] = modulus_.add(residues_[i], other.residues_[i]);
}

void PartitionSums::clear() {
  const std::scoped_lock lock(mutex_);
  std::fill(residues_.begin(), residues_.end(), 0);
}

std::uint64_t PartitionSums::total() const {
  const std::scoped_lock lock(mutex_);
  std::uint64_t sum = 0;
  for (const std::uint64_t one : residues_) sum = modulus_.add(sum, one);
  return sum;
}

std::size_t PartitionSums::mismatch(const PartitionSums& other) const {
  const std::scoped_lock lock(mutex_, other.mutex_);
  return static_cast<std::size_t>(std::mismatch(residues_.begin(), residues_.end(), other.residues_.begin()).first -
                                  residues_.begin());
}

std::string partition_text(std::uint32_t level, NodeId nodes, std::size_t partition) {
  const NodeRange range = span_range(nodes, partition);
  return "level " + std::to_string(level) + ", partition " + std::to_string(partition) + " (nodes at positions " +
         std::to_string(range.first) + " to " + std::to_string(range.last - 1) + ")";
}

void throw_wrong_sums(std::uint32_t level, NodeId nodes, NodeId node) {
  throw WrongSums(partition_text(level, nodes, node / span_nodes(nodes)) + ": the row of the node at position " +
                  std::to_string(node) + " does not have the sums of its terms");
}

SumCheck::SumCheck(NodeId nodes, std::size_t columns, std::uint32_t levels, std::span<const RowMask> wanted,
                   MemoryBudget& budget, std::uint32_t first_level, NodeRange formed)
    : memory_(budget.reserve(
          bytes(nodes, columns, levels, wanted, formed.size()) - weight_bytes(formed.size(), levels, wanted),
          "checks of the sums")),
      weight_memory_(budget.reserve(weight_bytes(formed.size(), levels, wanted), "weights of the lists")),
      nodes_(nodes),
      columns_(columns),
      formed_(formed),
      first_level_(first_level),
      key_(nodes, columns),
      wanted_(wanted) {
  make_levels(levels);
}

std::vector<std::byte> SumCheck::key_bytes() const {
  std::vector<std::byte> bytes;
  key_.write(0, columns_, bytes);
  return bytes;
}

void SumCheck::set_key(std::span<const std::byte> bytes) {
  std::optional<FingerprintKey> key = FingerprintKey::read(nodes_, columns_, bytes);
  if (!key) throw DataError("the key of another check is not one of these nodes and columns");
  key_ = std::move(*key);
  make_levels(static_cast<std::uint32_t>(levels_.size()));
}

/// What is added up modulo the key's prime.
void SumCheck::make_levels(std::uint32_t levels) {
  levels_.clear();
  for (std::uint32_t l = 0; l < levels; ++l) {
    levels_.push_back(std::make_unique<Level>(nodes_, key_.modulus()));
    if (l == 0 || !wanted_.empty())
      levels_[l]->weights =
          std::make_unique_for_overwrite<std::int32_t[]>(l == 0 ? formed_.size() : wanted_[l - 1].size());
  }
}

std::uint64_t SumCheck::bytes(NodeId nodes, std::size_t columns, std::uint32_t levels, std::span<const RowMask> wanted,
                              std::uint64_t formed) noexcept {
  return FingerprintKey::bytes(nodes, columns) + weight_bytes(formed, levels, wanted) +
         levels * (sizeof(Level) + 3 * num_spans(nodes) * sizeof(std::uint64_t));
}

std::uint64_t SumCheck::weight_bytes(std::uint64_t formed, std::uint32_t levels,
                                     std::span<const RowMask> wanted) noexcept {
  std::uint64_t weights = formed;
  for (std::uint32_t l = 1; l < levels && !wanted.empty(); ++l) weights += wanted[l - 1].size();
  return weights * sizeof(std::int32_t);
}

void SumCheck::drop_weights() noexcept {
  for (const auto& level : levels_) level->weights.reset();
  weight_memory_.release();
}

LevelCheck SumCheck::level(std::uint32_t level, std::size_t first) {
  LevelCheck check;
  check.key = &key_;
  check.factors = key_.columns(first);
  if (level > 0) check.sums = &sums(level);
  if (level == levels_.size()) return check;
  check.terms = &terms(level + 1);
  check.readers = wanted_.empty() ? nullptr : &wanted_[level];
  check.weights = levels_[wanted_.empty() ? 0 : level]->weights.get();
  check.first_weighed = formed_.first;
  check.must_weigh = is_first_tile_ && (level == 0 || !wanted_.empty());
  return check;
}

void SumCheck::close_tile() {
  is_first_tile_ = false;
  for (const auto& level : levels_) {
    level->all_columns.add(level->sums);
    level->sums.clear();
    level->terms.clear();
  }
}

}  // namespace unweave
