// storage/input/text_edges.cpp - edges as text, two ids a line.
#include <bit>
#include <cstring>
#include <string>

#include "storage/input/edge_formats.h"
#include "storage/input/edge_weight.h"
#include "storage/input/line_reader.h"
#include "storage/input/metis_check.h"
#include "storage/input/node_id.h"
#include "storage/io/error.h"

namespace unweave {

namespace {

constexpr std::size_t kMostPlainBytes = std::size_t{3} * (10 + 1);  // bytes of a line, with all separators
constexpr const char* kThirdColumn = "write a third number behind each edge, its weight";
constexpr const char* kAttributesOrColumn =
    "write {'weight': W} behind each edge, or a third column by networkx.write_weighted_edgelist(G, path)";
static_assert(std::endian::native == std::endian::little, "parse_digits() takes the first digit from the lowest byte");

/// Reads the decimal number of 1 to 10 digits at `at` and moves on; false where there is none. Bytes up to
/// `at` + 18 are read. Eight digits are added up at once: D. Lemire, Number Parsing at a Gigabyte per Second, 2021.
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
  TextEdges(ByteSource source, const EdgeOptions& options)
      : lines_(std::move(source)),
        limit_(id_limit(options.num_nodes)),
        ignore_weights_(options.ignore_weights),
        max_weight_(options.max_weight) {}

  [[nodiscard]] std::uint64_t ignored_weights() const override { return ignored_weights_; }

 private:
  std::size_t read_some(std::span<Edge> out, std::span<std::uint32_t> weights) override {
    std::size_t count = 0;
    std::string_view line;
    while (true) {
      const std::size_t plain = columns_ == 3 && weights.empty()
                                    ? 0
                                    : read_plain(out.subspan(count), weights.subspan(weights.empty() ? 0 : count));
      if (plain > 0) columns_ = weights.empty() ? 2 : 3;
      if (metis_.possible()) check_metis(out.subspan(count, plain), lines_.number() - plain + 1);
      count += plain;
      if (count == out.size()) return count;
      if (!lines_.next(line)) {
        if (metis_.proven(lines_.number()))
          throw InputError(lines_.name(), "whole file",
                           "METIS adjacency (numbers of nodes and edges, then the neighbours of each node), no edges",
                           "give it a name that ends in .metis, and it is read as what it is");
        if (headed_ && columns_ == 0)
          throw InputError(lines_.name(), "whole file", "words in the first line with any, and no edge after it",
                           "write two ids a line; names of nodes need a file that lists them, " + option("ids"));
        return count;
      }
      Fields fields(line);
      if (fields.first() == '#') metis_.rule_out();
      if (fields.at_end() || fields.first() == '#') continue;
      if (columns_ == 0 && lines_.skips_header(line)) {
        headed_ = true;
        if (ignore_weights_ || max_weight_ > 1) require_ends_first(line, lines_);
        continue;
      }
      std::uint32_t weight = 1;
      out[count] = parse(line, fields, weight);
      if (!weights.empty()) weights[count] = weight;
      check_metis(out.subspan(count, 1), lines_.number());
      ++count;
    }
  }

  [[nodiscard]] TextPlace text_place() const override { return {lines_.offset(), lines_.number()}; }
  [[nodiscard]] bool has_weights() const override { return max_weight_ > 1; }

