// tools/commands/import.cpp - `unweave import`: a store from files of edges, features, labels and
// splits.
#include <algorithm>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "storage/input/features/feature_reader.h"
#include "storage/io/error.h"
#include "tools/cli/build_report.h"
#include "tools/cli/message_style.h"
#include "tools/cli/report_json.h"
#include "tools/cli/step_progress.h"
#include "tools/commands/commands.h"
#include "tools/commands/import_figures.h"
#include "tools/commands/import_folders.h"
#include "tools/commands/import_kinds.h"
#include "unweave/fields/ingest.h"
#include "unweave/ranks.h"

namespace unweave {
namespace {

constexpr const char* kDescription =
    "Builds a store in a new or empty folder. Edges are made undirected (but for --directed); repeated edges and self loops are dropped and\n"
    "counted. Rows of features above norm 1 are scaled down to it (--scale). Every file may be plain, .gz or .zst; one may be -\n"
    "for standard input. Without edges the store holds flat data. An import that was ended begins anew when the same\n"
    "command is given again.";
constexpr const char* kExample =
    "D=tests/data/debian-deps\n"
    "  unweave import demo/debian.store --edges $D/edges.tsv.zst \\\n"
    "    --features indptr=$D/feat_indptr.npy.zst,indices=$D/feat_indices.npy.zst \\\n"
    "    --columns 2575 --labels $D/labels.npy --classes 58 \\\n"
    "    --split train=$D/train_idx.npy,test=$D/test_idx.npy\n"
    "  unweave import p.store --edges tests/data/debian-deps/edges.tsv.zst --plan\n"
    "  printf 'ann\\nbob\\n' | unweave import demo/people.store --ids -  # names\n"
    "  unweave import arxiv.store --ogb dataset/ogbn_arxiv  # as ogb fetches it";

/// The next comma that is not in brackets, or the end.
std::size_t end_of_part(const std::string& text, std::size_t from) {
  bool in_brackets = false, in_quotes = false;
  for (std::size_t at = from; at < text.size(); ++at) {
    in_quotes ^= in_brackets && text[at] == '"';
    if (!in_quotes && (text[at] == '[' || text[at] == ']')) in_brackets = text[at] == '[';
    if (text[at] == ',' && !in_brackets) return at;
  }
  return text.size();
}

/// "a=x,b=y" with keys of `allowed`, none twice.
std::map<std::string, InputFile> parse_files(const std::string& option, const std::string& text,
                                             const std::set<std::string>& allowed) {
  const auto fail = [&](const std::string& what) { throw UsageError("--" + option + ": " + what); };
  std::map<std::string, InputFile> files;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = end_of_part(text, at);
    const std::string part = text.substr(at, comma - at);
    const std::size_t equals = std::min(part.find('='), part.size());
    std::string key = part.substr(0, equals);
    if (key == "val" && allowed.contains("valid")) key = "valid";
    if (equals + 1 >= part.size()) fail("'" + part + "' is not KEY=FILE");
    if (!allowed.contains(key)) {
      std::string names;
      for (const std::string& name : allowed) names.append(names.empty() ? "" : ", ").append(name);
      fail(std::string("there is no key '").append(key).append("'; there are ").append(names));
    }
    if (!files.emplace(key, named_input(part.substr(equals + 1))).second) fail(key + " is given twice");
    at = comma + 1;
  }
  return files;
}

std::optional<InputFile> file_at(const std::map<std::string, InputFile>& files, const std::string& key) {
  const auto found = files.find(key);
  return found == files.end() ? std::nullopt : std::optional(found->second);
}

std::optional<InputFile> file_option(const CommandLine& line, const std::string& option) {
  if (!line.has(option)) return std::nullopt;
  return named_input(line.get<std::string>(option));
}

std::optional<std::uint64_t> count_option(const CommandLine& line, const std::string& option) {
  return line.has(option) ? std::optional(line.get<Count>(option).value) : std::nullopt;
}

/// A CSR matrix is recognised by its keys.
std::optional<FeatureInput> features_option(const CommandLine& line) {
  const auto columns = count_option(line, "columns");
  const std::string text = line.has("features") ? line.get<std::string>("features") : "";
  const bool csr = text.starts_with("indptr=") || text.starts_with("indices=") || text.starts_with("values=");
  if (columns && !csr) throw UsageError("--columns goes with --features indptr=F,indices=F[,values=F] only");
  if (!line.has("features")) return std::nullopt;
  if (!csr) return named_input(text);
  const auto files = parse_files("features", text, {"indptr", "indices", "values"});
  const auto indptr = file_at(files, "indptr");
  const auto indices = file_at(files, "indices");
  if (!indptr || !indices) throw UsageError("--features: give both indptr=F and indices=F");
  if (!columns) throw UsageError("--features indptr=F,indices=F needs --columns C, the number of features");
  return CsrInput{{*indptr, *indices, file_at(files, "values")}, *columns};
}

/// "yes", "no", or "edges=yes,labels=no": what is said of the first lines of texts.
void set_headers(const CommandLine& line, ImportOptions& options) {
  if (!line.has("header")) return;
  const std::string text = line.get<std::string>("header");
  std::map<std::string, std::optional<InputFile>*> files{
      {"edges", &options.edges}, {"ids", &options.ids},   {"labels", &options.labels}, {"train", &options.train},
      {"valid", &options.valid}, {"test", &options.test}, {"graphs", &options.graphs}};
  std::vector<InputFile*> features;
  if (options.features && (std::holds_alternative<InputFile>(*options.features) ||
                           std::holds_alternative<TypedFeatures>(*options.features)))
    features = feature_files(*options.features);
  const auto set = [&](const std::string& key, const std::string& word) {
    if (word != "yes" && word != "no")
      throw UsageError("--header: '" + word + "' is neither yes nor no; give one, or KEY=yes for some files");
    const Header header = word == "yes" ? Header::yes : Header::no;
    if (key == "features") {
      if (features.empty()) throw UsageError("--header: there are no features as text");
      for (InputFile* const one : features) one->header = header;
    } else if (const auto file = files.find(key); file == files.end()) {
      throw UsageError("--header: there is no key '" + key +
                       "'; there are edges, features, graphs, ids, labels, test, train, valid");
    } else if (key == "edges" && !options.relations.empty()) {
      for (RelationEdges& relation : options.relations) relation.file.header = header;
    } else if (!*file->second) {
      throw UsageError("--header: there is no file of " + key);
    } else {
      (*file->second)->header = header;
    }
  };
  if (text.find('=') == std::string::npos) {
    for (const auto& [key, file] : files)
      if (*file || (key == "edges" && !options.relations.empty())) set(key, text);
    if (!features.empty()) set("features", text);
    return;
  }
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    const std::string part = text.substr(at, comma - at);
    const std::size_t equals = std::min(part.find('='), part.size());
    set(part.substr(0, equals), equals == part.size() ? "" : part.substr(equals + 1));
    at = comma + 1;
  }
}

