// storage/input/bytes/csr_archive.h - a sparse matrix in an .npz archive: the names of its
// arrays, and what they say of it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace unweave {

/// What to do about one that is wrong.
inline constexpr std::string_view kSaveAgain = "save the matrix again, for example with scipy.sparse.save_npz";

/// Names of the arrays of a CSR matrix.
struct CsrMembers {
  std::string data, indices, indptr, shape;

  /// These, and what scipy.sparse.save_npz writes beside them.
  [[nodiscard]] std::vector<std::string> saved_by_scipy() const {
    return {data, indices, indptr, shape, "format", "_is_array"};
  }
};

/// The names with this prefix, where the archive has them all: "" as scipy.sparse.save_npz writes
/// them, "attr_" and "adj_" in the archives of Shchur et al.
[[nodiscard]] std::optional<CsrMembers> find_csr(const std::vector<std::string>& members, std::string_view prefix);

/// Throws InputError where scipy says in "format" that the arrays are meant in a way that is not
/// among `known`: those of a CSC or BSR matrix look just like CSR.
void require_matrix_format(const std::filesystem::path& archive, const std::vector<std::string>& members,
                           const std::vector<std::string>& known);

/// Rows and columns. Throws InputError.
[[nodiscard]] std::pair<std::uint64_t, std::uint64_t> matrix_shape(const std::filesystem::path& archive,
                                                                   const std::string& member);

}  // namespace unweave
