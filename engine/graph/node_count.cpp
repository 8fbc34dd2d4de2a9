// engine/graph/node_count.cpp - finds the number of nodes, and words the errors where files of an
// import disagree on it.
#include "engine/graph/node_count.h"

#include <system_error>
#include <vector>

#include "storage/io/error.h"

namespace unweave {
namespace {

/// Where the first id from `limit` on stands, for messages.
std::string place_of_id(const InputFile& file, EdgeOptions options, std::uint64_t limit) {
  std::error_code unreadable;
  if (!std::filesystem::is_regular_file(file.path, unreadable)) return "whole file";
  options.num_nodes = limit;
  try {
    const auto reader = open_edges(file, options);
    std::vector<Edge> edges(std::size_t{1} << 16);
    while (reader->read(edges) > 0) {
    }
  } catch (const InputError& error) {
    return error.place;
  }
  return "whole file";
}

}  // namespace

NodeCount::NodeCount(std::optional<std::uint64_t> declared, const Thing& thing) : thing_(thing) {
  if (!declared) return;
  if (*declared < 1 || *declared > thing_.most)
    throw UsageError(option(thing_.option_key, std::to_string(*declared)) + ": a store has 1 to " +
                     std::to_string(thing_.most) + ' ' + thing_.plural);
  count_ = declared;
  source_ = option(thing_.option_key);
}

void NodeCount::agree(std::uint64_t count, const InputFile& file, const std::string& what) {
  const std::string things = std::string(" ") + thing_.plural;
  if (count < 1 || count > thing_.most)
    throw InputError(display_name(file), what, std::to_string(count) + things,
                     "a store has 1 to " + std::to_string(thing_.most) + things);
  if (count_ && *count_ != count)
    throw InputError(display_name(file), what,
                     std::to_string(count) + things + ", but " + source_ + " says " + std::to_string(*count_),
                     "make them agree");
  if (count_) return;
  count_ = count;
  source_ = display_name(file).string() + " (" + what + ")";
}

void throw_no_edge(const InputFile& edges) {
  throw InputError(edges.path, "whole file", "no edge, so the number of nodes is unknown",
                   "declare it with " + option("nodes"));
}

void require_plain_id(NodeId largest, std::uint64_t edges, const InputFile& file, const EdgeOptions& options) {
  if (largest <= (std::uint64_t{1} << 24) + 64 * edges) return;
  throw InputError(display_name(file), place_of_id(file, options, largest),
                   "node id " + std::to_string(largest) + " in a file of " + std::to_string(edges) +
                       (edges == 1 ? " edge" : " edges"),
                   "correct it or number the nodes from 0; if it is meant, give " +
                       option("nodes", std::to_string(std::uint64_t{largest} + 1)));
}

}  // namespace unweave
