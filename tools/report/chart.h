// tools/report/chart.h - charts as SVG within an HTML page: lines over batches, points on a scale,
// an attack's trade-off.
//
// Every series has a colour, a marker and a stroke of its own, so that it is told from others
// without colour; the colours are the page's (style.h). Texts are not HTML and are escaped here. A
// chart stands beside a table of the same numbers.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace unweave {

/// At most kMostSeries in a chart.
struct Series {
  std::string label;
  std::vector<std::optional<double>> values;  ///< without a value: not measured; lines go over it
};

inline constexpr std::size_t kMostSeries = 4;

/// What every chart says of itself. `id` is unique in the page.
struct ChartTexts {
  std::string id;
  std::string title;
  std::string description;       ///< what a reader who does not see it learns
  std::string x_label, y_label;  ///< with units
};

/// Values over 1, 2, 3, ...; the y axis begins at 0, or near the least value.
[[nodiscard]] std::string line_chart(const ChartTexts& texts, const std::vector<Series>& series, bool from_zero);

/// A row for each name, on which each series has a point; the x axis goes from 0 to the largest
/// value, or to `most`. The axis on the left has no scale, and y_label is not used.
[[nodiscard]] std::string point_chart(const ChartTexts& texts, const std::vector<std::string>& rows,
                                      const std::vector<Series>& series, std::optional<double> most);

/// What a claim of (epsilon, delta) leaves to any attack, and what attacks have reached: x is the
/// share of retrained models that it takes for unlearned ones, y that of unlearned ones.
struct TradeOff {
  struct Claim {
    double epsilon = 0, delta = 0;
  };
  struct Point {
    std::string label;
    double x = 0, y = 0;
  };
  std::vector<Claim> claims;  ///< at most kMostSeries - 1
  std::vector<Point> points;
};

[[nodiscard]] std::string trade_off_chart(const ChartTexts& texts, const TradeOff& trade_off);

}  // namespace unweave
