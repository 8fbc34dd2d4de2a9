// algorithms/learning/kept_preconditioner.h - what a session of batches keeps from one minimisation
// to the next.
#pragma once

#include <cstddef>
#include <memory>

#include "algorithms/learning/objective.h"
#include "algorithms/learning/preconditioner.h"

namespace unweave {

/// A preconditioner of rows that a batch has changed since is nearly as good on those that are
/// there now, and its making costs as much as many products. It may tell of removed data: it lies
/// in memory alone, as long as a session does, and no number that it helped to come to may depend
/// on it beyond what is proved of that number.
class KeptPreconditioner {
 public:
  /// Hessian products that it may cost to make one: twice those that the last minimisation took, or
  /// a guess. Those of every further one of the session are saved in good part.
  [[nodiscard]] double worth() const noexcept { return worth_; }
  /// The one that is kept; null where there is none for objectives of this shape.
  [[nodiscard]] std::unique_ptr<Preconditioner> take(const Objective& objective);
  /// Keeps the one that a minimisation took or made, which needed so many products. One that was
  /// better once, or than which the products would have paid a better one, is dropped.
  void keep(std::unique_ptr<Preconditioner> preconditioner, const Objective& objective, double products);

 private:
  std::unique_ptr<Preconditioner> preconditioner_;
  std::size_t features_ = 0, classes_ = 0;
  double worth_ = 60;
  double made_for_ = 0;  // the worth when it was made; 0: there is none
  double usual_ = 0;     // products of the first minimisation with it
};

}  // namespace unweave
