// tools/commands/export.cpp - `unweave export`: embeddings and edges as NumPy files, requests drawn
// from a store.
#include <array>
#include <charconv>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "storage/input/nodes/label_reader.h"
#include "storage/input/request_reader.h"
#include "storage/io/entry.h"
#include "storage/io/error.h"
#include "storage/io/file.h"
#include "storage/io/number_text.h"
#include "tools/cli/npy_output.h"
#include "tools/cli/output.h"
#include "tools/cli/step_progress.h"
#include "tools/commands/commands.h"
#include "tools/commands/model_choice.h"
#include "tools/commands/model_output.h"
#include "unweave/classes.h"
#include "unweave/links.h"
#include "unweave/rows.h"

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

void export_requests(const CommandLine& line, const Reader& reader, const DrawOptions& options) {
  std::string text;
  for (const Request& request : draw_requests(reader, options)) text += reader.names().text_of(request) + "\n";
  const auto& file = line.get<std::string>("requests");
  if (file == "-")
    line.out() << text;
  else
    replace_file(resolved_parent(file), text);
}

void write_embeddings(const CommandLine& line, const Reader& reader, const std::optional<std::vector<NodeId>>& nodes,
                      StepProgress& progress) {
  const MissingRows missing = line.has("missing") ? MissingRows::nan : MissingRows::leave_out;
  const auto ids = line.has("ids") ? std::optional(npy_target(line, "ids")) : std::nullopt;
  const std::vector<double> weights =
      line.has("weights") ? line.get<RealList>("weights").values : std::vector<double>();
  const ExportedRows rows = export_embeddings(reader, nodes, weights, npy_target(line, "embeddings"), missing, ids);
  progress.finish();
  note_missing_rows(line, reader.path(), rows.missing, nodes ? nodes->size() : reader.nodes(),
                    line.has("missing") ? "theirs are rows of NaN"
                                        : "they are left out: --ids tells whose rows there are, --missing nan "
                                          "writes rows of NaN for them");
}

/// Whether --model names a form in which scikit-learn's or PyTorch's arrays have names.
bool names_archive(const CommandLine& line) {
  if (!line.has("model")) return false;
  const std::filesystem::path extension = std::filesystem::path(line.get<std::string>("model")).extension();
  return extension == ".npz" || extension == ".safetensors";
}

/// The command that makes a store of what `export --all` has written, to be given in its folder,
/// What the command says of whole graphs.
std::string graph_options(const ExportedStore& exported) {
  if (exported.graphs == 0) return {};
  std::string text = " --graphs graphs.npy --number-of-graphs " + std::to_string(exported.graphs);
  if (exported.has_graph_labels)
    text += exported.class_names.empty() ? " --graph-labels graph_labels.npy" : " --graph-labels graph_labels.txt";
  std::string splits;
  for (const auto& [name, is_there] : {std::pair("train", exported.has_graph_train),
                                       {"valid", exported.has_graph_valid},
                                       {"test", exported.has_graph_test}})
    if (is_there) splits += (splits.empty() ? "" : ",") + std::string(name) + "=graph_" + name + ".npy";
  return splits.empty() ? text : text + " --graph-split " + splits;
}

