// algorithms/numerics/row_sweep.h - one parallel pass over rows, whose sums depend neither on
// threads nor on ranks.
//
// Rows are cut into lanes, lanes into blocks; the cut is a function of the shape alone. A lane adds
// its blocks in order into its own part, the first into the sum itself, and the parts are added in
// lane order. Memory beside the rows: one part a lane, and what one block needs (block_buffer()) a
// thread.
//
// Ranks that share rows have consecutive lanes each, sum them at once, and add the parts one rank
// after the other, so that these are the additions of one process. A sum over R ranks sends the
// numbers of one part 2 (R - 1) times.
#pragma once

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

#include "algorithms/numerics/rows.h"
#include "engine/ranks/ranks.h"
#include "engine/resources/parallel.h"

namespace unweave {

struct RowCut {
  std::size_t lanes = 0;
  std::size_t lane_rows = 0;
  std::size_t block_rows = 0;

  /// Roundings on the path of one product z_i * r_i into a sum over all rows.
  [[nodiscard]] double depth() const noexcept {
    const std::size_t blocks = block_rows == 0 ? 0 : (lane_rows + block_rows - 1) / block_rows;
    return static_cast<double>(block_rows + blocks + lanes + 1);
  }
};

[[nodiscard]] inline RowCut cut_rows(std::size_t count, std::size_t features) {
  constexpr std::size_t kBlockBytes = std::size_t{2} << 20;  // a float64 block stays near the cores
  constexpr std::size_t kMinLane = 256, kMinManyLanes = 4096;
  if (count == 0) return {};
  RowCut cut;
  cut.lanes = std::min<std::size_t>(16, (count + kMinLane - 1) / kMinLane);
  cut.lanes = std::max(cut.lanes, std::min<std::size_t>(64, count / kMinManyLanes));
  cut.lane_rows = (count + cut.lanes - 1) / cut.lanes;
  cut.block_rows = std::clamp<std::size_t>(kBlockBytes / (features * sizeof(double)), 64, 512);
  cut.block_rows = std::min(cut.block_rows, cut.lane_rows);
  return cut;
}

/// Rows of rank `rank` of `ranks`, those of its lanes. Lanes, and so these, do not depend on the
/// number of features.
[[nodiscard]] inline RankShare own_rows(std::size_t count, std::size_t rank, std::size_t ranks) {
  const RowCut cut = cut_rows(count, 1);
  const RankShare lanes = share_of(cut.lanes, rank, ranks);
  return {std::min(count, lanes.begin * cut.lane_rows), std::min(count, lanes.end * cut.lane_rows)};
}

/// Rows that lie here.
[[nodiscard]] inline std::size_t own_rows(const Rows& rows) noexcept {
  return rows.ranks == nullptr ? rows.count : rows.last - rows.first;
}

/// Most rows that lie on one rank.
[[nodiscard]] inline std::size_t most_rows_of_a_rank(const Rows& rows) {
  if (rows.ranks == nullptr) return rows.count;
  std::size_t most = 0;
  for (std::size_t r = 0; r < rows.ranks->size(); ++r) {
    const RankShare own = own_rows(rows.count, r, rows.ranks->size());
    most = std::max(most, own.end - own.begin);
  }
  return most;
}

/// What a block needs memory for at the same time.
enum class BlockUse { rows, squares, margins, curvatures, product };

/// Room for `count` values, with whatever they hold, which the calling thread takes again for its
/// next block: fresh memory for each of thousands of blocks would have to be cleared by the kernel.
/// Kept until the thread ends.
template <class Scalar, BlockUse use>
[[nodiscard]] Scalar* block_buffer(std::size_t count) {
  thread_local std::vector<Scalar> values;
  if (values.size() < count) values = std::vector<Scalar>(count);
  return values.data();
}

/// A part without numbers, for passes that write somewhere else.
struct NoSum {
  NoSum& operator+=(const NoSum&) noexcept { return *this; }
};

/// Calls see(data, size) for the numbers of a part, array by array: of a number, of a matrix, or of
/// what a struct of these names in its see_members(see).
template <class Part, class See>
void see_numbers(Part& part, const See& see) {
  if constexpr (std::is_arithmetic_v<Part>)
    see(&part, std::size_t{1});
  else if constexpr (requires { part.data(); })
    see(part.data(), static_cast<std::size_t>(part.size()));
  else if constexpr (!std::is_same_v<Part, NoSum>)
    part.see_members([&](auto& member) { see_numbers(member, see); });
}

/// The bytes of the numbers of a part, on their way from rank to rank.
template <class Part>
class PartOnItsWay {
 public:
  explicit PartOnItsWay(Part& shape) {
    std::size_t bytes = 0;
    see_numbers(shape, [&](auto* data, std::size_t size) { bytes += size * sizeof *data; });
    words_.resize((bytes + sizeof(double) - 1) / sizeof(double));
  }
  void put(Part& part) {
    auto* to = reinterpret_cast<std::byte*>(words_.data());
    see_numbers(part, [&](auto* data, std::size_t size) {
      if (size > 0) std::memcpy(to, data, size * sizeof *data);
      to += size * sizeof *data;
    });
  }
  void take(Part& part) const {
    const auto* from = reinterpret_cast<const std::byte*>(words_.data());
    see_numbers(part, [&](auto* data, std::size_t size) {
      if (size > 0) std::memcpy(data, from, size * sizeof *data);
      from += size * sizeof *data;
    });
  }
  [[nodiscard]] std::span<double> words() noexcept { return words_; }

