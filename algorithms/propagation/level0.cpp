// algorithms/propagation/level0.cpp - measures columns of the features, and normalises rows of
// them.
#include "algorithms/propagation/level0.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <mutex>
#include <numeric>
#include <vector>

#include "algorithms/propagation/density.h"
#include "engine/ingest/row_norm.h"
#include "engine/resources/look_ahead.h"
#include "engine/resources/parallel.h"
#include "storage/formats/store_layout.h"
#include "storage/formats/tile_file.h"

namespace unweave {
namespace {

constexpr std::uint64_t kReadRows = std::uint64_t{1} << 16;  // rows of features that are asked for at a time
constexpr std::uint64_t kAhead = 3;                          // so many pieces of them before their turn
constexpr NodeId kPastRows = 1024;  // the least that is read past the page cache at a time: fewer would be small reads
constexpr int kNormBits = 36;       // |x| sqrt(d) < 2^14.5 (d < 2^29), so that kMostRows terms stay below 2^63

/// The nearest integer, ties to even, of |x| < 2^51: what adding this number leaves in the lowest
/// bits. Compilers turn it into vectors, and a library's rounding into a call a value.
std::int64_t nearest(double x) {
  constexpr double kLowestBitIsOne = 0x1.8p52;
  return std::bit_cast<std::int64_t>(x + kLowestBitIsOne) - std::bit_cast<std::int64_t>(kLowestBitIsOne);
}

/// Whether one of so many spans has a zero with a sign. Any thread.
class SignedSpans {
 public:
  /// `rows`: of the files.
  explicit SignedSpans(NodeId rows) : rows_(rows), found_(num_spans(rows)) {}
  void look(NodeRange nodes, std::span<const float> values) {
    if (!has_signed_zero(values)) return;
    const std::size_t columns = values.size() / nodes.size();
    for (NodeId node = nodes.first; node < nodes.last; ++node, values = values.subspan(columns))
      if (has_signed_zero(values.first(columns)))
        found_[node % rows_ / span_nodes(rows_)].store(true, std::memory_order_relaxed);
  }
  [[nodiscard]] std::vector<bool> found() const { return {found_.begin(), found_.end()}; }

