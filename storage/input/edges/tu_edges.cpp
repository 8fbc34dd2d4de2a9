// storage/input/edges/tu_edges.cpp - edges of a data set in the form of TUDataset: text of two ids
// a line, the first node's id being 1.
#include <optional>
#include <string>
#include <utility>

#include "storage/input/edges/edge_formats.h"
#include "storage/input/words/line_reader.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

class TuEdges final : public EdgeReader {
 public:
  TuEdges(ByteSource source, std::uint64_t nodes) : lines_(std::move(source)), nodes_(nodes) {}

 private:
  std::size_t read_some(std::span<Edge> out, std::span<std::uint32_t> /*weights*/) override {
    std::size_t count = 0;
    for (std::string_view line; count < out.size() && lines_.next(line);) {
      Fields fields(line);
      if (fields.at_end()) continue;
      const NodeId u = read_id(fields, line), v = read_id(fields, line);
      if (!fields.at_end())
        throw InputError(lines_.name(), lines_.place(), quote_for_message(line) + " has more than two ids",
                         "write the ids of two nodes a line");
      out[count++] = {u, v};
    }
    return count;
  }

  [[nodiscard]] NodeId read_id(Fields& fields, std::string_view line) const {
    std::uint64_t id = 0;
    if (fields.at_end() || fields.number(id) != std::errc())
      throw InputError(lines_.name(), lines_.place(), quote_for_message(line) + " is no edge of two ids",
                       "write the ids of two nodes a line, as 1, 2");
    if (id == 0)
      throw InputError(
          lines_.name(), lines_.place(), "node id 0, where ids of TUDataset count from 1",
          "add 1 to all ids, or import the files one by one, as " + option("edges") + " and " + option("graphs"));
    if (id > nodes_)
      throw InputError(lines_.name(), lines_.place(),
                       "node id " + std::to_string(id) + " is outside the " + std::to_string(nodes_) +
                           " nodes, of which the first is 1",
                       "correct the id, or fetch the files again");
    return static_cast<NodeId>(id - 1);
  }

  LineReader lines_;
  std::uint64_t nodes_;
};

}  // namespace

std::unique_ptr<EdgeReader> open_tu_edges(const InputFile& file, const EdgeOptions& options) {
  return std::make_unique<TuEdges>(ByteSource(file), options.num_nodes.value());
}

}  // namespace unweave
