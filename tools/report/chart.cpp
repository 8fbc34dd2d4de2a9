// tools/report/chart.cpp - charts as SVG within an HTML page.
#include "tools/report/chart.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <utility>

#include "tools/cli/output.h"
#include "tools/report/html.h"

namespace unweave {
namespace {

constexpr double kWidth = 840, kHeight = 360;  // the drawing, in its own units; as wide as the page, whatever it is
constexpr double kLeft = 104, kRight = 816, kTop = 22;  // the plot, with room for ticks of a phone's size
constexpr double kBottomMargin = 76;                    // below it: ticks and the name of the axis
constexpr std::size_t kMostMarkers = 60;                // in a series: more would hide its line
constexpr double kMarker = 6.5;                         // half of its width

/// A coordinate: tenths are enough, and keep the page small. Far outside of the drawing all places
/// are one.
std::string at(double x) {
  std::array<char, 32> text{};
  const int size = std::snprintf(text.data(), text.size(), "%.1f", std::isnan(x) ? 0 : std::clamp(x, -1e4, 1e4));
  return {text.data(), static_cast<std::size_t>(std::max(size, 0))};
}

/// A scale from values to places, with round values in it.
struct Axis {
  double low = 0, high = 1, begin = 0, end = 1;
  std::vector<double> ticks{};

