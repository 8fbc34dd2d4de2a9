// algorithms/live/joined_level.cpp - tells ranks which rows have changed anywhere, and puts their
// columns side by side.
#include "algorithms/live/joined_level.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <span>
#include <string>
#include <system_error>
#include <vector>

#include "engine/resources/memory_shares.h"
#include "storage/io/entry.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

constexpr NodeId kMarkedNodes = NodeId{1} << 16;  // whose changes are asked for at a time
constexpr std::uint64_t kWords = kMarkedNodes / 64;
constexpr std::uint64_t kMostBytes = 8'000'000;  // as rows that come at a time take, however large the budget is

/// How a rank holds its columns of a row.
enum class Form : std::uint8_t { absent, narrow, wide };

/// The rows of these nodes, one behind another: their forms, then their values.
std::vector<std::byte> pack_rows(const StateLevel& level, std::span<const NodeId> nodes) {
  std::vector<std::byte> bytes(nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const StateRow row = level.row(nodes[i]);
    const auto add = [&](Form form, std::span<const std::byte> values) {
      bytes[i] = static_cast<std::byte>(form);
      bytes.insert(bytes.end(), values.begin(), values.end());
    };
    if (row.narrow != nullptr) add(Form::narrow, std::as_bytes(std::span(row.narrow, level.columns())));
    if (row.wide != nullptr) add(Form::wide, std::as_bytes(std::span(row.wide, level.columns())));
  }
  return bytes;
}

/// What pack_rows() of one rank has given, read row by row.
class PackedRows {
 public:
  PackedRows(std::span<const std::byte> bytes, std::size_t rows)
      : forms_(bytes.first(rows)), values_(bytes.subspan(rows)) {}

  [[nodiscard]] bool exists(std::size_t row) const { return static_cast<Form>(forms_[row]) != Form::absent; }
  /// The columns of the next row, whose number this is.
  void take(std::size_t row, std::span<std::int64_t> out) {
    if (static_cast<Form>(forms_[row]) == Form::wide) return copy<std::int64_t>(out);
    copy<std::int32_t>(out);
  }

 private:
  template <class T>
  void copy(std::span<std::int64_t> out) {
    for (std::size_t c = 0; c < out.size(); ++c) {
      T value{};
      std::memcpy(&value, values_.data() + c * sizeof(T), sizeof value);
      out[c] = value;
    }
    values_ = values_.subspan(out.size() * sizeof(T));
  }
  std::span<const std::byte> forms_, values_;
};

/// The level at rank 0, which grows and is folded where the budget gets short.
struct WholeLevel {
  WholeLevel(const std::filesystem::path& folder, const Manifest& of, std::uint32_t level, MemoryBudget& all)
      : store(folder),
        manifest(of),
        budget(all),
        maps(all.reserve(StateLevel::map_bytes(of.nodes), "maps of changed rows")),
        sums(folder, of, level, run_of(folder, of, level)) {
    charge();
  }

  /// Marks the rows that the generation's run alone has. A rank that drops such a row keeps nothing
  /// that would say so.
  void mark_run(NodeRange range, std::span<std::uint64_t> words) const {
    sums.visit_overlay(range, [&](NodeId node) {
      if (!sums.is_in_partition(node))
        words[(node - range.first) / 64] |= std::uint64_t{1} << ((node - range.first) % 64);
    });
  }

  void charge() {
    memory.release();
    memory = budget.reserve(std::min(sums.overlay_bytes(), budget.available()), "changed rows");
  }
  void make_room(std::uint64_t bytes) {
    charge();
    if (sums.overlay_bytes() == 0 ||
        (budget.available() >= bytes && sums.overlay_bytes() <= memory_shares::kChangedRows.of(budget)))
      return;
    const std::vector<FileEntry> before = sums.entries();
    sums.fold(store, budget);
    charge();
    const std::vector<FileEntry> named = manifest.files();
    for (const FileEntry& entry : before)
      if (std::find(sums.entries().begin(), sums.entries().end(), entry) == sums.entries().end() &&
          std::find(named.begin(), named.end(), entry) == named.end())
        drop_entry(store / entry.path);
  }
  static StoredRun run_of(const std::filesystem::path& folder, const Manifest& of, std::uint32_t level) {
    const auto& entry = of.levels[level].run;
    return entry ? read_run(folder, *entry, level, of.features, of.nodes) : StoredRun();
  }