  /// The first lines tell header and columns, and mostly that this is no METIS; the others are not looked at again.
  void go_to(const EdgePlace& place) override {
    constexpr std::uint64_t kFirstEdges = 64;
    const std::uint64_t first = std::min(place.edges, kFirstEdges);
    drop(first);
    if (metis_.possible() || lines_.offset() > place.bytes) {
      drop(place.edges - first);
      return;
    }
    lines_.go_to(place.bytes, place.lines);
    ignored_weights_ = place.ignored_weights;
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
      if (max_weight_ > 1) {
        const auto weight = attribute_weight(attributes);
        if (!weight) throw_no_weight(lines_.name(), lines_.place(), kAttributesOrColumn);
        weight_out = checked(*weight);
        return {static_cast<NodeId>(u), static_cast<NodeId>(v)};
      }
      if (columns_ == 3 || attributes.empty() || (attributes != "{}" && !ignore_weights_)) explain(line);
      if (attributes != "{}") ++ignored_weights_;
      columns_ = 2;
      return {static_cast<NodeId>(u), static_cast<NodeId>(v)};
    }
    if (columns_ == 0) columns_ = max_weight_ > 1 || (ignore_weights_ && !fields.at_end()) ? 3 : 2;
    double weight = 0;
    if (columns_ == 3) {
      if (fields.at_end() && max_weight_ > 1) throw_no_weight(lines_.name(), lines_.place(), kThirdColumn);
      if (fields.number(weight) != std::errc()) explain(line);
      if (max_weight_ > 1)
        weight_out = checked(weight);
      else
        ++ignored_weights_;
    }
    if (!fields.at_end() || fields.after_comma()) explain(line);
    return {static_cast<NodeId>(u), static_cast<NodeId>(v)};
  }

  [[nodiscard]] std::uint32_t checked(double weight) const {
    if (!is_weight(weight, max_weight_)) throw_bad_weight(lines_.name(), lines_.place(), weight, max_weight_);
    return static_cast<std::uint32_t>(weight);
  }

  /// Reads lines that are nothing but two good ids with one separator, and a good weight where edges have some, up to the first
  /// that is not, or that lies near the end of the bytes at hand.
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
        if (!parse_digits(++at, weight) || weight == 0 || weight > max_weight_) break;
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
    const std::size_t expected = columns_ == 3 ? 3 : 2;
    if (line.find('{') != std::string_view::npos) {
      throw InputError(lines_.name(), lines_.place(), "attributes of an edge in " + quote_for_message(line),
                       "write them without, by networkx.write_edgelist(G, path, data=False), or take the edges without "
                       "them by " +
                           option("ignore-weights"));
    }
    if (columns == 3 && expected == 2 && has_weight(line)) {
      throw InputError(lines_.name(), lines_.place(), "a third number, as of a weight, in " + quote_for_message(line),
                       "declare the largest weight by " + option("max-weight", "W") +
                           ", or take the edges without them by " + option("ignore-weights"));
    }
    if (columns != expected) {
      throw InputError(lines_.name(), lines_.place(),
                       "wrong column count: " + std::to_string(columns) + " instead of " + std::to_string(expected) +
                           " in " + quote_for_message(line),
                       std::string("give two node ids a line") + (max_weight_ > 1 ? " and a weight" : "") +
                           ", separated by a tab, a comma or blanks");
    }
    Fields fields(line);
    (void)parse_id(fields, lines_, limit_);
    (void)parse_id(fields, lines_, limit_);
    throw InputError(lines_.name(), lines_.place(), quote_for_message(line) + " is not an edge",
                     "give two node ids a line");
  }

  /// Attributes at the end of a line, "{..}", without blanks after them; empty where they do not end so.
  static std::string_view rest_of(std::string_view line) {
    std::string_view rest = line.substr(line.find('{'));
    rest = rest.substr(0, rest.find_last_not_of(" \t") + 1);
    return rest.ends_with('}') ? rest : std::string_view();
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
  bool ignore_weights_;
  std::uint32_t max_weight_;
  int columns_ = 0;      // columns of each edge: 2, or 3 with a weight; 0 before the first
  bool headed_ = false;  // a header was skipped, which may have been an edge between names
  std::uint64_t ignored_weights_ = 0;
  MetisCheck metis_;
};

}  // namespace

std::unique_ptr<EdgeReader> open_text_edges(ByteSource source, const EdgeOptions& options) {
  return std::make_unique<TextEdges>(std::move(source), options);
}

}  // namespace unweave
