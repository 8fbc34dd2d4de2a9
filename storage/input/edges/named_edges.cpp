// storage/input/edges/named_edges.cpp - parses edges between names, and words the errors for what
// is none.
#include "storage/input/edges/named_edges.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <utility>

#include "storage/input/edges/edge_formats.h"
#include "storage/input/tables/column_choice.h"
#include "storage/input/tables/edge_columns.h"
#include "storage/input/tables/end_names.h"
#include "storage/input/words/quoted_word.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

enum class Sign : unsigned char { other, separator, end };

constexpr std::array<Sign, 256> kSigns = [] {
  std::array<Sign, 256> signs{};
  for (const char c : {' ', '\t', ','}) signs[static_cast<unsigned char>(c)] = Sign::separator;
  for (const char c : {'\n', '\r'}) signs[static_cast<unsigned char>(c)] = Sign::end;
  return signs;
}();

Sign sign_of(char c) noexcept {
  return kSigns[static_cast<unsigned char>(c)];
}

}  // namespace

NodeId NamedEdges::node_of(std::string_view word) const {
  NodeId node = kNoNode;
  const std::string text = is_quoted(word) ? unquoted(word) : std::string(word);
  const std::string_view name = text;
  find_({&name, 1}, &node);
  return node;
}

/// Whether the first line with fields names the columns. A line of two names that nodes have is an
/// edge, unless they are such as columns have; one of two words that are no names of nodes is none.
bool NamedEdges::is_header(std::string_view line) {
  if (lines_.header() != Header::ask) return lines_.skips_header(line);
  Fields fields(line);
  const std::string_view first = fields.take(), second = fields.take();
  if (positions_ > 0 && is_whole_number(first) && is_whole_number(second)) return lines_.skips_header(line);
  const bool is_edge = node_of(first) != kNoNode, is_other = node_of(second) != kNoNode;
  if (!(is_edge && is_other)) require_no_name_with_blanks(line);
  if (!is_edge && !is_other) return lines_.skips_named_header(line);
  const bool as_columns = (is_end_name(first) && is_end_name(second)) || (first == "0" && second == "1");
  if (is_edge && is_other && !as_columns) return false;
  if (is_edge != is_other && !is_end_name(is_edge ? second : first)) return false;  // a name that nobody has
  throw InputError(file_, lines_.place(), quote_for_message(line) + " may be an edge, or the names of the columns",
                   lines_.header_remedy("an edge", "names of columns"));
}

/// Names with blanks, which part the words of a line unless they stand in quotes, are not to be
/// taken for a header.
void NamedEdges::require_no_name_with_blanks(std::string_view line) const {
  for (const char separator : {'\t', ','}) {
    if (line.find(separator) == std::string_view::npos) continue;
    for (std::size_t begin = 0; begin <= line.size();) {
      const std::size_t end = std::min(line.find(separator, begin), line.size());
      std::string_view cell = line.substr(begin, end - begin);
      while (cell.starts_with(' ')) cell.remove_prefix(1);
      while (cell.ends_with(' ')) cell.remove_suffix(1);
      begin = end + 1;
      if (cell.find(' ') != std::string_view::npos && node_of(cell) != kNoNode)
        throw InputError(
            file_, lines_.place(),
            quote_for_message(cell) + " is the name of a node, and blanks part the words of " + quote_for_message(line),
            "put names with blanks in quotes, or name the columns of the ends, as in " + file_.string() + "[0,1]");
    }
  }
}

/// The first line with fields, unless it names the columns.
bool NamedEdges::next_alone(NamedEdgeChunk& chunk) {
  std::string_view line;
  while (lines_.next(line)) {
    Fields fields(line);
    if (fields.at_end() || fields.first() == '#') continue;
    if (!std::exchange(headed_, true)) {
      if (is_header(line)) {
        header_ = line;
        if (chosen_.empty())
          require_ends_first(line, lines_, rule_);
        else
          require_no_weight_first(chosen_, lines_, rule_.takes_values());
        continue;
      }
    }
    chunk.text.assign(line);
    if (ColumnChoice(chosen_).by_name()) require_no_weight_first(chosen_, lines_, rule_.takes_values());
    if (chosen_.empty()) {
      if (!header_.empty()) require_no_row_names(header_, chunk.text, lines_);
      if (!header_.empty()) require_named_ends(header_, chunk.text, lines_, rule_);
      require_no_line_numbers(chunk.text, lines_);
    }
    rule_.set_ends(columns_of_ends(header_, chosen_, lines_));
    rule_.set_column(third_column(header_, chosen_, lines_));
    chunk.first_line = lines_.number();
    chunk.text.push_back('\n');
    return true;
  }
  return false;
}

