// tools/cli/output.cpp - JSON lines, aligned tables and figures for people.
#include "tools/cli/output.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <ostream>
#include <sstream>
#include <utility>

#include "engine/ranks/ranks.h"
#include "storage/io/json_text.h"
#include "storage/io/plain_text.h"
#include "storage/io/readable_bytes.h"
#include "tools/cli/report_json.h"
#include "tools/cli/text_wrap.h"
#include "unweave/fields/stream.h"

namespace unweave {
namespace {

/// printf's "%.*f" or "%.*g" for one number.
std::string printed(const char* format, int digits, double number) {
  std::array<char, 64> text{};
  const int size = std::snprintf(text.data(), text.size(), format, digits, number);
  return {text.data(), std::min(text.size() - 1, static_cast<std::size_t>(std::max(size, 0)))};
}

using TextRows = std::vector<std::vector<std::string>>;

std::vector<std::size_t> widths_of(const TextRows& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  return widths;
}

std::size_t width_of(const std::vector<std::size_t>& columns) {
  return std::accumulate(columns.begin(), columns.end(), std::size_t{0}) +
         2 * (columns.empty() ? 0 : columns.size() - 1);
}

void print_rows(const TextRows& rows, std::ostream& out) {
  const std::vector<std::size_t> widths = widths_of(rows);
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string padding(widths[i] - row[i].size(), ' ');
      if (i > 0) line += "  ";
      line += i == 0 ? row[i] + padding : padding + row[i];
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out << line << '\n';
  }
}

/// Cells of the second column that are wider go on in lines of their own, where they have blanks.
TextRows with_broken_cells(const TextRows& rows, std::size_t width) {
  TextRows broken;
  for (const auto& row : rows) {
    if (row.size() < 2 || row[1].size() <= width) {
      broken.push_back(row);
      continue;
    }
    std::istringstream lines(wrapped(row[1], width));
    std::string label = row[0];
    for (std::string line; std::getline(lines, line); label.clear()) broken.push_back({label, line});
  }
  return broken;
}

}  // namespace

void write_json_line(std::ostream& out, const nlohmann::ordered_json& object) {
  out << text_of_json(object) << '\n' << std::flush;
}

Table::Table(std::vector<std::string> header) {
  if (!header.empty()) add_row(std::move(header));
}

void Table::add_row(std::vector<std::string> cells) {
  for (std::string& cell : cells) cell = printable(cell);
  rows_.push_back(std::move(cells));
}

void Table::print(std::ostream& out) const {
  const std::vector<std::size_t> widths = widths_of(rows_);
  if (width_of(widths) <= kTextWidth) return print_rows(rows_, out);
  if (widths.size() == 2) return print_rows(with_broken_cells(rows_, kTextWidth - widths.front() - 2), out);
  // Too many columns: each becomes a row, beside as many of the former rows as fit.
  for (std::size_t first = 1; first < rows_.size();) {
    TextRows turned(widths.size());
    const auto add = [&](const std::vector<std::string>& row) {
      for (std::size_t i = 0; i < widths.size(); ++i) turned[i].push_back(i < row.size() ? row[i] : std::string());
    };
    add(rows_.front());
    if (first > 1) out << '\n';
    do {
      add(rows_[first++]);
      if (width_of(widths_of(turned)) <= kTextWidth || turned.front().size() == 2) continue;
      for (auto& row : turned) row.pop_back();
      --first;
      break;
    } while (first < rows_.size());
    print_rows(turned, out);
  }
}

std::string count_text(std::uint64_t count) {
  std::string text = std::to_string(count);
  for (std::size_t i = text.size(); i > 3; i -= 3) text.insert(i - 3, 1, ',');
  return text;
}

std::string counted(std::uint64_t count, std::string_view one) {
  return count_text(count).append(" ").append(one).append(count == 1 ? "" : "s");
}

std::string bytes_text(std::uint64_t bytes) {
  return readable_bytes(bytes);
}

std::string seconds_text(double seconds) {
  if (!std::isfinite(seconds)) return "unknown";
  if (seconds < 1) return printed("%.*g", 3, seconds * 1e3) + " ms";
  if (seconds < 60) return printed("%.*f", 1, seconds) + " s";
  const double whole = std::round(seconds);
  if (whole < 3600)
    return printed("%.*f", 0, std::floor(whole / 60)) + " min " + printed("%.*f", 0, std::fmod(whole, 60)) + " s";
  return printed("%.*f", 0, std::floor(whole / 3600)) + " h " +
         printed("%.*f", 0, std::floor(std::fmod(whole, 3600) / 60)) + " min";
}

std::string number_text(double number, int digits) {
  return std::isfinite(number) ? printed("%.*g", digits, number) : "none";
}

void Figures::add(const std::string& name, const std::string& label, nlohmann::ordered_json value,
                  const std::string& text) {
  json[name] = std::move(value);
  table.add_row({label, text});
}

void Figures::count(const std::string& name, const std::string& label, std::uint64_t value) {
  add(name, label, value, count_text(value));
}

void Figures::bytes(const std::string& name, const std::string& label, std::uint64_t value) {
  add(name, label, value, bytes_text(value));
}

void Figures::seconds(const std::string& name, const std::string& label, double value) {
  add(name, label, value, seconds_text(value));
}

void Figures::number(const std::string& name, const std::string& label, double value) {
  add(name, label, value, number_text(value));
}

void Figures::ranks() {
  const Ranks& job = Ranks::world();
  if (job.alone()) return;
  const RankTraffic traffic = traffic_of_all();
  add_fields(json, RankTalk{job.size(), traffic});
  table.add_row({"ranks", count_text(job.size())});
  table.add_row({"bytes between ranks", bytes_text(traffic.received_bytes)});
}

void Figures::print(std::ostream& out, bool as_json) const {
  if (as_json)
    write_json_line(out, json);
  else
    table.print(out);
}

}  // namespace unweave
