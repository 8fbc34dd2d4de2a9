// algorithms/maintenance/store_repair.cpp - finds damage file by file, mends what can be mended,
// and says what is lost.
#include "algorithms/maintenance/store_repair.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "algorithms/live/model_text.h"
#include "algorithms/live/propagate.h"
#include "algorithms/live/released_files.h"
#include "algorithms/live/store_writer.h"
#include "algorithms/live/tile_jobs.h"
#include "algorithms/models/certificate_log.h"
#include "algorithms/models/learner.h"
#include "algorithms/models/recorded_release.h"
#include "algorithms/registry/registry.h"
#include "algorithms/verification/verify_checks.h"
#include "algorithms/verification/verify_log.h"
#include "engine/generations/store_purge.h"
#include "engine/graph/store.h"
#include "engine/ingest/name_import.h"
#include "engine/resources/watcher.h"
#include "storage/formats/journal.h"
#include "storage/formats/request_log.h"
#include "storage/io/entry.h"
#include "storage/io/error.h"
#include "storage/io/file.h"
#include "storage/io/store_folders.h"

namespace unweave {
namespace {

namespace fs = std::filesystem;

/// By file, each with the first thing that is wrong with it.
using Damage = std::map<std::string, std::string>;

/// What is wrong, without the remedy that every reader of such a file is told: repair is at work,
/// and says itself what was done or is left to do.
std::string without_remedy(const std::string& text) {
  return text.substr(0, std::min(text.find("; " + operation("repair")), text.find("; restore the file")));
}

class StoreRepair {
 public:
  StoreRepair(const fs::path& store, MemoryBudget& budget, WorkMeter& meter)
      : store_(store), budget_(budget), meter_(meter), lock_(std::in_place, store), manifest_(read_manifest(store)) {
    sync_directory(store);
    if (purge_state(store_) == PurgeState::decided) static_cast<void>(finish_purge(store_, manifest_));
  }

  std::vector<RepairedFile> run(const RepairOptions& options) {
    damage_ = find_damage();
    if (auto journal = journal_damage()) {
      if (journal->bytes == 0 && manifest_.journal) journal = repair_journal_header(*journal);
      if (journal) repair_journal(*journal, options.cut_journal);
    }
    repair_requests();
    repair_names();
    repair_state();
    repair_certificates();
    Damage left = find_damage();
    if (train_again(left, options.program)) left = find_damage();
    for (const auto& [file, text] : left) damage_.try_emplace(file, text);
    std::vector<RepairedFile> report;
    for (const auto& [file, text] : damage_) {
      const bool lost = left.contains(file);
      std::string remedy = lost ? advice(file) : "rebuilt";
      if (const auto done = remedies_.find(file); done != remedies_.end())
        remedy = lost && !done->second.starts_with("lost")
                     ? std::string(done->second).append("; the rest is ").append(remedy)
                     : done->second;
      const bool named = text.starts_with(file + ": ");
      report.push_back({file, named ? text.substr(file.size() + 2) : text, remedy, lost});
    }
    return report;
  }

 private:
  [[nodiscard]] Damage find_damage() {
    meter_.start("files", 0, "files");
    VerifyReport found;
    check_files(store_, manifest_, FileShare::all, found);
    models_ = {};  // those of before, and their memory
    models_ = read_models(store_, manifest_, {}, budget_, found);
    Damage damage;
    if (const auto journal = journal_damage()) damage.try_emplace(journal_file(), journal->text);
    for (const Finding& finding : found.findings)
      damage.try_emplace(damaged_file(finding), without_remedy(finding.text));
    if (damage.empty()) find_wrong_sums(damage);
    return damage;
  }

  /// A canonical model is read together with its release file, which may be what is damaged.
  [[nodiscard]] std::string damaged_file(const Finding& finding) const {
    const std::string name = fs::path(finding.file).stem().string();
    if (!is_model_name(name)) return finding.file;
    std::string release = release_file(store_, name).string();
    return finding.text.starts_with(release + ": ") ? release : finding.file;
  }

