// storage/formats/feature_file.cpp - writes, reads and checks feature files of the dense and the
// sparse layout.
#include "storage/formats/feature_file.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "storage/formats/store_layout.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

/// Rows may exceed norm 1 by the rounding of the sum alone.
constexpr double kNormSlack = 1 + 1e-9;

double square_of_norm(std::span<const float> values) {
  constexpr std::size_t kLanes = 8;  // sums side by side, so that an addition need not wait for the one before
  std::array<double, kLanes> squares{};
  std::size_t i = 0;
  for (; i + kLanes <= values.size(); i += kLanes)
    for (std::size_t lane = 0; lane < kLanes; ++lane)
      squares[lane] += double{values[i + lane]} * double{values[i + lane]};
  for (; i < values.size(); ++i) squares[0] += double{values[i]} * double{values[i]};
  return std::accumulate(squares.begin(), squares.end(), 0.0);
}

constexpr std::size_t kRunValues = 64;  // non-zeros of a row, read at a time

void copy_values(std::span<const float> values, float* out) noexcept {
  std::memcpy(out, values.data(), values.size_bytes());
}

void copy_values(std::span<const Half> values, Half* out) noexcept {
  std::copy(values.begin(), values.end(), out);
}

void copy_values(std::span<const Half> values, float* out) noexcept {
  widen_halves(values, out);
}

/// The values as float32: where they lie, or widened into `room`.
const float* as_floats(std::span<const float> values, std::span<float, kRunValues>) noexcept {
  return values.data();
}

const float* as_floats(std::span<const Half> values, std::span<float, kRunValues> room) noexcept {
  widen_halves(values, room.data());
  return room.data();
}

}  // namespace

SealedWriter start_feature_file(const std::filesystem::path& store, NodeRange range, FeatureLayout layout,
                                bool packed) {
  const std::string kind(packed ? layout.packed_kind() : layout.kind());
  return SealedWriter({store, "features", span_stem(range.first), kind, kind});
}

bool is_packed(const FileEntry& entry) {
  return entry.path.ends_with(".packed") || entry.path.ends_with(".packed16");
}

FeatureFile::FeatureFile(const std::filesystem::path& store, const FileEntry& entry, NodeRange range,
                         std::uint32_t columns, FeatureLayout layout)
    : file_(store, entry, is_packed(entry) ? layout.packed_kind() : layout.kind()),
      range_(range),
      columns_(columns),
      layout_(layout),
      is_packed_(is_packed(entry)),
      stored_(range.size()) {
  const SealedParameters& p = file_.parameters();
  if (p[0] != range.first || p[1] != range.size() || p[2] != columns)
    file_.fail(0, "the features belong to another range of nodes or have another number of columns");
  const std::uint64_t rows = range.size();
  const std::uint64_t bytes = value_bytes(layout.type);
  if (is_packed_) {
    const std::uint64_t words = bit_words(rows);
    if (layout.sparse || p[3] > rows || file_.size() != packed_index_bytes(rows) + p[3] * columns * bytes)
      file_.fail(0, "length: does not agree with the number of rows that are there");
    stored_ = static_cast<NodeId>(p[3]);
    present_ = {reinterpret_cast<const std::uint64_t*>(file_.data()), static_cast<std::size_t>(words)};
    before_ = {reinterpret_cast<const std::uint32_t*>(file_.data() + 8 * words), static_cast<std::size_t>(words + 1)};
    values_at_ = packed_index_bytes(rows);
    return;
  }
  if (!layout.sparse) {
    if (file_.size() != rows * columns * bytes) file_.fail(0, "length: not rows x columns values");
    return;
  }
  const std::uint64_t nonzeros = p[3];
  if (nonzeros > rows * columns || file_.size() != 8 * (rows + 1) + (4 + bytes) * nonzeros)
    file_.fail(0, "length: does not agree with the number of non-zeros");
  offsets_ = file_.values<std::uint64_t>(0, rows + 1);
  if (offsets_.front() != 0 || offsets_.back() != nonzeros || !std::is_sorted(offsets_.begin(), offsets_.end()))
    file_.fail(0, "row offsets are not increasing or do not end at the number of non-zeros");
  column_ids_ = {reinterpret_cast<const std::uint32_t*>(file_.data() + 8 * (rows + 1)),
                 static_cast<std::size_t>(nonzeros)};
  values_at_ = 8 * (rows + 1) + 4 * nonzeros;
}

bool FeatureFile::can_pass_cache() const {
  return !layout_.sparse && File::open_direct_to_read(file_.path()).is_open();
}

NodeId FeatureFile::place(NodeId row) const noexcept {
  if (!is_packed_) return row;
  const std::uint64_t bits = row % 64 == 0 ? 0 : present_[row / 64] << (64 - row % 64);
  return before_[row / 64] + static_cast<NodeId>(std::popcount(bits));
}

/// A range within the file whatever the bits say.
NodeRange FeatureFile::places(NodeRange local) const noexcept {
  const NodeId last = std::min(place(local.last), stored_);
  return {std::min(place(local.first), last), last};
}

