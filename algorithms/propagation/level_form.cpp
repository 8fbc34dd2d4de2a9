// algorithms/propagation/level_form.cpp - chooses the form, and adds up what a plan takes.
#include "algorithms/propagation/level_form.h"

#include "algorithms/propagation/kept_row_form.h"
#include "algorithms/propagation/sum_form.h"
#include "engine/state/level_image.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

std::uint64_t charge_of(std::uint64_t write_buffers) {
  return write_buffers == 0 ? 0 : WriteBuffers::charge(write_buffers);
}

}  // namespace

std::uint64_t StatePlan::buffer_bytes() const {
  return row_bytes + charge_of(write_buffers);
}

const StatePlan& StatePlan::require() const {
  if (!fits()) throw ResourceError(lack);
  return *this;
}

std::uint64_t TileMemory::bytes() const {
  return rows + charge_of(write_buffers);
}

std::unique_ptr<LevelForm> form_of(const Contents& contents, const PropagationSpec& spec, const SweepSpec& sweep) {
  if (spec.kept.has_sums()) return std::make_unique<SumForm>(contents, sweep);
  return std::make_unique<KeptRowForm>(contents, spec, sweep);
}

}  // namespace unweave
