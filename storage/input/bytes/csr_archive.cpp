// storage/input/bytes/csr_archive.cpp - finds the arrays of a sparse matrix in an archive and
// reads the small ones.
#include "storage/input/bytes/csr_archive.h"

#include <algorithm>

#include "storage/input/bytes/npy.h"
#include "storage/io/error.h"

namespace unweave {

std::optional<CsrMembers> find_csr(const std::vector<std::string>& members, std::string_view prefix) {
  const std::string begin(prefix);
  CsrMembers names = {begin + "data", begin + "indices", begin + "indptr", begin + "shape"};
  const auto has = [&](const std::string& name) {
    return std::find(members.begin(), members.end(), name) != members.end();
  };
  if (has(names.data) && has(names.indices) && has(names.indptr) && has(names.shape)) return names;
  return std::nullopt;
}

void require_matrix_format(const std::filesystem::path& archive, const std::vector<std::string>& members,
                           const std::vector<std::string>& known) {
  const auto has = [](const std::vector<std::string>& all, const std::string& one) {
    return std::find(all.begin(), all.end(), one) != all.end();
  };
  if (!has(members, "format") || !has(members, "shape")) return;
  const InputFile format{archive, "format"};
  std::string text = NpyReader(format).read_small_bytes();
  std::erase(text, '\0');
  if (has(known, text)) return;
  throw InputError(display_name(format), "element []", "the matrix is stored as '" + text + "', not csr",
                   "save matrix.tocsr() with scipy.sparse.save_npz");
}

std::pair<std::uint64_t, std::uint64_t> matrix_shape(const std::filesystem::path& archive, const std::string& member) {
  NpyReader shape(InputFile{archive, member});
  shape.require_integers("the sizes of a matrix");
  std::vector<std::int64_t> sizes(2);
  if (shape.header().elements != 2 || shape.read(sizes) != 2 || sizes[0] < 0 || sizes[1] < 0) {
    throw InputError(shape.name(), ".npy header", "not the shape of a matrix",
                     "save the matrix again, for example with scipy.sparse.save_npz");
  }
  return {static_cast<std::uint64_t>(sizes[0]), static_cast<std::uint64_t>(sizes[1])};
}

}  // namespace unweave
