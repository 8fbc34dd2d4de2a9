// algorithms/live/release_ledger.h - what an open store asks of whoever keeps models beside it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace unweave {

struct Manifest;

/// The furthest request that a model of a store has absorbed; 0 without one.
struct AbsorbedRequest {
  std::string model;
  std::uint64_t sequence = 0;
};

/// The releases of a store: models, and logs of their certificates. The store knows them by their
/// names alone.
class ReleaseLedger {
 public:
  ReleaseLedger() = default;
  ReleaseLedger(const ReleaseLedger&) = delete;
  ReleaseLedger& operator=(const ReleaseLedger&) = delete;
  virtual ~ReleaseLedger() = default;

  /// Models that cannot be read do not count.
  [[nodiscard]] virtual AbsorbedRequest furthest_absorbed(const std::filesystem::path& store) const = 0;
  /// Puts a model and its logs into `manifest` as they are, durable.
  virtual void record(const std::filesystem::path& store, std::string_view name, Manifest& manifest) const = 0;
  /// Takes what is recorded of a model out of `manifest`; false where nothing is.
  virtual bool forget(const std::filesystem::path& store, std::string_view name, Manifest& manifest) const = 0;
};

}  // namespace unweave