/// and the one behind it that says when edges are to go.
std::string import_command(const ExportedStore& exported) {
  std::string text = "unweave import STORE";
  if (exported.types.empty()) text += " --nodes " + std::to_string(exported.nodes);
  for (const NodeType& type : exported.types) text += " --type '" + type.name + "=" + std::to_string(type.nodes) + "'";
  if (exported.has_names)
    text += exported.by_name ? " --ids names.txt --header no" : " --ids names.txt --header ids=no";
  if (exported.ids_are) text += " --ids-are " + std::string(text_of(*exported.ids_are));
  for (std::size_t r = 0; r < exported.relation_files.size(); ++r)
    text += " --relation '" + exported.layers.relations[r].name + "=" + exported.relation_files[r] +
            (exported.by_name ? "'" : "[0,1]'");
  for (const Relation& relation : exported.layers.relations)
    if (relation.ends)
      text += " --ends '" + relation.name + "=" + exported.types[relation.ends->u].name + "," +
              exported.types[relation.ends->v].name + "'";
  for (const std::vector<std::uint32_t>& subset : exported.layers.subsets) {
    text += " --subset ";
    for (std::size_t i = 0; i < subset.size(); ++i)
      text += (i == 0 ? "" : ",") + exported.layers.relations[subset[i]].name;
  }
  const bool has_edges = exported.edges > 0 && exported.relation_files.empty();
  if (has_edges && exported.by_name) text += " --edges edges.txt";
  if (has_edges && !exported.by_name)
    text += exported.edges == 2 ? " --edges 'edges.npy[0,1]'" : " --edges edges.npy";  // 2 x 2 may be either
  if (exported.layers.directed) text += " --directed";
  if (exported.pairs) text += " --pairs " + text_of(*exported.pairs);
  if (exported.weight_unit)
    text += " --weights unit=" + unit_text(exported.weight_unit->exponent) + " --self-weight " +
            std::to_string(exported.weight_unit->self);
  else if (exported.max_weight > 1)
    text += " --max-weight " + std::to_string(exported.max_weight);
  if (exported.max_weight > 1 && has_edges && !exported.by_name) text += " --edge-weights weights.npy";
  for (std::size_t r = 0; r < exported.relation_files.size() && exported.max_weight > 1 && !exported.by_name; ++r)
    text += " --edge-weights '" + exported.layers.relations[r].name + "=weights-" + std::to_string(r) + ".npy'";
  if (exported.columns > 0 && exported.sparse)
    text +=
        " --features indptr=features_indptr.npy,indices=features_indices.npy,values=features_values.npy --columns " +
        std::to_string(exported.columns);
  if (exported.columns > 0 && !exported.sparse) text += " --features features.npy";
  if (exported.columns > 0 && exported.type != FeatureType::f32)
    text += " --feature-type " + std::string(feature_type_name(exported.type));
  if (exported.columns > 0 && exported.scale.as_given) text += " --scale none";
  if (exported.columns > 0 && exported.scale.divisor != 1) text += " --scale " + shortest_text(exported.scale.divisor);
  if (exported.has_labels) text += exported.class_names.empty() ? " --labels labels.npy" : " --labels labels.txt";
  if (!exported.class_names.empty())
    text += " --classes " + class_word(exported.class_names);
  else if (exported.classes > 0)
    text += " --classes " + std::to_string(exported.classes);
  std::string splits;
  for (const auto& [name, is_there] :
       {std::pair("train", exported.has_train), {"valid", exported.has_valid}, {"test", exported.has_test}})
    if (is_there)
      splits += (splits.empty() ? "" : ",") + std::string(name) + "=" + name + (exported.by_name ? ".txt" : ".npy");
  if (!splits.empty()) text += " --split " + splits;
  text += graph_options(exported);
  if (exported.order != "none") text += " --order " + exported.order;
  if (exported.has_expiries) text += "\nunweave stream STORE --requests expiries.txt";
  return text;
}

/// The command comes last: a folder without it was left by an export that did not come to its end.
void export_folder(const CommandLine& line, const Reader& reader, StepProgress& progress) {
  const std::filesystem::path folder = resolved(std::filesystem::absolute(line.get<std::string>("all")));
  const ExportedStore exported = export_all(reader, folder);
  const std::string command = import_command(exported);
  progress.finish();
  if (reader.names().ids_are() == IdsAre::names && !exported.by_name)
    line.note(
        "nodes without names have edges, so that numbers in the arrays are positions, and names here: in a store that the "
        "command makes, numbers in requests are positions, too, and names that are numbers stand in quotes");
  replace_file(
      folder / "import.txt",
      "# What this command makes of the files beside it is what the store held. Give it in this folder, and a\n"
      "# name of a new folder for STORE.\n" +
          command + "\n");
  if (!line.common().quiet) line.out() << command << '\n';
}

