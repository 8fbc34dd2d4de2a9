// storage/input/named_edges.cpp - parses edges between names, and words the errors for what is none.
#include "storage/input/named_edges.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "storage/input/edge_formats.h"
#include "storage/input/edge_weight.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

/// How the columns of edge lists are called, in lower case and without what parts words.
constexpr std::array<std::string_view, 24> kColumnNames{
    "source", "target", "src",  "dst",      "dest",     "destination", "from",     "to",
    "u",      "v",      "head", "tail",     "start",    "end",         "node",     "node1",
    "node2",  "id1",    "id2",  "sourceid", "targetid", "fromnodeid",  "tonodeid", "weight"};

/// In lower case, without what parts words.
std::string plain_word(std::string_view word) {
  std::string plain;
  for (const char c : word)
    if (c != '_' && c != '-' && c != '"' && c != ':')
      plain += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return plain;
}

bool is_column_name(std::string_view word) {
  return std::find(kColumnNames.begin(), kColumnNames.end(), plain_word(word)) != kColumnNames.end();
}

bool is_end_name(std::string_view word) {
  return is_column_name(word) && plain_word(word) != "weight";
}

/// Whether the third word of three is no number, as weights are, nor attributes.
bool names_weights(std::string_view line) {
  Fields fields(line);
  if (Fields(line).count() != 3) return false;
  static_cast<void>(fields.take());
  static_cast<void>(fields.take());
  double weight = 0;
  return fields.first() != '{' && fields.number(weight) != std::errc();
}

bool is_header(std::string_view line) {
  Fields fields(line);
  if (fields.at_end()) return false;
  while (!fields.at_end())
    if (!is_column_name(fields.take())) return false;
  return true;
}

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

void require_ends_first(std::string_view header, const LineReader& lines) {
  Fields fields(header);
  const std::string_view first = fields.take(), second = fields.take();
  if (is_end_name(first) && is_end_name(second)) return;
  for (int column = 3; !fields.at_end(); ++column)
    if (const std::string_view word = fields.take(); is_end_name(word))
      throw InputError(lines.name(), lines.place(),
                       "the header calls column " + std::to_string(column) + ", " + quote_for_message(word) +
                           ", an end of an edge, and the first two columns are taken for the ends",
                       "write the two ends first, and a weight behind them");
}

/// The first line with fields, unless it names the columns.
bool NamedEdges::next_alone(NamedEdgeChunk& chunk) {
  std::string_view line;
  while (lines_.next(line)) {
    Fields fields(line);
    if (fields.at_end() || fields.first() == '#') continue;
    if (!std::exchange(headed_, true) && (is_header(line) || (takes_weights() && names_weights(line)))) {
      const std::array<std::string_view, 2> names{fields.take(), fields.take()};
      std::array<NodeId, 2> nodes{};
      find_(names, nodes.data());
      if (nodes[0] == kNoNode && nodes[1] == kNoNode && lines_.skips_header(line)) {
        if (takes_weights()) require_ends_first(line, lines_);
        continue;
      }
    }
    chunk.first_line = lines_.number();
    chunk.text.assign(line).push_back('\n');
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

void NamedEdges::go_on(const EdgePlace& place) {
  if (place.bytes == 0) return;
  NamedEdgeChunk first;
  static_cast<void>(next(first));  // the header, on which there may be a remark
  lines_.go_to(place.bytes, place.lines);
}

void NamedEdges::resolve(NamedEdgeChunk& chunk) const {
  chunk.edges.clear();
  chunk.names.clear();
  chunk.lines.clear();
  chunk.weights.clear();
  chunk.ignored_weights = 0;
  std::size_t source = 0;  // place of the last first name, which lists of neighbours repeat
  const auto add = [&](std::string_view u, std::string_view v, std::uint64_t line) {
    if (chunk.names.empty() || chunk.names[source] != u) {
      source = chunk.names.size();
      chunk.names.push_back(u);
    }
    chunk.edges.push_back({static_cast<NodeId>(source), static_cast<NodeId>(chunk.names.size())});
    chunk.names.push_back(v);
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
    if (sign_of(*at) == Sign::separator) {
      const char* const second = ++at;
      while (sign_of(*at) == Sign::other) ++at;
      if (*at == '\n' && at > second && first > line && *line != '#' && max_weight_ == 1) {
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
    throw InputError(file_, "line " + std::to_string(chunk.first_line + number),
                     what + " in " + quote_for_message(line), remedy);
  };
  const std::size_t columns = Fields(line).count();
  const std::string_view u = fields.take(), v = fields.take();
  const bool has_attributes = fields.first() == '{';  // as networkx.write_edgelist() puts them behind
  Fields rest = fields;
  const std::string_view third = rest.take();
  double weight = 0;
  const bool has_weight = columns == 3 && !has_attributes && fields.number(weight) == std::errc();
  if (takes_weights() && columns == 3 && !has_attributes && !has_weight)
    refuse("the third word, " + quote_for_message(third) + ", is no weight", "write a number there");
  if (u.empty() || v.empty() || fields.after_comma() || (columns != 2 && !has_attributes && !has_weight))
    refuse("wrong column count: " + std::to_string(columns) + " instead of " + (max_weight_ > 1 ? "3" : "2"),
           std::string("give the names of two nodes a line") + (max_weight_ > 1 ? " and their edge's weight" : "") +
               ", separated by a tab, a comma or blanks");
  if (max_weight_ > 1) {
    const std::string place = "line " + std::to_string(chunk.first_line + number);
    const std::optional<double> given =
        has_weight ? weight : attribute_weight(line.substr(std::min(line.size(), line.rfind('{'))));
    if (!given) throw_no_weight(file_, place, "write a third number behind the two names, the weight of their edge");
    if (!is_weight(*given, max_weight_)) throw_bad_weight(file_, place, *given, max_weight_);
    chunk.weights.push_back(static_cast<std::uint32_t>(*given));
  } else if (has_weight || (has_attributes && third != "{}")) {
    if (!ignore_weights_)
      refuse("a third column, as of a weight,",
             "declare the largest weight by " + option("max-weight", "W") +
                 ", leave that column out, or take the edges without their weights by " + option("ignore-weights"));
    ++chunk.ignored_weights;
  }
  return std::array{u, v};
}

void NamedEdges::refuse_unknown(const NamedEdgeChunk& chunk, std::uint32_t line, std::string_view name) const {
  throw InputError(file_, "line " + std::to_string(chunk.first_line + line),
                   "no node has the name " + quote_for_message(name),
                   name.starts_with('"') ? "write names without quotes"
                                         : "add it to " + names_ + ", or take the line out; # makes it a comment");
}

}  // namespace unweave