  const std::filesystem::path& store;
  const Manifest& manifest;
  MemoryBudget& budget;
  Reservation maps, memory;
  StateLevel sums;
};

/// Puts the columns of all ranks into whole rows.
void join_rows(std::span<const std::vector<std::byte>> parts, std::span<const std::size_t> widths,
               std::span<const NodeId> nodes, StateLevel& whole) {
  std::vector<PackedRows> packed;
  for (const std::vector<std::byte>& part : parts) packed.emplace_back(part, nodes.size());
  std::vector<std::int64_t> row(whole.columns());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    std::size_t column = 0, present = 0;
    for (std::size_t rank = 0; rank < packed.size(); ++rank) {
      if (!packed[rank].exists(i)) continue;
      ++present;
      packed[rank].take(i, std::span(row).subspan(column, widths[rank]));
      column += widths[rank];
    }
    if (present == packed.size())
      whole.store(nodes[i], row.data());
    else if (present == 0)
      whole.drop(nodes[i]);
    else
      throw DataError("position " + std::to_string(nodes[i]) + ": " + std::to_string(present) + " of " +
                      std::to_string(packed.size()) + " ranks have a row of it");
  }
}

template <class T>
void share(Ranks& ranks, std::span<T> values) {
  ranks.broadcast(std::as_writable_bytes(values));
}

}  // namespace

std::shared_ptr<const StateLevel> join_level(Ranks& ranks, const StateLevel& mine, std::uint32_t level,
                                             const std::filesystem::path& store, const Manifest& manifest,
                                             MemoryBudget& budget) {
  const std::vector<FileEntry>& files = manifest.levels[level].partitions;
  std::shared_ptr<WholeLevel> whole;
  if (ranks.first()) whole = std::make_shared<WholeLevel>(store, manifest, level, budget);
  const std::vector<std::size_t> widths = gather_values(std::size_t{mine.columns()}, ranks);
  const std::uint64_t row_bytes = manifest.features * sizeof(std::int64_t);  // at most; they are joined one by one
  for (std::uint64_t first = 0; first < manifest.nodes; first += kMarkedNodes) {
    const NodeRange range{static_cast<NodeId>(first),
                          static_cast<NodeId>(std::min<std::uint64_t>(manifest.nodes, first + kMarkedNodes))};
    std::vector<std::uint64_t> marks(kWords + 1);  // the last one says how many rows come at a time
    const std::span<std::uint64_t> words = std::span(marks).first(kWords);
    mine.mark_changed(range, files, words);
    for (const std::vector<std::byte>& part : ranks.gather(std::as_bytes(std::span<const std::uint64_t>(words))))
      for (std::size_t i = 0; i < words.size(); ++i) {
        std::uint64_t word = 0;
        std::memcpy(&word, &part[i * sizeof word], sizeof word);
        words[i] |= word;
      }
    if (whole) whole->mark_run(range, words);
    if (whole)
      marks.back() =
          std::max<std::uint64_t>(1, std::min(kMostBytes, memory_shares::kJoinedRows.of(budget)) / row_bytes);
    share(ranks, std::span(marks));
    std::vector<NodeId> nodes;
    for (std::size_t i = 0; i < words.size(); ++i)
      for (std::uint64_t bits = words[i]; bits != 0; bits &= bits - 1)
        nodes.push_back(range.first + static_cast<NodeId>(i * 64 + static_cast<std::size_t>(std::countr_zero(bits))));
    for (std::size_t at = 0; at < nodes.size(); at += marks.back()) {
      const auto some =
          std::span<const NodeId>(nodes).subspan(at, std::min<std::size_t>(marks.back(), nodes.size() - at));
      const std::uint64_t bytes = some.size() * row_bytes;
      if (whole) whole->make_room(2 * bytes);
      const Reservation room = whole ? budget.reserve(bytes, "rows of all ranks") : Reservation();
      const auto parts = ranks.gather(pack_rows(mine, some));
      if (whole) join_rows(parts, widths, some, whole->sums);
    }
  }
  if (!whole) return nullptr;
  whole->charge();
  return {whole, &whole->sums};
}

}  // namespace unweave
