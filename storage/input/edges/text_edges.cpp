// storage/input/edges/text_edges.cpp - edges as text, two ids a line.
#include <bit>
#include <cstring>
#include <optional>
#include <string>

#include "storage/input/edges/edge_formats.h"
#include "storage/input/edges/edge_weight.h"
#include "storage/input/edges/metis_check.h"
#include "storage/input/foreign_format.h"
#include "storage/input/tables/column_choice.h"
#include "storage/input/tables/edge_columns.h"
#include "storage/input/tables/two_kinds.h"
#include "storage/input/words/line_reader.h"
#include "storage/input/words/node_id.h"
#include "storage/io/error.h"

namespace unweave {

namespace {

constexpr std::size_t kMostPlainBytes = std::size_t{3} * (10 + 1);  // bytes of a line, with all separators
constexpr const char* kThirdColumn = "write a third number behind each edge, its weight";
constexpr const char* kAttributesOrColumn =
    "write {'weight': W} behind each edge, or a third column by networkx.write_weighted_edgelist(G, path)";
static_assert(std::endian::native == std::endian::little, "parse_digits() takes the first digit from the lowest byte");

/// Reads the decimal number of 1 to 10 digits at `at` and moves on; false where there is none.
/// Bytes up to `at` + 18 are read. Eight digits are added up at once: D. Lemire, Number Parsing at
/// a Gigabyte per Second, 2021.
bool parse_digits(const char*& at, std::uint64_t& value) {
  constexpr std::uint64_t kEveryByte = 0x0101'0101'0101'0101;
  std::uint64_t bytes = 0;
  std::memcpy(&bytes, at, sizeof bytes);
  std::uint64_t digits = bytes ^ '0' * kEveryByte;
  // The high bit of each byte that is above 9; carries only reach bytes after such a one.
  const std::uint64_t others = ((digits + (0x80 - 10) * kEveryByte) | digits) & 0x80 * kEveryByte;
  const int bits = others == 0 ? 64 : std::countr_zero(others) / 8 * 8;
  if (bits == 0) return false;
  digits <<= 64 - bits;
  digits = digits * 10 + (digits >> 8);
  constexpr std::uint64_t kPairs = 0x0000'00FF'0000'00FF;
  value = ((digits & kPairs) * (100 + (1'000'000ULL << 32)) + (digits >> 16 & kPairs) * (1 + (10'000ULL << 32))) >> 32;
  at += bits / 8;
  if (bits < 64) return true;
  for (int more = 0; more < 2 && *at >= '0' && *at <= '9'; ++more)
    value = 10 * value + static_cast<unsigned>(*at++ - '0');
  return true;
}

class TextEdges final : public EdgeReader {
 public:
  /// `columns`: those that were chosen, by name or place; empty: none were.
  TextEdges(ByteSource source, const EdgeOptions& options, const std::string& columns)
      : lines_(std::move(source)),
        limit_(id_limit(options.num_nodes)),
        rule_(options.weight_rule()),
        are_real_(options.weight_unit.has_value()),
        chosen_(columns) {
    rule_.set_ends(columns_of_ends({}, chosen_, lines_));
    if (TwoKinds::named_by(columns)) kinds_.emplace(columns);
  }

  [[nodiscard]] LeftOutWeights left_out() const override { return left_out_; }

 private:
  std::size_t read_some(std::span<Edge> out, std::span<std::uint32_t> weights) override {
    const std::size_t count = read_lines(out, weights);
    if (!kinds_) return count;
    kinds_->see(out.first(count));
    if (count == 0) kinds_->require_apart(lines_.name());
    return count;
  }

  std::size_t read_lines(std::span<Edge> out, std::span<std::uint32_t> weights) {
    std::size_t count = 0;
    std::string_view line;
    while (true) {
      const std::size_t plain = columns_ == 0 || are_real_ || (columns_ == 3 && weights.empty())
                                    ? 0
                                    : read_plain(out.subspan(count), weights.subspan(weights.empty() ? 0 : count));
      if (metis_.possible()) check_metis(out.subspan(count, plain), lines_.number() - plain + 1);
      count += plain;
      if (count == out.size()) return count;
      if (!lines_.next(line)) {
        if (metis_.proven(lines_.number()))
          throw InputError(lines_.name(), "whole file",
                           "METIS adjacency (numbers of nodes and edges, then the neighbours of each node), no edges",
                           "give it a name that ends in .metis, and it is read as what it is");
        if (!header_.empty() && columns_ == 0)
          throw InputError(lines_.name(), "whole file", "words in the first line with any, and no edge after it",
                           "write two ids a line; names of nodes need a file that lists them, " + option("ids"));
        return count;
      }
      Fields fields(line);
      // KONECT and others begin their remarks with %.
      const bool is_remark = fields.first() == '#' || fields.first() == '%';
      if (is_remark) metis_.rule_out();
      if (fields.at_end() || is_remark) continue;
      if (columns_ == 0 && lines_.skips_header(line)) {
        header_ = line;
        see_counts(line);
        if (TwoKinds::named_by(line)) kinds_.emplace(line);
        if (chosen_.empty())
          require_ends_first(line, lines_, rule_);
        else
          require_no_weight_first(chosen_, lines_, rule_.takes_values());
        continue;
      }
      std::uint32_t weight = 1;
      const bool is_first = columns_ == 0;
      const std::string first(is_first ? line : std::string_view());
      if (is_first && ColumnChoice(chosen_).by_name()) require_no_weight_first(chosen_, lines_, rule_.takes_values());
      if (is_first && chosen_.empty()) {
        if (!header_.empty()) require_no_row_names(header_, first, lines_);
        if (!header_.empty()) require_named_ends(header_, first, lines_, rule_);
        require_no_line_numbers(first, lines_);
        fields = Fields(line = first);
      }
      if (is_first) see_columns();
      out[count] = parse(line, fields, weight);
      check_metis(out.subspan(count, 1), lines_.number());
      if (is_first && lines_.header() == Header::ask) require_no_counts(first, out[count]);
      if (weight == 0) continue;
      if (!weights.empty()) weights[count] = weight;
      ++count;
    }
  }

  /// What the header calls the columns, for messages about their values.
  void see_columns() {
    rule_.set_ends(columns_of_ends(header_, chosen_, lines_));
    rule_.set_column(third_column(header_, chosen_, lines_));
  }

  void check_metis(std::span<const Edge> edges, std::uint64_t first_line) noexcept {
    for (const Edge& edge : edges) metis_.see(edge.u, edge.v, first_line++);
  }

  /// Two ids, and a weight where edges have some, or the first one has one that is to be ignored.
  Edge parse(std::string_view line, Fields fields, std::uint32_t& weight_out) {
    std::uint64_t u = 0;
    std::uint64_t v = 0;
    if (fields.number(u) != std::errc() || fields.number(v) != std::errc() || u >= limit_ || v >= limit_) explain(line);
    if (fields.first() == '{') {  // attributes, as networkx.write_edgelist() puts them behind
      const std::string_view attributes = rest_of(line);
      const auto weight = attribute_weight(attributes);
      if (rule_.reads_weights() && !weight) throw_no_weight(lines_.name(), lines_.place(), kAttributesOrColumn);
      if (!rule_.reads_weights() &&
          (columns_ == 3 || attributes.empty() || (attributes != "{}" && !rule_.ignores_weights())))
        explain(line);
      if (weight)
        weight_out = taken(*weight);
      else if (attributes != "{}")
        ++left_out_.ignored;
      columns_ = rule_.reads_weights() ? 3 : 2;
      return {static_cast<NodeId>(u), static_cast<NodeId>(v)};
    }
    if (columns_ == 0) columns_ = rule_.reads_weights() || (rule_.ignores_weights() && !fields.at_end()) ? 3 : 2;
    double weight = 0;
    if (columns_ == 3) {
      if (fields.at_end() && rule_.reads_weights()) throw_no_weight(lines_.name(), lines_.place(), kThirdColumn);
      if (fields.number(weight) != std::errc() || (fields.mixed() && may_have_commas_in_numbers(line))) explain(line);
      weight_out = taken(weight);
    }
    if (!fields.at_end() || fields.after_comma()) explain(line);
    return {static_cast<NodeId>(u), static_cast<NodeId>(v)};
  }

  [[nodiscard]] std::uint32_t taken(double weight) {
    return rule_.take(weight, left_out_, lines_.name(), [this] { return lines_.place(); });
  }

  /// Where numbers of nodes and edges are said to be a header, what follows may still be METIS.
  void see_counts(std::string_view line) noexcept {
    Fields fields(line);
    std::uint64_t nodes = 0, edges = 0;
    if (fields.number(nodes) == std::errc() && fields.number(edges) == std::errc() && std::max(nodes, edges) < limit_)
      metis_.see(static_cast<NodeId>(nodes), static_cast<NodeId>(edges), lines_.number());
  }

  /// A first line of two numbers above all ids behind it is an edge between two nodes that no other
  /// edge has, or the numbers of nodes and edges, with which some programs begin a list.
  void require_no_counts(const std::string& line, Edge first) {
    std::uint64_t largest = 0, others = 0;
    const bool is_all = lines_.show_ahead([&](std::string_view next) {
      Fields fields(next);
      if (fields.at_end() || fields.first() == '#' || fields.first() == '%') return true;
      std::uint64_t u = 0, v = 0;
      if (fields.number(u) != std::errc() || fields.number(v) != std::errc()) return false;
      largest = std::max({largest, u, v});
      ++others;
      return true;
    });
    if (others < 2) return;
    const bool counts_edges =
        is_all && (first.v == others || first.v == 2 * others || 2 * std::uint64_t{first.v} == others);
    if (first.u < largest || (counts_edges ? false : first.u == largest || first.v <= largest)) return;
    throw InputError(lines_.name(), lines_.place(),
                     quote_for_message(line) +
                         " may be an edge, or the numbers of nodes and edges: no id behind it is larger than the first",
                     lines_.header_remedy("an edge", "no edge"));
  }

  /// Reads lines that are nothing but two good ids with one separator, and a good weight where
  /// edges have some, up to the first that is not, or that lies near the end of the bytes at hand.
  std::size_t read_plain(std::span<Edge> out, std::span<std::uint32_t> weights) {
    const std::string_view window = lines_.window();
    const char* const begin = window.data();
    const char* const end = begin + window.size();
    const char* line = begin;
    std::size_t count = 0;
    while (count < out.size() && static_cast<std::size_t>(end - line) > 2 * kMostPlainBytes) {
      const char* at = line;
      std::uint64_t u = 0;
      std::uint64_t v = 0;
      if (!parse_digits(at, u) || (*at != '\t' && *at != ' ' && *at != ',')) break;
      if (!parse_digits(++at, v)) break;
      if (!weights.empty()) {
        std::uint64_t weight = 0;
        if (*at != '\t' && *at != ' ' && *at != ',') break;
        if (!parse_digits(++at, weight) || weight == 0 || weight > rule_.most()) break;
        weights[count] = static_cast<std::uint32_t>(weight);
      }
      if (*at != '\n' || u >= limit_ || v >= limit_) break;
      out[count++] = {static_cast<NodeId>(u), static_cast<NodeId>(v)};
      line = at + 1;
    }
    lines_.skip(static_cast<std::size_t>(line - begin), count);
    return count;
  }

  /// Finds out what is wrong with a line that did not parse. Slow and apart from the loop above.
  [[noreturn]] void explain(std::string_view line) const {
    const std::size_t columns = Fields(line).count();
    const std::size_t expected = columns_ == 3 || (columns_ == 0 && rule_.reads_weights()) ? 3 : 2;
    std::uint64_t first = 0;
    if (Fields ids(line); ids.number(first) == std::errc::invalid_argument) (void)parse_id(ids, lines_, limit_);
    if (line.find('{') != std::string_view::npos) {
      throw InputError(lines_.name(), lines_.place(), "attributes of an edge in " + quote_for_message(line),
                       rule_.takes_values()
                           ? "write them on one line, or without, by networkx.write_edgelist(G, path, data=False)"
                           : "write them without, by networkx.write_edgelist(G, path, data=False); where each line has "
                             "an edge and its attributes, " +
                                 option("ignore-weights") + " takes the edges alone");
    }
    if (may_have_commas_in_numbers(line))
      throw InputError(
          lines_.name(), lines_.place(),
          "commas and blanks both part " + quote_for_message(line) + ", so that a comma may be that of a number",
          "write numbers without commas, and one kind of separator");
    if (columns == 3 && expected == 2 && has_weight(line) && !rule_.no_weights().empty())
      throw InputError(
          lines_.name(), lines_.place(),
          "a third number, in the column " + quote_for_message(rule_.no_weights()) + ", in " + quote_for_message(line),
          "name the columns of the ends, as in " + lines_.name().string() + columns_of_ends(header_, chosen_, lines_));
    if (columns == 3 && expected == 2 && has_weight(line)) {
      throw InputError(
          lines_.name(), lines_.place(), "a third number, as of a weight, in " + quote_for_message(line),
          rule_.how_to_declare() + ", take the edges without them by " + option("ignore-weights") +
              ", or name the columns of the ends, as in " + lines_.name().string() +
              columns_of_ends(header_, chosen_, lines_) +
              (chosen_.empty()
                   ? "; where lines list the neighbours of a node, convert it with Python: import networkx; "
                     "networkx.write_edgelist(networkx.read_adjlist(" +
                         python_path(lines_.name()) + "), 'edges.txt', data=False)  # then " +
                         option("edges", "edges.txt")
                   : ""));
    }
    if (columns > 3 && is_of_bits(line))
      throw InputError(lines_.name(), lines_.place(),
                       quote_for_message(line) + " seems to be a row of an adjacency matrix",
                       "write its edges by numpy.savetxt('edges.txt', numpy.argwhere(numpy.loadtxt(FILE)), '%d')");
    if (columns != expected) {
      throw InputError(
          lines_.name(), lines_.place(),
          "wrong column count: " + std::to_string(columns) + " instead of " + std::to_string(expected) + " in " +
              quote_for_message(line),
          std::string("give two node ids a line") + (rule_.reads_weights() ? " and a weight" : "") +
              ", separated by a tab, a comma or blanks, or name their columns, as in " + lines_.name().string() +
              (rule_.reads_weights() && chosen_.empty() ? "[0,1,2]" : columns_of_ends(header_, chosen_, lines_)));
    }
    Fields fields(line);
    (void)parse_id(fields, lines_, limit_);
    (void)parse_id(fields, lines_, limit_);
    throw InputError(lines_.name(), lines_.place(), quote_for_message(line) + " is not an edge",
                     "give two node ids a line");
  }

  /// Attributes at the end of a line, "{..}", without blanks after them; empty where they do not
  /// end so.
  static std::string_view rest_of(std::string_view line) {
    std::string_view rest = line.substr(line.find('{'));
    rest = rest.substr(0, rest.find_last_not_of(" \t") + 1);
    return rest.ends_with('}') ? rest : std::string_view();
  }

  /// "1,000 2": commas and blanks both part the words, and a comma stands between two digits.
  static bool may_have_commas_in_numbers(std::string_view line) {
    Fields words(line);
    while (!words.at_end()) words.take();
    const auto is_digit = [&](std::size_t at) { return at < line.size() && line[at] >= '0' && line[at] <= '9'; };
    bool within = false;
    for (std::size_t at = line.find(','); at != std::string_view::npos; at = line.find(',', at + 1))
      within |= at > 0 && is_digit(at - 1) && is_digit(at + 1);
    return words.mixed() && within;
  }

  static bool is_of_bits(std::string_view line) {
    for (Fields fields(line); !fields.at_end();)
      if (const std::string_view word = fields.take(); word != "0" && word != "1") return false;
    return true;
  }

  static bool has_weight(std::string_view line) {
    Fields fields(line);
    std::uint64_t id = 0;
    double weight = 0;
    return fields.number(id) == std::errc() && fields.number(id) == std::errc() &&
           fields.number(weight) == std::errc() && fields.at_end();
  }

  LineReader lines_;
  std::uint64_t limit_;
  WeightRule rule_;
  bool are_real_;       ///< weights, so that whole numbers are not as they stand
  std::string chosen_;  // columns that were named
  int columns_ = 0;     // columns of each edge: 2, or 3 with a weight; 0 before the first
  std::string header_;  // one that was skipped, which may have been an edge between names
  LeftOutWeights left_out_;
  MetisCheck metis_;
  std::optional<TwoKinds> kinds_;  // where the header names two
};

}  // namespace

std::unique_ptr<EdgeReader> open_text_edges(ByteSource source, const EdgeOptions& options, const std::string& columns) {
  return std::make_unique<TextEdges>(std::move(source), options, columns);
}

}  // namespace unweave
