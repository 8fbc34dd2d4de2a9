// storage/input/features/left_out_column.cpp - chooses the other columns by name, or by SciPy where
// there are none to choose.
#include "storage/input/features/left_out_column.h"

#include <array>
#include <vector>

#include "storage/input/bytes/csr_archive.h"
#include "storage/input/foreign_format.h"
#include "storage/input/tables/column_choice.h"
#include "storage/io/message.h"
#include "storage/io/shell_word.h"

namespace unweave {
namespace {

/// `matrix`: the arguments of scipy.sparse.csr_matrix. What is written has a name that no array of
/// an export has.
std::string by_scipy(const std::string& matrix, std::size_t column, std::uint64_t columns) {
  const std::string c = std::to_string(column);
  const std::string others = column == 0             ? "1:"
                             : column + 1 == columns ? ":" + c
                                                     : "[*range(" + c + "), *range(" + std::to_string(column + 1) +
                                                           ", " + std::to_string(columns) + ")]";
  return "the line of Python `import numpy, scipy.sparse; m = scipy.sparse.csr_matrix(" + matrix +
         "); scipy.sparse.save_npz('without-" + c + ".npz', m[:, " + others + "])` and " +
         option("features", "without-" + c + ".npz");
}

/// A path is a word of a shell where it would not be one by itself.
std::string with_choice(const std::string& path, const std::string& choice) {
  return shell_word(path) == path ? path + choice : shell_word(path + choice);
}

}  // namespace

std::string without_column(const InputFile& file, std::size_t column, std::uint64_t columns) {
  const std::string others = ColumnChoice(file.columns).without(column, static_cast<std::size_t>(columns));
  const std::string path = file.path.string();
  if (file.memory) return path + others;
  if (!file.member.empty()) return with_choice(path + "[" + file.member + "]", others);
  if (!is_zip(file.path)) return with_choice(path, others);
  const std::vector<std::string> members = npz_members(file.path);
  if (find_csr(members, "")) {
    const std::string name = python_path(file.path);
    return by_scipy("scipy.sparse.load_npz(" + name + ")", column, columns);
  }
  if (const auto names = find_csr(members, "attr_")) {
    const std::string archive = "numpy.load(" + python_path(file.path) + ")";
    std::string arrays;
    for (const std::string& name : std::array{names->data, names->indices, names->indptr})
      arrays.append(arrays.empty() ? "" : ", ").append(archive).append("['").append(name).append("']");
    return by_scipy("(" + arrays + "), " + archive + "['" + names->shape + "']", column, columns);
  }
  return with_choice(path + "[" + members.front() + "]", others);
}

std::string without_column(const CsrFiles& files, std::size_t column, std::uint64_t columns) {
  const std::string& name = files.indptr.path.string();
  // "features.indptr" is a part of the matrix "features".
  if (files.indptr.memory)
    return name.substr(0, name.rfind('.')) + ColumnChoice("").without(column, static_cast<std::size_t>(columns));
  const auto array = [](const InputFile& file) {
    const std::string loaded = "numpy.load(" + python_path(file.path) + ")";
    return file.member.empty() ? loaded : loaded + "['" + file.member + "']";
  };
  const std::string values = files.values ? array(*files.values) : "numpy.ones(len(" + array(files.indices) + "))";
  return by_scipy("(" + values + ", " + array(files.indices) + ", " + array(files.indptr) + "), (len(" +
                      array(files.indptr) + ") - 1, " + std::to_string(columns) + ")",
                  column, columns);
}

}  // namespace unweave