  [[nodiscard]] double place(double value) const { return begin + (value - low) / (high - low) * (end - begin); }
};

/// The least of 1, 2, 5 times a power of ten that divides the span into at most so many steps.
double round_step(double span, int most_steps) {
  const double least = span / most_steps;
  const double power = std::pow(10, std::floor(std::log10(least)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * power >= least) return factor * power;
  return 10 * power;
}

/// From `low` to `high`, rounded outwards to ticks.
Axis axis_of(double low, double high, double begin, double end, int most_steps) {
  constexpr double kMost = 1e100;  // no line of a command has as much; differences of such values stay finite
  low = std::clamp(low, -kMost, kMost);
  high = std::clamp(high, -kMost, kMost);
  const double size = std::max(std::abs(low), std::abs(high));
  if (high - low <= 1e-9 * size || size < 1 / kMost) high = low + (size < 1 / kMost ? 1 : size / 10);
  const double step = round_step(high - low, most_steps);
  Axis axis{std::floor(low / step + 1e-9) * step, std::ceil(high / step - 1e-9) * step, begin, end};
  const auto steps = static_cast<int>(std::lround((axis.high - axis.low) / step));
  for (int i = 0; i <= steps; ++i) axis.ticks.push_back(axis.low + i * step);
  return axis;
}

std::string tick_text(double value) {
  return number_text(std::abs(value) < 1e-12 ? 0 : value);
}

std::string svg_line(double x1, double y1, double x2, double y2, const std::string& style) {
  return "<line class=\"" + style + "\" x1=\"" + at(x1) + "\" y1=\"" + at(y1) + "\" x2=\"" + at(x2) + "\" y2=\"" +
         at(y2) + "\"/>\n";
}

/// `text`: HTML.
std::string svg_text(double x, double y, const std::string& anchor, const std::string& text) {
  return "<text x=\"" + at(x) + "\" y=\"" + at(y) + "\" text-anchor=\"" + anchor + "\">" + text + "</text>\n";
}

/// A line through "x,y x,y ...".
std::string polyline(std::size_t series, std::string points) {
  if (points.ends_with(' ')) points.pop_back();
  return "<polyline class=\"line s" + std::to_string(series) + "\" points=\"" + points + "\"/>\n";
}

/// Circle, square, triangle or diamond, with what it stands for as `title`, a text.
std::string marker(std::size_t series, double x, double y, const std::string& title) {
  std::string shape;
  const auto polygon = [&](const std::vector<std::pair<double, double>>& corners) {
    shape = "<polygon class=\"mark s" + std::to_string(series) + "\" points=\"";
    for (const auto& [dx, dy] : corners) shape += at(x + dx * kMarker) + "," + at(y + dy * kMarker) + " ";
    shape.back() = '"';
  };
  if (series == 0)
    shape = "<circle class=\"mark s0\" cx=\"" + at(x) + "\" cy=\"" + at(y) + "\" r=\"" + at(kMarker) + "\"";
  else if (series == 1)
    polygon({{-0.9, -0.9}, {0.9, -0.9}, {0.9, 0.9}, {-0.9, 0.9}});
  else if (series == 2)
    polygon({{0, -1.2}, {1.15, 0.9}, {-1.15, 0.9}});
  else
    polygon({{0, -1.3}, {1.3, 0}, {0, 1.3}, {-1.3, 0}});
  const std::string name = title.empty() ? "" : "<title>" + escaped(title) + "</title>";
  return shape + ">" + name + (series == 0 ? "</circle>\n" : "</polygon>\n");
}

/// Grid, ticks and name of the axis at the bottom.
std::string x_axis_svg(const Axis& axis, double left, double top, double bottom, const std::string& label) {
  std::string svg;
  for (const double tick : axis.ticks) {
    const double x = axis.place(tick);
    svg += svg_line(x, top, x, bottom, "grid") + svg_text(x, bottom + 28, "middle", tick_text(tick));
  }
  svg += svg_line(left, bottom, axis.end, bottom, "axis");
  return svg + svg_text((axis.begin + axis.end) / 2, bottom + 64, "middle", escaped(label));
}

std::string y_axis_svg(const Axis& axis, double right) {
  std::string svg;
  for (const double tick : axis.ticks) {
    const double y = axis.place(tick);
    svg += svg_line(kLeft, y, right, y, "grid") + svg_text(kLeft - 8, y + 5, "end", tick_text(tick));
  }
  return svg + svg_line(kLeft, axis.end, kLeft, axis.begin, "axis");
}

/// What a series looks like, beside its name.
struct LegendEntry {
  std::string label;
  bool line = true, mark = true;
};

std::string legend_html(const std::vector<LegendEntry>& entries) {
  std::string html = "<ul class=\"legend\">\n";
  for (std::size_t i = 0; i < entries.size(); ++i) {
    html += "<li><svg aria-hidden=\"true\" width=\"40\" height=\"16\" viewBox=\"0 0 40 16\">";
    if (entries[i].line) html += polyline(i, "0,8 40,8");
    if (entries[i].mark) html += marker(i, 20, 8, "");
    html += "</svg> " + escaped(entries[i].label) + "</li>\n";
  }
  return html + "</ul>\n";
}

/// The figure around a drawing. The name of the axis on the left stands above it, where it needs no
/// turned letters.
std::string figure_html(const ChartTexts& texts, double height, const std::string& drawing, const std::string& legend) {
  const std::string id = escaped(texts.id);
  return "<figure>\n<figcaption>" + escaped(texts.title) + "</figcaption>\n" + legend +
         (texts.y_label.empty() ? "" : "<p class=\"unit\">" + escaped(texts.y_label) + "</p>\n") +
         "<svg class=\"chart\" role=\"img\" aria-labelledby=\"" + id + "-title " + id + "-text\" viewBox=\"0 0 " +
         at(kWidth) + " " + at(height) + "\">\n<title id=\"" + id + "-title\">" + escaped(texts.title) +
         "</title>\n<desc id=\"" + id + "-text\">" + escaped(texts.description) + "</desc>\n" + drawing +
         "</svg>\n</figure>\n";
}

std::vector<LegendEntry> legend_of(const std::vector<Series>& series, bool lines) {
  std::vector<LegendEntry> entries;
  entries.reserve(series.size());
  for (const Series& one : series) entries.push_back({one.label, lines});
  return entries;
}

/// The least and the largest value; 0 and 0 where there is none.
std::pair<double, double> range_of(const std::vector<Series>& series) {
  std::optional<double> low, high;
  for (const Series& one : series)
    for (const std::optional<double>& value : one.values) {
      if (!value) continue;
      low = std::min(low.value_or(*value), *value);
      high = std::max(high.value_or(*value), *value);
    }
  return {low.value_or(0), high.value_or(0)};
}

/// A line through all values that there are, with markers where they are few.
std::string series_svg(const Series& series, std::size_t number, const Axis& xs, const Axis& ys) {
  std::string points, markers;
  std::size_t count = 0;
  for (std::size_t i = 0; i < series.values.size(); ++i) {
    if (!series.values[i]) continue;
    const double x = xs.place(static_cast<double>(i + 1)), y = ys.place(*series.values[i]);
    points += at(x) + "," + at(y) + " ";
    ++count;
    markers += marker(number, x, y, std::to_string(i + 1) + ": " + series.label + " " + number_text(*series.values[i]));
  }
  return polyline(number, points) + (count <= kMostMarkers ? markers : std::string());
}

/// Ticks of whole numbers from 1 to `last`.
Axis whole_axis(std::size_t last) {
  const auto end = static_cast<double>(last);
  Axis axis{1, end, kLeft + 14, kRight - 14};
  if (last < 2) axis.low = 0, axis.high = 2;
  const double step = std::max(1.0, round_step(std::max(1.0, end - 1), 8));
  axis.ticks.push_back(1);
  for (double tick = step; tick <= end; tick += step)
    if (tick >= 1 + step / 2) axis.ticks.push_back(tick);
  return axis;
}

/// What is above the diagonal, and its mirror image in the middle of the plot. With y = e^epsilon x
/// + delta and the same of 1 - x and 1 - y both borders are straight lines with one corner.
std::string claim_svg(const TradeOff::Claim& claim, std::size_t number, const Axis& xs, const Axis& ys) {
  const double delta = std::clamp(claim.delta, 0.0, 1.0);
  const double corner = (1 - delta) / (1 + std::exp(std::max(0.0, claim.epsilon)));
  const std::pair<double, double> border[] = {{0, delta}, {corner, 1 - corner}, {1 - delta, 1}};
  std::string upper, lower;
  for (const auto& [x, y] : border) {
    upper += at(xs.place(x)) + "," + at(ys.place(y)) + " ";
    lower += at(xs.place(y)) + "," + at(ys.place(x)) + " ";
  }
  return polyline(number, upper) + polyline(number, lower);
}

}  // namespace

std::string line_chart(const ChartTexts& texts, const std::vector<Series>& series, bool from_zero) {
  std::size_t last = 1;
  for (const Series& one : series) last = std::max(last, one.values.size());
  const auto [low, high] = range_of(series);
  const double bottom = kHeight - kBottomMargin;
  const Axis xs = whole_axis(last);
  const Axis ys = axis_of(from_zero ? std::min(0.0, low) : low, high, bottom, kTop, 6);
  std::string drawing = y_axis_svg(ys, kRight) + x_axis_svg(xs, kLeft, kTop, bottom, texts.x_label);
  for (std::size_t i = 0; i < series.size(); ++i) drawing += series_svg(series[i], i, xs, ys);
  return figure_html(texts, kHeight, drawing, legend_html(legend_of(series, true)));
}

std::string point_chart(const ChartTexts& texts, const std::vector<std::string>& rows,
                        const std::vector<Series>& series, std::optional<double> most) {
  constexpr double kNameHeight = 30, kStep = 16, kGap = 16, kPointsLeft = 24;
  constexpr std::size_t kNameCharacters = 40;
  // Each series has a track of its own, so that equal values do not hide one another.
  const double row_height = kNameHeight + kStep * static_cast<double>(series.size()) + kGap;
  const double bottom = kTop + row_height * static_cast<double>(rows.size());
  const Axis xs = axis_of(0, most.value_or(range_of(series).second), kPointsLeft, kRight, 8);
  std::string drawing = x_axis_svg(xs, kPointsLeft, kTop, bottom, texts.x_label);
  for (std::size_t row = 0; row < rows.size(); ++row) {
    double y = kTop + row_height * static_cast<double>(row) + kNameHeight;
    drawing += svg_text(kPointsLeft + 8, y - 4, "start", escaped(shortened(rows[row], kNameCharacters)));
    for (std::size_t i = 0; i < series.size(); ++i) {
      y += kStep;
      drawing += svg_line(kPointsLeft, y, kRight, y, "track");
      if (const std::optional<double>& value = series[i].values[row])
        drawing += marker(i, xs.place(*value), y, rows[row] + ": " + series[i].label + " " + number_text(*value));
    }
  }
  ChartTexts without_y = texts;
  without_y.y_label.clear();
  return figure_html(without_y, bottom + kBottomMargin, drawing, legend_html(legend_of(series, false)));
}

std::string trade_off_chart(const ChartTexts& texts, const TradeOff& trade_off) {
  constexpr double kPlotHeight = 440;
  const double bottom = kTop + kPlotHeight;
  const Axis xs = axis_of(0, 1, kLeft, kRight, 5), ys = axis_of(0, 1, bottom, kTop, 5);
  std::string drawing = y_axis_svg(ys, xs.end) + x_axis_svg(xs, kLeft, kTop, bottom, texts.x_label) +
                        svg_line(xs.begin, ys.begin, xs.end, ys.end, "axis");
  std::vector<LegendEntry> legend{{"an attack, with the number of its audit", false, true}};
  for (std::size_t i = 0; i < trade_off.claims.size(); ++i) {
    const TradeOff::Claim& claim = trade_off.claims[i];
    drawing += claim_svg(claim, i + 1, xs, ys);
    legend.push_back(
        {"border of the claim, \xCE\xB5 = " + number_text(claim.epsilon) + ", \xCE\xB4 = " + number_text(claim.delta),
         true, false});
  }
  for (const TradeOff::Point& point : trade_off.points) {
    const bool right = point.x > 0.7;
    drawing += marker(0, xs.place(point.x), ys.place(point.y), point.label) +
               svg_text(xs.place(point.x) + (right ? -10 : 10), ys.place(point.y) - 8, right ? "end" : "start",
                        escaped(point.label));
  }
  return figure_html(texts, bottom + kBottomMargin, drawing, legend_html(legend));
}

}  // namespace unweave
