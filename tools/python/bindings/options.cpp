// tools/python/bindings/options.cpp - reads the options that Python gives.
#include "bindings/options.h"

#include <map>
#include <span>
#include <utility>

#include "unweave/fields/ingest.h"
#include "unweave/ingest.h"

namespace unweave::python {
namespace {

/// A scale as `import --scale` names it: "rows", "none" or a number.
FeatureScale feature_scale(const py::dict& options) {
  const py::object given = options["scale"];
  FeatureScale scale;
  if (py::isinstance<py::str>(given)) {
    const auto text = given.cast<std::string>();
    if (text != "rows" && text != "none") throw UsageError(option("scale") + " must be rows, none or a number");
    scale.as_given = text == "none";
    return scale;
  }
  scale.divisor = taken_or(options, "scale", 1.0);
  if (!(scale.divisor >= FeatureScale::kLeastDivisor && scale.divisor <= FeatureScale::kMostDivisor))
    throw UsageError(option("scale") + " must lie between 1e-100 and 1e100");
  return scale;
}

FeatureType feature_type(const std::string& name) {
  const std::optional<FeatureType> type = feature_type_named(name);
  if (!type) throw UsageError(option("feature-type") + " must be f32 or f16");
  return *type;
}

std::optional<InputFile> file_at(const py::dict& options, const char* key) {
  if (!options.contains(key) || options[key].is_none()) return std::nullopt;
  return input_file(options[key]);
}

/// Which texts have a header, and which have none, where Python says so.
void set_headers(const py::dict& options, ImportOptions& out) {
  const auto file_of = [](std::optional<InputFile>& file) { return file ? &*file : nullptr; };
  const std::map<std::string, InputFile*> texts{
      {"edges", file_of(out.edges)},   {"ids", file_of(out.ids)},
      {"labels", file_of(out.labels)}, {"train", file_of(out.train)},
      {"valid", file_of(out.valid)},   {"test", file_of(out.test)},
      {"graphs", file_of(out.graphs)}, {"features", out.features ? std::get_if<InputFile>(&*out.features) : nullptr}};
  for (const auto& [name, has_header] : taken_or(options, "headers", std::map<std::string, bool>()))
    if (InputFile* const file = texts.at(name)) file->header = has_header ? Header::yes : Header::no;
}

/// Kinds of nodes, and which of them edges and labels are of.
void add_types(const py::dict& options, ImportOptions& out) {
  for (const auto& [name, nodes] : options["types"].cast<std::vector<std::pair<std::string, std::uint64_t>>>())
    out.types.push_back({name, nodes});
  out.labels_of = taken<std::size_t>(options, "labels_of");
  using Ends = std::optional<std::pair<std::size_t, std::size_t>>;
  const auto all = taken_or(options, "relation_ends", std::vector<Ends>());
  for (std::size_t r = 0; r < all.size(); ++r)
    if (all[r]) out.layers.relations.at(r).ends = EndTypes{all[r]->first, all[r]->second};
}

/// A file or None for each type.
TypedFeatures typed_features(const py::list& files, const NodeTypes& types) {
  TypedFeatures typed;
  for (const NodeType& type : types) typed.nodes.push_back(type.nodes);
  for (const py::handle file : files)
    typed.files.push_back(file.is_none() ? std::nullopt
                                         : std::optional(input_file(py::reinterpret_borrow<py::object>(file))));
  return typed;
}

}  // namespace

InputFile input_file(const py::object& source) {
  if (!py::isinstance<py::dict>(source)) return named_input(source.cast<std::filesystem::path>().string());
  const auto array = source.cast<py::dict>();
  std::vector<std::span<const char>> pieces;
  for (const py::handle piece : array["pieces"]) {
    const auto memory = py::cast<py::array>(piece);
    pieces.emplace_back(static_cast<const char*>(memory.data()), static_cast<std::size_t>(memory.nbytes()));
  }
  return memory_input(array["name"].cast<std::string>(), array["type"].cast<std::string>(),
                      array["shape"].cast<std::vector<std::uint64_t>>(), array["fortran_order"].cast<bool>(),
                      std::move(pieces));
}

ImportOptions import_options(const py::dict& options) {
  ImportOptions out;
  out.edges = file_at(options, "edges");
  out.two_row_edges = taken_or(options, "two_row_edges", false);
  out.layers.directed = taken_or(options, "directed", false);
  if (options.contains("relations"))
    for (const auto& [name, edges] : options["relations"].cast<py::dict>()) {
      out.layers.relations.push_back({name.cast<std::string>()});
      out.relations.push_back({input_file(py::reinterpret_borrow<py::object>(edges))});
      if (options.contains("relation_weights"))
        out.relations.back().weights =
            file_at(options["relation_weights"].cast<py::dict>(), py::str(name).cast<std::string>().c_str());
    }
  out.layers.subsets = taken_or(options, "subsets", std::vector<std::vector<std::uint32_t>>());
  if (options.contains("types")) add_types(options, out);
  if (const auto pairs = taken<std::string>(options, "pairs")) out.pairs = pair_rules_named(*pairs);
  out.ignore_weights = taken_or(options, "ignore_weights", false);
  out.max_weight = taken_or(options, "max_weight", std::uint32_t{1});
  if (const auto weights = taken<std::string>(options, "weights")) {
    out.weight_unit = weight_unit_named(*weights);
    out.max_weight = kMostWeight;
    if (const auto self = taken<std::uint32_t>(options, "self_weight")) out.weight_unit->self = *self;
  }
  out.edge_weights = file_at(options, "edge_weights");
  if (options.contains("csr") && !options["csr"].is_none()) {
    const auto csr = options["csr"].cast<py::dict>();
    out.features = CsrInput{CsrFiles{input_file(csr["indptr"]), input_file(csr["indices"]), file_at(csr, "values")},
                            csr["columns"].cast<std::uint64_t>()};
  } else if (const auto features = file_at(options, "features")) {
    out.features = *features;
  } else if (options.contains("typed_features")) {
    out.features = typed_features(options["typed_features"].cast<py::list>(), out.types);
  }
  out.nodes = taken<std::uint64_t>(options, "nodes");
  out.ids = file_at(options, "ids");
  if (const auto ids_are = taken<std::string>(options, "ids_are")) {
    out.ids_are = ids_are_of(*ids_are);
    if (!out.ids_are) throw UsageError(option("ids-are") + ": '" + *ids_are + "' is neither names nor positions");
  }
  out.labels = file_at(options, "labels");
  out.classes = taken<std::uint64_t>(options, "classes");
  out.class_names = taken_or(options, "class_names", std::vector<std::string>());
  out.train = file_at(options, "train");
  out.valid = file_at(options, "valid");
  out.test = file_at(options, "test");
  out.graphs = file_at(options, "graphs");
  out.number_of_graphs = taken<std::uint64_t>(options, "number_of_graphs");
  out.graph_labels = file_at(options, "graph_labels");
  out.graph_train = file_at(options, "graph_train");
  out.graph_valid = file_at(options, "graph_valid");
  out.graph_test = file_at(options, "graph_test");
  if (const auto tu = taken<std::filesystem::path>(options, "tu"))
    static_cast<void>(use_tu_dataset(*tu, taken<double>(options, "attribute_bound"), out));
  out.standardize = taken_or(options, "standardize", false);
  out.feature_type = feature_type(taken_or<std::string>(options, "feature_type", "f32"));
  if (options.contains("scale") && !options["scale"].is_none()) out.scale = feature_scale(options);
  out.order = taken_or<std::string>(options, "order", "none");
  set_headers(options, out);
  return out;
}

GenerateOptions generate_options(const py::dict& options) {
  const auto model = taken_or<std::string>(options, "model", "rmat");
  GenerateOptions out;
  if (model == "citation") {
    out = citation_options(taken<std::uint64_t>(options, "nodes"));
  } else if (model == "sbm") {
    out.model = GraphModel::kSbm;
  } else if (model != "rmat") {
    throw UsageError(option("model") + " must be rmat, sbm or citation");
  }
  out.scale = taken_or(options, "scale", out.scale);
  out.edge_factor = taken_or(options, "edge_factor", out.edge_factor);
  if (const auto nodes = taken<std::uint64_t>(options, "nodes")) out.nodes = nodes;
  if (const auto edges = taken<std::uint64_t>(options, "edges")) out.edges = edges;
  out.features = taken_or(options, "features", out.features);
  out.classes = taken_or(options, "classes", out.classes);
  out.seed = taken_or(options, "seed", out.seed);
  out.feature_type = feature_type(taken_or<std::string>(options, "feature_type", "f32"));
  out.order = taken_or<std::string>(options, "order", "none");
  return out;
}

PropagationSpec propagation_spec(const py::dict& options, bool labelled_rows) {
  PropagationSpec spec;
  spec.levels = taken_or(options, "hops", kDefaultHops);
  const auto weights = taken_or(options, "weights", std::vector<double>());
  const auto scheme = taken_or<std::string>(options, "scheme", "");
  spec.weights = scheme_weights(scheme, spec.levels, weights);
  spec.scheme = !weights.empty() ? "gpr" : scheme.empty() ? "sgc" : scheme;
  spec.rho = taken_or(options, "rho", spec.rho);
  const bool chebyshev = spec.scheme == "chebyshev";
  spec.scale_bits =
      taken_or(options, "scale_bits", chebyshev ? static_cast<std::uint32_t>(kLeastChebyshevBits) : spec.scale_bits);
  const auto rows = taken_or<std::string>(options, "rows", labelled_rows ? "labelled" : "all");
  if (rows != "all" && rows != "labelled") throw UsageError(option("rows") + " must be all or labelled");
  spec.all_rows = rows == "all";
  const auto keep = keep_named(taken_or<std::string>(options, "keep", "state"));
  if (!keep) throw UsageError(option("keep") + " must be state, embedding or hops");
  spec.kept.keep = *keep;
  const auto type = taken<std::string>(options, "keep_type");
  const auto exponent = taken<std::int32_t>(options, "keep_exponent");
  if (spec.kept.has_sums() && (type || exponent))
    throw UsageError(option(type ? "keep-type" : "keep-exponent") + " needs " + option("keep", "embedding") + " or " +
                     option("keep", "hops"));
  if (type && !feature_type_named(*type)) throw UsageError(option("keep-type") + " must be f32 or f16");
  if (type) spec.kept.type = *feature_type_named(*type);
  spec.kept.exponent = exponent.value_or(0);
  return spec;
}

std::optional<TileChoice> tile_choice(const py::dict& options) {
  const auto tile = taken<std::pair<std::uint64_t, std::uint64_t>>(options, "tile");
  const auto tiles = taken<std::uint64_t>(options, "tiles");
  if (!tile && !tiles) return std::nullopt;
  if (tile && tiles) throw UsageError(option("tile") + " and " + option("tiles") + " exclude each other");
  const PropagateHow how = propagate_how(options);
  if (how.assemble || how.restart)
    throw UsageError(option(how.assemble ? "assemble" : "restart") + " does not go with " + option("tile") + " and " +
                     option("tiles") + ", which only add tiles");
  if (tiles) return TileChoice{std::nullopt, *tiles};
  return TileChoice{tile->first, tile->second};
}

PropagateHow propagate_how(const py::dict& options) {
  PropagateHow how;
  how.restart = taken_or(options, "restart", false);
  how.assemble = taken_or(options, "assemble", false);
  if (how.restart && how.assemble)
    throw UsageError(option("restart") + " and " + option("assemble") + " exclude each other");
  return how;
}

namespace {

RowChoice row_choice(const py::dict& options) {
  RowChoice rows;
  if (options.contains("rows_of") && py::isinstance<py::str>(options["rows_of"]))
    rows.of = words_between_commas("rows-of", options["rows_of"].cast<std::string>());
  else
    rows.of = taken_or(options, "rows_of", std::vector<std::string>());
  if (const auto scale = taken<std::string>(options, "scale_rows")) rows.scale = scale_named(*scale);
  if (const auto pair = taken<std::string>(options, "pair")) rows.pair = pair_form_named(*pair);
  if (const auto pool = taken<std::string>(options, "pool")) rows.pool = pool_named(*pool);
  if (const auto lift = taken<std::string>(options, "lift")) rows.lift = lift_named(*lift);
  return rows;
}

}  // namespace

TrainOptions train_options(const py::dict& options) {
  TrainOptions out;
  out.solver = taken_or<std::string>(options, "solver", std::string(all_solver_infos().front().name));
  out.name = taken_or<std::string>(options, "name", "");
  SolverOptions& solver = out.options;
  const auto head = taken<std::string>(options, "head");
  if (head ? *head == "mlp" : !solver_info(out.solver).linear) {
    solver.head = Head::kSoftmax;
    solver.hidden = taken_or(options, "hidden", std::vector<std::size_t>{kHiddenUnits});
  } else if (head) {
    solver.head = parse_head(*head);
  }
  if (const auto activation = taken<std::string>(options, "activation"))
    solver.activation = parse_activation(*activation);
  solver.epsilon = taken_or(options, "epsilon", solver.epsilon);
  solver.delta = taken_or(options, "delta", solver.delta);
  solver.tau = taken_or(options, "tau", solver.tau);
  solver.alpha = taken_or(options, "alpha", solver.alpha);
  std::vector<std::string_view> given;
  for (const std::string_view asked : {"head", "hidden", "activation", "epsilon", "delta", "tau", "alpha"})
    if (options.contains(asked.data()) && !options[asked.data()].is_none()) given.push_back(asked);
  require_read_options(out.solver, solver, given);
  if (const auto bound = taken<std::string>(options, "bound")) solver.bound = parse_bound(*bound);
  for (const auto& [name, value] : taken_or(options, "parameters", std::map<std::string, double>()))
    solver.parameters[name] = value;
  solver.seed = taken<std::uint64_t>(options, "seed");
  if (options.contains("lambda") && !options["lambda"].is_none()) {
    if (py::isinstance<py::str>(options["lambda"])) {
      const auto text = options["lambda"].cast<std::string>();
      if (text != "auto") throw UsageError(option("lambda") + ": '" + text + "' is neither a number nor 'auto'");
      out.lambda = LambdaChoice::by_validation;
    } else {
      out.lambda = LambdaChoice::given;
      solver.lambda = taken_or(options, "lambda", solver.lambda);
    }
  }
  out.intercept = taken<bool>(options, "intercept");
  solver.intercept = solver.hidden.empty() && out.intercept.value_or(solver_info(out.solver).intercept);
  if (options.contains("weights") && py::isinstance<py::str>(options["weights"])) {
    const auto text = options["weights"].cast<std::string>();
    if (text != "auto") throw UsageError(option("weights") + ": '" + text + "' is neither numbers nor 'auto'");
    out.choose_weights = true;
  } else {
    out.weights = taken_or(options, "weights", std::vector<double>());
  }
  out.rows = row_choice(options);
  out.key = taken_or(options, "key", std::filesystem::path());
  return out;
}

AttackOptions attack_options(const py::dict& options) {
  AttackOptions out;
  out.canary = taken_or(options, "canary", out.canary);
  out.trials = taken_or(options, "trials", out.trials);
  out.confidence = taken_or(options, "confidence", out.confidence);
  out.rows = taken_or(options, "rows", out.rows);
  out.one_run = taken_or(options, "one_run", out.one_run);
  out.seed = taken<std::uint64_t>(options, "seed");
  return out;
}

ModelSelection model_selection(const py::dict& options) {
  return {taken<std::string>(options, "name"), taken<std::string>(options, "solver")};
}

}  // namespace unweave::python