  /// Partitions that are whole, and whose sums are not those of the contents.
  void find_wrong_sums(Damage& damage) {
    if (!manifest_.propagation) return;
    const Reservation opened = reserve_contents(store_, manifest_, budget_);
    const Contents contents(store_, manifest_);
    const Reservation rows = reserve_embedding(store_, manifest_, budget_);
    const Embedding embedding(store_, manifest_, contents);
    VerifyReport found;
    const VerifyOptions options;
    const WatchedBy watched(meter_);
    check_propagation({contents, &embedding, options, budget_, found});
    for (const Finding& finding : found.findings)
      if (!finding.file.empty()) damage.try_emplace((store_ / finding.file).string(), without_remedy(finding.text));
  }

  [[nodiscard]] std::string path_of(const FileEntry& entry) const { return (store_ / entry.path).string(); }

  [[nodiscard]] std::set<std::string> state_files() const {
    Manifest contents = manifest_;
    contents.levels.clear();
    std::set<std::string> files;
    for (const FileEntry& entry : manifest_.files()) files.insert(path_of(entry));
    for (const FileEntry& entry : contents.files()) files.erase(path_of(entry));
    return files;
  }

  [[nodiscard]] std::string advice(const std::string& file) const {
    const fs::path path = file;
    if (path.parent_path() == store_ / "models") {
      const std::string name = path.stem().string();
      const std::string again = "lost, with the options that the model was trained with: train the model again";
      return has_entry(public_log(store_, name)) ? again + "; " + public_log(store_, name).string() + " has them"
                                                 : again;
    }
    if (path.extension() == kReleaseExtension)
      return "lost until graph, features, labels and splits are whole: the model is trained again then";
    if (path.parent_path() == store_ / kCertificatesFolder) return "lost: restore the file from a copy";
    if (state_files().contains(file)) return "lost until graph, features, labels and splits are whole: restore these";
    return "lost: restore the file from a copy";
  }

  /// Where requests lie: in the journal, or in the generation alone.
  [[nodiscard]] std::string journal_file() const {
    return manifest_.journal ? path_of(*manifest_.journal) : (store_ / kManifestName).string();
  }

  /// Damage of the journal's records, or of requests that a model has absorbed and that the journal
  /// ends before.
  [[nodiscard]] std::optional<JournalDamage> journal_damage() const {
    JournalDamage end{0, manifest_.sequence, 0, {}};
    if (manifest_.journal) {
      if (auto damage = find_journal_damage(store_, *manifest_.journal, manifest_.sequence)) return damage;
      end.bytes = read_journal(store_, *manifest_.journal, manifest_.sequence, [&](const JournalBatch& batch) {
                    end.last += batch.requests.size();
                  }).bytes;
    }
    end.later = furthest_absorbed(store_).sequence;
    if (end.later <= end.last) return std::nullopt;
    end.text = "it ends with request " + std::to_string(end.last) + ", and a model has absorbed request " +
               std::to_string(end.later);
    return end;
  }

  /// What is damaged beside the header.
  [[nodiscard]] std::optional<JournalDamage> repair_journal_header(const JournalDamage& damage) {
    if (!restore_journal_header(store_, *manifest_.journal, manifest_.sequence)) return damage;
    damage_.try_emplace(path_of(*manifest_.journal), damage.text);
    return journal_damage();
  }

  void repair_journal(const JournalDamage& damage, bool cut) {
    const std::string file = journal_file();
    damage_.try_emplace(file, damage.text);
    const std::string first = std::to_string(damage.last + 1);
    const std::string lost = damage.later > 0 ? "requests " + first + " to at least " + std::to_string(damage.later)
                                              : "requests from " + first + " on, as many as were acknowledged";
    if (!cut) {
      remedies_[file] =
          "lost: " + lost + "; restore the file from a copy, or give them up with " + option("cut-journal");
      return;
    }
    if (has_entry(store_ / kRequestLog)) forget_requests_after(damage.last);
    Manifest after = manifest_;
    remove_tiles(store_);  // another journal may come to as many requests
    if (manifest_.journal) after.journal = cut_journal(store_, *manifest_.journal, manifest_.sequence, damage);
    drop_models_after(damage.last, std::move(after));
    remedies_[file] =
        "cut off after request " + std::to_string(damage.last) + "; given up: " + lost + "; send them again";
  }

