// tools/export.cpp - `unweave export`: embeddings and edges as NumPy files, requests drawn from a store.
#include "algorithms/export.h"

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/request_draw.h"
#include "engine/memory.h"
#include "storage/error.h"
#include "storage/file.h"
#include "storage/input/label_reader.h"
#include "storage/input/request_reader.h"
#include "tools/commands.h"
#include "tools/propagation_options.h"

namespace unweave {

namespace {

DrawOptions draw_options(const CommandLine& line, DrawKind kind, std::optional<std::vector<NodeId>> pool) {
  DrawOptions options;
  options.kind = kind;
  options.count = line.get<Count>("count").value;
  options.pool = std::move(pool);
  options.degree_below = line.get<Count>("degree-below").value;
  options.seed = line.common().seed.value_or(options.seed);
  return options;
}

void export_requests(const LiveStore& store, const DrawOptions& options, const std::filesystem::path& file) {
  std::string text;
  for (const Request& request : draw_requests(store, options)) text += text_of(request) + "\n";
  replace_file(std::filesystem::absolute(file), text);
}

}  // namespace

void run_export(CommandLine& line) {
  line.describe(
      "Writes embeddings, edges, labels or training nodes as NumPy files, or draws requests for `stream` from what "
      "the\n"
      "store holds; in the ids of the imported data.",
      {"STORE"},
      "unweave export demo/debian.store --embeddings z.npy\n"
      "  unweave export demo/debian.store --requests r.txt --draw node --count 100");
  auto add = line.options().add_options();
  add("embeddings", po::value<std::string>()->value_name("F.npy"), "float32, one row a node");
  add("nodes", po::value<std::string>()->value_name("F"),
      "ids (.npy or text): with --embeddings of the rows, in order; with --requests of the nodes to draw from");
  add("weights", po::value<RealList>()->value_name("W"),
      "with --embeddings: weights w_0,..,w_L instead of those of the store");
  add("edges", po::value<std::string>()->value_name("F.npy"), "int64 m x 2, each edge once, u < v");
  add("labels", po::value<std::string>()->value_name("F.npy"), "int64, one a node, -1 for none");
  add("train", po::value<std::string>()->value_name("F.npy"),
      "int64: ids of the training nodes that have a label, ascending");
  add("requests", po::value<std::string>()->value_name("F"), "text, one request a line, drawn at random by --seed (1)");
  add("draw", po::value<std::string>()->value_name("KIND"),
      "with --requests: node or feature, of training nodes or of --nodes; edge; vulnerable-edge, of a test node (or of "
      "--nodes) with few neighbours and a neighbour with its label; adversarial-edge, to be inserted between two nodes "
      "(one of --nodes) with different labels");
  add("count", po::value<Count>()->value_name("K"), "with --requests: how many");
  add("degree-below", po::value<Count>()->value_name("D")->default_value({10}),
      "with --draw vulnerable-edge: the node has fewer neighbours");
  if (!line.parse()) return;
  if (!line.has("embeddings") && !line.has("edges") && !line.has("labels") && !line.has("train") &&
      !line.has("requests"))
    throw UsageError("nothing to export; give --embeddings, --edges, --labels, --train or --requests");
  if (line.has("nodes") && !line.has("embeddings") && !line.has("requests"))
    throw UsageError("--nodes needs --embeddings or --requests");
  if (line.has("weights") && !line.has("embeddings")) throw UsageError("--weights needs --embeddings");
  for (const char* option : {"draw", "count"})
    if (line.has(option) != line.has("requests")) throw UsageError("give --requests, --draw and --count together");
  const std::optional<DrawKind> draw =
      line.has("draw") ? std::optional(parse_draw(line.get<std::string>("draw"))) : std::nullopt;

  for (const char* option : {"embeddings", "edges", "labels", "train", "requests"})
    line.require_outside(option, line.positional(0));
  MemoryBudget budget(line.budget_bytes());
  const LiveStore store(line.positional(0), Access::read, budget);
  std::optional<std::vector<NodeId>> nodes;
  if (line.has("nodes")) nodes = read_node_ids({line.get<std::string>("nodes"), {}}, store.contents().num_nodes());
  if (line.has("embeddings"))
    export_embeddings(store, nodes, read_row_weights(line, store.embedding().spec()),
                      line.get<std::string>("embeddings"));
  if (line.has("edges")) export_edges(store, line.get<std::string>("edges"));
  if (line.has("labels")) export_labels(store, line.get<std::string>("labels"));
  if (line.has("train")) export_train(store, line.get<std::string>("train"));
  if (draw) export_requests(store, draw_options(line, *draw, std::move(nodes)), line.get<std::string>("requests"));
}

}  // namespace unweave
