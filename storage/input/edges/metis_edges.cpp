// storage/input/edges/metis_edges.cpp - edges as METIS keeps graphs: a line of counts, then the
// neighbours of each node, from 1.
//
// Source: G. Karypis, METIS 5.1.0 manual, section 4.1.1. The first line has the numbers of nodes
// and of edges, a code of three digits (vertex sizes, vertex weights, edge weights) and the number
// of weights of a vertex, of which the last two may be missing; % begins a comment.
#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <vector>

#include "storage/input/edges/edge_formats.h"
#include "storage/input/edges/edge_weight.h"
#include "storage/input/words/node_id.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

class MetisEdges final : public EdgeReader {
 public:
  MetisEdges(ByteSource source, const EdgeOptions& options) : source_(std::move(source)), rule_(options.weight_rule()) {
    read_counts();
    limit_ = std::min(nodes_, id_limit(options.num_nodes));
  }

  [[nodiscard]] std::optional<std::uint64_t> declared_nodes() const override { return nodes_; }
  [[nodiscard]] bool is_undirected() const noexcept override { return true; }
  [[nodiscard]] LeftOutWeights left_out() const override { return left_out_; }

 private:
  std::size_t read_some(std::span<Edge> out, std::span<std::uint32_t> weights) override {
    std::size_t count = 0;
    while (count < out.size() && next_neighbour()) {
      ++entries_;
      if (weight_ == 0) continue;
      if (!weights.empty()) weights[count] = weight_;
      out[count++] = {static_cast<NodeId>(node_ - 1), static_cast<NodeId>(neighbour_ - 1)};
    }
    if (count == 0) require_whole();
    return count;
  }

  [[noreturn]] void fail(const std::string& what, const std::string& remedy) const {
    throw InputError(source_.name(), "line " + std::to_string(line_), what, remedy);
  }

  /// The next number of the line; none at its end. Lines may have any length.
  std::optional<std::uint64_t> next_number() {
    constexpr std::size_t kLongest = 32;
    while (true) {
      const std::string_view bytes = source_.peek(kLongest);
      std::size_t blanks = 0;
      while (blanks < bytes.size() && (bytes[blanks] == ' ' || bytes[blanks] == '\t' || bytes[blanks] == '\r'))
        ++blanks;
      if (blanks > 0) {
        source_.consume(blanks);
        continue;
      }
      if (bytes.empty() || bytes[0] == '\n') return std::nullopt;
      std::uint64_t number = 0;
      const auto [end, error] = std::from_chars(bytes.data(), bytes.data() + std::min(bytes.size(), kLongest), number);
      const auto length = static_cast<std::size_t>(end - bytes.data());
      const bool whole = length == bytes.size() || bytes[length] == ' ' || bytes[length] == '\t' ||
                         bytes[length] == '\r' || bytes[length] == '\n';
      if (error != std::errc() || !whole)
        fail(quote_for_message(bytes.substr(0, std::min(bytes.find_first_of(" \t\r\n"), kLongest))) +
                 " is not a whole number",
             "a METIS file has whole numbers alone");
      source_.consume(length);
      return number;
    }
  }

  /// Goes to the beginning of the next line that is no comment; false at the end of the file.
  bool next_line() {
    if (line_ > 0) skip_line();
    while (!source_.peek(1).empty()) {
      ++line_;
      if (source_.peek(1)[0] != '%') return true;
      skip_line();
    }
    return false;
  }

  void skip_line() {
    for (std::string_view bytes = source_.peek(1); !bytes.empty(); bytes = source_.peek(1)) {
      const std::size_t end = bytes.find('\n');
      source_.consume(std::min(bytes.size(), end == std::string_view::npos ? end : end + 1));
      if (end != std::string_view::npos) return;
    }
  }

