// algorithms/api/maintenance.cpp - makes stores, and verifies, repairs and purges them by the
// folders below.
#include "unweave/maintenance.h"

#include "algorithms/maintenance/grow.h"
#include "algorithms/maintenance/purge.h"
#include "algorithms/maintenance/store_repair.h"
#include "algorithms/maintenance/upgrade.h"
#include "algorithms/verification/verify.h"
#include "algorithms/verification/verify_log.h"
#include "engine/ingest/import_forecast.h"
#include "engine/ingest/store_import.h"
#include "engine/resources/machine_profile.h"
#include "engine/resources/watcher.h"
#include "storage/input/nodes/name_reader.h"
#include "storage/input/tables/end_names.h"
#include "storage/input/tables/two_kinds.h"
#include "storage/input/tu_folder.h"
#include "storage/io/entry.h"
#include "storage/io/error.h"
#include "storage/io/message.h"
#include "unweave/ingest.h"
#include "unweave/version.h"

namespace unweave {
inline namespace v0 {
namespace {

void require_key(const std::optional<std::string>& key) {
  if (key && !hash_from_hex(*key))
    throw UsageError(option("public-key") + " must be 64 lower-case hexadecimal digits, as `train` prints");
}

}  // namespace

bool name_two_kinds(std::string_view first, std::string_view second) {
  return TwoKinds::named_by(first, second);
}

std::optional<std::array<std::size_t, 2>> name_ends(std::span<const std::string> columns) {
  return ends_among(columns).named;
}

bool begin_with_ends(std::span<const std::string> columns) {
  return ends_among(columns).are_first;
}

bool names_no_weight(std::string_view column) {
  return says_no_weight(column);
}

bool names_ids(std::string_view column) {
  return is_header_of_names(column);
}

ImportReport import_store(const std::filesystem::path& store, const ImportOptions& options, Resources& resources) {
  return import_store(resolved(store), options, resources.memory(), resources.meter());
}

std::vector<std::string> use_tu_dataset(const std::filesystem::path& prefix, std::optional<double> attribute_bound,
                                        ImportOptions& options) {
  return use_tu_folder(prefix, attribute_bound, options);
}

std::optional<ImportForecast> forecast_import(const std::filesystem::path& named, const ImportOptions& options,
                                              Resources& resources, bool measure) {
  const std::filesystem::path store = resolved(named);
  MemoryBudget& budget = resources.memory();
  const auto with = [&](ProfileUse use) {
    const std::optional<MachineProfile> machine = machine_profile(present_folder(store), budget, use);
    return forecast_import(store, options, budget, machine ? &*machine : nullptr);
  };
  std::optional<ImportForecast> forecast = with(measure ? ProfileUse::kept_or_measured : ProfileUse::kept);
  if (forecast && !forecast->seconds && profile_use_for(forecast->input_bytes) == ProfileUse::kept_or_measured)
    return with(ProfileUse::kept_or_measured);
  return forecast;
}

BuildReport generate_store(const std::filesystem::path& store, const GenerateOptions& options, Resources& resources) {
  return generate_store(resolved(store), options, resources.memory(), resources.meter());
}

VerifyReport verify_store(const std::filesystem::path& store, const VerifyOptions& options, Resources& resources) {
  require_key(options.public_key);
  const WatchedBy watched(resources.meter());
  VerifyOptions own = options;
  own.before = resolved(own.before);
  return verify_store(resolved(store), own, resources.memory());
}

VerifyReport verify_certificates(const std::filesystem::path& log, const std::optional<std::string>& public_key,
                                 const std::filesystem::path& receipts) {
  require_key(public_key);
  return verify_log(log, public_key, receipts);
}

VerifyReport verify_export(const std::filesystem::path& weights, const std::optional<std::string>& public_key,
                           Resources& resources) {
  require_key(public_key);
  return verify_exported_model(weights, public_key, resources.memory());
}

PurgeReport purge_store(const std::filesystem::path& store, const PurgeOptions& options, Resources& resources) {
  PurgeOptions signed_by = options;
  if (signed_by.program.empty()) signed_by.program = version();
  return purge_store(resolved(store), signed_by, resources.memory(), resources.meter());
}

GrowReport grow_store(const std::filesystem::path& store, const GrowOptions& options, Resources& resources) {
  return grow_store(resolved(store), options, resources.memory(), resources.meter());
}

UpgradeReport upgrade_store(const std::filesystem::path& store, Resources& resources) {
  return upgrade_store(resolved(store), resources.memory());
}

std::vector<RepairedFile> repair_store(const std::filesystem::path& store, const RepairOptions& options,
                                       Resources& resources) {
  RepairOptions signed_by = options;
  if (signed_by.program.empty()) signed_by.program = version();
  return repair_store(resolved(store), signed_by, resources.memory(), resources.meter());
}

}  // namespace v0
}  // namespace unweave