void require_one_pipe(const ImportOptions& options) {
  std::vector<std::optional<InputFile>> files;
  for (const RelationEdges& relation : options.relations) {
    files.emplace_back(relation.file);
    files.push_back(relation.weights);
  }
  files.insert(files.end(), {options.edges, options.edge_weights, options.ids, options.labels, options.train,
                             options.valid, options.test, options.replay, options.graphs, options.graph_labels,
                             options.graph_train, options.graph_valid, options.graph_test});
  if (options.features)
    for (const InputFile* const file : feature_files(std::as_const(*options.features))) files.emplace_back(*file);
  const auto pipes =
      std::count_if(files.begin(), files.end(), [](const auto& file) { return file && file->path == "-"; });
  if (pipes > 1) throw UsageError("only one file can be -, standard input");
}

/// Real weights: the unit, and what a self loop weighs.
void add_weight_unit(const CommandLine& line, ImportOptions& options) {
  if (!line.has("weights")) {
    if (line.has("self-weight")) throw UsageError("--self-weight counts units; it needs --weights unit=U");
    return;
  }
  if (line.has("max-weight"))
    throw UsageError(
        "--weights and --max-weight exclude each other: the first one is for real weights, the other one for whole "
        "numbers; give one of them");
  options.max_weight = kMostWeight;
  options.weight_unit = weight_unit_named(line.get<std::string>("weights"));
  if (const auto self = count_option(line, "self-weight"))
    options.weight_unit->self =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(*self, std::numeric_limits<std::uint32_t>::max()));
}

