// storage/input/named_edges.h - edges as text whose ends are names: cut into pieces by one thread, resolved by many.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "storage/formats/edge_place.h"
#include "storage/input/line_reader.h"
#include "storage/io/types.h"

namespace unweave {

/// Puts the nodes of these names into `nodes`, kNoNode for a name that nobody has. Runs on any number of threads at once.
using FindNodes = std::function<void(std::span<const std::string_view> names, NodeId* nodes)>;

/// Whole lines of the file, and then their edges.
struct NamedEdgeChunk {
  std::string text;
  std::uint64_t first_line = 1;
  std::vector<Edge> edges;
  std::vector<std::uint32_t> weights;  ///< one an edge where edges have some
  std::uint64_t ignored_weights = 0;
  std::vector<std::string_view>
      names;  ///< working memory, as the next two; a name that follows itself stands there once
  std::vector<std::uint32_t> lines;
  std::vector<NodeId> nodes;
};

/// Lines as open_edges() describes them for text, names in the place of ids.
class NamedEdges {
 public:
  /// `names`: the file that has the names, for messages.
  NamedEdges(ByteSource source, FindNodes find, std::string names, bool ignore_weights, std::uint32_t max_weight)
      : lines_(std::move(source)),
        file_(lines_.name()),
        find_(std::move(find)),
        names_(std::move(names)),
        ignore_weights_(ignore_weights),
        max_weight_(max_weight) {}

  /// Takes the next piece, of 1 MiB at most or of one line; false at the end. Not thread-safe.
  bool next(NamedEdgeChunk& chunk);
  /// Where the next piece begins, but for its number of edges, which whoever resolves pieces counts.
  [[nodiscard]] EdgePlace place() const noexcept { return {0, lines_.offset(), lines_.number(), 0}; }
  /// Before the first next(): goes to a place that a reader of the same file has come to.
  void go_on(const EdgePlace& place);
  /// Finds the edges of a piece; any thread. Throws InputError naming the line.
  void resolve(NamedEdgeChunk& chunk) const;

 private:
  /// Whether lines have weights, to be read or left out.
  [[nodiscard]] bool takes_weights() const noexcept { return ignore_weights_ || max_weight_ > 1; }
  bool next_alone(NamedEdgeChunk& chunk);
  [[nodiscard]] std::optional<std::array<std::string_view, 2>> parse(NamedEdgeChunk& chunk, std::string_view line,
                                                                     std::uint64_t number) const;
  [[noreturn]] void refuse_unknown(const NamedEdgeChunk& chunk, std::uint32_t line, std::string_view name) const;

  LineReader lines_;
  std::filesystem::path file_;
  FindNodes find_;
  std::string names_;
  bool ignore_weights_;
  std::uint32_t max_weight_;
  bool headed_ = false;  ///< the first line with fields was looked at
};

}  // namespace unweave
