// algorithms/api/unweave/store.h - an open store: a reader, which sees one moment of it, or the one
// writer that changes it.
//
//   unweave::Resources resources({.memory_bytes = 8ull << 30});
//   unweave::Writer writer("papers.store", resources);
//   writer.propagate({.levels = 2, .weights = {0, 0, 1}, .scheme = "gpr"});
//   const unweave::TrainedModel model = writer.train({.solver = "newton"});
//
// Errors are those of storage/io/error.h. Paths name folders of stores; ids of nodes are the
// user's. Neither object may be used by two threads at once; work inside runs on all threads.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/evaluation/reports.h"
#include "algorithms/live/digest.h"
#include "algorithms/live/reports.h"
#include "algorithms/propagation/schemes.h"
#include "algorithms/rows/row_program.h"
#include "algorithms/unlearning/report.h"
#include "engine/graph/node_names.h"
#include "storage/input/request_words.h"
#include "storage/input/words/class_words.h"
#include "storage/io/time_text.h"
#include "storage/types/feature_layout.h"
#include "storage/types/ids_are.h"
#include "storage/types/propagation_spec.h"
#include "storage/types/weight_unit.h"
#include "unweave/models.h"
#include "unweave/resources.h"

namespace unweave {

class StoreReader;
struct PurgeOptions;
struct PurgeReport;
class Ranks;

inline namespace v0 {

struct LevelInfo {
  std::uint32_t level = 0;
  std::uint64_t rows = 0;  ///< rows of sums kept; 0 at level 0
  std::uint64_t stale_rows = 0;
};

/// Nodes of one kind, whose ids follow each other.
struct NodeTypeInfo {
  std::string name;
  std::uint64_t first = 0;  ///< their first id
  std::uint64_t nodes = 0;
};

/// A model as the file of its store shows it.
struct ModelInfo {
  std::string name;
  std::string solver;
  std::string id;                  ///< id of its newest release; empty: a purge kept it, and it is not certified yet
  std::string digest;              ///< BLAKE2b-256 of its weights as `export --model` writes them, in hexadecimal
  std::uint64_t sequence = 0;      ///< the last request that it has absorbed
  std::string rows;                ///< what its rows are made of, as `stack,labels unit lift 1024`
  bool outdated = false;           ///< the store has acknowledged later ones
  bool other_propagation = false;  ///< it was trained on another propagation than the store's
  std::string damage;              ///< why nobody can read it; then only the name is known
};

/// What a store holds at one moment.
struct StoreInfo {
  /// An edge is two arcs for each unit of its weight, or one where edges have directions.
  std::uint64_t nodes = 0, edges = 0, arcs = 0;
  std::vector<NodeTypeInfo> types{};     ///< kinds of nodes; empty where there is one
  std::optional<PairRules> pairs{};      ///< where links are predicted
  std::uint64_t held_edges = 0;          ///< edges out of the graph, which are not among `edges`
  std::vector<std::string> relations{};  ///< kinds of edges; empty where there is one
  /// Types of the ends of each of them, first and second; none where they are not known, and no
  /// lists where no ends are.
  std::vector<std::vector<std::string>> ends{};
  std::vector<std::vector<std::string>> subsets{};  ///< sets of them that have copies of their own
  bool directed = false;                            ///< each edge leads from its first node to its second
  std::uint32_t max_weight = 1;                     ///< as declared; 1 where edges have no weights
  std::uint64_t weight_sum = 0;                     ///< weights of all edges, each 1 where they have none
  std::optional<WeightUnit> weight_unit{};          ///< where weights are real: what the two count
  std::uint32_t features = 0, classes = 0;
  std::vector<std::string> class_names;  ///< one a class; empty where they have numbers alone
  std::optional<std::uint64_t> named;    ///< nodes that have a name; absent where nodes have numbers alone
  std::optional<IdsAre> ids_are;         ///< what a number means where nodes have names, where the import said so
  std::uint64_t targets = 0;             ///< nodes that have an embedding, or would have one by default
  std::optional<double> bits_per_arc;
  std::string order;
  std::optional<PropagationSpec> propagation;
  std::uint64_t stale_rows = 0;
  double lazy_error_bound = 0;  ///< largest 2-norm, over the columns, of the error that stale rows leave in Z
  std::uint64_t pending_requests = 0;
  std::uint64_t expiries = 0;           ///< what is to be removed at a given time
  std::optional<Millis> next_expiry{};  ///< when the first one is
  std::uint64_t acknowledged = 0;       ///< requests
  /// Bytes at the journal's end of a batch that is not acknowledged: an append was ended there, or
  /// is under way.
  std::uint64_t unfinished_bytes = 0;
  bool pending_purge = false;
  std::uint64_t labelled = 0, train = 0, valid = 0, test = 0;  ///< nodes; splits of graphs where these have classes
  std::uint64_t graphs = 0, labelled_graphs = 0;               ///< numbers of whole graphs; 0 in a store without
  bool standardized = false;
  FeatureScale scale;
  FeatureLayout feature_layout;
  /// How large the files of the present generation are, folder by folder, in the order of the
  /// manifest; then those that are kept of propagations that are not finished, where there are
  /// some.
  std::vector<std::pair<std::string, std::uint64_t>> bytes;
  std::vector<LevelInfo> levels;  ///< empty before a propagation
  std::vector<ModelInfo> models;
  std::optional<Digest> digest;
};

/// Opens a store for reading, and says what it holds. `with_digest`: reads all of it. Throws
/// DataError, ResourceError.
[[nodiscard]] StoreInfo describe_store(const std::filesystem::path& store, Resources& resources,
                                       bool with_digest = false);

/// One moment of a store: its last generation and every request acknowledged since. Writes nothing.
class Reader {
 public:
  /// Throws DataError, ResourceError.
  Reader(const std::filesystem::path& store, Resources& resources);
  Reader(Reader&&) noexcept;
  ~Reader();

  [[nodiscard]] const std::filesystem::path& path() const noexcept;
  [[nodiscard]] std::uint64_t nodes() const noexcept;
  [[nodiscard]] std::uint64_t edges() const noexcept;     ///< undirected
  [[nodiscard]] std::uint32_t features() const noexcept;  ///< columns of the features
  /// By what the embedding was made; absent before a propagation.
  [[nodiscard]] const std::optional<PropagationSpec>& propagation() const noexcept;
  [[nodiscard]] bool has_labels() const noexcept;
  /// Whether a propagation gives rows to labelled nodes alone, where nobody says: there are labels,
  /// and no links are predicted, for which all nodes have rows.
  [[nodiscard]] bool labelled_rows() const noexcept;
  [[nodiscard]] std::uint64_t acknowledged() const noexcept;  ///< requests
  /// What users call the nodes.
  [[nodiscard]] const NodeNames& names() const noexcept;
  /// What users call the classes; empty where they have numbers alone. Throws FormatError.
  [[nodiscard]] std::vector<std::string> class_names() const;

 private:
  friend struct Internals;
  Resources* resources_;
  std::unique_ptr<StoreReader> store_;
};

/// Sums some columns of a propagation and keeps their tiles in the store, which stays as it is;
/// Writer::propagate() joins them. Any number of processes may do so at a time. `meter` as there.
/// Throws UsageError, ResourceError, DataError.
TileReport propagate_tiles(const Reader& store, const PropagationSpec& spec, const TileChoice& choice,
                           const PropagateMeter& meter = {});

/// Where lambda comes from.
enum class LambdaChoice {
  given,          ///< SolverOptions::lambda
  by_size,        ///< default_lambda() of the store's declared sizes
  by_validation,  ///< the best of nine values on the validation split
};

/// What a model's rows are made of (algorithms/rows/row_program.h), in the words of users.
struct RowChoice {
  /// `levels` or `stack`, then blocks (algorithms/rows/row_block.cpp), in any order; or `auto`
  /// alone: the validation split chooses among candidate_programs(), each with the lambda that it
  /// would choose where that is asked for. Empty: levels.
  std::vector<std::string> of{};
  std::optional<RowScale> scale{};  ///< default: unit with a lift, else clip
  std::optional<PairForm> pair{};   ///< rows are of pairs of nodes, to predict links
  std::optional<Pool> pool{};       ///< rows of whole graphs; none: rows of nodes
  std::optional<Lift> lift{};
};

struct TrainOptions {
  std::string solver{};  ///< empty: the default one
  std::string name{};    ///< name of the model; empty: the solver's
  SolverOptions options{};
  LambdaChoice lambda = LambdaChoice::by_size;
  /// Whether rows end in a constant, whatever `options` says; no value: as the solver has it.
  /// Networks have biases instead.
  std::optional<bool> intercept{};
  std::vector<double> weights{};  ///< weights of the levels, L + 1; empty: as propagated
  /// By the validation split, among candidate_weights(), before lambda is; then `weights` is empty.
  bool choose_weights = false;
  RowChoice rows{};
  std::filesystem::path key{};  ///< file of the key that signs certificates; empty: the store's own
  /// Is told, before the training, which model of the same name will be replaced, and by which; may
  /// be empty.
  std::function<void(const ModelFacts& present, const ModelFacts& next)> before_replacement{};
};

/// A column of the features that has nearly all of their norm, so that the others hardly count.
struct DominantColumn {
  std::uint32_t column = 0;  ///< from 0
  double share = 0;          ///< its part of the sum over rows and columns of sqrt(d(u)) |x_j(u)|
};

struct TrainedModel {
  ModelFacts facts;
  StepReport report;
  std::vector<LambdaTrial> lambda_trials;    ///< in the order in which they were made; empty unless asked for
  std::vector<WeightsTrial> weights_trials;  ///< likewise
  std::vector<RowsTrial> rows_trials;        ///< likewise
  double default_lambda = 0;                 ///< what LambdaChoice::by_size gives
  std::uint64_t rows = 0;                    ///< training rows
  Accuracies accuracies;
  Accuracies majority;     ///< what always naming the most frequent class of a split reaches
  std::string public_key;  ///< key under which its certificates are signed
  std::optional<DominantColumn> dominant;
};

/// The one process that changes a store. Every change is durable when its function returns. After
/// an exception a writer says whether it can go on: where it cannot, every further change throws
/// DataError, and a new writer goes on from what is durable. While a StreamSession is open, it
/// alone may change the store: propagate(), train() and purge() throw UsageError.
class Writer {
 public:
  /// Throws DataError, ResourceError where another process writes the store.
  Writer(const std::filesystem::path& store, Resources& resources);
  /// As rank 0 of a job whose other ranks are in follow_stream(): for one StreamSession. A job of
  /// one rank is as above.
  Writer(const std::filesystem::path& store, Resources& resources, Ranks& ranks);
  Writer(Writer&&) noexcept;
  Writer& operator=(Writer&&) noexcept;
  ~Writer();

  [[nodiscard]] const std::filesystem::path& path() const noexcept;
  [[nodiscard]] const std::optional<PropagationSpec>& propagation() const noexcept;
  [[nodiscard]] std::uint64_t nodes() const noexcept;
  [[nodiscard]] bool has_labels() const noexcept;
  /// Whether a propagation gives rows to labelled nodes alone, where nobody says: there are labels,
  /// and no links are predicted, for which all nodes have rows.
  [[nodiscard]] bool labelled_rows() const noexcept;
  [[nodiscard]] std::uint64_t acknowledged() const noexcept;  ///< requests
  /// Bytes of a batch that was never acknowledged, which this object has cut off the journal's end;
  /// 0 where there were none.
  [[nodiscard]] std::uint64_t dropped_bytes() const noexcept;
  /// What to tell of acknowledged requests whose ids are no plain text, as older programs took
  /// them; empty: there are none.
  [[nodiscard]] const std::string& remark_on_ids() const noexcept;
  /// What users call the nodes; until the next change of the store.
  [[nodiscard]] const NodeNames& names() const noexcept;

  /// Computes the embedding anew: Z = sum of w_l P^l X (algorithms/propagation/PROPAGATION.md).
  /// Weights follow from the scheme; without a scheme they are those given, or where there are none
  /// sgc's. `meter` is told of rows in the place of the meter of the resources. `how`: what becomes
  /// of parts that an earlier call, or propagate_tiles(), has finished. Throws UsageError (no
  /// features, a parameter out of range, parts of other options), ResourceError, DataError (tiles
  /// that are missing or damaged).
  PropagateReport propagate(const PropagationSpec& spec, const PropagateMeter& meter = {},
                            const PropagateHow& how = {});

  /// The readable models that stand on the present propagation, and would not on this one.
  [[nodiscard]] std::vector<std::string> models_lost_by(const PropagationSpec& next) const;

  /// Learns a model on the training rows and saves it, in the place of one of the same name. Throws
  /// UsageError for options that do not fit, DataError, ResourceError; Cancelled, after which the
  /// writer goes on.
  TrainedModel train(const TrainOptions& options);

  /// Erases what was removed from every byte of the store, as purge_store() of
  /// unweave/maintenance.h, and goes on with the purged store: no other process can write it in
  /// between. Throws what purge_store() throws, after which the writer goes on with the store as it
  /// is then, and whatever opening it throws, after which it does not; UsageError under several
  /// ranks.
  PurgeReport purge(const PurgeOptions& options);

 private:
  friend struct Internals;
  struct State;
  std::unique_ptr<State> state_;
};

/// A model and its store, read one after the other.
struct OpenedModel {
  StoredModel model;
  Reader reader;
};
/// Both as they are at one time: they are read once more where a purge has come between, which
/// numbers requests anew. Throws what read_model() and Reader throw.
[[nodiscard]] OpenedModel open_with_model(const std::filesystem::path& store, const ModelSelection& selection,
                                          Resources& resources);

/// What words of requests mean: nodes and classes by their names, where they have some. The store
/// outlives it.
[[nodiscard]] RequestWords request_words(const Reader& reader);
[[nodiscard]] RequestWords request_words(const Writer& writer);
/// What users call the nodes as the files have it, for who asks while the store is changed:
/// removals of later are not among it, and it outlives the writer.
[[nodiscard]] std::shared_ptr<const NodeNames> names_in_files(const Writer& writer);
/// A list of nodes, with repeats, and the memory that it takes of the budget.
struct NodeList {
  std::vector<NodeId> nodes;
  Reservation memory;
};
/// The nodes that a file lists, as splits of an import are: ids or a mask, FILE or FILE[COLUMN].
/// `remark` is told of a first line that was left out as a header. Throws InputError, DataError,
/// ResourceError.
[[nodiscard]] NodeList read_nodes(const Reader& reader, const std::string& file,
                                  const std::function<void(const std::string&)>& remark);

}  // namespace v0
}  // namespace unweave
