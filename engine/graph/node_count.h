// engine/graph/node_count.h - the number of nodes of an import.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "storage/input/bytes/byte_source.h"
#include "storage/input/edges/edge_reader.h"
#include "storage/io/types.h"
#include "storage/types/changes.h"

namespace unweave {

inline constexpr std::uint64_t kMostNodes = std::uint64_t{kMaxNodeId} + 1;

/// The number of nodes, or of whole graphs, as the sources that know it say one after another; they
/// must agree.
class NodeCount {
 public:
  /// What is counted, and the option that declares it.
  struct Thing {
    const char *plural, *option_key;
    std::uint64_t most;
  };
  static constexpr Thing kNodes{"nodes", "nodes", kMostNodes}, kGraphs{"graphs", "number-of-graphs", kMostGraphs};

  /// Throws UsageError where the option declares a number that there cannot be.
  explicit NodeCount(std::optional<std::uint64_t> declared, const Thing& thing = kNodes);
  /// `source`: what says so, for messages.
  NodeCount(std::uint64_t count, std::string source) : thing_(kNodes), count_(count), source_(std::move(source)) {}

  /// Throws InputError unless `count`, which `what` in the file says, is possible and that of the
  /// sources before.
  void agree(std::uint64_t count, const InputFile& file, const std::string& what);

  [[nodiscard]] std::optional<std::uint64_t> known() const noexcept { return count_; }
  [[nodiscard]] NodeId value() const noexcept { return static_cast<NodeId>(*count_); }

 private:
  Thing thing_;
  std::optional<std::uint64_t> count_;
  std::string source_;
};

/// Throws InputError: nothing but the largest id tells the number of nodes, and this file has no
/// edge.
[[noreturn]] void throw_no_edge(const InputFile& edges);

/// Throws InputError, naming the place, where the largest id of a file of edges is above 2^24 + 64
/// x edges: no id that alone tells the number of nodes. A store takes time and room for every node,
/// and one absurd id would ask for gigabytes.
void require_plain_id(NodeId largest, std::uint64_t edges, const InputFile& file, const EdgeOptions& options);

}  // namespace unweave