void check_export_options(const CommandLine& line) {
  for (const char* other : {"model", "rows", "embeddings", "edges", "edge-weights", "pairs", "labels", "graphs",
                            "graph-labels", "train", "requests"})
    if (line.has("all") && line.has(other))
      throw UsageError("--all and --" + std::string(other) +
                       ": what --all writes holds edges, features and labels; give "
                       "the other option by itself");
  if (line.has("roles") && !line.has("edges")) throw UsageError("--roles needs --edges");
  if (!line.has("model") && !line.has("rows") && !line.has("embeddings") && !line.has("edges") &&
      !line.has("edge-weights") && !line.has("pairs") && !line.has("labels") && !line.has("graphs") &&
      !line.has("graph-labels") && !line.has("train") && !line.has("names") && !line.has("requests") &&
      !line.has("all"))
    throw UsageError(
        "nothing to export; give --model, --rows, --embeddings, --edges, --edge-weights, --pairs, --labels, --graphs, --graph-labels, --train, --names, --requests or --all");
  if (line.has("nodes") && !line.has("rows") && !line.has("embeddings") && !line.has("requests"))
    throw UsageError("--nodes needs --rows, --embeddings or --requests");
  for (const char* option : {"weights", "ids", "missing"})
    if (line.has(option) && !line.has("embeddings"))
      throw UsageError("--" + std::string(option) + " needs --embeddings");
  if (line.has("missing") && line.get<std::string>("missing") != "nan")
    throw UsageError("--missing: " + line.get<std::string>("missing") + " is unknown; the only choice is nan");
  if (line.has("relation") && !line.has("edges") && !line.has("edge-weights"))
    throw UsageError("--relation needs --edges or --edge-weights");
  if (line.given("split") && !line.has("pairs")) throw UsageError("--split needs --pairs");
  for (const char* option : {"draw", "count"})
    if (line.has(option) != line.has("requests")) throw UsageError("give --requests, --draw and --count together");
  for (const char* option : {"solver", "name"})
    if (line.has(option) && !line.has("model") && !line.has("rows"))
      throw UsageError("--" + std::string(option) + " needs --model or --rows");
  if (line.has("model") && line.get<std::string>("model") == "-")
    throw UsageError("--model -: a model is two files, the weights F.npy and the certificate F.jsonl; name a file");
  const std::filesystem::path store = line.positional(0);
  std::vector<std::string> arrays{"rows",  "embeddings", "ids",    "edges",        "edge-weights", "roles",
                                  "pairs", "labels",     "graphs", "graph-labels", "train"};
  if (names_archive(line))
    line.require_outside("model", store);
  else
    arrays.insert(arrays.begin(), "model");
  check_npy_outputs(line, arrays, store);
  line.require_outside("requests", store);
  line.require_outside("names", store);
  line.require_outside("all", store);
}

/// Rows of the model, of nodes, pairs of them or whole graphs.
void write_rows(const CommandLine& line, const Reader& reader, const StoredModel& model,
                const std::optional<std::vector<NodeId>>& nodes) {
  const RowUnit unit = model.facts().rows.unit();
  const NpyTarget target = npy_target(line, "rows");
  if (unit != RowUnit::node && nodes)
    throw UsageError("--nodes: the rows of the model " + model.name() + " are of " + std::string(name_of(unit)) +
                     "s; leave it out");
  if (unit != RowUnit::node) return export_training_rows(reader, model, target);
  export_rows(reader, model, nodes ? *nodes : training_ids(reader), target);
}

}  // namespace