ImportOptions import_options(const CommandLine& line) {
  ImportOptions options;
  options.order = line.get<std::string>("order");
  options.edges = file_option(line, "edges");
  options.layers.directed = line.get<bool>("directed");
  add_relations(line, options);
  if (line.has("pairs")) options.pairs = pair_rules_named(line.get<std::string>("pairs"));
  options.ignore_weights = line.get<bool>("ignore-weights");
  if (const auto most = count_option(line, "max-weight"))
    options.max_weight =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(*most, std::numeric_limits<std::uint32_t>::max()));
  if (options.max_weight == 1 && line.has("max-weight"))
    throw UsageError(
        "--max-weight 1: edges whose weights are all 1 have none; take them by --ignore-weights, or declare a "
        "largest weight of 2 at least");
  add_weight_unit(line, options);
  options.features = features_option(line);
  options.nodes = count_option(line, "nodes");
  options.ids = file_option(line, "ids");
  if (line.has("ids-are")) {
    options.ids_are = ids_are_of(line.get<std::string>("ids-are"));
    if (!options.ids_are)
      throw UsageError("--ids-are: '" + line.get<std::string>("ids-are") + "' is neither names nor positions");
  }
  options.labels = file_option(line, "labels");
  if (line.has("classes")) {
    const auto& classes = line.get<Classes>("classes");
    options.classes = classes.count;
    options.class_names = classes.names;
  }
  if (line.has("split")) {
    const auto files = parse_files("split", line.get<std::string>("split"), {"train", "valid", "test"});
    options.train = file_at(files, "train");
    options.valid = file_at(files, "valid");
    options.test = file_at(files, "test");
  }
  for (const std::string other : {"subset", "ends"})
    if (line.has(other) && !line.has("relation") && !line.has("ogb"))
      throw UsageError("--" + other + " needs --relation: it names relations");
  add_types(line, options);
  add_ends(line, options);
  if (line.has("ogb")) add_ogb_folder(line, options);
  add_subsets(line, options);
  add_edge_weights(line, options);
  options.graphs = file_option(line, "graphs");
  options.number_of_graphs = count_option(line, "number-of-graphs");
  options.graph_labels = file_option(line, "graph-labels");
  if (line.has("graph-split")) {
    const auto files = parse_files("graph-split", line.get<std::string>("graph-split"), {"train", "valid", "test"});
    options.graph_train = file_at(files, "train");
    options.graph_valid = file_at(files, "valid");
    options.graph_test = file_at(files, "test");
  }
  if (line.has("attribute-bound") && !line.has("tu")) throw UsageError("--attribute-bound goes with --tu");
  if (line.has("tu")) add_tu_folder(line, options);
  options.replay = file_option(line, "replay");
  set_headers(line, options);
  options.standardize = line.get<bool>("standardize");
  options.scale = line.get<ScaleName>("scale").value;
  if (options.standardize && line.given("scale"))
    throw UsageError("--standardize and --scale: give one of them; standardising sets the largest norm to 1 itself");
  options.feature_type = line.get<FeatureTypeName>("feature-type").value;
  require_one_pipe(options);
  return options;
}

}  // namespace

