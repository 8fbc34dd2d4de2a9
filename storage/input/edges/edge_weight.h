// storage/input/edges/edge_weight.h - the weights of edges in users' files, and one rule for all
// formats of what they may be.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "storage/types/import_report.h"
#include "storage/types/weight_unit.h"

namespace unweave {

/// The number behind 'weight' in attributes, as networkx.write_edgelist() puts them behind an edge:
/// "{'weight': 3}", also among others; none where there is no such number.
[[nodiscard]] std::optional<double> attribute_weight(std::string_view attributes) noexcept;

/// Throws the InputError for an edge that has none, or a file that has none at all.
[[noreturn]] void throw_no_weight(const std::filesystem::path& file, const std::string& place,
                                  const std::string& remedy);

/// What the values beside edges mean. Under every option a weight of 0 is no edge, and NaN,
/// infinities and negative numbers are errors. Others are whole numbers from 1 to a declared
/// largest one, which may be written as real numbers, "3.0" for 3; or real numbers, which are
/// brought to the nearest multiple of a unit; or are ignored; or, where nothing was declared, 1.
class WeightRule {
 public:
  /// `most`: the largest weight that was declared, 1 where none was.
  /// `of_relation`: whether the edges are those of a relation, whose weights always have a unit.
  WeightRule(bool ignore, std::uint32_t most, std::optional<WeightUnit> unit, bool of_relation)
      : ignore_(ignore), most_(most), unit_(unit), of_relation_(of_relation) {}

  /// `columns`: what a message puts behind the name of a text to name the columns of the ends.
  void set_ends(std::string columns) { ends_ = std::move(columns); }
  /// `name`: what the column of the values is called. One that is called as a time, a kind or an id
  /// has no weights, and its 0 says nothing of whether there is an edge.
  void set_column(std::string name);
  /// The name of a column that has no weights; else an empty text.
  [[nodiscard]] const std::string& no_weights() const noexcept { return no_weights_; }
  [[nodiscard]] bool reads_weights() const noexcept { return most_ > 1; }
  [[nodiscard]] bool ignores_weights() const noexcept { return ignore_; }
  [[nodiscard]] std::uint32_t most() const noexcept { return most_; }
  /// Whether values beside edges are expected at all.
  [[nodiscard]] bool takes_values() const noexcept { return ignore_ || most_ > 1; }

  /// How weights are declared, for the remedy of a message.
  [[nodiscard]] std::string how_to_declare() const;

  /// The weight of an edge with such a value beside it, counted where it is left out; 0: there is
  /// no edge. Throws InputError; `place()` tells where, and `file` is for the message.
  template <class Place>
  std::uint32_t take(double value, LeftOutWeights& left_out, const std::filesystem::path& file,
                     const Place& place) const {
    if (value == 0) {
      if (!no_weights_.empty()) refuse_zero(file, place());
      ++left_out.zeros;
      return 0;
    }
    if (unit_) {
      const std::uint32_t units = unit_->units(value);
      if (units == 0) refuse_real(file, place(), value);
      return units;
    }
    const bool counts = value >= 1 && value <= most_ && value == static_cast<double>(static_cast<std::uint32_t>(value));
    if (counts && (!ignore_ || value == 1)) return static_cast<std::uint32_t>(value);
    if (!ignore_ || !is_strength(value)) refuse(file, place(), value);
    ++left_out.ignored;
    return 1;
  }

 private:
  /// Whether it could be the weight of an edge in any unit.
  [[nodiscard]] static bool is_strength(double value) noexcept;
  [[noreturn]] void refuse(const std::filesystem::path& file, const std::string& place, double value) const;
  [[noreturn]] void refuse_real(const std::filesystem::path& file, const std::string& place, double value) const;
  [[noreturn]] void refuse_no_strength(const std::filesystem::path& file, const std::string& place, double value) const;
  [[noreturn]] void refuse_zero(const std::filesystem::path& file, const std::string& place) const;

  bool ignore_;
  std::uint32_t most_;
  std::optional<WeightUnit> unit_;
  bool of_relation_;
  std::string ends_ = "[0,1]", no_weights_;
};

}  // namespace unweave
