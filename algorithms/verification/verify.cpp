// algorithms/verification/verify.cpp - is a store what it says it is? The order of the checks, and
// who survives which failure.
#include "algorithms/verification/verify.h"

#include <algorithm>
#include <exception>
#include <memory>
#include <optional>

#include "algorithms/live/feed_registry.h"
#include "algorithms/live/store_reader.h"
#include "algorithms/live/tile_jobs.h"
#include "algorithms/verification/verify_checks.h"
#include "engine/generations/store_watch.h"
#include "engine/sweep/sum_check.h"
#include "storage/io/error.h"
#include "storage/io/shell_word.h"

namespace unweave {
namespace {

using Check = void (*)(const VerifyContext& context);

/// Statements about contents and embedding. Those about models and certificates (check_models)
/// stand on these: they come last, once, and only when these hold.
constexpr Check kChecks[] = {check_graph, check_pairs,        check_splits, check_layers,     check_whole_graphs,
                             check_cone,  check_target_lists, check_stale,  check_propagation};

void run_checks(const VerifyContext& context) {
  const std::size_t known = context.report.findings.size();
  for (const Check check : kChecks) check(context);
  if (context.options.rebuild && context.report.findings.size() == known) check_rebuild(context);
}

void require_rebuildable(const std::filesystem::path& store, const Embedding* embedding) {
  if (embedding == nullptr)
    throw UsageError(store.string() + ": " + option("rebuild") + " needs an embedding; run " +
                     operation("propagate " + shell_word(store.string())) + " first");
  if (embedding->stale_rows() > 0)
    throw UsageError(store.string() + ": " + option("rebuild") + " compares exact states, and this one has " +
                     std::to_string(embedding->stale_rows()) + " stale rows of a lazy stream; stream a batch without " +
                     option("r-max") + " first");
}

/// The generation of the manifest alone, then, if it is sound, the present moment with the journal
/// replayed: replaying relies on what the first round has shown.
void check_contents(const std::filesystem::path& store, const Manifest& manifest,
                    const std::vector<ModelRecord>& models, FileShare checked, const VerifyOptions& options,
                    MemoryBudget& budget, VerifyReport& report) {
  const std::size_t known = report.findings.size();  // findings about models and their logs say nothing about contents
  {
    const Reservation opened = reserve_contents(store, manifest, budget);
    const Contents contents(store, manifest);
    Reservation rows;
    std::unique_ptr<Embedding> embedding;
    if (manifest.propagation) {
      rows = reserve_embedding(store, manifest, budget);
      embedding = std::make_unique<Embedding>(store, manifest, contents);
    }
    if (options.rebuild) require_rebuildable(store, embedding.get());
    run_checks({contents, embedding.get(), options, budget, report});
    if (checked == FileShare::others && report.proved > 0 && report.findings.size() == known)
      check_read_files(store, manifest, *embedding, report);
  }
  if (report.findings.size() > known) return;
  const auto ask_feeds = [&](std::uint64_t sequence) {
    for (const std::string& lag : lagging_feeds(store, sequence)) report.remarks.push_back(lag);
  };
  if (!manifest.journal && models.empty()) return ask_feeds(manifest.sequence);
  const StoreReader live(store, budget);
  if (live.pending_requests() > 0) {
    const Embedding* embedding = live.propagated() ? &live.embedding() : nullptr;
    if (options.rebuild) require_rebuildable(store, embedding);
    run_checks({live.contents(), embedding, options, budget, report});
  }
  ask_feeds(live.sequence());
  if (report.findings.size() == known) check_models(models, live, options, budget, report);
}

void verify_generation(const std::filesystem::path& store, const Manifest& manifest, const VerifyOptions& options,
                       MemoryBudget& budget, VerifyReport& report) {
  const FileShare checked = is_read_by_proof(manifest) ? FileShare::others : FileShare::all;
  check_files(store, manifest, checked, report);
  const bool readable = report.ok();
  const auto files_end = static_cast<std::ptrdiff_t>(report.findings.size());
  // Before the present moment is opened: a writer at work may only have added to what a model has
  // absorbed.
  const ReadModels models = read_models(store, manifest, options, budget, report);
  const VerifyReport before = report;
  std::exception_ptr failure;
  try {
    if (readable)
      naming_store(store, [&] { check_contents(store, manifest, models.records, checked, options, budget, report); });
  } catch (const DataError&) {
    failure = std::current_exception();
  }
  const bool were_read = checked == FileShare::all || report.files > before.files;
  if (checked == FileShare::others && (failure || !were_read)) {
    VerifyReport found;
    check_files(store, manifest, FileShare::read_by_proof, found);
    // Nothing can be said about the contents of damaged files.
    if (!found.ok()) {
      report = before;
      failure = nullptr;
    }
    if (!found.ok() || !were_read) {
      report.files += found.files;
      report.bytes += found.bytes;
    }
    report.findings.insert(report.findings.begin() + files_end, found.findings.begin(), found.findings.end());
  }
  if (failure) std::rethrow_exception(failure);
  for (CheckedTile& part : check_tiles(store, manifest.nodes)) {
    ++report.unfinished_parts;
    if (!part.damage.empty()) report.findings.push_back({true, std::move(part.damage), part.path.string()});
  }
}

}  // namespace

bool VerifyReport::unreadable() const {
  return std::any_of(findings.begin(), findings.end(), [](const Finding& one) { return one.unreadable; });
}

void FalseStatements::add(std::uint64_t key, std::string text) {
  const std::scoped_lock lock(mutex_);
  ++total_;
  first_.emplace(key, std::move(text));
  if (first_.size() > kShown) first_.erase(std::prev(first_.end()));
}

bool FalseStatements::full() const {
  const std::scoped_lock lock(mutex_);
  return total_ >= kShown;
}

void FalseStatements::report_to(VerifyReport& report, std::string_view check) const {
  for (const auto& [key, text] : first_) report.findings.push_back({false, std::string(check) + ": " + text});
  if (total_ > first_.size())
    report.findings.push_back(
        {false, std::string(check) + ": " + std::to_string(total_ - first_.size()) + " more like these"});
}

VerifyReport verify_store(const std::filesystem::path& store, const VerifyOptions& options, MemoryBudget& budget) {
  for (int attempt = 1;; ++attempt) {
    const StoreWatch watch(store);
    VerifyReport report;
    try {
      verify_generation(store, read_manifest(store), options, budget, report);
    } catch (const DataError& error) {
      report.findings.push_back({true, error.message()});
    }
    if (report.ok() || !watch.was_written()) return report;
    if (attempt == StoreWatch::kAttempts) watch.refuse();
  }
}

}  // namespace unweave
