// algorithms/api/store.cpp - readers and writers of a store: facts, propagation, training.
#include "unweave/store.h"

#include <algorithm>
#include <utility>

#include "algorithms/api/internals.h"
#include "algorithms/live/live_store.h"
#include "algorithms/live/rank_propagation.h"
#include "algorithms/models/lazy_error.h"
#include "algorithms/models/recorded_release.h"
#include "algorithms/propagation/schemes.h"
#include "algorithms/registry/registry.h"
#include "engine/generations/store_purge.h"
#include "engine/resources/machine_profile.h"
#include "engine/resources/watcher.h"
#include "storage/io/error.h"
#include "storage/io/hex.h"
#include "storage/io/message.h"
#include "storage/io/store_folders.h"
#include "unweave/ranks.h"

namespace unweave {
inline namespace v0 {
namespace {

constexpr std::uint32_t kMostLevels = 1000;

std::uint64_t num_targets(const LiveStore& store) {
  if (store.propagated()) return store.embedding().cone().rows(store.embedding().levels());
  // What a propagation takes by default.
  return store.contents().has_labels() ? store.contents().num_labelled() : store.contents().num_nodes();
}

/// Nodes that have lost theirs, and keep it in the files until a purge, are not counted.
std::uint64_t present_names(const LiveStore& store) {
  const Contents& contents = store.contents();
  const NodeNames& names = contents.order().names();
  std::uint64_t count = names.named();
  for (const NodeId node : contents.cleared().sorted())
    if (contents.has_lost_name(node) && !names.name(contents.order().user(node)).empty()) --count;
  return count;
}

bool stands_on(const ModelRecord& record, const Manifest& manifest, const std::filesystem::path& store) {
  try {
    check_propagation(record, manifest, store);
    return true;
  } catch (const DataError&) {
    return false;
  }
}

/// Whether the model of this name was trained on the store's present propagation.
bool stands_on_present(const std::string& name, const LiveStore& store) {
  try {
    return stands_on(load_model(store.path(), name), store.manifest(), store.path());
  } catch (const UsageError&) {
    return true;  // purged meanwhile
  } catch (const DataError&) {
    return false;
  }
}

std::vector<ModelInfo> models_of(const std::vector<ModelSummary>& summaries, const LiveStore& store) {
  std::vector<ModelInfo> models;
  for (const ModelSummary& model : summaries) {
    ModelInfo info;
    info.name = model.name;
    info.solver = model.solver;
    info.damage = model.damage;
    if (model.damage.empty()) {
      info.id = model.id;
      info.digest = to_hex(model.digest);
      info.sequence = model.sequence;
      info.outdated = model.sequence != store.sequence();
      info.other_propagation = !stands_on_present(model.name, store);
    }
    models.push_back(std::move(info));
  }
  return models;
}

/// Whether files keep rows of a level: sums, or values in their place.
bool has_rows(const PropagationSpec& spec, std::uint32_t level) {
  return spec.kept.has_sums() ? level > 0 : keeps_rows(spec.kept, level, spec.levels);
}

void add_levels(StoreInfo& info, const LiveStore& store) {
  if (!store.propagated()) return;
  const Embedding& embedding = store.embedding();
  info.propagation = embedding.spec();
  info.stale_rows = embedding.stale_rows();
  info.lazy_error_bound = lazy_error_bound(embedding, store.contents());
  for (std::uint32_t level = 0; level <= embedding.levels(); ++level)
    info.levels.push_back({level, has_rows(embedding.spec(), level) ? embedding.cone().rows(level) : 0,
                           level < embedding.levels() ? embedding.stale(level).size() : 0});
}

/// The model of this name, where there is one that can be read.
/// The specification with the weights that its scheme gives. Throws UsageError for others, and what the levels cannot be.
PropagationSpec with_weights(PropagationSpec spec) {
  if (spec.levels > kMostLevels) throw UsageError(option("hops") + " must be at most " + std::to_string(kMostLevels));
  if (spec.scheme.empty()) spec.scheme = spec.weights.empty() ? "sgc" : "gpr";
  if (spec.scheme == "chebyshev" && spec.scale_bits < kLeastChebyshevBits)
    throw UsageError(option("scheme", "chebyshev") + " needs " + option("scale-bits") + " of at least " +
                     std::to_string(kLeastChebyshevBits));
  const bool given = spec.scheme == "gpr";
  std::vector<double> weights = scheme_weights(spec.scheme, spec.levels, given ? spec.weights : std::vector<double>());
  if (!given && !spec.weights.empty() && spec.weights != weights)
    throw UsageError(option("weights") + " and " + option("scheme", spec.scheme) + " contradict each other");
  spec.weights = std::move(weights);
  return spec;
}

/// Tells the meter of the resources how far the sums have come.
PropagateMeter meter_of(Resources& resources) {
  return [&resources, started = false, told = std::uint64_t{0}](const PropagateProgress& progress) mutable {
    if (!std::exchange(started, true)) resources.meter().start("propagate", progress.total, "rows");
    resources.meter().advance(progress.done - std::exchange(told, progress.done));
  };
}

}  // namespace

StoreInfo describe_store(const std::filesystem::path& path, Resources& resources, bool with_digest) {
  std::vector<ModelSummary> models = list_models(path);  // first: a writer at work acknowledges requests first
  const LiveStore store(path, Access::read, resources.memory(), release_ledger());
  const auto is_later = [&](const ModelSummary& model) { return model.sequence > store.sequence(); };
  if (std::any_of(models.begin(), models.end(), is_later)) models = list_models(path);  // purged meanwhile
  const Manifest& manifest = store.manifest();
  const Contents& contents = store.contents();
  const std::uint64_t arcs = contents.graph().num_arcs();
  StoreInfo info;
  info.nodes = manifest.nodes;
  info.edges = contents.graph().num_edges();
  info.max_weight = manifest.max_weight;
  info.weight_sum = arcs / 2;
  info.arcs = arcs;
  info.features = manifest.features;
  info.classes = manifest.classes;
  if (manifest.names) info.named = present_names(store);
  info.targets = num_targets(store);
  if (arcs > 0) info.bits_per_arc = 8.0 * static_cast<double>(bytes_of(manifest.shards)) / static_cast<double>(arcs);
  info.order = manifest.order;
  info.pending_requests = store.pending_requests();
  info.expiries = store.contents().expiries().size();
  info.next_expiry = store.contents().expiries().next();
  info.acknowledged = store.sequence();
  info.unfinished_bytes = store.unfinished_bytes();
  info.pending_purge = purge_state(path) != PurgeState::none;
  info.labelled = contents.num_labelled();
  info.train = contents.train().size();
  info.valid = contents.valid().size();
  info.test = contents.test().size();
  info.standardized = manifest.standardized;
  info.scale = manifest.scale;
  info.feature_layout = manifest.feature_layout;
  for (const FileEntry& file : manifest.files()) {
    const std::string folder = std::filesystem::path(file.path).begin()->string();
    const auto at =
        std::find_if(info.bytes.begin(), info.bytes.end(), [&](const auto& one) { return one.first == folder; });
    if (at != info.bytes.end())
      at->second += file.bytes;
    else
      info.bytes.emplace_back(folder, file.bytes);
  }
  if (const std::uint64_t bytes = tile_bytes(path); bytes > 0) info.bytes.emplace_back(kTilesFolder, bytes);
  add_levels(info, store);
  info.models = models_of(models, store);
  if (with_digest) info.digest = content_digest(store);
  return info;
}

Reader::Reader(const std::filesystem::path& store, Resources& resources)
    : resources_(&resources),
      store_(std::make_unique<LiveStore>(store, Access::read, resources.memory(), release_ledger())) {}
Reader::Reader(Reader&&) noexcept = default;
Reader::~Reader() = default;

const std::filesystem::path& Reader::path() const noexcept {
  return store_->path();
}
const Manifest& Reader::manifest() const noexcept {
  return store_->manifest();
}
std::uint64_t Reader::nodes() const noexcept {
  return store_->contents().num_nodes();
}
bool Reader::has_labels() const noexcept {
  return store_->contents().has_labels();
}
std::uint64_t Reader::acknowledged() const noexcept {
  return store_->sequence();
}

const NodeNames& Reader::names() const noexcept {
  return store_->contents().order().names();
}

Writer::State::State(const std::filesystem::path& path, Resources& of)
    : resources(of), store(path, Access::write, of.memory(), release_ledger()) {}

Writer::State::State(const std::filesystem::path& path, Resources& of, Ranks& ranks)
    : resources(of), store(path, ranks, of.memory(), release_ledger()) {}

Writer::Writer(const std::filesystem::path& store, Resources& resources, Ranks& ranks)
    : state_(std::make_unique<State>(store, resources, ranks)) {}
Writer::Writer(const std::filesystem::path& store, Resources& resources)
    : state_(std::make_unique<State>(store, resources)) {}
Writer::Writer(Writer&&) noexcept = default;
Writer& Writer::operator=(Writer&&) noexcept = default;
Writer::~Writer() = default;

const std::filesystem::path& Writer::path() const noexcept {
  return state_->store.path();
}
const Manifest& Writer::manifest() const noexcept {
  return state_->store.manifest();
}
std::uint64_t Writer::nodes() const noexcept {
  return state_->store.contents().num_nodes();
}
bool Writer::has_labels() const noexcept {
  return state_->store.contents().has_labels();
}
std::uint64_t Writer::dropped_bytes() const noexcept {
  return state_->store.unfinished_bytes();
}
std::uint64_t Writer::acknowledged() const noexcept {
  return state_->store.sequence();
}

const NodeNames& Writer::names() const noexcept {
  return state_->store.contents().order().names();
}

ReadId id_reader(const Reader& reader) {
  if (!reader.names().given()) return {};
  return [&reader](std::string_view word) { return reader.names().number(word); };
}

ReadId id_reader(const Writer& writer) {
  if (!writer.names().given()) return {};
  // A checkpoint opens the names anew.
  return [&writer](std::string_view word) { return writer.names().number(word); };
}

void require_no_session(const LiveStore& store, bool in_session) {
  if (in_session) throw UsageError(store.path().string() + ": a stream session is open; close it first");
}

PropagateReport Writer::propagate(const PropagationSpec& wanted, const PropagateMeter& meter, const PropagateHow& how) {
  require_no_session(state_->store, state_->in_session);
  const PropagationSpec spec = with_weights(wanted);
  LiveStore& store = state_->store;
  Resources& resources = state_->resources;
  if (Ranks& job = Ranks::world(); !job.alone())
    return propagate_over_ranks(store, spec, resources.memory(), meter ? meter : meter_of(resources), how.restart,
                                how.by_rows ? RankCut::rows : RankCut::columns, job);
  // A small store does not wait for a measurement that takes longer than its propagation.
  const std::uint64_t bytes = bytes_of(store.manifest().shards) + bytes_of(store.manifest().feature_files);
  const std::optional<MachineProfile> machine =
      machine_profile(store.path(), resources.memory(), profile_use_for(bytes));
  const MachineProfile* const rates = machine ? &*machine : nullptr;
  if (meter) return unweave::propagate(store, spec, resources.memory(), meter, rates, how);
  return unweave::propagate(store, spec, resources.memory(), meter_of(resources), rates, how);
}

TileReport propagate_tiles(const Reader& reader, const PropagationSpec& spec, const TileChoice& choice,
                           const PropagateMeter& meter) {
  Resources& resources = Internals::resources(reader);
  return unweave::propagate_tiles(Internals::store(reader), with_weights(spec), choice, resources.memory(),
                                  meter ? meter : meter_of(resources));
}

void follow_propagation(const Reader& reader, const PropagationSpec& spec, bool by_rows) {
  propagate_part(Internals::store(reader), with_weights(spec), Internals::resources(reader).memory(),
                 by_rows ? RankCut::rows : RankCut::columns, Ranks::world());
}

std::vector<std::string> Writer::models_lost_by(const PropagationSpec& next) const {
  std::vector<std::string> lost;
  Manifest after = manifest();
  after.propagation = next;
  for (const ModelSummary& model : list_models(path())) {
    if (!model.damage.empty()) continue;
    const ModelRecord record = load_model(path(), model.name);
    if (stands_on(record, manifest(), path()) && !stands_on(record, after, path())) lost.push_back(model.name);
  }
  return lost;
}

}  // namespace v0
}  // namespace unweave
