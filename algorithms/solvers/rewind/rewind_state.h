// algorithms/solvers/rewind/rewind_state.h - what a model of `rewind` or `descend` keeps: its run,
// the account of its rows, its iterates.
//
// Iterates lie in files of their own, models/<solver>/<run>-<K>.iterate, the iterate K epochs
// before the end of learning (FORMAT.md). They are private: they depend on removed data, without
// noise.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "algorithms/numerics/matrix.h"
#include "algorithms/solvers/rewind/rewind_account.h"
#include "algorithms/unlearning/model.h"

namespace unweave {

struct RewindState {
  RewindConstants constants;
  std::vector<NodeId> slots;        ///< ascending node of each slot, kNoNode where the row has left
  std::vector<double> weights;      ///< how far each slot's gradient is from that of learning, at most
  std::vector<std::uint64_t> kept;  ///< ascending K of the iterates in files
  std::uint64_t run = 0;            ///< below 2^52, names the files of one learning
  std::uint64_t last_epochs = 0;    ///< K of the last request; 0 after training
  bool adaptive_requests = false;   ///< one since training may have been chosen after seeing a release
  bool lazy_rows = false;           ///< as LangevinState has it

  /// Slots whose weight is not 0.
  [[nodiscard]] std::vector<SlotWeight> changes() const;
};

void keep_state(const RewindState& state, Model& model);
/// Throws UsageError when the model holds no such state, or one that contradicts itself.
[[nodiscard]] RewindState rewind_state(const Model& model);

[[nodiscard]] std::string iterate_name(std::uint64_t run, std::uint64_t epochs);
/// Durable on return.
void write_iterate(const std::filesystem::path& folder, const RewindState& state, std::uint64_t epochs,
                   const Matrix& weights);
/// Throws DataError naming `train` when the file is missing, damaged or of another run.
[[nodiscard]] Matrix read_iterate(const std::filesystem::path& folder, const RewindState& state, std::uint64_t epochs,
                                  const Matrix& shape);

}  // namespace unweave