void run_import(CommandLine& line) {
  line.describe(kDescription, {"STORE"}, kExample);
  auto add = line.options().add_options();
  const auto file = [] { return po::value<std::string>()->value_name("F"); };
  const auto count = [](const char* name) { return po::value<Count>()->value_name(name); };
  add("edges", file(),
      "text (two ids a line, # comments, perhaps a header), .npy (m x 2 or 2 x m integers), .npz (a sparse matrix of SciPy, "
      "Shchur's adj_*, edge_index), Matrix Market or METIS; one array of an archive is F.npz[NAME], columns of a table by name "
      "or by place from 0 are F.csv[src,dst] or F.csv[0,2], and a folder of parts is read as one table, here and below");
  add("directed", po::bool_switch(),
      "edges are arcs, from the first node to the second; a loop is one, too. A hop then averages over where arcs of a node "
      "lead, and beside it over where they come from: a row of the embedding has both, and is twice as wide. With "
      "--relation, each kind of edges and each set of kinds has both");
  add("relation", po::value<std::vector<std::string>>()->value_name("NAME=F")->composing(),
      "in place of --edges, once for each kind of edges: their file, and what requests call them. A hop then averages over "
      "each kind apart: a row of the embedding has one for each, side by side");
  add("subset", po::value<std::vector<std::string>>()->value_name("A,B,..")->composing(),
      "with --relation, for each set of kinds: a hop also averages over all edges of these kinds together");
  add("ends", po::value<std::vector<std::string>>()->value_name("RELATION=TYPE,TYPE")->composing(),
      "with --relation and --type: ids in the file of the relation count from 0 within these types, that of its first and "
      "that of its second nodes, as OGB and PyTorch Geometric have them; else they are ids of the store. Edges that requests "
      "insert are held to these types, too");
  add("pairs", po::value<std::string>()->value_name("valid=S,test=S,.."),
      "to predict links: shares of all pairs of nodes, drawn by a hash of their ids and key=K (0), whose edges are held "
      "out of the graph for validation and test; of the other pairs share=S (1) are for training, whose edges stay in the "
      "graph unless apart is among the words, and each brings negatives=K (1) pairs of no edge along, or uniform=M all "
      "together; with --directed a pair is ordered");
  add("max-weight", count("W"),
      "edges have weights, whole numbers from 1 to W: a third number a line, values of a sparse matrix, METIS's, or what "
      "--edge-weights has. An edge of weight w counts as w parallel edges (one hop adds w times), and costs as much; "
      "65535 at most. An edge of weight 0 is none, under every option");
  add("weights", po::value<std::string>()->value_name("unit=U"),
      "edges have real weights, from where --max-weight has whole ones: each is brought to the nearest multiple m of U, a "
      "power of two as 2^-10 or 0.125, from 2^-30 to 1. m is 1 to 65535; other weights are errors");
  add("self-weight", count("M"),
      "with --weights: units that the self loop of a node weighs, as many as make 1 where nothing is said");
  add("edge-weights", po::value<std::vector<std::string>>()->value_name("F|NAME=F")->composing(),
      "of edges in .npy: their weights, .npy of one number an edge; others than 0 and 1 need --max-weight, --weights or "
      "--ignore-weights. NAME=F has those of the relation NAME");
  add("ignore-weights", po::bool_switch(),
      "take edges that have weights, a third number a line or values of a Matrix Market file, without them");
  add("features", file(),
      "dense .npy N x F, dense text with --nodes, .npz (CSR), or indptr=F,indices=F[,values=F] with --columns; F.csv[1:] "
      "leaves out the first column");
  add("columns", count("C"), "number of features of a CSR matrix in separate arrays");
  add("feature-type", po::value<FeatureTypeName>()->value_name("f32|f16")->default_value({}),
      "bits of a value at rest; f16 halves X on disk: values rounded toward zero to 11 significant bits, which then are the features");
  add("scale", po::value<ScaleName>()->value_name("rows|none|B")->default_value({}),
      "how rows of features come to norm at most 1: rows, those above it are divided by their norm; none, one above it "
      "is an error; a number B, public and not computed from the rows: all are divided by B, so that Z is that of X / B "
      "(algorithms/propagation/PROPAGATION.md)");
  add("nodes", count("N"),
      "number of nodes; default: rows of the features, else of the labels, else largest id of an edge + 1, where an id above 2^24 "
      "+ 64 x edges is an error");
  add("type", po::value<std::vector<std::string>>()->value_name("NAME=NODES")->composing(),
      "for each kind of nodes: how many there are. Those of the first have the ids from 0, those of the next follow; requests "
      "and outputs have these ids, and `info` lists them");
  add("features-of", po::value<std::vector<std::string>>()->value_name("TYPE=F")->composing(),
      "with --type, features of one kind of nodes: columns of its own, beside those of the other kinds, in the order of the "
      "types. Nodes of other kinds have zeros there");
  add("labels-of", po::value<std::string>()->value_name("TYPE"),
      "with --type: --labels has a line for each node of this kind, and --split ids that count from 0 within it");
  add("ids", file(),
      "names of the nodes, that of node 0 first: text, one a line, in quotes where it has commas (an empty line is a node "
      "without a name), or .npy of integers or byte strings. Edges, splits and requests as text, and what is printed, then "
      "speak of names; .npy, .npz, Matrix Market and METIS of the positions of these lines, from 0, unless --ids-are says otherwise");
  add("ids-are", po::value<std::string>()->value_name("names|positions"),
      "with --ids: what a number means in edges, splits and requests, in every format: the node whose name is that number, or "
      "the node at that position. It has to be said where a name is the position of another node");
  add("header", po::value<std::string>()->value_name("yes|no|KEY=yes,.."),
      "whether the first line of texts names their columns, for all files or for some: edges, features, ids, labels, train, "
      "valid, test. Without it a line of words is a header, and one that may be data too is an error");
  add("labels", file(), "one class a node, .npy or text; -1 or NaN for none");
  add("classes", po::value<Classes>()->value_name("C|A,B,.."),
      "number of classes, largest label + 1 by default; or their names (cat,dog; quotes as in CSV), in the order of "
      "their numbers: lines of --labels as text then have names, and so has what is printed");
  add("split", po::value<std::string>()->value_name("train=F,valid=F,test=F"),
      "ids of each split, .npy or text, or a mask, .npy of booleans or a text of True and False, F.npy[2] one of several "
      "masks; each may be left out; ids without a label are ignored");
  add("replay", file(),
      "for a deleted data replay test: the nodes that the requests of F remove get a class of their own and 100 binary "
      "features that no other node has");
  add("ogb", po::value<std::string>()->value_name("DIR"),
      "folder of a node-property data set of OGB as fetched, raw/ and split/ inside, in place of --edges, --features, "
      "--nodes, --labels and --split");
  add("graphs", file(),
      "the nodes belong to whole graphs, of which each gets a class: the number of its graph a node, from 0, .npy or text; -1 "
      "for none. An edge joins nodes of one graph");
  add("number-of-graphs", count("G"), "number of graphs; default: rows of --graph-labels, else largest number + 1");
  add("graph-labels", file(), "one class a graph, as --labels for nodes");
  add("graph-split", po::value<std::string>()->value_name("train=F,valid=F,test=F"),
      "numbers of the graphs of each split, as --split for nodes");
  add("tu", po::value<std::string>()->value_name("DIR/NAME"),
      "data set of TUDataset, files DIR/NAME_A.txt and others, in place of --edges, --features, --nodes, --graphs and "
      "--graph-labels: labels of nodes become columns of zeros and ones, distinct labels of graphs the classes");
  add("attribute-bound", po::value<double>()->value_name("B"),
      "with --tu: a public number that no attribute of a node exceeds; all are divided by it");
  line.set_choices("ids-are", {"names", "positions"});
  line.set_choices("order", {"none", "degree", "bfs", "community", "auto"});
  line.set_choices("feature-type", {"f32", "f16"});
  line.set_choices("scale", {"rows", "none"});
  add("order", po::value<std::string>()->value_name("ORDER")->default_value("none"),
      "order of nodes inside the store: none, degree (descending), bfs (breadth-first), community (those that share many "
      "neighbours together) or auto (computes them all and takes the one with the fewest bits an arc in a sample; purge "
      "chooses anew); ids stay the user's");
  add("standardize", po::bool_switch(),
      "columns to mean 0 and deviation 1, then the largest row norm to 1; for comparisons: certificates do not hold");
  add("plan", po::bool_switch(),
      "import nothing: say what it would take (sizes, memory, disk, passes, seconds) from headers and a sample of the "
      "lines, and what is assumed; exit code 3: cannot fit");
  if (!line.parse()) return;
  Ranks& job = Ranks::world();
  if (!job.alone() && line.given("plan"))
    throw UsageError("--plan is for one process; start the program without a launcher");
  const ImportOptions options = import_options(line);
  Resources resources({line.common().memory_bytes});
  if (line.get<bool>("plan")) {
    const std::optional<ImportForecast> forecast = forecast_import(line.positional(0), options, resources, true);
    if (!forecast) throw UsageError("--plan reads files twice; name files, not -, a pipe or a folder");
    print_import_plan(line, *forecast);
    return;
  }
  line.on_interrupt(interrupted_build(line.positional(0)));
  if (!job.first()) {  // its share of the graph, and nothing to say
    static_cast<void>(import_store(line.positional(0), options, resources));
    Figures().ranks();
    return;
  }
  StepProgress progress(line.error(), line.shows_progress());
  std::optional<ImportForecast> forecast;
  try {
    if (job.alone()) forecast = forecast_import(line.positional(0), options, resources, false);
  } catch (const std::exception&) {
    forecast.reset();  // the import itself tells what is wrong with its files
  }
  Measure measure;  // measures the import alone
  resources.set_meter(&progress);
  const ImportReport report = import_store(line.positional(0), options, resources);
  progress.finish();
  if (line.has("ogb")) note_missing_parts(line, options);
  if (!report.order_reason.empty()) line.note(report.order_reason);
  for (const std::string& remark : report.remarks) line.note(command_text(remark));
  if (const std::string remark = remark_on_sums(report); !remark.empty()) line.note(remark);
  Figures figures{.json = json_fields(report), .table = import_table(report)};
  add_measure(figures, measure);
  add_fields(figures.json, Prediction{forecast ? forecast->seconds : std::nullopt});
  figures.ranks();
  figures.print(line.out(), line.common().json);
}

}  // namespace unweave
