// storage/input/edges/named_edges.h - edges as text whose ends are names: cut into pieces by one
// thread, resolved by many.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/input/edges/edge_weight.h"
#include "storage/input/tables/edge_columns.h"
#include "storage/input/words/line_reader.h"
#include "storage/io/types.h"

namespace unweave {

/// Puts the nodes of these names into `nodes`, kNoNode for a name that nobody has. Runs on any
/// number of threads at once.
using FindNodes = std::function<void(std::span<const std::string_view> names, NodeId* nodes)>;

/// Whole lines of the file, and then their edges.
struct NamedEdgeChunk {
  std::string text;
  std::uint64_t first_line = 1;
  std::vector<Edge> edges;
  std::vector<std::uint32_t> weights;  ///< one an edge where edges have some
  LeftOutWeights left_out;
  /// Working memory, as what is below; a name that follows itself stands there once.
  std::vector<std::string_view> names;
  std::deque<std::string> unquoted;                     ///< names that stand in quotes
  std::vector<std::pair<std::size_t, NodeId>> numbers;  ///< places among the names that are numbers of nodes
  std::vector<std::uint32_t> lines;
  std::vector<NodeId> nodes;
};

/// Lines as open_edges() describes them for text, names in the place of ids, in quotes where they
/// have blanks or commas.
class NamedEdges {
 public:
  /// `names`: the file that has the names, for messages. `positions`: the number of nodes, where a
  /// whole number means one of them and not the name that is written so; 0 where it does not.
  /// `chosen`: columns that were named.
  NamedEdges(ByteSource source, FindNodes find, std::string names, std::uint64_t positions, WeightRule rule,
             std::string chosen = {})
      : lines_(std::move(source)),
        file_(lines_.name()),
        find_(std::move(find)),
        names_(std::move(names)),
        positions_(positions),
        rule_(std::move(rule)),
        chosen_(std::move(chosen)) {
    rule_.set_ends(columns_of_ends({}, chosen_, lines_));
  }

  /// Takes the next piece, of 1 MiB at most or of one line; false at the end. Not thread-safe.
  bool next(NamedEdgeChunk& chunk);
  /// Finds the edges of a piece; any thread. Throws InputError naming the line.
  void resolve(NamedEdgeChunk& chunk) const;

 private:
  bool next_alone(NamedEdgeChunk& chunk);
  [[nodiscard]] bool is_header(std::string_view line);
  void require_no_name_with_blanks(std::string_view line) const;
  [[nodiscard]] NodeId node_of(std::string_view word) const;
  [[nodiscard]] std::optional<std::array<std::string_view, 2>> parse(NamedEdgeChunk& chunk, std::string_view line,
                                                                     std::uint64_t number) const;
  [[noreturn]] void refuse_unknown(const NamedEdgeChunk& chunk, std::uint32_t line, std::string_view name) const;

  LineReader lines_;
  std::filesystem::path file_;
  FindNodes find_;
  std::string names_;
  std::uint64_t positions_;
  WeightRule rule_;
  std::string chosen_;   ///< columns that were named
  bool headed_ = false;  ///< the first line with fields was looked at
  std::string header_;   ///< the one that there was
};

}  // namespace unweave
