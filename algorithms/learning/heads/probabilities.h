// algorithms/learning/heads/probabilities.h - softmax of a row, its logarithm, and curvatures of
// slopes that are probabilities less targets.
#pragma once

#include <cstddef>

namespace unweave {

/// Margins of one row become exp(m_c) / sum_k exp(m_k). classes > 0.
void softmax_in_place(double* margins, std::size_t classes) noexcept;

/// Margins of one row become m_c - ln sum_k exp(m_k). classes > 0.
void log_softmax_in_place(double* margins, std::size_t classes) noexcept;

/// sum[c] += weight p_c (1 - p_c), where the slope of class c is p_c, or p_c - 1 for the row's own.
void add_probability_curvatures(const float* slopes, std::size_t classes, double weight, double* sum) noexcept;

}  // namespace unweave
