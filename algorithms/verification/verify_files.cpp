// algorithms/verification/verify_files.cpp - every byte of every file that a manifest names.
#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "algorithms/verification/verify_checks.h"
#include "engine/resources/parallel.h"
#include "engine/resources/watcher.h"
#include "storage/formats/feature_file.h"
#include "storage/formats/journal.h"
#include "storage/formats/level_files.h"
#include "storage/formats/name_file.h"
#include "storage/formats/node_file.h"
#include "storage/formats/order_file.h"
#include "storage/formats/recorded_file.h"
#include "storage/formats/request_log.h"
#include "storage/formats/run_file.h"
#include "storage/formats/shard.h"
#include "storage/formats/store_layout.h"
#include "storage/formats/whole_graph_file.h"
#include "storage/io/entry.h"
#include "storage/io/error.h"
#include "storage/io/store_folders.h"

namespace unweave {
namespace {

/// Runs checks of files; the failure of one is a finding and does not keep the others from being
/// read.
class Files {
 public:
  Files(const std::filesystem::path& store, std::uint64_t bytes, VerifyReport& report)
      : store_(store), report_(report), watched_("files", bytes, "bytes") {}

  template <class Body>
  void attempt(const FileEntry& entry, const Body& body) {
    each({&entry, 1}, [&](const FileEntry&, std::size_t) { body(); });
  }
  /// Reads several files at a time; what is found comes in their order.
  template <class Body>
  void each(std::span<const FileEntry> entries, const Body& body) {
    std::vector<std::optional<Finding>> found(entries.size());
    parallel_ranges(0, entries.size(), 1, [&](std::size_t first, std::size_t last) {
      for (std::size_t i = first; i < last; ++i) {
        try {
          body(entries[i], i);
        } catch (const DataError& error) {
          found[i] = Finding{true, error.message(), (store_ / entries[i].path).string()};
        }
        watched_.advance(entries[i].bytes);
      }
    });
    for (std::size_t i = 0; i < entries.size(); ++i) {
      ++report_.files;
      report_.bytes += entries[i].bytes;
      if (found[i]) report_.findings.push_back(*std::move(found[i]));
    }
  }
  template <class Body>
  void one(const std::optional<FileEntry>& entry, const Body& body) {
    if (entry) attempt(*entry, [&] { body(*entry); });
  }

