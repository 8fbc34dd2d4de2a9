// tools/cli/option_values.h - the kinds of value that options take, each read strictly and whole.
//
// Boost's own reading of numbers lets "-1" wrap to 4294967295 and accepts "nan"; these kinds refuse
// both. Use them as po::value<Count>()->default_value({100}). A value that does not fit is an error
// that names option, value and remedy.
#pragma once

#include <boost/any.hpp>
#include <boost/program_options.hpp>
#include <concepts>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "storage/types/feature_layout.h"

namespace unweave {

/// A whole number from 0 to 2^64 - 1.
struct Count {
  static constexpr const char* kWanted = "a whole number, 0 or more";
  std::uint64_t value = 0;
  static std::optional<Count> read(std::string_view text);
};

/// A finite number, as in 0.5, -1 or 1e-4.
struct Real {
  static constexpr const char* kWanted = "a finite number, such as 0.5 or 1e-4";
  double value = 0;
  static std::optional<Real> read(std::string_view text);
};

/// A finite number, or the word "auto".
struct AutoReal {
  static constexpr const char* kWanted = "a finite number, such as 1e-4, or auto";
  bool automatic = false;
  double value = 0;
  static std::optional<AutoReal> read(std::string_view text);
};

/// One or more finite numbers, as in 0,-1,1.
struct RealList {
  static constexpr const char* kWanted = "numbers with commas between them, such as 0,-1,1";
  std::vector<double> values;
  static std::optional<RealList> read(std::string_view text);
};

/// Numbers, or the word "auto".
struct AutoRealList {
  static constexpr const char* kWanted = "auto, or numbers with commas between them, such as 0,-1,1";
  bool automatic = false;
  std::vector<double> values;
  static std::optional<AutoRealList> read(std::string_view text);
};

/// One or more whole numbers above 0, as in 64,32.
struct Widths {
  static constexpr const char* kWanted = "whole numbers above 0 with commas between them, such as 64,32";
  std::vector<std::size_t> values;
  static std::optional<Widths> read(std::string_view text);
};

/// A parameter of a solver and its value, as in epochs=20.
struct Setting {
  static constexpr const char* kWanted = "NAME=VALUE with a finite number, such as epochs=20";
  std::string name;
  double value = 0;
  static std::optional<Setting> read(std::string_view text);
};

/// A positive number of bytes, with an optional binary suffix: 512M, 8G.
struct Bytes {
  static constexpr const char* kWanted = "a size above 0 with K, M, G or T (powers of 1024), such as 8G";
  std::uint64_t value = 0;
  static std::optional<Bytes> read(std::string_view text);
};

/// How values of features are kept.
struct FeatureTypeName {
  static constexpr const char* kWanted = "f32 or f16";
  FeatureType value = FeatureType::f32;
  static std::optional<FeatureTypeName> read(std::string_view text);
};

/// How many classes there are, or their names.
struct Classes {
  static constexpr const char* kWanted =
      "a number of classes, or their names with commas between them, such as cat,dog";
  std::uint64_t count = 0;
  std::vector<std::string> names;  ///< empty where their number was given
  static std::optional<Classes> read(std::string_view text);
};

/// How rows of features are brought to norm at most 1.
struct ScaleName {
  static constexpr const char* kWanted = "rows, none or a number from 1e-100 to 1e100";
  FeatureScale value;
  static std::optional<ScaleName> read(std::string_view text);
};

/// As help texts print defaults: shortest digits that read back the same.
std::ostream& operator<<(std::ostream& out, const Count& count);
std::ostream& operator<<(std::ostream& out, const Real& real);
std::ostream& operator<<(std::ostream& out, const RealList& list);
std::ostream& operator<<(std::ostream& out, const FeatureTypeName& type);
std::ostream& operator<<(std::ostream& out, const ScaleName& scale);

template <class T>
concept OptionValue = requires(std::string_view text) {
  { T::read(text) } -> std::same_as<std::optional<T>>;
  { T::kWanted } -> std::convertible_to<std::string>;
};

/// Boost calls this for each option of kind T.
template <OptionValue T>
void validate(boost::any& out, const std::vector<std::string>& texts, T*, int) {
  namespace po = boost::program_options;
  const std::string& text = po::validators::get_single_string(texts);
  const std::optional<T> value = T::read(text);
  if (!value) {
    po::error_with_option_name error("option '%canonical_option%' needs " + std::string(T::kWanted) +
                                     ", not '%value%'");
    error.set_substitute("value", text);
    throw error;
  }
  out = *value;
}

}  // namespace unweave