/// The rows that are there come first, in one piece; from the last one on each then goes to its
/// place.
template <class Out, class Read>
void FeatureFile::read_packed(NodeRange local, std::uint32_t width, Out* out, const Read& read) const {
  const std::uint64_t words = bit_words(range_.size()), first_word = local.first / 64, last_word = local.last / 64;
  file_.check(8 * first_word, 8 * (std::min(last_word + 1, words) - first_word));
  file_.check(8 * words + 4 * first_word, 4 * (last_word + 1 - first_word));
  const NodeRange stored = places(local);
  const auto is_present = [&](NodeId row) { return (present_[row / 64] >> row % 64 & 1) != 0; };
  NodeId count = 0;
  for (NodeId row = local.first; row < local.last; ++row) count += is_present(row) ? 1 : 0;
  if (count != stored.size()) file_.fail(8 * first_word, "rows that are there are counted wrongly");
  if (count > 0) read(stored);
  for (NodeId row = local.size(); row-- > 0;) {
    Out* const to = out + std::size_t{row} * width;
    // Every row has its own bit, unless the file is cut short under us.
    if (count > 0 && is_present(local.first + row))
      std::copy_n(out + std::size_t{--count} * width, width, to);
    else
      std::fill_n(to, width, Out{0});
  }
}

void FeatureFile::read(NodeRange range, std::uint32_t first_column, std::uint32_t width, float* out,
                       PageCache cache) const {
  const NodeRange local{range.first - range_.first, range.last - range_.first};
  const auto read_stored = [&](NodeRange stored) { read_rows(stored, first_column, width, out, cache); };
  if (is_packed_) return read_packed(local, width, out, read_stored);
  read_stored(local);
}

void FeatureFile::read_halves(NodeRange range, Half* out) const {
  const NodeRange local{range.first - range_.first, range.last - range_.first};
  const auto read_stored = [&](NodeRange stored) {
    read_dense<Half>(stored, 0, columns_, out,
                     [this](std::uint64_t at, std::uint64_t count) { return file_.values<Half>(at, count); });
  };
  if (is_packed_) return read_packed(local, columns_, out, read_stored);
  read_stored(local);
}

/// `local`: rows by their places among those that are there.
void FeatureFile::read_rows(NodeRange local, std::uint32_t first_column, std::uint32_t width, float* out,
                            PageCache cache) const {
  if (cache == PageCache::passed && !layout_.sparse) {
    const File direct = File::open_direct_to_read(file_.path());
    if (direct.is_open()) return read_past(direct, local, first_column, width, out);
  }
  const bool is_short = layout_.type == FeatureType::f16;
  if (layout_.sparse && is_short)
    read_sparse<Half>(local, first_column, width, out);
  else if (layout_.sparse)
    read_sparse<float>(local, first_column, width, out);
  else if (is_short)
    read_dense<Half>(local, first_column, width, out,
                     [this](std::uint64_t at, std::uint64_t count) { return file_.values<Half>(at, count); });
  else
    read_dense<float>(local, first_column, width, out,
                      [this](std::uint64_t at, std::uint64_t count) { return file_.values<float>(at, count); });
}

void FeatureFile::read_past(const File& direct, NodeRange local, std::uint32_t first_column, std::uint32_t width,
                            float* out) const {
  const std::size_t bytes = value_bytes(layout_.type);
  DirectPiece piece(std::size_t{local.size()} * std::min(columns_, kTileColumns) * bytes);
  const auto read = [&](std::uint64_t offset, std::uint64_t count) {
    return file_.read_past(direct, offset, count * bytes, piece).data();
  };
  if (layout_.type == FeatureType::f16)
    read_dense<Half>(local, first_column, width, out, [&](std::uint64_t offset, std::uint64_t count) {
      return std::span(reinterpret_cast<const Half*>(read(offset, count)), count);
    });
  else
    read_dense<float>(local, first_column, width, out, [&](std::uint64_t offset, std::uint64_t count) {
      return std::span(reinterpret_cast<const float*>(read(offset, count)), count);
    });
}

template <class Use>
void FeatureFile::for_bytes(NodeRange range, std::uint32_t first_column, std::uint32_t width, const Use& use) const {
  NodeRange local{range.first - range_.first, range.last - range_.first};
  const std::uint64_t bytes = value_bytes(layout_.type);
  if (layout_.sparse) {
    const std::uint64_t begin = offsets_[local.first];
    const std::uint64_t count = offsets_[local.last] - begin;
    use(8 * (std::uint64_t{range_.size()} + 1) + 4 * begin, 4 * count);
    use(values_at_ + bytes * begin, bytes * count);
    return;
  }
  local = places(local);
  for (std::uint32_t tile = first_column / kTileColumns * kTileColumns; tile < first_column + width;
       tile += kTileColumns) {
    const std::uint32_t tile_width = std::min(kTileColumns, columns_ - tile);
    use(values_at_ + (std::uint64_t{tile} * stored_ + std::uint64_t{local.first} * tile_width) * bytes,
        std::uint64_t{local.size()} * tile_width * bytes);
  }
}

