// algorithms/api/followers.h - the models that follow a stream: opened, brought up to date, and one
// step further with each batch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/api/work_room.h"
#include "algorithms/live/store_writer.h"
#include "algorithms/models/learner.h"
#include "unweave/stream.h"

namespace unweave {
inline namespace v0 {

/// The models that are selected. Throws UsageError for one that is selected twice, and an unknown
/// solver.
[[nodiscard]] std::vector<ModelSelection> selected_models(const StreamOptions& options);

class Followers {
 public:
  /// Follows nothing yet. What is given must outlive this object.
  Followers(StoreWriter& store, Resources& resources, const StreamOptions& options, WorkRoom& room)
      : store_(store), resources_(resources), options_(options), room_(room) {}

  /// Opens the models that the options select, and brings each to the present. In a service a model
  /// that the present rows do not have is stuck, and tried again at the next batch. Throws
  /// UsageError where several are to follow rows that are not exact, and what Learner throws.
  void open();
  /// Brings all of them to a batch that the store has applied, which `outcome` gets the steps of.
  void absorb(std::span<const Request> requests, BatchOutcome& outcome);
  /// Makes their logs of certificates durable.
  void settle();

  [[nodiscard]] bool empty() const noexcept { return followers_.empty(); }
  /// Their names in the store, in the order of the options.
  [[nodiscard]] std::vector<std::string> names() const;
  /// The names of those that a purge had removed, and that open() has trained again.
  [[nodiscard]] std::vector<std::string> trained_again() const;
  /// The names of those that are stuck, each with the reason.
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> stuck() const;
  /// Whether one has caught up, and no outcome has told of it yet.
  [[nodiscard]] bool caught_up() const noexcept;
  /// The model of this place in the order of the options; null where there is none, and for one
  /// that is stuck.
  [[nodiscard]] const Learner* learner(std::size_t model) const;

 private:
  struct Follower {
    ModelSelection selected;
    std::string name;                    ///< in the store
    std::optional<Learner> learner{};    ///< it is missing while the present rows have no such model (NoModelError)
    std::string stuck{};                 ///< why there is none
    std::optional<StepReport> missed{};  ///< what catching up did, until an outcome tells of it
    double seconds_catch_up = 0;
    std::uint64_t without_receipts = 0;  ///< requests among those
    bool is_new = false;                 ///< a purge had removed it
  };

  void require_exact_rows() const;
  void open(Follower& follower);
  void open_learner(Follower& follower);
  [[nodiscard]] bool train_purged(Follower& follower, const ReleaseContext& context);
  [[nodiscard]] std::filesystem::path receipts_of(const std::string& model) const;
  StepReport absorb(Follower& follower, const BatchReport& batch, std::span<const Request> requests);
  [[nodiscard]] ModelStep step(std::size_t place, const BatchReport& batch, std::span<const Request> requests);
  void tell_others(std::size_t place);

  StoreWriter& store_;
  Resources& resources_;
  const StreamOptions& options_;
  WorkRoom& room_;
  bool is_alone_ = false;
  std::vector<Follower> followers_;
};

}  // namespace v0
}  // namespace unweave