bool NamedEdges::next(NamedEdgeChunk& chunk) {
  chunk.text.clear();
  if (!headed_) return next_alone(chunk);
  chunk.first_line = lines_.number() + 1;
  const std::string_view window = lines_.window();
  if (window.empty()) return false;
  const auto* const last = static_cast<const char*>(::memrchr(window.data(), '\n', window.size()));
  if (last != nullptr) {
    const std::string_view whole = window.substr(0, static_cast<std::size_t>(last - window.data()) + 1);
    chunk.text = whole;
    lines_.skip(whole.size(), static_cast<std::uint64_t>(std::count(whole.begin(), whole.end(), '\n')));
    return true;
  }
  std::string_view line;
  if (!lines_.next(line)) return false;
  chunk.text.assign(line).push_back('\n');
  return true;
}

void NamedEdges::resolve(NamedEdgeChunk& chunk) const {
  chunk.edges.clear();
  chunk.names.clear();
  chunk.lines.clear();
  chunk.weights.clear();
  chunk.left_out = {};
  chunk.unquoted.clear();
  chunk.numbers.clear();
  std::size_t source = 0;  // place of the last first name, which lists of neighbours repeat
  std::string_view source_word;
  const auto add_name = [&](std::string_view word) {
    if (positions_ > 0 && is_whole_number(word)) {
      std::uint64_t number = 0;
      const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
      const bool is_node = error == std::errc() && number < positions_;
      chunk.numbers.emplace_back(chunk.names.size(), is_node ? static_cast<NodeId>(number) : kNoNode);
    }
    chunk.names.push_back(word.starts_with('"') && is_quoted(word) ? chunk.unquoted.emplace_back(unquoted(word))
                                                                   : word);
  };
  const auto add = [&](std::string_view u, std::string_view v, std::uint64_t line) {
    if (chunk.names.empty() || source_word != u) {
      source = chunk.names.size();
      source_word = u;
      add_name(u);
    }
    chunk.edges.push_back({static_cast<NodeId>(source), static_cast<NodeId>(chunk.names.size())});
    add_name(v);
    chunk.lines.push_back(static_cast<std::uint32_t>(line));
  };
  const char* at = chunk.text.data();
  const char* const end = at + chunk.text.size();
  std::uint32_t number = 0;
  for (; at != end; ++number) {
    // Most lines are two names with one separator.
    const char* const line = at;
    while (sign_of(*at) == Sign::other) ++at;
    const char* const first = at;
    if (sign_of(*at) == Sign::separator && *line != '"' && at[1] != '"') {
      const char* const second = ++at;
      while (sign_of(*at) == Sign::other) ++at;
      if (*at == '\n' && at > second && first > line && *line != '#' && !rule_.reads_weights()) {
        add({line, static_cast<std::size_t>(first - line)}, {second, static_cast<std::size_t>(at - second)}, number);
        ++at;
        continue;
      }
    }
    at = static_cast<const char*>(std::memchr(at, '\n', static_cast<std::size_t>(end - at)));
    std::string_view text(line, static_cast<std::size_t>(at++ - line));
    if (text.ends_with('\r')) text.remove_suffix(1);
    if (const auto names = parse(chunk, text, number)) add((*names)[0], (*names)[1], number);
  }
  chunk.nodes.resize(chunk.names.size());
  find_(chunk.names, chunk.nodes.data());
  for (const auto& [place, node] : chunk.numbers) chunk.nodes[place] = node;
  for (std::size_t i = 0; i < chunk.edges.size(); ++i) {
    Edge& edge = chunk.edges[i];
    const Edge places = edge;
    edge = {chunk.nodes[places.u], chunk.nodes[places.v]};
    if (edge.u == kNoNode || edge.v == kNoNode)
      refuse_unknown(chunk, chunk.lines[i], chunk.names[edge.u == kNoNode ? places.u : places.v]);
  }
}

