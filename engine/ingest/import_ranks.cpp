// engine/ingest/import_ranks.cpp - cuts the spans among ranks, and joins names of files, counts and
// remarks.
#include "engine/ingest/import_ranks.h"

#include <algorithm>
#include <numeric>
#include <sstream>
#include <utility>

#include "engine/graph/span_share.h"
#include "engine/ingest/import_identity.h"
#include "engine/ranks/entry_words.h"
#include "storage/formats/sealed_file.h"
#include "storage/formats/store_layout.h"
#include "storage/io/error.h"
#include "storage/io/message.h"

namespace unweave {
void require_shared_import(const ImportOptions& options) {
  const auto refuse = [](const std::string& what) {
    throw UsageError(what + " is for one process; start the import without a launcher, or leave this out");
  };
  if (options.order != "none") refuse(option("order", options.order));
  if (options.ids) refuse(option("ids"));
  if (options.standardize) refuse(option("standardize"));
  if (options.pairs) refuse(option("pairs"));
  if (options.weight_unit) refuse(option("weights", "unit=" + unit_text(options.weight_unit->exponent)));
  if (options.graphs) refuse(option("graphs"));
  if (reads_a_pipe(options))
    throw UsageError(
        "standard input, pipes and devices are for one process, since every rank reads the files; name files on "
        "storage that all ranks see");
}

std::optional<RankShare> own_spans(std::optional<std::uint64_t> nodes, const Ranks& job) {
  if (job.alone()) return std::nullopt;
  return share_of(num_spans(static_cast<NodeId>(nodes.value())), job.rank(), job.size());
}

std::optional<NodeRange> own_sources(std::optional<std::uint64_t> nodes, const Ranks& job) {
  const std::optional<RankShare> spans = own_spans(nodes, job);
  return spans ? std::optional(nodes_of(*spans, static_cast<NodeId>(*nodes))) : std::nullopt;
}

namespace {

std::string shards_text(const BuiltShards& built) {
  std::ostringstream out;
  out << built.arcs << ' ' << built.unique << '\n';
  for (const FileEntry& entry : built.files) write_entry(out, entry) << '\n';
  return out.str();
}

void add_shards(const std::string& text, BuiltShards& built) {
  std::istringstream in(text);
  ArcIndex arcs = 0, unique = 0;
  in >> arcs >> unique;
  built.arcs += arcs;
  built.unique += unique;
  for (FileEntry entry; read_entry(in, entry);) built.files.push_back(entry);
}

}  // namespace

void join_shards(const std::filesystem::path& store, BuiltShards& built, std::uint64_t& spooled_bytes, Ranks& job) {
  if (job.alone()) return;
  sync_files(store, built.files);
  const std::vector<std::string> texts = gather_texts(shards_text(built), job);
  const std::vector<std::uint64_t> spooled = gather_values(spooled_bytes, job);
  if (!job.first()) return;
  built = {};
  spooled_bytes = std::accumulate(spooled.begin(), spooled.end(), std::uint64_t{0});
  for (const std::string& text : texts) add_shards(text, built);
}

void share_shards(BuiltShards& built, Ranks& job) {
  if (job.alone()) return;
  const std::string text = from_first(shards_text(built), job);
  built = {};
  add_shards(text, built);
}

void join_features(const std::filesystem::path& store, BuiltFeatures& built, Ranks& job) {
  if (job.alone()) return;
  sync_files(store, built.files);
  std::ostringstream mine;
  for (const FileEntry& entry : built.files) write_entry(mine, entry) << '\n';
  const std::vector<std::string> texts = gather_texts(mine.str(), job);
  const std::vector<RowNorms> norms = gather_values(built.norms, job);
  if (!job.first()) return;
  built = {};
  for (const RowNorms& one : norms) built.norms.add(one);
  for (const std::string& text : texts) {
    std::istringstream in(text);
    for (FileEntry entry; read_entry(in, entry);) built.files.push_back(entry);
  }
}

std::vector<std::string> remarks_of_all(const std::vector<std::string>& mine, Ranks& job) {
  if (job.alone()) return mine;
  std::string lines;
  for (const std::string& remark : mine) lines += remark + '\n';
  std::vector<std::string> all;
  for (const std::string& text : gather_texts(lines, job)) {
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);)
      if (std::find(all.begin(), all.end(), line) == all.end()) all.push_back(line);
  }
  return all;
}

}  // namespace unweave
