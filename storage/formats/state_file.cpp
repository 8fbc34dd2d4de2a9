// storage/formats/state_file.cpp - writes, reads and checks state partitions with their wide rows.
#include "storage/formats/state_file.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <string>

#include "storage/formats/level_files.h"
#include "storage/formats/store_layout.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

constexpr std::size_t kRankWords = 8;

}  // namespace

SealedName state_name(const std::filesystem::path& store, std::uint32_t level, NodeId first) {
  return {store, "state", "level" + std::to_string(level) + "-" + span_stem(first), "sums", "state"};
}

MemberRanks::MemberRanks(std::span<const std::uint64_t> members) {
  for (std::size_t word = 0; word < members.size(); ++word) {
    if (word % kRankWords == 0) ranks_.push_back(static_cast<std::uint32_t>(total_));
    total_ += static_cast<std::uint64_t>(std::popcount(members[word]));
  }
}

std::uint64_t MemberRanks::before(std::span<const std::uint64_t> members, NodeId position) const noexcept {
  const std::size_t word = position / 64;
  std::uint64_t rank = ranks_[word / kRankWords];
  for (std::size_t w = word / kRankWords * kRankWords; w < word; ++w)
    rank += static_cast<std::uint64_t>(std::popcount(members[w]));
  return rank + static_cast<std::uint64_t>(std::popcount(members[word] & ((std::uint64_t{1} << (position % 64)) - 1)));
}

StatePartitionWriter::StatePartitionWriter(const std::filesystem::path& store, std::uint32_t level, NodeRange range,
                                           std::uint32_t columns, std::span<const std::uint64_t> members)
    : writer_(state_name(store, level, range.first)), level_(level), range_(range), columns_(columns) {
  StateLayout layout{range, columns, members.empty() ? range.size() : 0};
  for (const std::uint64_t word : members) layout.rows += static_cast<std::uint64_t>(std::popcount(word));
  if (layout.member_words() > 0) writer_.append_values(members);
  writer_.append(std::vector<std::byte>(layout.rows_at() - writer_.size()));
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
                               NodeRange range, std::uint32_t columns, ColumnRange part)
    : file_(store, entry, "state"), layout_{range, columns, 0}, part_(part) {
  const SealedParameters& p = file_.parameters();
  if (p[0] != level || p[1] != range.first || p[2] != range.size() || p[4] != columns)
    file_.fail(0, "the partition belongs to another level, range of nodes or number of columns");
  layout_.rows = p[3];
  const std::uint64_t wide = p[5];
  if (layout_.rows > range.size() || wide > layout_.rows) file_.fail(0, "more rows than nodes");
  if (file_.size() != layout_.bytes(wide)) file_.fail(0, "length: does not agree with the number of rows");
  const std::uint64_t words = layout_.member_words();
  wide_at_ = layout_.wide_rows_at(wide);
  members_ = file_.values<std::uint64_t>(0, words);
  ranks_ = MemberRanks(members_);
  if (words > 0 && ranks_.total() != layout_.rows) file_.fail(0, "members do not add up to the number of rows");
  if (words > 0 && range.size() % 64 != 0 && members_.back() >> (range.size() % 64) != 0)
    file_.fail(8 * (words - 1), "a member outside the range of nodes");
  wide_nodes_ = file_.values<NodeId>(layout_.wide_nodes_at(), wide);
  for (std::size_t i = 0; i < wide_nodes_.size(); ++i)
    if (!range.contains(wide_nodes_[i]) || !contains(wide_nodes_[i]) || (i > 0 && wide_nodes_[i] <= wide_nodes_[i - 1]))
      file_.fail(layout_.wide_nodes_at() + 4 * i, "wide rows out of range or out of order");
}

bool StatePartition::contains(NodeId node) const noexcept {
  if (members_.empty()) return layout_.rows > 0;
  const NodeId local = node - layout_.range.first;
  return ((members_[local / 64] >> (local % 64)) & 1U) != 0;
}

StateRow StatePartition::row(NodeId node) const {
  if (!contains(node)) return {};
  const std::uint32_t columns = layout_.columns;
  if (!wide_nodes_.empty()) {
    const auto it = std::lower_bound(wide_nodes_.begin(), wide_nodes_.end(), node);
    if (it != wide_nodes_.end() && *it == node) {
      const auto index = static_cast<std::uint64_t>(it - wide_nodes_.begin());
      return {nullptr, file_.values<std::int64_t>(wide_at_ + 8 * (index * columns + part_.first), part_.count).data()};
    }
  }
  const std::uint64_t at = index(node) * columns + part_.first;
  return {file_.values<std::int32_t>(layout_.rows_at() + 4 * at, part_.count).data(), nullptr};
}

std::uint64_t StatePartition::index(NodeId node) const noexcept {
  return ranks_.index(members_, layout_.range, layout_.rows, node);
}

void StatePartition::read_ahead(NodeRange nodes) const noexcept {
  const std::uint64_t first = index(nodes.first);
  const std::uint64_t row_bytes = std::uint64_t{layout_.columns} * sizeof(std::int32_t);
  file_.read_ahead(layout_.rows_at() + first * row_bytes, (index(nodes.last) - first) * row_bytes);
}

void StatePartition::verify() const {
  file_.check_all();
  for (const NodeId node : wide_nodes_) {
    const std::int64_t* sums = row(node).wide;
    const bool wide = std::any_of(sums, sums + layout_.columns, [](std::int64_t sum) {
      return sum < std::numeric_limits<std::int32_t>::min() || sum > std::numeric_limits<std::int32_t>::max();
    });
    if (!wide) file_.fail(wide_at_, "the row at position " + std::to_string(node) + " is kept wide but fits 32 bits");
  }
}

void verify_partition(const std::filesystem::path& store, const LevelPlace& place, std::size_t index) {
  StatePartition(store, place.files.partitions[index], place.level, span_range(place.nodes, index), place.columns)
      .verify();
}

}  // namespace unweave
