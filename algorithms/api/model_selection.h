// algorithms/api/model_selection.h - what the functions of this folder share of selections of models.
#pragma once

#include "algorithms/models/model_record.h"
#include "unweave/models.h"

namespace unweave {
inline namespace v0 {

/// Throws UsageError where a selection names another solver than that of the model.
void require_solver(const ModelSelection& selection, const ModelRecord& record);

[[nodiscard]] ModelFacts facts_of(const ModelRecord& record);

}  // namespace v0
}  // namespace unweave
