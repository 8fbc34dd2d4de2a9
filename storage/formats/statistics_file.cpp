// storage/formats/statistics_file.cpp - encodes vectors in 8, 16 or 32 bits; checks, reads and
// erases records.
#include "storage/formats/statistics_file.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>

#include "storage/codec/half.h"
#include "storage/io/checksum.h"
#include "storage/io/error.h"
#include "storage/io/private_file.h"

namespace unweave {
namespace {

constexpr std::string_view kStatisticsMagic = "UNWVSTAT";
constexpr std::uint32_t kStatisticsVersion = 1;
constexpr int kLeastExponent = -20;  // 2^-24 of it, the least half, is the grid
constexpr double kMostValue = 512;

struct StatisticsHeader {
  char magic[8];
  std::uint32_t version;
  std::uint32_t bits;
  std::uint64_t run;
  std::uint64_t partition;
  std::uint64_t records;
  std::uint64_t values;
  std::uint64_t visits;
  std::uint64_t checksum;  // covers the bytes before it
};
static_assert(sizeof(StatisticsHeader) == 64);

/// Stands before the visits and the values of a record.
struct StatisticsRecord {
  std::uint64_t checksum;  // covers the rest of the record
  std::uint64_t number;
  std::int32_t exponent;
  float bound;
  float error;
  std::uint32_t unused;
};
static_assert(sizeof(StatisticsRecord) == 32);

std::uint64_t record_bytes(const StatisticsShape& shape) noexcept {
  const std::uint64_t bytes = sizeof(StatisticsRecord) + sizeof(float) * shape.visits + shape.bits / 8 * shape.values;
  return (bytes + 7) / 8 * 8;
}

std::uint64_t checksum_of(std::span<const std::byte> record) noexcept {
  return checksum64(record.subspan(sizeof(std::uint64_t)));
}

StatisticsHeader header_of(const StatisticsShape& shape) noexcept {
  StatisticsHeader header{};
  std::memcpy(header.magic, kStatisticsMagic.data(), kStatisticsMagic.size());
  header.version = kStatisticsVersion;
  header.bits = shape.bits;
  header.run = shape.run;
  header.partition = shape.partition;
  header.records = shape.records;
  header.values = shape.values;
  header.visits = shape.visits;
  header.checksum =
      checksum64(std::as_bytes(std::span(&header, 1)).first(sizeof(StatisticsHeader) - sizeof(std::uint64_t)));
  return header;
}

float rounded_up(double x) noexcept {
  const auto near = static_cast<float>(x);
  return static_cast<double>(near) < x ? std::nextafter(near, std::numeric_limits<float>::infinity()) : near;
}

/// What is added to a number before it is cut off to the half on the side of zero, so that the
/// nearest one is left.
float half_step(float x) noexcept {
  if (x == 0) return 0;
  int exponent = 0;
  static_cast<void>(
      std::frexp(x, &exponent));  // |x| in [2^(exponent - 1), 2^exponent), halves of 11 bits down to 2^-14
  return std::copysign(std::ldexp(1.0F, std::max(exponent, -13) - 12), x);
}

/// Numbers of at most 1 in magnitude to their code.
void encode(std::span<float> numbers, std::uint32_t bits, std::byte* out) {
  if (bits == 32) {
    std::memcpy(out, numbers.data(), numbers.size_bytes());
  } else if (bits == 16) {
    std::vector<Half> halves(numbers.size());
    for (float& x : numbers) x += half_step(x);
    truncate_to_halves(numbers, halves.data());
    std::memcpy(out, halves.data(), halves.size() * sizeof(Half));
  } else {
    for (std::size_t i = 0; i < numbers.size(); ++i)
      out[i] = static_cast<std::byte>(std::clamp(std::lround(numbers[i] * 128), -127L, 127L));
  }
}

void decode(const std::byte* code, std::uint32_t bits, double scale, std::span<double> out) {
  if (bits == 8) {
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = static_cast<double>(static_cast<std::int8_t>(code[i])) * (scale / 128);
    return;
  }
  if (out.empty()) return;  // memcpy takes no null
  std::vector<float> numbers(out.size());
  if (bits == 16) {
    std::vector<Half> halves(out.size());
    std::memcpy(halves.data(), code, halves.size() * sizeof(Half));
    widen_halves(halves, numbers.data());
  } else {
    std::memcpy(numbers.data(), code, numbers.size() * sizeof(float));
  }
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<double>(numbers[i]) * scale;
}

bool is_zero(std::span<const std::byte> bytes) noexcept {
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{}; });
}

}  // namespace

std::uint64_t statistics_file_bytes(const StatisticsShape& shape) noexcept {
  return sizeof(StatisticsHeader) + shape.records * record_bytes(shape);
}

StatisticsWriter::StatisticsWriter(const std::filesystem::path& path, const StatisticsShape& shape) : shape_(shape) {
  if (shape.bits != 8 && shape.bits != 16 && shape.bits != 32)
    throw UsageError("a number of the statistics takes 8, 16 or 32 bits");
  file_ = create_private(path);
  const StatisticsHeader header = header_of(shape);
  file_.write_at(0, std::as_bytes(std::span(&header, 1)));
  record_.resize(record_bytes(shape));
}