  void read_counts() {
    if (!next_line()) throw InputError(source_.name(), "line 1", "the file is empty", "fetch or write the file again");
    std::vector<std::uint64_t> counts;
    while (const auto number = next_number()) counts.push_back(*number);
    if (counts.size() < 2 || counts.size() > 4)
      fail(std::to_string(counts.size()) + " numbers, where METIS has those of nodes and edges, a format and a count",
           "give a METIS graph, or rename a list of edges that is none");
    nodes_ = counts[0];
    edges_ = counts[1];
    constexpr std::uint64_t kMostNodes = std::uint64_t{kMaxNodeId} + 1;
    if (nodes_ > kMostNodes)
      fail(std::to_string(nodes_) + " nodes are more than " + std::to_string(kMostNodes), "give fewer");
    const std::uint64_t code = counts.size() > 2 ? counts[2] : 0;
    if (code > 111 || code % 10 > 1 || code / 10 % 10 > 1)
      fail("the format " + std::to_string(code) + " is none of METIS's, which are made of three digits 0 and 1",
           "write the graph again");
    edge_weights_ = code % 10 == 1;
    const std::uint64_t weights = code / 10 % 10 == 1 ? (counts.size() > 3 ? counts[3] : 1) : 0;
    numbers_before_ = weights + code / 100;
    if (rule_.reads_weights() && !edge_weights_)
      throw_no_weight(source_.name(), "line " + std::to_string(line_), "write a graph whose edges have weights");
    if (edge_weights_ && !rule_.takes_values())
      fail("weights of edges, as the format " + std::to_string(code) + " says",
           rule_.how_to_declare() + ", or take the graph without them by " + option("ignore-weights"));
    if (numbers_before_ > 0 && !rule_.ignores_weights())
      fail("weights of nodes, as the format " + std::to_string(code) + " says; nodes have none here",
           rule_.reads_weights() ? "write the graph without them"
                                 : "take the graph without them by " + option("ignore-weights"));
  }

  /// Goes to the next neighbour of the present node, or of the nodes after it.
  bool next_neighbour() {
    while (true) {
      if (in_node_) {
        if (const auto number = next_number()) {
          neighbour_ = *number;
          if (neighbour_ < 1 || neighbour_ > limit_)
            fail("neighbour " + std::to_string(neighbour_) + " is outside 1.." + std::to_string(limit_) +
                     " (nodes count from 1 here)",
                 neighbour_ == 0 ? "add 1 to every neighbour where they count from 0, or correct the id"
                                 : "correct the id or the number of nodes in the first line");
          if (edge_weights_) {
            const auto weight = next_number();
            if (!weight) fail("a neighbour without its weight", "write the graph again");
            weight_ = rule_.take(static_cast<double>(*weight), left_out_, source_.name(),
                                 [this] { return "line " + std::to_string(line_); });
          }
          return true;
        }
        in_node_ = false;
      }
      if (node_ == nodes_ || !next_line()) return false;
      ++node_;
      in_node_ = true;
      for (std::uint64_t i = 0; i < numbers_before_; ++i)
        if (!next_number()) fail("fewer weights than the first line says", "write the graph again");
    }
  }

  void require_whole() {
    if (node_ < nodes_)
      throw InputError(source_.name(), "after line " + std::to_string(line_),
                       "the file is cut short: the neighbours of " + std::to_string(node_) + " of " +
                           std::to_string(nodes_) + " nodes",
                       "fetch or write the file again");
    while (next_line())
      if (next_number())
        fail("more lines than the " + std::to_string(nodes_) + " nodes that the first one says",
             "correct the number of nodes");
    if (entries_ != 2 * edges_)
      throw InputError(source_.name(), "whole file",
                       std::to_string(entries_) + " neighbours, where the first line says " + std::to_string(edges_) +
                           " edges, each of which stands twice",
                       "list each edge at both of its ends, or correct the number");
  }

  ByteSource source_;
  WeightRule rule_;
  LeftOutWeights left_out_;
  std::uint64_t limit_ = 0;
  std::uint64_t nodes_ = 0, edges_ = 0, entries_ = 0;
  bool edge_weights_ = false;
  std::uint64_t numbers_before_ = 0;  // size and weights of a vertex, before its neighbours
  std::uint64_t line_ = 0;            // number of the present line, from 1
  std::uint64_t node_ = 0;            // number of the present node, from 1
  std::uint64_t neighbour_ = 0;
  std::uint32_t weight_ = 1;  // weight of the edge to it
  bool in_node_ = false;
};

}  // namespace

std::unique_ptr<EdgeReader> open_metis_edges(ByteSource source, const EdgeOptions& options) {
  return std::make_unique<MetisEdges>(std::move(source), options);
}

}  // namespace unweave