void run_export(CommandLine& line) {
  line.describe(
      "Writes the published weights of a model, its rows, embeddings, edges, labels or training\n"
      "nodes as NumPy files, or draws requests for `stream` from what the store\n"
      "holds; in the ids of the imported data. --all writes all that an import takes\n"
      "back. The file name - is standard output.",
      {"STORE"},
      "unweave export demo/debian.store --embeddings z.npy --ids ids.npy\n"
      "  unweave export demo/debian.store --model weights.npy\n"
      "  unweave export demo/debian.store --requests r.txt --draw node --count 100");
  auto add = line.options().add_options();
  add("model", po::value<std::string>()->value_name("F"),
      "float64, the published weights: F.npz with coef_, intercept_ and classes_ for scikit-learn; F.safetensors with "
      "weight and bias for PyTorch; F.npy features x classes, where the model has an intercept with one row more, the "
      "last. They are for rows of --rows; one above norm 1 is divided by its norm before it meets them. "
      "Beside it, as F.jsonl, the public line of its newest certificate. F.npy of --head mlp: all parameters in one row: layer "
      "after layer, each inputs x outputs with the biases as last row, then the weights of the filter where it has one");
  add_model_choice(line, "with --model or --rows: the model of this solver; may be left out where there is only one");
  add("rows", po::value<std::string>()->value_name("F.npy"),
      "float32, the rows that a model learns on (train --rows-of), before a row above norm 1 is divided by its norm "
      "and without an intercept: of the training nodes that have a label, as --train lists them, or of --nodes, in order; of a model "
      "of --pool, of the training graphs that have a label and nodes, ascending");
  add("embeddings", po::value<std::string>()->value_name("F.npy"),
      "float32, one row a node that has an embedding, in the order of ids");
  add("ids", po::value<std::string>()->value_name("F.npy"),
      "with --embeddings: whose rows they are, int64; F.txt has ids as they are printed, one a line");
  add("missing", po::value<std::string>()->value_name("nan"),
      "with --embeddings: a row for every node, NaN where there is no embedding");
  add("nodes", po::value<std::string>()->value_name("F"),
      "ids (.npy or text): with --rows or --embeddings of the rows, in order; with --requests of the nodes to draw "
      "from");
  add("weights", po::value<RealList>()->value_name("W"),
      "with --embeddings: weights w_0,..,w_L instead of those of the store");
  add("edges", po::value<std::string>()->value_name("F.npy"),
      "int64 m x 2, each edge once, u < v, an arc from u to v; F.txt: as import reads text, by names where there are some");
  add("relation", po::value<std::string>()->value_name("NAME"),
      "with --edges and --edge-weights: whose edges, where they have relations");
  add("edge-weights", po::value<std::string>()->value_name("F.npy"),
      "int64, weights of the edges, in their order; float64 where they are real");
  add("pairs", po::value<std::string>()->value_name("F.npy"),
      "of a store of import --pairs: int64 m x 3, the pairs of nodes of --split (train, the default, valid or test): both ends, "
      "and 1 for an edge; in the order of --rows of a model of train --pair");
  add("split", po::value<std::string>()->value_name("NAME")->default_value("train"), "with --pairs: whose");
  line.set_choices("split", {"train", "valid", "test"});
  add("roles", po::value<std::string>()->value_name("F.npy"),
      "with --edges, of a store of --pairs: int64, what each edge is for, in their order: 0 valid, 1 test, 2 label, 3 plain");
  add("labels", po::value<std::string>()->value_name("F.npy"), "int64, one a node, -1 for none");
  add("graphs", po::value<std::string>()->value_name("F.npy"), "int64, the number of each node's graph, -1 for none");
  add("graph-labels", po::value<std::string>()->value_name("F.npy"), "int64, one a graph, -1 for none");
  add("train", po::value<std::string>()->value_name("F.npy"),
      "int64: ids of the training nodes that have a label, ascending; where graphs have the classes, of the training graphs "
      "that have a label and nodes");
  add("names", po::value<std::string>()->value_name("F"),
      "text, the names of all nodes, one a line in the order of their numbers, an empty line for a node without one: "
      "what import --ids takes");
  add("requests", po::value<std::string>()->value_name("F"), "text, one request a line, drawn at random by --seed (1)");
  add("all", po::value<std::string>()->value_name("DIR"),
      "new or empty folder: edges, features, labels and splits that remain, and in import.txt the command of `import` that "
      "makes of them the store that a purge would leave, without embedding and models; for another machine or another version of the program");
  line.set_choices("missing", {"nan"});
  line.set_choices("draw", {"graph", "node", "feature", "edge", "vulnerable-edge", "adversarial-edge"});
  add("draw", po::value<std::string>()->value_name("KIND"),
      "with --requests: graph, of training graphs; node or feature, of training nodes or of --nodes; edge; vulnerable-edge, of a test node (or of "
      "--nodes) with few neighbours and a neighbour with its label; adversarial-edge, to be inserted between two nodes "
      "(one of --nodes) with different labels");
  add("count", po::value<Count>()->value_name("K"), "with --requests: how many");
  add("degree-below", po::value<Count>()->value_name("D")->default_value({10}),
      "with --draw vulnerable-edge: the node has fewer neighbours");
  if (!line.parse()) return;
  line.on_interrupt(
      line.has("all")
          ? "the store is as it was; a folder without import.txt is not complete: remove it and run the command again"
          : "the store is as it was, and a file named is whole or as it was; run the command again");
  check_export_options(line);
  const std::optional<DrawKind> draw =
      line.has("draw") ? std::optional(parse_draw(line.get<std::string>("draw"))) : std::nullopt;

  StepProgress progress(line.error(), line.shows_progress());
  Resources resources({line.common().memory_bytes}, &progress);
  std::optional<OpenedModel> opened;
  std::optional<Reader> alone;
  if (line.has("model") || line.has("rows"))
    opened.emplace(open_with_model(line.positional(0), model_selection(line), resources));
  else
    alone.emplace(line.positional(0), resources);
  const Reader& reader = opened ? opened->reader : *alone;
  check_node_numbers(line, reader.names(), {"ids", "edges", "pairs", "train"});
  NodeList list;
  std::optional<std::vector<NodeId>> nodes;
  if (line.has("nodes")) {
    list = listed_nodes(line, reader);
    nodes = std::move(list.nodes);
  }
  // The weights, and beside them the line that says what is claimed of them: both may be given
  // away.
  if (line.has("model")) {
    export_model(opened->model, npy_target(line, "model"));
    const RowProgram rows = opened->model.facts().rows;
    if (!rows.only_levels())
      line.note("these weights are for rows of their own, " + text_of(rows) +
                ": `unweave export STORE --rows F.npy --name " + opened->model.name() + "` writes them");
  }
  if (opened) note_state(line, opened->model, reader);
  if (line.has("rows")) write_rows(line, reader, opened->model, nodes);
  if (line.has("embeddings")) write_embeddings(line, reader, nodes, progress);
  if (line.has("all")) export_folder(line, reader, progress);
  const auto edge_weights = line.has("edge-weights") ? std::optional(npy_target(line, "edge-weights")) : std::nullopt;
  const std::string relation = line.has("relation") ? line.get<std::string>("relation") : std::string();
  if (line.has("edges"))
    export_edges(reader, npy_target(line, "edges"), edge_weights, relation,
                 line.has("roles") ? std::optional(npy_target(line, "roles")) : std::nullopt);
  else if (edge_weights)
    export_edge_weights(reader, *edge_weights, relation);
  if (line.has("pairs")) export_pairs(reader, line.get<std::string>("split"), npy_target(line, "pairs"));
  progress.finish();
  if (line.has("labels")) export_labels(reader, npy_target(line, "labels"));
  if (line.has("graphs")) export_graphs(reader, npy_target(line, "graphs"));
  if (line.has("graph-labels")) export_graph_labels(reader, npy_target(line, "graph-labels"));
  if (line.has("names")) export_names(reader, npy_target(line, "names"));
  if (line.has("train")) export_train(reader, npy_target(line, "train"));
  if (draw) export_requests(line, reader, draw_options(line, *draw, std::move(nodes)));
}

}  // namespace unweave
