// storage/input/bytes/only_members.cpp - refuses arrays that nothing reads.
#include "storage/input/bytes/only_members.h"

#include <algorithm>

#include "storage/io/error.h"

namespace unweave {

void require_only(const std::filesystem::path& archive, const std::vector<std::string>& members,
                  const std::vector<std::string>& read) {
  for (const std::string& name : members) {
    if (std::find(read.begin(), read.end(), name) != read.end()) continue;
    std::string wanted;
    for (const std::string& one : read) wanted += (wanted.empty() ? "" : ", ") + one;
    throw InputError(archive, "array " + name.substr(0, 40), "nothing here reads it, and another program may go by it",
                     "save the archive again with " + wanted + " alone");
  }
}

}  // namespace unweave