 private:
  NodeId rows_;
  std::vector<std::atomic<bool>> found_;
};

/// Rows of all columns, for their norms, and for their signs unless `spans` is null. `x` is for the
/// values, and keeps its memory from call to call.
void read_norms(const Contents& contents, NodeRange rows, std::vector<float>& x, ColumnNorms& norms,
                SignedSpans* spans) {
  const std::uint32_t columns = contents.features().columns();
  const auto most = static_cast<NodeId>(std::clamp<std::size_t>(kLevel0Values / columns, 1, rows.size()));
  x.resize(std::size_t{most} * columns);
  for (NodeId first = rows.first; first < rows.last;) {
    const NodeRange some{first, first + std::min(most, rows.last - first)};
    contents.features().read(some, 0, columns, x.data());
    norms.add(contents, {0, columns}, some, x.data());
    if (spans != nullptr) spans->look(some, std::span(x).first(std::size_t{some.size()} * columns));
    first = some.last;
  }
}

}  // namespace

/// Sums of columns of absolute features, each row weighted by sqrt(d) and by 1, in units of
/// 2^-kNormBits.
struct ColumnNorms::Sums {
  std::vector<Int128> by_degree, plain;
  std::mutex mutex;
};

ColumnNorms::ColumnNorms(std::uint32_t columns) : sums_(std::make_unique<Sums>()) {
  sums_->by_degree.resize(columns);
  sums_->plain.resize(columns);
}

ColumnNorms::~ColumnNorms() = default;

void ColumnNorms::add(const Contents& contents, TileColumns tile, NodeRange rows, const float* x) {
  constexpr double kUnits = std::int64_t{1} << kNormBits;
  std::vector<std::int64_t> by_degree(tile.count), plain(tile.count);
  for (NodeId node = rows.first; node < rows.last; ++node, x += tile.count) {
    const double root = std::sqrt(static_cast<double>(contents.graph().degree(node)));
    for (std::size_t c = 0; c < tile.count; ++c) {
      const double magnitude = std::fabs(static_cast<double>(x[c])) * kUnits;
      by_degree[c] += nearest(root * magnitude);
      plain[c] += nearest(magnitude);
    }
  }
  const std::scoped_lock lock(sums_->mutex);
  for (std::size_t c = 0; c < tile.count; ++c) {
    sums_->by_degree[tile.first + c] += by_degree[c];
    sums_->plain[tile.first + c] += plain[c];
  }
}

std::vector<std::byte> ColumnNorms::bytes(TileColumns tile) const {
  const std::scoped_lock lock(sums_->mutex);
  std::vector<std::byte> bytes(tile.count * kTileNormBytes);
  for (std::size_t c = 0; c < tile.count; ++c) {
    const Int128 both[2] = {sums_->by_degree[tile.first + c], sums_->plain[tile.first + c]};
    static_assert(sizeof both == kTileNormBytes);
    std::memcpy(&bytes[c * kTileNormBytes], both, sizeof both);
  }
  return bytes;
}

void ColumnNorms::set(TileColumns tile, std::span<const std::byte> bytes) {
  const std::scoped_lock lock(sums_->mutex);
  for (std::size_t c = 0; c < tile.count; ++c) {
    Int128 both[2];
    std::memcpy(both, &bytes[c * kTileNormBytes], sizeof both);
    sums_->by_degree[tile.first + c] = both[0];
    sums_->plain[tile.first + c] = both[1];
  }
}

void ColumnNorms::add(TileColumns tile, std::span<const std::byte> bytes) {
  const std::scoped_lock lock(sums_->mutex);
  for (std::size_t c = 0; c < tile.count; ++c) {
    Int128 both[2];
    std::memcpy(both, &bytes[c * kTileNormBytes], sizeof both);
    sums_->by_degree[tile.first + c] += both[0];
    sums_->plain[tile.first + c] += both[1];
  }
}

void ColumnNorms::forget(TileColumns tile) {
  set(tile, std::vector<std::byte>(tile.count * kTileNormBytes));
}

void ColumnNorms::finish(PropagationSpec& spec) const {
  const auto value = [](Int128 sum) { return std::ldexp(static_cast<double>(sum), -kNormBits); };
  spec.column_norms.clear();
  for (const Int128 sum : sums_->by_degree) spec.column_norms.push_back(value(sum));
  spec.code_norm = value(std::accumulate(sums_->plain.begin(), sums_->plain.end(), Int128{0})) /
                   static_cast<double>(sums_->plain.size());
}

void ColumnNorms::clear() {
  const std::scoped_lock lock(sums_->mutex);
  std::fill(sums_->by_degree.begin(), sums_->by_degree.end(), 0);
  std::fill(sums_->plain.begin(), sums_->plain.end(), 0);
}

namespace {

void read_all_norms(const Contents& contents, ColumnNorms& norms, SignedSpans* spans) {
  const auto node_at = [&](std::size_t piece) {
    return static_cast<NodeId>(std::min<std::uint64_t>(contents.num_nodes(), piece * ColumnNorms::kMostRows));
  };
  const std::size_t pieces = (contents.num_nodes() + ColumnNorms::kMostRows - 1) / ColumnNorms::kMostRows;
  const std::uint64_t piece_bytes = ColumnNorms::kMostRows * sizeof(float) * contents.features().columns();
  ScanAhead ahead(pieces, piece_bytes, [&](std::size_t piece) {
    contents.features().read_ahead({node_at(piece), node_at(piece + 1)}, 0, contents.features().columns());
  });
  std::vector<std::vector<float>> values(std::max<std::size_t>(1, active_threads()));  // one a thread
  run_items(pieces, values.size(), [&](std::size_t piece, std::size_t worker) {
    ahead.at(piece);
    read_norms(contents, {node_at(piece), node_at(piece + 1)}, values[worker], norms, spans);
  });
}

}  // namespace

void measure_columns(const Contents& contents, ColumnNorms& norms) {
  norms.clear();
  read_all_norms(contents, norms, nullptr);
}

void measure_columns(const Contents& contents, PropagationSpec& spec) {
  ColumnNorms norms(contents.features().columns());
  measure_columns(contents, norms);
  norms.finish(spec);
}

std::vector<bool> survey_columns(const Contents& contents, PropagationSpec& spec) {
  ColumnNorms norms(contents.features().columns());
  SignedSpans spans(contents.features().rows());
  read_all_norms(contents, norms, &spans);
  norms.finish(spec);
  return spans.found();
}

bool fill_waits(const Contents& contents, bool once) {
  return once && contents.features().can_pass_cache();
}

TileFill level0_rows(const Contents& contents, const PropagationSpec& spec, ColumnNorms* norms, PageCache cache) {
  return [&contents, power = DegreePower(spec.rho), bits = spec.scale_bits, norms, cache](
             TileColumns tile, NodeRange rows, std::int32_t* out) {
    const auto most = static_cast<NodeId>(std::clamp<std::size_t>(
        kLevel0Values / tile.count, 1, std::min<std::size_t>(rows.size(), ColumnNorms::kMostRows)));
    std::vector<float> x(std::size_t{most} * tile.count);
    for (NodeId first = rows.first; first < rows.last;) {
      const NodeRange some{first, first + std::min(most, rows.last - first)};
      contents.features().read(some, static_cast<std::uint32_t>(tile.first), static_cast<std::uint32_t>(tile.count),
                               x.data(), cache);
      if (norms != nullptr) norms->add(contents, tile, some, x.data());
      const float* row = x.data();
      for (; first < some.last; ++first, row += tile.count, out += tile.count)
        power.level0({row, tile.count}, contents.graph().degree(first), bits, out);
    }
  };
}

TileFill level0_fill(const Contents& contents, const PropagationSpec& spec, ColumnNorms* norms, bool once) {
  const TileFill past = fill_waits(contents, once) ? level0_rows(contents, spec, norms, PageCache::passed) : nullptr;
  return [&contents, fill = level0_rows(contents, spec, norms), past, once](TileColumns tile, NodeRange rows,
                                                                            std::int32_t* out) {
    if (past && rows.size() >= kPastRows) return past(tile, rows, out);
    // Fills come in ascending order: at the beginning of a piece, a later one is asked for.
    if (rows.first % kReadRows < rows.size()) {
      const std::uint64_t piece = rows.first / kReadRows;
      const auto node = [&](std::uint64_t pieces) {
        return static_cast<NodeId>(std::min<std::uint64_t>(contents.num_nodes(), pieces * kReadRows));
      };
      const auto first = static_cast<std::uint32_t>(tile.first), count = static_cast<std::uint32_t>(tile.count);
      contents.features().read_ahead({node(piece == 0 ? 0 : piece + kAhead), node(piece + kAhead + 1)}, first, count);
      // Other threads may still fill rows of the piece before.
      if (once && piece >= 2) contents.features().forget({node(piece - 2), node(piece - 1)}, first, count);
    }
    fill(tile, rows, out);
  };
}

}  // namespace unweave
