#include "storage/state_file.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <string>

#include "storage/error.h"

namespace unweave {
namespace {

constexpr std::size_t kRankWords = 8;

std::string stem_of(std::uint32_t level, NodeId first) {
  const std::string digits = std::to_string(first);
  return "level" + std::to_string(level) + "-" + std::string(10 - digits.size(), '0') + digits;
}

std::uint64_t round_up(std::uint64_t value, std::uint64_t unit) {
  return (value + unit - 1) / unit * unit;
}

}  // namespace

StatePartitionWriter::StatePartitionWriter(const std::filesystem::path& store, std::uint32_t level, NodeRange range,
                                           std::uint32_t columns, std::span<const std::uint64_t> members)
    : writer_(store, "state", stem_of(level, range.first), "sums", "state"),
      level_(level),
      range_(range),
      columns_(columns) {
  NodeId stored = 0;
  for (const std::uint64_t word : members) stored += static_cast<NodeId>(std::popcount(word));
  if (stored < range.size() && !members.empty()) writer_.append_values(members);
  writer_.align(64);
}

void StatePartitionWriter::add(std::span<const std::int32_t> rows) {
  writer_.append_values(rows);
  rows_ += rows.size() / columns_;
}

void StatePartitionWriter::add_wide(NodeId node, std::span<const std::int64_t> row) {
  const std::vector<std::int32_t> zeros(columns_);
  add(zeros);
  wide_nodes_.push_back(node);
  wide_rows_.insert(wide_rows_.end(), row.begin(), row.end());
}

FileEntry StatePartitionWriter::finish() {
  writer_.append_values(std::span<const NodeId>(wide_nodes_));
  writer_.align(8);
  writer_.append_values(std::span<const std::int64_t>(wide_rows_));
  return writer_.finish({level_, range_.first, range_.size(), rows_, columns_, wide_nodes_.size()});
}

StatePartition::StatePartition(const std::filesystem::path& store, const FileEntry& entry, std::uint32_t level,
                               NodeRange range, std::uint32_t columns)
    : file_(store, entry, "state"), range_(range), columns_(columns) {
  const SealedParameters& p = file_.parameters();
  if (p[0] != level || p[1] != range.first || p[2] != range.size() || p[4] != columns)
    file_.fail(0, "the partition belongs to another level, range of nodes or number of columns");
  rows_ = p[3];
  const std::uint64_t wide = p[5];
  if (rows_ > range.size() || wide > rows_) file_.fail(0, "more rows than nodes");
  const std::uint64_t words = rows_ == range.size() ? 0 : (std::uint64_t{range.size()} + 63) / 64;
  rows_at_ = round_up(8 * words, 64);
  const std::uint64_t nodes_at = rows_at_ + rows_ * columns * 4;
  wide_at_ = round_up(nodes_at + 4 * wide, 8);
  if (file_.size() != wide_at_ + 8 * wide * columns) file_.fail(0, "length: does not agree with the number of rows");
  members_ = file_.values<std::uint64_t>(0, words);
  std::uint32_t rank = 0;
  for (std::size_t word = 0; word < members_.size(); ++word) {
    if (word % kRankWords == 0) ranks_.push_back(rank);
    rank += static_cast<std::uint32_t>(std::popcount(members_[word]));
  }
  if (words > 0 && rank != rows_) file_.fail(0, "members do not add up to the number of rows");
  if (words > 0 && range.size() % 64 != 0 && members_.back() >> (range.size() % 64) != 0)
    file_.fail(8 * (words - 1), "a member outside the range of nodes");
  wide_nodes_ = file_.values<NodeId>(nodes_at, wide);
  for (std::size_t i = 0; i < wide_nodes_.size(); ++i)
    if (!range.contains(wide_nodes_[i]) || !contains(wide_nodes_[i]) || (i > 0 && wide_nodes_[i] <= wide_nodes_[i - 1]))
      file_.fail(nodes_at + 4 * i, "wide rows out of range or out of order");
}

bool StatePartition::contains(NodeId node) const noexcept {
  if (members_.empty()) return rows_ > 0;
  const NodeId local = node - range_.first;
  return ((members_[local / 64] >> (local % 64)) & 1U) != 0;
}

StateRow StatePartition::row(NodeId node) const {
  if (!contains(node)) return {};
  if (!wide_nodes_.empty()) {
    const auto it = std::lower_bound(wide_nodes_.begin(), wide_nodes_.end(), node);
    if (it != wide_nodes_.end() && *it == node) {
      const auto index = static_cast<std::uint64_t>(it - wide_nodes_.begin());
      return {nullptr, file_.values<std::int64_t>(wide_at_ + 8 * index * columns_, columns_).data()};
    }
  }
  std::uint64_t index = node - range_.first;
  if (!members_.empty()) {
    const std::size_t word = index / 64;
    std::uint64_t rank = ranks_[word / kRankWords];
    for (std::size_t w = word / kRankWords * kRankWords; w < word; ++w)
      rank += static_cast<std::uint64_t>(std::popcount(members_[w]));
    index = rank + static_cast<std::uint64_t>(std::popcount(members_[word] & ((std::uint64_t{1} << (index % 64)) - 1)));
  }
  return {file_.values<std::int32_t>(rows_at_ + index * columns_ * 4, columns_).data(), nullptr};
}

void StatePartition::verify() const {
  file_.check_all();
  for (const NodeId node : wide_nodes_) {
    const std::int64_t* sums = row(node).wide;
    const bool wide = std::any_of(sums, sums + columns_, [](std::int64_t sum) {
      return sum < std::numeric_limits<std::int32_t>::min() || sum > std::numeric_limits<std::int32_t>::max();
    });
    if (!wide) file_.fail(wide_at_, "the row at position " + std::to_string(node) + " is kept wide but fits 32 bits");
  }
}

}  // namespace unweave
