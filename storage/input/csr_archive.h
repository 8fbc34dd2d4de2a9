// storage/input/csr_archive.h - a sparse matrix in an .npz archive: the names of its arrays, and what they say of it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace unweave {

/// Names of the arrays of a CSR matrix.
struct CsrMembers {
  std::string data, indices, indptr, shape;
};

/// The names with this prefix, where the archive has them all: "" as scipy.sparse.save_npz writes them, "attr_" and "adj_" in
/// the archives of Shchur et al.
[[nodiscard]] std::optional<CsrMembers> find_csr(const std::vector<std::string>& members, std::string_view prefix);

/// The word in "format", where scipy says how the arrays are meant: those of a CSC matrix look just like CSR.
[[nodiscard]] std::string matrix_format(const std::filesystem::path& archive);

/// Rows and columns. Throws InputError.
[[nodiscard]] std::pair<std::uint64_t, std::uint64_t> matrix_shape(const std::filesystem::path& archive,
                                                                   const std::string& member);

}  // namespace unweave