void StatisticsWriter::append(std::span<const double> values, std::span<const double> visits, double bound) {
  if (next_ == shape_.records || values.size() != shape_.values || visits.size() != shape_.visits)
    throw UsageError("a record does not fit in its file of statistics");
  double largest = 0;
  for (const double x : values) largest = std::isfinite(x) ? std::max(largest, std::abs(x)) : kMostValue;
  if (!(largest < kMostValue))
    throw UsageError("statistics grew beyond all measure: the run diverged; make its steps smaller");
  StatisticsRecord header{0, next_, kLeastExponent, 0, 0, 0};
  int exponent = 0;
  static_cast<void>(std::frexp(largest, &exponent));
  if (largest > 0) header.exponent = std::max(exponent, kLeastExponent);
  const double scale = std::ldexp(1.0, header.exponent);

  std::vector<float> numbers(values.size());
  for (std::size_t i = 0; i < values.size(); ++i)
    numbers[i] = static_cast<float>(std::nearbyint(values[i] / kStatisticsGrid) * kStatisticsGrid / scale);
  std::byte* const code = record_.data() + sizeof(StatisticsRecord) + sizeof(float) * shape_.visits;
  std::fill(record_.begin(), record_.end(), std::byte{});
  encode(numbers, shape_.bits, code);
  std::vector<double> decoded(values.size());
  decode(code, shape_.bits, scale, decoded);
  double error = 0;
  for (std::size_t i = 0; i < values.size(); ++i) error += (values[i] - decoded[i]) * (values[i] - decoded[i]);
  header.bound = rounded_up(bound);
  header.error = rounded_up(std::sqrt(error) * (1 + 1e-9));

  std::vector<float> norms(visits.size());
  std::transform(visits.begin(), visits.end(), norms.begin(), rounded_up);
  if (!norms.empty()) std::memcpy(record_.data() + sizeof(header), norms.data(), norms.size() * sizeof(float));
  std::memcpy(record_.data(), &header, sizeof(header));
  header.checksum = checksum_of(record_);
  std::memcpy(record_.data(), &header.checksum, sizeof(header.checksum));
  file_.write_at(sizeof(StatisticsHeader) + next_ * record_.size(), record_);
  ++next_;
}

void StatisticsWriter::finish() {
  if (next_ != shape_.records) throw UsageError("a file of statistics lacks records");
  file_.sync();
}

StatisticsFile::StatisticsFile(const std::filesystem::path& path, const StatisticsShape& shape, bool writable)
    : file_(writable ? File::open_own(path) : File::open_stored(path)), shape_(shape) {
  if (writable) make_private(file_);
  StatisticsHeader header;
  file_.read_at(0, std::as_writable_bytes(std::span(&header, 1)));
  const StatisticsHeader expected = header_of(shape);
  if (std::memcmp(&header, &expected, sizeof(header)) != 0)
    throw FormatError(path, "byte 0, header", "these are not the statistics of the model");
  if (file_.size() != statistics_file_bytes(shape))
    throw FormatError(path, "byte " + std::to_string(file_.size()), "the file ends elsewhere than its header says");
}

std::optional<Statistic> StatisticsFile::read(std::uint64_t record) const {
  const std::uint64_t bytes = record_bytes(shape_), at = sizeof(StatisticsHeader) + record * bytes;
  if (record >= shape_.records)
    throw FormatError(file_.path(), "record " + std::to_string(record), "there is no such record");
  std::vector<std::byte> buffer(bytes);
  file_.read_at(at, buffer);
  if (is_zero(buffer)) return std::nullopt;
  StatisticsRecord header;
  std::memcpy(&header, buffer.data(), sizeof(header));
  if (header.checksum != checksum_of(buffer) || header.number != record || std::abs(header.exponent) > -kLeastExponent)
    throw FormatError(file_.path(), "byte " + std::to_string(at) + ", record " + std::to_string(record),
                      "the content does not match its checksum");
  Statistic statistic;
  statistic.bound = header.bound;
  statistic.error = header.error;
  statistic.visits.resize(shape_.visits);
  if (shape_.visits > 0)
    std::memcpy(statistic.visits.data(), buffer.data() + sizeof(header), sizeof(float) * shape_.visits);
  statistic.values.resize(shape_.values);
  decode(buffer.data() + sizeof(header) + sizeof(float) * shape_.visits, shape_.bits, std::ldexp(1.0, header.exponent),
         statistic.values);
  return statistic;
}

void StatisticsFile::erase(std::span<const std::uint64_t> records) const {
  const std::uint64_t bytes = record_bytes(shape_);
  const std::vector<std::byte> zeros(bytes);
  for (const std::uint64_t record : records) {
    if (record >= shape_.records)
      throw FormatError(file_.path(), "record " + std::to_string(record), "there is no such record");
    file_.write_at(sizeof(StatisticsHeader) + record * bytes, zeros);
  }
  file_.sync();
}

}  // namespace unweave
