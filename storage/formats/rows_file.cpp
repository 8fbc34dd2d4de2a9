// storage/formats/rows_file.cpp - rounds values to 16 bits, and reads and checks files of kept
// rows.
#include "storage/formats/rows_file.h"

#include <bit>
#include <cmath>
#include <string>

#include "storage/formats/level_files.h"
#include "storage/formats/store_layout.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

/// All halves up to this one are finite.
constexpr std::uint32_t kMostHalf = 0x7BFF;

std::string_view rows_kind(FeatureType type) {
  return type == FeatureType::f16 ? "rows16" : "rows";
}

/// The bits of the binary16 next to |value|, ties to even; above kMostHalf where there is no finite
/// one. With 2^e the power of two below the value, at least 2^-14, neighbours are 2^(e-10) apart.
/// What is added makes that the last bit of a float64.
std::uint32_t half_of_magnitude(double value) {
  constexpr int kLeastExponent = -14, kBits = 10, kDoubleBits = 52, kBias = 1023;
  const double magnitude = std::fabs(value);
  if (!(magnitude < 0x1p17)) return kMostHalf + 1;
  const auto biased = static_cast<int>(std::bit_cast<std::uint64_t>(magnitude) >> kDoubleBits);
  const int exponent = std::max(biased - kBias, kLeastExponent);
  const auto shift = static_cast<std::uint64_t>(exponent - kBits + kDoubleBits + kBias) << kDoubleBits;
  const std::uint64_t units = std::bit_cast<std::uint64_t>(magnitude + std::bit_cast<double>(shift)) - shift;
  return (static_cast<std::uint32_t>(exponent - kLeastExponent) << kBits) + static_cast<std::uint32_t>(units);
}

}  // namespace

SealedName rows_name(const std::filesystem::path& store, std::uint32_t level, NodeId first, FeatureType type) {
  const std::string kind(rows_kind(type));
  return {store, "state", "level" + std::to_string(level) + "-" + span_stem(first), kind, kind};
}

std::size_t round_to_halves(std::span<const float> values, std::int32_t exponent, Half* out) noexcept {
  const double scale = std::ldexp(1.0, exponent);  // a float32 times it is a float64, without rounding
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint32_t bits = half_of_magnitude(static_cast<double>(values[i]) * scale);
    if (bits > kMostHalf) return i;
    out[i] = static_cast<Half>(bits | (std::signbit(values[i]) ? 0x8000U : 0U));
  }
  return values.size();
}

RowsFile::RowsFile(const std::filesystem::path& store, const FileEntry& entry, std::uint32_t level, NodeRange range,
                   std::uint32_t columns, const KeptForm& kept)
    : file_(store, entry, rows_kind(kept.type)),
      layout_{range, columns, 0, value_bytes(kept.type)},
      kept_(kept),
      unit_(std::ldexp(1.0F, -kept.exponent)) {
  const SealedParameters& p = file_.parameters();
  if (p[0] != level || p[1] != range.first || p[2] != range.size() || p[4] != columns)
    file_.fail(0, "the rows belong to another level, range of nodes or number of columns");
  if (p[5] != static_cast<std::uint64_t>(std::int64_t{kept.exponent}))
    file_.fail(0, "the values have another exponent than the manifest says");
  if (p[3] > range.size()) file_.fail(0, "more rows than nodes");
  layout_.rows = p[3];
  if (file_.size() != layout_.bytes()) file_.fail(0, "length: does not agree with the number of rows");
  const std::uint64_t words = layout_.member_words();
  members_ = file_.values<std::uint64_t>(0, words);
  ranks_ = MemberRanks(members_);
  if (words > 0 && ranks_.total() != layout_.rows) file_.fail(0, "members do not add up to the number of rows");
  if (words > 0 && range.size() % 64 != 0 && members_.back() >> (range.size() % 64) != 0)
    file_.fail(8 * (words - 1), "a member outside the range of nodes");
}

bool RowsFile::contains(NodeId node) const noexcept {
  if (members_.empty()) return layout_.rows > 0;
  const NodeId local = node - layout_.range.first;
  return ((members_[local / 64] >> (local % 64)) & 1U) != 0;
}

std::uint64_t RowsFile::index(NodeId node) const noexcept {
  return ranks_.index(members_, layout_.range, layout_.rows, node);
}

void RowsFile::read_ahead(NodeRange nodes) const noexcept {
  const std::uint64_t last = index(nodes.last);
  for (std::uint64_t rank = index(nodes.first); rank < last;) {
    const std::uint64_t chunk = rank / kRowsChunk, end = std::min(last, (chunk + 1) * kRowsChunk);
    for (std::uint32_t strip = 0; strip < layout_.strips(); ++strip) {
      const std::uint64_t row_bytes = layout_.width_of(strip) * layout_.value_bytes;
      file_.read_ahead(layout_.piece_at(chunk, strip) + rank % kRowsChunk * row_bytes, (end - rank) * row_bytes);
    }
    rank = end;
  }
}

template <class Value, class Use>
void RowsFile::for_strips(std::uint64_t rank, const Use& use) const {
  const std::uint64_t chunk = rank / kRowsChunk, row = rank % kRowsChunk;
  for (std::uint32_t strip = 0; strip < layout_.strips(); ++strip) {
    const std::uint32_t width = layout_.width_of(strip);
    use(strip * kStripColumns,
        file_.values<Value>(layout_.piece_at(chunk, strip) + row * width * sizeof(Value), width));
  }
}

bool RowsFile::read(NodeId node, float* out) const {
  if (!contains(node)) return false;
  if (kept_.type == FeatureType::f32) {
    for_strips<float>(index(node), [&](std::uint32_t first, std::span<const float> values) {
      std::copy(values.begin(), values.end(), out + first);
    });
    return true;
  }
  for_strips<Half>(index(node), [&](std::uint32_t first, std::span<const Half> values) {
    widen_halves(values, out + first);
    for (std::size_t c = 0; c < values.size(); ++c) out[first + c] *= unit_;
  });
  return true;
}

bool RowsFile::read_bits(NodeId node, std::uint32_t* out) const {
  if (!contains(node)) return false;
  const auto copy = [&](std::uint32_t first, const auto& values) {
    std::copy(values.begin(), values.end(), out + first);
  };
  if (kept_.type == FeatureType::f32)
    for_strips<std::uint32_t>(index(node), copy);
  else
    for_strips<Half>(index(node), copy);
  return true;
}

void RowsFile::verify() const {
  file_.check_all();
  const std::uint32_t infinite = kept_.type == FeatureType::f16 ? 0x7C00U : 0x7F800000U;
  std::vector<std::uint32_t> row(layout_.columns);
  for (NodeId node = layout_.range.first; node < layout_.range.last; ++node)
    if (read_bits(node, row.data()) &&
        std::any_of(row.begin(), row.end(), [&](std::uint32_t bits) { return (bits & infinite) == infinite; }))
      file_.fail(layout_.piece_at(index(node) / kRowsChunk, 0),
                 "the row at position " + std::to_string(node) + " holds a value that is not finite");
}

void verify_rows(const std::filesystem::path& store, const LevelPlace& place, std::size_t index) {
  RowsFile(store, place.files.rows[index], place.level, span_range(place.nodes, index), place.row_width, place.kept)
      .verify();
}

}  // namespace unweave
