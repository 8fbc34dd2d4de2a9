// algorithms/learning/no_model_error.h - rows of which no model can be published.
#pragma once

#include "storage/io/error.h"

namespace unweave {

/// The options are right, and the present rows have no model under them that the solver could
/// publish: its minimiser is not reached, or lies on a boundary of a grid. Other rows may have one.
struct NoModelError final : UsageError {
  using UsageError::UsageError;
};

}  // namespace unweave
