// storage/input/linear_model.h - the weights of a linear model that another program made.
//
// Forms, C classes and rows of F numbers:
//   .npy          C x F, or C x (F + 1) with the intercepts as last column, or either of them
//                 transposed;
//   .npz          members coef_ or coef or weight, C x F, intercept_ or intercept or bias, C, and
//                 classes_ or classes: the class of each row, where there are fewer rows than
//                 classes;
//   .safetensors  tensors weight, C x F, and bias, C, of F32 or F64.
// With two classes a single row speaks for class 1, as scikit-learn has it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace unweave {

/// What the weights have to fit.
struct LinearShape {
  std::uint64_t classes = 0;  ///< C
  std::uint64_t width = 0;    ///< F, an intercept not counted
};

struct LinearModel {
  std::vector<double> coefficients;  ///< C x F, row by row; finite
  std::vector<double> intercepts;    ///< C, or empty where the file has none
  /// There was one row: that of class 1. `coefficients` hold it as row 1 and zeros as row 0.
  bool one_row = false;
  std::vector<std::uint64_t> missing;  ///< classes that the file does not speak of, ascending; their rows are zeros
  std::string form;                    ///< how it was read, for people: "58 x 2575, intercepts in the last column"
};

/// The largest weight that is taken: rows have a norm of about 1, so that no model needs as much.
inline constexpr double kLargestWeight = 1e15;

/// Reads weights; `intercepts`: a .npy file of C numbers beside a .npy file without them. Memory: 8
/// bytes an element, and no more than the shape allows. Throws InputError, which names file, place
/// and remedy, for another shape or type, for a number that is not finite or above kLargestWeight,
/// and for a damaged file; DataError where there is none.
[[nodiscard]] LinearModel read_linear_model(const std::filesystem::path& file, const LinearShape& shape,
                                            const std::optional<std::filesystem::path>& intercepts = std::nullopt);

}  // namespace unweave
