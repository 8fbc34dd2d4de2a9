// storage/formats/statistics_file.h - vectors of numbers in few bytes, any of which can be erased
// (FORMAT.md, "Statistics").
//
// A file holds the records of one partition, all of one length, so that a record is one read at a
// known offset. A value is an integer multiple of kStatisticsGrid: sums of records and of other
// multiples of it below 512 are exact in float64, in any order. An erased record is zeros.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <vector>

#include "storage/io/file.h"

namespace unweave {

inline constexpr double kStatisticsGrid = 0x1p-44;

/// What a file holds; a reader refuses another one.
struct StatisticsShape {
  std::uint32_t bits = 16;  ///< bits a value: 8 (integer), 16 (binary16) or 32 (float32), times a power of two a record
  std::uint64_t run = 0;    ///< tells the files of one training from those of another
  std::uint64_t partition = 0;
  std::uint64_t records = 0;
  std::uint64_t values = 0;  ///< values of a record
  std::uint64_t visits = 0;  ///< further numbers of a record, rounded up to float32

  friend bool operator==(const StatisticsShape&, const StatisticsShape&) = default;
};

struct Statistic {
  std::vector<double> values;
  std::vector<float> visits;
  float bound = 0;  ///< what the writer was given, rounded up
  float error = 0;  ///< >= the Euclidean distance of the values from those that the writer was given
};

/// Writes one file front to back, under its own name: it is complete only when a later, durable
/// file says so.
class StatisticsWriter {
 public:
  /// Throws UsageError for other bits, and when the file exists.
  StatisticsWriter(const std::filesystem::path& path, const StatisticsShape& shape);
  /// Throws UsageError for values that are not finite or not below 512.
  void append(std::span<const double> values, std::span<const double> visits, double bound);
  /// Durable on return, but for the name in its folder.
  void finish();

 private:
  File file_;
  StatisticsShape shape_;
  std::uint64_t next_ = 0;
  std::vector<std::byte> record_;
};

class StatisticsFile {
 public:
  /// Throws DataError, FormatError when the file is not of this shape; `writable` for erase().
  StatisticsFile(const std::filesystem::path& path, const StatisticsShape& shape, bool writable);
  /// Reads one record; returns nothing for an erased one. Throws FormatError for a damaged one.
  [[nodiscard]] std::optional<Statistic> read(std::uint64_t record) const;
  /// Overwrites the records with zeros, durable on return. Erasing twice does no harm.
  void erase(std::span<const std::uint64_t> records) const;

 private:
  File file_;
  StatisticsShape shape_;
};

/// Bytes of a file.
[[nodiscard]] std::uint64_t statistics_file_bytes(const StatisticsShape& shape) noexcept;

}  // namespace unweave
