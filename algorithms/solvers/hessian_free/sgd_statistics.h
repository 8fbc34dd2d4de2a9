// algorithms/solvers/hessian_free/sgd_statistics.h - what the removal of a row does to the end of a
// run of SGD, to first order.
//
// Qiao, Zhang, Tang, Wei, "Hessian-Free Online Certified Unlearning", ICLR 2025. For the rows U of
// one record,
//
//   a_0 = 0,   a_{t+1} = a_t - (eta_t / |B_t|) (sum over B_t of Hess l_i(w_t)) a_t + (eta_t /
//              |B_t|) sum over U of grad l_i(w_t)
//
// with U among the filled slots of B_t in the last sum, and the end a_T is the record's vector: w_T
// + a_T approximates the end of a run without U. kKept leaves the rows of U out of the first sum
// too: the exact derivative of that run.
//
// Forward: all records of a tile are carried along the run, which is made again for each tile.
// Backward (kAll alone): P_t = prod of (I - eta_s H_s) over later steps s, from the last step to
// the first; a record then takes part only at its own visits, by P_t grad l_i(w_t). One-vs-rest
// heads have one P of features x features a class.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <vector>

#include "algorithms/sgd/sgd_run.h"

namespace unweave {

enum class RemovedCurvature {
  kAll,   ///< as published: the Hessian of the whole batch
  kKept,  ///< without the removed rows
};

/// Which rows a record stands for: `rows` consecutive slots, by themselves the slot at a place, so
/// that records follow the partitions.
struct RecordLayout {
  std::uint64_t slots = 0;
  std::uint64_t rows = 1;

  [[nodiscard]] std::uint64_t records() const noexcept { return (slots + rows - 1) / rows; }
  [[nodiscard]] std::uint64_t record_of(const SgdSchedule& schedule, std::uint64_t slot) const noexcept {
    return rows == 1 ? schedule.place_of(slot) : slot / rows;
  }
  /// First of the `epochs` numbers that belong to the slot among the visits of its record.
  [[nodiscard]] std::uint64_t first_visit(std::uint64_t slot, std::uint64_t epochs) const noexcept {
    return slot % rows * epochs;
  }
};

inline constexpr double kNoVisit = -1;  ///< stands for the visit of an empty slot

/// Records first .. first + vectors.rows() - 1.
struct RecordBlock {
  std::uint64_t first = 0;
  Matrix vectors;              ///< one a row, in the order of the parameters
  std::vector<double> bounds;  ///< on |end of a run without U - (w_T + a_T)| (THEOREMS.md, T3); infinity: unknown
  Matrix visits;  ///< rows x epochs numbers a record: >= |grad l_i(w_t)| when slot i is visited, or kNoVisit
};
/// Called with the blocks of `block` records, first to last.
using RecordSink = std::function<void(const RecordBlock&)>;

struct StatisticsPlan {
  RecordLayout layout;
  RemovedCurvature curvature = RemovedCurvature::kKept;
  std::uint64_t block = 1;  ///< records of a RecordBlock; those of a partition, where they are made backward
  /// Bytes for the weights of all steps, and as many for all vectors that are made backward. With
  /// fewer some weights are made again, and vectors wait in a file.
  std::size_t memory = 0;
};

/// The bounds are infinite where the head is not linear.
void forward_statistics(const SgdRun& run, const StatisticsPlan& plan, const RecordSink& sink);

/// Takes linear heads, records of one row and kAll. Between visits vectors lie in an unlinked
/// temporary file in `folder`.
void backward_statistics(const SgdRun& run, const StatisticsPlan& plan, const std::filesystem::path& folder,
                         const RecordSink& sink);
/// Bytes of the propagators.
[[nodiscard]] std::size_t backward_bytes(const Network& network);

}  // namespace unweave