  /// Other requests will bear the numbers of those given up: a model that has absorbed these would
  /// seem to know the others. Models go last: where a crash leaves one, it keeps the store shut and
  /// tells of these requests again.
  void drop_models_after(std::uint64_t last, Manifest after) {
    std::vector<std::string> dropped;
    for (const AbsorbedRequest& one : absorbed_requests(store_))
      if (one.sequence > last) dropped.push_back(one.model);
    for (const std::string& name : dropped)
      std::erase_if(after.releases, [&](const FileEntry& entry) { return path_of(entry) == model_file(store_, name); });
    write_manifest(store_, after);
    for (const std::string& name : dropped) {
      const fs::path file = model_file(store_, name);
      for (const fs::path& path : {folder_of(store_, name), release_file(store_, name), file}) remove_tree(path);
      sync_directory(file.parent_path());
      record_release(store_, released_files(store_, name), after);
      damage_.try_emplace(file.string(), "it has absorbed requests that are given up");
      remedies_[file.string()] = "removed; train it again";
    }
    if (!dropped.empty()) write_manifest(store_, after);
    std::erase_if(models_.records, [&](const ModelRecord& record) { return record.model.sequence > last; });
    manifest_ = std::move(after);
  }

  /// The index of names from the names, to the bytes that it had.
  void repair_names() {
    if (!manifest_.names) return;
    const std::string file = path_of(manifest_.names->index);
    if (!damage_.contains(file) || damage_.contains(path_of(manifest_.names->names))) return;
    if (has_entry(file) && !is_file(file))
      throw DataError(file + ": something else than a file lies there; move it away and repair again");
    const NameList names(store_, manifest_.names->names, manifest_.nodes);
    Manifest after = manifest_;
    after.names->index = write_name_index(store_, names, budget_, meter_);
    Manifest before = manifest_;
    before.names.reset();  // the file is made durable under whatever name
    sync_generation(store_, before, after);
    if (after.names != manifest_.names) commit_generation(store_, manifest_, after);
    manifest_ = std::move(after);
    remedies_[file] = "rebuilt";
  }

  /// All levels from the contents of the generation; the journal follows as ever.
  void repair_state() {
    const std::set<std::string> state = state_files();
    bool needed = false;
    for (const auto& [file, text] : damage_) {
      if (state.contains(file))
        needed = true;
      else if (names_contents(file) && !remedies_.contains(file))
        return;
    }
    if (!needed || !manifest_.propagation) return;
    for (const std::string& file : state)
      if (has_entry(file) && !is_file(file))
        throw DataError(file + ": something else than a file lies there; move it away and repair again");
    Manifest after = manifest_;
    {
      const Reservation opened = reserve_contents(store_, manifest_, budget_);
      const Contents contents(store_, manifest_);
      PropagateReport ignored;
      std::uint64_t shown = 0;
      meter_.start("sums", 0, "rows");
      after.levels = build_levels(
          store_, contents, *manifest_.propagation, budget_,
          [&](const PropagateProgress& progress) {
            meter_.advance(progress.done - std::exchange(shown, progress.done));
          },
          ignored);
    }
    bool lazy = false;
    for (const LevelFiles& files : manifest_.levels) lazy |= files.stale.has_value();
    for (const auto& [file, text] : damage_)
      if (state.contains(file))
        remedies_[file] = std::string("rebuilt") + (lazy ? "; rows that a lazy stream left stale are exact now" : "");
    Manifest before = manifest_;
    for (LevelFiles& files : before.levels) files = {};  // whatever is there under an old name is made durable too
    sync_generation(store_, before, after);
    commit_generation(store_, manifest_, after);
    manifest_ = std::move(after);
  }

  [[nodiscard]] bool names_contents(const std::string& file) const {
    for (const FileEntry& entry : manifest_.files())
      if (path_of(entry) == file) return true;
    return false;
  }

