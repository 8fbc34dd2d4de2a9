// storage/io/error.cpp - turns a failed system call into an error with its remedy.
#include "storage/io/error.h"

#include <cerrno>
#include <system_error>

namespace unweave {

std::string message_of(const std::exception& error) {
  const auto* const own = dynamic_cast<const Error*>(&error);
  return own != nullptr ? own->message() : error.what();
}

void throw_system_error(std::string_view action, const std::filesystem::path& file, int errno_value) {
  const std::string message = file.string() + ": cannot " + std::string(action) + ": " +
                              std::error_code(errno_value, std::generic_category()).message();
  switch (errno_value) {
    case ENOSPC:
    case EDQUOT:
      throw ResourceError(message + "; free some space on this disk and run the command again");
    case EFBIG:
      throw ResourceError(message + "; raise the limit of file sizes (ulimit -f)");
    case EMFILE:
    case ENFILE:
      throw ResourceError(message + "; raise the limit of open files (ulimit -n)");
    case ENOMEM:
      throw ResourceError(message + "; lower " + option("memory") + " or free some memory");
    case ELOOP:
      throw DataError(message + "; it is a link: put the file that it leads to in its place");
    case ENOENT:
      if (std::error_code unknown;
          file.has_parent_path() && !std::filesystem::exists(file.parent_path(), unknown) && !unknown)
        throw DataError(file.parent_path().string() + ": there is no such folder; make it first");
      [[fallthrough]];
    default:
      throw DataError(message + "; check the path and its permissions");
  }
}

}  // namespace unweave
