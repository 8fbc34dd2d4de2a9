// tools/cli/output.h - results as JSON lines for programs and as small aligned tables for people.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace unweave {

/// One object on one line, flushed: a reader that sees the line knows that what it reports has
/// happened. Numbers that are not finite become null, never NaN; bytes that are not UTF-8 become
/// U+FFFD (text_of_json()).
void write_json_line(std::ostream& out, const nlohmann::ordered_json& object);
/// Rows of text in aligned columns: the first column to the left, the others to the right. What is
/// wider than a terminal is broken: of two columns the second one's cells, of more the table is
/// turned, its first row to the left. Cells are printed as printable() has them.
class Table {
 public:
  explicit Table(std::vector<std::string> header = {});
  void add_row(std::vector<std::string> cells);
  void print(std::ostream& out) const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

/// For people: "1,234,567"; "1.5 GiB"; "12 ms", "3.4 s", "2 min 5 s"; `digits` significant digits.
[[nodiscard]] std::string count_text(std::uint64_t count);
[[nodiscard]] std::string bytes_text(std::uint64_t bytes);
[[nodiscard]] std::string seconds_text(double seconds);
[[nodiscard]] std::string number_text(double number, int digits = 4);

/// "1 request", "1,234 requests": `one` is the word for one of them, which takes an s for more.
[[nodiscard]] std::string counted(std::uint64_t count, std::string_view one);

/// What a command reports, each figure named once: `name` in an object for programs, `label` in a
/// table for people.
struct Figures {
  // A null object that finds no memory for its first member cannot be destroyed (nlohmann-json
  // 3.11); an empty one can.
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  Table table;

  void add(const std::string& name, const std::string& label, nlohmann::ordered_json value, const std::string& text);
  void count(const std::string& name, const std::string& label, std::uint64_t value);
  void bytes(const std::string& name, const std::string& label, std::uint64_t value);
  void seconds(const std::string& name, const std::string& label, double value);
  void number(const std::string& name, const std::string& label, double value);
  /// In a job of several ranks: how many they are, and what they have said to each other. Every
  /// rank calls it.
  void ranks();
  /// The object on one line, or else the table.
  void print(std::ostream& out, bool as_json) const;
};

}  // namespace unweave