  /// Canonical models without a release file that can be read: what they are follows from the store
  /// and the options in the model file.
  bool train_again(const Damage& left, const std::string& program) {
    std::vector<std::string> names;
    for (const auto& [file, text] : left) {
      if (file == journal_file() || names_contents(file)) return false;
      const fs::path path = file;
      if (path.extension() == kReleaseExtension && is_model_name(path.stem().string()))
        names.push_back(path.stem().string());
    }
    for (const ModelRecord& record :
         models_.records)  // also of a repair, or a purge, that was cut before it came to that
      if (record.certificate.empty() && solver_entry(record.model.solver).canonical) names.push_back(name_of(record));
    if (names.empty()) return false;
    lock_.reset();
    for (const std::string& name : names) {
      const fs::path release = release_file(store_, name);
      if (remove_entry(release)) sync_directory(release.parent_path());
      std::string& remedy = remedies_[release.string()];
      try {
        StoreWriter live(store_, budget_);
        Learner learner = Learner::open(live, budget_, name, {true, program, {}, {}, {}}, {});
        static_cast<void>(learner.catch_up());
        learner.settle();
        live.record();
        remedy = "the model was trained again and certified";
      } catch (const UsageError& fault) {
        remedy = "the model has no certificate yet: " + fault.message();
      } catch (const DataError& fault) {
        remedy = "the model has no certificate yet: " + fault.message();
      }
      const auto damaged = left.find(release.string());
      damage_.try_emplace(release.string(),
                          damaged == left.end() ? "it has no certificate of the model" : damaged->second);
    }
    manifest_ = read_manifest(store_);
    return true;
  }

  /// The lines that can be read are all that is left of the log of requests.
  void repair_requests() {
    const fs::path log = store_ / kRequestLog;
    if (!damage_.contains(log.string())) return;
    forget_record_of_requests();
    const std::uint64_t lost = mend_request_log(store_);
    remedies_[log.string()] =
        std::to_string(lost) +
        " damaged lines removed; a request that is sent again with an id that was there is taken for a new one";
  }

  void forget_record_of_requests() {
    Manifest after = manifest_;
    if (std::erase_if(after.releases, [](const FileEntry& entry) { return entry.path == kRequestLog; }) == 0) return;
    write_manifest(store_, after);
    manifest_ = std::move(after);
  }

  /// Those that are given up may be sent again.
  void forget_requests_after(std::uint64_t last) {
    std::uint64_t purges = 0, met = 0;
    const auto count = [&](const LoggedRequest& request) { purges += request.kind == kPurgeLine ? 1 : 0; };
    static_cast<void>(read_request_log(store_, nullptr, count));
    forget_record_of_requests();
    rewrite_request_log(store_, nullptr, [&](const LoggedRequest& request) {
      if (request.kind == kPurgeLine) ++met;
      return met < purges || request.sequence <= last;
    });
  }

  void repair_certificates() {
    for (const ModelRecord& record : models_.records) {
      const fs::path log = public_log(store_, name_of(record)), parts = private_log(store_, name_of(record));
      try {
        drop_damaged_end(log, record);
        if (record.certificate.empty()) continue;
        if (last_line(log) == record.certificate && last_line(parts) == record.private_part) continue;
        if (fit_of_log(store_, record) != LogFit::follows)
          continue;  // found by find_damage(), and nothing here can mend it
        complete_log(store_, record);
        damage_.try_emplace(log.string(), "the newest certificate or its private part was missing");
        remedies_[log.string()] = "the newest certificate was taken from the model file";
      } catch (const DataError&) {  // found by find_damage() as well
      }
    }
  }

  /// Where the last line alone is damaged, and the model's certificate is the one to stand there.
  static void drop_damaged_end(const fs::path& log, const ModelRecord& record) {
    LogChecker checker(log, {});
    std::uint64_t whole = 0, wrong = 0;  // bytes of good lines, lines after them
    static_cast<void>(read_lines(log, [&](std::string_view line, std::uint64_t number) {
      try {
        if (wrong == 0) checker.take(line, number);
      } catch (const DataError&) {
        ++wrong;
        return;
      } catch (const CheckError&) {
        wrong = 2;  // what is signed is not damaged
      }
      if (wrong > 0)
        ++wrong;
      else
        whole += line.size() + 1;
    }));
    if (wrong != 1 || !checker.is_followed_by(record.certificate)) return;
    const File file = File::open_own(log);
    file.truncate(whole);
    file.sync();
  }

  const fs::path& store_;
  MemoryBudget& budget_;
  WorkMeter& meter_;
  std::optional<WriterLock> lock_;
  Manifest manifest_;
  ReadModels models_;
  Damage damage_;
  std::map<std::string, std::string> remedies_;
};

}  // namespace

std::vector<RepairedFile> repair_store(const fs::path& store, const RepairOptions& options, MemoryBudget& budget,
                                       WorkMeter& meter) {
  static_cast<void>(read_manifest(store));  // before a lock is made in a folder that is none
  return StoreRepair(store, budget, meter).run(options);
}

}  // namespace unweave
