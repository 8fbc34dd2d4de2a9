// algorithms/learning/head_name.h - the heads that there are, by key and by name, and what their
// margins mean.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <vector>

namespace unweave {

enum class Head {
  kLogistic,      ///< l = ln(1 + exp(-y m)), one-vs-rest
  kLeastSquares,  ///< l = (m - y)^2 / 2, one-vs-rest
  kSoftmax,       ///< l = ln sum_c exp(m_c) - m_label: multinomial logistic regression
};

/// Every key, in the order of the registry.
inline constexpr std::array kHeads = {Head::kLogistic, Head::kLeastSquares, Head::kSoftmax};

/// A name of names_of_heads(). Throws UsageError for other names.
[[nodiscard]] Head parse_head(std::string_view name);
[[nodiscard]] std::string_view name_of(Head head) noexcept;
/// In the order of the registry.
[[nodiscard]] std::vector<std::string_view> names_of_heads();
/// True when the classes share one loss, and the Hessian has entries between them.
[[nodiscard]] bool couples_classes(Head head) noexcept;
/// Margins of one row become probabilities of its classes, of sum 1: softmax of a coupled head; of
/// a one-vs-rest one each class's own, or where the loss has none the margin's share, divided by
/// their sum; all alike where that is 0. classes > 0.
void probabilities_in_place(Head head, double* margins, std::size_t classes) noexcept;

}  // namespace unweave