void FeatureFile::read_ahead(NodeRange range, std::uint32_t first_column, std::uint32_t width) const noexcept {
  for_bytes(range, first_column, width,
            [this](std::uint64_t offset, std::uint64_t length) { file_.read_ahead(offset, length); });
}

void FeatureFile::forget(NodeRange range, std::uint32_t first_column, std::uint32_t width) const noexcept {
  for_bytes(range, first_column, width,
            [this](std::uint64_t offset, std::uint64_t length) { file_.forget(offset, length); });
}

template <class Value, class Out, class Rows>
void FeatureFile::read_dense(NodeRange local, std::uint32_t first_column, std::uint32_t width, Out* out,
                             const Rows& rows_at) const {
  const std::uint32_t end = first_column + width;
  for (std::uint32_t tile = first_column / kTileColumns * kTileColumns; tile < end; tile += kTileColumns) {
    const std::uint32_t tile_width = std::min(kTileColumns, columns_ - tile);
    const std::uint32_t from = std::max(tile, first_column);
    const std::uint32_t to = std::min(tile + tile_width, end);
    const std::uint64_t index = std::uint64_t{tile} * stored_ + std::uint64_t{local.first} * tile_width;
    const auto rows = rows_at(values_at_ + index * sizeof(Value), std::uint64_t{local.size()} * tile_width);
    for (std::size_t row = 0; row < local.size(); ++row)
      copy_values(rows.subspan(row * tile_width + (from - tile), to - from), out + row * width + (from - first_column));
  }
}

template <class Value>
void FeatureFile::read_sparse(NodeRange local, std::uint32_t first_column, std::uint32_t width, float* out) const {
  std::fill(out, out + std::size_t{local.size()} * width, 0.0F);
  const std::uint64_t begin = offsets_[local.first];
  const std::uint64_t count = offsets_[local.last] - begin;
  file_.check(8 * (std::uint64_t{range_.size()} + 1) + 4 * begin, 4 * count);
  const auto values = file_.values<Value>(values_at_ + sizeof(Value) * begin, count);
  const std::uint32_t end_column = first_column + width;
  std::array<float, kRunValues> room;
  for (NodeId row = local.first; row < local.last; ++row, out += width) {
    const std::uint64_t from = offsets_[row], to = offsets_[row + 1];
    // Known to be so, unless the file is cut short under us: then they are zeros.
    if (from < begin || to < from || to - begin > count) fail_column(from);
    const auto* const last = column_ids_.data() + to;
    const auto* at = std::lower_bound(column_ids_.data() + from, last, first_column);
    while (at != last && *at < end_column) {
      const auto most = std::min(kRunValues, static_cast<std::size_t>(last - at));
      const auto* const end = std::find_if(at, at + most, [&](std::uint32_t column) { return column >= end_column; });
      const auto index = static_cast<std::uint64_t>(at - column_ids_.data());
      const float* value = as_floats(values.subspan(index - begin, static_cast<std::size_t>(end - at)), room);
      for (; at != end; ++at) {
        // Not so only where the columns of a row are out of order.
        if (*at < first_column) fail_column(static_cast<std::uint64_t>(at - column_ids_.data()));
        out[*at - first_column] = *value++;
      }
    }
  }
}

void FeatureFile::fail_column(std::uint64_t index) const {
  file_.fail(8 * (std::uint64_t{range_.size()} + 1) + 4 * index, "column out of range or out of order");
}

/// Bits and counts agree, and no bit is behind the last row.
void FeatureFile::verify_index() const {
  std::uint32_t before = 0;
  for (std::size_t word = 0; word < present_.size(); ++word) {
    if (before_[word] != before) file_.fail(8 * word, "rows that are there are counted wrongly");
    before += static_cast<std::uint32_t>(std::popcount(present_[word]));
  }
  const std::uint32_t used = range_.size() % 64;
  if (before_.back() != before || before != stored_ || (used != 0 && present_.back() >> used != 0))
    file_.fail(0, "rows that are there are counted wrongly");
}

void FeatureFile::verify() const {
  file_.check_all();
  if (is_packed_) verify_index();
  if (layout_.sparse) {
    for (NodeId row = 0; row < range_.size(); ++row)
      for (std::uint64_t i = offsets_[row]; i < offsets_[row + 1]; ++i)
        if (column_ids_[i] >= columns_ || (i > offsets_[row] && column_ids_[i] <= column_ids_[i - 1])) fail_column(i);
  }
  std::vector<float> values(columns_);
  for (NodeId node = range_.first; node < range_.last; ++node) {
    read({node, node + 1}, 0, columns_, values.data());
    if (!(square_of_norm(values) <= kNormSlack))
      file_.fail(0, "the row at position " + std::to_string(node) + " is not finite or above norm 1");
  }
}

}  // namespace unweave