 private:
  const std::filesystem::path& store_;
  VerifyReport& report_;
  WatchedStep watched_;
};

void check_journal(const std::filesystem::path& store, const Manifest& manifest, VerifyReport& report) {
  const JournalEnd end = read_journal(store, *manifest.journal, manifest.sequence, [](const JournalBatch&) {});
  const std::filesystem::path path = store / manifest.journal->path;
  report.bytes += end.bytes;
  require_whole_end(store, *manifest.journal, end);
  if (end.tail > 0)
    report.remarks.push_back(path.string() + ": byte " + std::to_string(end.bytes) + ": " + std::to_string(end.tail) +
                             " bytes of a batch that was never acknowledged; the next stream removes them");
}

/// Files of features and sums, whose bytes are most of a store's.
std::vector<FileEntry> files_of_proof(const Manifest& m) {
  std::vector<FileEntry> files = m.feature_files;
  for (const LevelFiles& level : m.levels) files.insert(files.end(), level.partitions.begin(), level.partitions.end());
  return files;
}

void check_features(Files& files, const std::filesystem::path& store, const Manifest& m) {
  files.each(m.feature_files, [&](const FileEntry& entry, std::size_t span) {
    FeatureFile(store, entry, span_range(m.feature_rows(), span), m.features, m.feature_layout).verify();
  });
}

/// The index speaks of the names, so that it is not read where these cannot be.
void check_whole_graph_files(Files& files, const std::filesystem::path& store, const Manifest& m) {
  const GraphFiles& graphs = *m.graphs;
  files.one(graphs.of_nodes, [&](const FileEntry& entry) {
    static_cast<void>(read_graphs_of_nodes(store, entry, m.nodes, graphs.count));
  });
  files.one(graphs.labels,
            [&](const FileEntry& entry) { static_cast<void>(read_labels(store, entry, graphs.count, m.classes)); });
  for (const auto* split : {&graphs.train, &graphs.valid, &graphs.test})
    files.one(*split, [&](const FileEntry& entry) { static_cast<void>(read_ids(store, entry, graphs.count)); });
}

void check_names(Files& files, const std::filesystem::path& store, const Manifest& m) {
  std::optional<NameList> names;
  files.attempt(m.names->names, [&] {
    NameList list(store, m.names->names, m.user_nodes());
    list.verify();
    names.emplace(std::move(list));
  });
  files.attempt(m.names->index, [&] {
    if (names) NameIndex(store, m.names->index, *names).verify();
  });
}

/// Edges that are held out of the graph.
void check_pair_files(Files& files, const std::filesystem::path& store, const Manifest& m) {
  const Manifest held = m.of_held();
  files.each(held.shards, [&](const FileEntry& entry, std::size_t span) {
    Shard(store, entry, span_range(m.nodes, span), m.nodes, held.list_form()).verify();
  });
  files.one(held.changes,
            [&](const FileEntry& entry) { static_cast<void>(read_changes(store, entry, changes_scope(held))); });
}

/// Files of all levels of which `chosen` holds.
template <class Chosen>
void check_levels(Files& files, const std::filesystem::path& store, const Manifest& m, const Chosen& chosen) {
  for (std::uint32_t level = 0; level < m.levels.size(); ++level) {
    const LevelPlace place = m.place(level);
    for (const LevelFileKind& kind : kLevelFileKinds)
      if (chosen(kind))
        files.each(files_of(place.files, kind), [&](const FileEntry&, std::size_t index) {
          if (kind.verify != nullptr) kind.verify(store, place, index);
        });
  }
}

bool are_partitions(const LevelFileKind& kind) {
  return kind.verify == verify_partition;
}

}  // namespace

bool is_read_by_proof(const Manifest& manifest) {
  return manifest.propagation && manifest.levels.size() > 1 && manifest.propagation->kept.has_sums();
}

void check_files(const std::filesystem::path& store, const Manifest& m, FileShare share, VerifyReport& report) {
  const std::uint64_t proved = share == FileShare::all ? 0 : bytes_of(files_of_proof(m));
  Files files(store, share == FileShare::read_by_proof ? proved : bytes_of(m.files()) - proved, report);
  if (share == FileShare::read_by_proof) {
    check_features(files, store, m);
    return check_levels(files, store, m, are_partitions);
  }
  files.attempt({std::string(kManifestName), 0, {}}, [] {});  // the manifest, which was read by now
  const std::filesystem::path lock = store / kLockName;
  if (status_of(lock).bytes > 0)
    report.findings.push_back({true,
                               lock.string() + ": byte 0: it is not empty, and no part of the store; the next " +
                                   "command that writes the store empties it",
                               lock.string()});
  files.each(m.shards, [&](const FileEntry& entry, std::size_t span) {
    Shard(store, entry, span_range(m.nodes, span), m.nodes, m.list_form()).verify();
  });
  if (m.pairs) check_pair_files(files, store, m);
  if (share == FileShare::all) check_features(files, store, m);
  files.one(m.order_file, [&](const FileEntry& entry) { OrderFile(store, entry, m.nodes).verify(); });
  if (m.names) check_names(files, store, m);
  files.one(m.labels,
            [&](const FileEntry& entry) { static_cast<void>(read_labels(store, entry, m.nodes, m.classes)); });
  for (const auto* split : {&m.train, &m.valid, &m.test})
    files.one(*split, [&](const FileEntry& entry) { static_cast<void>(read_ids(store, entry, m.nodes)); });
  if (m.graphs) check_whole_graph_files(files, store, m);
  files.one(m.changes,
            [&](const FileEntry& entry) { static_cast<void>(read_changes(store, entry, changes_scope(m))); });
  files.one(m.expiries, [&](const FileEntry& entry) {
    static_cast<void>(read_expiries(store, entry, m.nodes, m.graphs ? m.graphs->count : 0));
  });
  check_levels(files, store, m,
               [&](const LevelFileKind& kind) { return share == FileShare::all || !are_partitions(kind); });
  if (m.journal) files.attempt({m.journal->path, 0, {}}, [&] { check_journal(store, m, report); });
  const FileEntry* const requests = m.release(kRequestLog);
  if (requests != nullptr || has_entry(store / kRequestLog))
    files.attempt({kRequestLog, 0, {}}, [&] {
      static_cast<void>(read_request_log(store, requests, [](const LoggedRequest&) {}));
      if (requests != nullptr) require_as_recorded(store, *requests, "repair it");
    });
}

void check_read_files(const std::filesystem::path& store, const Manifest& m, const Embedding& embedding,
                      VerifyReport& report) {
  Files files(store, bytes_of(files_of_proof(m)), report);
  files.each(m.feature_files, [](const FileEntry&, std::size_t) {});
  // What was read is not read again: only what a run has replaced is.
  for (std::uint32_t level = 1; level < m.levels.size(); ++level)
    files.each(m.levels[level].partitions,
               [&](const FileEntry&, std::size_t index) { embedding.level(level).partitions()[index]->verify(); });
}

}  // namespace unweave