 private:
  std::vector<double> words_;  // whose bits a sum over ranks moves as they are
};

/// Adds the parts of all ranks in the order of lanes: `total` is the part of the first own lane,
/// `others` those of the next ones. Afterwards `total` is the sum, on every rank. `leads`: the
/// first lane of all is among them.
template <class Part>
void add_over_ranks(Ranks& ranks, bool leads, Part& total, std::vector<Part>& others, bool has_lanes) {
  PartOnItsWay<Part> sum(total);
  if (sum.words().empty()) return;
  if (leads)
    for (const Part& part : others) total += part;
  if (leads || ranks.first()) sum.put(total);
  ranks.sum_in_order(sum.words(), [&] {
    if (leads) return sum.put(total);
    if (!has_lanes) return;
    Part before = total;
    sum.take(before);
    before += total;
    for (const Part& part : others) before += part;
    sum.put(before);
  });
  sum.take(total);
}

/// Adds body(block, first, count, part) over all blocks of `count` rows: `block` holds rows
/// first..first+count-1, which load(first, count) returned. `total` is zero; Part is copyable from
/// it and has +=. Who moves it in and takes it back needs no fresh memory for few rows. With
/// `ranks` each of them goes over the rows of its own lanes, and all get the sum; its numbers must
/// be what see_numbers() finds.
template <class Scalar, class Part, class Load, class Body, class Among = std::nullptr_t>
[[nodiscard]] Part sweep_blocks(std::size_t count, std::size_t features, Part total, const Load& load, const Body& body,
                                Among ranks = nullptr) {
  const RowCut cut = cut_rows(count, features);
  RankShare lanes{0, cut.lanes};
  if constexpr (std::is_same_v<Among, Ranks*>)
    if (ranks != nullptr) lanes = share_of(cut.lanes, ranks->rank(), ranks->size());
  const std::size_t own = lanes.end - lanes.begin;
  std::vector<Part> others(own > 1 ? own - 1 : 0, total);
  parallel_ranges(lanes.begin, lanes.end, 1, [&](std::size_t first_lane, std::size_t last_lane) {
    for (std::size_t lane = first_lane; lane < last_lane; ++lane) {
      Part& part = lane == lanes.begin ? total : others[lane - lanes.begin - 1];
      const std::size_t end = std::min(count, (lane + 1) * cut.lane_rows);
      for (std::size_t first = lane * cut.lane_rows; first < end; first += cut.block_rows) {
        const std::size_t rows = std::min(cut.block_rows, end - first);
        body(load(first, rows), first, rows, part);
      }
    }
  });
  if constexpr (std::is_same_v<Among, Ranks*>)
    if (ranks != nullptr) {
      add_over_ranks(*ranks, own > 0 && lanes.begin == 0, total, others, own > 0);
      return total;
    }
  for (const Part& part : others) total += part;
  return total;
}

/// Sums over blocks of borrowed rows as sweep_blocks() does. Under Scalar float a block is the rows
/// themselves, under double an exact copy.
template <class Scalar, class Part, class Body>
[[nodiscard]] Part sweep_rows(const Rows& rows, Part zero, const Body& body) {
  static_assert(std::is_same_v<Scalar, float> || std::is_same_v<Scalar, double>);
  const auto load = [&](std::size_t first, std::size_t count) -> const Scalar* {
    const float* source = rows.row(first);
    if constexpr (std::is_same_v<Scalar, float>) {
      static_cast<void>(count);
      return source;
    } else {
      Scalar* const copy = block_buffer<Scalar, BlockUse::rows>(count * rows.features);
      std::copy_n(source, count * rows.features, copy);
      return copy;
    }
  };
  return sweep_blocks<Scalar>(rows.count, rows.features, std::move(zero), load, body, rows.ranks);
}

}  // namespace unweave