/// A line of another form than that of most.
std::optional<std::array<std::string_view, 2>> NamedEdges::parse(NamedEdgeChunk& chunk, std::string_view line,
                                                                 std::uint64_t number) const {
  Fields fields(line);
  if (fields.at_end() || fields.first() == '#') return std::nullopt;
  const auto refuse = [&](const std::string& what, const std::string& remedy) {
    throw InputError(file_, lines_.place_of(chunk.first_line + number), what + " in " + quote_for_message(line),
                     remedy);
  };
  const std::size_t columns = Fields(line).count();
  const std::string_view u = fields.take(), v = fields.take();
  const bool has_attributes = fields.first() == '{';  // as networkx.write_edgelist() puts them behind
  Fields rest = fields;
  const std::string_view third = rest.take();
  double weight = 0;
  const bool has_weight = columns == 3 && !has_attributes && fields.number(weight) == std::errc();
  if (rule_.takes_values() && columns == 3 && !has_attributes && !has_weight)
    refuse("the third word, " + quote_for_message(third) + ", is no weight", "write a number there");
  if (u.empty() || v.empty() || fields.after_comma() || (columns != 2 && !has_attributes && !has_weight))
    refuse("wrong column count: " + std::to_string(columns) + " instead of " + (rule_.reads_weights() ? "3" : "2"),
           std::string("give the names of two nodes a line") +
               (rule_.reads_weights() ? " and their edge's weight" : "") +
               ", separated by a tab, a comma or blanks; names with blanks in quotes, or by their columns, as in " +
               file_.string() +
               (rule_.reads_weights() && chosen_.empty() ? "[0,1,2]" : columns_of_ends(header_, chosen_, lines_)));
  if (fields.mixed())
    refuse("commas and blanks both part the words",
           "put names with blanks or commas in quotes, or name the columns of the ends, as in " + file_.string() +
               "[0,1]");
  for (const std::string_view name : {u, v})
    if (name.starts_with('"') && !is_quoted(name))
      refuse("quotes that do not end where the name does", "close them, and write a quote in a name twice");
  const std::optional<double> given =
      has_weight ? std::optional(weight)
                 : attribute_weight(line.substr(std::min(line.size(), has_attributes ? line.rfind('{') : line.size())));
  const auto place = [&] { return lines_.place_of(chunk.first_line + number); };
  if (rule_.reads_weights() && !given)
    throw_no_weight(file_, place(), "write a third number behind the two names, the weight of their edge");
  if (!rule_.takes_values() && has_weight && !rule_.no_weights().empty())
    refuse("a third number, in the column " + quote_for_message(rule_.no_weights()) + ",",
           "name the columns of the ends, as in " + file_.string() + columns_of_ends(header_, chosen_, lines_));
  if (!rule_.takes_values() && (has_weight || (has_attributes && third != "{}")))
    refuse("a third column, as of a weight,", rule_.how_to_declare() + ", take the edges without their weights by " +
                                                  option("ignore-weights") +
                                                  ", or name the columns of the ends, as in " + file_.string() +
                                                  columns_of_ends(header_, chosen_, lines_));
  if (given) {
    const std::uint32_t taken = rule_.take(*given, chunk.left_out, file_, place);
    if (taken == 0) return std::nullopt;
    if (rule_.reads_weights()) chunk.weights.push_back(taken);
  } else if (has_attributes && third != "{}") {
    ++chunk.left_out.ignored;
  }
  return std::array{u, v};
}

void NamedEdges::refuse_unknown(const NamedEdgeChunk& chunk, std::uint32_t line, std::string_view name) const {
  throw InputError(file_, lines_.place_of(chunk.first_line + line),
                   positions_ > 0 && is_whole_number(name) ? "node " + std::string(name) + " is outside the graph of " +
                                                                 std::to_string(positions_) + " nodes"
                                                           : "no node has the name " + quote_for_message(name),
                   name.empty() ? "write the name that is missing, or take the line out; # makes it a comment"
                                : "add it to " + names_ + ", or take the line out; # makes it a comment");
}

}  // namespace unweave
