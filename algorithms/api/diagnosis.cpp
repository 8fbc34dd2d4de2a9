// algorithms/api/diagnosis.cpp - judges what the kernel says of a machine, and what a store says of
// itself.
#include "unweave/diagnosis.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "algorithms/models/certificate_log.h"
#include "algorithms/numerics/blas.h"
#include "engine/resources/machine.h"
#include "engine/resources/machine_profile.h"
#include "engine/sweep/gather.h"
#include "storage/io/entry.h"
#include "storage/io/error.h"
#include "storage/io/message.h"
#include "storage/io/private_file.h"
#include "storage/io/readable_bytes.h"
#include "storage/io/shell_word.h"
#include "storage/io/store_folders.h"
#include "storage/io/time_text.h"
#include "unweave/store.h"
#include "unweave/version.h"

namespace unweave {
inline namespace v0 {
namespace {

constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t kMeasuredBytes = std::uint64_t{64} << 20;
constexpr std::uint64_t kLittleDisk = std::uint64_t{1} << 30;
constexpr std::uint64_t kLittleMemory = std::uint64_t{512} << 20;
constexpr std::uint64_t kFewFiles = 256;

using Diagnoses = std::vector<Diagnosis>;

Diagnosis judged(std::string name, std::string fact, bool is_well, Verdict otherwise, std::string remedy) {
  if (is_well) return {std::move(name), std::move(fact)};
  return {std::move(name), std::move(fact), otherwise, std::move(remedy)};
}

std::string limit_text(std::uint64_t bytes) {
  return bytes == kUnlimited ? "no limit" : readable_bytes(bytes);
}

void add_processor(Diagnoses& findings, const MachineFacts& machine) {
  findings.push_back({"version", "unweave " + std::string(version())});
  const std::string target = gather_instructions();
  const bool is_wide = target.find("AVX") != std::string::npos || target.find("SVE") != std::string::npos;
  findings.push_back(judged("vector-extension", target, is_wide, Verdict::note,
                            "sums run several times as fast on a processor with AVX2, AVX-512 or SVE"));
  findings.push_back(judged("cores",
                            std::to_string(machine.usable_cores) + " of " + std::to_string(machine.cores) + " usable",
                            machine.usable_cores == machine.cores, Verdict::note,
                            "the process may not run on the others; see taskset and the control group"));
  const std::string kernels = product_kernels();
  findings.push_back(judged("linear-algebra", "BLIS, kernels for " + kernels + ", one thread a product",
                            kernels != "generic", Verdict::note,
                            "training takes several times as long with generic kernels; if another one suits the "
                            "processor, give BLIS its number in BLIS_ARCH_TYPE"));
}

void add_memory(Diagnoses& findings, const MachineFacts& machine) {
  const std::uint64_t least = std::min(machine.memory_bytes, machine.group_bytes);
  findings.push_back(judged("memory",
                            readable_bytes(machine.memory_bytes) + ", of which the control group gives " +
                                (least == machine.memory_bytes ? "all" : readable_bytes(least)),
                            least >= kLittleMemory, Verdict::note, "large graphs need more, or take many passes"));
  const std::uint64_t budget = default_memory_limit();
  findings.push_back(judged("memory-available",
                            machine.available_bytes == 0 ? "not told" : readable_bytes(machine.available_bytes),
                            machine.available_bytes == 0 || machine.available_bytes >= budget, Verdict::note,
                            "less than the " + readable_bytes(budget) + " that work takes at most without " +
                                option("memory") + "; give " + option("memory") + ", or end other programs"));
  findings.push_back(judged("page-size", readable_bytes(machine.page_bytes), machine.page_bytes == 4096, Verdict::note,
                            "figures of the guide are of pages of 4 KiB"));
  findings.push_back(judged("huge-pages", machine.huge_pages.empty() ? "none" : machine.huge_pages,
                            machine.huge_pages == "always" || machine.huge_pages == "madvise", Verdict::note,
                            "sweeps are slower without; let an administrator write madvise to "
                            "/sys/kernel/mm/transparent_hugepage/enabled"));
}

void add_limits(Diagnoses& findings, const MachineFacts& machine) {
  findings.push_back(judged("open-files",
                            machine.open_files == kUnlimited ? "no limit" : std::to_string(machine.open_files),
                            machine.open_files >= kFewFiles, Verdict::problem, "raise the limit: ulimit -n 1024"));
  findings.push_back(judged("file-size", limit_text(machine.file_bytes), machine.file_bytes == kUnlimited,
                            Verdict::note, "larger files cannot be written; raise the limit: ulimit -f unlimited"));
  findings.push_back(judged("address-space", limit_text(machine.address_bytes), machine.address_bytes == kUnlimited,
                            Verdict::note,
                            "files are mapped, which takes address space; raise the limit: ulimit -v unlimited"));
  findings.push_back(judged("random-numbers", machine.has_random_numbers ? "given by the system" : "none",
                            machine.has_random_numbers, Verdict::problem,
                            "keys and noise are drawn from the system's random numbers, getrandom(2); it refuses them, "
                            "or has not gathered any yet"));
}

/// Locks and sizes of files seen late, or never, are what a store on another machine suffers from.
Diagnosis file_system_finding(const FolderFacts& facts) {
  Diagnosis finding{"file-system", facts.file_system};
  if (facts.is_network) {
    finding.verdict = Verdict::note;
    finding.remedy =
        "a network file system: the lock of a store may not reach other machines, and what is said to be durable is so "
        "where the server keeps its word; take a disk of this machine";
  } else if (facts.is_memory) {
    finding.verdict = Verdict::note;
    finding.remedy = "files take memory here, beside the budget, and are gone after a restart";
  }
  return finding;
}

void add_disk(Diagnoses& findings, const std::filesystem::path& folder, Resources& resources, bool anew) {
  const FolderFacts facts = folder_facts(folder);
  findings.push_back(file_system_finding(facts));
  findings.push_back(judged("free-disk", readable_bytes(facts.free_bytes), facts.free_bytes >= kLittleDisk,
                            facts.free_bytes > 2 * kMeasuredBytes ? Verdict::note : Verdict::problem,
                            "free some disk, or go to another folder"));
  if (facts.is_read_only || !facts.is_writable) {
    findings.push_back({"disk-rate",
                        facts.is_read_only ? "not measured: mounted to be read" : "not measured: not writable",
                        Verdict::note, "stores can be read here, not changed"});
    return;
  }
  const auto machine =
      machine_profile(folder, resources.memory(), anew ? ProfileUse::measured : ProfileUse::kept_or_measured);
  if (!machine) {
    findings.push_back({"disk-rate", "not measured", Verdict::note,
                        "nothing is predicted here; free some disk, or go to another folder"});
    return;
  }
  const auto rate = [](double bytes) { return readable_bytes(static_cast<std::uint64_t>(bytes)) + " a second"; };
  const auto part = [](double seconds, double units, const char* unit) {
    return std::to_string(std::llround(seconds * units)) + unit;
  };
  const std::string when = ", measured " + time_text(machine->measured_at * 1000);
  findings.push_back({"disk-rate", "written " + rate(machine->disk.write_bytes_per_second) + ", read " +
                                       rate(machine->disk.read_bytes_per_second) + when});
  findings.push_back({"disk-pages", std::to_string(std::llround(machine->disk.random_pages_per_second)) +
                                        " pages of 4 KiB a second anywhere, a small write durable in " +
                                        part(machine->disk.sync_seconds, 1e6, " microseconds")});
  const double large = static_cast<double>(machine->fetches.back().buffer_bytes);
  findings.push_back({"memory-rate", "a row of 64, 256 and 512 bytes anywhere in " +
                                         readable_bytes(machine->fetches.back().buffer_bytes) + " in " +
                                         part(machine->fetch_seconds(large, 64), 1e9, ", ") +
                                         part(machine->fetch_seconds(large, 256), 1e9, " and ") +
                                         part(machine->fetch_seconds(large, 512), 1e9, " ns on each thread")});
  const std::filesystem::path kept = profile_folder();
  findings.push_back(judged(
      "rates-kept", machine->is_in_file ? "in " + kept.string() : "nowhere", machine->is_in_file, Verdict::note,
      "predictions measure them each time; let the folder that UNWEAVE_CACHE names be writable, and give more memory"));
}

/// Private files that others may read, as they are named in the store.
std::vector<std::string> open_private_files(const std::filesystem::path& store) {
  std::vector<std::string> open;
  walk_folder(store, [&](const Entry& entry) {
    const std::filesystem::path name = entry.path.lexically_relative(store);
    if (entry.kind != EntryKind::file || !is_private(name)) return;
    const std::optional<EntryStatus> status = try_status_of(entry.path);  // a writer at work removes files
    if (status && status->is_open_to_others) open.push_back(name.string());
  });
  std::sort(open.begin(), open.end());
  return open;
}

void add_models(Diagnoses& findings, const std::filesystem::path& store, const StoreInfo& info) {
  for (const ModelInfo& model : info.models) {
    Diagnosis finding{"model", model.name + ": up to date"};
    if (!model.damage.empty()) {
      finding = {"model", model.name + ": " + model.damage, Verdict::problem,
                 "restore it from a copy, or train it again: " + train_command(store, model.name), true};
    } else if (model.other_propagation) {
      finding = {"model", model.name + ": stands on another propagation", Verdict::note,
                 "train it again: " + train_command(store, model.name)};
    } else if (model.outdated) {
      finding = {
          "model", model.name + ": has not absorbed all requests", Verdict::note,
          "bring it up to date: " + operation("stream " + shell_word(store.string()) + ' ' +
                                              option("requests", "/dev/null") + ' ' + option("name", model.name))};
    } else if (model.id.empty()) {
      finding = {"model", model.name + ": not certified since the last purge", Verdict::note,
                 "certify it: " + operation("purge " + shell_word(store.string()))};
    }
    findings.push_back(std::move(finding));
  }
}

void add_store(Diagnoses& findings, const std::filesystem::path& store, const StoreInfo& info) {
  const std::uint64_t bytes =
      std::accumulate(info.bytes.begin(), info.bytes.end(), std::uint64_t{0},
                      [](std::uint64_t sum, const auto& folder) { return sum + folder.second; });
  const std::uint64_t free = folder_facts(store).free_bytes;
  findings.push_back(judged("disk-for-changes", readable_bytes(bytes) + " in files, " + readable_bytes(free) + " free",
                            free >= bytes, Verdict::note,
                            "a purge may write a store anew before it removes the old one: free some disk where " +
                                operation("plan " + shell_word(store.string()) + ' ' + option("purge")) + " says so"));
  findings.push_back(judged("purge", info.pending_purge ? "begun, not finished" : "none under way", !info.pending_purge,
                            Verdict::problem, "finish it: " + operation("purge " + shell_word(store.string()))));
  findings.back().of_data = info.pending_purge;
  findings.push_back({"requests", std::to_string(info.acknowledged) + " acknowledged, " +
                                      std::to_string(info.pending_requests) + " of them after the last checkpoint"});
  const bool is_overdue = info.next_expiry && *info.next_expiry <= present_time();
  if (info.next_expiry)
    findings.push_back(
        judged("expiry", (is_overdue ? "overdue since " : "the next one at ") + time_text(*info.next_expiry),
               !is_overdue, Verdict::note,
               "remove what has expired: " + operation("stream " + shell_word(store.string()) + ' ' +
                                                       option("requests", "/dev/null") + ' ' + option("expired"))));
  findings.push_back(
      judged("stale-rows", std::to_string(info.stale_rows), info.stale_rows == 0, Verdict::note,
             "a lazy stream left them; publish them: " +
                 operation("stream " + shell_word(store.string()) + ' ' + option("requests", "/dev/null"))));
  if (!info.propagation)
    findings.push_back(
        {"propagation", "none", Verdict::note, "compute it: " + operation("propagate " + shell_word(store.string()))});
  add_models(findings, store, info);
}

}  // namespace

std::vector<Diagnosis> diagnose_machine(const std::filesystem::path& named, Resources& resources, bool anew) {
  const std::filesystem::path folder = resolved(named);
  Diagnoses findings;
  const MachineFacts machine = machine_facts();
  add_processor(findings, machine);
  add_memory(findings, machine);
  add_limits(findings, machine);
  add_disk(findings, folder, resources, anew);
  return findings;
}

std::vector<Diagnosis> diagnose_store(const std::filesystem::path& named, Resources& resources) {
  const std::filesystem::path store = resolved(named);
  Diagnoses findings;
  const std::optional<std::int64_t> writer = lock_holder(store / kLockName);
  findings.push_back(judged("writer", writer ? "process " + std::to_string(*writer) : "none", !writer, Verdict::note,
                            "it changes the store now; others wait until it ends"));
  const std::vector<std::string> open = open_private_files(store);
  if (open.empty()) {
    findings.push_back({"private-files", "their owner's alone"});
  } else {
    std::string command = "chmod go=";
    for (const std::string& name : open) command += ' ' + shell_word((store / name).string());
    findings.push_back({"private-files", std::to_string(open.size()) + " open to others", Verdict::problem,
                        "take the rights of others: " + command, true});
  }
  try {
    add_store(findings, store, describe_store(store, resources));
  } catch (const DataError& error) {
    findings.push_back({"store", error.message(), Verdict::problem,
                        "see what is lost, and rebuild the rest: " + operation("repair " + shell_word(store.string())),
                        true});
  }
  return findings;
}

}  // namespace v0
}  // namespace unweave
